import type { ErpColumn, ErpRow, ScanRead } from '../../db/erp-database.js';
import { mapInTurns } from '../../db/map-in-turns.js';
import type { Sql } from '../../db/sql.js';
import type { RowFact } from '../../model/facts/rows.js';
import { formatSourceKey } from '../../model/record.js';
import { isCancelled, type Reading } from '../eligibility.js';
import type { ReadCustomer, ReadOrder } from '../erp-reader.js';
import { conditionIn, findEqualKeys, keyOf, readRowsByKey } from '../query-source.js';
import { dayOfValue, instantOfValue } from '../time/time-form.js';
import { mapField } from './map-field.js';
import { mapCustomer, mapOrder, type OrderCustomer } from './map-records.js';
import type { EntityPlan, LinePlan, OrderPlan } from './mapping-plan.js';

/** Rows of one key; more than one is a query that multiplies rows. */
interface KeyedRows {
  key: string[];
  sourceKey: string;
  row: ErpRow;
  count: number;
}

/** Header rows with their lines and customers, mapped. */
export async function mapOrderPage(
  reading: Reading,
  rows: readonly ErpRow[],
  forPeople: boolean,
): Promise<{ rows: ReadOrder[]; customers: ReadCustomer[] }> {
  const { plan } = reading;
  const { orders } = plan;
  const keyed = groupByKey(rows, orders, plan.source);
  const customers = await readCustomers(reading, rows, forPeople);
  const orderKeys = keyed.map(({ key }) => key);
  const lines = await readOrderLines(reading, orderKeys);
  const { fields, total, currency } = orders;
  const mapping = { ...plan.context, ...plan.lines.mapping, fields, total, currency };
  const mapOne = (one: KeyedRows, lineRows: ErpRow[]): ReadOrder => {
    const { key, sourceKey, row, count } = one;
    const named = orders.number ? mapField(row, orders.number, plan.context) : { value: undefined };
    const number = 'value' in named && typeof named.value === 'string' ? named.value : null;
    const customer = customers.of(row);
    const problems = 'problem' in named ? [named.problem] : [];
    const own = { number, row, lines: lineRows, customer: customer.outcome, problems };
    return {
      entity: 'order',
      ...changeOf(reading, row, orders),
      sourceKey,
      number,
      identity: identityOf(row, orders),
      ...(forPeople && { row, day: dayOf(reading, row), lineRows }),
      ...replacedOf(row, orders, plan.source),
      customerKey: customer.key,
      ...(isEmpty(key) || count > 1 ? notOneOrder(one, orders) : mapOrder(own, mapping)),
    };
  };
  const read = await mapInTurns(keyed, (one, at) => mapOne(one, lines[at] ?? []));
  return { rows: read, customers: customers.read };
}

/** Null where the store would have no room for it: it has some for numbers and times, not for texts. */
export function identityOf(row: ErpRow, { identity: columns }: OrderPlan): string | null {
  const identity = JSON.stringify(Object.fromEntries(columns.map(({ name }) => [name, row[name] ?? null])));
  return columns.length > 0 && identity.length <= 500 ? identity : null;
}

export function mapCustomerPage(
  reading: Reading,
  rows: readonly ErpRow[],
  customers: EntityPlan,
  forPeople: boolean,
): ReadCustomer[] {
  return groupByKey(rows, customers, reading.plan.source).map(
    (keyed) => readCustomer(reading, keyed, customers, forPeople).read,
  );
}

function readCustomer(reading: Reading, keyed: KeyedRows, customers: EntityPlan, forPeople: boolean) {
  const { key, sourceKey, row, count } = keyed;
  const { content, customerCode } =
    isEmpty(key) || count > 1
      ? { content: notOneRow(keyed, customers), customerCode: null }
      : mapCustomer(row, customers.fields, reading.plan.context);
  const change = changeOf(reading, row, customers);
  const replaces = replacedOf(row, customers, reading.plan.source);
  const shown = forPeople && { row };
  const read: ReadCustomer = { entity: 'customer', sourceKey, ...change, ...shown, ...replaces, content };
  return { read, customerCode, row };
}

interface PageCustomers {
  read: ReadCustomer[];
  of(order: ErpRow): { key: string | null; outcome: OrderCustomer };
}

/** The customers that the orders of a page name, in one statement. */
async function readCustomers(
  reading: Reading,
  orderRows: readonly ErpRow[],
  forPeople: boolean,
): Promise<PageCustomers> {
  const { snapshot, plan } = reading;
  const { customers } = plan;
  const customerKey = plan.orders.customerKey ?? [];
  if (customers === null) return { read: [], of: () => ({ key: null, outcome: { found: 'not-needed' } }) };

  const keys = orderRows.map((row) => keyOf(row, customerKey)).filter((key) => key !== null);
  const wanted = new Map(keys.map((key) => [JSON.stringify(key), key]));
  const target = { source: customers.source, columns: customers.key };
  const look = async (conditions: Sql[], doing: string, of?: ScanRead) => {
    const asked = { conditions, doing, ...(of && { of }) };
    const rows = await readRowsByKey(snapshot, target, [...wanted.values()], asked);
    return groupByKey(rows, customers, plan.source);
  };
  const pending = customers.pending === null ? [] : [conditionIn(customers.pending)];
  const rows = await look(pending, 'read the customers of orders (customers.query)', 'customers');
  const found = new Map(rows.map((keyed) => [JSON.stringify(keyed.key), keyed]));

  // Under a collation an order may spell its customer's key another way, also where the next order spells it as the customer does.
  const spelling = new Map<string, string>();
  const unfound = [...wanted.keys()].filter((text) => !found.has(text));
  if (unfound.length > 0 && found.size > 0) {
    const equal = await findEqualKeys(snapshot, target, unfound, 'match orders with customers');
    for (const [text, candidates] of equal) {
      const match = candidates.find((candidate) => found.has(candidate));
      if (match !== undefined) spelling.set(text, match);
    }
  }

  const cancelled =
    customers.cancelled === null
      ? []
      : await look([isCancelled(snapshot, customers)], 'look for cancelled customers (customers.cancelled)');
  const withdrawn = new Set(cancelled.map(({ sourceKey }) => sourceKey));
  const used = new Set([...wanted.keys()].map((text) => spelling.get(text) ?? text));
  const read: ReadCustomer[] = [];
  const mapped = new Map<string, ReturnType<PageCustomers['of']>>();
  for (const [text, keyed] of found) {
    if (!used.has(text)) continue;
    const { read: customer, customerCode, row } = readCustomer(reading, keyed, customers, forPeople);
    const key = customer.sourceKey;
    const problems = customer.content.mapped ? [] : customer.content.problems;
    mapped.set(text, { key, outcome: { found: 'yes', key, customerCode, problems, row } });
    // Orders may still name a cancelled customer, but it is not sent (again) for their sake.
    if (!withdrawn.has(key)) read.push(customer);
  }
  return {
    read,
    of(order) {
      const key = keyOf(order, customerKey);
      if (key === null) {
        const columns = customerKey.map(({ name }) => name);
        return { key: null, outcome: { found: 'no', problem: { code: 'customer_not_named', columns } } };
      }
      const text = JSON.stringify(key);
      const customer = mapped.get(spelling.get(text) ?? text);
      if (customer !== undefined) return customer;
      const sourceKey = formatSourceKey(key, plan.source);
      const mayBeLeftOut = customers.pending !== null;
      const problem = { code: 'customer_not_found', customer: sourceKey, mayBeLeftOut } as const;
      return { key: sourceKey, outcome: { found: 'no', problem } };
    },
  };
}

/** The lines of the orders with these keys, at the same places. */
async function readOrderLines({ snapshot, plan }: Reading, keys: readonly string[][]): Promise<ErpRow[][]> {
  const { orders, lines } = plan;
  const byOrder = new Map<string, ErpRow[]>(keys.map((key) => [JSON.stringify(key), []]));
  // No two orders of a page have one key.
  const ordered = [...byOrder.values()];
  const { source, sortBy } = lines;
  const doing = 'read the lines of orders (orders.lines.query)';
  const of = 'lines';
  const rows = await readRowsByKey(snapshot, { source, columns: lines.orderKey }, keys, { sortBy, doing, of });

  // Under a collation a line may spell the key of its order another way.
  const strangers = new Map<string, ErpRow[]>();
  let own: ErpRow[] = [];
  let before: ErpRow | null = null;
  for (const row of rows) {
    // The lines of an order come one after the other.
    if (before === null || !isSameIn(lines.orderKey, before, row)) {
      const key = JSON.stringify(keyOf(row, lines.orderKey));
      own = byOrder.get(key) ?? strangers.get(key) ?? [];
      if (!byOrder.has(key)) strangers.set(key, own);
    }
    own.push(row);
    before = row;
  }
  const orderKeys = { source: orders.source, columns: orders.key };
  const equal = await findEqualKeys(snapshot, orderKeys, [...strangers.keys()], 'match lines with orders');
  for (const [key, found] of equal) {
    // An order that spells it just so has the better claim, even when it isn't on this page.
    const owner = found.includes(key) ? key : found.find((candidate) => byOrder.has(candidate));
    byOrder.get(owner ?? '')?.push(...(strangers.get(key) ?? []));
  }
  return ordered.map((own) => inFixedOrder(own, lines));
}

function isSameIn(columns: readonly ErpColumn[], a: ErpRow, b: ErpRow): boolean {
  for (const { name } of columns) if (a[name] !== b[name]) return false;
  return true;
}

/** Lines that share their sort value come in any order; a fixed one keeps the order's content hash from changing. */
function inFixedOrder(rows: ErpRow[], { sortBy }: LinePlan): ErpRow[] {
  const isTied = (at: number) => at > 0 && isSameIn(sortBy, rows[at - 1] as ErpRow, rows[at] as ErpRow);
  if (!rows.some((_, at) => isTied(at))) return rows;
  const groups: ErpRow[][] = [];
  for (const [at, row] of rows.entries())
    if (isTied(at)) groups.at(-1)?.push(row);
    else groups.push([row]);
  const sorted = (tied: ErpRow[]): ErpRow[] =>
    tied
      .map((row) => JSON.stringify(row))
      .sort()
      .map((text) => JSON.parse(text));
  return groups.flatMap((group) => (group.length === 1 ? group : sorted(group)));
}

function groupByKey(rows: readonly ErpRow[], { key }: EntityPlan, source: string | undefined): KeyedRows[] {
  const groups = new Map<string, KeyedRows>();
  for (const row of rows) {
    const parts = keyOf(row, key);
    // The reader asks for no such rows, and counts them.
    if (parts === null) continue;
    const sourceKey = formatSourceKey(parts, source);
    const count = (groups.get(sourceKey)?.count ?? 0) + 1;
    groups.set(sourceKey, { key: parts, sourceKey, row, count });
  }
  return [...groups.values()];
}

/** True if a key of one column is the empty text: in the store it would come before all keys, where nothing looks for one. */
function isEmpty(key: readonly string[]): boolean {
  return key.length === 1 && key[0] === '';
}

/** The key of the record that a row says it goes on for. */
export function replacedKey(
  row: ErpRow,
  { replaces }: Pick<EntityPlan, 'replaces'>,
  source: string | undefined,
): string | null {
  const key = replaces.length === 0 ? null : keyOf(row, replaces);
  return key?.some((part) => part !== '') ? formatSourceKey(key, source) : null;
}

function replacedOf(row: ErpRow, plan: EntityPlan, source: string | undefined): { replaces?: string } {
  const replaces = replacedKey(row, plan, source);
  return replaces === null ? {} : { replaces };
}

function dayOf({ plan }: Reading, row: ErpRow): string | null {
  for (const column of [plan.orders.startFrom?.column, plan.orders.changedAt]) {
    const text = column && row[column.name];
    const day = text ? dayOfValue(text, column.kind, plan.context.timeZone) : null;
    if (day !== null) return day;
  }
  return null;
}

function changeOf({ now, plan }: Reading, row: ErpRow, { changedAt: column }: EntityPlan) {
  const changedAt = column === null ? null : (row[column.name] ?? null);
  if (column === null || changedAt === null) return { changedAt, changedAtMs: null, ageSeconds: null };
  const at = instantOfValue(changedAt, column.kind, plan.context.timeZone);
  const ageSeconds = at && (now.seconds * 1e6 + now.micros - (at.seconds * 1e6 + at.micros)) / 1e6;
  return { changedAt, changedAtMs: at && at.seconds * 1_000 + Math.floor(at.micros / 1_000), ageSeconds };
}

/** Why a row is no record: it has no key, or other rows have the same one. */
function notOneRow({ key, row, count }: KeyedRows, { source }: EntityPlan) {
  const setting = source.path;
  const [problem, fingerprint]: [RowFact, unknown] = isEmpty(key)
    ? [{ code: 'key_empty', setting }, row]
    : [{ code: 'key_repeated', setting, rows: count }, [count, row]];
  return { mapped: false as const, problems: [problem] as const, fingerprint: JSON.stringify(fingerprint) };
}

function notOneOrder(keyed: KeyedRows, orders: EntityPlan) {
  const content = notOneRow(keyed, orders);
  return isEmpty(keyed.key) ? { content, totals: null } : { rowsOfKey: keyed.count, content, totals: null };
}
