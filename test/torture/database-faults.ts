import { setTimeout as sleep } from 'node:timers/promises';
import type { RowDataPacket } from 'mysql2/promise';
import type { MariaDb } from '../support/mariadb.js';
import { openSqlite } from '../support/sqlite-file.js';
import type { Stage } from './stage.js';
import { until } from './until.js';

type Connection = Awaited<ReturnType<MariaDb['connect']>>;

/** Somebody else holds a lock for so long that Waybill has to wait for it, or to give up. */
export async function holdLock(stage: Stage, forMs: number): Promise<void> {
  if (stage.server === null) return holdFile(stage, forMs);
  for (let tries = 0; tries < 4; tries++) {
    let isFelt = false;
    await atServer(stage, async (connection) => {
      isFelt = await holdRows(connection, forMs);
    });
    if (!isFelt) continue;
    stage.coverage.count('fault:database-lock');
    return;
  }
}

/** @returns whether anybody had to wait */
async function holdRows(connection: Connection, forMs: number): Promise<boolean> {
  await connection.query('START TRANSACTION');
  // Waiting for the lease, nothing is written yet; waiting for an attempt, half of the outcome is.
  const rows =
    forMs % 2 === 0
      ? "SELECT * FROM lease WHERE name='service' FOR UPDATE"
      : 'SELECT id FROM attempt WHERE verdict IS NULL AND message_id IS NOT NULL FOR UPDATE';
  const isLocked = await until(2_000, async () => (await select(connection, rows)).length > 0, 5);
  const [isFelt] = isLocked
    ? await Promise.all([until(forMs, () => someoneWaits(connection), 20), sleep(Math.max(forMs, 1_250))])
    : [false];
  await connection.query('ROLLBACK');
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
  for (let tries = 0; tries < 12; tries++) {
    let isVictim = false;
    await atServer(stage, async (connection) => {
      await connection.query(
        'CREATE DATABASE IF NOT EXISTS torture; CREATE TABLE IF NOT EXISTS torture.weight (n INT) ENGINE=InnoDB',
      );
      const before = await statusOf(connection, 'Innodb_deadlocks');
      await connection.query('START TRANSACTION');
      // The heavier transaction survives, and that is to be this one.
      await connection.query('INSERT INTO torture.weight SELECT seq FROM seq_1_to_300');
      const locked = await until(
        1_500,
        async () =>
          (
            await select(
              connection,
              "SELECT id FROM outbox_message WHERE state='sending' ORDER BY id DESC LIMIT 8 FOR UPDATE",
            )
          ).length > 0,
        5,
      );
      // It holds the lease by then, and waits for a message that is ours.
      if (locked && (await until(600, () => someoneWaits(connection), 3)))
        await connection.query("SELECT * FROM lease WHERE name='service' FOR UPDATE");
      isVictim = (await statusOf(connection, 'Innodb_deadlocks')) > before;
      await connection.query('ROLLBACK');
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
  const { store, erpUser } = databases;
  let isFelt = false;
  for (let tries = 0; tries < 4 && !isFelt; tries++)
    await atServer(stage, async (connection) => {
      const ours = 'SELECT id, command FROM information_schema.processlist WHERE user IN (?, ?)';
      let rows: RowDataPacket[] = [];
      const isInUse = await until(
        2_000,
        async () => {
          [rows] = await connection.query<RowDataPacket[]>(ours, [store.user, erpUser.user]);
          return rows.some(({ command }) => command !== 'Sleep');
        },
        1,
      );
      let killed = 0;
      for (const { id } of rows)
        await connection.query(`KILL ${id}`).then(
          () => killed++,
          () => undefined,
        );
      isFelt = isInUse && killed > 0;
    });
  if (isFelt) coverage.count('fault:database-kill-connections');
}

export async function restartServer({ server, databases, coverage }: Stage): Promise<void> {
  if (!server || !databases) return;
  const wasInUse = await until(2_000, async () => (await usersOf(server)).includes(databases.store.user), 50);
  await server.kill();
  await server.restart();
  if (wasInUse) coverage.count('fault:database-restart');
}

async function usersOf(server: MariaDb): Promise<string[]> {
  const connection = await server.connect();
  try {
    return (await select(connection, 'SELECT user FROM information_schema.processlist')).map((row) => row.user);
  } finally {
    connection.destroy();
  }
}

/** Nobody else works on this server. */
async function someoneWaits(connection: Connection): Promise<boolean> {
  return (await statusOf(connection, 'Innodb_row_lock_current_waits')) > 0;
}

async function statusOf(connection: Connection, name: string): Promise<number> {
  const [row] = await select(connection, `SHOW GLOBAL STATUS LIKE '${name}'`);
  return Number(row?.Value);
}

async function select(connection: Connection, sql: string): Promise<RowDataPacket[]> {
  return (await connection.query<RowDataPacket[]>(sql))[0];
}

/** What a fault does at the database server may meet another fault there: then it has had its effect. */
async function atServer({ server, databases }: Stage, work: (connection: Connection) => Promise<void>): Promise<void> {
  if (!server || !databases) return;
  try {
    const connection = await server.connect(databases.store.database);
    connection.on('error', () => undefined);
    try {
      await work(connection);
    } finally {
      connection.destroy();
    }
  } catch {
    // The server is being restarted, or chose us as the victim.
  }
}
