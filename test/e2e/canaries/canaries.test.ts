import { expect } from 'chai';
import { sharedMariaDb } from '../../support/shared-servers.js';
import { useTempDir } from '../../support/temp-dir.js';
import type { Scenario } from './answers.js';
import { Office, secretOf, writingsOf } from './office.js';
import { databaseScenarios, scenarios } from './scenarios.js';

describe('a secret, whatever goes wrong', () => {
  const dir = useTempDir();

  const survives = async ({ name, ...scenario }: Scenario, kind: 'sqlite' | 'mysql') => {
    const secret = secretOf(name);
    const database = kind === 'mysql' ? await (await sharedMariaDb()).createDatabase() : null;
    const folder = dir.file(
      `${kind}-${writingsOf(name)[0]}x`.replace(writingsOf(name)[0] as string, String(++offices)),
    );
    const office = await Office.open(folder, secret, { sandbox: scenario.sandbox?.(secret), database });
    try {
      office.change(scenario.settings ?? {});
      await scenario.prepare?.(office);
      office.configure();
      office.sandbox.setFaults(scenario.faults?.(secret) ?? []);
      if (scenario.provoke) await scenario.provoke(office);
      else await office.waybill('sync');
      await office.lookEverywhere();
      const texts = await office.texts();
      expect(
        texts.map(([, text]) => text).join('\n'),
        `the error was met:\n${office.printed.slice(0, 3_000)}`,
      ).to.match(scenario.meets);
      const leaks = texts.flatMap(([where, text]) =>
        writingsOf(name).flatMap((writing) => {
          const at = text.indexOf(writing);
          return at < 0 ? [] : [`${where}: …${text.slice(Math.max(0, at - 80), at + 60)}…`];
        }),
      );
      expect(leaks, 'places that hold it').to.deep.equal([]);
    } finally {
      await office.close();
      await database?.drop();
    }
  };
  let offices = 0;

  it('is tried in 40 scenarios at least, each of its own', () => {
    const names = [...scenarios, ...databaseScenarios].map(({ name }) => name);
    expect(new Set(names).size).to.equal(names.length).and.to.be.at.least(40);
  });

  for (const scenario of scenarios) it(`is nowhere to be read: ${scenario.name}`, () => survives(scenario, 'sqlite'));

  for (const scenario of databaseScenarios)
    it(`is nowhere to be read: ${scenario.name}`, () => survives(scenario, 'mysql'));
});
