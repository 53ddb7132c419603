import type { EmptyColumn, LineAmount, LineProduct, RowFacts } from '../../model/facts/rows.js';
import { decimalText } from '../../model/minor-units.js';
import { isOutside, openOutside } from '../../model/outside.js';
import { quoted, type Sentence, type WordsFor } from '../sentence.js';

const correct = 'Correct it in the ERP.';
const plain = openOutside;

/** Words of a problem, with the line that has it. */
function at({ line }: { line?: number }, text: string, remedy: string): Sentence {
  return { text: line === undefined ? text : `line ${line}: ${text}`, remedy };
}

function emptyColumn({ column, value }: EmptyColumn): string {
  if (isOutside(value)) return `${column} is ${plain(value)}, which is no date`;
  return value === 'nothing' ? `${column} is empty` : `${column} holds no text`;
}

function productInWords({ qty, column, price, discount }: LineProduct): string {
  const less = discount === undefined ? '' : ` less ${discount.column} ${plain(discount.value)}`;
  return `${plain(qty)} × ${column ?? 'price'} ${quoted(price)}${less}`;
}

function amountInWords(of: LineAmount): string {
  return 'column' in of ? `${of.column} ${of.amount}` : `${of.amount} (${productInWords(of.product)})`;
}

function count(n: number, one: string): string {
  return `${n} ${one}${n === 1 ? '' : 's'}`;
}

const names = { customer_code: 'customer_code', number: 'the number' } as const;

export const rowWords: WordsFor<RowFacts> = {
  value_missing: (fact) => {
    const text = fact.columns.map(emptyColumn).join(', and ') || `${fact.field} is not a text`;
    const orElse = fact.mayBeOptional ? `, or set optional: true for ${fact.field}` : '';
    return at(fact, text, `Correct it in the ERP${orElse}.`);
  },
  not_text: (fact) => at(fact, `${fact.column} holds bytes that are not text`, correct),
  not_a_number: (fact) => at(fact, `${fact.column} ${quoted(fact.value)} is not a number`, correct),
  not_whole: (fact) => at(fact, `${fact.column} ${plain(fact.value)} is not a whole number`, correct),
  too_many_decimals: (fact) => {
    const text = `${fact.column} ${plain(fact.value)} has more than ${fact.scale} decimals`;
    const instead =
      fact.of === 'price'
        ? 'work the price out from the amount (orders.lines.amount or .unit)'
        : 'set amounts.rounding';
    return at(fact, text, `Correct the ${fact.of} in the ERP, or ${instead}.`);
  },
  number_too_large: (fact) => at(fact, `${fact.column} ${plain(fact.value)} is too large to be sent exactly`, correct),
  not_a_date: (fact) => at(fact, `${fact.column} ${quoted(fact.value)} is not a date`, correct),
  neither_yes_nor_no: (fact) => at(fact, `${fact.column} ${quoted(fact.value)} is neither yes nor no`, correct),
  code_without_word: (fact) => {
    const otherwise = `${fact.setting.slice(0, fact.setting.lastIndexOf('.'))}.otherwise`;
    const text = `${fact.column} ${quoted(fact.value)} has no word in ${fact.setting}`;
    return at(fact, text, `Add it there, or set ${otherwise}.`);
  },
  text_too_long: (fact) => {
    const text = `${fact.column} has ${fact.length} characters, more than the ${fact.maxLength} allowed`;
    return at(fact, text, 'Shorten it in the ERP.');
  },
  name_too_long: ({ name, length, maxLength }) => ({
    text: `${names[name]} has ${length} characters, more than the ${maxLength} that name a record`,
    remedy: correct,
  }),
  unit_without_factor: (fact) => {
    const text = `${fact.column} ${quoted(fact.value)} has no factor in orders.lines.unit.factors`;
    return at(fact, text, 'Add it there.');
  },
  quantity_not_whole: (fact) => {
    const unit = fact.unit === null ? '' : ` ${plain(fact.unit)}`;
    const text = `${plain(fact.qty)}${unit} × ${fact.factor} is not a whole quantity`;
    return at(fact, text, 'Correct it in the ERP, or the factor in orders.lines.unit.');
  },
  quantity_not_positive: (fact) => {
    const text = `${fact.column === null ? '' : `${fact.column} `}${plain(fact.value)} is not a positive quantity`;
    const remedy = fact.isZero
      ? 'Leave lines of nothing out in orders.lines.query.'
      : 'Keep returns and credit notes out with orders.pending.';
    return at(fact, text, remedy);
  },
  discount_out_of_range: (fact) => {
    const text = `${fact.column} ${plain(fact.value)} is no discount between 0 and ${fact.most}`;
    return at(fact, text, 'Correct it in the ERP, or orders.lines.discount.type.');
  },
  product_too_many_decimals: (fact) => {
    const text = `${productInWords(fact)} has more than ${fact.scale} decimals`;
    return at(fact, text, 'Correct it in the ERP, or set amounts.rounding.');
  },
  product_too_large: (fact) => at(fact, `${productInWords(fact)} is too large to be sent exactly`, correct),
  price_differs: (fact) => {
    const text = `${productInWords(fact)} does not come to ${fact.amountColumn} ${fact.amount}`;
    const remedy = 'Correct it in the ERP, or leave price out of orders.lines.fields where only the amount counts.';
    return at(fact, text, remedy);
  },
  no_price_for_amount: (fact) => {
    const nearest = `${fact.qty} × ${fact.price} is ${fact.comesTo}`;
    const text = `no price comes to ${amountInWords(fact.of)}: ${nearest}`;
    return at(fact, text, 'Name a SKU for the difference in orders.lines.rounding, or correct it in the ERP.');
  },
  currency_missing: ({ column }) => ({ text: `${column} is empty`, remedy: correct }),
  currency_not_listed: ({ column, value, known, currencies }) => {
    const more = currencies > known.length ? `, and ${currencies - known.length} more` : '';
    return {
      text: `${column} ${quoted(value)} is not among the currencies of the settings (${known.join(', ')}${more})`,
      remedy: 'Add it to amounts.currencies, or leave its orders out with orders.pending.',
    };
  },
  customer_not_named: ({ columns }) => ({
    text: `it names no customer (${columns.join(', ')} is empty)`,
    remedy: correct,
  }),
  customer_not_found: ({ customer, mayBeLeftOut }) => ({
    text: `its customer ${customer} is not in customers.query${mayBeLeftOut ? ', or customers.pending leaves it out' : ''}`,
    remedy: 'Correct the order in the ERP, or the query.',
  }),
  customer_not_sendable: ({ customer, because, problems }, say) => {
    const more = problems > 1 ? `, and ${count(problems - 1, 'more problem')}` : '';
    return {
      text: `its customer ${customer} can not be sent${because === undefined ? '' : `: ${say.fact(because)}${more}`}`,
      remedy: (because && say.remedy(because)) ?? 'Correct the customer in the ERP.',
    };
  },
  no_lines: ({ texts }) => ({
    text: `it has no lines${texts > 0 ? ' but texts, which orders.lines.text skips' : ''}`,
    remedy: 'Add them in the ERP, or cancel the order there.',
  }),
  lines_too_large: ({ sum, scale = 0 }) => ({
    text: `its lines add up to ${decimalText(sum, scale)}, which is too large to be sent exactly`,
    remedy: correct,
  }),
  lines_total_differs: ({ found, expected, currency, scale }) => {
    const [lines, order] = [found, expected].map((minor) => decimalText(minor, scale));
    return {
      text: `the lines add up to ${lines} ${currency}, the order says ${order} ${currency}`,
      remedy:
        'Correct the order in the ERP; if it is right there, let the settings read the same on both sides (orders.total, orders.lines).',
    };
  },
  lines_may_follow: ({ settleSeconds }) => `looks like this since just now; waits ${settleSeconds} s for its lines`,
  key_repeated: ({ setting, rows }) => ({
    text: `${setting} yields ${rows} rows with this key; it must yield one`,
    remedy: 'Look for a join that multiplies rows.',
  }),
  key_empty: ({ setting }) => ({
    text: `${setting} yields a row whose key is empty`,
    remedy: 'Give it a key in the ERP, or leave it out in the query.',
  }),
  key_ambiguous: ({ equal, known }) => {
    const list = (keys: readonly string[]) => keys.map((key) => `"${key}"`).join(', ');
    const text = `the ERP calls the keys ${list(equal)} equal, so which of its rows was captured as ${list(known)} is not known`;
    return { text, remedy: 'Give that row its key in this spelling again.' };
  },
  field_required: (fact) => at(fact, `the service wants ${fact.field}, which is missing (${fact.setting})`, correct),
  field_too_long: (fact) => {
    const { field, length, unit, maxLength, setting } = fact;
    const text = `${field} has ${length} ${unit}, more than the ${maxLength} that the service takes (${setting})`;
    return at(fact, text, correct);
  },
  body_too_large: ({ bytes, maxBytes }) => ({
    text: `it is ${bytes} bytes large, and the service takes ${maxBytes} (service.maxRequestBytes)`,
    remedy: correct,
  }),
  several_problems: ({ problems, count: all }, say) => {
    const more = all > problems.length ? [`and ${all - problems.length} more`] : [];
    return {
      text: [...problems.map(say.fact), ...more].join('; '),
      remedy: [...new Set(problems.flatMap((problem) => say.remedy(problem) ?? []))].join(' '),
    };
  },
};
