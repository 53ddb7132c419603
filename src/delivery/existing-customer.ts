import type { AdoptionSettings } from '../config/adoption-settings.js';
import type { LookUpEndpoint, ServiceSettings } from '../config/service-settings.js';
import type { FoundRecord } from '../model/look-up-finding.js';
import type { JsonValue } from '../model/record.js';
import type { Exchange } from './exchange.js';
import { readLookUp } from './look-up.js';
import { parseJson } from './parse-json.js';

/** How the service is asked for a customer that it says is there already. Null: not at all, a person decides. */
export function existingCustomerEndpoint({
  endpoints,
  adoption,
}: Pick<ServiceSettings, 'endpoints' | 'adoption'>): LookUpEndpoint | null {
  if (adoption.customers === 'off') return null;
  if (endpoints.lookUpCustomer) return endpoints.lookUpCustomer;
  return {
    ...byCode(adoption),
    path: endpoints.readCustomer.path,
    successStatus: endpoints.readCustomer.successStatus,
  };
}

/**
 * The customer that an answer "already exists" carries, when its code is exactly ours. Pure. Null for every other one, and
 * where the answer carries none: then the service is asked.
 */
export function customerInAnswer(
  adoption: AdoptionSettings,
  record: { [name: string]: JsonValue },
  exchange: Exchange,
): FoundRecord | null {
  if (adoption.customers === 'off' || adoption.answerRecord === undefined || exchange.kind !== 'answer') return null;
  let carried: unknown = parseJson(exchange.body);
  for (const name of adoption.answerRecord.split('.')) {
    const isObject = typeof carried === 'object' && carried !== null && Object.hasOwn(carried, name);
    carried = isObject ? (carried as Record<string, unknown>)[name] : undefined;
  }
  if (typeof carried !== 'object' || carried === null || Array.isArray(carried)) return null;
  const answer: Exchange = { kind: 'answer', status: 200, headers: {}, body: JSON.stringify(carried) };
  const finding = readLookUp(byCode(adoption), record, '', answer);
  return finding?.kind === 'found' ? finding : null;
}

function byCode({ codeField }: AdoptionSettings): LookUpEndpoint {
  return {
    path: '/',
    query: {},
    successStatus: 200,
    absentStatus: 404,
    id: codeField,
    match: { [codeField]: '{customer_code}' },
    absenceProves: false,
  };
}
