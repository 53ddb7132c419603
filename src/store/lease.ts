import { type Clock, systemClock } from './clock.js';
import type { Store, Tx } from './store.js';

export type LeaseName = 'capture' | 'service' | 'write-back';

export interface Lease {
  name: LeaseName;
  /** The fencing token: it grows with every new holder, and every write of a holder checks it. */
  epoch: number;
  /** When the lease ends at the latest, by the holder's own clock, which was read before the database was asked. */
  endsAtMonotonicMs: number;
}

export type LeaseAnswer =
  | {
      held: true;
      lease: Lease /** Milliseconds since the last holder let go; null when there was none, 0 when it never did. */;
      idleMs: number | null;
    }
  | { held: false; holder: string /** Milliseconds until the lease may be taken over. */; freeInMs: number };

/** Somebody else holds the lease now: nothing may be written or sent any more. */
export class LeaseLost extends Error {
  constructor(name: LeaseName) {
    super(`The ${name} lease has gone to another process; this one stops writing.`);
    this.name = 'LeaseLost';
  }
}

/** The longest lease that the settings allow (`delivery.leaseSeconds`). */
const longestLeaseMs = 600_000;

/** The database's clock in milliseconds: two machines must not argue about when a lease ends. */
export const nowSql = {
  sqlite: `CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)`,
  // From UTC: in the hour that comes twice in autumn, UNIX_TIMESTAMP(NOW()) can't tell the second from the first.
  mysql: "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(3)) DIV 1000)",
};

interface LeaseRow {
  epoch: number;
  holder: string | null;
  expires_at: number;
  released_at: number | null;
  now: number;
}

async function lockRow(tx: Tx, name: LeaseName): Promise<LeaseRow | undefined> {
  // SQLite's transaction holds the write lock already.
  const lock = tx.dialect === 'mysql' ? ' FOR UPDATE' : '';
  const [row] = await tx.select<LeaseRow>(
    `SELECT epoch, holder, expires_at, released_at, ${nowSql[tx.dialect]} AS now FROM lease WHERE name=?${lock}`,
    [name],
  );
  return row && { ...row, epoch: Number(row.epoch), expires_at: Number(row.expires_at), now: Number(row.now) };
}

/** Keeps the holder of a lease from writing until the transaction ends. */
export async function lockLease(tx: Tx, name: LeaseName): Promise<void> {
  if (await lockRow(tx, name)) return;
  await insertRow(tx, name);
  await lockRow(tx, name);
}

async function insertRow(tx: Tx, name: LeaseName): Promise<void> {
  const insert = tx.dialect === 'mysql' ? 'INSERT IGNORE INTO' : 'INSERT OR IGNORE INTO';
  await tx.run(`${insert} lease (name, epoch, holder, expires_at) VALUES (?, 0, NULL, 0)`, [name]);
}

/** Takes the lease if it is free or its time is over. A new holder gets a new epoch. */
export async function acquireLease(
  store: Store,
  name: LeaseName,
  holder: string,
  leaseMs: number,
  clock: Clock = systemClock,
): Promise<LeaseAnswer> {
  const askedAt = clock.monotonicMs();
  return store.transaction(`take the ${name} lease`, async (tx) => {
    await insertRow(tx, name);
    const row = await lockRow(tx, name);
    if (!row) throw new Error(`The lease row ${name} is gone.`);
    if (row.holder !== null && row.expires_at > row.now) {
      // The database's clock was set back since. A holder that lives renews long before this; one that died is not waited for until then.
      const endsAt = Math.min(row.expires_at, row.now + longestLeaseMs);
      if (endsAt < row.expires_at) await tx.run('UPDATE lease SET expires_at=? WHERE name=?', [endsAt, name]);
      return { held: false, holder: row.holder, freeInMs: endsAt - row.now };
    }
    const epoch = row.epoch + 1;
    await tx.run('UPDATE lease SET epoch=?, holder=?, expires_at=?, released_at=NULL WHERE name=?', [
      epoch,
      holder,
      row.now + leaseMs,
      name,
    ]);
    const idleMs = row.holder !== null ? 0 : row.released_at === null ? null : row.now - Number(row.released_at);
    return { held: true, lease: { name, epoch, endsAtMonotonicMs: askedAt + leaseMs }, idleMs };
  });
}

/** Moves the end of the lease; the same epoch goes on. @throws LeaseLost */
export async function renewLease(
  store: Store,
  lease: Lease,
  leaseMs: number,
  clock: Clock = systemClock,
): Promise<void> {
  const askedAt = clock.monotonicMs();
  await store.transaction(`renew the ${lease.name} lease`, async (tx) => {
    await assertEpoch(tx, lease);
    await tx.run(`UPDATE lease SET expires_at=${nowSql[tx.dialect]}+? WHERE name=?`, [leaseMs, lease.name]);
  });
  lease.endsAtMonotonicMs = askedAt + leaseMs;
}

/** Lets go, so that a successor need not wait. Losing it first is no error. */
export async function releaseLease(store: Store, lease: Lease): Promise<void> {
  await store.transaction(`release the ${lease.name} lease`, async (tx) => {
    await tx.run(
      `UPDATE lease SET holder=NULL, expires_at=0, released_at=${nowSql[tx.dialect]} WHERE name=? AND epoch=?`,
      [lease.name, lease.epoch],
    );
  });
}

/** The fence: called first in every transaction that a holder writes. @throws LeaseLost */
export async function assertEpoch(tx: Tx, lease: Lease): Promise<void> {
  const row = await lockRow(tx, lease.name);
  if (row?.epoch !== lease.epoch || row.holder === null) throw new LeaseLost(lease.name);
}

export interface LeaseView {
  /** Who holds it now; null when nobody does. */
  holder: string | null;
  epoch: number;
  /** Milliseconds until it ends if it is not renewed; 0 when nobody holds it. */
  endsInMs: number;
  /** Who fell silent without letting go, so that its time ran out. */
  lapsed: string | null;
}

/** Who holds a lease, by the database's clock. */
export async function readLease(tx: Tx, name: LeaseName): Promise<LeaseView> {
  const [row] = await tx.select(
    `SELECT epoch, holder, expires_at, ${nowSql[tx.dialect]} AS now FROM lease WHERE name=?`,
    [name],
  );
  if (!row) return { holder: null, epoch: 0, endsInMs: 0, lapsed: null };
  const endsInMs = Number(row.expires_at) - Number(row.now);
  const held = row.holder !== null && endsInMs > 0;
  return {
    holder: held ? row.holder : null,
    epoch: Number(row.epoch),
    endsInMs: held ? endsInMs : 0,
    lapsed: held ? null : row.holder,
  };
}
