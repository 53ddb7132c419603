import PQueue from 'p-queue';
import { appendAudit } from '../../audit/audit-log.js';
import type { ServiceSettings } from '../../config/sections/service.js';
import type { CredentialSettings } from '../../config/sections/service-credential.js';
import type { Fact } from '../../model/facts/fact.js';
import type { JobContext } from '../../ops/job-context.js';
import { longestRestMs, longestSlotWaitMs, type RateLimiter } from '../../service/rate-limit/rate-limiter.js';
import { concurrencyOf, shortestWindowRate } from '../../service/rate-limit/sliding-slots.js';
import type { ServiceClient } from '../../service/service-client.js';
import { dropEndedPauses, listPauses, pauseLane, resumeLane } from '../../store/lane-pauses.js';
import type { Lease } from '../../store/lease.js';
import { isByOtherNode, nodeActor } from '../../store/nodes.js';
import type { Tx } from '../../store/store.js';
import { readClockCorrections } from './clock-trace.js';
import type { NodeWay } from './cluster/node-way.js';
import { type ClaimScope, type ResendTerms, readyMessages, type SendableState } from './due-messages.js';
import { healthy, type LaneEffects, type LaneHealth, type LaneOutcome, laneEffects } from './lane-effects.js';
import { answeredSince } from './past-requests.js';
import { defaultAlone } from './source-turns.js';

/** The place where a person replaces the credential. */
export function credentialSetting(credential: CredentialSettings): string {
  const isOauth = credential.kind === 'oauth';
  if (credential.kind === 'certificate' || (isOauth && credential.authentication === 'certificate'))
    return 'service.tls.certificateFile';
  return isOauth ? 'service.credential.clientSecretFile' : 'service.tokenFile';
}

/** After an outage nothing waits longer than this for its next try: the service is back. */
export const afterOutageMs = 60_000;

/**
 * The first wait if a service that says "slow down" names no time: its shortest window, a second to a minute; a second
 * without limits.
 */
function ownWaitMs(limits: ServiceSettings['limits']): number {
  if (limits.length === 0) return 1_000;
  return Math.max(1_000, Math.min(...limits.map(({ perSeconds }) => perSeconds), 60) * 1000);
}

/** Turns what the service answered into pauses of the lanes, for everything that talks to the service under one lease. */
export class LaneKeeper {
  /** One at a time, because each decides by the health that the one before it has left. */
  readonly #line = new PQueue({ concurrency: 1 });
  #health: LaneHealth = healthy;
  /** The number of times it has paused or resumed something. */
  changes = 0;

  /** @param node the node that asks, and its own way to the service; null: this process delivers alone */
  constructor(
    private readonly context: JobContext,
    private readonly node: { name: string; way: NodeWay } | null = null,
  ) {}

  /** The rest of the wait that the service asked for. A timer may end a moment early, and the gate would still be shut. */
  throttledForMs(nowMs: number): number {
    const { throttledUntil } = this.#health;
    return throttledUntil === null ? 0 : Math.max(0, throttledUntil + 1 - nowMs);
  }

  /** Runs the transaction that puts outcomes on record, which hands them to `heed`. */
  async inTurn<T>(
    transaction: (heed: (tx: Tx, heard: readonly LaneOutcome[], at: number) => Promise<void>) => Promise<T>,
  ): Promise<T> {
    return (await this.#line.add(async () => {
      let effects: LaneEffects | null = null as LaneEffects | null;
      let note = () => {};
      const result = await transaction(async (tx, heard, at) => {
        const found = await this.#heed(tx, heard, at);
        effects = found;
        note = () => this.node?.way.heed(found, heard, at, this.context.clock.monotonicMs());
      });
      if (effects) this.#health = effects.health;
      note();
      if (effects && (effects.closesBreaker || effects.pauses.length > 0)) this.changes++;
      for (const alert of effects?.alerts ?? []) this.context.log.error('A person has to look', { alert });
      return result;
    })) as T;
  }

  async #heed(tx: Tx, outcomes: readonly LaneOutcome[], at: number): Promise<LaneEffects> {
    const { settings, actor } = this.context;
    const { delivery, service } = settings;
    const way = this.node?.way ?? null;
    const pauses = await listPauses(tx);
    const outage = pauses.find(({ cause }) => cause === 'outage');
    const throttled = pauses.find(({ cause }) => cause === 'throttled');
    const ownProbeAt = way?.trouble?.cause === 'outage' ? at : null;
    const effects = laneEffects(
      // On record, because another process may have written it, and an operator may have ended it.
      {
        ...this.#health,
        throttledUntil: throttled?.until_at ?? null,
        throttledSince: throttled?.since_at ?? this.#health.throttledSince,
      },
      outcomes,
      {
        outageAfterFailures: delivery.outageAfterFailures,
        probeMs: delivery.probeSeconds * 1000,
        windowMs: ownWaitMs(service.limits),
        credentialSetting: credentialSetting(service.credential),
        nextProbeAt: outage ? (outage.until_at ?? at) : ownProbeAt,
      },
      at,
    );
    // One that another node writes in this moment stays for its next probe.
    if (effects.closesBreaker && outage && (await resumeLane(tx, 'service', ['outage'])) > 0) {
      // The wait of messages in doubt came from the outage, which is over.
      const hasten = "UPDATE outbox_message SET next_attempt_at=? WHERE state='in_doubt' AND next_attempt_at>?";
      await tx.run(hasten, [at + afterOutageMs, at + afterOutageMs]);
    }
    await dropEndedPauses(tx, pauses, at);
    const by = this.node ? nodeActor(this.node.name) : actor;
    for (const pause of way?.forAll(effects.pauses, pauses) ?? effects.pauses) {
      // A probe that failed makes an outage longer; it is still the same one.
      const going = pause.cause === 'outage' ? outage : undefined;
      await pauseLane(tx, { ...pause, actor: by, since_at: going && !effects.closesBreaker ? going.since_at : at });
      if (going) continue;
      const detail = { lane: pause.lane, reason: pause.reason, until: pause.until_at };
      await appendAudit(tx, [{ event: 'pause', outcome: pause.cause, actor, detail }], at);
    }
    await appendAudit(
      tx,
      effects.alerts.map((message) => ({ event: 'alert', actor, detail: { message } })),
      at,
    );
    return effects;
  }
}

/**
 * The number of messages that are claimed at once. Pure. No more than leave within a second: after a kill any of them
 * may have been sent. All of them count then for a limit of hours or days, so no more than a hundredth of such a limit,
 * or its own pace needs it.
 * @param sentInLastSecond what left in the last one, where no limit says how many will
 * @param atOnce how many one transaction claims at most; of large records, whose claims are small, half the concurrency
 */
export function claimTarget(
  service: Pick<ServiceSettings, 'concurrency' | 'limits'>,
  sentInLastSecond: number,
  atOnce: number,
): number {
  const concurrency = concurrencyOf(service);
  const perSecond = shortestWindowRate(service.limits) ?? Number.POSITIVE_INFINITY;
  const inOneSecond = Math.ceil(Math.min(perSecond, Math.max(concurrency * 2, sentInLastSecond)));
  const small = service.limits
    .filter(({ perSeconds }) => perSeconds * 1000 > longestRestMs)
    .map(({ requests, perSeconds }) => Math.ceil(Math.max(requests / 100, (requests / perSeconds) * 3)));
  return Math.max(2, Math.min(atOnce * claimsUnderWay, Math.max(concurrency, inOneSecond), ...small));
}

/** The most whole claims under way. With half as many, requests waited for settlements in MariaDB (measured). */
const claimsUnderWay = 4;

/** The number of messages that may be claimed without an outcome on record: as many as the limit lets leave in a second. Pure. */
export function mostUnsettled({ limits }: Pick<ServiceSettings, 'limits'>, atOnce: number): number {
  const most = atOnce * claimsUnderWay;
  return Math.ceil(Math.min(most, shortestWindowRate(limits) ?? most));
}

/** A claim holds what leaves within a few seconds, and then it waits for its slot: no request leaves later than this after its intent. */
const longestLeaveMs = 3_000 + longestSlotWaitMs;

/**
 * A wait for a slot that is longer than a request is a pause of the lane: visible, durable, and no message is claimed
 * for it.
 * @returns until when it is paused now, or null
 */
export async function pauseWhenUsedUp(
  context: JobContext,
  { usedUp }: Pick<RateLimiter, 'usedUp'>,
): Promise<number | null> {
  if (usedUp === null) return null;
  const at = context.nowMs();
  const untilMs = at + Math.ceil(usedUp.waitMs);
  const { reason } = usedUp;
  await context.store.transaction('pause until the limit allows more', (tx) =>
    pauseLane(tx, { lane: 'service', cause: 'limit', until_at: untilMs, reason, actor: context.actor, since_at: at }),
  );
  return untilMs;
}

/** The process that sent a request may have run by the clock of another machine, which may be behind this one by so much. */
const otherClockMs = 10_000;

/**
 * The least age of the answer to each request that the longest limit still counts. @param except epochs that are not
 * asked for
 */
export async function recallAnswers(
  tx: Tx,
  { settings, nowMs }: JobContext,
  except: ReadonlySet<number> = new Set(),
): Promise<number[]> {
  const { limits, deadlineSeconds } = settings.service;
  const longestMs = Math.max(0, ...limits.map(({ perSeconds }) => perSeconds * 1000));
  const now = nowMs();
  const corrections = await readClockCorrections(tx);
  const deadlineMs = deadlineSeconds * 1000;
  const sinceMs = now - longestMs - otherClockMs;
  const times = await answeredSince(tx, {
    sinceMs,
    waitMs: longestLeaveMs,
    deadlineMs,
    nowMs: now,
    corrections,
    except,
  });
  return times.map((at) => now - at - otherClockMs);
}

/**
 * A limit of a day outlives a process: what was sent under an earlier lease counts for it as well. A pause that an earlier
 * process took from its settings ends: these may be others, and what is used up by them is paused anew.
 */
export async function recallRequests(
  context: JobContext,
  limiter: Pick<RateLimiter, 'recall' | 'usedUp'>,
  lease: Pick<Lease, 'write'>,
): Promise<void> {
  const { settings, store, nowMs, actor } = context;
  if (settings.service.limits.some(({ perSeconds }) => perSeconds * 1000 > longestRestMs)) {
    const agesMs = await store.read('count what the limits still count', (tx) => recallAnswers(tx, context));
    // A slot rests from the answer on.
    limiter.recall(agesMs, longestRestMs);
  }
  const pauses = await store.read('look for a limit that was used up', listPauses);
  const isOwn = (reason: Fact) => reason.code === 'limit_used_up' && reason.by === 'settings';
  if (!pauses.some(({ lane, cause, reason }) => lane === 'service' && cause === 'limit' && isOwn(reason))) return;
  if ((await pauseWhenUsedUp(context, limiter)) !== null) return;
  await lease.write('end the pause of an earlier limit', async (tx) => {
    await resumeLane(tx, 'service', ['limit']);
    const detail = { lane: 'service', reason: { code: 'limits_allow_more' } } as const;
    await appendAudit(tx, [{ event: 'resume', outcome: 'limit', actor, detail }], nowMs());
  });
}

const mayBeNew: Fact = { code: 'credential_perhaps_new' };

/**
 * After our credential was refused everything waits. When its files have changed since, one request goes as a probe: an answer
 * other than 401 ends the pause, and another 401 begins it anew.
 * @param begins a daemon that begins also tries what stands in no file and may be new; a command that cron repeats would
 * knock with the same wrong token for ever
 */
export async function tryNewCredential(
  context: JobContext,
  client: Pick<ServiceClient, 'credentialReplacedSince'>,
  lease: Pick<Lease, 'write'> & { membership: { name: string; way: NodeWay } | null },
  begins = false,
): Promise<boolean> {
  const { store, nowMs, actor, log } = context;
  const pauses = await store.read('look whether the credential was refused', listPauses);
  const pause = pauses.find(({ lane, cause }) => lane === 'service' && cause === 'credential');
  if (!pause) return false;
  const { membership } = lease;
  // The credential of another node was refused: nothing is known of this one's.
  const isOther = membership !== null && isByOtherNode(pause.actor, membership.name);
  if (!client.credentialReplacedSince(isOther ? Number.NEGATIVE_INFINITY : pause.since_at, begins)) return false;
  await lease.write('try the new credential', async (tx) => {
    const at = nowMs();
    if ((await resumeLane(tx, 'service', ['credential'])) === 0) return;
    // An outage is what lets one request at a time go, and ends with the first answer.
    await pauseLane(tx, { lane: 'service', cause: 'outage', until_at: at, reason: mayBeNew, actor, since_at: at });
    const detail = { lane: 'service', reason: mayBeNew };
    await appendAudit(tx, [{ event: 'resume', outcome: 'credential', actor, detail }], at);
  });
  membership?.way.tryNow();
  log.info('The credential may be another one; trying it');
  return true;
}

type ProbeKind = 'pending' | 'in_doubt' | 'look_up';

/** The number in doubt that an outage may cost; each may have to be looked at by a person if it lasts for days. */
const freelyInDoubt = 50;
const newOneEvery = 11;
const lookUpEvery = 6;

/**
 * The probe that looks if the service is back: the first message that there is. Pure. A message that was not tried yet
 * goes first: the service may fail at the records that are in doubt, and at no other. But where it is down for all,
 * each new one is one more in doubt.
 * @param probe counts the probes, from 0
 * @param inDoubt how many messages are in doubt
 */
export function probeOrder(probe: number, inDoubt: number): ProbeKind[] {
  if (probe % lookUpEvery === lookUpEvery - 1) return ['look_up', 'pending', 'in_doubt'];
  const newFirst = inDoubt < freelyInDoubt || probe % newOneEvery === 0;
  return newFirst ? ['pending', 'in_doubt', 'look_up'] : ['in_doubt', 'pending', 'look_up'];
}

/**
 * One message of this state, also where its next try is not due yet: the one that has waited longest, or the last of those that
 * were never tried, as long as there are such.
 * @returns null when there is none
 */
export async function probeMessageId(
  tx: Tx,
  state: SendableState,
  which: 'first' | 'last untried',
  scope: ClaimScope,
  resends: ResendTerms,
): Promise<number | null> {
  const question = { scope, resends, dueByMs: null, which };
  const one = (scope.sources ?? defaultAlone).map(({ name }) => ({ name, limit: 1 }));
  const found = [
    ...(await readyMessages(tx, { state, entity: 'customer' }, one, question)),
    ...(await readyMessages(tx, { state, entity: 'order' }, one, question)),
  ].sort((a, b) => a.dueAt - b.dueAt);
  if (which === 'first') return found[0]?.id ?? null;
  return found.at(-1)?.id ?? probeMessageId(tx, state, 'first', scope, resends);
}

export async function countInDoubt(tx: Tx): Promise<number> {
  const [row] = await tx.rows<{ n: number }>("SELECT COUNT(*) AS n FROM outbox_message WHERE state='in_doubt'");
  return row?.n ?? 0;
}
