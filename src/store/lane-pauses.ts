import type { AlertFact } from '../model/facts/alerts.js';
import type { Fact } from '../model/facts/fact.js';
import type { InSource } from '../model/record.js';
import { factOf, factRow } from './fact-columns.js';
import { upsertRows } from './rows.js';
import type { Tx } from './store.js';

/** `service` stops everything that talks to the service: deliver and pull. */
export type Lane = InSource<'capture'> | 'deliver' | 'pull' | 'service';

export type PauseCause =
  | 'operator'
  | 'throttled'
  | 'limit'
  | 'outage'
  | 'credential'
  | 'misconfigured'
  | 'refusals'
  | 'unproven'
  /** Quiet hours: worked out from the schedule, never written down. */
  | 'quiet';

export interface LanePause {
  lane: Lane;
  cause: PauseCause;
  /** Milliseconds since 1970; null: until a person resumes. */
  until_at: number | null;
  reason: Fact;
  actor: string;
  since_at: number;
}

export const pauseColumns = 'lane, cause, until_at, reason_code, reason_data, actor, since_at';

/** A row with `pauseColumns`. */
export type PauseRow = Omit<LanePause, 'reason'> & { reason_code: string; reason_data: string | null };

export function pauseOf({ lane, cause, until_at, reason_code, reason_data, actor, since_at }: PauseRow): LanePause {
  return { lane, cause, until_at, reason: factOf(reason_code, reason_data) as Fact, actor, since_at };
}

/** All pauses, also those whose time is over (an outage that is over only probes). */
export async function listPauses(tx: Tx): Promise<LanePause[]> {
  const rows = await tx.select<PauseRow>(`SELECT ${pauseColumns} FROM lane_pause ORDER BY since_at`);
  return rows.map(pauseOf);
}

/** The lane that stands still, and the reason. */
export function pauseFact({ lane, cause, until_at, reason }: LanePause): AlertFact {
  return { code: 'pause_in_force', lane, pause: cause, until: until_at, reason };
}

/** The lane for `waybill pause` and `resume`. */
export function laneArguments(lane: Lane): string {
  return lane.replace('.', ' --source ');
}

export async function pauseLane(tx: Tx, pause: LanePause): Promise<void> {
  const { reason, ...columns } = pause;
  await upsertRows(tx, 'lane_pause', ['lane', 'cause'], [{ ...columns, ...factRow('reason', reason) }]);
}

/** Ends pauses and returns how many there were. Without `causes` all of the lane; of `capture` also those of single sources. */
export async function resumeLane(tx: Tx, lane: Lane, causes?: readonly PauseCause[]): Promise<number> {
  const some = causes ? ` AND cause IN (${causes.map(() => '?').join(',')})` : '';
  const lanes = lane === 'capture' ? "(lane=? OR lane LIKE 'capture.%')" : 'lane=?';
  return tx.run(`DELETE FROM lane_pause WHERE ${lanes}${some}`, [lane, ...(causes ?? [])]);
}

/** The pauses that stop this lane now. */
export function activePauses(pauses: readonly LanePause[], lane: Lane, nowMs: number): LanePause[] {
  const lanes: Lane[] = lane.startsWith('capture') ? ['capture', lane] : [lane, 'service'];
  return pauses.filter((pause) => lanes.includes(pause.lane) && (pause.until_at === null || pause.until_at > nowMs));
}

/** After the clock was set by so much, what waits for a time waits as long as before. A person may have named a time of day. */
export async function movePauses(tx: Tx, byMs: number): Promise<void> {
  await tx.run(
    "UPDATE lane_pause SET until_at=until_at+?, since_at=since_at+? WHERE cause<>'operator' AND until_at IS NOT NULL",
    [byMs, byMs],
  );
}

/** Forgets those of these pauses whose time is over. An outage stays on record until the service answers. */
export async function dropEndedPauses(tx: Tx, pauses: readonly LanePause[], nowMs: number): Promise<void> {
  if (!pauses.some(({ until_at }) => until_at !== null && until_at <= nowMs)) return;
  await tx.run("DELETE FROM lane_pause WHERE cause IN ('throttled','limit') AND until_at<=?", [nowMs]);
}
