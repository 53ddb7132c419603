import { setTimeout as sleep } from 'node:timers/promises';
import { openSqlite } from '../support/sqlite-file.js';
import type { DatabaseServer, Session } from './database-server.js';
import { isOfNodes } from './plan.js';
import type { Stage } from './stage.js';
import { until } from './until.js';

/** Somebody else holds a lock for so long that Waybill has to wait for it, or to give up. */
export async function holdLock(stage: Stage, forMs: number): Promise<void> {
  if (stage.server === null) return holdFile(stage, forMs);
  for (let tries = 0; tries < 4; tries++) {
    let isFelt = false;
    await atServer(stage, async (session, server) => {
      isFelt = await holdRows(session, server, forMs);
    });
    if (!isFelt) continue;
    stage.coverage.count('fault:database-lock');
    return;
  }
}

/** @returns whether anybody had to wait */
async function holdRows(session: Session, server: DatabaseServer, forMs: number): Promise<boolean> {
  await session.query('START TRANSACTION');
  // Waiting for the lease, nothing is written yet; waiting for the audit, half of the outcome is.
  const rows =
    forMs % 2 === 0 ? "SELECT * FROM lease WHERE name='service' FOR UPDATE" : 'SELECT id FROM audit_chain FOR UPDATE';
  const isLocked = await until(2_000, async () => (await session.query(rows)).length > 0, 5);
  const [isFelt] = isLocked
    ? await Promise.all([until(forMs, () => someoneWaits(session, server), 20), sleep(Math.max(forMs, 1_250))])
    : [false];
  await session.query('ROLLBACK');
  return isFelt;
}

/** Longer than the time between two renewals of a lease: some writer has to wait. */
async function holdFile(stage: Stage, forMs: number): Promise<void> {
  for (let tries = 0; tries < 4; tries++) {
    if (!(await holdFileOnce(stage, forMs))) continue;
    stage.coverage.count('fault:database-lock');
    return;
  }
}

/** @returns whether anybody had waited to write, and wrote when it was let go */
async function holdFileOnce({ storeFile, crew }: Stage, forMs: number): Promise<boolean> {
  const database = openSqlite(storeFile, { timeout: 5 });
  // Nobody can wait for it who is not there.
  await until(7_000, () => crew.isAtWork(), 20);
  const locked = await until(
    3_000,
    () => {
      try {
        database.exec('BEGIN IMMEDIATE');
        return true;
      } catch {
        return false;
      }
    },
    7,
  );
  let isFelt = false;
  if (locked) {
    await sleep(forMs);
    database.exec('ROLLBACK');
    // It moves when another connection commits something. SQLite has whoever waits look every tenth of a second.
    const version = () => database.pragma('data_version', { simple: true });
    const before = version();
    isFelt = await until(200, () => version() !== before, 2);
  }
  database.close();
  return isFelt;
}

/** Locks rows in the opposite order, until a transaction of Waybill is chosen as the victim. */
export async function crossLocks(stage: Stage): Promise<void> {
  const writer = isOfNodes(stage.plan) ? 'node/%' : 'service';
  for (let tries = 0; tries < 12; tries++) {
    let isVictim = false;
    await atServer(stage, async (session, server) => {
      const before = await server.deadlocks(session);
      for (const statement of server.surviveDeadlocks) await session.query(statement);
      const rows = "SELECT id FROM outbox_message WHERE state='sending' ORDER BY id DESC LIMIT 8 FOR UPDATE";
      const locked = await until(1_500, async () => (await session.query(rows)).length > 0, 5);
      // It holds the lease by then, and waits for a message that is ours.
      if (locked && (await until(600, () => someoneWaits(session, server), 3)))
        await session.query(`SELECT * FROM lease WHERE name LIKE '${writer}' FOR UPDATE`);
      isVictim = (await server.deadlocks(session)) > before;
      await session.query('ROLLBACK');
    });
    // The server chose ours where the last line but one was not reached.
    if (!isVictim) continue;
    stage.coverage.count('fault:database-deadlock');
    return;
  }
}

export async function killConnections(stage: Stage): Promise<void> {
  const { databases, coverage } = stage;
  if (!databases) return;
  const users = databases.users.map(({ user }) => user);
  let isFelt = false;
  for (let tries = 0; tries < 4 && !isFelt; tries++)
    await atServer(stage, async (session, server) => {
      let ours: { id: number; user: string; busy: unknown }[] = [];
      const isInUse = await until(
        2_000,
        async () => {
          ours = (await session.query(server.sessions)).filter(({ user }) => users.includes(user));
          return ours.some(({ busy }) => Boolean(busy));
        },
        1,
      );
      let killed = 0;
      for (const { id } of ours)
        await session.query(server.cut(id)).then(
          () => killed++,
          () => undefined,
        );
      isFelt = isInUse && killed > 0;
    });
  if (isFelt) coverage.count('fault:database-kill-connections');
}

export async function restartServer({ server, databases, coverage }: Stage): Promise<void> {
  if (!server || !databases) return;
  const { user } = databases.store;
  const wasInUse = await until(2_000, async () => (await usersOf(server)).includes(user), 50);
  await server.server.kill();
  await server.server.restart();
  if (wasInUse) coverage.count('fault:database-restart');
}

async function usersOf(server: DatabaseServer): Promise<string[]> {
  const session = await server.connect();
  try {
    return (await session.query(server.sessions)).map(({ user }) => user);
  } finally {
    await session.end();
  }
}

async function someoneWaits(session: Session, server: DatabaseServer): Promise<boolean> {
  return (await session.query(server.someoneWaits)).length > 0;
}

/** A fault at the database server may meet another fault there: then it has had its effect. */
async function atServer(
  { server, databases }: Stage,
  work: (session: Session, server: DatabaseServer) => Promise<void>,
): Promise<void> {
  if (!server || !databases) return;
  try {
    const session = await server.connect(databases.store.database);
    try {
      await work(session, server);
    } finally {
      await session.end();
    }
  } catch {
    // The server is being restarted, or chose us as the victim.
  }
}
