import { type AuditEntry, appendAudit } from '../../audit/audit-log.js';
import type { ServiceSettings } from '../../config/sections/service.js';
import type { Fact } from '../../model/facts/fact.js';
import type { JsonValue } from '../../model/record.js';
import type { FoundRecord } from '../../model/verdict.js';
import type { JobContext } from '../../ops/job-context.js';
import { sweepAtNextPass } from '../../store/job-runs.js';
import type { Tx } from '../../store/store.js';
import { type AdoptedFrom, insertAdoptions } from '../outbox/adoptions.js';
import { BindingHolders, unprovenTwin } from '../outbox/binding-holders.js';
import { bindRecords } from '../outbox/bindings.js';
import { composePatch, type UpdateMethod } from '../outbox/compose-update.js';
import { canonicalJson, setContentHashes, sha256 } from '../outbox/content-hash.js';
import { insertMessages } from '../outbox/new-messages.js';
import { replaceRefused } from '../outbox/promote-dependent.js';
import { closeAsSettled, holdMessages, reclassifyParked } from '../outbox/transitions.js';

/** The create of a customer that the service says is there already. */
interface ConflictingCreate {
  id: number;
  sourceKey: string;
}

export type AdoptOutcome =
  /** Bound. `held`: messages that wait until a person has looked at what differs. */
  | { kind: 'adopted'; serviceId: string; differs: string[]; held: number[]; reason: Fact }
  /** This record of ours was acknowledged before: its create has nothing more to say. */
  | { kind: 'known'; serviceId: string }
  /** The service's record is another one of ours: it made nothing of this create. */
  | { kind: 'taken'; reason: Fact; revision: number; generation: number }
  /** A person has to look. */
  | { kind: 'refused'; reason: Fact }
  /** Another customer with this code is on its way: it may be the one that was found. */
  | { kind: 'later' };

/**
 * Binds a customer of ours to the one with exactly its code that others made. Nothing there is
 * written over: the differences become an update that is held, and messages that wait behind the
 * create are held too. The caller's transaction has checked the epoch and writes the audit.
 */
async function adoptFound(
  tx: Tx,
  create: ConflictingCreate,
  found: FoundRecord,
  by: { from: AdoptedFrom; actor: string; method: UpdateMethod; notContent: ReadonlySet<string> },
  nowMs: number,
): Promise<AdoptOutcome> {
  const claim = { entity: 'customer' as const, sourceKey: create.sourceKey, serviceId: found.serviceId, isFound: true };
  const holders = await BindingHolders.of(tx, [claim]);
  const problem = holders.problemOf(claim);
  if (problem?.kind === 'taken') {
    const [message] = await tx.rows<{ revision: number; generation: number }>(
      'SELECT revision, generation FROM outbox_message WHERE id=?',
      [create.id],
    );
    if (!message) throw new Error(`Message ${create.id} is not in the outbox.`);
    return {
      kind: 'taken',
      ...message,
      reason: { code: 'code_shared', entity: 'customer', sourceKey: problem.heldBy, serviceId: found.serviceId },
    };
  }
  const [own] = await tx.rows<{ serviceId: string; contentHash: string | null }>(
    "SELECT service_id, content_hash FROM binding WHERE entity='customer' AND source_key=?",
    [create.sourceKey],
  );
  if (problem?.kind === 'removed')
    return { kind: 'refused', reason: { code: 'found_removed', entity: 'customer', serviceId: found.serviceId } };
  if (problem !== null)
    return {
      kind: 'refused',
      reason: { code: 'shown_as_other', boundTo: problem.boundTo, serviceId: found.serviceId },
    };

  const messages = await tx.rows(
    `SELECT m.id, m.revision, m.operation, m.generation, m.state, m.was_sent, m.content_hash, m.mapping_fingerprint,
            m.identity, (SELECT b.record FROM message_body b WHERE b.message_id=m.id) AS record
       FROM outbox_message m
      WHERE m.entity='customer' AND m.source_key=?
        AND m.revision>=(SELECT o.revision FROM outbox_message o WHERE o.id=?) ORDER BY m.revision${tx.forUpdate}`,
    [create.sourceKey, create.id],
  );
  const message = messages[0];
  if (!message || message.record === null) throw new Error(`Message ${create.id} has no body to compare.`);
  if (own) {
    await closeAsSettled(tx, [create.id], { code: 'already_acknowledged' }, nowMs, found.serviceId);
    // It never arrived: what the service holds is what the binding says, and the next pass asks whether the ERP says the same.
    await setContentHashes(tx, [{ id: create.id, contentHash: own.contentHash }]);
    if (own.contentHash !== message.contentHash) await sweepAtNextPass(tx, 'customer');
    return { kind: 'known', serviceId: found.serviceId };
  }
  const twin = await unprovenTwin(tx, 'customer', create.id);
  if (twin?.isOnItsWay) return { kind: 'later' };
  if (twin !== null)
    return {
      kind: 'refused',
      reason: {
        code: 'twin_unsettled',
        entity: 'customer',
        sourceKey: twin.sourceKey,
        serviceId: found.serviceId,
      },
    };

  const newer = messages.slice(1);
  // The ERP's version by now, if an edit waits behind the create.
  const wanted = newer.findLast((one) => one.operation === 'update' && one.record !== null) ?? message;
  const record = JSON.parse(wanted.record) as { [name: string]: JsonValue };
  const { base, baseHash, differs, cleared } = compareWithShown(record, found.shown, by.method, by.notContent);
  const reason: Fact = { code: 'adopted_differs', clears: cleared.length > 0 };
  const { revision, generation, identity, contentHash, mappingFingerprint } = message;
  const captured = { generation, identity, contentHash, mappingFingerprint, record: message.record };
  await bindRecords(
    tx,
    [
      {
        ...claim,
        revision,
        generation,
        contentHash: baseHash,
        mappingFingerprint: wanted.mappingFingerprint,
        identity,
        acknowledged: canonicalJson(base),
        words: null,
        said: null,
      },
    ],
    holders,
    nowMs,
  );
  await insertAdoptions(tx, [{ ...claim, from: by.from, actor: by.actor, differs }], nowMs);
  await closeAsSettled(tx, [create.id], { code: 'already_there_adopted' }, nowMs, found.serviceId);

  const waiting = newer.filter(
    (one) => one.state === 'pending' && !one.wasSent && (one.operation === 'delete' || differs.length > 0),
  );
  const held = waiting.map((one) => one.id);
  await holdMessages(tx, held, reason);
  if (differs.length > 0 && newer.length === 0)
    held.push(
      ...(await insertMessages(
        tx,
        [
          {
            ...claim,
            ...captured,
            revision: revision + 1,
            operation: 'update',
            number: null,
            customerKey: null,
            idempotencyKey: null,
            parked: { parkClass: 'held', reason: { code: 'adopted_differs', clears: cleared.length > 0 } },
          },
        ],
        nowMs,
      )),
    );
  return { kind: 'adopted', serviceId: found.serviceId, differs, held, reason };
}

/** Names of fields that a line of the audit has room for. */
const maxNames = 30;

/** Fields that name the customer, or that the service fills itself: a PUT that leaves them out clears nothing. */
function notContentOf({ acknowledgement, adoption, endpoints, idempotency }: ServiceSettings): ReadonlySet<string> {
  const { idField = acknowledgement.customerId } = adoption;
  const places = [idField, acknowledgement.customerState, endpoints.lookUpCustomer?.id ?? idField];
  const key = idempotency.in === 'body' ? [idempotency.field] : [];
  return new Set([...adoption.ownFields, ...places.map((place) => place.split('.').at(-1) as string), ...key]);
}

/** Adopts the record found for a customer whose create is parked as a conflict, and audits the outcome. */
export async function adoptCustomer(
  tx: Tx,
  context: JobContext,
  create: ConflictingCreate,
  { found, from }: { found: FoundRecord; from: AdoptedFrom },
  nowMs: number,
): Promise<AdoptOutcome> {
  const { settings, actor } = context;
  const { method } = settings.service.endpoints.updateCustomer;
  const by = { from, actor, method, notContent: notContentOf(settings.service) };
  const outcome = await adoptFound(tx, create, found, by, nowMs);
  const base = { entity: 'customer' as const, sourceKey: create.sourceKey, messageId: create.id, actor };
  const entries: AuditEntry[] = [];
  if (outcome.kind === 'adopted') {
    const { serviceId, differs, held, reason } = outcome;
    const detail = { serviceId, differs: differs.slice(0, maxNames), differing: differs.length };
    entries.push(
      { ...base, event: 'adopted', outcome: from, detail },
      ...held.map(
        (messageId): AuditEntry => ({
          ...base,
          messageId,
          event: 'parked',
          outcome: 'held',
          detail: { reason },
        }),
      ),
    );
  }
  if (outcome.kind === 'known')
    entries.push({ ...base, event: 'superseded', detail: { reason: { code: 'already_acknowledged' } } });
  if (outcome.kind === 'refused') {
    await reclassifyParked(tx, create.id, { ...outcome, parkClass: 'conflict' });
    entries.push({ ...base, event: 'parked', outcome: 'conflict', detail: { reason: outcome.reason } });
  }
  if (outcome.kind === 'taken') {
    // The service may hold its key with its bytes. One that replays refusals gets another key after each of them anyway.
    const generation = outcome.generation + (settings.service.idempotency.replaysRefusals ? 0 : 1);
    await reclassifyParked(tx, create.id, { ...outcome, generation, parkClass: 'refused' });
    entries.push({ ...base, event: 'parked', outcome: 'refused', detail: { reason: outcome.reason } });
    await replaceRefused(tx, context, { ...create, ...outcome, generation, entity: 'customer' }, nowMs);
  }
  await appendAudit(tx, entries, nowMs);
  return outcome;
}

type Fields = { [name: string]: JsonValue };

interface Comparison {
  /** Our fields as the service shows them: the base of the next update. Never a field that we don't send. */
  base: Fields;
  /** The content hash of the base; of no content when the service does not show all of our fields. */
  baseHash: string | null;
  /** Names of the fields that an update would write over, sorted. */
  differs: string[];
  /** Those of them that only the service has. */
  cleared: string[];
}

/**
 * Compares our record with the one that the service shows. Pure. A field that it does not show
 * counts as different: its value is not known. A field that only the service has differs where
 * updates replace the record (PUT), because they would clear it.
 * @param notContent names of fields of the service of which a PUT clears nothing
 */
export function compareWithShown(
  wanted: Fields,
  shown: Fields,
  method: UpdateMethod,
  notContent: ReadonlySet<string> = new Set(),
): Comparison {
  const isShown = (name: string) => Object.hasOwn(shown, name);
  const base: Fields = Object.fromEntries(
    Object.keys(wanted)
      .filter((name) => isShown(name) || wanted[name] === null)
      .map((name) => [name, isShown(name) ? (shown[name] as JsonValue) : null]),
  );
  const isWhole = Object.keys(wanted).every((name) => Object.hasOwn(base, name));
  const isTheirs = (name: string) => !Object.hasOwn(wanted, name) && shown[name] !== null && !notContent.has(name);
  const cleared = method === 'PUT' ? Object.keys(shown).filter(isTheirs) : [];
  return {
    base,
    baseHash: isWhole ? sha256(canonicalJson(base)) : null,
    differs: [...Object.keys(composePatch(base, wanted) ?? {}), ...cleared].sort(),
    cleared,
  };
}
