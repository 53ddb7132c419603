import type { ErpColumn, ErpDatabase, ErpSnapshot } from '../erp-database.js';
import { ErpError } from '../erp-error.js';
import type { ErpSource } from '../erp-reader.js';
import { conditionIn, fromQuery, type QuerySource, stripQuery } from '../query-source.js';
import { rawSql, sql } from '../sql.js';
import { customerFields, fieldPlans, lineFields, orderFields } from './field-plans.js';
import type { FieldContext, FieldPlan } from './map-field.js';
import { currencyScale } from './money.js';

export interface EntityPlan {
  source: QuerySource;
  key: ErpColumn[];
  changedAt: ErpColumn | null;
  pending: string | null;
  cancelled: CancelledPlan | null;
  /** Where every record there is can be found by its key. */
  existence: { source: QuerySource; key: ErpColumn[] };
  /** Whether anything follows when a record is gone. */
  followsDeleted: boolean;
  fields: FieldPlan[];
}

export interface CancelledPlan {
  column: ErpColumn;
  values: string[];
}

export interface OrderPlan extends EntityPlan {
  startFrom: { column: ErpColumn; from: string } | null;
  customerKey: ErpColumn[] | null;
  number: string | null;
  total: string | null;
  identity: ErpColumn[];
}

export interface LinePlan {
  source: QuerySource;
  orderKey: ErpColumn[];
  sortBy: ErpColumn[];
  fields: FieldPlan[];
}

/** The configured mapping with every column found in its query. */
export interface MappingPlan {
  orders: OrderPlan;
  lines: LinePlan;
  customers: EntityPlan | null;
  context: FieldContext;
}

/** Collects faults, each with the path of the setting, and finds columns. */
class Planner {
  readonly faults: string[] = [];
  queryFailed = false;

  constructor(
    readonly database: ErpDatabase,
    readonly snapshot: ErpSnapshot,
  ) {}

  fault(path: string, what: string): void {
    this.faults.push(`${path}: ${what}`);
  }

  /** Runs the query for no rows, so that the database itself checks it. */
  async describe(path: string, query: string): Promise<QuerySource | null> {
    const source = { path, query: stripQuery(query), columns: [] };
    const columns = await this.#try(path, () =>
      this.snapshot.describe(sql`SELECT q.* ${fromQuery(source)} LIMIT 0`, `check ${path}`),
    );
    return columns === null ? null : { ...source, columns };
  }

  async checkCondition(path: string, source: QuerySource | null, condition: string | undefined): Promise<void> {
    if (source === null || condition === undefined) return;
    const statement = sql`SELECT q.* ${fromQuery(source)} WHERE ${conditionIn(condition)} LIMIT 0`;
    await this.#try(path, () => this.snapshot.describe(statement, `check ${path}`));
  }

  async #try<T>(path: string, ask: () => Promise<T>): Promise<T | null> {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ErpError) || error.kind === 'unreachable') throw error;
      this.queryFailed = true;
      this.fault(path, error.detail);
      return null;
    }
  }

  /** The column as the database spells it: names in SQL don't mind upper and lower case. */
  column(path: string, source: QuerySource | null, name: string | undefined): ErpColumn | null {
    if (source === null || name === undefined) return null;
    const found =
      source.columns.find((column) => column.name === name) ??
      source.columns.find((column) => column.name.toLowerCase() === name.toLowerCase());
    if (found === undefined) {
      const names = source.columns.map((column) => column.name).join(', ');
      this.fault(path, `column "${name}" is not in ${source.path}; it has: ${names}`);
    }
    return found ?? null;
  }

  /** A column that rows are ordered by or found by: its kind must be known, since it decides how values are bound. */
  async ordering(path: string, source: QuerySource | null, name: string | undefined): Promise<ErpColumn | null> {
    const column = this.column(path, source, name);
    if (column === null || source === null) return null;
    if (column.keyProblem !== null) {
      this.fault(path, `column "${column.name}" can not be used here: ${column.keyProblem}`);
      return null;
    }
    if (column.kind !== 'unknown' || this.database.typeOf === undefined) return column;
    const quoted = rawSql(`q.${this.database.quoteIdentifier(column.name)}`);
    const type = this.database.typeOf(quoted);
    const statement = sql`SELECT ${type} AS type ${fromQuery(source)} WHERE ${quoted} IS NOT NULL LIMIT 1`;
    const { rows } = await this.snapshot.query(statement, `look at a value of ${path}`);
    const found = rows[0]?.type;
    return {
      ...column,
      kind: found === undefined || found === null ? 'unknown' : found === 'number' ? 'number' : 'text',
    };
  }

  async orderings(path: string, source: QuerySource | null, names: readonly string[]): Promise<ErpColumn[]> {
    const columns: ErpColumn[] = [];
    for (const name of names) {
      const column = await this.ordering(path, source, name);
      if (column !== null) columns.push(column);
    }
    return columns;
  }
}

type RemovalSettings = Pick<ErpSource['orders'], 'cancelled' | 'existence' | 'onDeleted'>;

/** How cancelled and deleted records are recognised. */
async function planRemovals(
  planner: Planner,
  path: 'orders' | 'customers',
  { cancelled, existence, onDeleted }: RemovalSettings,
  source: QuerySource | null,
  key: ErpColumn[],
): Promise<Pick<EntityPlan, 'cancelled' | 'existence' | 'followsDeleted'>> {
  const column = await planner.ordering(`${path}.cancelled.column`, source, cancelled?.column);
  const values = (cancelled?.values ?? []).map((value) => `${value}`);
  for (const value of values)
    if (column?.kind === 'number' && !/^-?\d+(\.\d+)?$/.test(value))
      planner.fault(`${path}.cancelled.values`, `"${value}" is no number, but column "${column.name}" holds numbers`);
  const own = existence === undefined ? source : await planner.describe(`${path}.existence`, existence);
  const names = key.map(({ name }) => name);
  const ownKey = existence === undefined ? key : await planner.orderings(`${path}.existence`, own, names);
  return {
    cancelled: column && { column, values },
    existence: { source: own ?? { path: `${path}.existence`, query: '', columns: [] }, key: ownKey },
    followsDeleted: onDeleted !== 'nothing',
  };
}

/** Finds every configured column in its query. Throws one error with all faults, each with the path of its setting. */
export async function planMapping(
  database: ErpDatabase,
  snapshot: ErpSnapshot,
  settings: ErpSource,
): Promise<MappingPlan> {
  const planner = new Planner(database, snapshot);
  const customers = await planCustomers(planner, settings);
  const orders = await planOrders(planner, settings);
  const lines = await planLines(planner, settings);
  const context = planContext(planner, settings);

  if (planner.faults.length > 0 || orders === null || lines === null || context === null) {
    const kind = planner.queryFailed ? 'query' : 'mapping';
    const count = planner.faults.length === 1 ? 'One setting does' : `${planner.faults.length} settings do`;
    const list = planner.faults.map((fault) => `  ${fault}`).join('\n');
    throw new ErpError(kind, `${count} not fit the ERP database ${database.identity()}:\n${list}`);
  }
  return { orders, lines, customers, context };
}

async function planCustomers(planner: Planner, { customers }: ErpSource): Promise<EntityPlan | null> {
  if (customers.send === 'none') return null;
  const required = (name: 'query' | 'key'): void => {
    if (customers[name] === undefined) {
      planner.fault(`customers.${name}`, 'is missing; give it, or set customers.send: none');
    }
  };
  required('query');
  required('key');
  if (customers.query === undefined) return null;
  const source = await planner.describe('customers.query', customers.query);
  const key = await planner.orderings('customers.key', source, customers.key ?? []);
  const changedAt = await planner.ordering('customers.changedAt', source, customers.changedAt);
  await planner.checkCondition('customers.pending', source, customers.pending);
  const fields = customerFields(customers.fields ?? {}, (path, what) => planner.fault(path, what));
  const plans = fieldPlans(fields, (path, name) => planner.column(path, source, name));
  const removals = await planRemovals(planner, 'customers', customers, source, key);
  return source && { source, key, changedAt, pending: customers.pending ?? null, ...removals, fields: plans };
}

async function planOrders(planner: Planner, { orders, customers }: ErpSource): Promise<OrderPlan | null> {
  const source = await planner.describe('orders.query', orders.query);
  const key = await planner.orderings('orders.key', source, orders.key);
  const changedAt = await planner.ordering('orders.changedAt', source, orders.changedAt);
  await planner.checkCondition('orders.pending', source, orders.pending);
  const startColumn =
    orders.startFrom === 'all'
      ? null
      : await planner.ordering('orders.startFrom.column', source, orders.startFrom.column);

  const sends = customers.send !== 'none';
  if (sends && orders.customerKey === undefined) {
    planner.fault('orders.customerKey', 'is missing; name the column with the key of the customer');
  }
  if (sends && orders.customerKey && customers.key && orders.customerKey.length !== customers.key.length) {
    planner.fault(
      'orders.customerKey',
      `has ${orders.customerKey.length} columns, customers.key has ${customers.key.length}`,
    );
  }
  const customerKey = sends ? await planner.orderings('orders.customerKey', source, orders.customerKey ?? []) : null;
  const fields = orderFields(orders.fields, sends, (path, what) => planner.fault(path, what));
  const plans = fieldPlans(fields, (path, name) => planner.column(path, source, name));
  const number = planner.column('orders.number', source, orders.number);
  const total = planner.column('orders.total', source, orders.total);
  const identity = (orders.identity ?? []).map((name) => planner.column('orders.identity', source, name));
  const usual = [number, startColumn];
  const removals = await planRemovals(planner, 'orders', orders, source, key);
  return (
    source && {
      source,
      key,
      changedAt,
      pending: orders.pending ?? null,
      ...removals,
      startFrom:
        startColumn && orders.startFrom !== 'all' ? { column: startColumn, from: `${orders.startFrom.from}` } : null,
      customerKey,
      number: number?.name ?? null,
      total: total?.name ?? null,
      identity: (orders.identity === undefined ? usual : identity).filter((column) => column !== null),
      fields: plans,
    }
  );
}

async function planLines(planner: Planner, { orders }: ErpSource): Promise<LinePlan | null> {
  const path = 'orders.lines';
  const source = await planner.describe(`${path}.query`, orders.lines.query);
  if (orders.lines.orderKey.length !== orders.key.length) {
    const found = orders.lines.orderKey.length;
    planner.fault(`${path}.orderKey`, `has ${found} columns, orders.key has ${orders.key.length}`);
  }
  const orderKey = await planner.orderings(`${path}.orderKey`, source, orders.lines.orderKey);
  const sortBy = orders.lines.sortBy.map((name) => planner.column(`${path}.sortBy`, source, name));
  const fields = lineFields(orders.lines.fields, (at, what) => planner.fault(at, what));
  const plans = fieldPlans(fields, (at, name) => planner.column(at, source, name));
  return source && { source, orderKey, sortBy: sortBy.filter((column) => column !== null), fields: plans };
}

function planContext(planner: Planner, { erp, amounts }: ErpSource): FieldContext | null {
  const scale = amounts.scale ?? currencyScale(amounts.currency);
  if (scale === null) {
    planner.fault(
      'amounts.currency',
      `${amounts.currency} is not a currency of ISO 4217; correct it or give amounts.scale`,
    );
    return null;
  }
  return { timeZone: erp.timeZone, scale, rounding: amounts.rounding };
}
