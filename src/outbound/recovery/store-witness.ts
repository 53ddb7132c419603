import { randomUUID } from 'node:crypto';
import type { Logger } from 'winston';
import type { Store, Tx } from '../../store/store.js';
import { readStoreInfo, writeStoreInfo } from '../../store/store-info.js';
import { presumeSent } from './recover-messages.js';
import {
  compareWitness,
  readWitness,
  type StoreLoss,
  type StoreTrace,
  type Witness,
  writeWitness,
} from './witness-file.js';

/** Kept in the store from the discovery of a loss until `waybill recover` has dealt with it. */
export interface RecoveryHold extends StoreLoss {
  since: number;
  /** What the witness said. */
  witness: Witness;
  /** When the newest audit line of the store was written: nothing that the copy does not know was sent before it. */
  copyAt: number | null;
}

export async function readRecoveryHold(tx: Tx): Promise<RecoveryHold | null> {
  return parseHold(await readStoreInfo(tx, 'recovery'));
}

function parseHold(value: string | null): RecoveryHold | null {
  return value === null ? null : (JSON.parse(value) as RecoveryHold);
}

/**
 * Keeps the hold in its place until the transaction ends. To be called in every transaction that
 * relies on nothing being delivered: another recovery may have ended the hold since it was read.
 * @throws when it is gone, or another one by now
 */
export async function lockRecoveryHold(tx: Tx, hold: RecoveryHold): Promise<void> {
  const now = parseHold(await readStoreInfo(tx, 'recovery', true));
  if (!now)
    throw new Error(
      'Another `waybill recover` came to its end while this one ran, and delivery goes on. This one has stopped and writes nothing more. See what became of the records: `waybill audit --outcome recover`, then `waybill outbox --state parked`.',
    );
  if (now.since !== hold.since)
    throw new Error(
      `Another \`waybill recover\` came to its end while this one ran, and delivery is held anew because ${now.reason}. This one has stopped and writes nothing more. Look at what there is to recover now: \`waybill recover --dry-run\`.`,
    );
}

/** Why nothing is delivered before `waybill recover`, or null. */
export async function recoveryProblem(tx: Tx): Promise<string | null> {
  const hold = await readRecoveryHold(tx);
  return hold && `held because ${hold.reason}. What was sent has to be known again first: \`waybill recover\``;
}

/**
 * Compares the store with what the witness outside of it remembers, and puts a loss on record in
 * the store, which holds delivery in every process. To be called before anything else is written to
 * the store.
 */
export async function checkWitness(store: Store, file: string, nowMs: number): Promise<RecoveryHold | null> {
  const witness = await readWitness(file);
  return store.transaction('compare the store with its witness', async (tx) => {
    const known = await readRecoveryHold(tx);
    if (known || !witness) return known;
    const loss = compareWitness(witness, await traceOf(tx));
    if (!loss) return null;
    const [line] = await tx.select<{ at: number }>('SELECT at FROM audit_log ORDER BY id DESC LIMIT 1');
    const hold: RecoveryHold = {
      ...loss,
      since: nowMs,
      witness,
      copyAt: line?.at ?? null,
    };
    await writeStoreInfo(tx, 'recovery', JSON.stringify(hold));
    if (hold.kind === 'older' && hold.copyAt !== null) await presumeSent(tx, hold.copyAt);
    return hold;
  });
}

/**
 * Tells the witness how far the store has come: what it says was committed before. A store that is
 * held, or that was replaced while this process ran, tells it nothing.
 * @returns what is in the file now; null when it was left as it is
 */
export async function renewWitness(store: Store, file: string, nowMs: number): Promise<Witness | null> {
  if (await checkWitness(store, file, nowMs)) return null;
  const before = await readWitness(file);
  const trace = await store.read('read how far the store has come', traceOf);
  if (before?.incarnation === trace.incarnation && before.auditId === trace.auditId) return before;
  const witness: Witness = { ...trace, at: nowMs };
  // First in the store: its line may be pruned one day, and the store must not look older than its witness then.
  await store.transaction('note what the witness knows', (tx) =>
    writeStoreInfo(tx, 'witnessed', String(witness.auditId)),
  );
  await writeWitness(file, witness);
  return witness;
}

async function traceOf(tx: Tx): Promise<StoreTrace> {
  const [line] = await tx.select<{ id: number | null }>('SELECT MAX(id) AS id FROM audit_log');
  return {
    incarnation: (await readStoreInfo(tx, 'incarnation')) ?? '',
    auditId: Math.max(line?.id ?? 0, Number((await readStoreInfo(tx, 'witnessed')) ?? 0)),
    predecessors: await readPredecessors(tx),
  };
}

/** A new incarnation takes the place of the one that the store had, and of these others. */
export async function beginIncarnation(tx: Tx, others: readonly string[]): Promise<void> {
  const before = (await readStoreInfo(tx, 'incarnation')) ?? '';
  const predecessors = new Set([...(await readPredecessors(tx)), before, ...others]);
  await writeStoreInfo(tx, 'incarnation', randomUUID());
  await writeStoreInfo(tx, 'predecessors', JSON.stringify([...predecessors]));
}

async function readPredecessors(tx: Tx): Promise<string[]> {
  return JSON.parse((await readStoreInfo(tx, 'predecessors')) ?? '[]');
}

/** What is committed later than this before a power cut may be missing from the witness, and so from a restored copy unseen. */
const everyMs = 3_000;

/** Compares the store with its witness when a process begins, and keeps the witness up to date until it ends. */
export class WitnessKeeper {
  #renewing: Promise<void> = Promise.resolve();
  #failed = false;
  #stopped = false;
  #timer: NodeJS.Timeout | null = null;

  private constructor(
    private readonly store: Store,
    private readonly file: string,
    private readonly log: Logger,
  ) {}

  /** @throws StoreError when there is a witness that can't be read */
  static async start(store: Store, file: string, log: Logger): Promise<WitnessKeeper> {
    const hold = await checkWitness(store, file, Date.now());
    if (hold) log.info('Delivery is held until `waybill recover`', { reason: hold.reason });
    const keeper = new WitnessKeeper(store, file, log);
    keeper.#schedule();
    return keeper;
  }

  /** Tells the witness the last word and ends. Never throws: a witness that is a little behind is no fault. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer) clearTimeout(this.#timer);
    await this.#renewing;
    await this.#renew();
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      this.#renewing = this.#renew().then(() => {
        if (!this.#stopped) this.#schedule();
      });
    }, everyMs);
    this.#timer.unref();
  }

  async #renew(): Promise<void> {
    try {
      await renewWitness(this.store, this.file, Date.now());
      this.#failed = false;
    } catch (error) {
      if (!this.#failed)
        this.log.warn('The witness of the store could not be renewed', {
          file: this.file,
          error: (error as Error).message,
        });
      this.#failed = true;
    }
  }
}
