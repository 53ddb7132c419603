import { type Clock, systemClock } from './clock.js';
import type { Store, Tx } from './store.js';

type LeaseName = 'capture' | 'service' | 'write-back';

export type LeaseAnswer =
  | {
      held: true;
      lease: Lease;
      /** Milliseconds since the last holder let go; null when there was none, 0 when it never did. */
      idleMs: number | null;
    }
  | {
      held: false;
      holder: string;
      /** Milliseconds until the lease may be taken over. */
      freeInMs: number;
    };

/** Another process holds the lease now: this one must not write or send any more. */
export class LeaseLost extends Error {
  constructor(name: LeaseName) {
    super(`The ${name} lease has gone to another process; this one stops writing.`);
    this.name = 'LeaseLost';
  }
}

/** The longest lease that the settings allow (`delivery.leaseSeconds`). */
const longestLeaseMs = 600_000;

interface LeaseRow {
  epoch: number;
  holder: string | null;
  expiresAt: number;
  releasedAt: number | null;
  now: number;
}

async function lockRow(tx: Tx, name: LeaseName): Promise<LeaseRow | undefined> {
  const [row] = await tx.rows<LeaseRow>(
    `SELECT epoch, holder, expires_at, released_at, ${tx.nowMs} AS now FROM lease WHERE name=?${tx.forUpdate}`,
    [name],
  );
  return row;
}

/** Keeps the holder of a lease from writing until the transaction ends. */
export async function lockLease(tx: Tx, name: LeaseName): Promise<void> {
  if (await lockRow(tx, name)) return;
  await insertRow(tx, name);
  await lockRow(tx, name);
}

async function insertRow(tx: Tx, name: LeaseName): Promise<void> {
  await tx.insertNew('INSERT INTO lease (name, epoch, holder, expires_at) VALUES (?, 0, NULL, 0)', [name]);
}

/**
 * A lease that this process holds. Its transactions are the only way to write as the holder: each checks the epoch first,
 * so a holder that was frozen and lost the lease writes nothing.
 */
export class Lease {
  readonly name: LeaseName;
  /** The fencing token: it grows with every new holder. */
  readonly epoch: number;
  #endsAtMonotonicMs: number;

  private constructor(
    private readonly store: Store,
    name: LeaseName,
    epoch: number,
    private readonly leaseMs: number,
    private readonly clock: Clock,
    askedAtMs: number,
  ) {
    this.name = name;
    this.epoch = epoch;
    this.#endsAtMonotonicMs = askedAtMs + leaseMs;
  }

  /** Takes the lease if it is free or its time is over. A new holder gets a new epoch. */
  static async acquire(
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
      if (row.holder !== null && row.expiresAt > row.now) {
        // The database's clock was set back since. A live holder renews long before this; do not wait longer for a dead one.
        const endsAt = Math.min(row.expiresAt, row.now + longestLeaseMs);
        if (endsAt < row.expiresAt) await tx.run('UPDATE lease SET expires_at=? WHERE name=?', [endsAt, name]);
        return { held: false, holder: row.holder, freeInMs: endsAt - row.now };
      }
      const epoch = row.epoch + 1;
      await tx.run('UPDATE lease SET epoch=?, holder=?, expires_at=?, released_at=NULL WHERE name=?', [
        epoch,
        holder,
        row.now + leaseMs,
        name,
      ]);
      const idleMs = row.holder !== null ? 0 : row.releasedAt === null ? null : row.now - row.releasedAt;
      return { held: true, lease: new Lease(store, name, epoch, leaseMs, clock, askedAt), idleMs };
    });
  }

  /** When the lease ends at the latest, by the holder's own clock, which was read before the database was asked. */
  get endsAtMonotonicMs(): number {
    return this.#endsAtMonotonicMs;
  }

  /** The fence: one transaction of the holder. @throws LeaseLost */
  async write<T>(action: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.store.transaction(action, async (tx) => {
      const row = await lockRow(tx, this.name);
      if (row?.epoch !== this.epoch || row.holder === null) throw new LeaseLost(this.name);
      return work(tx);
    });
  }

  /** Moves the end of the lease; the same epoch goes on. @throws LeaseLost */
  async renew(): Promise<void> {
    const askedAt = this.clock.monotonicMs();
    await this.write(`renew the ${this.name} lease`, (tx) =>
      tx.run(`UPDATE lease SET expires_at=${tx.nowMs}+? WHERE name=?`, [this.leaseMs, this.name]),
    );
    this.#endsAtMonotonicMs = askedAt + this.leaseMs;
  }

  /** Renews the lease once a third of it has passed. @throws LeaseLost */
  async keep(): Promise<void> {
    if (this.#endsAtMonotonicMs - this.clock.monotonicMs() <= (this.leaseMs * 2) / 3) await this.renew();
  }

  /** Lets go, so that a successor need not wait. Losing the lease first is no error. */
  async release(): Promise<void> {
    await this.store.transaction(`release the ${this.name} lease`, (tx) =>
      tx.run(`UPDATE lease SET holder=NULL, expires_at=0, released_at=${tx.nowMs} WHERE name=? AND epoch=?`, [
        this.name,
        this.epoch,
      ]),
    );
  }
}

interface LeaseView {
  /** Who holds it now, or null. */
  holder: string | null;
  epoch: number;
  /** Milliseconds until it ends if it is not renewed; 0 when it is free. */
  endsInMs: number;
  /** The holder that let its lease run out without releasing it. */
  lapsed: string | null;
}

/** Who holds a lease, by the database's clock. */
export async function readLease(tx: Tx, name: LeaseName): Promise<LeaseView> {
  const [row] = await tx.rows<LeaseRow>(
    `SELECT epoch, holder, expires_at, ${tx.nowMs} AS now FROM lease WHERE name=?`,
    [name],
  );
  if (!row) return { holder: null, epoch: 0, endsInMs: 0, lapsed: null };
  const endsInMs = row.expiresAt - row.now;
  const held = row.holder !== null && endsInMs > 0;
  return {
    holder: held ? row.holder : null,
    epoch: row.epoch,
    endsInMs: held ? endsInMs : 0,
    lapsed: held ? null : row.holder,
  };
}
