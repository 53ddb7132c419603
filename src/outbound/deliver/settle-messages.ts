import { isDeepStrictEqual } from 'node:util';
import { appendAudit, shownReason } from '../../audit/audit-log.js';
import type { Entity, JsonValue } from '../../model/record.js';
import type { Delivered } from '../../model/verdict.js';
import type { JobContext } from '../../ops/job-context.js';
import { killPoint } from '../../ops/kill-point.js';
import { recordSuccess } from '../../store/job-runs.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { adoptCustomer } from '../adoption/adopt-found.js';
import { bindRecords, closeBindings } from '../outbox/bindings.js';
import { doubtContents, provenRecord, unknownContent } from '../outbox/content-hash.js';
import { createKey } from '../outbox/idempotency-key.js';
import { settle } from '../outbox/message.js';
import { settleSending, supersedeUnsent } from '../outbox/transitions.js';
import { fromBeforeRecovery } from '../recovery/recover-messages.js';
import { type EndedAttempt, endAttempts, forbiddenBefore, passedSinceForbidden } from './attempts.js';
import type { ClaimedMessage } from './claim-messages.js';
import type { DeliveryTally, SettledMessage } from './deliver-result.js';
import type { Ended, Settled, Settler } from './exchange.js';
import { endpointKey, judgeForbidden } from './lane-effects.js';
import { afterOutageMs } from './lane-keeper.js';
import { noteStates } from './profile-notices.js';

/** Settles what was sent, in batches: message, attempt, binding and audit. */
export class MessageSettler implements Settler<ClaimedMessage, Delivered> {
  constructor(
    private readonly context: JobContext,
    private readonly epoch: number,
    private readonly tally: DeliveryTally,
  ) {}

  async settle(tx: Tx, ended: readonly Ended<ClaimedMessage, Delivered>[], at: number): Promise<Settled> {
    const { settings, actor, random } = this.context;
    const { backoffBaseSeconds, backoffMaxSeconds } = settings.delivery;
    const maxMs = backoffMaxSeconds * 1000;
    const all = (await heedForbidden(tx, ended)).map((one): SettledMessage => {
      const transition = settle(one.about, one.sent.verdict, {
        nowMs: at,
        random: random(),
        // The service may be back before the outcome of a probe that hangs is known.
        backoff: { baseMs: backoffBaseSeconds * 1000, maxMs: one.isProbe ? Math.min(maxMs, afterOutageMs) : maxMs },
        sentAtMs: one.sent.startedAtMs ?? at,
      });
      return { ...one, transition };
    });
    const settled = await settleMessages(tx, all, this.epoch, actor, at);
    await this.#promoteDependents(tx, settled, at);
    if (settled.some(({ transition }) => transition.state === 'delivered')) await recordSuccess(tx, 'deliver', at);
    await this.#noteStates(tx, settled, at);
    const adopted = await this.#adopt(tx, settled, at);
    killPoint('before-settle-commit');
    return {
      heard: all.map(({ about, sent, transition }) => ({
        asks: 'write',
        verdict: sent.verdict,
        shownReason: 'reason' in sent.verdict ? shownReason(about.entity, sent.verdict.reason) : '',
        parkedAs: transition.parkClass,
        sentAtMs: sent.startedAtMs,
      })),
      committed: () => {
        killPoint('after-settle-commit');
        this.tally.countMessages(all);
        for (const [id, outcome] of adopted) this.tally.countAdopted(id, outcome);
      },
    };
  }

  /** A customer whom the answer "already exists" shows is bound at once. @returns what became of each, by message */
  async #adopt(tx: Tx, settled: readonly SettledMessage[], at: number): Promise<Map<number, 'adopted' | 'held'>> {
    const adopted = new Map<number, 'adopted' | 'held'>();
    for (const { about, sent } of settled) {
      const existing = sent.verdict.kind === 'conflict' ? sent.verdict.existing : undefined;
      if (!existing) continue;
      const outcome = await adoptCustomer(tx, this.context, about, existing, 'answer', at);
      if (outcome.kind === 'known') adopted.set(about.id, 'adopted');
      if (outcome.kind === 'adopted') adopted.set(about.id, outcome.held.length > 0 ? 'held' : 'adopted');
    }
    return adopted;
  }

  /** A correction that came in while its refused create was under way takes its place. */
  async #promoteDependents(tx: Tx, settled: readonly SettledMessage[], at: number): Promise<void> {
    const { installation, service, customers, orders } = this.context.settings;
    const { replaysRefusals } = service.idempotency;
    for (const { about, transition } of settled) {
      if (about.operation !== 'create' || transition.parkClass !== 'refused') continue;
      const { id: messageId, entity, sourceKey } = about;
      const { onCancelled, onDeleted } = entity === 'order' ? orders : customers;
      const removals = [onCancelled, onDeleted].flatMap((effect) => (typeof effect === 'object' ? [effect.patch] : []));
      const by = await promoteDependent(tx, about, installation, replaysRefusals, at, removals);
      if (by === null) continue;
      const detail = { by, reason: 'A newer revision takes the place of the refused create.' };
      const { actor } = this.context;
      await appendAudit(tx, [{ event: 'superseded', entity, sourceKey, messageId, actor, detail }], at);
    }
  }

  /** States that the settings do not name go on record; each is said in the log once. */
  async #noteStates(tx: Tx, settled: readonly SettledMessage[], at: number): Promise<void> {
    const { settings, log } = this.context;
    for (const entity of ['customer', 'order'] as const) {
      const states = settled.flatMap(({ about, sent: { verdict } }) =>
        about.entity === entity && verdict.kind === 'delivered' && verdict.state ? [verdict.state] : [],
      );
      for (const state of await noteStates(tx, settings.service, entity, states, at))
        log.warn('The service gives a state that the settings do not name', { entity, state });
    }
  }
}

function endedAttempt({ about, sent, transition }: SettledMessage): EndedAttempt {
  const { verdict } = sent;
  const { state, parkClass, reason, nextAttemptAt } = transition;
  const becameOf: EndedAttempt['becameOf'] = [];
  if (verdict.kind === 'delivered') {
    const { serviceId, flag, state: serviceState = null, total: serviceTotal = null } = verdict;
    becameOf.push({
      event: 'delivered',
      outcome: 'delivered',
      detail: { serviceId, flag, serviceState, serviceTotal },
    });
  }
  if (state === 'parked') becameOf.push({ event: 'parked', outcome: parkClass, detail: { reason } });
  return {
    id: about.attemptId,
    sent,
    message: about,
    detail: {
      number: about.attemptNumber,
      operation: about.operation,
      idempotencyKey: about.idempotencyKey,
      bodyHash: about.bodyHash,
      nextAttemptAt: state === 'pending' || state === 'in_doubt' ? nextAttemptAt : null,
    },
    becameOf,
  };
}

/** A 403 may be about one record alone: then it stops no others. */
async function heedForbidden(
  tx: Tx,
  ended: readonly Ended<ClaimedMessage, Delivered>[],
): Promise<Ended<ClaimedMessage, Delivered>[]> {
  const forbidden = ended.filter(({ sent }) => sent.verdict.kind === 'misconfigured' && sent.status === 403);
  if (forbidden.length === 0) return [...ended];
  const passed = new Set<string>();
  for (const { about } of forbidden)
    if (await passedSinceForbidden(tx, about.entity, about.operation)) passed.add(endpointKey(about));
  const before = await forbiddenBefore(
    tx,
    forbidden.map(({ about }) => about.id),
  );
  const verdicts = judgeForbidden(
    ended.map(({ about, sent }) => ({ ...about, ...sent, wasForbidden: before.has(about.id) })),
    passed,
  );
  return ended.map((one, i) => ({ ...one, sent: { ...one.sent, verdict: verdicts[i] ?? one.sent.verdict } }));
}

/**
 * Writes a batch of outcomes: message, attempt, audit and binding. The caller's transaction has checked the epoch. A
 * message that is no longer `sending` this attempt under this epoch is left alone: another process has it, or the batch
 * was committed already and only the database's word for it was lost.
 * @returns those that were settled
 */
export async function settleMessages(
  tx: Tx,
  all: readonly SettledMessage[],
  epoch: number,
  actor: string,
  nowMs: number,
): Promise<SettledMessage[]> {
  const settled = await doubtOldAnswers(tx, await stillSending(tx, all, epoch));
  if (settled.length === 0) return [];
  await settleSending(
    tx,
    settled.map(({ about, transition }) => ({ id: about.id, attemptNumber: about.attemptNumber, transition })),
    epoch,
    nowMs,
  );
  await endAttempts(tx, settled.map(endedAttempt), actor, nowMs);
  const delivered = settled.filter(({ transition }) => transition.state === 'delivered');
  await bindRecords(
    tx,
    delivered
      .filter(({ about }) => about.operation !== 'delete')
      .map(({ about, transition }) => ({
        ...about,
        serviceId: transition.serviceId as string,
        acknowledged: provenRecord(about.contentHash, about.record),
      })),
    nowMs,
  );
  await closeBindings(
    tx,
    delivered.flatMap(({ about }) => (about.operation === 'delete' ? [about] : [])),
    nowMs,
  );
  return settled;
}

/**
 * The answer to a create that a lost store may have sent can be an old one: something newer may have been said since. So its fields
 * are doubted.
 */
async function doubtOldAnswers(tx: Tx, settled: readonly SettledMessage[]): Promise<SettledMessage[]> {
  const isCreated = ({ about, transition }: SettledMessage) =>
    transition.state === 'delivered' && about.operation === 'create' && about.contentHash !== unknownContent;
  if (!settled.some(isCreated)) return [...settled];
  const isFromBefore = await fromBeforeRecovery(tx);
  const isDoubted = (one: SettledMessage) => isCreated(one) && isFromBefore(one.about.id);
  await doubtContents(
    tx,
    settled.filter(isDoubted).map(({ about }) => about),
  );
  return settled.map((one) =>
    isDoubted(one) ? { ...one, about: { ...one.about, contentHash: unknownContent } } : one,
  );
}

/** As the store knows them by now: a recovery may have doubted their contents since they were claimed, and moved them behind a binding. */
async function stillSending(tx: Tx, settled: readonly SettledMessage[], epoch: number): Promise<SettledMessage[]> {
  if (settled.length === 0) return [];
  const rows = await tx.rows<
    Pick<ClaimedMessage, 'id' | 'contentHash' | 'revision' | 'generation'> & { attempts: number }
  >(
    `SELECT id, attempts, content_hash, revision, generation FROM outbox_message
      WHERE id IN ${placeholders(settled.length)} AND state='sending' AND claim_epoch=?${tx.forUpdate}`,
    [...settled.map(({ about }) => about.id), epoch],
  );
  const sending = new Map(rows.map((row) => [row.id, row]));
  return settled.flatMap((one) => {
    const { attempts, ...now } = sending.get(one.about.id) ?? {};
    return attempts === one.about.attemptNumber ? [{ ...one, about: { ...one.about, ...now } }] : [];
  });
}

/**
 * A create was refused with proof while a newer revision was waiting behind it as an update: that one becomes the create,
 * also when it waits for a person (held, or not mappable): as an update it would wait for ever for the record.
 * Not when the record is bound: then the refused one was a repetition, and the update finds its record at the service.
 * @param removals fields that say at the service that a record was removed; what carries them needs no create
 * @returns the id of the promoted message, or null
 */
export async function promoteDependent(
  tx: Tx,
  refused: { id: number; entity: Entity; sourceKey: string; revision: number; generation: number },
  installation: string,
  replaysRefusals: boolean,
  nowMs: number,
  removals: readonly { [field: string]: JsonValue }[] = [],
): Promise<number | null> {
  const [next] = await tx.rows<{ id: number; operation: string; parkClass: string | null; record: string | null }>(
    `SELECT id, operation, park_class, (SELECT b.record FROM message_body b WHERE b.message_id=outbox_message.id) AS record
       FROM outbox_message
      WHERE entity=? AND source_key=? AND revision>? AND operation IN ('update','delete') AND first_sent_at IS NULL
        AND (state='pending' OR (state='parked' AND park_class IN ('held','unmapped')))
        AND NOT EXISTS (SELECT 1 FROM binding b WHERE b.entity=? AND b.source_key=?)
      ORDER BY revision DESC LIMIT 1`,
    [refused.entity, refused.sourceKey, refused.revision, refused.entity, refused.sourceKey],
  );
  if (!next) return null;
  // Nothing was made, so that nothing has to be removed.
  if (next.operation === 'delete' || removals.some((patch) => carries(next.record, patch))) {
    await supersedeUnsent(tx, [refused.id, next.id], null, nowMs);
    return next.id;
  }
  const generation = refused.generation + (replaysRefusals ? 1 : 0);
  if (next.parkClass === 'unmapped')
    await tx.run("UPDATE outbox_message SET operation='create', generation=? WHERE id=?", [generation, next.id]);
  else
    await tx.run(
      `UPDATE outbox_message SET operation='create', generation=?, idempotency_key=?, body_hash=content_hash, next_attempt_at=? WHERE id=?`,
      [generation, createKey(installation, refused.entity, refused.sourceKey, generation), nowMs, next.id],
    );
  await supersedeUnsent(tx, [refused.id], null, nowMs);
  return next.id;
}

function carries(record: string | null, patch: { [field: string]: JsonValue }): boolean {
  const fields = JSON.parse(record ?? '{}') as { [field: string]: JsonValue };
  const said = Object.entries(patch);
  // Fields that say nothing are carried by every record.
  return said.length > 0 && said.every(([name, value]) => isDeepStrictEqual(fields[name], value));
}
