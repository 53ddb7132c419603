import { type CatalogueTable, nameOf } from '../../../erp/catalogue.js';
import type { GivenColumns } from './find-columns.js';
import { type Choice, InitError, type Interview } from './interview.js';
import type { ColumnRole } from './words.js';

export interface ColumnQuestion {
  role: ColumnRole;
  table: CatalogueTable;
  text: string;
  choices: readonly Choice[];
  /** Offered on the terminal; see `Question`. */
  likely?: string | undefined;
  /** `none` is an answer: no column plays this role. */
  mayBeNone?: boolean;
  /** Problem with a column of the table, or null. */
  problem?: (column: string) => string | null;
}

/**
 * Asks which column plays a role, if no flag says so. Any column of the table can be named, offered or not.
 * @returns the column as the table writes it, `none` where that is an answer; null: the question stays open
 * @throws InitError if a flag names a column that can't be one
 */
export async function askColumn(
  interview: Interview,
  given: GivenColumns,
  { role, table, text, choices, likely, mayBeNone = false, problem = () => null }: ColumnQuestion,
): Promise<string | null> {
  const columnIn = (answer: string) => {
    const name = answer.startsWith(`${role}=`) ? answer.slice(role.length + 1) : answer;
    return table.columns.find((one) => one.name.toLowerCase() === name.toLowerCase())?.name ?? name;
  };
  const wrong = (column: string) => {
    if (mayBeNone && column === 'none') return null;
    if (table.columns.some(({ name }) => name === column)) return problem(column);
    return `${nameOf(table)} has ${table.columns.map(({ name }) => name).join(', ')}`;
  };
  const named = given[role];
  if (named !== undefined) {
    const problem = wrong(columnIn(named));
    if (problem !== null) throw new InitError(`--column ${role}=${named}: ${problem}`);
    return columnIn(named);
  }
  const offered = choices.map(({ value, note }) => ({ value: `${role}=${value}`, ...(note && { note }) }));
  const answer = await interview.answer(
    {
      ...{ name: 'column', role, text, choices: offered },
      likely: likely === undefined ? undefined : `${role}=${likely}`,
    },
    (text) => wrong(columnIn(text)),
  );
  return answer === null ? null : columnIn(answer);
}
