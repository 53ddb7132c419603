import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { settingList } from '../../src/config/setting-list.js';
import type { VerdictKind } from '../../src/model/verdict.js';
import { projectRoot } from '../support/project-root.js';
import { headerCases } from './contract/header-cases.js';
import { malformedAnswers } from './contract/malformed-answers.js';
import { malformedBytes } from './contract/malformed-bytes.js';
import { credentialProofs, type Proof, provenElsewhere } from './contract/proven-elsewhere.js';
import { settingCases } from './contract/setting-cases.js';
import { verdictCases } from './contract/verdict-cases.js';

/** The compiler sees that none is missing. */
const verdictKinds: Record<VerdictKind, true> = {
  delivered: true,
  in_doubt: true,
  invalid: true,
  unavailable: true,
  throttled: true,
  unauthorised: true,
  misconfigured: true,
  busy: true,
  unknown_customer: true,
  conflict: true,
  refused: true,
  not_sent: true,
};

/** The forms in which services of this kind are seen to write these headers. */
const headerForms = {
  'Retry-After': ['seconds', 'date', 'absent', 'past', 'junk', 'absurd'],
  RateLimit: ['structured', 'junk'],
  'RateLimit-Policy': ['structured', 'junk'],
  'X-RateLimit': ['delta', 'epoch', 'past', 'junk', 'absurd'],
  Deprecation: ['structured date', 'HTTP date', 'true', 'junk'],
  Sunset: ['HTTP date', 'junk'],
};

/** The faults of answers: no JSON, other JSON, a body that breaks off or has no end, no HTTP at all. */
const malformations = [
  'no body',
  'HTML',
  'half of the JSON',
  'JSON and something behind it',
  'another shape',
  'a name twice',
  'an id of bytes that are no UTF-8',
  'a total beyond safe integers',
  'nesting without end',
  'a body larger than it may be',
  'a refusal of HTML',
  'half of the promised length',
  'a chunk that breaks off',
  'chunks without an end',
  'a compressed body that breaks off',
  'a body that only says it is compressed',
  'a 400 that breaks off',
  'nothing',
  'half of the headers',
  'no HTTP',
  'headers without an end',
  'two lengths',
];

const sources = new Map<string, string>();
function isThere({ file, test }: Proof): boolean {
  const source = sources.get(file) ?? readFileSync(join(projectRoot, 'test', file), 'utf8');
  sources.set(file, source);
  return source.split('\n').some((line) => /^\s*it\(/.test(line) && line.includes(test));
}
const without = (wanted: readonly string[], given: Iterable<string>) => {
  const there = new Set(given);
  return wanted.filter((one) => !there.has(one));
};

describe('the contract with a service', () => {
  const profile = settingList
    .map(({ path }) => path)
    .filter((path) => path.startsWith('service.') || path.startsWith('invoices.paging.'));
  const rows = [
    ...(readFileSync(join(projectRoot, 'docs/architecture.md'), 'utf8')
      .split('| what came back | verdict |')[1]
      ?.split('\n\n')[0]
      ?.matchAll(/^\| (?!-)([^|]+) \|/gm) ?? []),
  ].map(([, row]) => row as string);

  it('has a case for every setting of the profile, and none for one that is gone', () => {
    const proven = [...settingCases.map(({ setting }) => setting), ...Object.keys(provenElsewhere)];
    expect(profile.length).to.be.at.least(100);
    expect(without(profile, proven)).to.deep.equal([]);
    expect(without(proven, profile)).to.deep.equal([]);
  });

  it('has a case for every row of the table of verdicts', () => {
    expect(rows).to.have.length.at.least(12);
    const cased = verdictCases.map(({ row }) => row);
    expect(without(rows, cased)).to.deep.equal([]);
    expect(without(cased, rows)).to.deep.equal([]);
  });

  it('has a case for every kind of verdict', () => {
    expect(
      without(
        Object.keys(verdictKinds),
        verdictCases.map(({ verdict }) => verdict),
      ),
    ).to.deep.equal([]);
  });

  it('has a case for every kind of credential', () => {
    const kinds = settingList.find(({ path }) => path === 'service.credential.kind')?.node.enum ?? [];
    expect(kinds).to.have.length.at.least(4);
    expect(without(kinds, Object.keys(credentialProofs))).to.deep.equal([]);
  });

  it('has a case for every form of every header', () => {
    const wanted = Object.entries(headerForms).flatMap(([header, forms]) => forms.map((form) => `${header}: ${form}`));
    const cased = headerCases.map(({ header, form }) => `${header}: ${form}`);
    expect(without(wanted, cased)).to.deep.equal([]);
    expect(without(cased, wanted)).to.deep.equal([]);
  });

  it('has a case for every way in which an answer is malformed', () => {
    const cased = [...malformedAnswers, ...malformedBytes].map(([title]) => title);
    expect(without(malformations, cased)).to.deep.equal([]);
  });

  it('points to tests that are there', () => {
    const proofs = [...Object.values(provenElsewhere), ...Object.values(credentialProofs).flat()];
    expect(proofs.filter((proof) => !isThere(proof))).to.deep.equal([]);
  });
});
