import { expect } from 'chai';
import { migrations, storeDataSource } from '../../src/store/data-source.js';
import { factOf } from '../../src/store/fact-columns.js';
import { openStore, openStoreForReading } from '../../src/store/open-store.js';
import { tell } from '../../src/words/words.js';
import { onEveryStore } from './stores.js';

onEveryStore('a store of the first schema', (kit) => {
  it('is brought up to date with what it holds, and a record that was missing there counts as missing since then', async () => {
    const settings = await kit.emptyDatabase();
    const source = storeDataSource(settings);
    Object.assign(source.options, { migrations: migrations.slice(0, 1) });
    await source.initialize();
    await source.runMigrations({ transaction: 'all' });
    const now = Date.now();
    await source.query(
      `INSERT INTO binding (entity, source_key, service_id, revision, generation, content_hash, mapping_fingerprint,
         acknowledged_at, missing_since, missing_in_sweep_at, folded_key)
       VALUES ('order', '7', 'ord_7', 1, 0, 'c', 'm', 1, ${now - 600_000}, ${now}, '7')`,
    );
    await source.destroy();
    const refused = await openStoreForReading(settings).catch((error: Error) => error.message);
    expect(refused).to.match(/older schema/);
    const { store } = await openStore(settings);
    try {
      const rows = await store.read('look', (tx) => tx.rows('SELECT * FROM binding'));
      // A wall time lies ahead of any moment of the store's own time: it counts from now.
      expect(rows).to.have.length(1);
      expect(rows[0]).to.include({ serviceId: 'ord_7', missingSinceElapsed: now - 600_000 });
      const names = await store.read('look', (tx) => tx.rows('SELECT name FROM migration ORDER BY id'));
      expect(names.map(({ name }) => name)).to.deep.equal(migrations.map(({ name }) => name));
    } finally {
      await store.close();
    }
  });

  it('gets the columns of look-ups, also where an earlier run was interrupted between two of them', async () => {
    const settings = await kit.emptyDatabase();
    const source = storeDataSource(settings);
    Object.assign(source.options, { migrations: migrations.slice(0, 1) });
    await source.initialize();
    await source.runMigrations({ transaction: 'all' });
    const hash = 'a'.repeat(64);
    await source.query(
      `INSERT INTO outbox_message (entity, source_key, revision, operation, generation, content_hash, mapping_fingerprint, state,
          next_attempt_at, first_sent_at, captured_at, folded_key)
        VALUES ('order', '1', 1, 'create', 0, '${hash}', '${hash}', 'in_doubt', 5, 5, 5, '1')`,
    );
    await source.query('ALTER TABLE outbox_message ADD COLUMN ended_at BIGINT NULL');
    await source.destroy();
    const { store } = await openStore(settings);
    try {
      const sql = 'SELECT source_key, state, ended_at, ended_boot_id, absent_boot_ms FROM outbox_message';
      const rows = await store.read('look', (tx) => tx.rows(sql));
      expect(rows).to.deep.equal([
        { sourceKey: '1', state: 'in_doubt', endedAt: null, endedBootId: null, absentBootMs: null },
      ]);
    } finally {
      await store.close();
    }
  });

  it('keeps the sentence of a fact that an earlier version stored', async () => {
    const settings = await kit.emptyDatabase();
    const source = storeDataSource(settings);
    Object.assign(source.options, { migrations: migrations.slice(0, 1) });
    await source.initialize();
    await source.runMigrations({ transaction: 'all' });
    const sentence = `status is "on \\ 'hold'" 😀`;
    await source.query(
      `INSERT INTO left_order (source_key, since_at, reason) VALUES ('7', 5, 'status is "on ${settings.type === 'mysql' ? '\\\\' : '\\'} ''hold''" 😀')`,
    );
    await source.destroy();
    const { store } = await openStore(settings);
    try {
      const [row] = await store.read('look', (tx) => tx.rows('SELECT * FROM left_order'));
      expect(row).to.include({ sourceKey: '7', sinceAt: 5, reasonCode: 'legacy' });
      expect(row).to.not.have.property('reason');
      const fact = factOf(row?.reasonCode, row?.reasonData);
      expect(fact && tell(fact)).to.equal(sentence);
    } finally {
      await store.close();
    }
  });

  it('is refused where its columns are not those of this version, although the migrations have the same names', async () => {
    const settings = await kit.emptyDatabase();
    await (await openStore(settings)).store.close();
    const change = async (sql: string) => {
      const source = await storeDataSource(settings).initialize();
      await source.query(sql);
      await source.destroy();
    };
    const refusals = async () =>
      Promise.all(
        [openStore, openStoreForReading].map((open) =>
          open(settings).then(
            async ({ store }) => store.close().then(() => null),
            ({ message }: Error) => message,
          ),
        ),
      );
    expect(await refusals()).to.deep.equal([null, null]);
    await change('ALTER TABLE lease DROP COLUMN holder_process');
    for (const refusal of await refusals())
      expect(refusal).to.include('another schema').and.include('lease.holder_process is missing');
    await change('ALTER TABLE lease ADD COLUMN holder_process BIGINT NULL');
    for (const refusal of await refusals())
      expect(refusal).to.include('lease.holder_process is number or NULL instead of text or NULL');
    await change('ALTER TABLE lease ADD COLUMN mine INT NULL');
    for (const refusal of await refusals()) expect(refusal).to.include('lease.mine is new');
  });
});
