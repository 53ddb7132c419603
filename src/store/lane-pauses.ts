import type { AlertFact } from '../model/facts/alerts.js';
import { legacy } from '../model/facts/fact.js';
import type { InSource } from '../model/record.js';
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
  reason: string;
  actor: string;
  since_at: number;
}

/** All pauses, also those whose time is over (an outage that is over only probes). */
export async function listPauses(tx: Tx): Promise<LanePause[]> {
  return tx.select('SELECT lane, cause, until_at, reason, actor, since_at FROM lane_pause ORDER BY since_at');
}

/** What stands still, and why. */
export function pauseFact({ lane, cause, until_at, reason }: LanePause): AlertFact {
  return { code: 'pause_in_force', lane, pause: cause, until: until_at, reason: legacy(reason) };
}

const subjects: Record<string, string> = {
  capture: 'Capture',
  deliver: 'Delivery',
  pull: 'The invoice pull',
  service: 'Everything that talks to the service',
};

/** A pause in words, without a full stop. With `time`, which writes a time out, also since when and until when. */
export function describePause({ lane, cause, reason, since_at, until_at }: LanePause, time?: (ms: number) => string) {
  const until = time && (until_at === null ? 'until somebody resumes it' : `until ${time(until_at)}`);
  const [job = '', source] = lane.split('.');
  return `${subjects[job]}${source ? ` of source ${source}` : ''} is paused (${cause})${time ? ` since ${time(since_at)}, ${until}` : ''}: ${reason}`;
}

/** What a person does about a pause that does not end by itself. Followed by the command that ends it. */
export function describeRemedy({ cause }: Pick<LanePause, 'cause'>): string {
  if (cause === 'operator') return 'End the pause';
  if (cause === 'credential')
    return 'Replace the credential: a new file is tried without a restart. If the cause was at the service, end the pause';
  if (cause === 'misconfigured') return 'Check the address and the permissions of the account, then end the pause';
  return 'Remove the cause, then end the pause';
}

/** What `waybill pause` and `resume` are told of a lane. */
export function laneArguments(lane: Lane): string {
  return lane.replace('.', ' --source ');
}

export async function pauseLane(tx: Tx, pause: LanePause): Promise<void> {
  await upsertRows(tx, 'lane_pause', ['lane', 'cause'], [{ ...pause }]);
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
