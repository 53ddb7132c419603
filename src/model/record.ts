import { createHash } from 'node:crypto';

/** The two kinds of record that Waybill carries to the service. */
export const entities = ['customer', 'order'] as const;

export function pluralOf(entity: Entity): 'customers' | 'orders' {
  return entity === 'order' ? 'orders' : 'customers';
}
export type Entity = (typeof entities)[number];

/** A value that JSON can hold exactly. Numbers are safe integers; money never travels as a float. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [name: string]: JsonValue };

/** One order line as the service wants it. `price` is in the service's unit of money, an integer (see `amounts`). */
export interface OrderItem {
  sku: string;
  qty: number;
  price: number;
  [field: string]: JsonValue;
}

/** The body that is sent for a customer: `customer_code` and whatever else the mapping names. */
export interface CustomerRecord {
  customer_code: string;
  [field: string]: JsonValue;
}

/** The body that is sent for an order. `note` carries the ERP's order number unless the mapping puts it elsewhere. */
export interface OrderRecord {
  customer_code: string;
  items: OrderItem[];
  [field: string]: JsonValue;
}

/** An invoice as the service lists it. `amount` is in the service's unit of money, an integer. */
export interface Invoice {
  invoice_no: string;
  customer_code?: string;
  amount: number;
  /** YYYY-MM-DD */
  due_date: string;
  status: string;
}

/** Sum of qty × price in the service's unit of money. BigInt, because a sum of safe integers need not be one. */
export function orderTotal(items: readonly OrderItem[]): bigint {
  return items.reduce((sum, item) => sum + BigInt(item.qty) * BigInt(item.price), 0n);
}

/** Characters that the store has room for. */
const foldedLength = 255;
/** All of it stays as it is. */
const isNumber = /^[0-9]{1,255}$/;

/**
 * One text for all spellings of a key that a collation may call equal: without case, accents, width, and blanks, and with one
 * letter for those that some collation takes for each other or for two (ß for S and SS, Ł for L, Ü for UE and Y). Spellings that
 * have it in common need not be equal; only the ERP's database can say that.
 */
export function foldKey(sourceKey: string): string {
  if (isNumber.test(sourceKey)) return sourceKey;
  const folded = sourceKey
    .normalize('NFKD')
    .replace(/[\p{M}\p{Z}\p{C}·]/gu, '')
    .toUpperCase()
    .replace(/[ÐĐ]/g, 'D')
    .replace(/Ħ/g, 'H')
    .replace(/Ł/g, 'L')
    .replace(/[AÆ][AÆE]*/g, 'A')
    .replace(/[OØŒ]E*/g, 'O')
    .replace(/[UY]E*/g, 'U')
    .replace(/S+/g, 'S');
  return Array.from(folded).slice(0, foldedLength).join('');
}

/** A source of records is one ERP. It has a short name; the one of the sections `erp`, `customers` and `orders` has none. */
export const defaultSource = '';

export const sourceName = /^[a-z0-9][a-z0-9-]{0,23}$/;

/** Stands between the name of a source and the key of its record, as in `berlin~4711`. */
const mark = '~';
const ofSource = /^([a-z0-9][a-z0-9-]{0,23})~/;
/** Keys of the default source that look like those of a named one, or as if they were marked already. */
const isLookalike = /^~*[a-z0-9][a-z0-9-]{0,23}~/;

/** The source of a record, by its key in the store. */
export function sourceOf(sourceKey: string): string {
  return ofSource.exec(sourceKey)?.[1] ?? defaultSource;
}

/** The key in the store of what an ERP calls `key`: no two sources share one, whatever their keys hold. */
export function keyInSource(source: string, key: string): string {
  if (source !== defaultSource) return `${source}${mark}${key}`;
  // U+0000 does not get into the store.
  return isLookalike.test(key.replaceAll('\0', '')) ? `${mark}${key}` : key;
}

/** The source's own key of a record; null if the key is not of this source. */
export function keyOfSource(source: string, sourceKey: string): string | null {
  if (sourceOf(sourceKey) !== source) return null;
  if (source !== defaultSource) return sourceKey.slice(source.length + mark.length);
  return isLookalike.test(sourceKey) ? sourceKey.slice(mark.length) : sourceKey;
}

/** The prefix of all keys of a source, in the order of the store. */
export function keysBefore(source: string): string {
  return source === defaultSource ? '' : `${source}${mark}`;
}

/**
 * The position to go on from, in the order of the store, after a page of keys of all sources: behind those of another
 * source at once.
 * @param last of the page; undefined: it was empty
 * @returns null: there are no more of this source
 */
export function nextKey(source: string, last: string | undefined): string | null {
  const met = last === undefined ? null : sourceOf(last);
  if (met === null || met === source) return last ?? null;
  // U+007F comes right after the mark.
  return source === defaultSource ? `${met}\x7f` : null;
}

/** The name of a cursor, a lease, a job or an alert of a source: `order` of the default one, else `order.berlin`. */
export function inSource<Name extends string>(name: Name, source: string | undefined): InSource<Name> {
  return source ? `${name}.${source}` : name;
}

export type InSource<Name extends string> = Name | `${Name}.${string}`;

/** Names of all sources of the settings, also as one of them sees them; the default one comes first. */
export function sourceNames({
  named = [],
  siblings,
}: {
  named?: readonly { source?: string }[];
  siblings?: readonly string[];
}): string[] {
  return [defaultSource, ...(siblings ?? named.map(({ source }) => source ?? defaultSource))];
}

interface OfSource<Self> {
  source?: string;
  named?: readonly Self[];
}

/** The settings as a source sees them: with its own `erp`, `customers` and `orders`. */
export function settingsOf<S extends OfSource<S>>(settings: S, source: string): S {
  return settings.named?.find((one) => one.source === source) ?? settings;
}

/** The settings by which a record was mapped. */
export function settingsOfRecord<S extends OfSource<S>>(settings: S, sourceKey: string): S {
  return settings.named === undefined ? settings : settingsOf(settings, sourceOf(sourceKey));
}

/** Characters that the store has room for. */
const maxLength = 255;
/** Characters that stay of a longer key, before its hash. */
const keptLength = 150;

/**
 * The primary key as one text. A key of one column stands as it is. Parts of a composite key are joined with `/`,
 * with `%` and `/` in a part percent-encoded, so that ('a/b', 'c') and ('a', 'b/c') stay two keys. A named source stands
 * before its keys.
 */
export function formatSourceKey(parts: readonly string[], source = defaultSource): string {
  const own =
    parts.length === 1
      ? (parts[0] ?? '')
      : parts.map((part) => part.replaceAll('%', '%25').replaceAll('/', '%2F')).join('/');
  const text = keyInSource(source, own);
  // No column of PostgreSQL takes it.
  const storable = text.replaceAll('\0', '');
  if (text.length <= maxLength && storable === text) return text;
  // The store's columns end somewhere. A hash keeps two long keys apart, and one of them can't spoil its whole page.
  return `${storable.slice(0, keptLength)}…${createHash('sha256').update(text).digest('hex')}`;
}

const leftBehindMark = '…';

/** The prefix of keys that are left behind at this time. */
export function leftBehindSince(nowMs: number): string {
  return `${leftBehindMark}${nowMs.toString(36)}:`;
}

/**
 * A key of the store that names no row of the ERP any more. No other row gets it, and nothing follows from its absence.
 * @param since from `leftBehindSince`
 */
export function leftBehind(since: string, sourceKey: string): string {
  return isLeftBehind(sourceKey) ? sourceKey : formatSourceKey([`${since}${sourceKey}`]);
}

export function isLeftBehind(sourceKey: string): boolean {
  return sourceKey.startsWith(leftBehindMark);
}

/**
 * The parts of a key, or null when it doesn't have that many, was shortened or left behind, or is one of another source: then
 * nothing can be asked by it.
 */
export function parseSourceKey(sourceKey: string, parts: number, source = defaultSource): string[] | null {
  if (isShortened(sourceKey) || isLeftBehind(sourceKey)) return null;
  const own = keyOfSource(source, sourceKey);
  if (own === null) return null;
  if (parts === 1) return [own];
  const found = own.split('/');
  if (found.length !== parts) return null;
  return found.map((part) => part.replaceAll(/%2F/gi, '/').replaceAll('%25', '%'));
}

/** True if the key was too long for the store, or held U+0000: no statement can ask for its record by what is left of it. */
export function isShortened(sourceKey: string): boolean {
  return sourceKey.length <= keptLength + 65 && /…[0-9a-f]{64}$/.test(sourceKey);
}

/** The value at a place of a JSON value, such as `error.code` or `errors.0`; undefined if there is none. */
export function valueAt(value: unknown, place: string): unknown {
  let at = value;
  for (const name of place.includes('.') ? place.split('.') : [place]) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Record<string, unknown>)[name];
  }
  return at;
}

/**
 * True if the service knows customers by the code that we send, in whatever envelope; otherwise it gives each an id of
 * its own.
 */
export function idIsCode({ customerId }: { customerId: string }): boolean {
  return customerId.split('.').at(-1) === 'customer_code';
}

/** True if the id by which the service knows records is a field of ours: a customer's code, or an order's number. */
export function idIsOurs(places: { customerId: string; orderId: string }, entity: Entity): boolean {
  return entity === 'customer' ? idIsCode(places) : places.orderId.split('.').at(-1) === 'note';
}
