import { copyFile, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { TestDatabase } from '../support/mariadb-database.js';
import type { TestDatabase as PostgresDatabase } from '../support/postgres-database.js';
import type { Attendant } from './attendant.js';
import { doDeed } from './do-deed.js';
import type { Deed, StoreFault } from './plan.js';
import type { Stage } from './stage.js';
import { asOwner, makeMariaDbStore, makePostgresStore, makeSqliteStore, sqliteStoreDesk } from './store-desk.js';
import { witnessTable, witnessTriggers } from './store-witness.js';
import { readLife } from './take-history.js';
import { until } from './until.js';

/** The copy that an operator put aside while all was well. */
export interface Copies {
  store: string;
  /** The last audit line that may be in it. */
  auditId: number;
}

/** `waybill backup` of the running store, at the moment that the plan names. */
export async function copyStore(stage: Stage): Promise<Copies> {
  const store = join(stage.folder, 'store.copy');
  await stage.operator.insistOnFile(store, 'backup');
  return { store, auditId: await lastAuditId(stage) };
}

/**
 * The power goes, and with it the store; an older copy or an empty store takes its place. The daemons run again, people
 * go on working, and an operator does what docs/operating.md says.
 */
export async function breakStore(stage: Stage, fault: StoreFault, copies: Copies, attendant: Attendant): Promise<void> {
  const { operator, crew, coverage, folder } = stage;
  const exported = join(folder, 'bindings.jsonl');
  if (fault.recovery.startsWith('bindings')) {
    stage.exportedAtMs = Date.now();
    await operator.insistOnFile(exported, 'bindings', 'export');
  }
  // Lines that the witness does not know yet would not be missed in a restored copy: then there is nothing to recover,
  // and no fault.
  const after = fault.kind === 'store-restored' ? copies.auditId : 0;
  if (!(await until(60_000, async () => (await witnessedAuditId(stage)) > after, 50))) return;
  await attendant.away();
  await crew.sendHome();
  for (const proxy of Object.values(stage.proxies)) await proxy.cut();
  // Until the last bytes of the dead have reached the service.
  await sleep(60);
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  const past = { ...(await readLife(stage)), endedAtMs: Date.now() };
  stage.past = past;
  if (fault.kind === 'store-lost') await loseStore(stage);
  else await restoreStore(stage, copies.store);

  crew.goOn();
  // Work goes on in the ERP, and is captured.
  await doDeed(stage.erp, { kind: 'new-order', lines: [{ product: 3, qty: 2 }], pick: 7 }, stage.nextOrder);
  for (const pick of [5, 11]) await doDeed(stage.erp, { kind: 'edit-order', pick, qty: 8 }, stage.nextOrder);
  // The newest records are hardly in the copy: they are captured as new, with other bytes than the service had.
  const bound = past.bindings.filter(({ entity }) => entity === 'order').map(({ source_key: key }) => key);
  for (const key of bound.sort((a, b) => Number(b) - Number(a)).slice(0, 2))
    await doDeed(stage.erp, { kind: 'edit-order', pick: 0, qty: 7, key }, stage.nextOrder);
  // A person looks by hand because the service has forgotten its keys. Some copies are known to be young.
  if (fault.kind === 'store-lost' && fault.recovery === 'by-hand') stage.sandbox.forgetKeys();
  await doDeed(stage.erp, { kind: 'cancel-orders', pick: 13, count: 1 }, stage.nextOrder);
  const held = await until(15_000, () => isHeld(stage), 50);
  // Long enough for a pass of capture, and for a delivery if there could be one.
  await sleep(1_300);
  await recoverWhileHeld(stage, [...recoverOptions(stage, fault, exported), '--reason', fault.kind, '--yes']);
  if (held) coverage.count(`fault:${fault.kind}`);
  coverage.count(`recovery:${fault.recovery}`);
  await editWhatIsNotProven(stage, fault);
  attendant.back();
}

/** Before anybody has looked at it, it changes: nothing of it may become another create. */
async function editWhatIsNotProven(stage: Stage, { recovery }: StoreFault): Promise<void> {
  const { erp, store, nextOrder } = stage;
  const edit = async (deeds: readonly Deed[]) => {
    const editedAt = Date.now();
    for (const deed of deeds) await doDeed(erp, deed, nextOrder);
    const captured = `SELECT id FROM outbox_message WHERE captured_at>=${editedAt}`;
    await until(5_000, async () => (await store.rows(captured)).length > 0, 50);
  };
  await doDeed(erp, { kind: 'edit-customer', pick: 5, name: 'Renamed after the loss' }, nextOrder);
  await edit([11, 12, 13, 14].map((pick) => ({ kind: 'edit-order', pick, qty: 10 + pick })));
  if (recovery !== 'from-service') return;
  // A record that changed while the store was away meets its own key with other bytes.
  const conflicts = () =>
    store.rows<{ source_key: string }>(
      "SELECT source_key FROM outbox_message WHERE state='parked' AND park_class='conflict' AND entity='order'",
    );
  if (!(await until(15_000, async () => (await conflicts()).length > 0, 50))) return;
  await edit((await conflicts()).map(({ source_key: key }) => ({ kind: 'edit-order', pick: 0, qty: 33, key })));
}

/** A recovery that is killed behind its commit is done: asked for again, it would begin another one. */
async function recoverWhileHeld(stage: Stage, options: readonly string[]): Promise<void> {
  for (let tries = 1; await isHeld(stage).catch(() => true); tries++) {
    const { code, stderr } = await stage.operator.run('recover', ...options);
    if (code === 0 || code === 3) return;
    if (tries === 40 || code === 2) throw new Error(`waybill recover ended with ${code}: ${stderr}`);
    await sleep(250);
  }
}

async function isHeld({ store }: Stage): Promise<boolean> {
  return (await store.rows("SELECT name FROM store_info WHERE name='recovery'")).length > 0;
}

function recoverOptions({ startedAtMs }: Stage, { kind, recovery }: StoreFault, exported: string): string[] {
  // A restored copy tells since when something may have been sent.
  const since = kind === 'store-lost' ? ['--sent-since', new Date(startedAtMs).toISOString()] : [];
  switch (recovery) {
    case 'from-service':
      return ['--from-service', ...since];
    case 'by-hand':
      return [];
    case 'look-up':
      return ['--look-up'];
    case 'bindings':
      return ['--bindings', exported];
    case 'bindings-from-service':
      return ['--bindings', exported, '--from-service', ...since];
  }
}

async function loseStore(stage: Stage): Promise<void> {
  const { storeFile } = stage;
  const renewed = await renewDatabase(stage);
  if (renewed) return renewed.type === 'mysql' ? makeMariaDbStore(renewed.store) : makePostgresStore(renewed.store);

  stage.store.close();
  for (const end of ['', '-wal', '-shm']) await rm(storeFile + end, { force: true });
  await makeSqliteStore(storeFile);
  stage.store = sqliteStoreDesk(storeFile);
}

async function restoreStore(stage: Stage, copy: string): Promise<void> {
  const { storeFile, operator } = stage;
  const renewed = await renewDatabase(stage);
  if (renewed) {
    const { type } = renewed;
    const run = (sql: string) => (type === 'mysql' ? renewed.store.query(sql) : asOwner(renewed.store, sql));
    // The copy brings what the witness had noted; the triggers come afterwards, or they would note the restoration.
    await run(witnessTable(type));
    await operator.insist('backup', '--restore', copy);
    for (const trigger of witnessTriggers(type)) await run(trigger);
    return;
  }
  stage.store.close();
  for (const end of ['-wal', '-shm']) await rm(storeFile + end, { force: true });
  await copyFile(copy, storeFile);
  stage.store = sqliteStoreDesk(storeFile);
}

/** Puts an empty database in the place of the store; null where it is a file. */
async function renewDatabase({ databases, server }: Stage) {
  if (!databases || !server) return null;
  const { database, user } = databases.store;
  const session = await server.connect();
  try {
    for (const statement of server.renew(database, user)) await session.query(statement);
  } finally {
    await session.end();
  }
  return { type: server.type, store: databases.store } as
    | { type: 'mysql'; store: TestDatabase }
    | { type: 'postgres'; store: PostgresDatabase };
}

async function lastAuditId({ store }: Stage): Promise<number> {
  const [row] = await store.rows<{ id: number | null }>('SELECT MAX(id) AS id FROM audit_log');
  return Number(row?.id ?? 0);
}

/** -1 where there is no witness yet. */
async function witnessedAuditId({ witnessFile }: Stage): Promise<number> {
  const text = await readFile(witnessFile, 'utf8').catch(() => null);
  return text === null ? -1 : (JSON.parse(text) as { auditId: number }).auditId;
}
