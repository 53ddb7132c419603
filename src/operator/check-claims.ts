import type { ClaimCheck, ClaimSides } from '../model/facts/actions.js';
import type { Fact } from '../model/facts/fact.js';
import { type Entity, type JsonValue, type OrderItem, orderTotal } from '../model/record.js';
import type { JobContext } from '../ops/job-context.js';
import { recallRequests, tryNewCredential } from '../outbound/deliver/lane-keeper.js';
import { ServiceLease } from '../outbound/deliver/service-lease.js';
import type { BoundRecord } from '../service/read-record.js';
import type { ServiceClient } from '../service/service-client.js';
import { requestWakeUp } from '../store/job-runs.js';
import { placeholders } from '../store/rows.js';
import type { Tx } from '../store/store.js';
import { compareRecord } from './reconcile/compare-record.js';
import type { ServiceSide } from './reconcile/name-finding.js';
import { ServiceReader, Stopped, whyNotAsked } from './reconcile/service-side.js';

/**
 * Asks the service what it has under an id before a person's word binds a record to it: an id that was mistyped is another
 * record, and the next edit in the ERP would overwrite that one.
 */

/** A person says that the record of this message is this one at the service. */
export interface SaidClaim {
  messageId: number;
  entity: Entity;
  serviceId: string;
}

export const unasked: ClaimCheck = { kind: 'unasked', reason: { code: 'claim_not_asked' }, sides: [] };

type Fields = { [name: string]: JsonValue };

/** The record of a message as it was captured. */
export interface ClaimedRecord {
  record: Fields | null;
  number: string | null;
  total: bigint | null;
}

/** Compares a record with what the service has under the id. Pure. */
export function judgeClaim({ record, number, total }: ClaimedRecord, side: ServiceSide): ClaimCheck {
  if (side.kind === 'unread') return { kind: 'unread', reason: side.reason, sides: [] };
  if (side.kind === 'absent') return { kind: 'absent', reason: { code: 'claim_absent' }, sides: [] };
  const { fields } = side;
  const ours = record ?? {};
  const numberField = Object.keys(ours).find((name) => number !== null && ours[name] === number);
  const both = (what: string, here: unknown, there: unknown): ClaimSides => ({
    what,
    ours: inWords(here),
    service: inWords(there),
  });
  const sides = [
    both('number', number, numberField === undefined ? null : fields[numberField]),
    both('customer', ours.customer_code, fields.customer_code),
    both('total', total, side.total),
  ].filter((one) => one.ours !== null || one.service !== null);
  const { differing } = compareRecord(ours, fields, [], new Set());
  const names = new Set(differing.map(({ field }) => field.replace(/\..*/, '')));
  if (total !== null && side.total !== null && total !== side.total) names.add('total');
  const reason: Fact = { code: 'claim_differs', fields: [...names] };
  if (names.size > 0) return { kind: 'differs', reason, sides };
  // A total alone is that of many orders.
  const isIdentified = Object.keys(ours).some(
    (name) => typeof ours[name] === 'string' && ours[name] !== '' && fields[name] === ours[name],
  );
  if (isIdentified) return { kind: 'same', reason: null, sides };
  return { kind: 'unread', reason: { code: 'claim_unnamed' }, sides };
}

function inWords(value: unknown): string | null {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint') return String(value);
  return null;
}

const pollMs = 200;
/** A daemon looks for questions every two seconds, and may wait for a slot. */
const patienceMs = 20_000;
const mostAtOnce = 20;

/**
 * Asks the service about each claim, by message. Beside a running daemon, which alone may talk to the service, it asks the
 * daemon.
 * @param client null: this process never talks to the service itself
 */
export async function checkClaims(
  context: JobContext,
  client: (() => Promise<ServiceClient> | ServiceClient) | null,
  claims: readonly SaidClaim[],
): Promise<Map<number, ClaimCheck>> {
  const checks = new Map<number, ClaimCheck>();
  const askable: SaidClaim[] = [];
  for (const claim of claims) {
    const reason = whyNotAsked(context.settings, claim.entity === 'order' ? 'orders' : 'customers');
    if (reason === null) askable.push(claim);
    else checks.set(claim.messageId, { kind: 'unread', reason, sides: [] });
  }
  if (askable.length === 0) return checks;
  const lease = client === null ? null : await ServiceLease.acquire(context);
  const answered =
    client !== null && lease instanceof ServiceLease
      ? await askHere(context, client, lease, askable)
      : await askTheDaemon(context, askable);
  return new Map([...checks, ...answered]);
}

async function askHere(
  context: JobContext,
  client: () => Promise<ServiceClient> | ServiceClient,
  lease: ServiceLease,
  claims: readonly SaidClaim[],
): Promise<Map<number, ClaimCheck>> {
  try {
    const opened = await client();
    await recallRequests(context, opened.rateLimiter, lease);
    await tryNewCredential(context, opened, lease);
    return await readClaims(context, new ServiceReader(context, opened, lease), claims);
  } finally {
    await lease.release();
  }
}

async function readClaims(
  { store }: JobContext,
  reader: ServiceReader,
  claims: readonly SaidClaim[],
): Promise<Map<number, ClaimCheck>> {
  const checks = new Map<number, ClaimCheck>();
  for (const claim of claims) {
    const ours = await store.read('look what is claimed', (tx) => claimedRecord(tx, claim));
    if (ours === null) continue;
    const [side] = await reader.readAll([ours.bound]).catch((error: unknown): ServiceSide[] => {
      if (!(error instanceof Stopped)) throw error;
      return [{ kind: 'unread', reason: error.fact }];
    });
    if (side !== undefined) checks.set(claim.messageId, judgeClaim(ours, side));
  }
  return checks;
}

async function claimedRecord(
  tx: Tx,
  { messageId, entity, serviceId }: SaidClaim,
): Promise<(ClaimedRecord & { bound: BoundRecord }) | null> {
  const [row] = await tx.rows<{ number: string | null; idempotencyKey: string | null; record: string | null }>(
    `SELECT m.number, b.record,
            (SELECT c.idempotency_key FROM outbox_message c
              WHERE c.entity=m.entity AND c.source_key=m.source_key AND c.operation='create' AND c.revision<=m.revision
              ORDER BY c.revision DESC LIMIT 1) AS idempotency_key
       FROM outbox_message m LEFT JOIN message_body b ON b.message_id=m.id WHERE m.id=?`,
    [messageId],
  );
  if (!row) return null;
  const record = row.record === null ? null : (JSON.parse(row.record) as Fields);
  const items = record?.items as unknown as OrderItem[] | undefined;
  return {
    record,
    number: row.number,
    total: entity === 'order' && items ? orderTotal(items) : null,
    bound: { entity, serviceId, record, idempotencyKey: row.idempotencyKey },
  };
}

/** Puts questions into the store and waits until the daemon has answered them, or no answer comes any more. */
async function askTheDaemon(context: JobContext, claims: readonly SaidClaim[]): Promise<Map<number, ClaimCheck>> {
  const { store, clock, actor, nowMs } = context;
  const byQuestion = await store.transaction('ask what the service has', async (tx) => {
    const questions = new Map<number, SaidClaim>();
    const sql = 'INSERT INTO service_question (message_id, entity, service_id, asked_at) VALUES (?,?,?,?)';
    for (const claim of claims) {
      const { messageId, entity, serviceId } = claim;
      questions.set(await tx.insertReturningId(sql, [messageId, entity, serviceId, nowMs()]), claim);
    }
    await requestWakeUp(tx, 'questions', actor, nowMs());
    return questions;
  });
  const ids = [...byQuestion.keys()];
  const readAnswers = (tx: Tx) =>
    tx.rows<{ id: number; answer: string }>(
      `SELECT id, answer FROM service_question WHERE answer IS NOT NULL AND id IN ${placeholders(ids.length)}`,
      ids,
    );
  let answers: { id: number; answer: string }[] = [];
  let heardAtMs = clock.monotonicMs();
  while (answers.length < ids.length && clock.monotonicMs() - heardAtMs < patienceMs) {
    await clock.sleep(pollMs);
    const before = answers.length;
    answers = await store.read('look for answers', readAnswers);
    if (answers.length > before) heardAtMs = clock.monotonicMs();
  }
  await store.transaction('forget questions', (tx) =>
    tx.run(`DELETE FROM service_question WHERE id IN ${placeholders(ids.length)}`, ids),
  );
  const known = new Map(answers.map(({ id, answer }) => [id, JSON.parse(answer) as ClaimCheck]));
  const late: ClaimCheck = { kind: 'unread', reason: { code: 'claim_not_answered' }, sides: [] };
  return new Map([...byQuestion].map(([id, { messageId }]) => [messageId, known.get(id) ?? late]));
}

/** A question this old has nobody left who waits for its answer. */
const forgottenAfterMs = 3_600_000;

/** Answers what other processes ask about records at the service: the daemon's part. */
export async function answerQuestions(
  context: JobContext,
  { client, lease }: { client: ServiceClient; lease: ServiceLease },
  signal: AbortSignal,
): Promise<number> {
  const { store, nowMs } = context;
  const reader = new ServiceReader(context, client, lease, signal);
  let answered = 0;
  for (;;) {
    const asked = await store.transaction('look for questions', async (tx) => {
      await tx.run('DELETE FROM service_question WHERE asked_at<?', [nowMs() - forgottenAfterMs]);
      return tx.rows<SaidClaim & { id: number }>(
        `SELECT id, message_id, entity, service_id FROM service_question WHERE answer IS NULL ORDER BY id LIMIT ${mostAtOnce}`,
      );
    });
    if (asked.length === 0 || signal.aborted) return answered;
    for (const question of asked) {
      const checks = await readClaims(context, reader, [question]);
      const answer = JSON.stringify(checks.get(question.messageId) ?? unasked);
      await store.transaction('answer a question', (tx) =>
        tx.run('UPDATE service_question SET answer=? WHERE id=?', [answer, question.id]),
      );
      answered++;
    }
  }
}
