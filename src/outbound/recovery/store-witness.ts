import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Logger } from 'winston';
import { machineIdentity } from '../../ops/machine-identity.js';
import { forgetLastLines } from '../../store/last-lines.js';
import { isAnyAtWork } from '../../store/lease-rows.js';
import type { Store, Tx } from '../../store/store.js';
import { StoreError } from '../../store/store-error.js';
import { deleteStoreInfo, readStoreInfo, writeStoreInfo } from '../../store/store-info.js';
import { writeWholeFile } from '../../store/whole-file.js';
import { forgetPresumption, presumeSent } from './recover-messages.js';

/** The knowledge outside of the store about its progress: it shows when the store is lost, or an older copy of itself. */
export interface Witness {
  /** The name that the store gave to itself when it was made. */
  incarnation: string;
  /** Highest number of an audit line that was seen in it. */
  auditId: number;
  /** When it was seen, in milliseconds since 1970. */
  at: number;
  /** Incarnations that this one has replaced after a loss; absent: an earlier version wrote the file. */
  predecessors?: readonly string[];
  /** When records last got other keys, in milliseconds since 1970. The store may be lost with its own note of it. */
  rekeyedAt?: number;
}

/** @returns null when there is none. @throws StoreError when there is one that can't be read */
export async function readWitness(file: string): Promise<Witness | null> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new StoreError(
      `The witness file ${file} can not be read: ${(cause as Error).message}. Without it Waybill can't tell whether the store is the newest one. Give the file to the account that runs Waybill.`,
      { cause },
    );
  }
  try {
    const { incarnation, auditId, at, predecessors, rekeyedAt } = JSON.parse(text) as Partial<Witness>;
    if (typeof incarnation === 'string' && Number.isSafeInteger(auditId) && Number.isSafeInteger(at))
      return {
        incarnation,
        auditId: auditId as number,
        at: at as number,
        ...(Array.isArray(predecessors) ? { predecessors } : {}),
        ...(typeof rekeyedAt === 'number' ? { rekeyedAt } : {}),
      };
  } catch {
    // Told below, as any other content that is no witness.
  }
  throw new StoreError(
    `The file ${file} is no witness of a store. If the store is the newest one there is, delete that file, and say \`waybill recover --same-store\` if delivery is held then.`,
  );
}

/** Durable before it returns, and whole at every moment. */
export async function writeWitness(file: string, witness: Witness): Promise<void> {
  // Not on a thread: a demo that is stopped at once would have it made again behind its removal.
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  await writeWholeFile(file, (handle) => handle.writeFile(`${JSON.stringify(witness)}\n`), { replaces: true });
}

/** The store's view of itself. */
interface StoreTrace {
  incarnation: string;
  auditId: number;
  /** Incarnations that a person has replaced by this one, after a loss. */
  predecessors: readonly string[];
  /** A witness of it was written in this place, so a missing one was lost. */
  hadWitness: boolean;
}

interface StoreLoss {
  /**
   * `lost`, `older`: the witness proves it. `unwitnessed`: the witness is gone, so the store may be an older copy.
   * `stated`: a person said so.
   */
  kind: 'lost' | 'older' | 'unwitnessed' | 'stated';
  reason: string;
}

/** Compares the store with the one that ran here last. Pure; null: it is the same and as new, or this is a first run. */
export function compareWitness(witness: Witness | null, store: StoreTrace): StoreLoss | null {
  if (!witness)
    return store.hadWitness
      ? {
          kind: 'unwitnessed',
          reason:
            'there is no witness file of this store here, so it may be an older copy of itself. If it is the store that ran last, say `waybill recover --same-store`',
        }
      : null;
  // Another machine's witness may not know yet that the loss was dealt with.
  if (store.predecessors.includes(witness.incarnation)) return null;
  if (witness.predecessors?.includes(store.incarnation))
    return {
      kind: 'older',
      reason: `the store is a copy from before a recovery or a rekey: what took its place ran here until ${time(witness.at)}`,
    };
  if (witness.incarnation !== store.incarnation)
    return {
      kind: 'lost',
      reason: `the store is not the one that ran here until ${time(witness.at)} (it was lost, or the settings under \`store\` name another one)`,
    };
  if (store.auditId < witness.auditId)
    return {
      kind: 'older',
      reason: `the store is an older copy of itself: its last audit line is number ${store.auditId}, and ${witness.auditId} was there at ${time(witness.at)}`,
    };
  return null;
}

function time(ms: number): string {
  return new Date(ms).toISOString();
}

/** Kept in the store from the discovery of a loss until `waybill recover` has dealt with it. */
export interface RecoveryHold extends StoreLoss {
  since: number;
  /** Content of the witness; null: there was none. */
  witness: Witness | null;
  /** When the newest audit line of a copy was written: nothing that the copy does not know was sent before it. Null: no copy. */
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
export function checkWitness(store: Store, file: string, nowMs: number): Promise<RecoveryHold | null> {
  return checkAgainst(store, file, () => readWitness(file), nowMs, false);
}

/** The same for a store that was filled from a copy a moment ago, whoever ran it before. */
export function checkRestored(store: Store, file: string, nowMs: number): Promise<RecoveryHold | null> {
  return checkAgainst(store, file, () => readWitness(file), nowMs, true);
}

async function checkAgainst(
  store: Store,
  file: string,
  read: () => Promise<Witness | null>,
  nowMs: number,
  isRestored: boolean,
): Promise<RecoveryHold | null> {
  const before = await read();
  return store.transaction('compare the store with its witness', async (tx) => {
    const known = await readRecoveryHold(tx);
    if (known) return known;
    const trace = await traceOf(tx);
    const hadWitness =
      before === null && (await knowsAnything(tx)) && (isRestored || (await lostWitness(tx, file, trace)));
    // Another process may have written it since it was read.
    const witness = hadWitness ? await read() : before;
    const loss = compareWitness(witness, { ...trace, hadWitness });
    if (!loss) return null;
    return putOnRecord(tx, loss, witness, nowMs);
  });
}

async function putOnRecord(tx: Tx, loss: StoreLoss, witness: Witness | null, nowMs: number): Promise<RecoveryHold> {
  const [line] = await tx.select<{ at: number }>('SELECT at FROM audit_log ORDER BY id DESC LIMIT 1');
  const copyAt = loss.kind === 'lost' ? null : (line?.at ?? null);
  const hold: RecoveryHold = { ...loss, since: nowMs, witness, copyAt };
  await writeStoreInfo(tx, 'recovery', JSON.stringify(hold));
  if (hold.copyAt !== null) await presumeSent(tx, hold.copyAt);
  return hold;
}

/**
 * Holds a store that went back under the running process, which is its own witness: the store lacks what it has committed.
 * Several transactions may notice it at the same time.
 */
export async function holdOlderStore(store: Store, nowMs: number): Promise<void> {
  await store.transaction('hold a store that went back', async (tx) => {
    if (await readRecoveryHold(tx)) return;
    const { isHeld: _, isWitnessed: __, ...trace } = await traceOf(tx);
    const reason =
      'the store went back to an older state while Waybill ran (a failover to a replica that was behind, or a restored copy)';
    await putOnRecord(tx, { kind: 'older', reason }, { ...trace, auditId: trace.auditId + 1, at: nowMs }, nowMs);
  });
  forgetLastLines(store);
}

/**
 * Tells a witness that was lost from one that was never there. A store in a file has one witness. A store on a server has one
 * for each machine, and a machine that joins has none yet.
 */
async function lostWitness(tx: Tx, file: string, { isWitnessed }: StoreRow): Promise<boolean> {
  if (!isWitnessed) return false;
  if (tx.dialect.catalogue === null) return true;
  // Another process that is at work has compared this very store with its own witness.
  return (await readWitnessPlaces(tx)).includes(witnessPlace(file)) && !(await isAnyAtWork(tx));
}

/** A store that knows nothing misses nothing. */
async function knowsAnything(tx: Tx): Promise<boolean> {
  const known = ['binding', 'closed_binding', 'outbox_message'].map((table) => `SELECT 1 FROM ${table}`);
  for (const select of [...known, "SELECT 1 FROM store_info WHERE name='go_live'"])
    if ((await tx.value(`${select} LIMIT 1`)) !== undefined) return true;
  return false;
}

/** Names this machine and the folder; not the file, which is named after the database that a copy may be restored into. */
function witnessPlace(file: string): string {
  return `${machineIdentity()} ${dirname(resolve(file))}`;
}

async function readWitnessPlaces(tx: Tx): Promise<string[]> {
  return JSON.parse((await readStoreInfo(tx, 'witness_places')) ?? '[]');
}

/** Containers may have another name at each start. */
const maxPlaces = 50;

async function noteWitnessPlace(tx: Tx, file: string): Promise<void> {
  const place = witnessPlace(file);
  const places = await readWitnessPlaces(tx);
  if (places.at(-1) === place) return;
  const others = places.filter((one) => one !== place);
  await writeStoreInfo(tx, 'witness_places', JSON.stringify([...others, place].slice(-maxPlaces)));
}

/**
 * Puts a loss on record because a person says so, although nothing here proves it: from here on no process delivers until the
 * recovery has ended.
 */
export async function stateLoss(tx: Tx, nowMs: number): Promise<RecoveryHold> {
  const reason = 'a person said that a store was lost or replaced by an older copy';
  const hold: RecoveryHold = { kind: 'stated', reason, since: nowMs, witness: null, copyAt: null };
  await writeStoreInfo(tx, 'recovery', JSON.stringify(hold));
  return hold;
}

/**
 * Ends a hold on the word of a person that this is the same store, and that nothing newer was lost.
 * @throws when the witness proves that another store ran here
 */
export async function releaseSameStore(tx: Tx, hold: RecoveryHold): Promise<void> {
  await lockRecoveryHold(tx, hold);
  if (hold.witness !== null) throw new Error(`The witness proves the contrary: ${hold.reason}.`);
  if (hold.copyAt !== null) await forgetPresumption(tx, hold.copyAt);
  await endHold(tx, hold);
}

/** Lets delivery go on. A witness that was missing begins anew, or its absence would hold the store again. */
export async function endHold(tx: Tx, { witness }: RecoveryHold): Promise<void> {
  await deleteStoreInfo(tx, 'recovery');
  if (witness === null) await deleteStoreInfo(tx, 'witnessed');
}

/**
 * Tells the witness how far the store has come: what it says was committed before. A store that is
 * held, or that was replaced while this process ran, tells it nothing.
 * @param said what this process has read in the file, or written into it
 * @returns what is in the file now; null when it was left as it is
 */
export async function renewWitness(
  store: Store,
  file: string,
  nowMs: number,
  said: Witness | null = null,
): Promise<Witness | null> {
  const before = await readWitness(file);
  const { isHeld, isWitnessed, ...trace } = await store.read('read how far the store has come', traceOf);
  const isSame = (one: Witness) =>
    one.incarnation === trace.incarnation && one.auditId === trace.auditId && one.rekeyedAt === trace.rekeyedAt;
  if (!isHeld && before !== null && isSame(before)) return before;
  // A file that was deleted meanwhile is written again by the process that knows what it said.
  if (await checkAgainst(store, file, async () => (await readWitness(file)) ?? said, nowMs, false)) return null;
  const witness: Witness = { ...trace, at: nowMs };
  const note = () =>
    store.transaction('note what the witness knows', async (tx) => {
      await writeStoreInfo(tx, 'witnessed', String(witness.auditId));
      await noteWitnessPlace(tx, file);
    });
  // First in the store: its line may be pruned one day, and the store must not look older than its witness then.
  // Only the very first file comes before its note, because a store that has one without the file is held.
  if (before !== null) await note();
  await writeWitness(file, witness);
  if (before === null) await note();
  return witness;
}

interface StoreRow extends Omit<StoreTrace, 'hadWitness'> {
  isHeld: boolean;
  isWitnessed: boolean;
  rekeyedAt?: number;
}

/** The progress of the store, and its hold: one statement, because it is asked for every few seconds. */
async function traceOf(tx: Tx): Promise<StoreRow> {
  const rows = await tx.select<{ name: string; value: string | null }>(
    `SELECT name, value FROM store_info WHERE name IN ('incarnation', 'witnessed', 'predecessors', 'recovery', 'rekeyed_at')
      UNION ALL SELECT 'audit_id', ${tx.dialect.asText('MAX(id)')} FROM audit_log`,
  );
  const of = new Map(rows.map(({ name, value }) => [name, value]));
  const rekeyedAt = of.get('rekeyed_at');
  return {
    incarnation: of.get('incarnation') ?? '',
    auditId: Math.max(Number(of.get('audit_id') ?? 0), Number(of.get('witnessed') ?? 0)),
    predecessors: JSON.parse(of.get('predecessors') ?? '[]'),
    isHeld: of.has('recovery'),
    isWitnessed: of.has('witnessed'),
    ...(rekeyedAt ? { rekeyedAt: Number(rekeyedAt) } : {}),
  };
}

/** The name of the store, and those of the stores that it has replaced. */
export async function readLineage(tx: Tx): Promise<string[]> {
  return [(await readStoreInfo(tx, 'incarnation')) ?? '', ...(await readPredecessors(tx))];
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

/**
 * Lines that are committed later than this before a power cut may be missing from the witness, and so from a restored
 * copy unseen.
 */
const everyMs = 3_000;

/** Compares the store with its witness when a process begins, and keeps the witness up to date until it ends. */
export class WitnessKeeper {
  #renewing: Promise<void> = Promise.resolve();
  #failed = false;
  /** Last content of the file. */
  #said: Witness | null = null;
  #stopped = false;
  #timer: NodeJS.Timeout | null = null;

  private constructor(
    private readonly store: Store,
    private readonly file: string,
    private readonly log: Logger,
  ) {}

  /** @throws StoreError when there is a witness that can't be read */
  static async start(store: Store, file: string, log: Logger): Promise<WitnessKeeper> {
    const said = await readWitness(file);
    const hold = await checkWitness(store, file, Date.now());
    if (hold) log.info('Delivery is held until `waybill recover`', { reason: hold.reason });
    const keeper = new WitnessKeeper(store, file, log);
    keeper.#said = said;
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
      this.#said = (await renewWitness(this.store, this.file, Date.now(), this.#said)) ?? this.#said;
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
