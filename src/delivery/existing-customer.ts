import type { LookUpEndpoint, ServiceSettings } from '../config/service-settings.js';
import type { FoundRecord } from '../model/look-up-finding.js';
import type { JsonValue } from '../model/record.js';
import { valueAt } from '../model/value-at.js';
import type { Exchange } from './exchange.js';
import { idIsCode } from './id-is-code.js';
import { readLookUp } from './look-up.js';
import { parseJson } from './parse-json.js';

/** How the service is asked for a customer that it says is there already. Null: not at all, a person decides. */
export function existingCustomerEndpoint(
  service: Pick<ServiceSettings, 'endpoints' | 'adoption' | 'acknowledgement'>,
): LookUpEndpoint | null {
  const { endpoints, adoption } = service;
  if (adoption.customers === 'off') return null;
  if (endpoints.lookUpCustomer) return endpoints.lookUpCustomer;
  return {
    ...byCode(service),
    path: endpoints.readCustomer.path,
    successStatus: endpoints.readCustomer.successStatus,
  };
}

/** What is carried is compared and kept with all that is in it. */
const deepest = 100;

/**
 * The customer that an answer "already exists" carries, when its code is exactly ours. Pure. Null for every other one, and
 * where the answer carries none: then the service is asked.
 */
export function customerInAnswer(
  service: Pick<ServiceSettings, 'adoption' | 'acknowledgement'>,
  record: { [name: string]: JsonValue },
  exchange: Exchange,
): FoundRecord | null {
  const { adoption } = service;
  if (adoption.customers === 'off' || adoption.answerRecord === undefined || exchange.kind !== 'answer') return null;
  const carried = valueAt(parseJson(exchange.body, deepest), adoption.answerRecord);
  if (typeof carried !== 'object' || carried === null || Array.isArray(carried)) return null;
  const answer: Exchange = { kind: 'answer', status: 200, headers: {}, body: JSON.stringify(carried) };
  const finding = readLookUp(byCode(service), record, '', answer);
  return finding?.kind === 'found' ? finding : null;
}

function byCode({
  adoption: { codeField },
  acknowledgement,
}: Pick<ServiceSettings, 'adoption' | 'acknowledgement'>): LookUpEndpoint {
  return {
    path: '/',
    query: {},
    successStatus: 200,
    absentStatus: 404,
    id: idIsCode(acknowledgement) ? codeField : acknowledgement.customerId,
    match: { [codeField]: '{customer_code}' },
    absenceProves: false,
  };
}
