import type { Entity } from '../model/record.js';
import { Eligibility } from './eligible.js';
import type { ErpColumn, ErpDatabase, ErpSnapshot } from './erp-database.js';
import { ErpError } from './erp-error.js';
import type {
  ChangePosition,
  ErpPage,
  ErpReader,
  ErpSource,
  Presence,
  ReadCustomer,
  ReadOrder,
  RowFilter,
  SourceEnd,
} from './erp-reader.js';
import { type EntityPlan, type MappingPlan, planMapping } from './mapping/mapping-plan.js';
import { mapCustomerPage, mapOrderPage, type PageContext } from './mapping/order-page.js';
import { type PageRows, readPageRows } from './page-query.js';
import { fromQuery, type QuerySource } from './query-source.js';
import { columnSql, keyOf, readRowsByKey } from './related-rows.js';
import { formatSourceKey, parseSourceKey } from './source-key.js';
import { allOf, rawSql, type Sql, sql } from './sql.js';
import { type Instant, instantOfValue, writeInstant } from './time/time-form.js';

type From = { after: ChangePosition } | { since: string | null };

interface Prepared extends PageContext {
  eligibility: Eligibility;
}

const EMPTY = { rows: [], customers: [], last: null, more: false };

/** Reads any ERP through a configured mapping: it knows no table, and each method is one snapshot. */
export class DatabaseErpReader implements ErpReader {
  #prepared: { plan: MappingPlan; eligibility: Eligibility } | null = null;

  constructor(
    readonly database: ErpDatabase,
    readonly settings: ErpSource,
  ) {}

  async check(): Promise<void> {
    this.#prepared = null;
    await this.#read(async ({ snapshot, plan, eligibility }) => {
      // The values of startFrom are looked at here, too.
      const conditions = allOf(await eligibility.orders(snapshot));
      const statement = sql`SELECT q.* ${fromQuery(plan.orders.source)} WHERE ${conditions} LIMIT 0`;
      await snapshot.query(statement, 'check orders.startFrom');
    });
  }

  nowAsChangedAt(entity: Entity): Promise<string | null> {
    return this.#read(async ({ snapshot, plan, eligibility, now }) => {
      const planned = entity === 'order' ? plan.orders : plan.customers;
      if (!planned?.changedAt) return null;
      const form = await eligibility.timeForm(snapshot, planned.source, planned.changedAt);
      return form === null ? null : writeInstant(now, form, plan.context.timeZone);
    });
  }

  readChangedOrders(from: From, limit: number): Promise<ErpPage<ReadOrder>> {
    return this.#read(async (page) => {
      const { orders } = page.plan;
      if (orders.changedAt === null) return EMPTY;
      const conditions = await page.eligibility.orders(page.snapshot);
      const found = await this.#changedRows(page, orders, orders.changedAt, conditions, from, limit);
      return { ...(await mapOrderPage(page, found.rows)), ...positionAfter(found, orders, orders.changedAt) };
    });
  }

  readChangedCustomers(from: From, limit: number): Promise<ErpPage<ReadCustomer>> {
    return this.#read(async (page) => {
      const { customers } = page.plan;
      if (!customers?.changedAt) return EMPTY;
      const conditions = await page.eligibility.customers(page.snapshot, customers, false);
      const found = await this.#changedRows(page, customers, customers.changedAt, conditions, from, limit);
      return {
        rows: mapCustomerPage(page, found.rows, customers),
        customers: [],
        ...positionAfter(found, customers, customers.changedAt),
      };
    });
  }

  sweepOrders(afterKey: string[] | null, limit: number, filter: RowFilter = {}): Promise<ErpPage<ReadOrder>> {
    return this.#read(async (page) => {
      const { orders } = page.plan;
      const conditions = await page.eligibility.orders(page.snapshot, filter);
      const found = await this.#rowsByKey(page, orders, conditions, afterKey, limit);
      return { ...(await mapOrderPage(page, found.rows)), ...positionAfter(found, orders, null) };
    });
  }

  sweepCustomers(afterKey: string[] | null, limit: number, filter: RowFilter = {}): Promise<ErpPage<ReadCustomer>> {
    return this.#read(async (page) => {
      const { customers } = page.plan;
      if (customers === null) return EMPTY;
      const conditions = await page.eligibility.customers(page.snapshot, customers, false, filter);
      const found = await this.#rowsByKey(page, customers, conditions, afterKey, limit);
      return {
        rows: mapCustomerPage(page, found.rows, customers),
        customers: [],
        ...positionAfter(found, customers, null),
      };
    });
  }

  presence(entity: Entity, keys: readonly string[]): Promise<Presence> {
    return this.#read(async ({ snapshot, plan, eligibility }) => {
      const planned = entity === 'order' ? plan.orders : plan.customers;
      if (planned === null) return { existing: null, cancelled: new Set() };
      const parts = keys.map((key) => parseSourceKey(key, planned.key.length)).filter((found) => found !== null);
      const look = async (source: QuerySource, columns: ErpColumn[], conditions: Sql[], doing: string) => {
        const rows = await readRowsByKey(this.database, snapshot, { source, columns }, parts, { conditions, doing });
        return new Set(rows.map((row) => formatSourceKey(keyOf(row, columns) ?? [])));
      };
      const { existence, source, key } = planned;
      return {
        existing: planned.followsDeleted
          ? await look(existence.source, existence.key, [], `look which records exist (${existence.source.path})`)
          : null,
        cancelled:
          planned.cancelled === null
            ? new Set()
            : await look(
                source,
                key,
                [eligibility.isCancelled(planned)],
                `look for cancelled records (${source.path})`,
              ),
      };
    });
  }

  readChangedCancelled(
    entity: Entity,
    from: From,
    limit: number,
  ): Promise<{ keys: string[]; last: ChangePosition | null; more: boolean }> {
    return this.#read(async (page) => {
      const planned = entity === 'order' ? page.plan.orders : page.plan.customers;
      if (!planned?.changedAt || planned.cancelled === null) return { keys: [], last: null, more: false };
      const conditions = [page.eligibility.isCancelled(planned)];
      const found = await this.#changedRows(page, planned, planned.changedAt, conditions, from, limit);
      const keys = found.rows.map((row) => keyOf(row, planned.key)).filter((key) => key !== null);
      return {
        keys: keys.map(formatSourceKey),
        ...positionAfter(found, planned, planned.changedAt),
      };
    });
  }

  sourceEnd(entity: Entity): Promise<SourceEnd> {
    return this.#read(async ({ snapshot, plan }) => {
      const planned = entity === 'order' ? plan.orders : plan.customers;
      if (planned === null) return { isEmpty: false, changedAt: null, key: null };
      const highest = async (source: QuerySource, column: ErpColumn): Promise<string | null> => {
        const [name] = columnSql(this.database, [column]) as [Sql];
        const statement = sql`SELECT ${name} AS highest ${fromQuery(source)} WHERE ${name} IS NOT NULL ORDER BY ${name} DESC LIMIT 1`;
        const { rows } = await snapshot.query(statement, `look for the highest ${column.name} (${source.path})`);
        return rows[0]?.highest ?? null;
      };
      const { existence, source, changedAt } = planned;
      const [first] = existence.key as [ErpColumn];
      const key = await highest(existence.source, first);
      return {
        isEmpty: key === null,
        changedAt: changedAt === null ? null : await highest(source, changedAt),
        key: existence.key.length === 1 && first.kind === 'number' && key !== null && /^\d+$/.test(key) ? key : null,
      };
    });
  }

  count(entity: Entity, filter: RowFilter = {}): Promise<number> {
    return this.#read(async ({ snapshot, plan, eligibility }) => {
      if (entity === 'order') return this.#countRows(snapshot, plan.orders, await eligibility.orders(snapshot, filter));
      if (plan.customers === null) return 0;
      const onlyReferenced = this.settings.customers.send === 'referenced';
      const conditions = await eligibility.customers(snapshot, plan.customers, onlyReferenced, filter);
      return this.#countRows(snapshot, plan.customers, conditions);
    });
  }

  countExcludedByStartFrom(): Promise<number> {
    return this.#read(async ({ snapshot, plan, eligibility }) => {
      if (plan.orders.startFrom === null) return 0;
      const pending = await this.#countRows(snapshot, plan.orders, eligibility.pendingOrders());
      return pending - (await this.#countRows(snapshot, plan.orders, await eligibility.orders(snapshot)));
    });
  }

  async #countRows(snapshot: ErpSnapshot, { source }: EntityPlan, conditions: Sql[]): Promise<number> {
    const statement = sql`SELECT COUNT(*) AS n ${fromQuery(source)} WHERE ${allOf(conditions)}`;
    const { rows } = await snapshot.query(statement, `count the rows of ${source.path}`);
    return Number(rows[0]?.n ?? 0);
  }

  identity(): string {
    return this.database.identity();
  }

  close(): Promise<void> {
    return this.database.close();
  }

  #changedRows(
    { snapshot }: Prepared,
    entity: EntityPlan,
    changedAt: ErpColumn,
    eligible: Sql[],
    from: From,
    limit: number,
  ): Promise<PageRows> {
    const [name] = columnSql(this.database, [changedAt]) as [Sql];
    const after = 'after' in from ? [from.after.changedAt, ...from.after.key] : null;
    const since = 'since' in from ? from.since : null;
    const bound = after !== null || since === null ? [] : [sql`${name} >= ${{ text: since, kind: changedAt.kind }}`];
    return readPageRows(this.database, snapshot, {
      source: entity.source,
      conditions: [...eligible, rawSql(`${name.pieces.join('')} IS NOT NULL`), ...bound],
      order: [changedAt, ...entity.key],
      after,
      limit,
      doing: `read changed rows (${entity.source.path})`,
    });
  }

  #rowsByKey(
    { snapshot }: Prepared,
    entity: EntityPlan,
    conditions: Sql[],
    after: string[] | null,
    limit: number,
  ): Promise<PageRows> {
    const doing = `read rows by key (${entity.source.path})`;
    const { source, key: order } = entity;
    return readPageRows(this.database, snapshot, { source, conditions, order, after, limit, doing });
  }

  /** One snapshot, with the mapping planned and the ERP's clock read in it. */
  #read<T>(read: (page: Prepared) => Promise<T>): Promise<T> {
    return this.database.snapshot(async (snapshot) => {
      try {
        const now = await readClock(snapshot);
        const { plan, eligibility } = await this.#prepare(snapshot);
        return await read({ database: this.database, snapshot, plan, eligibility, now });
      } catch (error) {
        // Somebody may have changed a table: the next read looks at the columns again.
        this.#prepared = null;
        throw error;
      }
    });
  }

  async #prepare(snapshot: ErpSnapshot): Promise<{ plan: MappingPlan; eligibility: Eligibility }> {
    if (this.#prepared !== null) return this.#prepared;
    const plan = await planMapping(this.database, snapshot, this.settings);
    const prepared = { plan, eligibility: new Eligibility(this.database, plan) };
    if (everyKindIsKnown(plan)) this.#prepared = prepared;
    return prepared;
  }
}

/** A column of an empty SQLite table may show its kind only with its first row. */
function everyKindIsKnown({ orders, lines, customers }: MappingPlan): boolean {
  return [
    ...orders.key,
    ...(orders.customerKey ?? []),
    ...lines.orderKey,
    ...(customers?.key ?? []),
    orders.changedAt,
    orders.startFrom?.column,
    customers?.changedAt,
  ].every((column) => column?.kind !== 'unknown');
}

async function readClock(snapshot: ErpSnapshot): Promise<Instant> {
  const text = await snapshot.nowUtc();
  const now = instantOfValue(text, 'timestamp', 'UTC');
  if (now === null) throw new ErpError('query', `The clock of the ERP database reads "${text}", which is no time.`);
  return now;
}

function positionAfter(
  { rows, more }: PageRows,
  { key }: EntityPlan,
  changedAt: ErpColumn | null,
): { last: ChangePosition | null; more: boolean } {
  const row = rows.at(-1);
  if (row === undefined) return { last: null, more };
  const position = {
    changedAt: changedAt === null ? '' : (row[changedAt.name] ?? ''),
    key: key.map((column) => row[column.name] ?? ''),
  };
  return { last: position, more };
}
