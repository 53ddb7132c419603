import { readFileSync, readlinkSync } from 'node:fs';
import type { InSource } from '../model/record.js';
import { systemClock } from './clock.js';
import type { Elapsed } from './elapsed-time.js';
import type { Tx } from './store.js';

/** `service` is that of the one deliverer, `node/…` that of one of several that share the store; one of these has `leader`. */
export type LeaseName = InSource<'capture'> | 'service' | 'write-back' | 'leader' | NodeLeaseName | StandByName;
export type NodeLeaseName = `node/${string}`;
/** The row of a process that stands by: nobody's lease. */
export type StandByName = `standby/${string}`;

/** The longest lease that the settings allow (`delivery.leaseSeconds`). */
export const longestLeaseMs = 600_000;

export interface LeaseRow {
  name: LeaseName;
  epoch: number;
  holder: string | null;
  holderProcess: string | null;
  /** Null: nobody has it, or its holder let go. */
  expiresAt: number | null;
  releasedAt: number | null;
  /**
   * When its holder let go, in the store's own time; null: it did not, or nobody noted it. Absent: of a node, because the machines of
   * a cluster have no measure in common.
   */
  releasedElapsed?: Elapsed | null;
  now: number;
}

/** The lease of one node of a cluster. */
export interface NodeRow extends LeaseRow {
  name: NodeLeaseName;
  /** When it joined. */
  sinceAt: number | null;
  version: string | null;
  /** JSON, see `Share`. */
  share: string | null;
}

export async function lockRow(tx: Tx, name: LeaseName, lock = tx.forUpdate): Promise<LeaseRow | undefined> {
  const [row] = await tx.rows<LeaseRow>(
    `SELECT name, epoch, holder, holder_process, expires_at, released_at, released_elapsed, ${tx.nowMs} AS now FROM lease WHERE name=?${lock}`,
    [name],
  );
  return row;
}

export async function insertRow(tx: Tx, name: LeaseName): Promise<void> {
  await tx.insertNew('INSERT INTO lease (name, epoch) VALUES (?, 0)', [name]);
}

const nodes = (tx: Tx) =>
  `SELECT name, epoch, holder, holder_process, expires_at, released_at, since_at, version, share, ${tx.nowMs} AS now
     FROM lease WHERE name LIKE 'node/%' ORDER BY name`;

/** Every node that there is or was lately. */
export function readNodes(tx: Tx): Promise<NodeRow[]> {
  return tx.rows<NodeRow>(nodes(tx));
}

/** The same; until the transaction ends, none of them writes anything. */
export function lockNodes(tx: Tx): Promise<NodeRow[]> {
  return tx.rows<NodeRow>(`${nodes(tx)}${tx.forUpdate}`);
}

/** The time that a lease has left by the database's clock; 0 or less: none. */
export function msLeft({ expiresAt, now }: Pick<LeaseRow, 'expiresAt' | 'now'>): number {
  return expiresAt === null ? 0 : expiresAt - now;
}

/**
 * The holder who keeps the lease of this locked row from being taken; null: it is free.
 * @param ended epochs whose holders ended on this machine a moment ago
 * @returns `ended`: this epoch turned out to be one of them
 */
export async function occupantOf(
  tx: Tx,
  row: LeaseRow,
  ended: ReadonlySet<number>,
): Promise<{ holder: string; freeInMs: number; ended: number | null } | null> {
  if (row.holder === null || msLeft(row) <= 0 || ended.has(row.epoch)) return null;
  // The database's clock was set back since. A live holder renews long before this; do not wait longer for a dead one.
  const freeInMs = Math.min(msLeft(row), longestLeaseMs);
  if (freeInMs < msLeft(row))
    await tx.run('UPDATE lease SET expires_at=? WHERE name=?', [row.now + freeInMs, row.name]);
  const isEnded = hasEnded(row.holderProcess);
  return { holder: row.holder, freeInMs, ended: isEnded ? row.epoch : null };
}

/** Tells whether a process is at work on this very store: it renews its lease all the time. */
export async function isAnyAtWork(tx: Tx): Promise<boolean> {
  const rows = await tx.rows<{ holderProcess: string | null }>(
    `SELECT holder_process FROM lease WHERE holder IS NOT NULL AND expires_at>${tx.nowMs}`,
  );
  return rows.some(({ holderProcess }) => !hasEnded(holderProcess));
}

/** A holder that will never write or send again: its process has ended beyond doubt. */
export interface EndedHolder {
  epoch: number;
  /** See `thisProcess`. */
  process: string;
}

/** The last holder, if it never let go and its process is known to have ended. */
export function endedHolder({ holder, holderProcess: process, epoch }: LeaseRow): EndedHolder | null {
  return holder !== null && process !== null && hasEnded(process) ? { epoch, process } : null;
}

/**
 * The time for which these leases have been free; 0: one was not, or nobody measured it; null: nobody ever had one. The shorter of
 * two measures counts, so that no clock that was set opens a limit of the service early.
 * @param elapsed the moment in the store's own time
 */
export function idleMsOf(rows: readonly LeaseRow[], elapsed: Elapsed): number | null {
  const idle = rows.flatMap(({ holder, releasedAt, releasedElapsed, now }) => {
    if (holder !== null || releasedElapsed === null) return holder === null && releasedAt === null ? [] : [0];
    if (releasedAt === null) return [];
    const measuredMs = releasedElapsed === undefined ? Number.POSITIVE_INFINITY : elapsed - releasedElapsed;
    return [Math.max(0, Math.min(measuredMs, now - releasedAt))];
  });
  return idle.length === 0 ? null : Math.min(...idle);
}

/** Their time is over: from now on they write nothing. The caller has locked the rows. */
export async function endLeases(tx: Tx, rows: readonly LeaseRow[]): Promise<void> {
  for (const { name, holder, now } of rows)
    if (holder !== null) await tx.run('UPDATE lease SET holder=NULL, released_at=? WHERE name=?', [now, name]);
}

export function nodeNameOf({ name }: Pick<LeaseRow, 'name'>): string {
  return name.slice('node/'.length);
}

/** When a process started, as Linux counts it: together with its number it is the name of one process. */
function startOf(pid: number | 'self'): string | null {
  try {
    // The name of the program stands in brackets, and may hold spaces and brackets itself.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(')').at(-1)?.trim().split(' ');
    return fields?.[19] ?? null;
  } catch {
    return null;
  }
}

let own: { pid: number; name: string | null } | undefined;

/** Names this process among all of this machine since it started; null where the system does not tell. */
export function thisProcess(): string | null {
  const { pid } = process;
  if (own?.pid !== pid) own = { pid, name: nameOf(pid) };
  return own.name;
}

function nameOf(pid: number): string | null {
  try {
    // Two containers on one machine number their processes each for itself.
    const started = startOf('self');
    return started && [systemClock.sinceBoot().bootId, readlinkSync('/proc/self/ns/pid'), pid, started].join(' ');
  } catch {
    return null;
  }
}

/**
 * Tells if the process of this name has ended, beyond doubt: it ran on this machine since it started, among the
 * processes that this one sees, and its number is free, or is that of another one by now. A process that stands still
 * has not ended.
 */
export function hasEnded(name: string | null): boolean {
  const mine = thisProcess()?.split(' ');
  const [bootId, namespace, number, started] = name?.split(' ') ?? [];
  if (!mine || bootId !== mine[0] || namespace !== mine[1] || started === undefined) return false;
  const pid = Number(number);
  try {
    process.kill(pid, 0);
  } catch (error) {
    // One that may not be signalled is there.
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
  const now = startOf(pid);
  return now !== null && now !== started;
}
