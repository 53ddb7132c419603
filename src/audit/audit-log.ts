import { hash } from 'node:crypto';
import type { Fact } from '../model/facts/fact.js';
import { isOutside, outside } from '../model/outside.js';
import type { Entity, JsonValue } from '../model/record.js';
import { noteLastLine } from '../store/last-lines.js';
import { boundedText, insertRows } from '../store/rows.js';
import type { Tx } from '../store/store.js';
import { markDue } from '../store/write-back-due.js';

/**
 * A fact as it may stand in a log that is never rewritten: about a customer without the words of the service or the values of the
 * row, which may be about a person. The words themselves stand with the message and its attempts, where `waybill forget` can
 * erase them. Orders name their customer by its code alone, and an error's code is nobody's name. Pure.
 */
function impersonal(fact: Fact): Fact {
  return leaveOut(fact) as Fact;
}

const leftOut = outside('…');

function leaveOut(value: unknown, name = ''): unknown {
  if (isOutside(value)) return name === 'errorCode' ? value : leftOut;
  if (Array.isArray(value)) return value.map((one) => leaveOut(one, name));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([inner, member]) => [inner, leaveOut(member, inner)]));
}

type AuditEvent =
  | 'captured'
  | 'superseded'
  | 'attempt'
  | 'delivered'
  | 'parked'
  | 'adopted'
  | 'in_doubt'
  | 'left_pending'
  | 'replaced'
  | 'operator'
  | 'pause'
  | 'resume'
  | 'go_live'
  | 'pull'
  | 'read_back'
  | 'write_back'
  | 'webhook'
  | 'start'
  | 'stop'
  | 'takeover'
  | 'alert'
  | 'desk'
  | 'prune'
  | 'forget';

export interface AuditEntry {
  event: AuditEvent;
  /** The outcome, in one word: a verdict, a state, an action. */
  outcome?: string | null;
  entity?: Entity | null | undefined;
  sourceKey?: string | null | undefined;
  messageId?: number | null | undefined;
  attemptId?: number | null;
  /** The actor: `daemon@host:pid`, or an operator's name. */
  actor: string;
  /** Never a body, a secret or anything personal: data that may have to be erased has rows of its own. */
  detail?: { [name: string]: JsonValue | Fact | undefined };
}

/**
 * Appends to the log. Nothing in Waybill updates a line; only retention removes them, by age.
 *
 * Every change of a record has its line here, in its own transaction. The record is marked as due for write-back here
 * as well, and no change can forget it.
 */
export async function appendAudit(tx: Tx, entry: AuditEntry | readonly AuditEntry[], nowMs: number): Promise<void> {
  const entries: AuditEntry[] = [entry].flat();
  if (entries.length === 0) return;
  await insertRows(tx, 'audit_log', await chainLines(tx, entries, nowMs));
  for (const [kind, entity] of [
    ['orders', 'order'],
    ['customers', 'customer'],
  ] as const) {
    const keys = entries.flatMap((one) => (one.entity === entity && one.sourceKey ? [one.sourceKey] : []));
    if (keys.length > 0) await markDue(tx, kind, keys);
  }
}

function detailOf({ outcome, entity, detail = {} }: AuditEntry): AuditEntry['detail'] {
  const { reason } = detail;
  if (entity !== 'customer' || typeof reason !== 'object' || reason === null || !('code' in reason)) return detail;
  // A sentence that has no code yet is ours, but for one about the row itself.
  if (reason.code === 'legacy')
    return outcome === 'unmapped' ? { ...detail, reason: { code: 'words_left_out' } } : detail;
  return { ...detail, reason: impersonal(reason as Fact) };
}

/**
 * The audit as chains: each line carries the SHA-256 of itself and of the hash of the line before, so that none of them can be
 * changed, taken out, moved or put in unseen. The head of a chain, its last line, also stands in a row of `audit_chain`.
 *
 * A SQLite store has one writer at a time, and so one chain, whichever process writes. On a server each connection of a process
 * that is writing has a chain of its own: one chain for all would make each transaction wait for the commit of the other.
 */

/** A line as its hash covers it. */
export type ChainedLine = {
  chain: number;
  /** Its number in its chain, from 1, without a gap. */
  seq: number;
  at: number;
  event: string;
  outcome: string | null;
  entity: string | null;
  sourceKey: string | null;
  messageId: number | null;
  attemptId: number | null;
  actor: string;
  /** JSON. */
  detail: string;
};

/** The fields of a line that are hashed: JSON, with its detail as it is stored. Pure. */
export function lineText(line: ChainedLine): string {
  const { chain, seq, at, event, outcome, entity, sourceKey, messageId, attemptId, actor, detail } = line;
  const rest = { chain, seq, at, event, outcome, entity, sourceKey, messageId, attemptId, actor };
  return `${JSON.stringify(rest).slice(0, -1)},"detail":${detail}}`;
}

/** The hash of a line, in hexadecimal digits. Pure. */
export function lineHash(previous: string, text: string): string {
  return hash('sha256', `${previous} ${text}`);
}

/** The last line of a chain. */
export interface Head {
  chain: number;
  seq: number;
  hash: string;
}

/**
 * The start of a chain: its time, and the line of another one behind which it stands. The hash before its first line is
 * made of it. Pure.
 */
export function firstHash(begunAt: number, link: Head | null): string {
  return hash('sha256', `waybill audit ${begunAt} ${link === null ? '-' : headToken(link)}`);
}

/** A head in one word that a person can note down. Pure. */
export function headToken({ chain, seq, hash }: Head): string {
  return `${chain}:${seq}:${hash}`;
}

/** A chain that one transaction at a time goes on with. */
interface Lane {
  /** As this process left it; null: unknown. */
  head: Head | null;
}

/** The lanes of each store that no transaction has. */
const idleLanes = new WeakMap<object, Lane[]>();
const lanes = new WeakMap<Tx, Lane>();

/** The lane of a transaction, until its end. A rollback takes the lines with it, and the head is as before. */
function laneOf(tx: Tx): Lane {
  const known = lanes.get(tx);
  if (known) return known;
  const idle = idleLanes.get(tx.storeKey) ?? [];
  idleLanes.set(tx.storeKey, idle);
  const lane = idle.pop() ?? { head: null };
  const before = lane.head;
  lanes.set(tx, lane);
  tx.onEnd((isCommitted) => {
    if (!isCommitted) lane.head = before;
    else if (lane.head !== null && lane.head.seq > 0) noteLastLine(tx.storeKey, lane.head);
    idle.push(lane);
  });
  return lane;
}

/** Puts entries at the end of a chain, by one statement. @returns lines as they have to be stored, in this order */
async function chainLines(
  tx: Tx,
  entries: readonly AuditEntry[],
  nowMs: number,
): Promise<(ChainedLine & { hash: string })[]> {
  const lane = laneOf(tx);
  for (;;) {
    lane.head ??= (await onlyHead(tx)) ?? (await beginChain(tx, nowMs));
    const before = lane.head;
    let { seq, hash } = before;
    const chained = entries.map((one) => {
      const line = {
        chain: before.chain,
        seq: ++seq,
        hash: '',
        at: nowMs,
        event: one.event,
        outcome: one.outcome ?? null,
        entity: one.entity ?? null,
        sourceKey: one.sourceKey ?? null,
        messageId: one.messageId ?? null,
        attemptId: one.attemptId ?? null,
        actor: boundedText('audit_log.actor', one.actor),
        detail: JSON.stringify(detailOf(one)),
      };
      hash = lineHash(hash, lineText(line));
      line.hash = hash;
      return line;
    });
    const moved = await tx.run(
      'UPDATE audit_chain SET head_seq=?, head_hash=? WHERE id=? AND head_seq=? AND head_hash=?',
      [seq, hash, before.chain, before.seq, before.hash],
    );
    lane.head = moved === 1 ? { chain: before.chain, seq, hash } : null;
    // Otherwise another process has gone on with it, or the store is another copy.
    if (moved === 1) return chained;
  }
}

/** The head of the one chain, where transactions stand in line anyway. */
async function onlyHead(tx: Tx): Promise<Head | null> {
  if (tx.dialect.connections > 1) return null;
  const [head] = await tx.rows<Head>(
    'SELECT id AS chain, head_seq AS seq, head_hash AS hash FROM audit_chain ORDER BY id DESC LIMIT 1',
  );
  return head ?? null;
}

/** A chain begins behind the newest line of the log, so that the chain of that line can not vanish as a whole. */
async function beginChain(tx: Tx, nowMs: number): Promise<Head> {
  const [link = null] = await tx.rows<Head>('SELECT chain, seq, hash FROM audit_log ORDER BY id DESC LIMIT 1');
  const first = firstHash(nowMs, link);
  const chain = await tx.insertReturningId(
    `INSERT INTO audit_chain (begun_at, link_chain, link_seq, link_hash, pruned_seq, pruned_hash, head_seq, head_hash)
      VALUES (?,?,?,?,0,?,0,?)`,
    [nowMs, link?.chain ?? null, link?.seq ?? null, link?.hash ?? null, first, first],
  );
  return { chain, seq: 0, hash: first };
}

/** A reason as it may stand in pauses and alerts, which `waybill forget` does not search. Pure. */
export function shownReason(entity: Entity, reason: Fact): Fact {
  return entity === 'customer' ? impersonal(reason) : reason;
}

/** When an event was last written; null: never, or the line is no longer kept. */
export async function lastEventAt(tx: Tx, event: string): Promise<number | null> {
  return (await tx.value<number>('SELECT at FROM audit_log WHERE event=? ORDER BY id DESC LIMIT 1', [event])) ?? null;
}

interface RunningDaemon {
  actor: string;
  startedAt: number;
}

/** Daemons that said they started and never said they stopped: at work, standing by, or killed. Newest first. */
export async function startedDaemons(tx: Tx, limit: number): Promise<RunningDaemon[]> {
  return tx.rows(
    `SELECT s.actor, s.at AS started_at FROM audit_log s WHERE s.event='start'
        AND NOT EXISTS (SELECT 1 FROM audit_log e WHERE e.event='stop' AND e.actor=s.actor AND e.id>s.id)
      ORDER BY s.id DESC LIMIT ${Math.trunc(limit)}`,
  );
}

/** When the oldest line of the audit was written: as long as this store is known to exist. */
export async function firstAuditAt(tx: Tx): Promise<number | null> {
  return (await tx.value<number>('SELECT at FROM audit_log ORDER BY id LIMIT 1')) ?? null;
}
