import type { ErpColumn, ErpSnapshot } from '../../db/erp-database.js';
import { ErpError, type ErpSource } from '../erp-reader.js';
import type { KeyColumns, QuerySource } from '../query-source.js';
import type { LineMapping, UnitPlan } from './line-price.js';
import type { FieldContext, FieldPlan } from './map-field.js';
import type { OrderMapping } from './map-records.js';
import { MappingPlanner } from './mapping-planner.js';
import { currencyScales } from './money.js';
import { tryConditions } from './try-conditions.js';

/** Values of a column that mean something. */
export interface Mark {
  column: ErpColumn;
  values: string[];
}

export interface EntityPlan {
  source: QuerySource;
  key: ErpColumn[];
  changedAt: ErpColumn | null;
  pending: string | null;
  cancelled: Mark | null;
  /** The key of the record that a row goes on for; empty where nothing tells. */
  replaces: ErpColumn[];
  /** The query in which every existing record can be found by its key. */
  existence: KeyColumns;
  /** True if anything follows when a record is gone. */
  followsDeleted: boolean;
  /** The first value that is sent; null: everything. */
  startFrom: { column: ErpColumn; from: string } | null;
  fields: FieldPlan[];
}

export interface OrderPlan extends EntityPlan {
  customerKey: ErpColumn[] | null;
  number: FieldPlan | null;
  total: string | null;
  /** The mark of an order that may leave `pending`; null: nothing is said of those that do. */
  completed: Mark | null;
  currency: OrderMapping['currency'];
  identity: ErpColumn[];
}

export interface LinePlan {
  source: QuerySource;
  orderKey: ErpColumn[];
  sortBy: ErpColumn[];
  mapping: Omit<LineMapping, keyof FieldContext>;
}

/** The configured mapping with every column found in its query. */
export interface MappingPlan {
  orders: OrderPlan;
  lines: LinePlan;
  customers: EntityPlan | null;
  /** True if there were rows to check every condition and expression with. */
  isTried: boolean;
  context: FieldContext;
  /** The name of the source, which stands before its keys; absent: the default one. */
  source: string | undefined;
}

/**
 * Finds every configured column in its query.
 * @param identity the database, for messages
 * @throws ErpError with all faults at once, each with the path of its setting
 */
export async function planMapping(snapshot: ErpSnapshot, settings: ErpSource, identity: string): Promise<MappingPlan> {
  const { currency, rounding } = settings.amounts;
  const { timeZone } = settings.erp;
  const planner = new MappingPlanner(snapshot, rounding);
  const customers = settings.customers.send === 'none' ? null : await planCustomers(planner, settings.customers);
  const scales = new Map<string, number>();
  for (const [code, scale] of currencyScales(settings.amounts)) {
    const path = code === currency ? 'amounts.currency' : 'amounts.currencies';
    if (scale !== null) scales.set(code, scale);
    else planner.fault(path, `${code} is not a currency of ISO 4217; correct it or give amounts.scale`);
  }
  const orders = await planOrders(planner, settings, scales);
  const lines = await planLines(planner, settings.orders);

  const tried = [orders, lines && { ...lines, key: lines.orderKey, pending: null }, customers].filter(
    (one) => one !== null,
  );
  const isTried = planner.faults.length === 0 && (await tryConditions(planner, tried, timeZone));
  const { faults } = planner;
  if (faults.length > 0 || orders === null || lines === null) {
    const kind = planner.queryFailed ? 'query' : 'mapping';
    const count = faults.length === 1 ? 'One setting does' : `${faults.length} settings do`;
    const lines = [`${count} not fit the ERP database ${identity}:`, ...faults.map((fault) => `  ${fault}`)];
    throw new ErpError(kind, lines.join('\n'), { lines });
  }
  return {
    orders,
    lines,
    customers,
    isTried,
    source: settings.source,
    context: { timeZone, scale: scales.get(currency) ?? 0, rounding },
  };
}

type OrdersSettings = ErpSource['orders'];
type CustomersSettings = ErpSource['customers'];

async function planCustomers(planner: MappingPlanner, customers: CustomersSettings): Promise<EntityPlan | null> {
  for (const name of ['query', 'key'] as const) {
    if (customers[name] === undefined)
      planner.fault(`customers.${name}`, 'is missing; give it, or set customers.send: none');
  }
  if (customers.query === undefined) return null;
  const source = await planner.describe('customers.query', customers.query);
  const base = await planEntity(planner, 'customers', customers, source);
  return (
    base && { ...base, fields: planner.fields('customers.fields', source, customers.fields ?? {}, ['customer_code']) }
  );
}

async function planOrders(
  planner: MappingPlanner,
  { orders, customers }: ErpSource,
  scales: ReadonlyMap<string, number>,
): Promise<OrderPlan | null> {
  const { startFrom } = orders;
  const source = await planner.describe('orders.query', orders.query);
  const base = await planEntity(planner, 'orders', orders, source);
  const startColumn =
    startFrom === 'all' ? null : await planner.ordering('orders.startFrom.column', source, startFrom.column);

  const sends = customers.send !== 'none';
  if (sends && orders.customerKey === undefined) {
    planner.fault('orders.customerKey', 'is missing; name the column with the key of the customer');
  }
  if (sends && orders.customerKey && customers.key && orders.customerKey.length !== customers.key.length) {
    const found = orders.customerKey.length;
    planner.fault('orders.customerKey', `has ${found} columns, customers.key has ${customers.key.length}`);
  }
  const customerKey = sends ? await planner.orderings('orders.customerKey', source, orders.customerKey ?? []) : null;
  const fields = planner.fields('orders.fields', source, orders.fields, sends ? [] : ['customer_code']);
  if ('items' in orders.fields)
    planner.fault('orders.fields.items', 'is made from the lines; name its fields in orders.lines.fields');
  const number = planner.column('orders.number', source, orders.number);
  const total = planner.amount('orders.total', source, orders.total);
  const currency = planner.column('orders.currency.column', source, orders.currency?.column);
  const completed = await planMark(planner, 'orders.completed', source, orders.completed);
  const identity = orders.identity?.map((name) => planner.column('orders.identity', source, name));
  return (
    base && {
      ...base,
      startFrom: startColumn && startFrom !== 'all' ? { column: startColumn, from: `${startFrom.from}` } : null,
      customerKey,
      number: number && {
        name: 'number',
        source: { column: number.name, kind: number.kind },
        type: 'text',
        optional: true,
      },
      total: total?.name ?? null,
      completed,
      currency: currency ? { column: currency.name, field: orders.currency?.field, scales } : undefined,
      identity: (identity ?? [number, startColumn]).filter((column) => column !== null),
      fields,
    }
  );
}

/** The parts that orders and customers share: key, changes, and the marks of cancelled and deleted records. */
async function planEntity(
  planner: MappingPlanner,
  path: 'orders' | 'customers',
  settings: OrdersSettings | CustomersSettings,
  source: QuerySource | null,
): Promise<Omit<EntityPlan, 'fields'> | null> {
  const { pending, cancelled, existence, onDeleted } = settings;
  const key = await planner.orderings(`${path}.key`, source, settings.key ?? []);
  const changedAt = await planner.ordering(`${path}.changedAt`, source, settings.changedAt);
  if (source !== null && pending !== undefined) await planner.checkCondition(`${path}.pending`, source, pending);
  const all = existence === undefined ? source : await planner.describe(`${path}.existence`, existence);
  const names = key.map(({ name }) => name);
  const columns = existence === undefined ? key : await planner.orderings(`${path}.existence`, all, names);
  const replaces = [settings.replaces ?? []].flat().map((name) => planner.column(`${path}.replaces`, source, name));
  if (source === null || all === null) return null;
  return {
    source,
    key,
    replaces: replaces.filter((column) => column !== null),
    changedAt,
    pending: pending ?? null,
    cancelled: await planMark(planner, `${path}.cancelled`, source, cancelled),
    existence: { source: all, columns },
    followsDeleted: onDeleted !== 'nothing',
    startFrom: null,
  };
}

async function planMark(
  planner: MappingPlanner,
  path: string,
  source: QuerySource | null,
  mark: OrdersSettings['completed'],
): Promise<Mark | null> {
  const column = await planner.ordering(`${path}.column`, source, mark?.column);
  const values = (mark?.values ?? []).map((value) => `${value}`);
  for (const value of values)
    if (column?.kind === 'number' && !/^-?\d+(\.\d+)?$/.test(value))
      planner.fault(`${path}.values`, `"${value}" is no number, but column "${column.name}" holds numbers`);
  return column && { column, values };
}

async function planLines(planner: MappingPlanner, { key, lines }: OrdersSettings): Promise<LinePlan | null> {
  const path = 'orders.lines';
  const source = await planner.describe(`${path}.query`, lines.query);
  if (lines.orderKey.length !== key.length) {
    planner.fault(`${path}.orderKey`, `has ${lines.orderKey.length} columns, orders.key has ${key.length}`);
  }
  const orderKey = await planner.orderings(`${path}.orderKey`, source, lines.orderKey);
  const sortBy = lines.sortBy.map((name) => planner.column(`${path}.sortBy`, source, name));
  const fields = planner.fields(`${path}.fields`, source, lines.fields, [
    'sku',
    'qty',
    ...(lines.amount === undefined ? ['price'] : []),
  ]);
  const number = (name: 'amount' | 'discount', column: string | undefined, optional = false) => {
    const found = planner.amount(`${path}.${name}`, source, column);
    return found
      ? ({
          name,
          source: { column: found.name, kind: found.kind },
          type: 'amount',
          optional,
          isRequired: true,
        } as const)
      : undefined;
  };
  const { text: textLines, unit, discount, rounding } = lines;
  const taken = number('discount', discount?.column, true);
  const mapping = {
    lineFields: fields,
    textLines,
    amount: number('amount', lines.amount),
    discount: discount && taken && { field: taken, type: discount.type },
    unit: unit && planUnit(planner, `${path}.unit`, source, unit),
    roundingSku: rounding?.sku,
  };
  return source && { source, orderKey, sortBy: sortBy.filter((column) => column !== null), mapping };
}

function planUnit(
  planner: MappingPlanner,
  path: string,
  source: QuerySource | null,
  unit: NonNullable<OrdersSettings['lines']['unit']>,
): UnitPlan | undefined {
  if ('factor' in unit) return { factor: BigInt(unit.factor) };
  const column = planner.column(`${path}.column`, source, unit.column);
  const factors = Object.entries(unit.factors).map(([code, factor]) => [code.trim(), BigInt(factor)] as const);
  return column === null ? undefined : { column: column.name, factors: new Map(factors) };
}
