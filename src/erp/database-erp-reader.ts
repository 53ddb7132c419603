import type { Entity } from '../model/record.js';
import {
  customerConditions,
  isCancelled,
  orderConditions,
  pendingConditions,
  type Reading,
  timeFormOf,
} from './eligibility.js';
import type { ErpColumn, ErpDatabase, ErpRow } from './erp-database.js';
import {
  type ChangedFrom,
  type ChangePosition,
  ErpError,
  type ErpPage,
  type ErpReader,
  type ErpSource,
  type Presence,
  type ReadCustomer,
  type ReadOrder,
  type RowFilter,
  type SourceEnd,
} from './erp-reader.js';
import { readKeysetPage } from './keyset-page.js';
import { type EntityPlan, type MappingPlan, planMapping } from './mapping/mapping-plan.js';
import { mapCustomerPage, mapOrderPage } from './mapping/order-page.js';
import { columnSql, fromQuery, highestValue, keyOf, readRowsByKey } from './query-source.js';
import { formatSourceKey, parseSourceKey } from './source-key.js';
import { allOf, type Sql, sql } from './sql.js';
import { instantOfValue, writeInstant } from './time/time-form.js';

/** Changes in (changedAt, key) order, or everything in key order after a key. */
type PageStart = ChangedFrom | { afterKey: string[] | null };

type Planned = Pick<Reading, 'plan' | 'timeForms'>;

const NO_ROWS = { rows: [], last: null, more: false };

/** Reads any ERP through a configured mapping: it knows no table, and each method is one snapshot. */
export class DatabaseErpReader implements ErpReader {
  #planned: Planned | null = null;

  constructor(
    readonly database: ErpDatabase,
    readonly settings: ErpSource,
  ) {}

  async check(): Promise<void> {
    this.#planned = null;
    await this.#read(async (reading) => {
      // This also checks the value of startFrom.
      const eligible = allOf(await orderConditions(reading));
      const statement = sql`SELECT q.* ${fromQuery(reading.plan.orders.source)} WHERE ${eligible} LIMIT 0`;
      await reading.snapshot.query(statement, 'check orders.startFrom');
    });
  }

  nowAsChangedAt(entity: Entity): Promise<string | null> {
    return this.#read(async (reading) => {
      const planned = planOf(reading, entity);
      if (!planned?.changedAt) return null;
      const form = await timeFormOf(reading, planned.source, planned.changedAt);
      return form && writeInstant(reading.now, form, reading.plan.context.timeZone);
    });
  }

  readChangedOrders(from: ChangedFrom, limit: number): Promise<ErpPage<ReadOrder>> {
    return this.#readOrders(from, limit);
  }

  readChangedCustomers(from: ChangedFrom, limit: number): Promise<ErpPage<ReadCustomer>> {
    return this.#readCustomers(from, limit);
  }

  sweepOrders(afterKey: string[] | null, limit: number, filter?: RowFilter): Promise<ErpPage<ReadOrder>> {
    return this.#readOrders({ afterKey }, limit, filter);
  }

  sweepCustomers(afterKey: string[] | null, limit: number, filter?: RowFilter): Promise<ErpPage<ReadCustomer>> {
    return this.#readCustomers({ afterKey }, limit, filter);
  }

  #readOrders(from: PageStart, limit: number, filter?: RowFilter): Promise<ErpPage<ReadOrder>> {
    return this.#read(async (reading) => {
      const { orders } = reading.plan;
      const { rows, ...end } = await readPage(reading, orders, await orderConditions(reading, filter), from, limit);
      return { ...(await mapOrderPage(reading, rows)), ...end };
    });
  }

  #readCustomers(from: PageStart, limit: number, filter: RowFilter = {}): Promise<ErpPage<ReadCustomer>> {
    return this.#read(async (reading) => {
      const { customers } = reading.plan;
      if (customers === null) return { ...NO_ROWS, customers: [] };
      const conditions = await customerConditions(reading, customers, filter);
      const { rows, ...end } = await readPage(reading, customers, conditions, from, limit);
      return { rows: mapCustomerPage(reading, rows, customers), customers: [], ...end };
    });
  }

  readChangedCancelled(
    entity: Entity,
    from: ChangedFrom,
    limit: number,
  ): Promise<{ keys: string[]; last: ChangePosition | null; more: boolean }> {
    return this.#read(async (reading) => {
      const planned = planOf(reading, entity);
      if (!planned?.changedAt || planned.cancelled === null) return { keys: [], last: null, more: false };
      const cancelled = [isCancelled(reading.snapshot, planned)];
      const { rows, ...end } = await readPage(reading, planned, cancelled, from, limit);
      const keys = rows.map((row) => keyOf(row, planned.key)).filter((key) => key !== null);
      return { keys: keys.map(formatSourceKey), ...end };
    });
  }

  presence(entity: Entity, keys: readonly string[]): Promise<Presence> {
    return this.#read(async (reading) => {
      const { snapshot } = reading;
      const planned = planOf(reading, entity);
      if (planned === null) return { existing: null, cancelled: new Set() };
      const parts = keys.map((key) => parseSourceKey(key, planned.key.length)).filter((found) => found !== null);
      const look = async (target: EntityPlan['existence'], conditions: Sql[], doing: string) => {
        const rows = await readRowsByKey(snapshot, target, parts, { conditions, doing });
        return new Set(rows.map((row) => formatSourceKey(keyOf(row, target.columns) ?? [])));
      };
      const { existence, source, key: columns } = planned;
      return {
        existing: planned.followsDeleted
          ? await look(existence, [], `look which records exist (${existence.source.path})`)
          : null,
        cancelled:
          planned.cancelled === null
            ? new Set()
            : await look(
                { source, columns },
                [isCancelled(snapshot, planned)],
                `look for cancelled records (${source.path})`,
              ),
      };
    });
  }

  sourceEnd(entity: Entity): Promise<SourceEnd> {
    return this.#read(async (reading) => {
      const planned = planOf(reading, entity);
      if (planned === null) return { isEmpty: false, changedAt: null, key: null };
      const { existence, source, changedAt } = planned;
      const [first] = existence.columns as [ErpColumn];
      const key = await highestValue(reading.snapshot, existence.source, first);
      const isCounter = existence.columns.length === 1 && first.kind === 'number' && /^\d+$/.test(key ?? '');
      return {
        isEmpty: key === null,
        changedAt: changedAt && (await highestValue(reading.snapshot, source, changedAt)),
        key: isCounter ? key : null,
      };
    });
  }

  count(entity: Entity, filter: RowFilter = {}): Promise<number> {
    return this.#read(async (reading) => {
      const { orders, customers } = reading.plan;
      if (entity === 'order') return countRows(reading, orders, await orderConditions(reading, filter));
      if (customers === null) return 0;
      const onlyReferenced = this.settings.customers.send === 'referenced';
      return countRows(reading, customers, await customerConditions(reading, customers, filter, onlyReferenced));
    });
  }

  countExcludedByStartFrom(): Promise<number> {
    return this.#read(async (reading) => {
      const { orders } = reading.plan;
      if (orders.startFrom === null) return 0;
      const pending = await countRows(reading, orders, pendingConditions(reading, orders));
      return pending - (await countRows(reading, orders, await orderConditions(reading)));
    });
  }

  identity(): string {
    return this.database.identity();
  }

  close(): Promise<void> {
    return this.database.close();
  }

  /** One snapshot, with the mapping planned and the ERP's clock read in it. */
  #read<T>(read: (reading: Reading) => Promise<T>): Promise<T> {
    return this.database.snapshot(async (snapshot) => {
      try {
        const clock = await snapshot.nowUtc();
        const now = instantOfValue(clock, 'timestamp', 'UTC');
        if (now === null)
          throw new ErpError('query', `The clock of the ERP database reads "${clock}", which is no time.`);
        const planned = this.#planned ?? {
          plan: await planMapping(snapshot, this.settings, this.identity()),
          timeForms: new Map(),
        };
        if (everyKindIsKnown(planned.plan)) this.#planned = planned;
        return await read({ snapshot, now, ...planned });
      } catch (error) {
        // A table may have changed: the next read looks at the columns again.
        this.#planned = null;
        throw error;
      }
    });
  }
}

function planOf({ plan }: Reading, entity: Entity): EntityPlan | null {
  return entity === 'order' ? plan.orders : plan.customers;
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

/** No rows where changes are asked for and the mapping names no column that shows them. */
async function readPage(
  { snapshot }: Reading,
  { source, key, changedAt }: EntityPlan,
  conditions: Sql[],
  from: PageStart,
  limit: number,
): Promise<{ rows: ErpRow[]; last: ChangePosition | null; more: boolean }> {
  const read = async (order: ErpColumn[], also: Sql[], after: string[] | null, doing: string) => {
    const request = { source, conditions: [...conditions, ...also], order, after, limit, doing };
    const { rows, last, more } = await readKeysetPage(snapshot, request);
    const [at = '', ...parts] = order === key ? ['', ...(last ?? [])] : (last ?? []);
    return { rows, last: last && { changedAt: at, key: parts }, more };
  };
  if ('afterKey' in from) return read(key, [], from.afterKey, `read rows by key (${source.path})`);
  if (changedAt === null) return NO_ROWS;
  const name = columnSql(snapshot, changedAt);
  const since =
    'since' in from && from.since !== null ? [sql`${name} >= ${{ text: from.since, kind: changedAt.kind }}`] : [];
  const after = 'after' in from ? [from.after.changedAt, ...from.after.key] : null;
  const changed = [sql`${name} IS NOT NULL`, ...since];
  return read([changedAt, ...key], changed, after, `read changed rows (${source.path})`);
}

async function countRows({ snapshot }: Reading, { source }: EntityPlan, conditions: Sql[]): Promise<number> {
  const statement = sql`SELECT COUNT(*) AS n ${fromQuery(source)} WHERE ${allOf(conditions)}`;
  const { rows } = await snapshot.query(statement, `count the rows of ${source.path}`);
  return Number(rows[0]?.n ?? 0);
}
