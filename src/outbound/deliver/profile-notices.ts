import type { ServiceSettings } from '../../config/sections/service.js';
import type { EndpointName } from '../../config/sections/service-endpoints.js';
import type { AlertFact } from '../../model/facts/alerts.js';
import type { Fact } from '../../model/facts/fact.js';
import type { Entity, JsonValue } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { type EndpointNotice, endpointAddress } from '../../service/endpoint-lifecycle.js';
import { type Alert, openAlerts, raiseAlert } from '../../store/alerts.js';
import type { Tx } from '../../store/store.js';

/** More states than this are not states, and a reader of the warning has seen enough. */
const maxStates = 20;

/** Puts on record, once an endpoint, that the service announces its end. It stays until the endpoint is another one. */
export async function noteEndpoint({ store, log, nowMs, settings }: JobContext, notice: EndpointNotice): Promise<void> {
  const { endpoint, address, lifecycle } = notice;
  const { baseUrl } = settings.service;
  const end: AlertFact = { code: 'endpoint_ends', endpoint, baseUrl, address, ...lifecycle };
  const isNew = await store.transaction('note the end of an endpoint', (tx) =>
    raiseAlert(tx, `endpoint.${endpoint}`, end, nowMs()),
  );
  if (isNew) log.warn('An endpoint of the service ends', { alert: end });
}

/** Which of these states the profile does not name. Pure. */
function unknownStates(known: readonly string[], states: readonly string[]): string[] {
  return known.length === 0 ? [] : [...new Set(states)].filter((state) => !known.includes(state));
}

/**
 * Puts on record, in the caller's transaction, states that the profile does not name, each once.
 * @returns those that are new
 */
export async function noteStates(
  tx: Tx,
  service: ServiceSettings,
  entity: Entity,
  states: readonly string[],
  nowMs: number,
): Promise<string[]> {
  const unknown = unknownStates(service.states[entity], states);
  if (unknown.length === 0) return [];
  const cause = `states.${entity}` as const;
  const before = statesOf((await openAlerts(tx)).find((alert) => alert.cause === cause));
  const added = unknown.filter((state) => !before.includes(state)).slice(0, Math.max(0, maxStates - before.length));
  if (added.length === 0) return [];
  const all = [...unknownStates(service.states[entity], before), ...added];
  await raiseAlert(tx, cause, { code: 'states_unnamed', entity, states: all }, nowMs);
  return added;
}

/**
 * True if the subject of an alert about the profile has changed since: the endpoint is another one, the states are
 * named. Pure.
 */
export function isOutdated({ message }: Pick<Alert, 'message'>, service: ServiceSettings): boolean {
  switch (message.code) {
    case 'endpoint_ends':
      return (
        message.baseUrl !== service.baseUrl ||
        endpointAddress(service.endpoints, message.endpoint as EndpointName) !== message.address
      );
    case 'states_unnamed':
      return unknownStates(service.states[message.entity], message.states).length === 0;
    default:
      return false;
  }
}

function statesOf(alert: Pick<Alert, 'message'> | undefined): readonly string[] {
  return alert?.message.code === 'states_unnamed' ? alert.message.states : [];
}

const causes = {
  read_invoice: 'read_invoice.forbidden',
  read_order: 'read_order.forbidden',
  read_customer: 'read_customer.forbidden',
} as const;
const endpoints = { read_invoice: 'readInvoice', read_order: 'readOrder', read_customer: 'readCustomer' } as const;
/** The time after the last one at which the alert is over. */
const alertMs = 24 * 3_600_000;

/** Says that the service forbids the read of one record (403, 407) or leads it elsewhere (3xx): one alert, however many they are. */
export async function raiseForbiddenRead(
  tx: Tx,
  purpose: keyof typeof causes,
  reason: Fact,
  record: { readonly [name: string]: JsonValue },
  nowMs: number,
): Promise<void> {
  const endpoint = endpoints[purpose];
  const id = Object.values(record).join(' ');
  await raiseAlert(tx, causes[purpose], { code: 'read_forbidden', endpoint, id, reason, lastAt: nowMs }, nowMs);
}

/** True if an alert is about a forbidden read, and none was forbidden for a day. Pure. */
export function isPastForbiddenRead({ cause, message, sinceAt }: Alert, nowMs: number): boolean {
  // An alert of an earlier version has no last time: a new refusal raises it again.
  const lastAt = message.code === 'read_forbidden' ? message.lastAt : sinceAt;
  return Object.values<string>(causes).includes(cause) && nowMs - lastAt > alertMs;
}
