import type { ErpSnapshot } from '../../../db/erp-database.js';
import { rawSql, sql } from '../../../db/sql.js';
import {
  type Catalogue,
  type CatalogueTable,
  countRows,
  countValues,
  nameOf,
  tableSql,
} from '../../../erp/catalogue.js';
import { timeFormOfValue } from '../../../erp/time/time-form.js';
import { literalPattern } from '../../../model/literal-pattern.js';
import type { Candidate, Evidence, SetupQuestion, SetupStep } from '../../../model/setup-questions.js';
import { askMoney } from './ask-money.js';
import { askStart, askTimeZone, type StartFacts } from './ask-rest.js';
import { type Parsed, refused, taken } from './asking.js';
import {
  type CustomerChoice,
  composeDraft,
  type LinesChoice,
  type MarksChoice,
  type OrdersChoice,
  type SkuChoice,
} from './compose-draft.js';
import { allConditions } from './compose-settings.js';
import { dateFormOf } from './date-form.js';
import type { Draft } from './draft.js';
import { columnsForLink, declaredLinks, isKeyLike, keysOf, type Link, linksBy, namedBy } from './links.js';
import {
  columnCalled,
  conditionsFor,
  noSuchColumn,
  parseRowChoice,
  problemWith,
  type RowChoice,
  shownValue,
  valuesIn,
} from './row-choices.js';
import { askColumn, isZone, linkFacts, listed, type Schema, tableFacts, withoutRole } from './schema.js';
import { type ColumnFacts, columnOf, filledOf, isBytes, isFraction, newestOf, type TableFacts } from './table-facts.js';

/** Offered at most; any other table can be named. */
const MOST_TABLES = 20;

type TableRole = 'orders' | 'lines' | 'customers';

/** Words that order what is offered, and settle nothing: of three hundred tables, a few are called like orders. */
const tableWords: Record<TableRole, RegExp> = {
  orders: /order|auftr|bestellung|commande|pedido|ordine|vbak|^auf/i,
  lines: /line|item|detail|det$|pos(ition)?(en|s)?$|row|ligne|zeile|linea|riga|aufp|vbap/i,
  customers: /custom|client|kund|debit|debtor|klient|kdst|^kd|partner|account|societe|party|adress|buyer|user|entity/i,
};

/**
 * The questions about an unknown schema, in four steps. No name and no figure settles any of them: they say what is shown
 * beside the candidates, and in which order.
 * @returns the draft; null while something is open
 */
export function askUnknown(schema: Schema): Draft | null {
  const { asking, facts, catalogue } = schema;
  const rows = facts.get(['rows'], async (snapshot) => {
    const counted: Record<string, number | null> = {};
    // Counting the rows of a view may take for ever.
    for (const table of catalogue.tables)
      counted[nameOf(table)] = table.isView ? null : await countRows(snapshot, table, MOST_ROWS);
    return counted;
  });
  if (rows === undefined) return null;
  const ask = (
    role: TableRole,
    step: SetupStep,
    likely: readonly CatalogueTable[],
    evidence = new Map<CatalogueTable, Evidence[]>(),
  ) => askTable(schema, rows, { role, step, likely, evidence });

  const orders = ask('orders', 'orders', []);
  const ordersChoice = orders && askOrders(schema, orders);
  askTimeZone(asking, { title: '' });
  const pointing = orders ? catalogue.tables.filter((one) => declaredLinks(one, orders).length > 0) : [];
  const lines = ask('lines', 'lines', pointing);
  if (orders && orders === lines) return wrongTable(schema, 'lines-table', nameOf(lines));
  const linesChoice = orders && lines && askLines(schema, orders, lines);
  const buyer = orders && askBuyer(schema, orders);
  const customers = askCustomers(schema, orders, buyer, { rows, ask });
  if (customers && (customers === orders || customers === lines))
    return wrongTable(schema, 'customers-table', nameOf(customers));
  const customerChoice = orders && customers && buyer ? askCustomer(schema, orders, customers, buyer) : undefined;
  const money =
    orders && lines && linesChoice?.link
      ? askMoney(schema, {
          orders,
          lines,
          link: linesChoice.link,
          number: ordersChoice?.number,
          sku: linesChoice.sku,
          customers,
          customer: customerChoice,
        })
      : undefined;
  const marks =
    orders &&
    askMarks(schema, orders, ordersChoice, [...(customerChoice?.link.columns ?? []), buyer, ...(money?.columns ?? [])]);
  if (
    !orders ||
    !lines ||
    !customers ||
    !ordersChoice?.isWhole ||
    !linesChoice?.isWhole ||
    !customerChoice ||
    !money?.whole ||
    !marks
  )
    return null;
  if (asking.open.some(({ isOptional }) => !isOptional) || asking.wrong.length > 0) return null;
  asking.tell({ code: 'tables', names: [orders, lines, customers].map(nameOf) });
  return composeDraft(schema.dialect, {
    ...{ orders, lines, customers, marks },
    ...{ order: ordersChoice, line: linesChoice, customer: customerChoice, money: money.whole },
  });
}

/** As many rows of a table are counted: of three hundred tables, each is only placed. */
const MOST_ROWS = 100_000;

function wrongTable({ asking }: Schema, flag: string, answer: string): null {
  const step: SetupStep = flag === 'lines-table' ? 'lines' : 'customer';
  asking.wrong.push({ question: { step, flag, about: {}, candidates: [] }, answer, problem: { code: 'same_table' } });
  return null;
}

const tableCalled = ({ tables }: Catalogue, name: string) =>
  tables.find((table) => nameOf(table).toLowerCase() === name.toLowerCase());

/** @param likely tables that keys or values speak for: they are offered first */
function askTable(
  { asking, catalogue }: Schema,
  rows: Readonly<Record<string, number | null>>,
  {
    role,
    step,
    likely,
    evidence,
  }: {
    role: TableRole;
    step: SetupStep;
    likely: readonly CatalogueTable[];
    evidence: ReadonlyMap<CatalogueTable, Evidence[]>;
  },
): CatalogueTable | undefined {
  const count = (table: CatalogueTable) => rows[nameOf(table)] ?? null;
  const isReferenced = ({ foreignKeys }: CatalogueTable, table: CatalogueTable) =>
    foreignKeys.some((key) => key.table === nameOf(table));
  const rank = (table: CatalogueTable) => {
    const at = likely.indexOf(table);
    const isKnown = role !== 'orders' || catalogue.tables.some((one) => isReferenced(one, table));
    const words = tableWords[role].test(table.name) ? 0 : 2000;
    return (at < 0 ? 4000 : at) + words + (table.isView ? 1000 : 0) + (isKnown ? 0 : 500);
  };
  const offered = catalogue.tables
    .filter((table) => count(table) !== 0)
    .sort((a, b) => rank(a) - rank(b) || (count(b) ?? 0) - (count(a) ?? 0));
  const candidates = offered.slice(0, MOST_TABLES).map((table) => ({
    ...{
      value: nameOf(table),
      evidence: [
        { of: 'rows' as const, rows: count(table), isAll: count(table) !== MOST_ROWS },
        ...(evidence.get(table) ?? []),
      ],
    },
  }));
  const hidden = catalogue.tables.length - candidates.length;
  return asking.one({ step, flag: `${role}-table`, about: { hidden }, candidates }, (name) => {
    const table = tableCalled(catalogue, name);
    return table === undefined ? refused({ code: 'no_such_table' }) : taken(table);
  });
}

const isUnique = ({ filled, different }: ColumnFacts, { rows }: TableFacts) =>
  rows > 0 && different === rows && filled === rows;
const byUnique = (table: TableFacts) => (a: ColumnFacts, b: ColumnFacts) =>
  Number(isUnique(b, table)) - Number(isUnique(a, table));

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
function askOrders(schema: Schema, orders: CatalogueTable): OrdersChoice | undefined {
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
function askMarks(
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

/** How the lines belong to the orders, and their SKU. */
function askLines(schema: Schema, orders: CatalogueTable, lines: CatalogueTable): LinesChoice | undefined {
  const { asking } = schema;
  const table = tableFacts(schema, lines);
  if (table === undefined) return undefined;
  const link = askLineLink(schema, orders, lines);
  const sku = askSku(schema, orders, table, link);
  const [position] = asking.given('line.position');
  const sorted = position === undefined ? undefined : columnCalled(lines, position);
  if (position !== undefined && sorted === undefined)
    asking.wrong.push({
      question: { step: 'lines', flag: 'column', role: 'line.position', about: {}, candidates: [] },
      ...{ answer: position, problem: noSuchColumn(lines) },
    });
  return { link, sku, position: sorted?.name, isWhole: link !== undefined && sku !== undefined };
}

/** The one declared key of the lines to the orders; a person chooses where there is none, or several. */
function askLineLink(schema: Schema, orders: CatalogueTable, lines: CatalogueTable): Link | undefined {
  const declared = declaredLinks(lines, orders);
  const [only, ...more] = declared;
  if (only !== undefined && more.length === 0 && schema.asking.given('line.order').length === 0) return only;
  const fitting = columnsForLink(lines, orders);
  const tested = (declared.length > 0 ? declared.map(namedBy) : fitting).flatMap((name) => {
    const [link] = linksBy(name, lines, orders);
    const keys = link && linkFacts(schema, lines, orders, link);
    return keys === undefined ? [] : [{ name, keys }];
  });
  const candidates = tested
    .filter(({ keys }) => keys.found > 0)
    .sort((a, b) => b.keys.found - a.keys.found)
    .map(
      ({ name, keys: { found, looked } }): Candidate => ({
        value: name,
        evidence: [{ of: 'keys_found', found, looked }],
      }),
    );
  const name = askColumn(schema, lines, { step: 'lines', role: 'line.order', candidates }, (name) =>
    linksBy(name, lines, orders).length > 0
      ? taken(name)
      : refused({ code: 'no_key', of: nameOf(orders), in: nameOf(lines), columns: fitting }),
  );
  return name === undefined ? undefined : linksBy(name, lines, orders)[0];
}

function askSku(
  schema: Schema,
  orders: CatalogueTable,
  table: TableFacts,
  link: Link | undefined,
): SkuChoice | undefined {
  const { asking, catalogue } = schema;
  const lines = table.table;
  const own = table.columns
    .filter(
      ({ column, filled }) =>
        isKeyLike(column) && !isBytes(column) && filled > 0 && !link?.columns.includes(column.name),
    )
    .map((one): Candidate => ({ value: `line.sku=${one.column.name}`, evidence: [filledOf(one, table)] }));
  const linked = lines.foreignKeys.flatMap((key) => {
    const [name, ...others] = key.columns;
    const target = catalogue.tables.find((one) => nameOf(one) === key.table);
    const used = columnOf(table, name);
    // A key that is empty in every line leads nowhere.
    if (!name || others.length > 0 || !target || target === orders || !used?.filled) return [];
    const product = tableFacts(schema, target);
    if (product === undefined) return [];
    return product.columns
      .filter(({ column, filled }) => column.kind === 'text' && filled > 0)
      .sort(byUnique(product))
      .map(
        (one): Candidate => ({
          value: `line.sku=${name}>${nameOf(target)}.${one.column.name}`,
          evidence: [filledOf(one, product)],
        }),
      );
  });
  const question: SetupQuestion = {
    ...{ step: 'lines', flag: 'column', role: 'line.sku', about: { table: nameOf(lines) } },
    candidates: [...own, ...linked],
  };
  const sku = asking.one(question, (text) => parseSku(schema, lines, withoutRole('line.sku', text)));
  if (sku === null) asking.tell({ code: 'no_sku', table: nameOf(lines) });
  return sku;
}

/** Parses COLUMN, `COLUMN>TABLE.COLUMN`, or the name of a column in a table that a declared key leads to. */
function parseSku({ catalogue }: Schema, lines: CatalogueTable, text: string): Parsed<SkuChoice> {
  if (text === 'none') return taken(null);
  const own = columnCalled(lines, text);
  if (own !== undefined) return taken({ column: own.name, via: null });
  const [, from = '', there = ''] = /^([^>]+)>(.+)$/.exec(text) ?? [];
  const first = columnCalled(lines, from.trim());
  const targets = catalogue.tables.flatMap((table) => {
    const name = there.toLowerCase().startsWith(`${nameOf(table).toLowerCase()}.`)
      ? there.slice(nameOf(table).length + 1)
      : '';
    const column = columnCalled(table, there === '' ? text : name);
    const links = first ? linksBy(first.name, lines, table).slice(0, 1) : declaredLinks(lines, table);
    return column === undefined ? [] : links.map((link) => ({ column: column.name, via: { link, table } }));
  });
  const [only, ...more] = targets;
  if (only !== undefined && more.length === 0) return taken(only);
  if (more.length > 0)
    return refused({
      code: 'not_offered',
      offered: targets.map(({ column, via }) => `${namedBy(via.link)}>${nameOf(via.table)}.${column}`),
    });
  return refused(
    catalogue.tables.some(
      (table) => columnCalled(table, there === '' ? text : (there.split('.').at(-1) ?? '')) !== undefined,
    )
      ? { code: 'sku_out_of_reach', table: nameOf(lines) }
      : noSuchColumn(lines),
  );
}

/** The column of the orders that names the buyer, from every key that the orders have to any table. */
function askBuyer(schema: Schema, orders: CatalogueTable): string | undefined {
  const { asking, catalogue } = schema;
  const table = tableFacts(schema, orders);
  if (table === undefined) return undefined;
  const [named] = asking.given('customers-table');
  const customers = named === undefined ? undefined : tableCalled(catalogue, named);
  const targets = new Map(orders.foreignKeys.map((key) => [namedBy(key), key.table]));
  const differ = (one: ColumnFacts) => one.different;
  const isOwnKey = (name: string) => orders.primaryKey.length === 1 && orders.primaryKey[0] === name;
  const filled = table.columns.filter((one) => one.filled > 0 && isKeyLike(one.column) && !isOwnKey(one.column.name));
  const declared = filled.filter(({ column }) => targets.has(column.name)).sort((a, b) => differ(b) - differ(a));
  const loose = filled
    .filter(
      ({ column }) => !targets.has(column.name) && !orders.foreignKeys.some((key) => key.columns.includes(column.name)),
    )
    .filter(({ column }) => customers === undefined || linksBy(column.name, orders, customers).length > 0)
    .sort((a, b) => Number(isUnique(a, table)) - Number(isUnique(b, table)) || differ(b) - differ(a));
  const evidence = (one: ColumnFacts): Evidence[] => {
    const target = targets.get(one.column.name);
    const counts: Evidence = { of: 'different', different: one.different, rows: one.filled };
    return target === undefined ? [counts] : [{ of: 'key_of', table: target }, counts];
  };
  const question = {
    step: 'customer' as const,
    role: 'order.customer',
    candidates: listed([...declared, ...loose], evidence),
  };
  return askColumn(schema, orders, question, (name) =>
    customers === undefined || linksBy(name, orders, customers).length > 0
      ? taken(name)
      : refused({
          code: 'no_key',
          of: nameOf(customers),
          in: nameOf(orders),
          columns: columnsForLink(orders, customers),
        }),
  );
}

/** The table of the customers: those that hold the values of the buyer's column first. */
function askCustomers(
  schema: Schema,
  orders: CatalogueTable | undefined,
  buyer: string | undefined,
  {
    rows,
    ask,
  }: {
    rows: Readonly<Record<string, number | null>>;
    ask: (
      role: TableRole,
      step: SetupStep,
      likely: readonly CatalogueTable[],
      evidence?: Map<CatalogueTable, Evidence[]>,
    ) => CatalogueTable | undefined;
  },
): CatalogueTable | undefined {
  const { catalogue, asking } = schema;
  if (!orders || !buyer || asking.given('customers-table').length > 0) return ask('customers', 'customer', []);
  const targets = orders.foreignKeys.filter((key) => key.columns.includes(buyer)).map(({ table }) => table);
  const tested = catalogue.tables.flatMap((table) => {
    if (table === orders || table.isView || (targets.length > 0 && !targets.includes(nameOf(table)))) return [];
    const links = linksBy(buyer, orders, table).map((link) => linkFacts(schema, orders, table, link));
    const best = links.flatMap((one) => one ?? []).sort((a, b) => b.found - a.found)[0];
    return best === undefined || best.found === 0 ? [] : [{ table, best }];
  });
  // Many a table has the numbers 1 to 40 among its keys: the one with few others comes first.
  const count = (table: CatalogueTable) => rows[nameOf(table)] ?? 0;
  tested.sort((a, b) => b.best.found - a.best.found || count(a.table) - count(b.table));
  const evidence = new Map(
    tested.map(({ table, best: { found, looked } }): [CatalogueTable, Evidence[]] => [
      table,
      [{ of: 'keys_found', found, looked }],
    ]),
  );
  return ask(
    'customers',
    'customer',
    tested.map(({ table }) => table),
    evidence,
  );
}

/** Fields of a customer that are sent beside the code and the name. */
export const customerFields = ['email', 'phone', 'street', 'postcode', 'city', 'country', 'changedAt'] as const;

/** Which key of the customers the orders hold, and the columns that are sent of them. */
function askCustomer(
  schema: Schema,
  orders: CatalogueTable,
  customers: CatalogueTable,
  buyer: string,
): CustomerChoice | undefined {
  const { asking } = schema;
  const table = tableFacts(schema, customers);
  const own = tableFacts(schema, orders);
  const links = linksBy(buyer, orders, customers);
  if (table === undefined || own === undefined || links.length === 0) return undefined;
  const evidenceOf = (link: Link): Evidence[] => {
    const keys = linkFacts(schema, orders, customers, link);
    const same = sameTexts(schema, own, table, link);
    return [
      ...(keys === undefined ? [] : [{ of: 'keys_found' as const, found: keys.found, looked: keys.looked }]),
      ...(same ? [{ of: 'same' as const, ...same }] : []),
    ];
  };
  const wanted = asking.given('customer.key');
  let [link] = links;
  if (links.length > 1 || wanted.length > 0) {
    const offered = links.map(({ referenced }) => referenced[0] ?? '');
    const candidates = links.map((one): Candidate => ({ value: one.referenced[0] ?? '', evidence: evidenceOf(one) }));
    const about = { other: `${nameOf(orders)}.${buyer}` };
    const key = askColumn(schema, customers, { step: 'customer', role: 'customer.key', candidates, about }, (name) =>
      offered.includes(name) ? taken(name) : refused({ code: 'no_unique_key', columns: offered }),
    );
    link = links.find(({ referenced }) => referenced[0] === key);
  }
  if (link === undefined) return undefined;
  const chosen = link;
  const keys = linkFacts(schema, orders, customers, chosen);
  if (keys && keys.found < keys.looked)
    asking.tell({
      code: 'keys_unresolved',
      column: buyer,
      table: nameOf(customers),
      found: keys.found,
      looked: keys.looked,
    });
  const same = sameTexts(schema, own, table, chosen);
  if (same && same.same < same.compared) asking.tell({ code: 'other_parties', ...same });

  const keyLike = table.columns.filter((one) => isKeyLike(one.column) && isUnique(one, table));
  const code = askColumn(schema, customers, {
    ...{ step: 'customer', role: 'customer.code' },
    candidates: listed(keyLike, (one) => [filledOf(one, table)]),
  });
  const isPointer = (name: string) =>
    customers.foreignKeys.some(({ columns }) => columns.includes(name)) || /_id$/i.test(name);
  const texts = table.columns.filter(
    ({ column, filled }) => column.kind === 'text' && filled > 0 && !isPointer(column.name),
  );
  const textCandidates = listed(texts, (one) => [filledOf(one, table)]);
  const name = asking.one(
    {
      ...{ step: 'customer', flag: 'column', role: 'customer.name', about: { table: nameOf(customers) } },
      candidates: textCandidates.map(({ value, evidence }) => ({ value: `customer.name=${value}`, evidence })),
    },
    (text) => parseTexts(table, withoutRole('customer.name', text)),
  );
  const fields = askFields(schema, table, textCandidates);
  const guests = askGuests(schema, own, chosen);
  if (code === undefined || name === undefined || fields === undefined || guests === undefined) return undefined;
  return { link: chosen, code, name, fields, guests };
}

/** Parses `none`, a column, or several with + between them. */
function parseTexts(table: TableFacts, text: string): Parsed<string[]> {
  if (text === 'none') return taken([]);
  const names: string[] = [];
  for (const part of text.split('+')) {
    const column = columnCalled(table.table, part.trim());
    if (column === undefined) return refused(noSuchColumn(table.table));
    if (table.rows > 0 && columnOf(table, column.name)?.filled === 0)
      return refused({ code: 'empty_column', column: column.name });
    names.push(column.name);
  }
  return taken(names);
}

/** The other fields of a customer: without an answer, none of them is sent. */
function askFields(
  schema: Schema,
  table: TableFacts,
  candidates: readonly Candidate[],
): Record<string, string[]> | undefined {
  const { asking } = schema;
  const question: SetupQuestion = {
    ...{
      step: 'customer',
      flag: 'customer-fields',
      about: { table: nameOf(table.table), columns: [...customerFields] },
    },
    ...{ candidates, isList: true, isOptional: true },
  };
  const asked = asking.list(question, (text) => {
    const [, field = '', columns = ''] = /^(\w+)=(.+)$/.exec(text) ?? [];
    if (!customerFields.some((one) => one === field))
      return refused({ code: 'no_role_value', example: 'email=COLUMN' });
    const parsed = parseTexts(table, columns);
    return parsed && 'value' in parsed ? taken([field, parsed.value] as const) : parsed;
  });
  const fields: Record<string, string[]> = Object.fromEntries(asked ?? []);
  for (const field of customerFields) {
    const [given] = asking.given(`customer.${field}`);
    const parsed = given === undefined ? undefined : parseTexts(table, given);
    if (parsed && 'value' in parsed) fields[field] = parsed.value;
    else if (parsed && given !== undefined)
      asking.wrong.push({
        question: { step: 'customer', flag: 'column', role: `customer.${field}`, about: {}, candidates: [] },
        ...{ answer: given, problem: parsed.problem },
      });
  }
  return fields;
}

/** Orders without a buyer: they wait for a person, or are left out. Undefined while it is open. */
function askGuests({ asking }: Schema, orders: TableFacts, link: Link): 'wait' | 'leave-out' | 'none' | undefined {
  const empty = link.columns.map((name) => orders.rows - (columnOf(orders, name)?.filled ?? orders.rows));
  const without = Math.max(...empty, 0);
  if (without === 0 && asking.given('guests').length === 0) return 'none';
  return asking.one(
    {
      ...{ step: 'customer', flag: 'guests', about: { orders: without, rows: orders.rows, column: namedBy(link) } },
      candidates: ['wait', 'leave-out'].map((value) => ({ value, evidence: [] })),
    },
    (text): Parsed<'wait' | 'leave-out'> =>
      text === 'wait' || text === 'leave-out'
        ? taken(text)
        : refused({ code: 'not_offered', offered: ['wait', 'leave-out'] }),
  );
}

/** In how many orders an e-mail of the order is that of its customer: keys that happen to be there prove nothing. */
function sameTexts({ facts }: Schema, orders: TableFacts, customers: TableFacts, link: Link) {
  const mail = ({ columns }: TableFacts) =>
    columns.find(
      ({ column, samples }) =>
        column.kind === 'text' && samples.length > 0 && samples.every((one) => /^\S+@\S+$/.test(one)),
    );
  const [own, other] = [mail(orders)?.column.name, mail(customers)?.column.name];
  if (own === undefined || other === undefined) return null;
  return facts.get(['same', nameOf(orders.table), nameOf(customers.table), link], async (snapshot) => {
    const quote = snapshot.dialect.quoteIdentifier;
    const on = link.columns.map((name, at) => `c.${quote(link.referenced[at] ?? '')} = o.${quote(name)}`).join(' AND ');
    const [a, b] = [`LOWER(o.${quote(own)})`, `LOWER(c.${quote(other)})`];
    const some = `SELECT CASE WHEN ${a} = ${b} THEN 1 ELSE 0 END AS is_same FROM ${tableSql(snapshot.dialect, orders.table)} o JOIN ${tableSql(snapshot.dialect, customers.table)} c ON ${on} WHERE ${a} IS NOT NULL AND ${b} IS NOT NULL LIMIT 10000`;
    const { rows } = await snapshot.query(
      sql`SELECT COUNT(*) AS n, SUM(is_same) AS same FROM (${rawSql(some)}) s`,
      'compare the addresses of orders and customers',
    );
    return { own, other, same: Number(rows[0]?.same ?? 0), compared: Number(rows[0]?.n ?? 0) };
  });
}
