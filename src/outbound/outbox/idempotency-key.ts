import { v5 as uuidv5 } from 'uuid';
import type { ServiceSettings } from '../../config/sections/service.js';
import type { Entity, JsonValue } from '../../model/record.js';
import { clockToleranceMs } from '../../store/clock.js';
import { sha256 } from './content-hash.js';
import type { Operation } from './message.js';

/** Made once for Waybill and never changed: every key of every installation hangs on it. */
const namespace = '6f2d3c1e-8a54-5b0f-9d7c-2e41b7a90c35';

/**
 * The key of a create. It is a function of the record, never of the run, so that it survives the
 * loss of the store. The parts are joined as JSON, because a source key may hold any separator.
 */
export function createKey(installation: string, entity: Entity, sourceKey: string, generation: number): string {
  return uuidv5(JSON.stringify([entity, sourceKey, 'create', generation]), uuidv5(installation, namespace));
}

/** The key after one that the service refuses for ever, for an update or a delete that a person tries again. */
export function keyAfterRefusal(refused: string): string {
  return uuidv5('again', refused);
}

/** The key of an update or a delete. They set absolute values, so it only has to differ between stores and revisions. */
export function revisionKey(
  incarnation: string,
  entity: Entity,
  sourceKey: string,
  operation: string,
  revision: number,
): string {
  return uuidv5(JSON.stringify([entity, sourceKey, operation, revision]), uuidv5(incarnation, namespace));
}

/** SQL condition on a message whose key was first shown before a time, its one parameter, or at an unknown one. */
export const firstSentBefore = 'was_sent=1 AND (first_sent_at IS NULL OR first_sent_at<?)';

/** Over before it began: no key is young enough. Far enough from any time, and still exact as a number. */
const unknownLifetimeMs = -8_640_000_000_000_000;

/**
 * The time for which the service remembers a key. Unless the settings say so it counts as forgotten at once, because a
 * guess that is too long makes second records.
 */
export function keyLifetimeMs({ idempotency: { lifetimeHours } }: Pick<ServiceSettings, 'idempotency'>): number {
  return lifetimeHours === undefined ? unknownLifetimeMs : lifetimeHours * 3_600_000;
}

/**
 * Until when the service remembers a key that it was first shown then; null: it may have forgotten
 * it, as where that time is not known. Pure. A first send in the future says that the clock was set back since, and nothing about
 * how long ago it was.
 */
export function keyKnownUntil(firstSentAtMs: number | null, nowMs: number, keyLifetimeMs: number): number | null {
  if (firstSentAtMs === null) return null;
  const ageMs = nowMs - firstSentAtMs;
  return ageMs > keyLifetimeMs || ageMs < -clockToleranceMs ? null : firstSentAtMs + keyLifetimeMs;
}

/** Fingerprints of how a key is shown to the service with the creates of an entity, where a header and where the body carries it. */
export type Presentations = Readonly<Record<Entity, { header: string; body: string }>>;

/**
 * The form in which a key is shown decides, besides its letters, if a service recognises it: name and quotes of the
 * header, method and path of the create, and the account. The field of a body is frozen with its bytes. Pure.
 */
export function presentationsOf({
  baseUrl,
  credential,
  endpoints,
  idempotency,
}: Pick<ServiceSettings, 'baseUrl' | 'credential' | 'endpoints' | 'idempotency'>): Presentations {
  const account =
    credential.kind === 'oauth'
      ? [
          credential.kind,
          credential.tokenUrl,
          credential.clientId,
          credential.audience ?? '',
          credential.resource ?? '',
        ]
      : [credential.kind];
  const fingerprint = (...parts: JsonValue[]) => sha256(JSON.stringify([...parts, account])).slice(0, 16);
  const of = ({ method, path }: { method: string; path: string }) => {
    const address = [method, new URL(baseUrl).pathname.replace(/\/$/, '') + path];
    return {
      header: fingerprint(...address, idempotency.header.toLowerCase(), idempotency.quoted),
      body: fingerprint(...address),
    };
  };
  return { customer: of(endpoints.createCustomer), order: of(endpoints.createOrder) };
}

/** The store's facts about the form in which the key of a message was shown. */
export interface ShownKey {
  entity: Entity;
  /** The field of the body; null: a header, or it was never claimed. */
  keyField: string | null;
  /** Null: not known, because an earlier version sent it. */
  presentedAs: string | null;
}

/** True if the key would be shown in another way than before, so that the service may take it for another one. Pure. */
export function isShownOtherwise({ entity, keyField, presentedAs }: ShownKey, presentations: Presentations): boolean {
  return presentedAs !== null && presentedAs !== presentations[entity][keyField ? 'body' : 'header'];
}

/**
 * The time until which the service knows the key of this message: a key that is shown in another way counts as
 * forgotten. Pure.
 */
export function keyLifetimeOf(
  service: Parameters<typeof presentationsOf>[0] & Parameters<typeof keyLifetimeMs>[0],
  shown: ShownKey,
): number {
  return isShownOtherwise(shown, presentationsOf(service)) ? unknownLifetimeMs : keyLifetimeMs(service);
}

/** True if sending the key again could make a second record. Pure. */
export function mayBeForgotten(firstSentAtMs: number | null, nowMs: number, keyLifetimeMs: number): boolean {
  return keyKnownUntil(firstSentAtMs, nowMs, keyLifetimeMs) === null;
}

/**
 * Body field that carries the key of a message that was never sent; null: a header does. Pure. A service that keeps the key in
 * the record would lose the key of the create to that of an update, and take a repeated create for a new record.
 */
export function keyFieldFor(
  { idempotency, endpoints }: Pick<ServiceSettings, 'idempotency' | 'endpoints'>,
  operation: Operation,
): string | null {
  const { field, keptInRecord } = idempotency;
  if (idempotency.in !== 'body') return null;
  const matches = [endpoints.lookUpOrder, endpoints.lookUpCustomer].flatMap((one) => Object.entries(one?.match ?? {}));
  const isLookedUpBy = ([place, template]: [string, string]) =>
    template.includes('{idempotency_key}') && place.split('.').at(-1) === field;
  return operation !== 'create' && (keptInRecord || matches.some(isLookedUpBy)) ? null : field;
}

/**
 * The bytes that leave for the service: the frozen body, with the key as its first field where the
 * service wants it there. Made from the text, not from the value, so that the same body and key are
 * the same bytes for ever.
 * @param body a JSON object, or nothing for a removal, which then carries no key
 * @param keyField null where a header carries the key
 */
export function wireBody(body: string, key: string, keyField: string | null): string {
  if (keyField === null || body === '') return body;
  const field = `${JSON.stringify(keyField)}:${JSON.stringify(key)}`;
  return body === '{}' ? `{${field}}` : `{${field},${body.slice(1)}`;
}
