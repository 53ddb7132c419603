import type {
  CountedValue,
  Evidence,
  MoneySum,
  OrderDifference,
  SetupNote,
  SetupProblem,
  SetupQuestion,
  SetupStep,
} from '../../model/setup-questions.js';

export const setupStepTitles: Record<SetupStep, string> = {
  orders: 'Orders',
  lines: 'Lines',
  customer: 'Customer',
  money: 'Money',
  finish: 'Installation',
};

const count = (n: number, one: string) => `${n} ${one}${n === 1 ? '' : 's'}`;
const list = (texts: readonly string[]) => texts.join(', ');
const shown = (value: string | null) => (value === '' ? "''" : (value ?? 'NULL'));

/** `open: 7, NULL: 2`, `2 (Quotation): 5` */
const values = (counted: readonly CountedValue[]) =>
  list(counted.map(({ value, count: n, words }) => `${shown(value)}${words ? ` (${words})` : ''}: ${n}`));

function moneySum({ role, column, qty, discount }: MoneySum): string {
  const sum = role === 'line.price' ? `${qty} × ${column}` : column;
  return discount === null ? sum : `${sum}, less ${discount.column} as a ${discount.unit},`;
}

function moneyMeaning({ role, column, discount }: MoneySum): string {
  if (role === 'line.amount') return `${column} is the amount of the line`;
  if (discount === null) return `${column} is the price for one`;
  return `${column} is the price for one, less ${discount.column} as a ${discount.unit === 'percent' ? 'percentage' : 'fraction'}`;
}

const differences = (orders: readonly OrderDifference[]) =>
  list(orders.map(({ order, lines, total }) => `${order} (lines ${lines}, ERP ${total})`));

function age(minutes: number): string {
  if (minutes < 0) return `${span(-minutes)} in the future`;
  return `${span(minutes)} ago`;
}
function span(minutes: number): string {
  if (minutes < 120) return count(minutes, 'minute');
  return minutes < 2880 ? count(Math.round(minutes / 60), 'hour') : count(Math.round(minutes / 1440), 'day');
}

/** Evidence in words: `10 orders`, `2 of 3 keys are there`. */
export function evidenceInWords(evidence: Evidence): string {
  switch (evidence.of) {
    case 'rows':
      return evidence.rows === null ? 'a view' : `${evidence.isAll ? '' : 'at least '}${count(evidence.rows, 'row')}`;
    case 'key_of':
      return `a key of ${evidence.table}`;
    case 'different':
      return `${evidence.different} different in ${count(evidence.rows, 'order')}`;
    case 'keys_found':
      return `${evidence.found} of ${evidence.looked} keys are there`;
    case 'same':
      return `${evidence.own} is ${evidence.other} in ${evidence.same} of ${count(evidence.compared, 'order')}`;
    case 'range':
      if (evidence.low === null || evidence.high === null) return 'empty in every row';
      return `${evidence.low} to ${evidence.high}`;
    case 'filled': {
      const { filled, rows, different, samples } = evidence;
      if (filled === 0) return 'empty in every row';
      const full = filled === rows ? `in all ${count(rows, 'row')}` : `in ${filled} of ${count(rows, 'row')}`;
      const such = samples.length === 0 ? '' : `, such as ${list(samples)}`;
      return different === filled && filled > 1
        ? `${full}, each another${such}`
        : `${full}, ${different} different${such}`;
    }
    case 'newest': {
      const { value, minutesAgo, timeZone } = evidence;
      return `newest ${value}${minutesAgo === null ? '' : `, ${age(minutesAgo)} in ${timeZone}`}`;
    }
    case 'values':
      return values(evidence.values);
    case 'count': {
      const { words, count: n, isInAnyState } = evidence;
      return `${words ? `${words}, ` : ''}${count(n, 'order')}${isInAnyState ? ' in any state' : ''}`;
    }
    case 'sum': {
      const { sum, total, agreeing, compared } = evidence;
      return `${moneySum(sum)} comes to ${total} in ${agreeing} of ${compared} orders`;
    }
    case 'no_agreement':
      return evidence.hasTotals ? 'comes to no total' : 'no total to compare';
    case 'agrees': {
      const { agreeing, compared, apart, differing } = evidence;
      const rest = compared - agreeing;
      const others = rest === 0 ? '' : `; the other ${rest} differ by ${apart} together`;
      const named = differing.length === 0 ? '' : `, such as ${differences(differing)}`;
      return `${agreeing} of ${compared} orders come to it${others}${named}`;
    }
    case 'meaning':
      return {
        percent: '7 takes off 7 %',
        fraction: '0.07 takes off 7 %',
        none: 'nothing: the price is what is left',
      }[evidence.meaning];
    case 'title':
      return evidence.title;
    case 'shared':
      return `the orders have ${evidence.column} too: ${evidence.column}=order.${evidence.column} takes the lines that have the same as their order`;
  }
}

/** The sentence of a question. */
export function setupQuestionInWords({ flag, role, about }: SetupQuestion): string {
  const { table = '', column = '', columns = [], hidden = 0 } = about;
  const others = hidden > 0 ? ` (${hidden} other ${hidden === 1 ? 'table is' : 'tables are'} not listed.)` : '';
  switch (role ?? flag) {
    case 'preset':
      return about.title === undefined
        ? 'The tables of several ERPs are there. Which are meant? none: read them as those of an ERP that is not known.'
        : `These are the tables of ${about.title}. Take them so? none: read them as those of an ERP that is not known.`;
    case 'table-prefix':
      return `The tables of ${about.title} are there several times. Which are meant?`;
    case 'orders-table':
      return `Which table holds the sales orders?${others}`;
    case 'lines-table':
      return `Which table holds their lines?${others}`;
    case 'customers-table':
      return `Which table holds the customers?${others}`;
    case 'order.number':
      return `Which column of ${table} is the number by which people know an order?`;
    case 'order.created':
      return `Which column of ${table} is the date of an order, and never changes? none: orders start at a key.`;
    case 'order.changedAt':
      return `Which column of ${table} says when the order was changed last? none: only sweeps find changes.`;
    case 'order.status':
      return `Which column of ${table} holds the state of an order? none: no column does.`;
    case 'order.customer':
      return `Which column of ${table} names its customer, the buyer? Another column can be named as well.`;
    case 'order.total':
      return `Which column of ${table} is what the lines of an order have to come to? An order that differs waits for a person. none: nothing checks the amounts.`;
    case 'order.currency':
      return `Which column of ${table} holds the currency of the amounts that are sent? none: no column does.`;
    case 'line.order':
      return `Which column of ${table} names the order that the line belongs to?`;
    case 'line.sku':
      return `Which column of ${table} is the SKU, or leads to it? COLUMN>TABLE.COLUMN: the column of a table that the first one leads to; none: no column does.`;
    case 'line.qty':
      return `Which column of ${table} is the quantity?`;
    case 'line.price':
    case 'line.amount':
      return `Which column of ${table} is the price for one, or the amount of the line? Others can be named as well: line.price=NAME`;
    case 'line.discount':
      return `Which column of ${table} is a discount that ${column} does not have yet? none: ${column} is what is left.`;
    case 'discount':
      return `What does ${column} take off the price? (Where a column holds the amount of the line, name that one instead: --column line.amount=NAME)`;
    case 'money-unit':
      return `${list(columns)} ${columns.length === 1 ? 'holds' : 'hold'} whole numbers. Is 1999 an amount of 1999.00 (major), or of 19.99 (minor)?`;
    case 'customer.key':
      return `Which column of ${table} does ${about.other} hold?`;
    case 'customer.code':
      return `Which column of ${table} is the code by which the service knows a customer? It has to be another one in each row.`;
    case 'customer.name':
      return `Which column of ${table} is the name? Join several with +, such as first_name+last_name; none: no name is sent.`;
    case 'customer-fields':
      return `Which other columns of ${table} are sent? Write FIELD=COLUMN, one at a time; the fields are ${list(columns)} (changedAt: when the customer was changed last). none: no others.`;
    case 'guests':
      return `${about.orders} of ${count(about.rows ?? 0, 'order')} have no ${column}, so no customer. wait: each of them waits for a person; leave-out: they are never sent. (docs/setup.md shows how to send guests.)`;
    case 'status':
      return `Orders with which ${column} may be sent? Several with commas between them, or all.`;
    case 'cancelled':
      return `Which ${column} means that an order is cancelled? Several with commas between them, or none.`;
    case 'completed':
      return `Which ${column} means that nothing more happens to an order? Several with commas between them, or none.`;
    case 'on-deleted':
      return 'An order that the service has is deleted in the ERP. Should the service keep it (nothing), or delete it (delete)?';
    case 'orders-with':
    case 'lines-with': {
      const which = flag === 'orders-with' ? 'orders' : 'lines';
      return `These columns of ${table} hold few values. Does one of them mark ${which} that must not be sent${which === 'lines' ? ', or make the line another amount' : ''}? Write COLUMN=VALUES for the values of the ${which} that may be sent, or none`;
    }
    case 'company':
      return `The orders of which ${column} are sent?`;
    case 'currency':
      return about.column === undefined
        ? 'In which currency are the amounts, such as EUR?'
        : 'The orders of which currency are sent?';
    case 'time-zone':
      return 'In which time zone are the dates of the ERP, such as Europe/Berlin?';
    case 'start-from':
      return about.startsByKey
        ? `From which ${column} on are orders sent, or all? Those before it never are. (If a column holds dates: --column order.created=NAME)`
        : `From which ${column} on are orders sent (YYYY-MM-DD), or all? Older ones never are.`;
    case 'text-lines': {
      const { priced = 0, texts = 0 } = about;
      return `${priced + texts} lines have no SKU, ${priced} of them a price. A SKU for them, or skip: those without a price are left out, the others need a person.`;
    }
    case 'installation':
      return 'A name for this installation, which no other has?';
    default:
      return '';
  }
}

/** Problem with an answer, as the end of `--flag answer: …`. */
export function setupProblemInWords(problem: SetupProblem): string {
  switch (problem.code) {
    case 'no_such_table':
      return 'the account sees no such table';
    case 'same_table':
      return 'name three different tables for the orders, their lines and the customers';
    case 'no_such_column':
      return `${problem.table} has ${list(problem.columns)}`;
    case 'no_column_of_numbers':
      return 'it is no column of numbers';
    case 'no_key':
      return `it can not hold a key of ${problem.of}. These columns of ${problem.in} can: ${list(problem.columns) || 'none'}`;
    case 'no_unique_key':
      return `it is no key; there are ${list(problem.columns)}`;
    case 'not_offered':
      return `write ${problem.offered.map((one) => one || "''").join(' or ')}`;
    case 'unknown_values':
      return `no ${problem.of} has ${list(problem.values.map(shown))}; there are ${list(problem.there) || 'none'}`;
    case 'no_numbers':
      return `${list(problem.values)} is no number`;
    case 'no_column_values':
      return `write COLUMN=VALUES, such as ${problem.example}, or none`;
    case 'no_role_value':
      return `write FIELD=COLUMN, such as ${problem.example}, or none`;
    case 'no_dates':
      return `${problem.table}.${problem.column} holds no dates that can be compared, such as 2026-01-31 or 20260131. Name another column, or none.`;
    case 'no_date':
      return 'write a date such as 2026-01-01, or all';
    case 'no_start_key':
      return `${problem.column} holds no dates; write the first ${problem.column} that is sent, or all`;
    case 'no_currency':
      return 'write the three letters of ISO 4217, such as EUR';
    case 'no_time_zone':
      return 'no such time zone; write a name such as Europe/Berlin or UTC';
    case 'no_installation':
      return 'write 3 to 64 letters, digits, dots, dashes or underscores';
    case 'sku_out_of_reach':
      return `no key of ${problem.table} leads to a table with it. Name the column that does: COLUMN>TABLE.COLUMN. If the way is longer, add the join to orders.lines.query by hand.`;
    case 'one_of_both':
      return `give this or ${problem.other}, not both`;
    case 'also_sent':
      return `orders with ${problem.value} may be sent, says --status`;
    case 'empty_column':
      return `${problem.column} is empty in every row`;
    case 'no_use':
      return {
        no_unclear_unit: 'the money is in no column of whole numbers. Leave it out.',
        not_asked: 'this is no question here. Leave it out.',
        no_company: 'no column here says a company. Leave it out, or name the column: --orders-with COLUMN=VALUE',
      }[problem.because];
    case 'of_known':
      return `these are the tables of ${problem.title}, where it is known. Leave it out, or read them as those of an unknown ERP: --preset none.`;
    case 'of_unknown':
      return `${problem.by === 'column' ? '--column' : '--preset none'} reads the tables as those of an unknown ERP. Name them: --orders-table, --lines-table, --customers-table.`;
    case 'columns_known':
      return 'its columns are known. Leave out --column, or write --preset none.';
    case 'not_that_erp':
      return 'these are not its tables. Leave --preset out: the tables are looked at then.';
    case 'no_prefix': {
      const there = problem.there.map(({ title, prefix }) => `those of ${title} under ${prefix || 'no prefix'}`);
      return `there are no tables of a known ERP under it; there are ${list(there) || 'none at all'}.`;
    }
  }
}

/** A note as the report shows it: the setting, its value, and the reason. */
export function setupNoteInWords(note: SetupNote): { name: string; value: string; reason: string } {
  switch (note.code) {
    case 'tables':
      return { name: 'tables', value: list(note.names), reason: 'orders, lines, customers' };
    case 'money': {
      const { sum, total, agreeing, compared, differing } = note;
      const rest = compared - agreeing - differing.length;
      const named =
        differing.length === 0
          ? ''
          : `; not ${differences(differing)}${rest > 0 ? ` and ${rest} more` : ''}: those wait for a person`;
      return {
        name: 'money',
        value: moneyMeaning(sum),
        reason: `${agreeing} of ${compared} orders come to their ${total}${named}`,
      };
    }
    case 'other_total':
      return {
        ...{ name: 'other total', value: note.total },
        reason: `${note.agreeing} of ${note.compared} orders come to it, the others differ by ${note.apart} together; it is not compared`,
      };
    case 'no_total':
      return {
        ...{ name: 'orders.total', value: 'none' },
        reason: note.isThere
          ? 'nothing checks the amounts'
          : `${note.table} has no column of amounts: nothing checks the amounts`,
      };
    case 'not_used':
      return {
        ...{ name: 'not used', value: `${note.column}: ${values(note.values)}` },
        reason: `if it marks ${note.flag === 'orders-with' ? 'orders' : 'lines'} that must not be sent: --${note.flag} ${note.column}=VALUES`,
      };
    case 'state_without_orders':
      return { name: note.flag, value: list(note.values), reason: `no order has such a ${note.column} yet` };
    case 'no_sku':
      return { name: 'sku', value: 'none', reason: `no line of ${note.table} has a SKU of its own` };
    case 'keys_unresolved':
      return {
        ...{ name: note.column, value: `${note.found} of ${note.looked} keys are there` },
        reason: `the orders with another one name no row of ${note.table}, and wait for a person`,
      };
    case 'other_parties':
      return {
        ...{ name: note.own, value: `is ${note.other} in ${note.same} of ${count(note.compared, 'order')}` },
        reason: 'the others may belong to another customer',
      };
    case 'currency':
      return { name: 'currency', value: note.currency, reason: `the only one, in ${count(note.orders, 'order')}` };
    case 'time_zone':
      return { name: 'time-zone', value: note.timeZone, reason: `${note.title} keeps times in it` };
    case 'pending':
      return { name: 'pending', value: note.condition, reason: `${note.meaning} in ${note.title}` };
    case 'total_left_out':
      return {
        ...{ name: 'orders.total', value: 'not compared' },
        reason: `${note.total} is not the sum of the lines in ${note.differing} of ${note.compared} orders`,
      };
    case 'text_lines':
      return {
        ...{ name: 'text-lines', value: 'skip' },
        reason: `${note.priced + note.texts} lines have no SKU, ${note.priced} of them a price`,
      };
  }
}
