import type { CustomerRecord, JsonValue, OrderItem, OrderRecord } from '../../model/record.js';
import { Refusal } from './answer.js';
import type { SandboxOptions } from './options.js';

/** POST names all that is needed, PUT replaces all, PATCH changes what it names. */
export type BodyUse = 'create' | 'replace' | 'change';
export type JsonObject = Record<string, JsonValue>;

const customerFields = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;
/** The service's own; whoever sends them has misunderstood. */
const readOnlyFields = new Set(['order_id', 'status', 'total', 'created_at']);

/** Checks what was sent for a customer; fields cleared by null come back as null. */
export function checkCustomer(body: JsonObject, use: BodyUse, options: SandboxOptions): JsonObject {
  refuseEmptyChange(body, use);
  for (const [name, value] of Object.entries(body)) {
    if (!customerFields.test(name)) invalid(`"${name.slice(0, 80)}" is no name for a field`);
    refuseReadOnly(name);
    if (name === 'customer_code') checkCode(value, name, options);
    else checkPlain(value, name, use, options);
  }
  if (use === 'create' && body.customer_code === undefined) invalid('customer_code is missing');
  requireFields(body, use, options.requiredFields.customer);
  return body;
}

/** Checks what was sent for an order; fields cleared by null come back as null. */
export function checkOrder(body: JsonObject, use: BodyUse, options: SandboxOptions): JsonObject {
  refuseEmptyChange(body, use);
  for (const [name, value] of Object.entries(body)) {
    refuseReadOnly(name);
    if (name === 'customer_code') checkCode(value, name, options);
    else if (name === 'items') checkItems(value, options);
    else if (name === 'note') checkText(value, name, use, options);
    else if (name === options.orderReferenceField || options.extraOrderFields.includes(name)) {
      checkPlain(value, name, use, options);
    } else if (options.unknownFields === 'refuse') invalid(`${name.slice(0, 80)} is not a field of an order`);
  }
  if (use !== 'change') {
    if (body.customer_code === undefined) invalid('customer_code is missing');
    if (body.items === undefined) invalid('items is missing');
  }
  requireFields(body, use, options.requiredFields.order);
  return body;
}

/** What a record becomes: fields cleared by null are gone. */
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
    checkCode(item.sku, `${at}.sku`, options);
    if (!Number.isSafeInteger(item.qty) || (item.qty as number) < 1) invalid(`${at}.qty must be a positive integer`);
    if (!Number.isSafeInteger(item.price)) invalid(`${at}.price must be an integer`);
    if (options.unknownFields === 'accept') return;
    for (const name of Object.keys(item)) {
      if (name !== 'sku' && name !== 'qty' && name !== 'price')
        invalid(`${at}.${name.slice(0, 80)} is not a field of an item`);
    }
  });
}

function checkCode(value: JsonValue | undefined, name: string, options: SandboxOptions): void {
  if (typeof value !== 'string' || value === '') invalid(`${name} must be a string that is not empty`);
  checkLength(value, name, options);
}

/** A change may leave a field out, but not clear it. */
function requireFields(body: JsonObject, use: BodyUse, names: readonly string[]): void {
  for (const name of names) {
    const value = Object.hasOwn(body, name) ? body[name] : undefined;
    if (value === null || value === '' || (value === undefined && use !== 'change')) invalid(`${name} is missing`);
  }
}

function checkLength(value: string, name: string, { maxLengths, maxStringLength }: SandboxOptions): void {
  const field = name.slice(name.lastIndexOf('.') + 1);
  const longest = Object.hasOwn(maxLengths, field) ? (maxLengths[field] as number) : maxStringLength;
  if (value.length > longest) invalid(`${name} is longer than ${longest}`);
}

function checkText(value: JsonValue | undefined, name: string, use: BodyUse, options: SandboxOptions): void {
  if (isClearing(value, use, options)) return;
  if (typeof value !== 'string') invalid(`${name} must be a string`);
  checkLength(value, name, options);
}

function checkPlain(value: JsonValue | undefined, name: string, use: BodyUse, options: SandboxOptions): void {
  if (typeof value !== 'number') {
    checkText(value, name, use, options);
    return;
  }
  // An integer that was rounded on its way in would be kept wrong for ever.
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
    invalid(`${name} is a number that can't be held exactly`);
  }
}

function isClearing(value: JsonValue | undefined, use: BodyUse, options: SandboxOptions): boolean {
  return value === null && (options.nulls === 'always' || (options.nulls === 'patch' && use === 'change'));
}

function refuseEmptyChange(body: JsonObject, use: BodyUse): void {
  if (use === 'change' && Object.keys(body).length === 0) invalid('there is nothing to change');
}

function refuseReadOnly(name: string): void {
  if (readOnlyFields.has(name)) invalid(`${name} is set by the service`);
}

function invalid(message: string): never {
  throw new Refusal(400, 'invalid_request', message);
}
