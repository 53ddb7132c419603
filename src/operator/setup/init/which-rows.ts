import type { ErpDialect } from '../../../db/erp-database.js';
import { type CatalogueTable, nameOf } from '../../../erp/catalogue.js';
import { literalPattern } from '../../../model/literal-pattern.js';
import { allConditions, isOneOf } from './compose-settings.js';
import type { Pending } from './draft.js';
import { choicesOf, countsInWords, type FewValued, shownValue } from './few-values.js';
import { InitError, type Interview } from './interview.js';

/** The values that a person allows in columns of one table, as the flags say them: `COLUMN=VALUE,VALUE`, or `none`. */
export interface RowsRequest {
  flag: 'orders-with' | 'lines-with';
  table: CatalogueTable;
  /** Columns that may tell rows apart; a person is shown all of them. */
  told: readonly FewValued[];
  given: readonly string[];
}

/** Which rows may be sent: a condition for each column that a person named. Null: the question stays open. */
export type ChosenRows = ReadonlyMap<string, readonly string[]>;

/** Asks which values rows may have in the columns that tell them apart. With nothing to tell, nothing is asked. */
export async function askRows(interview: Interview, request: RowsRequest): Promise<ChosenRows | null> {
  const { flag, table, told, given } = request;
  const chosen = new Map<string, readonly string[]>();
  const add = (text: string) => {
    const parsed = parseChoice(request, text);
    if (typeof parsed === 'string') return parsed;
    if (parsed !== null) chosen.set(parsed.column, parsed.values);
    return null;
  };
  for (const text of given) {
    const wrong = add(text);
    if (wrong !== null) throw new InitError(`--${flag} ${text}: ${wrong}`);
  }
  if (told.length === 0 || given.length > 0) return chosen;
  const which = flag === 'orders-with' ? 'orders' : 'lines';
  for (let isFirst = true; ; isFirst = false) {
    const answer = await interview.answer(
      {
        name: flag,
        text: `${
          isFirst
            ? `These columns of ${nameOf(table)} hold few values. Does one of them mark ${which} that must not be sent?`
            : 'Another one?'
        } Write COLUMN=VALUES for the values of the ${which} that may be sent, or none`,
        choices: isFirst ? told.map(({ column, values }) => ({ value: column, note: countsInWords(values) })) : [],
        ...(!isFirst && { likely: 'none' }),
      },
      (text) => (text === 'none' ? null : add(text)),
    );
    if (answer === null) return null;
    if (answer === 'none') return chosen;
  }
}

/** Parses `COLUMN=VALUE,VALUE`; null for `none`, a text for a fault. */
function parseChoice(
  { table, told }: RowsRequest,
  text: string,
): { column: string; values: readonly string[] } | string | null {
  if (text === 'none') return null;
  const [, name = '', list = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  const column = table.columns.find((one) => one.name.toLowerCase() === name.trim().toLowerCase());
  if (column === undefined)
    return name === ''
      ? `write COLUMN=VALUES, such as ${told[0]?.column ?? 'status'}=${shownValue(told[0]?.values[0]?.value ?? null)}, or none`
      : `${nameOf(table)} has ${table.columns.map((one) => one.name).join(', ')}`;
  const values = valuesIn(list);
  const wrong = problemWith(
    values,
    told.find((one) => one.column === column.name),
    column.kind === 'number',
  );
  return wrong ?? { column: column.name, values };
}

/** Values with commas between them; '' is the empty text. */
export const valuesIn = (text: string): string[] =>
  text.split(',').map((one) => (one.trim() === "''" ? '' : one.trim()));

/** Problem with values that a person wrote, or null. */
export function problemWith(values: readonly string[], told: FewValued | undefined, isNumber: boolean): string | null {
  const known = told?.isWhole ? told.values.map(({ value }) => value ?? 'NULL') : null;
  const unknown = known === null ? [] : values.filter((one) => !known.includes(one));
  if (unknown.length > 0)
    return `no row has ${unknown.map(shownValue).join(', ')}; there are ${known?.map(shownValue).join(', ')}`;
  const wrong = isNumber ? values.filter((one) => one !== 'NULL' && !/^-?\d+(\.\d+)?$/.test(one)) : [];
  return wrong.length > 0 ? `${wrong.join(', ')} is no number` : null;
}

/** The condition for the chosen rows, on columns that `prefix` goes before. Null: all of them. Pure. */
export function conditionFor(
  chosen: ChosenRows,
  { columns }: CatalogueTable,
  dialect: ErpDialect,
  prefix = '',
): string | null {
  const isNumber = (name: string) => columns.find((one) => one.name === name)?.kind === 'number';
  return allConditions(
    [...chosen].map(([column, values]) => isOneOf(dialect, column, values, isNumber(column), prefix)),
  );
}

export interface OrdersRequest {
  table: CatalogueTable;
  /** The column of its states, if one is called so. */
  status: FewValued | undefined;
  told: readonly FewValued[];
  given: readonly string[];
}

/** Asks which orders may be sent, beside all columns that may tell them apart. Null: the question stays open. */
export async function askOrders(
  interview: Interview,
  { table, status, told, given }: OrdersRequest,
  dialect: ErpDialect,
): Promise<{ pending: Pending; columns: string[] } | null> {
  const written = interview.isGiven('pending');
  const others = told.filter(({ column }) => column !== status?.column);
  const settled = (pending: Pending, columns: string[]) => {
    for (const { column, values } of others.filter((one) => !columns.includes(one.column)))
      interview.settle(
        'not used',
        `${column}: ${countsInWords(values)}`,
        `if it marks orders that must not be sent: --orders-with ${column}=VALUES`,
      );
    return { pending, columns };
  };
  const byHand = (condition: string) => settled({ condition, isWritten: true }, columnsIn(condition, table));
  if (written !== undefined) {
    if (given.length > 0) throw new InitError('--pending and --orders-with: give one of them');
    return byHand(written);
  }
  if (told.length === 0 && status === undefined) {
    const text = `No column of ${nameOf(table)} holds a few values that tell orders apart. Which ones may be sent? An SQL condition on its columns, or all.`;
    const answer = await interview.answer({ name: 'pending', text });
    return answer === null ? null : byHand(answer);
  }
  const isNumber = table.columns.some((one) => one.name === status?.column && one.kind === 'number');
  const states = status === undefined ? 'all' : await askStates(interview, status, given, isNumber);
  const rows = await askRows(interview, { flag: 'orders-with', table, told: others, given });
  if (states === null || rows === null) return null;
  const chosen = new Map(rows);
  if (states !== 'all' && status !== undefined) chosen.set(status.column, valuesIn(states));
  const ordered = new Map([...chosen].sort(([a], [b]) => Number(b === status?.column) - Number(a === status?.column)));
  return settled({ condition: conditionFor(ordered, table, dialect) ?? 'all', isWritten: false }, [...ordered.keys()]);
}

/** The states that may be sent, with commas between them, or all; null: it stays open. */
async function askStates(
  interview: Interview,
  status: FewValued,
  given: readonly string[],
  isNumber: boolean,
): Promise<string | null> {
  if (given.some((text) => text.toLowerCase().startsWith(`${status.column.toLowerCase()}=`))) return 'all';
  return interview.answer(
    {
      name: 'status',
      text: `Orders with which ${status.column} may be sent? Several with commas between them, or all.`,
      choices: choicesOf(status.values),
    },
    (text) => {
      if (text === 'all') return null;
      return problemWith(valuesIn(text), status, isNumber)?.replace('no row has', 'no order has') ?? null;
    },
  );
}

/** The columns of the table that a condition names. */
const columnsIn = (condition: string, { columns }: CatalogueTable): string[] =>
  columns
    .map(({ name }) => name)
    .filter((name) =>
      new RegExp(`(?<![\\p{L}\\p{N}_])${literalPattern(name)}(?![\\p{L}\\p{N}_])`, 'iu').test(condition),
    );
