import type { ServiceSettings } from '../../config/sections/service.js';
import type { EndpointName } from '../../config/sections/service-endpoints.js';
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
  const { deprecatedAt, sunsetAt } = lifecycle;
  const message = endpointInWords(notice);
  const details = {
    endpoint,
    baseUrl: settings.service.baseUrl,
    address,
    deprecatedAt: typeof deprecatedAt === 'number' ? new Date(deprecatedAt).toISOString() : deprecatedAt,
    sunsetAt: sunsetAt === null ? null : new Date(sunsetAt).toISOString(),
  };
  const isNew = await store.transaction('note the end of an endpoint', (tx) =>
    raiseAlert(tx, `endpoint.${endpoint}`, message, nowMs(), details),
  );
  if (isNew) log.warn(message, details);
}

function endpointInWords({ endpoint, address, lifecycle: { deprecatedAt, sunsetAt } }: EndpointNotice): string {
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const said = [
    ...(deprecatedAt === null
      ? []
      : [deprecatedAt === true ? 'is deprecated' : `is deprecated from ${day(deprecatedAt)}`]),
    ...(sunsetAt === null ? [] : [`ends on ${day(sunsetAt)}`]),
  ].join(' and ');
  return `The service says that ${address} ${said}. Move service.endpoints.${endpoint} to its newer version${sunsetAt === null ? '' : ' before then'}.`;
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
  const list = all.map((state) => JSON.stringify(state)).join(', ');
  const message = `The service gives ${entity}s states that service.states.${entity} does not name: ${list}. They are kept as they are; name them there.`;
  await raiseAlert(tx, cause, message, nowMs, { entity, states: all });
  return added;
}

/** Whether what an alert says of the profile has changed since: the endpoint is another one, the states are named. Pure. */
export function isOutdated({ cause, details }: Pick<Alert, 'cause' | 'details'>, service: ServiceSettings): boolean {
  const endpoint = /^endpoint\.(\w+)$/.exec(cause)?.[1];
  if (endpoint !== undefined) {
    const { baseUrl = service.baseUrl, address } = details;
    return baseUrl !== service.baseUrl || endpointAddress(service.endpoints, endpoint as EndpointName) !== address;
  }
  const entity = /^states\.(customer|order)$/.exec(cause)?.[1];
  if (entity === undefined) return false;
  return unknownStates(service.states[entity as Entity], statesOf({ details })).length === 0;
}

function statesOf(alert: Pick<Alert, 'details'> | undefined): string[] {
  const states = alert?.details.states;
  return Array.isArray(states) ? states.filter((state) => typeof state === 'string') : [];
}

const causes = {
  read_invoice: 'read_invoice.forbidden',
  read_order: 'read_order.forbidden',
  read_customer: 'read_customer.forbidden',
} as const;
const endpoints = { read_invoice: 'readInvoice', read_order: 'readOrder', read_customer: 'readCustomer' } as const;
/** So long after the last one the alert is over. */
const alertMs = 24 * 3_600_000;

/** Says that the service forbids the read of one record (403, 407) or leads it elsewhere (3xx): one alert, however many they are. */
export async function raiseForbiddenRead(
  tx: Tx,
  purpose: keyof typeof causes,
  reason: string,
  record: { [name: string]: JsonValue },
  nowMs: number,
): Promise<void> {
  const message = `The service does not let us read ${JSON.stringify(record)}: ${reason}. Everything else goes on. Check service.endpoints.${endpoints[purpose]} and the permissions of the account.`;
  await raiseAlert(tx, causes[purpose], message, nowMs, { ...record, lastAt: nowMs });
}

/** Whether an alert is about a forbidden read, and none was forbidden for a day. Pure. */
export function isPastForbiddenRead({ cause, details }: Pick<Alert, 'cause' | 'details'>, nowMs: number): boolean {
  return Object.values<string>(causes).includes(cause) && nowMs - Number(details.lastAt) > alertMs;
}
