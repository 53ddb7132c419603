import { expect } from 'chai';
import type { DataSource } from 'typeorm';
import type { ServiceSettings } from '../../src/config/sections/service.js';
import type { StoreSettings } from '../../src/config/sections/store.js';
import { outside } from '../../src/model/outside.js';
import { claimLookUps } from '../../src/outbound/deliver/claim-look-ups.js';
import { claimMessages } from '../../src/outbound/deliver/claim-messages.js';
import { deliveredSince } from '../../src/outbound/deliver/clock-trace.js';
import { dueMessages } from '../../src/outbound/deliver/due-messages.js';
import { isOutdated } from '../../src/outbound/deliver/profile-notices.js';
import { openAlerts, raiseAlert } from '../../src/store/alerts.js';
import { storeDataSource } from '../../src/store/data-source.js';
import { factOf } from '../../src/store/fact-columns.js';
import { clearHold, listJobRuns, readHolds, readMarks } from '../../src/store/job-runs.js';
import { migrations } from '../../src/store/migration-list.js';
import { viewNodes } from '../../src/store/nodes.js';
import { openStore, openStoreForReading } from '../../src/store/open-store.js';
import type { Store } from '../../src/store/store.js';
import { tell } from '../../src/words/words.js';
import { claimTerms } from '../support/jobs/claim-terms.js';
import { onEveryStore } from './stores.js';

onEveryStore('a store of the first schema', (kit) => {
  it('is brought up to date with what it holds, and a record that was missing there counts as missing since then', async () => {
    const settings = await kit.emptyDatabase();
    const source = await storeDataSource(settings);
    keepMigrations(source, 1);
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
    const source = await storeDataSource(settings);
    keepMigrations(source, 1);
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
    const source = await storeDataSource(settings);
    keepMigrations(source, 1);
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

  it('keeps open alerts and failures of jobs in the words of the earlier version, until they are noted anew', async () => {
    const settings = await kit.emptyDatabase();
    const source = await storeDataSource(settings);
    keepMigrations(source, 1);
    await source.initialize();
    await source.runMigrations({ transaction: 'all' });
    const alert = (cause: string, details: string) =>
      `INSERT INTO alert (cause, open_cause, message, details, since_at, next_try_at) VALUES ('${cause}', '${cause}', 'it was so', '${details}', 5, 5)`;
    await source.query(alert('capture.failing', '{"failures":3}'));
    await source.query(alert('states.order', '{"states":["new"]}'));
    await source.query(alert('endpoint.createOrder', '{"address":"POST /old"}'));
    await source.query(
      "INSERT INTO job_run (job, failures, failing_since, failure) VALUES ('capture', 3, 5, 'no route')",
    );
    await source.destroy();
    const { store } = await openStore(settings);
    try {
      const alerts = await store.read('look', openAlerts);
      expect(alerts.map(({ cause, message }) => [cause, message.code, tell(message)])).to.deep.equal([
        ['capture.failing', 'legacy', 'it was so'],
        ['states.order', 'legacy', 'it was so'],
        ['endpoint.createOrder', 'legacy', 'it was so'],
      ]);
      expect(alerts.filter((one) => isOutdated(one, {} as ServiceSettings))).to.deep.equal([]);
      const [run] = await store.read('look', listJobRuns);
      expect(run).to.deep.include({ failures: 3, failure: { code: 'legacy', text: outside('no route') } });
      const message = { code: 'job_failing', job: 'capture', source: null, failures: 4, failingSince: 5 } as const;
      await store.transaction('note anew', (tx) =>
        raiseAlert(tx, 'capture.failing', { ...message, failure: run?.failure ?? null }, 9),
      );
      const [anew] = await store.read('look', openAlerts);
      expect(anew).to.include({ cause: 'capture.failing', sinceAt: 5 });
      expect(anew && tell(anew.message)).to.equal('Reading the ERP failed 4 times in a row: no route');
    } finally {
      await store.close();
    }
  });

  it('keeps the holds of sources and the waits of orders, and goes on by them', async () => {
    const settings = await kit.emptyDatabase();
    const source = await storeDataSource(settings);
    keepMigrations(source, 1);
    await source.initialize();
    await source.runMigrations({ transaction: 'all' });
    const restored = 'the ERP seems to have been restored from a backup: its highest key is 15, and it was 17';
    const marks = (name: string, cause: string, reason: string) =>
      source.query(
        `INSERT INTO capture_cursor (name, swept_rows, brake, brake_reason) VALUES ('${name}', 40, ${cause}, ${reason})`,
      );
    await marks('order', "'restored'", `'${restored}'`);
    await marks('customer', "'drained'", "'no row is eligible any more, and 40 were'");
    await marks('order.b', "'empty'", "'the ERP has no rows any more, and it had some'");
    await marks('customer.b', 'NULL', 'NULL');
    await source.query(
      "INSERT INTO unsettled (source_key, first_seen_at, content_hash, reason) VALUES ('7', 5, 'h', 'the lines add up to 1')",
    );
    await source.destroy();
    const { store } = await openStore(settings);
    try {
      const holds = await store.read('look', readHolds);
      const codes = holds.map(({ entity, source: of, reason }) => [entity, of ?? '', reason.code, tell(reason)]);
      expect(codes).to.deep.equal([
        ['customer', '', 'source_drained', 'no row is eligible any more, and 40 were'],
        ['order', '', 'source_restored', restored],
        ['order', 'b', 'source_empty', 'the ERP has no rows any more, and it had some'],
      ]);
      expect((await store.read('look', (tx) => readMarks(tx, 'customer.b'))).hold).to.equal(null);
      // A person ends exactly the hold that was shown.
      const [, shown] = holds.map(({ reason }) => reason);
      const clear = (name: 'order' | 'order.b') =>
        store.transaction('end it', (tx) => clearHold(tx, name, shown ?? { code: 'source_empty' }));
      expect([await clear('order.b'), await clear('order'), await clear('order')]).to.deep.equal([false, true, false]);
      const [waits] = await store.read('look', (tx) => tx.rows('SELECT reason_code, reason_data FROM unsettled'));
      const fact = factOf(waits?.reasonCode, waits?.reasonData);
      expect(fact && tell(fact)).to.equal('the lines add up to 1');
    } finally {
      await store.close();
    }
  });

  it('is refused where its columns are not those of this version, although the migrations have the same names', async () => {
    const settings = await kit.emptyDatabase();
    await (await openStore(settings)).store.close();
    const change = async (sql: string) => {
      const source = await (await storeDataSource(settings)).initialize();
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
    await change('ALTER TABLE lease DROP COLUMN holder_process');
    const byBytes = kit.dialect === 'postgres' ? ' COLLATE "C"' : '';
    await change(`ALTER TABLE lease ADD COLUMN holder_process VARCHAR(160)${byBytes} NULL`);
    await change('ALTER TABLE lease ADD COLUMN later INT NULL');
    expect(await refusals()).to.deep.equal([null, null]);
    await change('ALTER TABLE lease ADD COLUMN mine INT NOT NULL DEFAULT 0');
    for (const refusal of await refusals()) expect(refusal).to.include('lease.mine is new');
    // SQLite changes no column's collation.
    const convert = {
      sqlite: null,
      mysql: 'ALTER TABLE binding CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci',
      postgres: 'ALTER TABLE binding ALTER source_key TYPE VARCHAR(255) COLLATE "default"',
    }[kit.dialect];
    if (convert === null) return;
    await change('ALTER TABLE lease DROP COLUMN mine');
    expect(await refusals()).to.deep.equal([null, null]);
    await change(convert);
    for (const refusal of await refusals())
      expect(refusal).to.match(/binding\.source_key is (utf8mb4_general_ci|default) text instead of text/);
  });
});

/** Leaves a source that is not open yet the first so many migrations, or all but the last so many. */
function keepMigrations({ options }: DataSource, count: number): void {
  Object.assign(options, { migrations: (options.migrations as unknown[]).slice(0, count) });
}

/** A database with the schema as it was before a migration, filled by statements of that time. */
async function storeBefore(migration: string, settings: StoreSettings, statements: readonly string[]): Promise<void> {
  const source = await storeDataSource(settings);
  keepMigrations(
    source,
    migrations.findIndex((one) => one.name === migration),
  );
  await source.initialize();
  await source.runMigrations({ transaction: 'all' });
  for (const sql of statements) await source.query(sql);
  await source.destroy();
}

onEveryStore('a store in which a time also told what a message waits for', (kit) => {
  const now = 1_790_000_000_000;
  const hash = 'a'.repeat(64);
  const afterScan = 8_640_000_000_000_000;
  /** As that schema wrote them: key, state, park class, next_attempt_at, and further columns. */
  const rows: [key: string, state: string, parkClass: string | null, nextAttemptAt: number, more?: object][] = [
    ['due', 'pending', null, now - 5],
    ['later', 'pending', null, now + 60_000],
    ['changed', 'pending', null, afterScan, { operation: 'update', revision: 2 }],
    ['removed', 'pending', null, afterScan - 1, { operation: 'delete', revision: 2, removal: 'deleted' }],
    ['sent', 'sending', null, now - 9, { claim_epoch: 1, claimed_from: 'pending', claimed_at: now - 1, attempts: 1 }],
    [
      'asked',
      'sending',
      'conflict',
      now - 9,
      { claim_epoch: 1, claimed_from: 'parked', attempts: 1, first_sent_at: now - 9 },
    ],
    ['doubted', 'in_doubt', null, now + 7, { attempts: 1, first_sent_at: now - 7 }],
    ['conflict', 'parked', 'conflict', now - 3, { attempts: 1, first_sent_at: now - 8 }],
    ['answered', 'parked', 'conflict', afterScan, { attempts: 1, first_sent_at: now - 8 }],
    ['turned', 'parked', 'conflict', afterScan, { operation: 'update', revision: 2 }],
    ['refused', 'parked', 'refused', now - 2, { attempts: 1 }],
    ['held', 'parked', 'held', now - 2, { operation: 'update', revision: 2 }],
    ['unclassed', 'parked', null, now - 2],
    [
      'delivered',
      'delivered',
      null,
      now - 1_000,
      { attempts: 1, started_at: now - 1_040, requests: 2, closed_at: now - 1_000 },
    ],
    [
      'long ago',
      'delivered',
      null,
      now - 900_000,
      { attempts: 1, started_at: now - 900_040, requests: 1, closed_at: now - 900_000 },
    ],
    ['found', 'delivered', null, now - 1_000, { found_at: now - 1_000, closed_at: now - 1_000 }],
    ['replaced', 'superseded', null, afterScan, { closed_at: now - 1 }],
    ['closed', 'discarded', 'refused', now - 1, { closed_at: now - 1 }],
  ];
  const statements = rows.map(([key, state, parkClass, nextAttemptAt, more]) => {
    const row = {
      ...{
        entity: 'order',
        source_key: key,
        revision: 1,
        operation: 'create',
        generation: 0,
        idempotency_key: `k ${key}`,
      },
      ...{ body_hash: hash, content_hash: hash, mapping_fingerprint: hash, state, park_class: parkClass },
      ...{ next_attempt_at: nextAttemptAt, captured_at: now, folded_key: key, ...more },
    };
    const values = Object.values(row).map((value) => {
      if (value === null) return 'NULL';
      return typeof value === 'string' ? `'${value}'` : String(value);
    });
    return `INSERT INTO outbox_message (${Object.keys(row).join(', ')}) VALUES (${values.join(', ')})`;
  });
  const bodies = "INSERT INTO message_body (message_id, record) SELECT id, '{}' FROM outbox_message";

  async function upgraded(work: (store: Store) => Promise<void>, meanwhile: readonly string[] = []): Promise<void> {
    const settings = await kit.emptyDatabase();
    await storeBefore('MessageSchedule1795900000000', settings, [...statements, bodies, ...meanwhile]);
    const { store } = await openStore(settings);
    try {
      await work(store);
    } finally {
      await store.close();
    }
  }
  const scheduleOf = async (store: Store) => {
    const sql = 'SELECT source_key, state, next_attempt_at, waits_for, delivered_at FROM outbox_message ORDER BY id';
    const found = await store.read('look', (tx) => tx.select<Record<string, unknown>>(sql));
    return found.map((row) => Object.values(row));
  };
  const after = [
    ['due', 'pending', now - 5, null, null],
    ['later', 'pending', now + 60_000, null, null],
    ['changed', 'pending', null, 'scan', null],
    ['removed', 'pending', null, 'scan', null],
    ['sent', 'sending', now - 9, null, null],
    ['asked', 'sending', now - 9, null, null],
    ['doubted', 'in_doubt', now + 7, null, null],
    ['conflict', 'parked', now - 3, null, null],
    ['answered', 'parked', null, 'person', null],
    ['turned', 'parked', null, 'person', null],
    ['refused', 'parked', null, 'person', null],
    ['held', 'parked', null, 'person', null],
    ['unclassed', 'parked', null, 'person', null],
    ['delivered', 'delivered', null, null, now - 1_000],
    ['long ago', 'delivered', null, null, now - 900_000],
    ['found', 'delivered', null, null, null],
    ['replaced', 'superseded', null, null, null],
    ['closed', 'discarded', null, null, null],
  ];

  it('tells both apart afterwards, sends and looks up what it would have, and counts the same for its limits', async () => {
    await upgraded(async (store) => {
      expect(await scheduleOf(store)).to.deep.equal(after);
      const keysOf = async (ids: readonly number[]) => {
        const found = await store.read('look', (tx) =>
          tx.select<{ id: number; source_key: string }>('SELECT id, source_key FROM outbox_message'),
        );
        return ids.map((id) => found.find((row) => row.id === id)?.source_key);
      };
      const question = { nowMs: now, scope: { only: null }, resends: { sentSinceMs: 0, lookedUp: [] } };
      const due = await store.read('look', (tx) => dueMessages(tx, 100, question));
      expect(await keysOf(due.map(({ id }) => id))).to.deep.equal(['due']);
      // Also where it is asked for all that ever may be sent.
      const claimed = await store.transaction('claim', async (tx) => {
        const all = await tx.select<{ id: number }>('SELECT id FROM outbox_message ORDER BY id');
        return claimMessages(
          tx,
          all.map(({ id }) => id),
          claimTerms({ epoch: 2, nowMs: now }),
        );
      });
      expect(claimed.claimed.map(({ sourceKey }) => sourceKey)).to.deep.equal(['due', 'later', 'doubted']);
      const lookedUp = await store.transaction('look up', (tx) =>
        claimLookUps(
          tx,
          { entities: { in_doubt: [], conflict: ['order'] }, only: null, sentBeforeMs: 0, limit: 10 },
          2,
          { bootId: 'a', bootMs: now, wallMs: now },
        ),
      );
      expect(lookedUp.map(({ sourceKey }) => sourceKey)).to.deep.equal(['conflict']);
      const counted = await store.read('count', async (tx) => {
        const [from, parameters] = await deliveredSince(tx, now - 60_000);
        return tx.select(`SELECT m.source_key, m.requests ${from}`, parameters);
      });
      expect(counted).to.deep.equal([{ source_key: 'delivered', requests: 2 }]);
    });
  });

  if (kit.dialect === 'mysql')
    it('goes on where an interrupted run left off, since each statement commits by itself', async () => {
      const begun = [
        'DROP INDEX outbox_message_due ON outbox_message',
        'ALTER TABLE outbox_message ADD COLUMN waits_for VARCHAR(12) NULL',
        'ALTER TABLE outbox_message ADD COLUMN delivered_at BIGINT NULL',
        'ALTER TABLE outbox_message MODIFY next_attempt_at BIGINT NULL',
        "UPDATE outbox_message SET delivered_at=next_attempt_at, next_attempt_at=NULL WHERE state='delivered' AND started_at IS NOT NULL",
        "UPDATE outbox_message SET waits_for='scan', next_attempt_at=NULL WHERE state='pending' AND next_attempt_at>=8639999999999999",
        'ALTER TABLE outbox_message ADD CONSTRAINT outbox_message_delivered CHECK (1=1)',
      ];
      await upgraded(async (store) => {
        expect(await scheduleOf(store)).to.deep.equal(after);
      }, begun);
    });

  it('takes no row afterwards whose columns contradict its state', async () => {
    await upgraded(async (store) => {
      const contradictions = [
        "next_attempt_at=NULL WHERE source_key='due'",
        "waits_for='scan' WHERE source_key='due'",
        "waits_for='person', next_attempt_at=NULL WHERE source_key='due'",
        "waits_for='later' WHERE source_key='changed'",
        "waits_for=NULL WHERE source_key='changed'",
        "waits_for=NULL WHERE source_key='refused'",
        "waits_for=NULL, next_attempt_at=1 WHERE source_key='refused'",
        "next_attempt_at=1 WHERE source_key='delivered'",
        "delivered_at=NULL WHERE source_key='delivered'",
        "delivered_at=1 WHERE source_key='found'",
        "delivered_at=1 WHERE source_key='due'",
        "state='in_doubt' WHERE source_key='changed'",
        "state='superseded' WHERE source_key='refused'",
      ];
      for (const set of contradictions) {
        const written = await store
          .transaction('contradict', (tx) => tx.run(`UPDATE outbox_message SET ${set}`))
          .catch((error: Error) => error.message);
        expect(written, set).to.match(/outbox_message_(schedule|delivered)/);
      }
    });
  });
});

onEveryStore('a store in which magic values stood for what is not known', (kit) => {
  it('has NULL there afterwards, knows how far each sweep had come, and takes no such value any more', async () => {
    const settings = await kit.emptyDatabase();
    const unknown = '?'.repeat(64);
    const known = 'a'.repeat(64);
    const message = (key: string, hash: string) =>
      `INSERT INTO outbox_message (entity, source_key, revision, operation, generation, content_hash, mapping_fingerprint, state,
         captured_at, folded_key) VALUES ('order', '${key}', 1, 'create', 0, '${hash}', '${known}', 'superseded', 5, '${key}')`;
    const binding = (key: string, hash: string, readAskedAt: number) =>
      `INSERT INTO binding (entity, source_key, service_id, revision, generation, content_hash, mapping_fingerprint, acknowledged_at,
         read_asked_at, folded_key) VALUES ('order', '${key}', 'o${key}', 1, 0, '${hash}', '${known}', 5, ${readAskedAt}, '${key}')`;
    const target = (kind: string, sweepAfter: string | null, nextTryAt: number) =>
      `INSERT INTO write_back_target (kind, fingerprint, sweep_after, failures, next_try_at)
       VALUES ('${kind}', '${known}', ${sweepAfter === null ? 'NULL' : `'${sweepAfter}'`}, 1, ${nextTryAt})`;
    await storeBefore('UnknownsAreNull1795900001000', settings, [
      message('1', unknown),
      message('2', known),
      binding('1', unknown, 0),
      binding('2', known, 7),
      `INSERT INTO write_back_row (kind, record_key, content_hash) VALUES ('orders', '1', ''), ('orders', '2', '${known}')`,
      target('a', 'found:', 0),
      target('b', 'known:7:8', 9),
      target('c', 'parked:0', 0),
      target('d', 'written:x', 0),
      target('e', null, 0),
    ]);
    const { store } = await openStore(settings);
    const rows = async (sql: string) => {
      const found = await store.read('look', (tx) => tx.select<Record<string, unknown>>(sql));
      return found.map((row) => Object.values(row));
    };
    try {
      expect(await rows('SELECT content_hash FROM outbox_message ORDER BY source_key')).to.deep.equal([
        [null],
        [known],
      ]);
      expect(await rows('SELECT content_hash, read_asked_at FROM binding ORDER BY source_key')).to.deep.equal([
        [null, null],
        [known, 7],
      ]);
      expect(await rows('SELECT content_hash FROM write_back_row ORDER BY record_key')).to.deep.equal([
        [null],
        [known],
      ]);
      expect(
        await rows('SELECT kind, sweep_phase, sweep_after, next_try_at FROM write_back_target ORDER BY kind'),
      ).to.deep.equal([
        ['a', 'found', null, null],
        ['b', 'known', '7:8', 9],
        ['c', 'parked', '0', null],
        ['d', 'written', 'x', null],
        ['e', null, null, null],
      ]);
      for (const update of [
        `outbox_message SET content_hash='${unknown}'`,
        `binding SET content_hash='${unknown}'`,
        'binding SET read_asked_at=0',
        "write_back_row SET content_hash=''",
        'write_back_target SET next_try_at=0',
        "write_back_target SET sweep_phase='known:'",
        "write_back_target SET sweep_phase=NULL, sweep_after='7'",
      ]) {
        const written = await store
          .transaction('write a magic value', (tx) => tx.run(`UPDATE ${update}`))
          .catch((error: Error) => error.message);
        expect(written, update).to.match(/outbox_message_|binding_|write_back_/);
      }
    } finally {
      await store.close();
    }
  });
});

onEveryStore('a store in which 0 stood for the end of a free lease and for a sweep under way', (kit) => {
  it('has NULL there afterwards, asks for no sweep that was made, and takes no 0 any more', async () => {
    const settings = await kit.emptyDatabase();
    const lease = (name: string, holder: string | null, expiresAt: number) =>
      `INSERT INTO lease (name, epoch, holder, expires_at) VALUES ('${name}', 3, ${holder ? `'${holder}'` : 'NULL'}, ${expiresAt})`;
    await storeBefore('FreeLeasesHaveNoEnd1795914000000', settings, [
      lease('service', 'a', 900),
      lease('capture', null, 0),
      lease('leader', 'node/a', 0),
      lease('node/b', null, 0),
      lease('node/c', null, 800),
      "INSERT INTO capture_cursor (name, swept_at) VALUES ('order', 0), ('customer', NULL), ('order.b', 700)",
    ]);
    const { store } = await openStore(settings);
    const rows = (sql: string) => store.read('look', (tx) => tx.select<Record<string, unknown>>(sql));
    try {
      expect(await rows('SELECT name, holder, expires_at FROM lease ORDER BY name')).to.deep.equal([
        { name: 'capture', holder: null, expires_at: null },
        { name: 'leader', holder: 'node/a', expires_at: null },
        { name: 'node/b', holder: null, expires_at: null },
        { name: 'node/c', holder: null, expires_at: 800 },
        { name: 'service', holder: 'a', expires_at: 900 },
      ]);
      const states = (await store.read('look', viewNodes)).map(({ name, state }) => [name, state]);
      expect(states).to.deep.equal([
        ['b', 'left'],
        ['c', 'gone'],
      ]);
      expect(await rows('SELECT name, swept_at, sweep_begun_at FROM capture_cursor ORDER BY name')).to.deep.equal([
        { name: 'customer', swept_at: null, sweep_begun_at: null },
        { name: 'order', swept_at: null, sweep_begun_at: null },
        { name: 'order.b', swept_at: 700, sweep_begun_at: null },
      ]);
      for (const update of [
        'lease SET expires_at=0',
        "lease SET expires_at=NULL WHERE name='service'",
        'capture_cursor SET swept_at=0',
        'capture_cursor SET sweep_begun_at=0',
      ]) {
        const written = await store
          .transaction('write a magic value', (tx) => tx.run(`UPDATE ${update}`))
          .catch((error: Error) => error.message);
        expect(written, update).to.match(/lease_(end|held)|capture_cursor_swe/);
      }
    } finally {
      await store.close();
    }
  });
});

onEveryStore('a store in which a field without a name stood for a key in a header', (kit) => {
  it('tells the two by a column afterwards, and takes no such field any more', async () => {
    const settings = await kit.emptyDatabase();
    const hash = 'a'.repeat(64);
    const message = (key: string, keyField: string | null) =>
      `INSERT INTO outbox_message (entity, source_key, revision, operation, generation, content_hash, mapping_fingerprint, state,
         captured_at, folded_key, key_field)
       VALUES ('order', '${key}', 1, 'create', 0, '${hash}', '${hash}', 'superseded', 5, '${key}', ${keyField === null ? 'NULL' : `'${keyField}'`})`;
    await storeBefore('PlaceOfTheKey1795914002000', settings, [
      message('1', ''),
      message('2', 'code'),
      message('3', null),
    ]);
    const { store } = await openStore(settings);
    try {
      const sql = 'SELECT source_key, key_in, key_field FROM outbox_message ORDER BY source_key';
      expect(await store.read('look', (tx) => tx.select(sql))).to.deep.equal([
        { source_key: '1', key_in: 'header', key_field: null },
        { source_key: '2', key_in: 'body', key_field: 'code' },
        { source_key: '3', key_in: null, key_field: null },
      ]);
      for (const set of ["key_field=''", 'key_in=NULL', "key_in='header'", "key_in='query'"]) {
        const written = await store
          .transaction('contradict', (tx) => tx.run(`UPDATE outbox_message SET ${set} WHERE source_key='2'`))
          .catch((error: Error) => error.message);
        expect(written, set).to.match(/outbox_message_key_in/);
      }
    } finally {
      await store.close();
    }
  });
});

onEveryStore('a store in which the time 1 stood for an unknown first send', (kit) => {
  it('tells what was sent by a column afterwards, and takes no such time any more', async () => {
    const settings = await kit.emptyDatabase();
    const hash = 'a'.repeat(64);
    const sentAt = 1_790_000_000_000;
    const message = (key: string, firstSentAt: number | null) =>
      `INSERT INTO outbox_message (entity, source_key, revision, operation, generation, content_hash, mapping_fingerprint, state,
         waits_for, captured_at, folded_key, first_sent_at)
       VALUES ('order', '${key}', 1, 'create', 0, '${hash}', '${hash}', 'parked', 'person', 5, '${key}', ${firstSentAt ?? 'NULL'})`;
    await storeBefore('FirstSendKnownOrNot1795930000000', settings, [
      message('1', sentAt),
      message('2', 1),
      message('3', null),
    ]);
    const { store } = await openStore(settings);
    try {
      const sql = 'SELECT source_key, was_sent, first_sent_at FROM outbox_message ORDER BY source_key';
      expect(await store.read('look', (tx) => tx.select(sql))).to.deep.equal([
        { source_key: '1', was_sent: 1, first_sent_at: sentAt },
        { source_key: '2', was_sent: 1, first_sent_at: null },
        { source_key: '3', was_sent: 0, first_sent_at: null },
      ]);
      for (const set of ['was_sent=0', 'was_sent=2', 'first_sent_at=1', 'first_sent_at=0']) {
        const written = await store
          .transaction('write a magic value', (tx) => tx.run(`UPDATE outbox_message SET ${set} WHERE source_key='1'`))
          .catch((error: Error) => error.message);
        expect(written, set).to.match(/outbox_message_first_sent/);
      }
    } finally {
      await store.close();
    }
  });
});

onEveryStore('a store in which empty texts and zeros of a key stood for what is not known', (kit) => {
  it('has NULL, or a column that says so, and takes them no more', async () => {
    const settings = await kit.emptyDatabase();
    const closed = (key: string, id: string, revision: number) =>
      `INSERT INTO closed_binding (entity, source_key, service_id, revision, generation, closed_at) VALUES ('order', '${key}', '${id}', ${revision}, 1, 5)`;
    const staged = (customer: string, state: string) =>
      `INSERT INTO invoice_staging (list_customer, list_state, row_key, first_pass, last_pass) VALUES ('${customer}', '${state}', 'k', 1, 1)`;
    const sum = (day: string) =>
      `INSERT INTO reconcile_sum (run_id, day, currency, erp_records, erp_total, service_records, service_total) VALUES (1, '${day}', 'EUR', 2, '3', 4, '5')`;
    await storeBefore('ClosedBindingsKnowOrNot1795940000000', settings, [
      closed('1', 'ord_1', 3),
      closed('2', '', 0),
      staged('', 'unpaid'),
      staged('K1', 'unpaid'),
      staged('', ''),
      "INSERT INTO invoice_group (list_customer, is_proven) VALUES ('', 1)",
      "INSERT INTO invoice_malformed (list_customer, list_state, row_key, since_at) VALUES ('K1', 'unpaid', 'k', 5)",
      sum(''),
      sum('2026-10-01'),
    ]);
    const { store } = await openStore(settings);
    try {
      const rows = (sql: string) => store.read('look', (tx) => tx.select(sql));
      expect(
        await rows('SELECT source_key, service_id, revision FROM closed_binding ORDER BY source_key'),
      ).to.deep.equal([
        { source_key: '1', service_id: 'ord_1', revision: 3 },
        { source_key: '2', service_id: null, revision: null },
      ]);
      expect(
        await rows(
          'SELECT list_kind, list_customer, list_state FROM invoice_staging ORDER BY list_kind, list_customer',
        ),
      ).to.deep.equal([
        { list_kind: 'all', list_customer: '', list_state: 'unpaid' },
        { list_kind: 'customer', list_customer: 'K1', list_state: 'unpaid' },
        { list_kind: 'own', list_customer: '', list_state: '' },
      ]);
      expect(await rows('SELECT list_kind FROM invoice_group')).to.deep.equal([{ list_kind: 'all' }]);
      expect(await rows('SELECT list_kind FROM invoice_malformed')).to.deep.equal([{ list_kind: 'customer' }]);
      expect(
        await rows("SELECT run_id, day, erp_total FROM reconcile_day_sum ORDER BY COALESCE(day, '')"),
      ).to.deep.equal([
        { run_id: 1, day: null, erp_total: '3' },
        { run_id: 1, day: '2026-10-01', erp_total: '3' },
      ]);
      for (const update of [
        "closed_binding SET service_id=''",
        'closed_binding SET revision=0',
        "invoice_staging SET list_customer='' WHERE list_kind='customer'",
        "invoice_staging SET list_state='' WHERE list_kind='all'",
        'invoice_group SET list_kind=NULL',
        "reconcile_day_sum SET day='' WHERE day IS NULL",
      ]) {
        const written = await store
          .transaction('write a magic value', (tx) => tx.run(`UPDATE ${update}`))
          .catch((error: Error) => error.message);
        expect(written, update).to.match(/closed_binding_|invoice_(staging|group)_kind|reconcile_day_sum_day/);
      }
    } finally {
      await store.close();
    }
  });
});
