import type { ServiceSettings } from '../config/sections/service.js';
import type { LookUpEndpoint } from '../config/sections/service-endpoints.js';
import type { Fact } from '../model/facts/fact.js';
import { outside } from '../model/outside.js';
import { placeholder } from '../model/placeholder.js';
import type { Entity, JsonValue } from '../model/record.js';
import { idIsCode, valueAt } from '../model/record.js';
import type { FoundRecord, LookUpFinding } from '../model/verdict.js';
import { acknowledgedId, amountsAt } from './acknowledgement.js';
import { whyNoAmount } from './amount.js';
import type { AnswerPlaces } from './failure-mark.js';
import type { Expectation } from './judge.js';
import { namesNextPage } from './more-pages.js';
import { parseJson } from './parse-json.js';

type Fields = { [name: string]: JsonValue };

/** Path and query of a look-up, or why this record can't be looked up. Pure. */
export function lookUpAddress(
  endpoint: LookUpEndpoint,
  record: Fields,
  idempotencyKey: string,
): { path: string; query: Record<string, string> } | { problem: Fact } {
  let problem: Fact | null = null;
  const fill = (template: string, encode: (value: string) => string) =>
    template.replace(placeholder, (_, name: string) => {
      const value = fieldOf(name, record, idempotencyKey);
      if (value === null || value === '') problem ??= { code: 'look_up_field_empty', field: name };
      // A segment of dots is another address, however it is encoded.
      else if (encode === encodeURIComponent && /^\.{1,2}$/.test(value))
        problem ??= { code: 'look_up_field_dots', field: name, value: outside(value) };
      return encode(value ?? '');
    });
  const path = fill(endpoint.path, encodeURIComponent);
  const query = Object.fromEntries(
    Object.entries(endpoint.query).map(([name, template]) => [name, fill(template, String)]),
  );
  return problem === null ? { path, query } : { problem };
}

/** The answer that a look-up needs: there is exactly one such record, none, or several. */
export function expectFinding(
  endpoint: LookUpEndpoint,
  entity: Entity,
  record: Fields,
  idempotencyKey: string,
): Expectation<LookUpFinding> {
  const { absentStatus, successStatus } = endpoint;
  return {
    asks: 'look_up',
    entity,
    answers: [absentStatus, successStatus],
    places: lookUpPlaces(endpoint),
    read: (status, json) =>
      status === absentStatus ? { kind: 'none' } : readLookUp(endpoint, record, idempotencyKey, json),
  };
}

function lookUpPlaces({ list, id, match, total }: LookUpEndpoint): AnswerPlaces {
  const amounts = amountsAt(total);
  // The other places of a list are in its entries.
  if (list !== undefined) return { values: [list], id: null, amounts };
  return { values: [id, ...Object.keys(match), ...(total === undefined ? [] : [total])], id, amounts };
}

/** The proof in the body of a look-up's success. */
function readLookUp(endpoint: LookUpEndpoint, record: Fields, idempotencyKey: string, body: unknown): LookUpFinding {
  const odd = (reason: Fact): LookUpFinding => ({ kind: 'odd', reason });
  if (!isFields(body) && !Array.isArray(body)) return odd({ code: 'no_json_object' });
  const list = endpoint.list === undefined ? body : valueAt(body, endpoint.list);
  if (endpoint.list !== undefined && !Array.isArray(list)) return odd({ code: 'no_list', place: endpoint.list });
  const found = (Array.isArray(list) ? list : [list]) as unknown[];
  if (found.length === 0) return namesNextPage(body) ? odd({ code: 'look_up_goes_on' }) : { kind: 'none' };

  // Services that search loosely give neighbours too. A record that is not exactly ours says nothing, in either
  // direction.
  const compared = Object.entries(endpoint.match);
  if (compared.length === 0) return odd({ code: 'no_match_fields' });
  const exact = found.filter(isFields).filter((one) =>
    compared.every(([field, template]) => {
      const wanted = template.replace(placeholder, (_, name: string) => fieldOf(name, record, idempotencyKey) ?? '');
      const value = valueAt(one, field);
      return wanted !== '' && (typeof value === 'string' || typeof value === 'number') && String(value) === wanted;
    }),
  );
  if (exact.length > 1) return { kind: 'several', count: exact.length };
  const [one] = exact;
  if (!one) return odd({ code: 'none_is_ours', count: found.length });
  const serviceId = acknowledgedId(valueAt(one, endpoint.id));
  if (serviceId === null) return odd({ code: 'unusable_id', place: endpoint.id });
  const total = (endpoint.total === undefined ? null : valueAt(one, endpoint.total)) ?? null;
  const problem = total === null ? null : whyNoAmount(total, endpoint.total ?? 'total', 'total');
  if (problem !== null) return odd(problem);
  const shown = besides(one, (compared[0] as [string, string])[0]);
  const isOther = (name: string) =>
    name === 'items'
      ? showsOtherLines(record.items, shown.items)
      : JSON.stringify(shown[name]) !== JSON.stringify(record[name]);
  const differs = Object.keys(record).filter((name) => Object.hasOwn(shown, name) && isOther(name));
  return { kind: 'found', serviceId, total: total as number | null, differs, shown };
}

/**
 * True if a service shows other lines than ours, in whatever order. A field of a line counts where the service shows
 * it, and lines that are no objects, such as their ids, show nothing.
 */
function showsOtherLines(own: JsonValue | undefined, shown: JsonValue | undefined): boolean {
  if (!Array.isArray(own) || !Array.isArray(shown) || !shown.every(isFields)) return false;
  const names = Object.keys(Object.assign({}, ...own.filter(isFields)) as Fields).filter((name) =>
    shown.every((line) => Object.hasOwn(line, name)),
  );
  const linesOf = (lines: readonly JsonValue[]) =>
    lines.map((line) => JSON.stringify(names.map((name) => (isFields(line) ? String(line[name]) : '')))).sort();
  return JSON.stringify(linesOf(own)) !== JSON.stringify(linesOf(shown));
}

function fieldOf(name: string, record: Fields, idempotencyKey: string): string | null {
  if (name === 'idempotency_key') return idempotencyKey;
  const value = Object.hasOwn(record, name) ? record[name] : null;
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
}

/** The object that holds this field: of a record in an envelope (`data.customer_code`) what is inside. */
export function besides(one: Fields, field: string): Fields {
  const end = field.lastIndexOf('.');
  const holder = end === -1 ? one : valueAt(one, field.slice(0, end));
  return isFields(holder) ? holder : one;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The request for a customer that the service has. */
export function customerEndpoint(
  service: Pick<ServiceSettings, 'endpoints' | 'adoption' | 'acknowledgement'>,
): LookUpEndpoint {
  const { lookUpCustomer, readCustomer } = service.endpoints;
  return lookUpCustomer ?? { ...byCode(service), path: readCustomer.path, successStatus: readCustomer.successStatus };
}

/** The request for a customer that the service says is there already. Null: not at all, a person decides. */
export function existingCustomerEndpoint(
  service: Pick<ServiceSettings, 'endpoints' | 'adoption' | 'acknowledgement'>,
): LookUpEndpoint | null {
  return service.adoption.customers === 'off' ? null : customerEndpoint(service);
}

/**
 * The customer that an answer "already exists" carries, when its code is exactly ours. Pure. Null for every other one, and
 * where the answer carries none: then the service is asked.
 */
export function customerInAnswer(
  service: Pick<ServiceSettings, 'adoption' | 'acknowledgement'>,
  record: { [name: string]: JsonValue },
  body: string,
): FoundRecord | null {
  const { adoption } = service;
  if (adoption.customers === 'off' || adoption.answerRecord === undefined) return null;
  const carried = valueAt(parseJson(body), adoption.answerRecord);
  if (!isFields(carried)) return null;
  const finding = readLookUp(byCode(service), record, '', carried);
  return finding.kind === 'found' ? finding : null;
}

function byCode({ adoption, acknowledgement }: Pick<ServiceSettings, 'adoption' | 'acknowledgement'>): LookUpEndpoint {
  const { codeField, idField = acknowledgement.customerId } = adoption;
  return {
    path: '/',
    query: {},
    successStatus: 200,
    absentStatus: 404,
    // Its answers to a creation and to a read may have different envelopes.
    id: idIsCode(acknowledgement) ? codeField : idField,
    match: { [codeField]: '{customer_code}' },
    absenceProves: false,
  };
}
