import type { ErpDialect } from '../../../db/erp-database.js';
import type { ValueCount } from '../../../erp/catalogue.js';
import { parseWrittenTime } from '../../../model/written-time.js';
import { allConditions, closedOff, isOneOf } from './compose-settings.js';
import { currencyIn } from './currency-sources.js';
import type { Answers, Draft, Pending } from './draft.js';
import { choicesOf } from './few-values.js';
import { type Choice, InitError, type Interview } from './interview.js';
import type { OrderFacts } from './order-facts.js';
import { valuesIn } from './which-rows.js';

/** As many values are counted: where there are more, the list is not whole. */
const MOST_VALUES = 30;

/** Drafts and cancelled orders among them: which ones are sent is another question. */
const choicesInAnyState = (counts: readonly ValueCount[]): Choice[] =>
  choicesOf(counts).map(({ value, note }) => ({ value, note: `${note} in any state` }));

/** Asks what neither the schema nor the data says: which orders, in what money, from when on. Null: something stays open. */
export async function settleAnswers(
  interview: Interview,
  draft: Draft,
  facts: OrderFacts,
  dialect: ErpDialect,
  suggestedName: string,
): Promise<Answers | null> {
  const timeZone =
    draft.timeZone === undefined
      ? await interview.answer(
          { name: 'time-zone', text: 'In which time zone are the dates of the ERP, such as Europe/Berlin?' },
          isTimeZone,
        )
      : interview.settle('time-zone', draft.timeZone, `${draft.title} keeps times in it`, isTimeZone);
  const company = await companyCondition(interview, draft, facts, dialect);
  const currency = await currencyOf(interview, draft.orders, facts);
  const { asked } = draft.orders;
  const pending = asked === undefined ? await pendingCondition(interview, draft, facts, dialect) : asked.pending;
  const startFrom = await startOf(interview, draft, facts);
  const textLines = await textLinesOf(interview, facts);
  const installation = await interview.answer(
    { name: 'installation', text: 'A name for this installation, which no other has?', suggestion: suggestedName },
    (text) =>
      /^[A-Za-z0-9][A-Za-z0-9._-]{2,63}$/.test(text)
        ? null
        : 'write 3 to 64 letters, digits, dots, dashes or underscores',
  );
  if (interview.open.length > 0 || timeZone === null || currency === null || pending === null) return null;
  if (startFrom === null || installation === null) return null;
  const column = draft.orders.currency;
  const isKnown = column !== undefined && facts.currencies.length > 0;
  // As the ERP writes it: `eur` as well.
  const spelled = facts.currencies.flatMap(({ value }) =>
    value !== null && currencyIn(value) === currency ? value : [],
  );
  const isIn = isKnown ? isOneOf(dialect, column, spelled.length > 0 ? spelled : [currency], false) : null;
  const { condition, isWritten } = pending;
  const chosen = [company, isIn].filter((one) => one !== null);
  const closed = isWritten && chosen.length > 0 ? closedOff(condition) : condition;
  const mayBeSent = condition === 'all' ? null : closed;
  const all = allConditions([mayBeSent, ...chosen]);
  return { installation, timeZone, currency, pending: all, startFrom, textLines };
}

function isTimeZone(text: string): string | null {
  try {
    new Intl.DateTimeFormat('en', { timeZone: text });
    // An offset knows no daylight saving time.
    if (/^[A-Za-z]/.test(text)) return null;
  } catch {
    // Said below.
  }
  return 'no such time zone; write a name such as Europe/Berlin or UTC';
}

/** A day that there is: the 31st of February is none. */
const isDate = (text: string) => parseWrittenTime(text)?.dateOnly === true;

/** The first date or key, as its column writes it; or all. */
async function startOf(interview: Interview, { orders }: Draft, facts: OrderFacts): Promise<string | null> {
  const { startColumn: column } = orders;
  if (facts.start === 'none')
    return interview.answer(
      {
        name: 'start-from',
        text: `From which ${column} on are orders sent, or all? Those before it never are. (No column that is called like the date of an order holds dates that can be compared; if another one does: --column order.created=NAME)`,
      },
      (text) => {
        if (text === 'all') return null;
        const isKey = facts.isNumber.start ? /^\d+$/.test(text) : parseWrittenTime(text) === null;
        return isKey ? null : `${column} holds no dates; write the first ${column} that is sent, or all`;
      },
    );
  const answer = await interview.answer(
    {
      name: 'start-from',
      text: `From which ${column} on are orders sent (YYYY-MM-DD), or all? Older ones never are.`,
      choices: facts.years.map(({ value, count }) => ({ value: value ?? 'without a date', note: inOrders(count) })),
    },
    (text) => (text === 'all' || isDate(text) ? null : 'write a date such as 2026-01-01, or all'),
  );
  return answer !== null && isDate(answer) && facts.start === 'compact' ? answer.replaceAll('-', '') : answer;
}

/** The only currency of a known ERP's orders is no guess; of several, and of an unknown schema, a person chooses. */
async function currencyOf(
  interview: Interview,
  { asked, currencyColumn }: Draft['orders'],
  { currencies }: OrderFacts,
): Promise<string | null> {
  const codes = new Map<string, number>();
  for (const { value, count } of currencies) {
    const code = currencyIn(value);
    if (code !== null) codes.set(code, (codes.get(code) ?? 0) + count);
  }
  const [only, ...others] = codes;
  const problem = (text: string) => {
    if (currencyIn(text) !== text) return 'write the three letters of ISO 4217, such as EUR';
    if (codes.size === 0 || codes.has(text) || currencies.length >= MOST_VALUES) return null;
    return `no order has it; there are ${[...codes.keys()].join(', ')}`;
  };
  if (asked === undefined && only && others.length === 0 && currencies.every(({ value }) => currencyIn(value) !== null))
    return interview.settle('currency', only[0], `the only one, in ${inOrders(only[1])}`, problem);
  const which = 'The orders of which currency are sent?';
  const instead =
    asked && codes.size > 0
      ? ` They are told by ${currencyColumn}; if it holds none: --column order.currency=NAME, or none.`
      : '';
  return interview.answer(
    {
      name: 'currency',
      text: codes.size > 0 ? `${which}${instead}` : 'In which currency are the amounts, such as EUR?',
      choices: choicesInAnyState(currencies),
    },
    problem,
  );
}

async function companyCondition(
  interview: Interview,
  { title, orders }: Draft,
  facts: OrderFacts,
  dialect: ErpDialect,
): Promise<string | null> {
  const { company } = orders;
  const given = interview.isGiven('company');
  if (company === undefined && given !== undefined)
    throw new InitError(
      `--company ${given}: the orders of ${title} say no company. Leave it out, or ${orders.asked ? 'name its column: --orders-with COLUMN=VALUE' : 'name the tables of the company: --table-prefix'}`,
    );
  if (company === undefined || (facts.companies.length < 2 && given === undefined)) return null;
  const isWhole = facts.companies.length < MOST_VALUES;
  const there = facts.companies.map(({ value }) => value ?? 'NULL').join(', ') || 'none';
  const answer = await interview.answer(
    { name: 'company', text: `The orders of which ${company} are sent?`, choices: choicesInAnyState(facts.companies) },
    (text) =>
      text === 'all' || !isWhole || facts.companies.some(({ value }) => value === text)
        ? null
        : `no order has it; there are ${there}`,
  );
  return answer === null || answer === 'all' ? null : isOneOf(dialect, company, [answer], facts.isNumber.company);
}

/** Takes what the codes of a known ERP mean, unless a flag says which orders may be sent. */
async function pendingCondition(
  interview: Interview,
  { title, orders: { confirmed, status } }: Draft,
  { statuses, isNumber }: OrderFacts,
  dialect: ErpDialect,
): Promise<Pending | null> {
  const written = interview.isGiven('pending');
  if (written !== undefined) return { condition: written, isWritten: true };
  const own = (condition: string): Pending => ({ condition, isWritten: false });
  if (confirmed !== undefined && (status === undefined || interview.isGiven('status') === undefined))
    return own(interview.settle('pending', confirmed.condition, `${confirmed.meaning} in ${title}`));
  const known = new Set(statuses.map(({ value }) => value ?? 'NULL'));
  const answer = await interview.answer(
    {
      name: 'status',
      text: `Orders with which ${status} may be sent? Several with commas between them, or all.`,
      choices: choicesOf(statuses),
    },
    (text) => {
      const isWhole = statuses.length < MOST_VALUES;
      const unknown = text === 'all' || !isWhole ? [] : valuesIn(text).filter((one) => !known.has(one));
      return unknown.length === 0 ? null : `no order has ${unknown.join(', ')}; there are ${[...known].join(', ')}`;
    },
  );
  if (answer === null || status === undefined) return null;
  return own(answer === 'all' ? answer : isOneOf(dialect, status, valuesIn(answer), isNumber.status));
}

/** Without an answer, an order with a priced line that has no SKU is parked: it is shown to a person. */
async function textLinesOf(interview: Interview, { linesWithoutSku }: OrderFacts): Promise<Answers['textLines']> {
  const { priced, texts } = linesWithoutSku;
  const reason = `${priced + texts} lines have no SKU, ${priced} of them a price`;
  if (priced + texts === 0 && interview.isGiven('text-lines') === undefined) return null;
  const answer = await interview.answer({
    name: 'text-lines',
    text: `${reason}. A SKU for them, or skip: those without a price are left out, the others need a person.`,
    // A line without a price changes no money; about one with a price a person decides.
    ...(priced === 0 && { suggestion: 'skip', reason }),
  });
  return answer === null || answer === 'skip' ? 'skip' : { sku: answer };
}

function inOrders(count: number): string {
  return count === 1 ? '1 order' : `${count} orders`;
}
