import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Logger } from 'winston';
import type { StoreSettings } from '../../config/sections/store.js';
import { type Fact, legacy } from '../../model/facts/fact.js';
import { Refused } from '../../model/facts/failure.js';
import type { WorkFact } from '../../model/facts/work.js';
import { outside } from '../../model/outside.js';
import { machineIdentity } from '../../ops/machine-identity.js';
import { type AlertCause, endAlert, raiseAlert } from '../../store/alerts.js';
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
  /**
   * Number of times that records came to the service otherwise than by the first keys of their creates. The store may be lost
   * with its knowledge of them. Absent: it is not known.
   */
  besideFirstKey?: number;
}

/** The files that hold the witness, one or two. Each says the same, and each alone proves a loss. */
export type WitnessFiles = readonly [string, ...string[]];

/** @returns null: the store of a demo or a test, which nobody has to recover */
export function witnessFilesOf(store: Pick<StoreSettings, 'witnessFile' | 'secondWitnessFile'>): WitnessFiles | null {
  const { witnessFile, secondWitnessFile } = store;
  if (witnessFile === undefined) return null;
  return secondWitnessFile === undefined ? [witnessFile] : [witnessFile, secondWitnessFile];
}

function readAll(files: WitnessFiles): Promise<(Witness | null)[]> {
  return Promise.all(files.map(readWitness));
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
    const { incarnation, auditId, at, predecessors, rekeyedAt, besideFirstKey } = JSON.parse(text) as Partial<Witness>;
    if (typeof incarnation === 'string' && Number.isSafeInteger(auditId) && Number.isSafeInteger(at))
      return {
        incarnation,
        auditId: auditId as number,
        at: at as number,
        ...(Array.isArray(predecessors) ? { predecessors } : {}),
        ...(typeof rekeyedAt === 'number' ? { rekeyedAt } : {}),
        ...(typeof besideFirstKey === 'number' ? { besideFirstKey } : {}),
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
  reason: Fact;
}

/** Compares the store with the one that ran here last. Pure; null: it is the same and as new, or this is a first run. */
export function compareWitness(witness: Witness | null, store: StoreTrace): StoreLoss | null {
  if (!witness)
    return store.hadWitness
      ? {
          kind: 'unwitnessed',
          reason: { code: 'store_unwitnessed' },
        }
      : null;
  // Another machine's witness may not know yet that the loss was dealt with.
  if (store.predecessors.includes(witness.incarnation)) return null;
  if (witness.predecessors?.includes(store.incarnation))
    return {
      kind: 'older',
      reason: { code: 'store_before_recovery', until: witness.at },
    };
  if (witness.incarnation !== store.incarnation)
    return {
      kind: 'lost',
      reason: { code: 'store_is_another', until: witness.at },
    };
  if (store.auditId < witness.auditId)
    return {
      kind: 'older',
      reason: { code: 'store_is_older', line: store.auditId, known: witness.auditId, at: witness.at },
    };
  return null;
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
  if (value === null) return null;
  const hold = JSON.parse(value) as Omit<RecoveryHold, 'reason'> & { reason: Fact | string };
  // An earlier version stored a sentence.
  return { ...hold, reason: typeof hold.reason === 'string' ? legacy(hold.reason) : hold.reason };
}

/**
 * Keeps the hold in its place until the transaction ends. To be called in every transaction that
 * relies on nothing being delivered: another recovery may have ended the hold since it was read.
 * @throws when it is gone, or another one by now
 */
export async function lockRecoveryHold(tx: Tx, hold: RecoveryHold): Promise<void> {
  const now = parseHold(await readStoreInfo(tx, 'recovery', true));
  if (!now) throw new Refused({ code: 'other_recovery_ended' });
  if (now.since !== hold.since) throw new Refused({ code: 'held_anew', loss: now.reason });
}

/** Why nothing is delivered before `waybill recover`, or null. */
export async function recoveryProblem(tx: Tx): Promise<WorkFact | null> {
  const hold = await readRecoveryHold(tx);
  return hold && { code: 'held_since_loss', loss: hold.reason };
}

/**
 * Compares the store with what the witness outside of it remembers, and puts a loss on record in
 * the store, which holds delivery in every process. To be called before anything else is written to
 * the store.
 */
export function checkWitness(store: Store, files: WitnessFiles, nowMs: number): Promise<RecoveryHold | null> {
  return checkAgainst(store, files, () => readAll(files), nowMs, false);
}

/** The same for a store that was filled from a copy a moment ago, whoever ran it before. */
export function checkRestored(store: Store, files: WitnessFiles, nowMs: number): Promise<RecoveryHold | null> {
  return checkAgainst(store, files, () => readAll(files), nowMs, true);
}

/**
 * The loss that the witness files prove, which a start would put on record; null: none. Reads only. A file that is gone proves
 * nothing here.
 * @throws StoreError for a file that can't be read
 */
export async function provenLoss(store: Store, files: WitnessFiles): Promise<Fact | null> {
  // Before the store, which may only grow past them.
  const there = (await readAll(files)).filter((one) => one !== null);
  if (there.length === 0) return null;
  return store.read('compare the store with its witness', async (tx) => {
    const trace = { ...(await traceOf(tx)), hadWitness: false };
    return compareWitnesses(there, trace).loss?.reason ?? null;
  });
}

async function checkAgainst(
  store: Store,
  files: WitnessFiles,
  read: () => Promise<(Witness | null)[]>,
  nowMs: number,
  isRestored: boolean,
): Promise<RecoveryHold | null> {
  const before = await read();
  return store.transaction('compare the store with its witness', async (tx) => {
    const known = await readRecoveryHold(tx);
    if (known) return known;
    const trace = await traceOf(tx);
    const hadWitness =
      before.every((one) => one === null) &&
      (await knowsAnything(tx)) &&
      (isRestored || (await lostWitness(tx, files[0], trace)));
    // Another process may have written it since it was read.
    const there = (hadWitness ? await read() : before).filter((one) => one !== null);
    const { loss, witness } = compareWitnesses(there, { ...trace, hadWitness });
    if (!loss) return null;
    return putOnRecord(tx, loss, witness, nowMs);
  });
}

/** The loss that any of these proves. Its witness speaks for all of them, so that none holds the store again afterwards. Pure. */
export function compareWitnesses(
  witnesses: readonly Witness[],
  store: StoreTrace,
): { loss: StoreLoss | null; witness: Witness | null } {
  if (witnesses.length === 0) return { loss: compareWitness(null, store), witness: null };
  const judged = witnesses.map((witness) => ({ witness, loss: compareWitness(witness, store) }));
  const proof = judged.find(({ loss }) => loss?.kind === 'lost') ?? judged.find(({ loss }) => loss !== null);
  if (!proof) return { loss: null, witness: null };
  const others = witnesses.filter((one) => one !== proof.witness);
  const names = others.flatMap(({ incarnation, predecessors = [] }) => [...predecessors, incarnation]);
  const replaced = new Set([...names, ...(proof.witness.predecessors ?? [])]);
  replaced.delete(store.incarnation);
  const rekeyedAt = Math.max(...witnesses.map((one) => one.rekeyedAt ?? 0));
  const predecessors = replaced.size > 0 ? { predecessors: [...replaced] } : {};
  const { besideFirstKey: _, ...witness } = proof.witness;
  return {
    loss: proof.loss,
    witness: { ...witness, ...predecessors, ...(rekeyedAt > 0 ? { rekeyedAt } : {}), ...besideFirstKeyOf(witnesses) },
  };
}

/** One that did not count them leaves their number unknown. */
function besideFirstKeyOf(witnesses: readonly Witness[]): Pick<Witness, 'besideFirstKey'> {
  const counts = witnesses.flatMap(({ besideFirstKey }) => besideFirstKey ?? []);
  return counts.length === witnesses.length ? { besideFirstKey: Math.max(...counts) } : {};
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
    const { incarnation, predecessors, auditId } = await traceOf(tx);
    const reason: Fact = { code: 'store_went_back' };
    await putOnRecord(
      tx,
      { kind: 'older', reason },
      { incarnation, predecessors, auditId: auditId + 1, at: nowMs },
      nowMs,
    );
  });
  forgetLastLines(store);
}

/**
 * Tells a witness that was lost from one that was never there. A store in a file has one witness. A store on a server has one
 * for each machine, and a machine that joins has none yet.
 */
async function lostWitness(tx: Tx, file: string, { isWitnessed }: StoreRow): Promise<boolean> {
  if (!isWitnessed) return false;
  if (tx.dialect.beginSnapshot === null) return true;
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
  const reason: Fact = { code: 'loss_stated' };
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
  if (hold.witness !== null) throw new Error('The witness proves the contrary.');
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
 * @param said what this process has read in the files, or written into them
 * @returns what is in them now; null when they were left as they are
 * @throws WitnessUnwritten when one of them could not be written; the others are
 */
export async function renewWitness(
  store: Store,
  files: WitnessFiles,
  nowMs: number,
  said: Witness | null = null,
): Promise<Witness | null> {
  const before = await readAll(files);
  const cause = unwrittenAlert(files);
  const { isHeld, isWitnessed, isAlerted, ...trace } = await store.read('read how far the store has come', (tx) =>
    traceOf(tx, cause),
  );
  const isSame = (one: Witness | null) =>
    one?.incarnation === trace.incarnation &&
    one.auditId === trace.auditId &&
    one.rekeyedAt === trace.rekeyedAt &&
    one.besideFirstKey === trace.besideFirstKey;
  // An account that can not write may have raised the alert: only a write ends it.
  if (!isHeld && !isAlerted && before.every(isSame)) return before[0] as Witness;
  // A file that was deleted meanwhile is written again by the process that knows what it said.
  const read = async () => (await readAll(files)).map((one) => one ?? said);
  if (await checkAgainst(store, files, read, nowMs, false)) return null;
  const witness: Witness = { ...trace, at: nowMs };
  const note = () =>
    store.transaction('note what the witness knows', async (tx) => {
      await writeStoreInfo(tx, 'witnessed', String(witness.auditId));
      await noteWitnessPlace(tx, files[0]);
    });
  // First in the store: its line may be pruned one day, and the store must not look older than its witness then.
  // Only the very first file comes before its note, because a store that has one without the file is held.
  const isFirst = before.every((one) => one === null);
  if (!isFirst) await note();
  const unwritten = await writeAll(files, witness);
  if (unwritten.length === files.length) throw unwritten[0];
  if (isFirst) await note();
  if (unwritten[0]) throw unwritten[0];
  if (isAlerted) await store.transaction('the witness is written again', (tx) => endAlert(tx, cause, nowMs));
  return witness;
}

/** A witness that could not be written: a loss of the store may go unnoticed. */
class WitnessUnwritten extends Error {
  override readonly name = 'WitnessUnwritten';

  constructor(
    readonly file: string,
    cause: Error,
  ) {
    super(cause.message, { cause });
  }
}

async function writeAll(files: WitnessFiles, witness: Witness): Promise<WitnessUnwritten[]> {
  const written = await Promise.allSettled(files.map((file) => writeWitness(file, witness)));
  return written.flatMap((one, at) =>
    one.status === 'rejected' ? [new WitnessUnwritten(files[at] as string, one.reason)] : [],
  );
}

/** Several machines may share the store, each with files of its own. */
function unwrittenAlert(files: WitnessFiles): AlertCause {
  return `witness.${createHash('sha256').update(witnessPlace(files[0])).digest('hex').slice(0, 12)}`;
}

interface StoreRow extends Omit<StoreTrace, 'hadWitness'> {
  isHeld: boolean;
  isWitnessed: boolean;
  isAlerted: boolean;
  rekeyedAt?: number;
  besideFirstKey?: number;
}

/** The progress of the store, and its hold: one statement, because it is asked for every few seconds. */
async function traceOf(tx: Tx, alert: AlertCause | null = null): Promise<StoreRow> {
  const rows = await tx.select<{ name: string; value: string | null }>(
    `SELECT name, value FROM store_info WHERE name IN ('incarnation', 'witnessed', 'predecessors', 'recovery', 'rekeyed_at', 'beside_first_key')
      UNION ALL SELECT 'audit_id', ${tx.dialect.asText('MAX(id)')} FROM audit_log
      UNION ALL SELECT 'alert', open_cause FROM alert WHERE open_cause=?`,
    [alert],
  );
  const of = new Map(rows.map(({ name, value }) => [name, value]));
  const rekeyedAt = of.get('rekeyed_at');
  const besideFirstKey = of.get('beside_first_key');
  return {
    incarnation: of.get('incarnation') ?? '',
    auditId: Math.max(Number(of.get('audit_id') ?? 0), Number(of.get('witnessed') ?? 0)),
    predecessors: JSON.parse(of.get('predecessors') ?? '[]'),
    isHeld: of.has('recovery'),
    isWitnessed: of.has('witnessed'),
    isAlerted: of.has('alert'),
    ...(rekeyedAt ? { rekeyedAt: Number(rekeyedAt) } : {}),
    ...(besideFirstKey ? { besideFirstKey: Number(besideFirstKey) } : {}),
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
  #failed: string | null = null;
  /** Last content of the file. */
  #said: Witness | null = null;
  #stopped = false;
  #timer: NodeJS.Timeout | null = null;

  private constructor(
    private readonly store: Store,
    private readonly files: WitnessFiles,
    private readonly log: Logger,
  ) {}

  /** @throws StoreError when there is a witness that can't be read */
  static async start(store: Store, files: WitnessFiles, log: Logger): Promise<WitnessKeeper> {
    const said = (await readAll(files)).find((one) => one !== null) ?? null;
    const hold = await checkWitness(store, files, Date.now());
    if (hold) log.info('Delivery is held until `waybill recover`', { reason: hold.reason });
    const keeper = new WitnessKeeper(store, files, log);
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
      this.#said = (await renewWitness(this.store, this.files, Date.now(), this.#said)) ?? this.#said;
      this.#failed = null;
    } catch (error) {
      const { message } = error as Error;
      const file = error instanceof WitnessUnwritten ? error.file : this.files[0];
      if (this.#failed === file) return;
      this.log.warn('The witness of the store could not be renewed', { file, error: message });
      this.#failed = file;
      if (error instanceof WitnessUnwritten) await this.#raise(file, message);
    }
  }

  /** A store that can not be written either says so by itself. */
  async #raise(file: string, message: string): Promise<void> {
    const fact = { code: 'witness_unwritten', file, reason: outside(message) } as const;
    await this.store
      .transaction('say that the witness is not written', (tx) =>
        raiseAlert(tx, unwrittenAlert(this.files), fact, Date.now()),
      )
      .catch(() => undefined);
  }
}
