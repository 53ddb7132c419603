import type { Eligibility } from '../eligible.js';
import type { ErpColumn, ErpDatabase, ErpRow, ErpSnapshot } from '../erp-database.js';
import { ErpError } from '../erp-error.js';
import type { ReadCustomer, ReadOrder } from '../erp-reader.js';
import { conditionIn } from '../query-source.js';
import { findEqualKeys, keyOf, readRowsByKey } from '../related-rows.js';
import { formatSourceKey } from '../source-key.js';
import { type Instant, instantOfValue } from '../time/time-form.js';
import { type MappedCustomer, mapCustomer, mapOrder, type OrderCustomer } from './map-records.js';
import type { EntityPlan, MappingPlan } from './mapping-plan.js';
import { readOrderLines } from './order-lines.js';

/** What every record of a page is read with. */
export interface PageContext {
  database: ErpDatabase;
  snapshot: ErpSnapshot;
  plan: MappingPlan;
  eligibility: Pick<Eligibility, 'isCancelled'>;
  /** The ERP's clock. */
  now: Instant;
}

/** Rows of one key; more than one is a query that multiplies rows. */
interface KeyedRows {
  key: string[];
  sourceKey: string;
  row: ErpRow;
  count: number;
}

/** Header rows with their lines and customers, mapped. */
export async function mapOrderPage(
  page: PageContext,
  rows: readonly ErpRow[],
): Promise<{ rows: ReadOrder[]; customers: ReadCustomer[] }> {
  const { database, snapshot, plan } = page;
  const { orders } = plan;
  const keyed = groupByKey(rows, orders);
  const customers = await readCustomers(page, rows);
  const lines = await readOrderLines(
    database,
    snapshot,
    orders,
    plan.lines,
    keyed.map(({ key }) => key),
  );
  const mapping = { ...plan.context, fields: orders.fields, lineFields: plan.lines.fields, total: orders.total };
  const read = keyed.map(({ key, sourceKey, row, count }): ReadOrder => {
    const number = orders.number === null ? null : (row[orders.number] ?? null);
    const customer = customers.of(row);
    const ownLines = lines.get(JSON.stringify(key)) ?? [];
    const mapped = mapOrder({ sourceKey, number, row, lines: ownLines, customer: customer.outcome }, mapping);
    return {
      entity: 'order',
      ...changeOf(page, row, orders),
      sourceKey,
      number: number === '' ? null : number,
      identity: identityOf(row, orders.identity),
      customerKey: customer.key,
      ...(count > 1 ? { content: multiplied('order', sourceKey, row, count, orders), totals: null } : mapped),
    };
  });
  return { rows: read, customers: customers.read };
}

function identityOf(row: ErpRow, columns: readonly ErpColumn[]): string | null {
  if (columns.length === 0) return null;
  const identity = JSON.stringify(Object.fromEntries(columns.map(({ name }) => [name, row[name] ?? null])));
  // The store has room for numbers and times, not for texts.
  return identity.length <= 500 ? identity : null;
}

export function mapCustomerPage(page: PageContext, rows: readonly ErpRow[], customers: EntityPlan): ReadCustomer[] {
  return groupByKey(rows, customers).map((keyed) => readCustomer(page, keyed, customers).read);
}

function readCustomer(
  page: PageContext,
  { sourceKey, row, count }: KeyedRows,
  customers: EntityPlan,
): { read: ReadCustomer; mapped: MappedCustomer } {
  const mapped =
    count > 1
      ? { content: multiplied('customer', sourceKey, row, count, customers), customerCode: null }
      : mapCustomer(sourceKey, row, customers.fields, page.plan.context);
  const read: ReadCustomer = {
    entity: 'customer',
    sourceKey,
    ...changeOf(page, row, customers),
    content: mapped.content,
  };
  return { read, mapped };
}

interface PageCustomers {
  read: ReadCustomer[];
  of(order: ErpRow): { key: string | null; outcome: OrderCustomer };
}

/** The customers that the orders of a page name, in one statement. */
async function readCustomers(page: PageContext, orderRows: readonly ErpRow[]): Promise<PageCustomers> {
  const { database, snapshot, plan } = page;
  const { customers } = plan;
  const customerKey = plan.orders.customerKey ?? [];
  if (customers === null) return { read: [], of: () => ({ key: null, outcome: { found: 'not-needed' } }) };

  const wanted = new Map<string, string[]>();
  for (const row of orderRows) {
    const key = keyOf(row, customerKey);
    if (key !== null) wanted.set(JSON.stringify(key), key);
  }
  const target = { source: customers.source, columns: customers.key };
  const rows = await readRowsByKey(database, snapshot, target, [...wanted.values()], {
    conditions: customers.pending === null ? [] : [conditionIn(customers.pending)],
    doing: 'read the customers of orders (customers.query)',
  });
  const found = new Map(groupByKey(rows, customers).map((keyed) => [JSON.stringify(keyed.key), keyed]));

  // Under a collation the order may spell its customer's key another way.
  const spelling = new Map<string, string>();
  const unfound = [...wanted].filter(([text]) => !found.has(text));
  if (unfound.length > 0 && [...found.keys()].some((text) => !wanted.has(text))) {
    const keys = unfound.map(([, key]) => key);
    const equal = await findEqualKeys(database, snapshot, target, keys, 'match orders with customers');
    unfound.forEach(([text], index) => {
      const match = (equal[index] ?? []).map((key) => JSON.stringify(key)).find((key) => found.has(key));
      if (match !== undefined) spelling.set(text, match);
    });
  }

  const withdrawn = await cancelledOf(page, customers, [...wanted.values()]);
  const used = new Set([...wanted.keys()].map((text) => spelling.get(text) ?? text));
  const mapped = new Map(
    [...found]
      .filter(([text]) => used.has(text))
      .map(([text, keyed]) => [text, { keyed, ...readCustomer(page, keyed, customers) }]),
  );
  return {
    // Orders may still name a cancelled customer, but it is not sent (again) for their sake.
    read: [...mapped.values()].map(({ read }) => read).filter(({ sourceKey }) => !withdrawn.has(sourceKey)),
    of(order) {
      const key = keyOf(order, customerKey);
      if (key === null) {
        const names = customerKey.map((column) => column.name).join(', ');
        const reason = `it names no customer (${names} is empty); correct it in the ERP`;
        return { key: null, outcome: { found: 'no', reason } };
      }
      const text = JSON.stringify(key);
      const customer = mapped.get(spelling.get(text) ?? text);
      if (customer === undefined) {
        const sourceKey = formatSourceKey(key);
        const orPending = customers.pending === null ? '' : ', or customers.pending leaves it out';
        const reason = `its customer ${sourceKey} is not in customers.query${orPending}; correct the order in the ERP, or the query`;
        return { key: sourceKey, outcome: { found: 'no', reason } };
      }
      const { content, customerCode } = customer.mapped;
      const reason = content.mapped ? null : content.reason;
      const { sourceKey, row } = customer.keyed;
      return { key: sourceKey, outcome: { found: 'yes', key: sourceKey, customerCode, reason, row } };
    },
  };
}

async function cancelledOf(
  { database, snapshot, eligibility }: PageContext,
  customers: EntityPlan,
  keys: readonly (readonly string[])[],
): Promise<Set<string>> {
  if (customers.cancelled === null) return new Set();
  const target = { source: customers.source, columns: customers.key };
  const rows = await readRowsByKey(database, snapshot, target, keys, {
    conditions: [eligibility.isCancelled(customers)],
    doing: 'look for cancelled customers (customers.cancelled)',
  });
  return new Set(groupByKey(rows, customers).map(({ sourceKey }) => sourceKey));
}

function groupByKey(rows: readonly ErpRow[], { key, source }: Pick<EntityPlan, 'key' | 'source'>): KeyedRows[] {
  const groups = new Map<string, KeyedRows>();
  for (const row of rows) {
    const parts = keyOf(row, key);
    if (parts === null) {
      const names = key.map((column) => column.name).join(', ');
      throw new ErpError(
        'query',
        `${source.path} yields a row whose key (${names}) is NULL, so that it can't be told from others. ` +
          'Leave such rows out in the query.',
      );
    }
    const sourceKey = formatSourceKey(parts);
    const known = groups.get(sourceKey);
    groups.set(sourceKey, { key: parts, sourceKey, row, count: (known?.count ?? 0) + 1 });
  }
  return [...groups.values()];
}

function multiplied(entity: string, sourceKey: string, row: ErpRow, count: number, { source }: EntityPlan) {
  const reason =
    `${entity} ${sourceKey}: ${source.path} yields ${count} rows with this key; it must yield one. ` +
    'Look for a join that multiplies rows';
  return { mapped: false as const, reason, fingerprint: JSON.stringify([count, row]) };
}

function changeOf(page: PageContext, row: ErpRow, entity: EntityPlan) {
  const changedAt = entity.changedAt === null ? null : (row[entity.changedAt.name] ?? null);
  return { changedAt, ageSeconds: ageOf(page, changedAt, entity.changedAt) };
}

function ageOf({ now, plan }: PageContext, changedAt: string | null, column: ErpColumn | null): number | null {
  if (changedAt === null || column === null) return null;
  const at = instantOfValue(changedAt, column.kind, plan.context.timeZone);
  return at === null ? null : (now.seconds * 1e6 + now.micros - (at.seconds * 1e6 + at.micros)) / 1e6;
}
