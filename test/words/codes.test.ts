import { expect } from 'chai';
import type { FindingCause } from '../../src/model/facts/reconcile.js';
import { storedCause } from '../../src/operator/reconcile/reconcile-rows.js';
import { actionWords } from '../../src/words/en/actions.js';
import { alertWords } from '../../src/words/en/alerts.js';
import { doctorWords } from '../../src/words/en/doctor.js';
import { listWords } from '../../src/words/en/lists.js';
import { probeWords } from '../../src/words/en/probe.js';
import { findingCauses, reconcileWords } from '../../src/words/en/reconcile.js';
import { recordWords } from '../../src/words/en/records.js';
import { recoveryWords } from '../../src/words/en/recovery.js';
import { sendingWords } from '../../src/words/en/sending.js';
import { serviceWords } from '../../src/words/en/service.js';
import { workWords } from '../../src/words/en/work.js';
import { en } from '../../src/words/en.js';

describe('the codes of facts', () => {
  const maps = {
    actionWords,
    alertWords,
    listWords,
    probeWords,
    reconcileWords,
    recordWords,
    recoveryWords,
    sendingWords,
    serviceWords,
    doctorWords,
    workWords,
  };

  it('stand in one map each: of two, the words of the later one would be told for both', () => {
    const homes = new Map<string, string[]>();
    for (const [name, words] of Object.entries(maps))
      for (const code of Object.keys(words)) homes.set(code, [...(homes.get(code) ?? []), name]);
    expect([...homes].filter(([, names]) => names.length > 1)).to.deep.equal([]);
    expect([...homes.keys(), 'legacy'].sort()).to.deep.equal(Object.keys(en).sort());
  });

  it('fit their column', () => {
    expect(Object.keys(en).filter((code) => !/^[a-z][a-z0-9_]{0,39}$/.test(code))).to.deep.equal([]);
    const causes = (Object.keys(findingCauses) as FindingCause[]).map(storedCause);
    expect(causes.filter((cause) => cause.length > 16)).to.deep.equal([]);
    expect(new Set(causes)).to.have.property('size', causes.length);
  });
});
