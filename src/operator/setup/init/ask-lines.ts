import { type CatalogueTable, nameOf } from '../../../erp/catalogue.js';
import type { Candidate, SetupQuestion } from '../../../model/setup-questions.js';
import { type Parsed, refused, taken } from './asking.js';
import type { LinesChoice, SkuChoice } from './compose-draft.js';
import { columnsForLink, declaredLinks, isKeyLike, type Link, linksBy, namedBy } from './links.js';
import { columnCalled, noSuchColumn } from './row-choices.js';
import { askColumn, linkFacts, type Schema, tableFacts, withoutRole } from './schema.js';
import { byUnique, columnOf, filledOf, isBytes, type TableFacts } from './table-facts.js';

/** The link from the lines to the orders, and their SKU. */
export function askLines(schema: Schema, orders: CatalogueTable, lines: CatalogueTable): LinesChoice | undefined {
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
