import type { ErpColumn, ErpDatabase, ErpRow, ErpSnapshot, ScanRead } from '../db/erp-database.js';
import { allOf, joinSql, type Sql, sql } from '../db/sql.js';
import type { LeftFact } from '../model/facts/records.js';
import { outside } from '../model/outside.js';
import type { Entity } from '../model/record.js';
import { formatSourceKey, parseSourceKey } from '../model/record.js';
import {
  eligibleConditions,
  hasLeftUnsaid,
  isCancelled,
  isReferenced,
  pendingConditions,
  type Reading,
  timeFormOf,
} from './eligibility.js';
import {
  type ChangedFrom,
  type ChangePosition,
  ErpError,
  type ErpPage,
  type ErpReader,
  type ErpSource,
  type Funnel,
  type Namesake,
  type Presence,
  type ReadRow,
  type RowFilter,
  type SourceEnd,
} from './erp-reader.js';
import { countFunnel, standingOf } from './funnel.js';
import { type EntityPlan, type MappingPlan, planMapping } from './mapping/mapping-plan.js';
import { mapCustomerPage, mapOrderPage } from './mapping/order-page.js';
import { readNamesakes } from './namesakes.js';
import {
  columnSql,
  findEqualKeys,
  fromQuery,
  highestValue,
  type KeyColumns,
  keyOf,
  keyValues,
  readKeysetPage,
  readRowsByKey,
} from './query-source.js';
import { type Instant, instantOfValue, writeInstant } from './time/time-form.js';

/** Changes in (changedAt, key) order, or everything in key order after a key. */
type PageStart = ChangedFrom | { afterKey: string[] | null };

type Planned = Pick<Reading, 'plan' | 'timeForms'>;

const NO_ROWS = { rows: [], last: null, more: false };

/** Reads any ERP through a configured mapping: it knows no table, and each method is one snapshot. */
export function databaseErpReader(database: ErpDatabase, settings: ErpSource): ErpReader {
  let known: Planned | null = null;

  /** One snapshot, with the mapping planned and the ERP's clock read in it. */
  const read = <T>(ask: (reading: Reading) => Promise<T>): Promise<T> =>
    database.snapshot(async (snapshot) => {
      try {
        const now = await readClock(snapshot);
        const planned = known ?? {
          plan: await planMapping(snapshot, settings, database.identity()),
          timeForms: new Map(),
        };
        if (planned.plan.isTried && everyKindIsKnown(planned.plan)) known = planned;
        return await ask({ snapshot, now, ...planned });
      } catch (error) {
        // A table may have changed: the next read looks at the columns again.
        known = null;
        throw error;
      }
    });

  /** `notSent`: the answer where records of this kind are not sent. */
  const readOf = <T>(entity: Entity, notSent: T, ask: (reading: Reading, planned: EntityPlan) => Promise<T>) =>
    read((reading) => {
      const planned = entity === 'order' ? reading.plan.orders : reading.plan.customers;
      return planned === null ? Promise.resolve(notSent) : ask(reading, planned);
    });

  const askable = (planned: EntityPlan, keys: readonly string[]) => {
    const asked = new Map<string, string[]>();
    for (const key of keys) {
      const parts = parseSourceKey(key, planned.key.length, settings.source);
      if (parts !== null && keyValues(planned.key, parts) !== null) asked.set(key, parts);
    }
    return asked;
  };

  const readRecords = <E extends Entity>(entity: E, from: PageStart, limit: number, filter?: RowFilter) =>
    readOf<ErpPage<ReadRow<E>>>(entity, { ...NO_ROWS, customers: [] }, async (reading, planned) => {
      const eligible = await eligibleConditions(reading, planned, filter);
      const { rows, ...end } = await readPage(reading, planned, eligible, from, limit);
      const forPeople = filter?.forPeople ?? false;
      const mapped =
        entity === 'order'
          ? await mapOrderPage(reading, rows, forPeople)
          : { rows: mapCustomerPage(reading, rows, planned, forPeople), customers: [] };
      return { ...mapped, ...end } as ErpPage<ReadRow<E>>;
    });

  return {
    async check() {
      known = null;
      await read(async (reading) => {
        // This also checks the value of startFrom.
        const eligible = allOf(await eligibleConditions(reading, reading.plan.orders));
        const statement = sql`SELECT q.* ${fromQuery(reading.plan.orders.source)} WHERE ${eligible} LIMIT 0`;
        await reading.snapshot.query(statement, 'check orders.startFrom');
      });
    },

    nowAsChangedAt: (entity) =>
      readOf(entity, null, async (reading, { source, changedAt }) => {
        const form = changedAt && (await timeFormOf(reading, source, changedAt));
        return form && writeInstant(reading.now, form, reading.plan.context.timeZone);
      }),

    readChanged: readRecords,

    sweep: (entity, afterKey, limit, filter) => readRecords(entity, { afterKey }, limit, filter),

    readChangedCancelled: (entity, from, limit) =>
      readOf(entity, { keys: [], last: null, more: false }, async (reading, planned) => {
        if (planned.cancelled === null) return { keys: [], last: null, more: false };
        const cancelled = [isCancelled(reading.snapshot, planned)];
        const { rows, ...end } = await readPage(reading, planned, cancelled, from, limit);
        const keys = rows.map((row) => keyOf(row, planned.key)).filter((key) => key !== null);
        return { keys: keys.map((key) => formatSourceKey(key, settings.source)), ...end };
      }),

    presence: (entity, keys, asksExistence = false) =>
      readOf<Presence>(entity, { existing: null, cancelled: new Set() }, async ({ snapshot, plan }, planned) => {
        const asked = askable(planned, keys);
        const look = (target: KeyColumns, conditions: Sql[], doing: string) =>
          rowsByAskedKey(snapshot, target, { asked, source: settings.source, conditions, doing });
        const { existence, source, key: columns, followsDeleted, cancelled } = planned;
        const doingExistence = `look which records exist (${existence.source.path})`;
        const there = followsDeleted || asksExistence ? await look(existence, [], doingExistence) : null;
        const existing = there && new Set(there.keys());
        const spelling = (row: ErpRow) => formatSourceKey(keyOf(row, existence.columns) ?? [], settings.source);
        const answers = [...(there ?? [])].map(([key, row]) => [key, spelling(row)] as const);
        const answeredBy = new Map<string, string | null>(answers.filter(([key, answer]) => answer !== key));
        for (const key of keys.filter((one) => !asked.has(one))) {
          answeredBy.set(key, null);
          // A key that can't be asked for is not known to be absent.
          existing?.add(key);
        }
        const left = entity === 'order' ? hasLeftUnsaid(snapshot, plan.orders) : null;
        const mark = plan.orders.completed?.column.name ?? '';
        const unsaid = left && (await look({ source, columns }, left, `look for orders that left ${source.path}`));
        const said = unsaid && { left: new Map([...unsaid].map(([key, row]) => [key, leftWith(mark, row)])) };
        if (cancelled === null) return { existing, answeredBy, cancelled: new Set(), ...said };
        const conditions = [isCancelled(snapshot, planned)];
        const doing = `look for cancelled records (${source.path})`;
        const marked = await look({ source, columns }, conditions, doing);
        return { existing, answeredBy, cancelled: new Set(marked.keys()), ...said };
      }),

    eligible: (entity, keys) =>
      readOf(entity, new Set(keys), async (reading, planned) => {
        const { source, key: columns } = planned;
        const asked = askable(planned, keys);
        const conditions = await eligibleConditions(reading, planned);
        const doing = `look which records may still be sent (${source.path})`;
        const found = await rowsByAskedKey(
          reading.snapshot,
          { source, columns },
          { asked, source: settings.source, conditions, doing },
        );
        return new Set([...found.keys(), ...keys.filter((key) => !asked.has(key))]);
      }),

    namesakes: (entity, names) =>
      readOf(entity, new Map<string, Namesake[]>(), async (reading) => {
        const found = await readNamesakes(reading, entity, [...new Set(names.values())]);
        const rowsOf = (key: string, name: string) =>
          found.flatMap((one) => (one.name === name && one.row.sourceKey !== key ? [one.row] : []));
        return new Map([...names].map(([key, name]) => [key, rowsOf(key, name)]));
      }),

    equalKeys: (entity, keys) =>
      readOf(entity, new Map<string, string[]>(), async ({ snapshot }, { source, key: columns }) => {
        const asked = new Map<string, string>();
        for (const key of keys) {
          const parts = parseSourceKey(key, columns.length, settings.source);
          if (parts !== null) asked.set(JSON.stringify(parts), key);
        }
        const doing = `compare keys (${source.path})`;
        const equal = await findEqualKeys(snapshot, { source, columns }, [...asked.keys()], doing);
        const spellings = (texts: string[]) => [
          ...new Set(texts.map((text) => formatSourceKey(JSON.parse(text), settings.source))),
        ];
        return new Map([...equal].map(([text, found]) => [asked.get(text) ?? '', spellings(found)]));
      }),

    sourceEnd(entity) {
      const notSent = { isEmpty: false, changedAt: null, key: null };
      return readOf<SourceEnd>(entity, notSent, async ({ snapshot }, { existence, source, changedAt }) => {
        const [first] = existence.columns as [ErpColumn];
        const key = await highestValue(snapshot, existence.source, first);
        const isCounter = existence.columns.length === 1 && first.kind === 'number' && /^\d+$/.test(key ?? '');
        return {
          isEmpty: key === null,
          changedAt: changedAt && (await highestValue(snapshot, source, changedAt)),
          key: isCounter ? key : null,
        };
      });
    },

    count: (entity, filter) =>
      readOf(entity, 0, async (reading, planned) => {
        const conditions = await eligibleConditions(reading, planned, filter);
        if (entity === 'customer' && settings.customers.send === 'referenced')
          conditions.push(await isReferenced(reading, planned));
        return countRows(reading, planned, conditions);
      }),

    countWithoutKey: (entity) =>
      readOf(entity, 0, async (reading, planned) => {
        const missing = planned.key.map((column) => sql`${columnSql(reading.snapshot, column)} IS NULL`);
        const conditions = await eligibleConditions(reading, planned);
        return countRows(reading, planned, [...conditions, sql`(${joinSql(missing, ' OR ')})`]);
      }),

    countExcludedByStartFrom: () =>
      readOf('order', { older: 0, withoutStart: 0 }, async (reading, orders) => {
        if (orders.startFrom === null) return { older: 0, withoutStart: 0 };
        const conditions = pendingConditions(reading, orders);
        const pending = await countRows(reading, orders, conditions);
        const eligible = await countRows(reading, orders, await eligibleConditions(reading, orders));
        const isEmpty = sql`${columnSql(reading.snapshot, orders.startFrom.column)} IS NULL`;
        const withoutStart = await countRows(reading, orders, [...conditions, isEmpty]);
        return { older: pending - eligible - withoutStart, withoutStart };
      }),

    funnel: (entity) => readOf<Funnel | null>(entity, null, countFunnel),
    standing: (entity, keys) => readOf(entity, [], (reading, planned) => standingOf(reading, planned, keys)),
    identity: () => database.identity(),
    close: () => database.close(),
  };
}

async function readClock(snapshot: ErpSnapshot): Promise<Instant> {
  const ask = () => snapshot.query(sql`SELECT ${snapshot.dialect.nowUtc} AS now`, 'read the clock');
  const text = snapshot.now ?? (await ask()).rows[0]?.now ?? '';
  const now = instantOfValue(text, 'timestamp', 'UTC');
  if (now === null) throw new ErpError('query', `The clock of the ERP database reads "${text}", which is no time.`);
  return now;
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
  const keyed = key.map((column) => sql`${columnSql(snapshot, column)} IS NOT NULL`);
  const read = async (order: ErpColumn[], also: Sql[], after: string[] | null, doing: string, of?: ScanRead) => {
    const request = { source, conditions: [...conditions, ...keyed, ...also], order, after, limit, doing, of };
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
  return read([changedAt, ...key], changed, after, `read changed rows (${source.path})`, 'changed_rows');
}

async function countRows({ snapshot }: Reading, { source }: EntityPlan, conditions: Sql[]): Promise<number> {
  const statement = sql`SELECT COUNT(*) AS n ${fromQuery(source)} WHERE ${allOf(conditions)}`;
  const { rows } = await snapshot.query(statement, `count the rows of ${source.path}`);
  return Number(rows[0]?.n ?? 0);
}

function leftWith(column: string, row: ErpRow): LeftFact {
  const value = row[column];
  return { code: 'left_with_status', column, value: value ? outside(value) : null };
}

interface AskedKeys {
  /** The parts of each key that is asked for. */
  asked: ReadonlyMap<string, string[]>;
  source: string | undefined;
  conditions: Sql[];
  doing: string;
}

/** Rows by the keys as they were asked for. Under a collation a row may spell its key another way. */
async function rowsByAskedKey(
  snapshot: ErpSnapshot,
  target: KeyColumns,
  { asked, source, conditions, doing }: AskedKeys,
): Promise<Map<string, ErpRow>> {
  const rows = await readRowsByKey(snapshot, target, [...asked.values()], { conditions, doing });
  const found = new Map(rows.map((row) => [formatSourceKey(keyOf(row, target.columns) ?? [], source), row]));
  const same = new Map([...found].filter(([key]) => asked.has(key)));
  if (same.size === found.size) return same;
  const absent = [...asked].filter(([key]) => !same.has(key));
  const texts = absent.map(([, own]) => JSON.stringify(own));
  const equal = await findEqualKeys(snapshot, target, texts, doing);
  for (const [at, [key]] of absent.entries())
    for (const text of equal.get(texts[at] ?? '') ?? []) {
      const row = found.get(formatSourceKey(JSON.parse(text), source));
      if (row !== undefined) same.set(key, row);
    }
  return same;
}
