import { type CatalogueColumn, type CatalogueTable, nameOf } from '../../../erp/catalogue.js';
import type { Candidate, Evidence, MoneySum, OrderDifference, SetupQuestion } from '../../../model/setup-questions.js';
import { askCurrency } from './ask-rest.js';
import { refused, taken } from './asking.js';
import { type Agreement, compareTotals, differences, type LinesOfOrders } from './compare-totals.js';
import type { CustomerChoice, MoneyChoice, SkuChoice } from './compose-draft.js';
import { type CurrencySource, currencySources } from './currency-sources.js';
import type { Link } from './links.js';
import { isWholeMoney, type MoneyColumns, type MoneyUnit, type MoneyWay, moneyWay, numbersOf } from './money.js';
import { columnCalled, conditionsFor, parseRowChoice, type RowChoice } from './row-choices.js';
import { askColumn, listed, type Schema, tableFacts, withoutRole } from './schema.js';
import type { ColumnFacts, TableFacts } from './table-facts.js';

interface MoneyOf {
  orders: CatalogueTable;
  lines: CatalogueTable;
  link: Link;
  /** The column that people know an order by. */
  number: string | undefined;
  sku: SkuChoice | undefined;
  customers: CatalogueTable | undefined;
  customer: CustomerChoice | undefined;
}

/** Columns compared at most. Those with the most different values come first: an amount differs from row to row. */
const MOST_TOTALS = 10;
const MOST_MONEY = 12;
const MOST_QUANTITIES = 6;
/** As many orders that differ are named. */
const NAMED_TOTALS = 4;

/**
 * Asks for the quantity, the price or amount, the discount, the unit, the total and the currency, with what the data says.
 * @returns the columns of the orders that the money uses, and the whole choice if nothing is open
 */
export function askMoney(schema: Schema, of: MoneyOf): { columns: string[]; whole: MoneyChoice | undefined } {
  const { orders, lines } = of;
  const [ordersFacts, linesFacts] = [tableFacts(schema, orders), tableFacts(schema, lines)];
  if (ordersFacts === undefined || linesFacts === undefined) return { columns: [], whole: undefined };
  const asked = askAmounts(schema, of, ordersFacts, linesFacts);
  const currency = askCurrencyColumn(schema, of);
  const code =
    currency === undefined
      ? undefined
      : askCurrency(schema.asking, { column: currency?.label, currencies: currency?.codes ?? [], isAsked: true });
  const columns = [...(asked?.total ? [asked.total.name] : []), ...(currency?.columns ?? [])];
  if (asked === undefined || currency === undefined) return { columns, whole: undefined };
  const { total, way, qty, unit, filter } = asked;
  if (code === undefined) return { columns, whole: undefined };
  return {
    columns,
    whole: { qty, way, unit, total, lineFilter: filter.condition, joinsOrder: filter.joinsOrder, currency },
  };
}

/** The lines that are sent. */
interface LineFilter {
  condition: string | null;
  joinsOrder: boolean;
}

function askAmounts(schema: Schema, of: MoneyOf, ordersFacts: TableFacts, linesFacts: TableFacts) {
  const { asking, dialect } = schema;
  const { orders, lines, link } = of;
  const numbers = numbersOf(linesFacts, link, 'columns');
  const totals = mostDifferent(
    numbersOf(ordersFacts, link, 'referenced'),
    MOST_TOTALS,
    asking.given('order.total'),
  ).map(({ column }) => column);
  const qty = askQuantity(schema, lines, numbers);
  const isOther = ({ column }: ColumnFacts) => column.name !== qty?.name;
  const role = asking.given('line.amount').length > 0 ? 'line.amount' : 'line.price';
  const given = chosenLineFilter(schema, of);
  const money = askMoneyColumn(schema, { of, role, qty, numbers: numbers.filter(isOther), totals, filter: given });
  const [saidDiscount] = asking.given('line.discount');
  if (qty === undefined || money === undefined) return undefined;
  const filter = askLineFilter(schema, of, linesFacts, [qty.name, money.column.name, saidDiscount]);
  const way = (discount: MoneyColumns['discount'], unit: MoneyUnit = 'major') =>
    moneyWay(dialect, { qty, money: money.column, role: money.role, discount }, unit);
  // In which unit both are makes no difference to what agrees.
  const compare = (sums: readonly MoneyWay[]) => agreements(schema, of, filter ?? given, sums, totals);
  const discount = askDiscount(schema, {
    of,
    money,
    way,
    compare,
    totals,
    numbers: numbers.filter((one) => isOther(one) && one.column !== money.column),
  });
  if (discount === undefined) return undefined;
  const [figures] = compare([way(discount)]) ?? [];
  if (figures === undefined) return undefined;
  const total = askTotal(schema, of, { totals, figures, way: way(discount), filter: filter ?? given });
  if (total === undefined) return undefined;
  const unit = askUnit(schema, [money.column, ...(total === null ? [] : [total])], of);
  if (unit === undefined || filter === undefined) return undefined;
  const at = total === null ? -1 : totals.indexOf(total);
  const figure = figures[at];
  if (total !== null && figure !== undefined) {
    const named =
      figure.agreeing === figure.compared
        ? []
        : differing(schema, of, { filter, way: way(discount, unit), total, unit });
    if (named === undefined) return undefined;
    asking.tell({
      code: 'money',
      sum: way(discount).of,
      total: total.name,
      agreeing: figure.agreeing,
      compared: figure.compared,
      differing: named,
    });
  }
  for (const [index, { name }] of totals.entries()) {
    const other = figures[index];
    if (index !== at && other !== undefined && other.agreeing > 0 && other.agreeing < other.compared)
      asking.tell({
        code: 'other_total',
        total: name,
        agreeing: other.agreeing,
        compared: other.compared,
        apart: other.apart.toFixed(2),
      });
  }
  if (total === null) asking.tell({ code: 'no_total', isThere: totals.length > 0, table: nameOf(orders) });
  return { qty, way: way(discount, unit), unit, total, filter };
}

/** The columns with the most different values, and those that a person named, in the order of the table. */
function mostDifferent(columns: readonly ColumnFacts[], most: number, named: readonly string[] = []): ColumnFacts[] {
  const first = [...columns].sort((a, b) => b.different - a.different).slice(0, most);
  return columns.filter((one) => first.includes(one) || named.includes(one.column.name));
}

/** Compares ways with totals; undefined until it is read. */
function agreements(
  { facts }: Schema,
  { orders, lines, link }: MoneyOf,
  filter: LineFilter,
  ways: readonly MoneyWay[],
  totals: readonly CatalogueColumn[],
): Agreement[][] | undefined {
  const tables: LinesOfOrders = {
    orders,
    lines,
    lineLink: link,
    lineFilter: filter.condition,
    joinsOrder: filter.joinsOrder,
  };
  const sums = ways.map(({ sum }) => sum);
  const key = ['totals', nameOf(orders), nameOf(lines), link, filter, sums, totals.map(({ name }) => name)];
  return facts.get(key, (snapshot) => compareTotals(snapshot, tables, sums, totals, 'major'));
}

/** The first orders that do not come to a total; undefined until they are read. */
function differing(
  { facts }: Schema,
  { orders, lines, link, number }: MoneyOf,
  { filter, way, total, unit }: { filter: LineFilter; way: MoneyWay; total: CatalogueColumn; unit: MoneyUnit },
): OrderDifference[] | undefined {
  if (number === undefined) return [];
  const tables: LinesOfOrders = {
    orders,
    lines,
    lineLink: link,
    lineFilter: filter.condition,
    joinsOrder: filter.joinsOrder,
  };
  const { sum } = way;
  return facts.get(['differ', nameOf(orders), nameOf(lines), link, filter, sum, total.name, unit, number], (snapshot) =>
    differences(snapshot, tables, { sum, total, unit, number }),
  );
}

function askQuantity(
  schema: Schema,
  lines: CatalogueTable,
  numbers: readonly ColumnFacts[],
): CatalogueColumn | undefined {
  const candidates = listed(numbers, ({ low, high }) => [{ of: 'range', low, high }]);
  const name = askColumn(schema, lines, { step: 'money', role: 'line.qty', candidates }, (name) =>
    columnCalled(lines, name)?.kind === 'number' ? taken(name) : refused({ code: 'no_column_of_numbers' }),
  );
  return name === undefined ? undefined : columnCalled(lines, name);
}

interface ChosenMoney {
  column: CatalogueColumn;
  role: MoneySum['role'];
}

/** Each column as a price and as an amount with its best figure: those that agree most stand first. */
function askMoneyColumn(
  schema: Schema,
  {
    of,
    role,
    qty,
    numbers,
    totals,
    filter,
  }: {
    of: MoneyOf;
    role: MoneySum['role'];
    qty: CatalogueColumn | undefined;
    numbers: readonly ColumnFacts[];
    totals: readonly CatalogueColumn[];
    filter: LineFilter;
  },
): ChosenMoney | undefined {
  const { asking, dialect } = schema;
  const { lines } = of;
  const wanted = asking.given(role);
  const column = (name: string) => columnCalled(lines, name);
  const step = 'money' as const;
  if (role === 'line.amount') {
    const price = asking.given('line.price');
    const question: SetupQuestion = { step, flag: 'column', role, about: { table: nameOf(lines) }, candidates: [] };
    if (price.length > 0)
      asking.wrong.push({
        question,
        answer: wanted[0] ?? '',
        problem: { code: 'one_of_both', other: '--column line.price' },
      });
  }
  const quantities = qty ? [qty] : numbers.map((one) => one.column).slice(0, MOST_QUANTITIES);
  const tried = mostDifferent(numbers, MOST_MONEY).flatMap(({ column: money }) => [
    ...quantities
      .filter((one) => one !== money)
      .map((one) => moneyWay(dialect, { qty: one, money, role: 'line.price', discount: null }, 'major')),
    moneyWay(dialect, { qty: qty ?? money, money, role: 'line.amount', discount: null }, 'major'),
  ]);
  const figures = wanted.length > 0 ? [] : (agreements(schema, of, filter, tried, totals) ?? []);
  const best = new Map<string, { telling: number; evidence: Evidence[] }>();
  for (const { column: money, low, high } of numbers)
    for (const one of ['line.price', 'line.amount'] as const) {
      const none: Evidence[] = [
        { of: 'no_agreement', hasTotals: totals.length > 0 },
        { of: 'range', low, high },
      ];
      best.set(`${one}=${money.name}`, { telling: 0, evidence: none });
    }
  for (const [at, { of: sum }] of tried.entries())
    for (const [total, { agreeing, telling, compared }] of (figures[at] ?? []).entries()) {
      const value = `${sum.role}=${sum.column}`;
      if (telling > (best.get(value)?.telling ?? 0))
        best.set(value, {
          telling,
          evidence: [{ of: 'sum', sum, total: totals[total]?.name ?? '', agreeing, compared }],
        });
    }
  const candidates: Candidate[] = [...best]
    .sort(([, a], [, b]) => b.telling - a.telling)
    .map(([value, { evidence }]) => ({ value, evidence }));
  const question: SetupQuestion = { step, flag: 'column', role, about: { table: nameOf(lines) }, candidates };
  return asking.one(question, (text) => {
    const [, as = role, name = ''] = /^(?:(line\.price|line\.amount)=)?(.+)$/.exec(text) ?? [];
    const found = column(name);
    if (found === undefined)
      return refused({ code: 'no_such_column', table: nameOf(lines), columns: lines.columns.map(({ name }) => name) });
    return found.kind === 'number'
      ? taken({ column: found, role: as as MoneySum['role'] })
      : refused({ code: 'no_column_of_numbers' });
  });
}

/** The discount beside a price that no total proves: null, where the price is what is left. */
function askDiscount(
  schema: Schema,
  {
    of,
    money,
    way,
    compare,
    totals,
    numbers,
  }: {
    of: MoneyOf;
    money: ChosenMoney;
    way: (discount: MoneyColumns['discount']) => MoneyWay;
    compare: (ways: readonly MoneyWay[]) => Agreement[][] | undefined;
    totals: readonly CatalogueColumn[];
    numbers: readonly ColumnFacts[];
  },
): MoneyColumns['discount'] | undefined {
  const { asking } = schema;
  const isSaid = asking.given('line.discount').length > 0;
  if (money.role === 'line.amount') return null;
  const [plain] = compare([way(null)]) ?? [];
  if (plain === undefined) return undefined;
  const isProven = plain.some(({ agreeing, compared }) => compared > 0 && agreeing === compared);
  if (!isSaid && (isProven || numbers.length === 0)) return null;
  const units = ['percent', 'fraction'] as const;
  const tried = mostDifferent(numbers, MOST_MONEY).flatMap(({ column }) => units.map((unit) => ({ column, unit })));
  const figures = compare(tried.map(way));
  if (figures === undefined) return undefined;
  const bestOf = (figure: readonly Agreement[] | undefined) => {
    const all = (figure ?? []).map((one, at) => ({ ...one, total: totals[at]?.name ?? '' }));
    return all.sort((a, b) => b.telling - a.telling || b.agreeing - a.agreeing)[0];
  };
  const evidence = (name: string, unit?: (typeof units)[number]): Evidence[] => {
    const best = tried
      .flatMap((one, at) => {
        const figure =
          one.column.name === name && (unit === undefined || one.unit === unit) ? bestOf(figures[at]) : undefined;
        return figure === undefined ? [] : [{ ...figure, sum: way(one).of }];
      })
      .sort((a, b) => b.telling - a.telling)[0];
    return best === undefined
      ? []
      : [{ of: 'sum', sum: best.sum, total: best.total, agreeing: best.agreeing, compared: best.compared }];
  };
  const candidates = listed(numbers, (one) => [
    { of: 'range', low: one.low, high: one.high },
    ...evidence(one.column.name),
  ]);
  const name = askColumn(schema, of.lines, {
    step: 'money',
    role: 'line.discount',
    candidates,
    mayBeNone: true,
    about: { column: money.column.name },
  });
  if (name === undefined) return undefined;
  const column = columnCalled(of.lines, name);
  if (column === undefined) return null;
  const own = bestOf(plain);
  const plainly: Evidence[] =
    own === undefined
      ? []
      : [{ of: 'sum', sum: way(null).of, total: own.total, agreeing: own.agreeing, compared: own.compared }];
  const meanings = [...units, 'none'] as const;
  const unit = asking.one(
    {
      ...{ step: 'money', flag: 'discount', about: { column: name } },
      candidates: meanings.map((value) => ({
        ...{
          value,
          evidence: [{ of: 'meaning', meaning: value }, ...(value === 'none' ? plainly : evidence(name, value))],
        },
      })),
    },
    (text) => {
      const found = meanings.find((one) => one === text);
      return found === undefined ? refused({ code: 'not_offered', offered: meanings }) : taken(found);
    },
  );
  if (unit === undefined) return undefined;
  return unit === 'none' ? null : { column, unit };
}

/** The total to check against; null: none. Every total is shown with the orders that do not come to it. */
function askTotal(
  schema: Schema,
  of: MoneyOf,
  {
    totals,
    figures,
    way,
    filter,
  }: { totals: readonly CatalogueColumn[]; figures: readonly Agreement[]; way: MoneyWay; filter: LineFilter },
): CatalogueColumn | null | undefined {
  const { orders } = of;
  if (totals.length === 0 && schema.asking.given('order.total').length === 0) return null;
  const shown = totals
    .map((column, at) => ({ column, ...(figures[at] ?? { agreeing: 0, telling: 0, compared: 0, apart: 0 }) }))
    .sort((a, b) => b.telling - a.telling || b.agreeing - a.agreeing);
  const candidates = shown.map(({ column, agreeing, compared, apart }, at): Candidate => {
    const isClose = agreeing > 0 && agreeing < compared && at < NAMED_TOTALS;
    const named = isClose ? (differing(schema, of, { filter, way, total: column, unit: 'major' }) ?? []) : [];
    return {
      value: column.name,
      evidence: [{ of: 'agrees', agreeing, compared, apart: apart.toFixed(2), differing: named }],
    };
  });
  const name = askColumn(schema, orders, { step: 'money', role: 'order.total', candidates, mayBeNone: true }, (name) =>
    columnCalled(orders, name)?.kind === 'number' ? taken(name) : refused({ code: 'no_column_of_numbers' }),
  );
  if (name === undefined) return undefined;
  return name === 'none' ? null : (columnCalled(orders, name) ?? null);
}

/** Whole numbers may be euros or cents, and totals in the same unit would agree in either. */
function askUnit(
  { asking }: Schema,
  columns: readonly CatalogueColumn[],
  { orders, lines }: MoneyOf,
): MoneyUnit | undefined {
  const unclear = columns.filter(isWholeMoney).map(({ name }) => name);
  const units = ['major', 'minor'] as const;
  const question: SetupQuestion = {
    ...{ step: 'money', flag: 'money-unit', about: { columns: unclear, table: nameOf(orders), other: nameOf(lines) } },
    candidates: units.map((value) => ({ value, evidence: [] })),
  };
  if (unclear.length === 0) {
    const [unused] = asking.given('money-unit');
    if (unused !== undefined)
      asking.wrong.push({ question, answer: unused, problem: { code: 'no_use', because: 'no_unclear_unit' } });
    return 'major';
  }
  return asking.one(question, (text) => {
    const unit = units.find((one) => one === text);
    return unit === undefined ? refused({ code: 'not_offered', offered: units }) : taken(unit);
  });
}

/** The columns of the lines that may tell them apart, or that make a line another amount. */
function tellingColumns(
  { sku, link }: MoneyOf,
  linesFacts: TableFacts,
  skipped: readonly (string | undefined)[],
): ColumnFacts[] {
  const { table, columns } = linesFacts;
  // A key of one column, or a number within the order, tells every line apart. Other parts of a key may be versions.
  const numbering = table.indexes
    .filter(({ isUnique }) => isUnique)
    .map((index) => index.columns.filter((name) => !link.columns.includes(name)))
    .flatMap((rest) => (rest.length === 1 ? rest : []));
  const own = [
    ...skipped,
    ...link.columns,
    ...numbering,
    ...(sku ? [sku.column, ...(sku.via?.link.columns ?? [])] : []),
  ];
  return columns.filter(({ tells, column }) => tells && !own.includes(column.name));
}

function parsedLineRows({ orders, lines }: MoneyOf, told: readonly ColumnFacts[], text: string) {
  return parseRowChoice(text, lines, told, orders);
}

function filterFor(schema: Schema, { lines }: MoneyOf, choices: readonly RowChoice[]): LineFilter {
  const conditions = conditionsFor(choices, lines, schema.dialect, 'l.');
  return { condition: conditions.join(' AND ') || null, joinsOrder: choices.some(({ ofOrder }) => ofOrder !== null) };
}

/** The filter that answers already say: the figures beside other questions are those of the lines that are sent. */
function chosenLineFilter(schema: Schema, of: MoneyOf): LineFilter {
  const choices = schema.asking.given('lines-with').flatMap((text) => {
    const parsed = text === 'none' ? undefined : parsedLineRows(of, [], text);
    return parsed && 'value' in parsed ? [parsed.value] : [];
  });
  return filterFor(schema, of, choices);
}

function askLineFilter(
  schema: Schema,
  of: MoneyOf,
  linesFacts: TableFacts,
  skipped: readonly (string | undefined)[],
): LineFilter | undefined {
  const { asking } = schema;
  const told = tellingColumns(of, linesFacts, skipped);
  const given = asking.given('lines-with');
  if (told.length === 0 && given.length === 0) return filterFor(schema, of, []);
  const isShared = (name: string) => columnCalled(of.orders, name) !== undefined;
  const question: SetupQuestion = {
    ...{ step: 'money', flag: 'lines-with', about: { table: nameOf(of.lines) }, isList: true },
    candidates: listed(told, ({ column, few }) => [
      { of: 'values', values: few ?? [] },
      ...(isShared(column.name) ? [{ of: 'shared' as const, column: column.name }] : []),
    ]),
  };
  const choices = asking.list(question, (text) => parsedLineRows(of, told, text));
  if (choices === undefined) return undefined;
  const used = choices.map(({ column }) => column);
  asking.tell(
    ...told
      .filter(({ column }) => !used.includes(column.name))
      .map(({ column, few }) => ({
        code: 'not_used' as const,
        flag: 'lines-with' as const,
        column: column.name,
        values: few ?? [],
      })),
  );
  return filterFor(schema, of, choices);
}

/** The place of the currency; null: no column says it. */
function askCurrencyColumn(
  schema: Schema,
  { orders, customers, customer }: MoneyOf,
): CurrencySource | null | undefined {
  const { asking, facts, catalogue } = schema;
  if (customer === undefined || customers === undefined) return undefined;
  const sources = facts.get(['currencies', nameOf(orders), nameOf(customers), customer.link], (snapshot) =>
    currencySources(snapshot, catalogue, orders, { table: customers, link: customer.link }),
  );
  if (sources === undefined) return undefined;
  if (sources.length === 0 && asking.given('order.currency').length === 0) return null;
  const labels = sources.map(({ label }) => label);
  const question: SetupQuestion = {
    ...{ step: 'money', flag: 'column', role: 'order.currency', about: { table: nameOf(orders) } },
    candidates: sources.map(({ label, codes }) => ({
      value: `order.currency=${label}`,
      evidence: [{ of: 'values', values: codes }],
    })),
  };
  return asking.one(question, (text) => {
    const label = withoutRole('order.currency', text);
    if (label === 'none') return taken(null);
    const source = sources.find((one) => one.label.toLowerCase() === label.toLowerCase());
    return source === undefined ? refused({ code: 'not_offered', offered: [...labels, 'none'] }) : taken(source);
  });
}
