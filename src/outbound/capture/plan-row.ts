import { type AuditEntry, appendAudit } from '../../audit/audit-log.js';
import type { FieldRuleSettings, FieldRules } from '../../config/sections/service.js';
import type { ReadCustomer, ReadOrder } from '../../erp/erp-reader.js';
import type { Fact } from '../../model/facts/fact.js';
import type { RecordFact } from '../../model/facts/records.js';
import { type RowFact, rowFact } from '../../model/facts/rows.js';
import { type Entity, type JsonValue, orderTotal } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { boundedText } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import type { RefreshedBinding } from '../outbox/bindings.js';
import { contentOf, sha256, underFingerprint } from '../outbox/content-hash.js';
import { createKey, keyLifetimeOf, wireBody } from '../outbox/idempotency-key.js';
import { type FirstSend, neverSent } from '../outbox/message.js';
import { insertMessages, type NewMessage } from '../outbox/new-messages.js';
import { supersedeUnsent } from '../outbox/transitions.js';
import type { KnownRecord } from './known-records.js';
import { forcedRevision, nextRevision, replacesRecord } from './next-revision.js';
import { changedIdentity, holdReason, isOverdue, type ReadBefore, suspicion } from './safety-limits.js';

type Fields = { readonly [name: string]: JsonValue };

/** The service's demands on a record, and the limit on the body that carries it. */
interface RecordDemands {
  fields: FieldRuleSettings;
  maxRequestBytes: number;
}

/**
 * Why the service would refuse this record, as far as its profile tells; null when nothing is known
 * against it. Pure.
 * @param bytes size of the record as JSON
 */
export function recordProblem(
  { fields: rules, maxRequestBytes }: RecordDemands,
  entity: Entity,
  record: Fields,
  bytes: number,
): RowFact | null {
  const problems = brokenRules(rules[entity], `service.fields.${entity}`, record);
  const hasRules = entity === 'order' && Object.keys(rules.item).length > 0;
  const items = hasRules && Array.isArray(record.items) ? (record.items as Fields[]) : [];
  items.forEach((item, index) => {
    const broken = brokenRules(rules.item, 'service.fields.item', item);
    problems.push(...broken.map((problem) => ({ ...problem, line: index + 1 })));
  });
  if (bytes > maxRequestBytes) problems.push({ code: 'body_too_large', bytes, maxBytes: maxRequestBytes });
  const [first, ...others] = problems;
  return first === undefined ? null : rowFact([first, ...others]);
}

function brokenRules(rules: FieldRules, setting: string, record: Fields): RowFact[] {
  return Object.entries(rules).flatMap(([name, { required, maxLength }]): RowFact[] => {
    const value = Object.hasOwn(record, name) ? record[name] : null;
    if (value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0))
      return required ? [{ code: 'field_required', field: name, setting }] : [];
    const length = lengthOf(value);
    if (maxLength === undefined || length <= maxLength) return [];
    const unit = Array.isArray(value) ? 'entries' : 'characters';
    return [{ code: 'field_too_long', field: name, length, unit, maxLength, setting }];
  });
}

/** Characters as people count them: code points, not halves of a pair. */
function lengthOf(value: JsonValue): number {
  if (Array.isArray(value)) return value.length;
  return typeof value === 'string' ? [...value].length : String(value).length;
}

export type ReadRow = ReadCustomer | ReadOrder;

/** A row that becomes a message. */
export interface Plan {
  row: ReadRow;
  message: NewMessage;
  supersedes: number | null;
}

/** The records that `resync --force` left alone, with the reasons. */
export interface SkippedRecord {
  entity: Entity;
  sourceKey: string;
  reason: RecordFact;
}

/** The facts of the pass beside the row. */
export interface RowPass {
  fingerprints: Record<Entity, string>;
  /** The last key that was given before the ERP was restored. */
  givenUpTo: Partial<Record<Entity, string>>;
  /** Captures again what has not changed. */
  force: boolean;
  /** Reads again what is there already, and not what is new. */
  isResync: boolean;
  /** Known keys of records that seem to go on under a new one, by entity and new key. */
  renamed?: ReadonlyMap<string, string>;
  /** The end of earlier passes when this one began; absent: a person names the rows to read. */
  readBefore?: Readonly<Record<Entity, ReadBefore>>;
  /** Why rows that say which record they go on for wait for a person, by key. */
  replacing?: Readonly<Record<Entity, { held: ReadonlyMap<string, Fact> }>>;
}

/** A pass at the time of its page. */
export interface TimedPass extends RowPass {
  /** Milliseconds since 1970. */
  nowMs: number;
}

/** Plans a row: a message, nothing because it is known as it is, or nothing for a reason. Pure. */
export function planRow(
  { settings }: Pick<JobContext, 'settings'>,
  pass: TimedPass,
  row: ReadRow,
  known: KnownRecord,
  parkedReason: RowFact | null,
): Plan | SkippedRecord | 'unchanged' {
  const { replaysRefusals } = settings.service.idempotency;
  const identity = identityOf(row);
  const knownIdentity = identityAtService(known);
  const conflict = changedIdentity(knownIdentity, identity);
  const json = row.content.mapped ? contentOf(row.content.record).json : null;
  const unfit = parkedReason ?? (json === null ? null : demandedBy(settings.service, row, json));
  const hash = contentHash(row, unfit ?? conflict);
  let decision = nextRevision(hash, known.newest, known.binding, replaysRefusals, known.closed);
  let sentBefore: FirstSend = neverSent;
  let sameKey: string | null = null;
  let presentedAs: string | null = null;
  if (decision.action === 'none' && pass.force) {
    const forced = forcedRevision(
      known.newest,
      known.binding,
      replaysRefusals,
      pass.nowMs,
      known.newest === null ? 0 : keyLifetimeOf(settings.service, { ...known.newest, entity: row.entity }),
    );
    if (forced.action === 'skip') return { entity: row.entity, sourceKey: row.sourceKey, reason: forced.reason };
    decision = forced;
    // The key and its age stay with their bytes: an edit that comes now is an update, and an old key is never sent again.
    if (known.newest?.state === 'delivered') {
      sentBefore = known.newest;
      ({ idempotencyKey: sameKey, presentedAs } = known.newest);
    }
  }
  if (decision.action === 'none') return 'unchanged';
  const isUnproven = decision.operation === 'create' && mayHaveBeenSent(known);
  if (isUnproven) sentBefore = known.newest ?? neverSent;
  const mappingFingerprint = pass.fingerprints[row.entity];
  const newest = underFingerprint(mappingFingerprint, settings, row.entity, known.newest);
  const binding = underFingerprint(mappingFingerprint, settings, row.entity, known.binding);
  const unmapped = row.content.mapped ? unfit : rowFact(row.content.problems);
  const held = holdReason({
    operation: decision.operation,
    contentHash: hash,
    mappingFingerprint,
    newest,
    binding,
    replacesRecord: replacesRecord(settings, row.entity),
    suspiciousCreate: suspicion(row, pass),
  });
  const parked = parkedFor({ unmapped, conflict, isUnproven, held });
  const customerKey = row.entity === 'order' ? row.customerKey : null;
  const before = newest ?? binding;
  const isDoubted = binding?.contentHash === null;
  const isBacklog = before !== null && (pass.isResync || isDoubted || before.mappingFingerprint !== mappingFingerprint);
  return {
    row,
    supersedes: decision.supersedes,
    message: {
      entity: row.entity,
      sourceKey: row.sourceKey,
      revision: decision.revision,
      operation: decision.operation,
      generation: decision.generation,
      number: row.entity === 'order' ? row.number : null,
      changedAt: row.changedAt,
      customerKey,
      contentHash: hash,
      mappingFingerprint,
      // A record that is too large to be sent is parked, and may be too large for a store on a server as well.
      total: row.entity === 'order' && row.content.mapped ? String(orderTotal(row.content.record.items)) : null,
      record: json !== null && Buffer.byteLength(json) > settings.service.maxRequestBytes ? null : json,
      // The bytes of a create are frozen with their key, before any attempt. A row that can't be sent has neither.
      idempotencyKey:
        decision.operation === 'create' && (parked === null || ['held', 'unproven'].includes(parked.parkClass))
          ? (sameKey ?? createKey(settings.installation, row.entity, row.sourceKey, decision.generation))
          : null,
      sentBefore,
      presentedAs,
      isContentDoubted: isUnproven && unmapped === null,
      isBacklog,
      // A key that turned to another record stays with the record that the service knows.
      identity: conflict === null ? identity : knownIdentity,
      waitsForScan:
        decision.operation === 'create'
          ? isOverdue(row, pass.readBefore?.[row.entity] ?? null, settings.capture.overlapSeconds) && isUnknown(known)
          : !isTakenBack(hash, decision.supersedes, known),
      parked,
    },
  };
}

/** True if the store has never met the record: one that it knows was seen by an earlier pass, or removed and wanted again. */
function isUnknown({ newest, binding, closed }: KnownRecord): boolean {
  return newest === null && binding === null && closed === null;
}

/** Reason to park a row: an unsendable row comes before a doubt, and a doubt before a hold. */
function parkedFor(why: {
  unmapped: Fact | null;
  conflict: Fact | null;
  isUnproven: boolean;
  held: Fact | null;
}): NewMessage['parked'] {
  if (why.unmapped !== null) return { parkClass: 'unmapped', reason: why.unmapped };
  if (why.conflict !== null) return { parkClass: 'conflict', reason: why.conflict };
  if (why.isUnproven) return { parkClass: 'unproven', reason: { code: 'may_have_been_sent' } };
  return why.held === null ? null : { parkClass: 'held', reason: why.held };
}

/** Its row could not be mapped when a lost store was recovered (`doubtUnmapped`). */
function mayHaveBeenSent({ newest, binding }: KnownRecord): boolean {
  return newest !== null && !binding && newest.parkClass === 'unmapped' && newest.wasSent === 1;
}

/**
 * True if a row repeats the service's content, after something that was never sent. Nothing will be said to the
 * service, so that it does not count as an update: a table that was empty for a minute would bring thousands.
 */
function isTakenBack(hash: string, supersedes: number | null, { binding }: KnownRecord): boolean {
  return supersedes !== null && binding !== null && binding.contentHash === hash;
}

/** The proof that a key belongs to another record now. The service knows a customer by the code. */
export function identityOf(row: ReadRow): string | null {
  if (row.entity === 'order') return row.identity;
  return row.content.mapped ? JSON.stringify({ customer_code: row.content.record.customer_code }) : null;
}

/** The identity that a record has, or may have, at the service. A message that never had an effect there leaves none. */
export function identityAtService({ binding, newest, unproven }: KnownRecord): string | null {
  if (binding?.identity) return binding.identity;
  if (newest === null) return null;
  // An edit that was never sent may wait behind a create that was.
  const mayExist =
    unproven !== undefined ||
    ['sending', 'in_doubt', 'delivered'].includes(newest.state) ||
    (newest.state === 'parked' && ['conflict', 'unproven'].includes(newest.parkClass ?? ''));
  return mayExist ? newest.identity : null;
}

/** The lessons of an unchanged row about its binding: the mapping that yields the same content, and the record's identity. */
export function refreshedBinding(
  pass: Pick<RowPass, 'fingerprints'>,
  row: ReadRow,
  { binding }: KnownRecord,
): RefreshedBinding | null {
  if (!binding || !row.content.mapped || binding.contentHash !== contentHash(row)) return null;
  const fingerprint = pass.fingerprints[row.entity];
  const identity = identityToKeep(binding.identity, identityOf(row));
  if (binding.mappingFingerprint === fingerprint && binding.identity === identity) return null;
  return { entity: row.entity, sourceKey: row.sourceKey, mappingFingerprint: fingerprint, identity };
}

/** An unchanged row under other columns than before tells the record's identity anew. */
function identityToKeep(known: string | null, own: string | null): string | null {
  if (known === null || own === null) return known ?? own;
  const columnsOf = (identity: string) => Object.keys(JSON.parse(identity)).join('\n');
  return known === own || columnsOf(known) === columnsOf(own) ? known : own;
}

/** The hash that tells a changed row from an unchanged one. A row that is parked for a reason is another one than when it isn't. */
export function contentHash(row: ReadRow, parkedReason: Fact | null = null): string {
  if (!row.content.mapped) return sha256(`${row.content.fingerprint}\n${JSON.stringify(row.content.problems)}`);
  const { json, hash } = contentOf(row.content.record);
  return parkedReason === null ? hash : sha256(`${json}\n${JSON.stringify(parkedReason)}`);
}

/** Why the service would refuse a mapped row, by its profile; null when nothing is known against it. */
export function demandedBy(
  service: JobContext['settings']['service'],
  { entity, content }: ReadRow,
  json: string,
): RowFact | null {
  if (!content.mapped) return null;
  const { idempotency } = service;
  const body = wireBody(json, anyKey, idempotency.in === 'body' ? idempotency.field : null);
  return recordProblem(service, entity, content.record, Buffer.byteLength(body));
}

/** Every key is as long as this one. */
const anyKey = '0'.repeat(36);

/** True if a row repeats the content that was captured last. */
export function isKnown(record: KnownRecord, hash: string): boolean {
  return (record.newest ?? record.binding)?.contentHash === hash;
}

/** Puts planned messages into the outbox and on the audit, and closes the unsent ones that they replace. */
export async function writePlans({ actor }: JobContext, tx: Tx, plans: readonly Plan[], nowMs: number): Promise<void> {
  const superseded = plans.flatMap(({ supersedes }) => supersedes ?? []);
  await supersedeUnsent(tx, superseded, null, nowMs);
  const messages = plans.map((plan) => plan.message);
  const ids = await insertMessages(tx, messages, nowMs);
  const entries = plans.flatMap(({ message, row, supersedes }, i): AuditEntry[] => {
    const { entity, sourceKey, operation, number, revision, idempotencyKey, contentHash, parked } = message;
    const base = { entity, sourceKey, messageId: ids[i] as number, actor };
    const bodyHash = idempotencyKey === null ? null : contentHash;
    // As an instant where it is one: what is told of a record is in one time zone.
    const changedAt = row.changedAtMs ?? row.changedAt;
    const skipped: { [name: string]: JsonValue } =
      row.entity === 'order' && row.skippedLines ? { skippedLines: row.skippedLines } : {};
    const shownNumber = boundedText('outbox_message.number', number);
    const detail = { number: shownNumber, revision, changedAt, idempotencyKey, bodyHash, supersedes, ...skipped };
    const captured: AuditEntry = { event: 'captured', outcome: operation, detail, ...base };
    if (!parked) return [captured];
    return [captured, { event: 'parked', outcome: parked.parkClass, detail: { reason: parked.reason }, ...base }];
  });
  await appendAudit(tx, entries, nowMs);
}
