import type { ErpSnapshot } from '../../../db/erp-database.js';
import { rawSql, sql } from '../../../db/sql.js';
import { type CatalogueTable, countValues, nameOf, tableSql } from '../../../erp/catalogue.js';
import { timeFormOfValue } from '../../../erp/time/time-form.js';
import { literalPattern } from '../../../model/literal-pattern.js';
import type { Evidence, SetupQuestion } from '../../../model/setup-questions.js';
import { askStart, type StartFacts } from './ask-rest.js';
import { type Parsed, refused, taken } from './asking.js';
import type { MarksChoice, OrdersChoice } from './compose-draft.js';
import { allConditions } from './compose-settings.js';
import { dateFormOf } from './date-form.js';
import { isKeyLike, keysOf } from './links.js';
import {
  columnCalled,
  conditionsFor,
  parseRowChoice,
  problemWith,
  type RowChoice,
  shownValue,
  valuesIn,
} from './row-choices.js';
import { askColumn, isZone, listed, type Schema, tableFacts } from './schema.js';
import { byUnique, type ColumnFacts, columnOf, filledOf, isFraction, isUnique, newestOf } from './table-facts.js';

/** Whole numbers and texts that may be dates: written, counted since 1970, or such as 20260103. */
function mayBeTime({ column, samples, filled }: ColumnFacts): boolean {
  if (filled === 0) return column.kind === 'time' || column.kind === 'date';
  if (column.kind === 'time' || column.kind === 'date') return true;
  if (column.kind !== 'text' && !column.isInteger) return false;
  const isDate = (text: string) =>
    timeFormOfValue(text, 'text') !== null || /^(19|20)\d\d(0\d|1[0-2])([0-2]\d|3[01])$/.test(text);
  return samples.length > 0 && samples.every(isDate);
}

/** The columns of the orders: number, date, change, states. */
export function askOrders(schema: Schema, orders: CatalogueTable): OrdersChoice | undefined {
  const { asking, facts, nowMs } = schema;
  const table = tableFacts(schema, orders);
  if (table === undefined) return undefined;
  const step = 'orders';
  const [timeZone = null] = asking.given('time-zone');
  const zone = isZone(timeZone) ? timeZone : null;
  const keyLike = table.columns.filter(({ column, filled }) => isKeyLike(column) && filled > 0);
  const number = askColumn(schema, orders, {
    ...{ step, role: 'order.number' },
    candidates: listed([...keyLike].sort(byUnique(table)), (one) => [filledOf(one, table)]),
  });
  const times = table.columns.filter(mayBeTime).sort((a, b) => b.filled - a.filled);
  const timeEvidence = (one: ColumnFacts): Evidence[] => [filledOf(one, table), ...newestOf(one, zone, nowMs)];
  const created = askColumn(
    schema,
    orders,
    { step, role: 'order.created', candidates: listed(times, timeEvidence), mayBeNone: true },
    (name) => {
      const form = facts.get(['date', nameOf(orders), name], (snapshot) =>
        dateFormOf(snapshot, rawSql(tableSql(snapshot.dialect, orders)), name),
      );
      if (form === undefined) return undefined;
      return form === 'none' ? refused({ code: 'no_dates', table: nameOf(orders), column: name }) : taken(name);
    },
  );
  const changedAt = askColumn(schema, orders, {
    ...{ step, role: 'order.changedAt', mayBeNone: true },
    candidates: listed(
      times.filter(({ column, filled }) => column.kind !== 'date' && filled > 0),
      timeEvidence,
    ),
  });
  const startColumn = startOf(orders, number, created);
  const start =
    startColumn === undefined
      ? undefined
      : facts.get(['start', nameOf(orders), startColumn], (snapshot) =>
          readStart(snapshot, orders, startColumn, created === startColumn),
        );
  const startFrom = start && askStart(asking, start);
  const [pending] = asking.given('pending');
  const states = table.columns.filter(({ few, isWhole, column }) => few !== null && isWhole && !isFraction(column));
  const status = askColumn(schema, orders, {
    ...{ step, role: 'order.status', mayBeNone: true },
    candidates: listed(
      [...states].sort(
        (a, b) => Number(isUnique(a, table)) - Number(isUnique(b, table)) || Number(b.tells) - Number(a.tells),
      ),
      ({ few }) => [{ of: 'values', values: few ?? [] }],
    ),
  });
  const choice = { number, created, changedAt, status, startColumn };
  if (status === undefined || status === 'none') {
    const onDeleted = askOnDeleted(schema);
    const isWhole = ![number, created, changedAt, status, startFrom, onDeleted].includes(undefined);
    return { ...choice, sent: 'all', cancelled: [], completed: [], onDeleted: onDeleted ?? 'nothing', isWhole };
  }
  const sentStates = pending === undefined ? asking.given('status').flatMap(valuesIn) : [];
  const askStates = (flag: string, other: string) => {
    const { few = null, isWhole = false, column } = columnOf(table, status) ?? {};
    const question: SetupQuestion = {
      ...{ step, flag, about: { column: status, table: nameOf(orders) } },
      candidates: (few ?? []).map(({ value, count, words }) => ({
        value: shownValue(value),
        evidence: [{ of: 'count', count, isInAnyState: false, ...(words !== undefined && { words }) }],
      })),
    };
    return asking.one(question, (text): Parsed<string[]> => {
      if (text === other) return taken([]);
      const values = valuesIn(text);
      const problem = problemWith(values, null, column?.kind === 'number');
      if (problem !== null) return refused(problem);
      const [both] = flag === 'cancelled' ? values.filter((one) => sentStates.includes(one)) : [];
      if (both !== undefined) return refused({ code: 'also_sent', value: both });
      const known = few?.map(({ value }) => value ?? 'NULL') ?? [];
      const unknown = values.filter((one) => !known.includes(one));
      // A young shop has no order yet that is done.
      if (isWhole && unknown.length > 0)
        asking.tell({ code: 'state_without_orders', flag, column: status, values: unknown });
      return taken(values);
    });
  };
  const sent = pending === undefined ? askStates('status', 'all') : [];
  const cancelled = askStates('cancelled', 'none');
  const completed = askStates('completed', 'none');
  const onDeleted = askOnDeleted(schema);
  const isWhole = ![number, created, changedAt, startFrom, sent, cancelled, completed, onDeleted].includes(undefined);
  return {
    ...{ ...choice, sent: sent === undefined || sent.length === 0 ? 'all' : sent },
    ...{ cancelled: cancelled ?? [], completed: completed ?? [], onDeleted: onDeleted ?? 'nothing', isWhole },
  };
}

/** The column from which the first order is told: its date, else its key, else its number. */
function startOf(orders: CatalogueTable, number: string | undefined, created: string | undefined): string | undefined {
  if (created !== 'none') return created;
  const [key = []] = keysOf(orders);
  return key.length === 1 ? key[0] : number;
}

async function readStart(
  snapshot: ErpSnapshot,
  orders: CatalogueTable,
  column: string,
  isDate: boolean,
): Promise<StartFacts> {
  const from = rawSql(tableSql(snapshot.dialect, orders));
  const name = rawSql(snapshot.dialect.quoteIdentifier(column));
  return {
    ...{ column, form: isDate ? await dateFormOf(snapshot, from, column) : 'none' },
    years: isDate ? await countValues(snapshot, from, sql`SUBSTR(CAST(${name} AS CHAR(10)), 1, 4)`) : [],
    isNumber: columnCalled(orders, column)?.kind === 'number',
  };
}

const askOnDeleted = ({ asking }: Schema) =>
  asking.one(
    {
      step: 'orders',
      flag: 'on-deleted',
      about: {},
      candidates: ['nothing', 'delete'].map((value) => ({ value, evidence: [] })),
    },
    (text): Parsed<OrdersChoice['onDeleted']> =>
      text === 'nothing' || text === 'delete'
        ? taken(text)
        : refused({ code: 'not_offered', offered: ['nothing', 'delete'] }),
  );

/** Which orders are sent, by the columns beside the states. Undefined while it is open. */
export function askMarks(
  schema: Schema,
  orders: CatalogueTable,
  choice: OrdersChoice | undefined,
  others: readonly (string | undefined)[],
): MarksChoice | undefined {
  const { asking, dialect } = schema;
  const table = tableFacts(schema, orders);
  // Before the buyer is known, each key of a party would be shown as a mark.
  if (table === undefined || choice?.status === undefined || others.includes(undefined)) return undefined;
  const { number, created, changedAt, status, sent } = choice;
  const named = ['order.total', 'order.currency'].flatMap((role) => asking.given(role));
  const skipped = [number, created, changedAt, status, ...others, ...named];
  // Part of a key may tell documents apart; a key of one column tells every row apart.
  if (orders.primaryKey.length === 1) skipped.push(...orders.primaryKey);
  const telling = table.columns.filter(({ tells, column }) => tells && !skipped.includes(column.name));
  const told = telling.map((one) => ({ name: one.column.name, few: one.few ?? [] }));
  const linked = rowTables(schema, orders);
  const inLinked = linked.flatMap(({ name, via, facts }) =>
    facts.columns
      .filter(({ tells, column }) => tells && column.name !== via.referenced)
      .map((one) => ({ name: `${name}.${one.column.name}`, few: one.few ?? [] })),
  );
  const all = [...told, ...inLinked];
  const tellUnused = (used: readonly string[]) =>
    asking.tell(
      ...all
        .filter(({ name }) => !used.includes(name))
        .map(({ name, few }) => ({ code: 'not_used', flag: 'orders-with', column: name, values: few }) as const),
    );
  const parse = (text: string): Parsed<RowChoice> => {
    const [found] = linked.filter(({ name }) => text.startsWith(`${name}.`));
    if (found === undefined) return parseRowChoice(text, orders, telling, null);
    const parsed = parseRowChoice(text.slice(found.name.length + 1), found.via.table, found.facts.columns, null);
    return parsed && 'value' in parsed ? taken({ ...parsed.value, via: found.via }) : parsed;
  };
  const [written] = asking.given('pending');
  const given = asking.given('orders-with');
  const question: SetupQuestion = {
    ...{ step: 'orders', flag: 'orders-with', about: { table: nameOf(orders) }, isList: true },
    candidates: all.map(({ name, few }) => ({ value: name, evidence: [{ of: 'values', values: few }] })),
  };
  if (written !== undefined) {
    const [both] = [...given, ...asking.given('status')];
    if (both !== undefined)
      asking.wrong.push({ question, answer: both, problem: { code: 'one_of_both', other: '--pending' } });
    const columns = columnsIn(written, orders);
    tellUnused(columns);
    return { condition: written, columns, tables: [], isWritten: true };
  }
  const choices = all.length === 0 && given.length === 0 ? [] : asking.list(question, parse);
  if (choices === undefined) return undefined;
  const states: RowChoice[] = sent === 'all' ? [] : [{ column: status, values: sent, ofOrder: null }];
  tellUnused(choices.map(({ column, via }) => (via === undefined ? column : `${nameOf(via.table)}.${column}`)));
  const rows = [...states, ...choices];
  return {
    condition: allConditions(conditionsFor(rows, orders, dialect)) ?? 'all',
    columns: rows.flatMap(({ column, via }) => (via === undefined ? [column] : [])),
    tables: rows.flatMap(({ via }) => via?.table ?? []),
    isWritten: false,
  };
}

/** The tables that the key of the orders leads to: one of them may hold the marks of removed rows. */
function rowTables(schema: Schema, orders: CatalogueTable) {
  const [key, ...more] = orders.primaryKey;
  return orders.foreignKeys.flatMap(({ columns, referenced, table: name }) => {
    const table = schema.catalogue.tables.find((one) => nameOf(one) === name);
    if (key === undefined || more.length > 0 || columns.join() !== key || !table) return [];
    const facts = tableFacts(schema, table);
    return facts === undefined ? [] : [{ name, facts, via: { table, key, referenced: referenced[0] ?? '' } }];
  });
}

/** The columns of the table that a condition names. */
const columnsIn = (condition: string, { columns }: CatalogueTable): string[] =>
  columns
    .map(({ name }) => name)
    .filter((name) =>
      new RegExp(`(?<![\\p{L}\\p{N}_])${literalPattern(name)}(?![\\p{L}\\p{N}_])`, 'iu').test(condition),
    );
