import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect } from 'chai';
import { requestWakeUp, takeWakeUps } from '../../src/store/job-runs.js';
import { openStore, openStoreForReading } from '../../src/store/open-store.js';
import { onEveryStore, useStore } from './stores.js';

const refusal = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'it was opened',
    (error: Error) => error.message,
  );

onEveryStore('a store that is only looked at', (kit) => {
  it('is read as it is, beside whoever writes', async () => {
    await kit.store.transaction('write', (tx) => requestWakeUp(tx, 'pull', 'test', 1));
    const { store } = await openStoreForReading(kit.settings);
    try {
      const look = () => store.read('look', (tx) => tx.select('SELECT job FROM wake_up'));
      expect(await look()).to.deep.equal([{ job: 'pull' }]);
      await kit.store.transaction('write', takeWakeUps);
      expect(await look()).to.deep.equal([]);
    } finally {
      await store.close();
    }
  });

  it('is not made, and nothing is written into an empty database', async () => {
    const settings = await kit.emptyDatabase();
    expect(await refusal(openStoreForReading(settings))).to.match(/There is no store|is empty yet/);
    expect(await refusal(openStoreForReading(settings))).to.match(/There is no store|is empty yet/);
    if (settings.type === 'sqlite') expect(existsSync(dirname(settings.file))).to.equal(false);
  });

  it('is refused, and left as it is, when its schema is older or newer than the program', async () => {
    const settings = await kit.emptyDatabase();
    const { store } = await openStore(settings);
    try {
      const migrations = () => store.read('look', (tx) => tx.select('SELECT name FROM migration ORDER BY id'));
      const all = await migrations();
      const rename = (from: string, to: string) =>
        store.transaction('rename', (tx) => tx.run('UPDATE migration SET name=? WHERE name=?', [to, from]));
      const newest = all.at(-1).name;
      await rename(newest, 'Past1600000000000');
      expect(await refusal(openStoreForReading(settings)))
        .to.contain('older schema')
        .and.to.contain('waybill migrate');
      expect(await migrations()).to.deep.equal([...all.slice(0, -1), { name: 'Past1600000000000' }]);
      await rename('Past1600000000000', newest);
      await store.transaction('newer', (tx) =>
        tx.run("INSERT INTO migration (timestamp, name) VALUES (1, 'Future1800000000000')"),
      );
      expect(await refusal(openStoreForReading(settings))).to.contain('schema of another version');
    } finally {
      await store.close();
    }
  });
});

describe('a SQLite store that is only looked at', () => {
  const kit = useStore('sqlite');

  it('can not be written to by accident', async () => {
    const { store } = await openStoreForReading(kit.settings);
    try {
      const failure = await refusal(store.transaction('write', (tx) => requestWakeUp(tx, 'pull', 'test', 1)));
      expect(failure).to.match(/readonly.*Run it as the account of the store/);
    } finally {
      await store.close();
    }
  });

  it('is not called missing where this account may not look for it', () => {
    const program = `
      import { openStore, openStoreForReading } from ${JSON.stringify(new URL('../../src/store/open-store.js', import.meta.url))};
      // The other account may not read this folder either, as that of a clone in /root: all that is needed is loaded before.
      await (await openStore({ type: 'sqlite', file: ':memory:' })).store.close();
      if (process.getuid() === 0) process.setuid(65534);
      await openStoreForReading({ type: 'sqlite', file: process.argv[1] }).catch(({ message }) => console.log(message));`;
    const file = kit.settings.type === 'sqlite' ? kit.settings.file : '';
    chmodSync(dirname(file), process.getuid?.() === 0 ? 0o700 : 0o000);
    try {
      const said = execFileSync(process.execPath, ['--input-type=module', '-e', program, file], { encoding: 'utf8' });
      expect(said).to.contain(`${file} can not be opened`).and.to.contain('Run it as the account of the store');
    } finally {
      chmodSync(dirname(file), 0o700);
    }
  });
});
