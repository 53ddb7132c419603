import type { IncomingHttpHeaders } from 'node:http';
import type { CustomerRecord, Entity, JsonValue, OrderItem, OrderRecord } from '../../model/record.js';
import { Refusal } from './answer.js';
import type { SandboxOptions } from './options.js';

export type JsonObject = Record<string, JsonValue>;
/** POST names all that is needed, PUT replaces all, PATCH changes what it names. */
type BodyUse = 'create' | 'replace' | 'change';

/** A byte order mark is left in, so that JSON.parse refuses it, as RFC 8259 allows. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reads a body strictly: valid UTF-8, valid JSON, an object. Refuses with 400. */
export function readJsonObject(body: Buffer): JsonObject {
  let value: JsonValue;
  try {
    value = JSON.parse(utf8.decode(body)) as JsonValue;
  } catch {
    throw new Refusal(400, 'invalid_json', 'The body is not valid JSON in UTF-8');
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) invalid('The body must be a JSON object');
  return value;
}

/** A write carries JSON, a DELETE no body at all. Refuses with 400. */
export function checkContent(request: { method: string; headers: IncomingHttpHeaders; body: Buffer }): void {
  if (request.method === 'DELETE') {
    if (request.body.length > 0) invalid('DELETE takes no body');
  } else if (!/^application\/json *(; *charset="?utf-8"?)?$/i.test(request.headers['content-type'] ?? '')) {
    throw new Refusal(400, 'unsupported_content_type', 'The content type must be application/json');
  }
}

/** Refuses with 400 a query parameter that isn't known. */
export function checkParameters(query: URLSearchParams, known: readonly string[]): void {
  for (const name of query.keys()) {
    if (!known.includes(name)) throw new Refusal(400, 'invalid_parameter', `${name.slice(0, 80)} is not a parameter`);
  }
}

const customerField = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;
/** The one status of an order that a client may set. */
export const cancelled = 'cancelled';
/** Only the service sets these; a client that sends them has misunderstood. */
const readOnlyFields = ['order_id', 'status', 'total', 'created_at'];

/** Checks the fields that were sent for a record; refuses with 400. */
export function checkRecord(entity: Entity, body: JsonObject, use: BodyUse, options: SandboxOptions): void {
  const isOrder = entity === 'order';
  const fields = Object.entries(body);
  if (use === 'change' && fields.length === 0) invalid('there is nothing to change');
  const plainOrderFields = [options.orderReferenceField, ...options.extraOrderFields];
  for (const [name, value] of fields) {
    const shownName = name.slice(0, 80);
    if (isOrder && use === 'change' && name === 'status' && value === cancelled) continue;
    if (readOnlyFields.includes(name)) invalid(`${name} is set by the service`);
    if (name === 'customer_code') checkCode(value, name, options);
    else if (!isOrder) {
      if (!customerField.test(name)) invalid(`"${shownName}" is no name for a field`);
      checkPlain(value, name, use, options);
    } else if (name === 'items') checkItems(value, options);
    else if (name === 'note') checkText(value, name, use, options);
    else if (plainOrderFields.includes(name)) checkPlain(value, name, use, options);
    else if (options.unknownFields === 'refuse') invalid(`${shownName} is not a field of an order`);
  }
  // A customer that is replaced has its code in the address.
  const ofCustomer = use === 'create' ? ['customer_code'] : [];
  const needed = isOrder ? ['customer_code', 'items'] : ofCustomer;
  for (const name of [...needed, ...options.requiredFields[entity]]) {
    const value = Object.hasOwn(body, name) ? body[name] : undefined;
    // A change may leave a field out, but not clear it.
    if (value === null || value === '' || (value === undefined && use !== 'change')) invalid(`${name} is missing`);
  }
}

/** Merges a change into a record: fields cleared by null are gone. */
export function withoutNulls<R extends CustomerRecord | OrderRecord>(fields: JsonObject): R {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as R;
}

/** The sum of qty × price. Refuses what a JSON number can't hold exactly. */
export function orderTotal(items: readonly OrderItem[]): number {
  let total = 0;
  for (const { qty, price } of items) total += qty * price;
  if (!Number.isSafeInteger(total)) invalid('the total of the items is too large');
  return total;
}

function checkItems(value: JsonValue | undefined, options: SandboxOptions): void {
  if (!Array.isArray(value) || value.length === 0) invalid('items must be a list that is not empty');
  if (value.length > options.maxItems) invalid(`items must not be more than ${options.maxItems}`);
  value.forEach((item, index) => {
    const at = `items[${index}]`;
    if (item === null || typeof item !== 'object' || Array.isArray(item)) invalid(`${at} must be an object`);
    const { sku, qty, price, ...others } = item;
    checkCode(sku, `${at}.sku`, options);
    if (!Number.isSafeInteger(qty) || (qty as number) < 1) invalid(`${at}.qty must be a positive integer`);
    if (!Number.isSafeInteger(price)) invalid(`${at}.price must be an integer`);
    const [unknown] = Object.keys(others);
    if (unknown !== undefined && options.unknownFields === 'refuse') {
      invalid(`${at}.${unknown.slice(0, 80)} is not a field of an item`);
    }
  });
}

function checkCode(value: JsonValue | undefined, name: string, options: SandboxOptions): void {
  if (typeof value !== 'string' || value === '') invalid(`${name} must be a string that is not empty`);
  checkLength(value, name, options);
}

function checkLength(value: string, name: string, { maxLengths, maxStringLength }: SandboxOptions): void {
  const field = name.slice(name.lastIndexOf('.') + 1);
  const longest = Object.hasOwn(maxLengths, field) ? (maxLengths[field] as number) : maxStringLength;
  if (value.length > longest) invalid(`${name} is longer than ${longest}`);
}

function checkText(value: JsonValue | undefined, name: string, use: BodyUse, options: SandboxOptions): void {
  const mayClear = options.nulls === 'always' || (options.nulls === 'patch' && use === 'change');
  if (value === null && mayClear) return;
  if (typeof value !== 'string') invalid(`${name} must be a string`);
  checkLength(value, name, options);
}

function checkPlain(value: JsonValue | undefined, name: string, use: BodyUse, options: SandboxOptions): void {
  if (typeof value !== 'number') checkText(value, name, use, options);
  // An integer that was rounded on its way in would be kept wrong for ever.
  else if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
    invalid(`${name} is a number that can't be held exactly`);
  }
}

function invalid(message: string): never {
  throw new Refusal(400, 'invalid_request', message);
}
