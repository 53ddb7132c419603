import { type ClockReading, clockToleranceMs, type MachineClock, measuredBy } from './clock.js';
import type { Tx } from './store.js';
import { readStoreInfo, writeStoreInfo } from './store-info.js';

/**
 * Time that surely passed. Whatever cannot be undone (removing rows, sending a removal) takes its time from here and from nowhere
 * else: its functions ask for the types below, which only this file makes.
 *
 * The store keeps a time of its own, which counts what a machine measured since its start and nothing else: neither a clock that
 * is set nor a machine that was off moves it. Beside it stands by how much the wall clock was ahead of it (a lead). A new lead
 * means that the clock was set or that the machine was off; it is believed once this store time has gone on for a day.
 */

declare const storeTime: unique symbol;
declare const surelyPast: unique symbol;
declare const beyondRetention: unique symbol;

/** A moment in the store's own time. It counts no time that nobody measured, so between two of them at least as much passed. */
export type Elapsed = number & { readonly [storeTime]: true };

/** A wall time that has come, as far as all clocks of the last day agree. It may lag behind the true time, never run ahead. */
type SureTime = number & { readonly [surelyPast]: true };

/** Rows with an older wall time have surely been kept for as long as the settings ask. */
export type Horizon = number & { readonly [beyondRetention]: true };

const dayMs = 86_400_000;
/** A lead is believed after the store's own time has gone on for so long with it. */
const believedAfterMs = dayMs;
/** A person is told of a difference of this size. */
const worthTellingMs = dayMs;
/** The moment is written down this often while nothing else changes. */
const noteEveryMs = 60_000;
const mostLeads = 20;

/** The lead of a wall clock over the store's own time. */
interface Lead {
  ms: number;
  /** When it was last seen, in the store's own time. */
  seenMs: number;
}

/** Readings of the clocks so far. */
export interface ClockRecord {
  elapsedMs: number;
  /** The machine that looked last, since its start, and what it had measured then. */
  boot: Omit<ClockReading, 'wallMs'>;
  /** Those of the last day, and the one in force. */
  leads: Lead[];
  /** The lead at the last look. */
  leadMs: number;
}

/** Clocks that disagree by a day or more. */
export interface ClockDoubt {
  /** `machine`: its clock went ahead although that time did not pass while it ran; `database`: its clock is behind. */
  of: 'machine' | 'database';
  aheadMs: number;
}

/** Conclusions from all clocks at one moment. */
export interface PassedTime {
  elapsed: Elapsed;
  sure: SureTime;
  /** No clock showed a later time within the last day. */
  latestMs: number;
  /** Why `sure` lags behind the wall clock by a day or more; null: it does not. */
  doubt: ClockDoubt | null;
}

/**
 * The record after one more look at the clocks. Pure.
 * @param newestRowMs the wall time of the newest row; a store that was never looked at knows nothing better
 */
export function notice(known: ClockRecord | null, now: ClockReading, newestRowMs: number | null): ClockRecord {
  const elapsedMs = known === null ? 0 : elapsedAt(known, now);
  const leadMs = now.wallMs - elapsedMs;
  const begun: Lead[] = newestRowMs !== null && newestRowMs < now.wallMs ? [{ ms: newestRowMs, seenMs: 0 }] : [];
  return {
    elapsedMs,
    boot: { bootId: now.bootId, bootMs: now.bootMs },
    leads: withLead(known ?? { leads: begun, leadMs: begun[0]?.ms ?? leadMs }, { ms: leadMs, seenMs: elapsedMs }),
    leadMs,
  };
}

/**
 * Only the machine that looked last has measured what passed since. One that was started in between has not, and another one does
 * not know which part of what it measured came before that look: to count it would make a moment between the two look older.
 */
function elapsedAt({ elapsedMs, boot }: ClockRecord, { bootId, bootMs }: ClockReading): number {
  return measuredBy(boot.bootId) === measuredBy(bootId) && boot.bootMs <= bootMs
    ? elapsedMs + bootMs - boot.bootMs
    : elapsedMs;
}

function withLead({ leads, leadMs }: Pick<ClockRecord, 'leads' | 'leadMs'>, now: Lead): Lead[] {
  const isNear = (one: Lead, ms: number) => Math.abs(one.ms - ms) <= clockToleranceMs;
  // A lead stays as it was first seen: a clock that creeps ahead within the tolerance comes to a new one.
  const isKnown = leads.some((one) => isNear(one, now.ms));
  // The one before was in force until a new one came, although nobody looked.
  const inForceMs = isKnown ? now.ms : leadMs;
  const recent = leads
    .map((one) => (isNear(one, inForceMs) ? { ...one, seenMs: now.seenMs } : one))
    .filter((one) => now.seenMs - one.seenMs <= believedAfterMs);
  return isKnown ? recent : mergeLowest([...recent, now]);
}

/** Keeps the record small, on the safe side: two leads become the lower one. */
function mergeLowest(leads: Lead[]): Lead[] {
  if (leads.length <= mostLeads) return leads;
  const [first, second, ...others] = leads.sort((a, b) => a.ms - b.ms) as [Lead, Lead, ...Lead[]];
  return mergeLowest([{ ms: first.ms, seenMs: Math.max(first.seenMs, second.seenMs) }, ...others]);
}

/** Concludes from the record and the clocks at its last look. Pure. @param databaseMs null: it has none of its own */
export function concludeTime({ elapsedMs, leads }: ClockRecord, wallMs: number, databaseMs: number | null): PassedTime {
  const all = leads.map(({ ms }) => ms);
  const sureMs = Math.min(wallMs, elapsedMs + Math.min(...all), databaseMs ?? Number.POSITIVE_INFINITY);
  return {
    elapsed: elapsedMs as Elapsed,
    sure: sureMs as SureTime,
    latestMs: Math.max(wallMs, elapsedMs + Math.max(...all)),
    doubt: doubtOf(all, wallMs - elapsedMs, databaseMs === null ? 0 : wallMs - databaseMs),
  };
}

/** A machine that is off every night steps by hours each morning, which is nothing to tell a person. */
function doubtOf(leads: readonly number[], lead: number, aheadOfDatabaseMs: number): ClockDoubt | null {
  const lower = [...leads.filter((ms) => ms < lead - clockToleranceMs), lead].sort((a, b) => a - b);
  const steps = lower.slice(1).map((ms, nth) => ms - (lower[nth] as number));
  if (Math.max(0, ...steps) >= worthTellingMs) return { of: 'machine', aheadMs: lead - (lower[0] as number) };
  if (aheadOfDatabaseMs >= worthTellingMs) return { of: 'database', aheadMs: aheadOfDatabaseMs };
  return null;
}

/** Rows with a wall time before it are older than so many days, surely. Pure. */
export function horizonOf({ sure }: Pick<PassedTime, 'sure'>, days: number): Horizon {
  return (sure - days * dayMs) as Horizon;
}

/** The moment so many milliseconds before another one. Pure. */
export function before(elapsed: Elapsed, ms: number): Elapsed {
  return (elapsed - ms) as Elapsed;
}

/** The earlier of two moments. Pure. */
export function earlier(one: Elapsed, other: Elapsed): Elapsed {
  return one < other ? one : other;
}

export interface Clocks {
  nowMs: () => number;
  clock: MachineClock;
}

/** Looks at all clocks and puts on record what they show, in a transaction that may write. */
export async function lookAtClocks(tx: Tx, clocks: Clocks): Promise<PassedTime> {
  const { record, wallMs } = await noteClocks(tx, clocks);
  return concludeTime(record, wallMs, await databaseMs(tx));
}

/** The moment in the store's own time, in a transaction that may write. */
export async function noteElapsed(tx: Tx, clocks: Clocks): Promise<Elapsed> {
  return (await noteClocks(tx, clocks)).record.elapsedMs as Elapsed;
}

async function noteClocks(tx: Tx, clocks: Clocks): Promise<{ record: ClockRecord; wallMs: number }> {
  const look = (): ClockReading => ({ ...clocks.clock.sinceBoot(), wallMs: clocks.nowMs() });
  let known = await readRecord(tx);
  let now = look();
  const newestRowMs = known === null ? await newestLineMs(tx) : null;
  let next = notice(known, now, newestRowMs);
  if (known === null || isWorthNoting(known, next)) {
    // Another process may have written meanwhile: nothing that it saw may get lost.
    known = await readRecord(tx, true);
    now = look();
    next = notice(known, now, newestRowMs);
    await writeStoreInfo(tx, 'elapsed', JSON.stringify(next));
  }
  return { record: next, wallMs: now.wallMs };
}

/** The moment in the store's own time. Writes nothing, so it is none to put on record. */
export async function readElapsed(tx: Tx, { nowMs, clock }: Clocks): Promise<Elapsed> {
  const { elapsedMs } = notice(await readRecord(tx), { ...clock.sinceBoot(), wallMs: nowMs() }, null);
  return elapsedMs as Elapsed;
}

/** Why the clocks are not believed, as of the last look of a daemon. Writes nothing. */
export async function readClockDoubt(tx: Tx, nowMs: number): Promise<ClockDoubt | null> {
  const known = await readRecord(tx);
  if (known === null) return null;
  const database = await databaseMs(tx);
  const wallMs = known.elapsedMs + known.leadMs;
  return concludeTime(known, wallMs, database === null ? null : wallMs - (nowMs - database)).doubt;
}

function isWorthNoting(known: ClockRecord, next: ClockRecord): boolean {
  const leads = (record: ClockRecord) => record.leads.map(({ ms }) => ms).join();
  return (
    next.elapsedMs - known.elapsedMs >= noteEveryMs ||
    next.boot.bootId !== known.boot.bootId ||
    next.boot.bootMs < known.boot.bootMs ||
    Math.abs(next.leadMs - known.leadMs) > clockToleranceMs ||
    leads(next) !== leads(known)
  );
}

async function readRecord(tx: Tx, forUpdate = false): Promise<ClockRecord | null> {
  const text = await readStoreInfo(tx, 'elapsed', forUpdate);
  return text === null ? null : (JSON.parse(text) as ClockRecord);
}

async function newestLineMs(tx: Tx): Promise<number | null> {
  return (await tx.value<number>('SELECT at FROM audit_log ORDER BY id DESC LIMIT 1')) ?? null;
}

/** The clock of another machine, perhaps: a second witness. */
async function databaseMs(tx: Tx): Promise<number | null> {
  return tx.dialect.hasOwnClock ? Number(await tx.value<number>(`SELECT ${tx.nowMs} AS now`)) : null;
}
