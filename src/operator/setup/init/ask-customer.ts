import { rawSql, sql } from '../../../db/sql.js';
import { type CatalogueTable, nameOf, tableSql } from '../../../erp/catalogue.js';
import type { Candidate, Evidence, SetupQuestion, SetupStep } from '../../../model/setup-questions.js';
import { type TableRole, tableCalled } from './ask-table.js';
import { type Parsed, refused, taken } from './asking.js';
import type { CustomerChoice } from './compose-draft.js';
import { columnsForLink, isKeyLike, type Link, linksBy, namedBy } from './links.js';
import { columnCalled, noSuchColumn } from './row-choices.js';
import { askColumn, linkFacts, listed, type Schema, tableFacts, withoutRole } from './schema.js';
import { type ColumnFacts, columnOf, filledOf, isUnique, type TableFacts } from './table-facts.js';

/** The column of the orders that names the buyer, from every key that the orders have to any table. */
export function askBuyer(schema: Schema, orders: CatalogueTable): string | undefined {
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
export function askCustomers(
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
export function askCustomer(
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
