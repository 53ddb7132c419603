import type { StandsBy } from '../model/facts/alerts.js';
import { type Clock, systemClock } from './clock.js';
import { type Clocks, noteElapsed, readElapsed } from './elapsed-time.js';
import { refuseOlderStore } from './last-lines.js';
import {
  type EndedHolder,
  endedHolder,
  endLeases,
  idleMsOf,
  insertRow,
  type LeaseName,
  type LeaseRow,
  lockNodes,
  lockRow,
  msLeft,
  nodeNameOf,
  occupantOf,
  thisProcess,
} from './lease-rows.js';
import type { Store, Tx } from './store.js';

export type LeaseAnswer =
  | {
      held: true;
      lease: Lease;
      /** Milliseconds that surely passed since the last holder let go; null when there was none, 0 when it never did. */
      idleMs: number | null;
      /** The last holder, if it never let go and its process is known to have ended. */
      ended: EndedHolder | null;
    }
  | {
      held: false;
      holder: string;
      /** Milliseconds until the lease may be taken over. */
      freeInMs: number;
      /** Why it stands by beside nodes; absent: there are none. */
      why?: StandsBy;
    };

/** Another process holds the lease now: this one must not write or send any more. */
export class LeaseLost extends Error {
  constructor(name: LeaseName) {
    super(`The ${name} lease has gone to another process; this one stops writing.`);
    this.name = 'LeaseLost';
  }
}

export const systemClocks: Clocks = { nowMs: Date.now, clock: systemClock };

/** Requests that a process sent right before it ended have arrived after this time. */
const lastWordsMs = 250;

/**
 * Asks for a lease, again as long as its holder turns out to have ended on this machine.
 * @param ask is told the epochs whose holders are known to have ended; answers with one more of them, or null
 */
export async function afterLastWords(
  clock: Clock,
  ask: (ended: ReadonlySet<number>) => Promise<{ answer: LeaseAnswer; ended: number | null }>,
): Promise<LeaseAnswer> {
  const known = new Set<number>();
  for (;;) {
    const { answer, ended } = await ask(known);
    if (ended === null) return answer;
    known.add(ended);
    await clock.sleep(lastWordsMs);
  }
}

/** Keeps the holder of a lease from writing until the transaction ends; of `service` also every node of a cluster. */
export async function lockLease(tx: Tx, name: LeaseName): Promise<void> {
  if (!(await lockRow(tx, name))) {
    await insertRow(tx, name);
    await lockRow(tx, name);
  }
  if (name === 'service') await lockNodes(tx);
}

/** Keeps each source from being captured until the transaction ends. */
export async function lockCaptures(tx: Tx): Promise<void> {
  await lockLease(tx, 'capture');
  const named = await tx.rows<{ name: LeaseName }>("SELECT name FROM lease WHERE name LIKE 'capture.%' ORDER BY name");
  for (const { name } of named) await lockRow(tx, name);
}

interface TakenLease {
  name: LeaseName;
  epoch: number;
  leaseMs: number;
  /** When the database was asked, by the holder's own clock. */
  askedAtMonotonicMs: number;
}

/**
 * A lease that this process holds. Its transactions are the only way to write as the holder: each checks the epoch first,
 * so a holder that was frozen and lost the lease writes nothing.
 */
export class Lease {
  readonly name: LeaseName;
  /** The fencing token: it grows with every new holder. */
  readonly epoch: number;
  readonly leaseMs: number;
  #endsAtMonotonicMs: number;

  /** The lease of a row that was just taken in a transaction; `Lease.acquire` and `joinCluster` do. */
  constructor(
    private readonly store: Store,
    private readonly clocks: Clocks,
    taken: TakenLease,
  ) {
    this.name = taken.name;
    this.epoch = taken.epoch;
    this.leaseMs = taken.leaseMs;
    this.#endsAtMonotonicMs = taken.askedAtMonotonicMs + taken.leaseMs;
  }

  /**
   * Takes the lease if it is free, its time is over, or its holder ended on this machine without a word. A new holder gets a new
   * epoch. The `service` lease is free when no node of a cluster has one either.
   */
  static async acquire(
    store: Store,
    name: LeaseName,
    holder: string,
    leaseMs: number,
    clocks: Clocks = systemClocks,
  ): Promise<LeaseAnswer> {
    return afterLastWords(clocks.clock, async (ended) => {
      const askedAt = clocks.clock.monotonicMs();
      return store.transaction(`take the ${name} lease`, async (tx) => {
        const row = (await lockRow(tx, name)) ?? (await insertRow(tx, name).then(() => lockRow(tx, name)));
        if (!row) throw new Error(`The lease row ${name} is gone.`);
        const nodes = name === 'service' ? await lockNodes(tx) : [];
        for (const one of [row, ...nodes]) {
          const occupant = await occupantOf(tx, one, ended);
          if (occupant === null) continue;
          const { holder, freeInMs, ended: wasLast } = occupant;
          if (!('share' in one)) return { answer: { held: false, holder, freeInMs }, ended: wasLast };
          const who = `${holder} (node ${nodeNameOf(one)} of a cluster)`;
          return { answer: { held: false, holder: who, freeInMs, why: { code: 'alone' } }, ended: wasLast };
        }
        await endLeases(tx, nodes);
        const epoch = row.epoch + 1;
        await tx.run(
          'UPDATE lease SET epoch=?, holder=?, holder_process=?, expires_at=?, released_at=NULL, released_elapsed=NULL WHERE name=?',
          [epoch, holder, thisProcess(), row.now + leaseMs, name],
        );
        const lease = new Lease(store, clocks, { name, epoch, leaseMs, askedAtMonotonicMs: askedAt });
        const idleMs = name === 'service' ? idleMsOf([row, ...nodes], await readElapsed(tx, clocks)) : null;
        return { answer: { held: true, lease, idleMs, ended: endedHolder(row) }, ended: null };
      });
    });
  }

  /** When the lease ends at the latest, by the holder's own clock, which was read before the database was asked. */
  get endsAtMonotonicMs(): number {
    return this.#endsAtMonotonicMs;
  }

  /** The fence: one transaction of the holder, alone. @throws LeaseLost */
  write<T>(action: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#write(action, work, 'forUpdate');
  }

  /**
   * The same beside other transactions of this kind, none of which waits for the commit of another one. `write` waits for all
   * of them, on PostgreSQL also for those that begin meanwhile. @throws LeaseLost
   */
  writeBeside<T>(action: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#write(action, work, 'forShare');
  }

  #write<T>(action: string, work: (tx: Tx) => Promise<T>, lock: 'forUpdate' | 'forShare'): Promise<T> {
    return this.store.transaction(action, async (tx) => {
      const row = await lockRow(tx, this.name, tx[lock]);
      if (row?.epoch !== this.epoch || row.holder === null) throw new LeaseLost(this.name);
      await refuseOlderStore(tx);
      return work(tx);
    });
  }

  /** Moves the end of the lease; the same epoch goes on. @throws LeaseLost */
  async renew(): Promise<void> {
    const askedAt = this.clocks.clock.monotonicMs();
    await this.store.statement(`renew the ${this.name} lease`, async (tx) => {
      const held = [this.leaseMs, this.name, this.epoch];
      const renewal = `UPDATE lease SET expires_at=${tx.nowMs}+?, released_at=NULL WHERE name=? AND epoch=? AND holder IS NOT NULL`;
      if ((await tx.run(renewal, held)) === 0) throw new LeaseLost(this.name);
    });
    this.#endsAtMonotonicMs = askedAt + this.leaseMs;
  }

  /** Renews the lease once a third of it has passed. @throws LeaseLost */
  async keep(): Promise<void> {
    if (this.#endsAtMonotonicMs - this.clocks.clock.monotonicMs() <= (this.leaseMs * 2) / 3) await this.renew();
  }

  /** Lets go, so that a successor need not wait. Losing the lease first is no error. */
  async release(): Promise<void> {
    const own = [this.name, this.epoch];
    const letGo = (tx: Tx) =>
      tx.run(`UPDATE lease SET holder=NULL, expires_at=NULL, released_at=${tx.nowMs} WHERE name=? AND epoch=?`, own);
    const action = `release the ${this.name} lease`;
    // Only the successor at the service has to know for how long nothing was sent.
    if (this.name !== 'service') {
      await this.store.statement(action, letGo);
      return;
    }
    await this.store.transaction(action, async (tx) => {
      if ((await letGo(tx)) === 0) return;
      const elapsed = await noteElapsed(tx, this.clocks);
      await tx.run('UPDATE lease SET released_elapsed=? WHERE name=? AND epoch=?', [elapsed, ...own]);
    });
  }
}

interface LeaseView {
  /** The holder now, or null. */
  holder: string | null;
  epoch: number;
  /** Milliseconds until it ends if it is not renewed; 0 when it is free. */
  endsInMs: number;
  /** The holder that let its lease run out without releasing it. */
  lapsed: string | null;
}

/** The holder of a lease, by the database's clock. */
export async function readLease(tx: Tx, name: LeaseName): Promise<LeaseView> {
  const [row] = await tx.rows<LeaseRow>(
    `SELECT epoch, holder, expires_at, ${tx.nowMs} AS now FROM lease WHERE name=?`,
    [name],
  );
  if (!row) return { holder: null, epoch: 0, endsInMs: 0, lapsed: null };
  const endsInMs = msLeft(row);
  const held = row.holder !== null && endsInMs > 0;
  return {
    holder: held ? row.holder : null,
    epoch: row.epoch,
    endsInMs: held ? endsInMs : 0,
    lapsed: held ? null : row.holder,
  };
}
