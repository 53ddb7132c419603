import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { raiseAlert } from '../../src/store/alerts.js';
import { backupStore, restoreStore } from '../../src/store/backup.js';
import { openStore } from '../../src/store/open-store.js';
import { insertRows } from '../../src/store/rows.js';
import type { Store } from '../../src/store/store.js';
import { rewriteSealed } from '../support/sealed-file.js';
import { onEveryStore, useStore } from './stores.js';

onEveryStore('a copy of a store in use', (kit) => {
  const audit = 1_250;
  const fill = () =>
    kit.store.transaction('fill', async (tx) => {
      await insertRows(
        tx,
        'audit_log',
        Array.from({ length: audit }, (_, i) => ({
          chain: 1,
          seq: i + 1,
          hash: `${i}`,
          at: i,
          event: 'start',
          actor: 'ä "x"\n',
          detail: '{}',
        })),
      );
      await insertRows(
        tx,
        'binding',
        Array.from({ length: 1_100 }, (_, i) => ({
          entity: i % 2 ? 'order' : 'customer',
          source_key: `key ${i}`,
          folded_key: `KEY${i}`,
          service_id: `id ${i}`,
          revision: 1,
          generation: 0,
          content_hash: '0'.repeat(64),
          mapping_fingerprint: '0'.repeat(64),
          acknowledged: null,
          acknowledged_at: 9_007_199_254_740_991,
        })),
      );
    });
  const everything = (store: Store) =>
    store.read('look', async (tx) => ({
      info: await tx.select('SELECT * FROM store_info ORDER BY name'),
      audit: await tx.select('SELECT * FROM audit_log ORDER BY id'),
      bindings: await tx.select('SELECT * FROM binding ORDER BY entity, source_key'),
    }));
  const errorOf = (work: Promise<unknown>) =>
    work.then(
      () => null,
      (error: Error) => error,
    );
  let number = 0;
  const newFile = () => join(kit.folder, `copy-${++number}`);

  it('holds everything as it was at one moment, and is nobody else’s business', async () => {
    await fill();
    const file = newFile();
    const before = await everything(kit.store);
    const writer = await kit.connect();
    const [rows] = await Promise.all([
      backupStore(kit.store, file),
      writer.transaction('write meanwhile', (tx) =>
        tx.run(
          "INSERT INTO audit_log (chain, seq, hash, at, event, actor, detail) VALUES (1, 1, '', 1, 'start', 'y', '{}')",
        ),
      ),
    ]);
    expect(statSync(file).mode & 0o777).to.equal(0o600);
    const into = kit.dialect === 'sqlite' ? { ...kit.settings, file } : await kit.emptyDatabase();
    const { store: copy } = await openStore(into as typeof kit.settings);
    try {
      if (kit.dialect !== 'sqlite') expect(await restoreStore(copy, file)).to.equal(rows);
      const restored = await everything(copy);
      expect(restored.info).to.deep.equal(before.info);
      expect(restored.bindings).to.deep.equal(before.bindings);
      expect(restored.audit.slice(0, audit)).to.deep.equal(before.audit);
      expect(restored.audit.length).to.be.within(audit, audit + 1);
    } finally {
      await copy.close();
    }
  });

  it('goes on counting where the copy ends', async () => {
    if (kit.dialect === 'sqlite') return;
    await fill();
    const file = newFile();
    await backupStore(kit.store, file);
    const { store: copy } = await openStore(await kit.emptyDatabase());
    try {
      await restoreStore(copy, file);
      const id = await copy.transaction('write', (tx) =>
        tx.insertReturningId(
          "INSERT INTO audit_log (chain, seq, hash, at, event, actor, detail) VALUES (1, 1, '', 1, 'start', 'z', '{}')",
        ),
      );
      expect(id).to.be.above(audit);
      await copy.transaction('raise', (tx) => raiseAlert(tx, 'held.cause', { code: 'webhooks_forged' }, 1));
    } finally {
      await copy.close();
    }
  });

  it('is restored by one of two processes at once; the other says that the store is not empty', async () => {
    if (kit.dialect === 'sqlite') return;
    await fill();
    const file = newFile();
    await backupStore(kit.store, file);
    const empty = await kit.emptyDatabase();
    const stores = [await openStore(empty), await openStore(empty)];
    try {
      const ended = await Promise.allSettled(stores.map(({ store }) => restoreStore(store, file)));
      const refused = ended.flatMap((one) => (one.status === 'rejected' ? [(one.reason as Error).message] : []));
      expect(refused).to.deep.equal(['A copy can only be restored into an empty store. Name another database.']);
    } finally {
      for (const { store } of stores) await store.close();
    }
  });

  it('is never written over another file', async () => {
    const file = newFile();
    writeFileSync(file, 'precious');
    expect((await errorOf(backupStore(kit.store, file)))?.message).to.contain('Name a new file');
    expect(readFileSync(file, 'utf8')).to.equal('precious');
  });

  it('is restored whole, into an empty store, or not at all', async () => {
    if (kit.dialect === 'sqlite') return;
    await fill();
    const file = newFile();
    await backupStore(kit.store, file);
    expect((await errorOf(restoreStore(kit.store, file)))?.message).to.contain('empty store');

    const { store: empty } = await openStore(await kit.emptyDatabase());
    try {
      const text = readFileSync(file, 'utf8');
      const before = await everything(empty);
      for (const damaged of [
        text.split('\n').slice(0, -2).join('\n'),
        // A line from its middle: the table may be one that nothing else counts.
        text.split('\n').toSpliced(5, 1).join('\n'),
        text.replace('"key 7"', '"key 8"'),
      ]) {
        writeFileSync(file, damaged);
        expect((await errorOf(restoreStore(empty, file)))?.message).to.contain('Nothing of it was taken over');
      }
      writeFileSync(file, text);
      await rewriteSealed(file, (lines) => lines.replace('Initial', 'Later'));
      expect((await errorOf(restoreStore(empty, file)))?.message).to.contain('another schema');
      expect(await everything(empty)).to.deep.equal(before);
    } finally {
      await empty.close();
    }
  });
});

describe('a copy of a store in one kind of database', () => {
  const kits = [useStore('postgres'), useStore('mysql')] as const;

  for (const [from, to] of [kits, [kits[1], kits[0]]] as const)
    it(`fills a store in another: from ${from.dialect} into ${to.dialect}`, async () => {
      await from.store.transaction('fill', async (tx) => {
        await raiseAlert(tx, 'held.cause', { code: 'webhooks_forged' }, 1);
        await insertRows(tx, 'message_body', [{ message_id: 7, record: '{"ü":"\\u0000"}', body: null }]);
      });
      const file = join(from.folder, 'copy');
      const { store: into } = await openStore(await to.emptyDatabase());
      try {
        await backupStore(from.store, file);
        await restoreStore(into, file);
        for (const table of ['alert', 'message_body', 'store_info']) {
          const sql = `SELECT * FROM ${table} ORDER BY 1`;
          const rows = await into.read('look', (tx) => tx.select(sql));
          expect(rows).to.deep.equal(await from.rows(sql));
        }
      } finally {
        await into.close();
      }
    });
});
