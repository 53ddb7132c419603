import type { AttemptRow, History, Life } from './history.js';
import { livesOf } from './lives.js';
import { namedWaitMs } from './service-faults.js';

/** Long enough for a commit that was under way when its witness noted the time. */
export const commitMs = 300;

/**
 * Whoever was told when to come back does not ask before that time, also after a restart, unless an operator says so. Only what
 * was claimed when the pause was on record is judged: what was under way then may go out still, and an answer that no
 * process lived to write down is known to nobody. A record that is told so again, although others were accepted meanwhile, is meant
 * alone.
 */
export function waitsWhenTold(history: History): string[] {
  return livesOf(history).flatMap((life) => {
    const waits = waitsOf(life);
    return life.attempts.flatMap(({ id, purpose, started_at: startedAt, intended_at: intendedAt }) => {
      // A later wait may be shorter: the service knows best.
      const wait = waits.findLast(({ knownAt }) => knownAt + commitMs < intendedAt);
      if (!wait || startedAt === null || startedAt >= wait.untilAt) return [];
      if (life.resumedAt.some((at) => at >= wait.askedAt && at <= startedAt)) return [];
      // By the clock that was set forward the time had come.
      if (history.clockForwardAt?.some((at) => at >= wait.askedAt && at <= startedAt)) return [];
      const early = `${wait.untilAt - startedAt} ms before the time that was named in the answer to attempt ${wait.attemptId}`;
      return [`attempt ${id} (${purpose}) was sent ${early}`];
    });
  });
}

interface Wait {
  attemptId: number;
  askedAt: number;
  /** When the answer was on record. */
  knownAt: number;
  /** At the earliest: counted from when the request left. */
  untilAt: number;
}

/** In the order in which they were put on record. */
function waitsOf({ attempts, events }: Life): Wait[] {
  const byId = new Map<number | null, AttemptRow>(attempts.map((attempt) => [attempt.id, attempt]));
  return events.flatMap(({ what, attempt_id: id, text, at_ms: knownAt }) => {
    const attempt = what === 'attempt-settled' && text === 'throttled' ? byId.get(id) : undefined;
    const namedMs = namedWaitMs(attempt?.reason ?? '');
    if (!attempt || attempt.started_at === null || namedMs === null || isMeantAlone(attempt, attempts)) return [];
    const { id: attemptId, started_at: askedAt } = attempt;
    return [{ attemptId, askedAt, knownAt, untilAt: askedAt + namedMs }];
  });
}

function isMeantAlone(attempt: AttemptRow, attempts: readonly AttemptRow[]): boolean {
  const isOwn = ({ message_id: id }: AttemptRow) => id !== null && id === attempt.message_id;
  const toldBefore = attempts.findLast(
    (one) => isOwn(one) && one.verdict === 'throttled' && one.number < attempt.number,
  );
  return (
    toldBefore !== undefined &&
    attempts.some(
      (one) =>
        !isOwn(one) &&
        one.verdict === 'delivered' &&
        (one.started_at ?? 0) > toldBefore.intended_at &&
        (one.started_at ?? 0) < (attempt.started_at ?? 0),
    )
  );
}
