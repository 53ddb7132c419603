import type { ErpDialect } from '../../../db/erp-database.js';
import type { ValueCount } from '../../../erp/catalogue.js';
import type { Candidate, SetupProblem, SetupQuestion } from '../../../model/setup-questions.js';
import { parseWrittenTime } from '../../../model/written-time.js';
import { type Asking, type Parsed, refused, taken } from './asking.js';
import { allConditions, closedOff, isOneOf } from './compose-settings.js';
import { currencyIn } from './currency-sources.js';
import type { DateForm } from './date-form.js';
import type { Answers, Draft, Pending } from './draft.js';
import type { OrderFacts } from './order-facts.js';
import { problemWith, shownValue, valuesIn } from './row-choices.js';
import { isZone } from './schema.js';

/** As many values are counted: where there are more, the list is not whole. */
const MOST_VALUES = 30;

const counted = (counts: readonly ValueCount[], isInAnyState: boolean): Candidate[] =>
  counts.map(({ value, count }) => ({ value: shownValue(value), evidence: [{ of: 'count', count, isInAnyState }] }));

const isOk = (problem: SetupProblem | null, text: string): Parsed<string> =>
  problem === null ? taken(text) : refused(problem);

/** Asks what neither the schema nor the data of a draft says: in what money, from when on. Null: something stays open. */
export function askRest(
  asking: Asking,
  draft: Draft,
  facts: OrderFacts,
  dialect: ErpDialect,
  suggestedName: string,
): Answers | null {
  const timeZone = askTimeZone(asking, draft);
  const company = askCompany(asking, draft, facts, dialect);
  const currency = askCurrency(asking, {
    ...{ column: draft.orders.currency, currencies: facts.currencies, isAsked: draft.orders.asked !== undefined },
  });
  const pending = draft.orders.asked?.pending ?? askPending(asking, draft, facts, dialect);
  const { startColumn: column } = draft.orders;
  const { start: form, years, isNumber } = facts;
  const startFrom = askStart(asking, { column, form, years, isNumber: isNumber.start });
  const textLines = askTextLines(asking, facts);
  const installation = asking.one(
    { step: 'finish', flag: 'installation', about: {}, candidates: [], suggestion: suggestedName },
    (text) => isOk(/^[A-Za-z0-9][A-Za-z0-9._-]{2,63}$/.test(text) ? null : { code: 'no_installation' }, text),
  );
  if (timeZone === undefined || company === undefined || currency === undefined || pending === undefined) return null;
  if (startFrom === undefined || textLines === undefined || installation === undefined) return null;
  const isIn = currencyCondition(draft, facts, currency, dialect);
  const { condition, isWritten } = pending;
  const chosen = [company, isIn].filter((one) => one !== null);
  const closed = isWritten && chosen.length > 0 ? closedOff(condition) : condition;
  const all = allConditions([condition === 'all' ? null : closed, ...chosen]);
  return { installation, timeZone, currency, pending: all, startFrom, textLines };
}

/** The time zone of an ERP that always keeps the same is no question. */
export function askTimeZone(
  asking: Asking,
  { timeZone, title }: Pick<Draft, 'timeZone' | 'title'>,
): string | undefined {
  const question: SetupQuestion = { step: 'orders', flag: 'time-zone', about: {}, candidates: [] };
  const parse = (text: string) => isOk(isZone(text) ? null : { code: 'no_time_zone' }, text);
  if (timeZone === undefined || asking.given('time-zone').length > 0) return asking.one(question, parse);
  asking.tell({ code: 'time_zone', timeZone, title });
  return timeZone;
}

/** A day that there is: the 31st of February is none. */
const isDate = (text: string) => parseWrittenTime(text)?.dateOnly === true;

/** The evidence of the column that tells the first order. */
export interface StartFacts {
  column: string;
  form: DateForm;
  years: readonly ValueCount[];
  isNumber: boolean;
}

/** The first date or key, as its column writes it; or all. */
export function askStart(asking: Asking, { column, form, years, isNumber }: StartFacts): string | undefined {
  const isByKey = form === 'none';
  const question: SetupQuestion = {
    ...{ step: 'orders', flag: 'start-from', about: { column, startsByKey: isByKey } },
    candidates: isByKey ? [] : counted(years, false),
  };
  return asking.one(question, (text) => {
    if (text === 'all') return taken(text);
    if (isByKey) {
      const isKey = isNumber ? /^\d+$/.test(text) : parseWrittenTime(text) === null;
      return isOk(isKey ? null : { code: 'no_start_key', column }, text);
    }
    if (!isDate(text)) return refused({ code: 'no_date' });
    return taken(form === 'compact' ? text.replaceAll('-', '') : text);
  });
}

/** The only currency of a known ERP's orders is no guess; of several, and of an unknown schema, a person chooses. */
export function askCurrency(
  asking: Asking,
  { column, currencies, isAsked }: { column: string | undefined; currencies: readonly ValueCount[]; isAsked: boolean },
): string | undefined {
  const codes = new Map<string, number>();
  for (const { value, count } of currencies) {
    const code = currencyIn(value);
    if (code !== null) codes.set(code, (codes.get(code) ?? 0) + count);
  }
  const [only, ...others] = codes;
  const isOne = others.length === 0 && currencies.every(({ value }) => currencyIn(value) !== null);
  if (only !== undefined && !isAsked && isOne && asking.given('currency').length === 0) {
    asking.tell({ code: 'currency', currency: only[0], orders: only[1] });
    return only[0];
  }
  const question: SetupQuestion = {
    ...{ step: 'money', flag: 'currency', about: codes.size > 0 ? { column: column ?? '' } : {} },
    candidates: counted(currencies, true),
  };
  return asking.one(question, (text) => {
    if (currencyIn(text) !== text) return refused({ code: 'no_currency' });
    if (codes.size === 0 || codes.has(text) || currencies.length >= MOST_VALUES) return taken(text);
    return refused({ code: 'unknown_values', values: [text], there: [...codes.keys()], of: 'order' });
  });
}

/** The orders in a currency, as the ERP writes it: `eur` as well. */
function currencyCondition(
  { orders }: Draft,
  { currencies }: OrderFacts,
  currency: string,
  dialect: ErpDialect,
): string | null {
  if (orders.currency === undefined || currencies.length === 0) return null;
  const spelled = currencies.flatMap(({ value }) => (value !== null && currencyIn(value) === currency ? value : []));
  return isOneOf(dialect, orders.currency, spelled.length > 0 ? spelled : [currency], false);
}

/** The condition for one company of several; null: all. */
function askCompany(
  asking: Asking,
  { orders }: Draft,
  { companies, isNumber }: OrderFacts,
  dialect: ErpDialect,
): string | null | undefined {
  const { company } = orders;
  const question: SetupQuestion = {
    step: 'orders',
    flag: 'company',
    about: { column: company ?? '' },
    candidates: counted(companies, true),
  };
  const [given] = asking.given('company');
  if (company === undefined) {
    if (given !== undefined)
      asking.wrong.push({ question, answer: given, problem: { code: 'no_use', because: 'no_company' } });
    return null;
  }
  if (companies.length < 2 && given === undefined) return null;
  const isWhole = companies.length < MOST_VALUES;
  const there = companies.map(({ value }) => value ?? 'NULL');
  return asking.one(question, (text) => {
    if (text === 'all') return taken(null);
    if (isWhole && !there.includes(text))
      return refused({ code: 'unknown_values', values: [text], there, of: 'order' });
    return taken(isOneOf(dialect, company, [text], isNumber.company));
  });
}

/** Takes what the codes of a known ERP mean, unless a flag says which orders may be sent. */
function askPending(
  asking: Asking,
  { title, orders: { confirmed, status } }: Draft,
  { statuses, isNumber }: OrderFacts,
  dialect: ErpDialect,
): Pending | undefined {
  const [written] = asking.given('pending');
  if (written !== undefined) return { condition: written, isWritten: true };
  if (confirmed !== undefined && (status === undefined || asking.given('status').length === 0)) {
    asking.tell({ code: 'pending', ...confirmed, title });
    return { condition: confirmed.condition, isWritten: false };
  }
  const question: SetupQuestion = {
    ...{ step: 'orders', flag: 'status', about: { column: status ?? '', table: title } },
    candidates: counted(statuses, false),
  };
  return asking.one(question, (text): Parsed<Pending> => {
    if (text === 'all' || status === undefined) return taken({ condition: 'all', isWritten: false });
    const values = valuesIn(text);
    const problem = problemWith(values, null, isNumber.status);
    if (problem !== null) return refused(problem);
    const unknown = values.filter((one) => !statuses.some(({ value }) => (value ?? 'NULL') === one));
    if (statuses.length < MOST_VALUES && unknown.length > 0)
      asking.tell({ code: 'state_without_orders', flag: 'status', column: status, values: unknown });
    return taken({ condition: isOneOf(dialect, status, values, isNumber.status), isWritten: false });
  });
}

/** Without an answer, an order with a priced line that has no SKU is parked: it is shown to a person. */
function askTextLines(
  asking: Asking,
  { linesWithoutSku: { priced, texts } }: OrderFacts,
): Answers['textLines'] | undefined {
  const given = asking.given('text-lines').length > 0;
  if (priced + texts === 0 && !given) return null;
  // A line without a price changes no money; about one with a price a person decides.
  if (priced === 0 && !given) {
    asking.tell({ code: 'text_lines', priced, texts });
    return 'skip';
  }
  const question: SetupQuestion = { step: 'lines', flag: 'text-lines', about: { priced, texts }, candidates: [] };
  return asking.one(question, (text) => taken(text === 'skip' ? ('skip' as const) : { sku: text }));
}
