import type { Fact } from '../model/facts/fact.js';
import { isOutside, outside, shortened } from '../model/outside.js';

/** Longest JSON of a fact's data, in characters. The column is wider. */
const maxData = 4_000;
/** Longest text from outside in a fact whose data would be longer. */
const shortTexts = [120, 40, 10];

/** A fact as its two columns, `code` and `data`; both null where there is none. */
export interface FactColumns {
  code: string | null;
  data: string | null;
}

/**
 * Makes columns of a fact. If its JSON is too long, its texts from outside are shortened: a list of few entries with
 * few fields always fits then.
 * @throws Error where it does not fit even so, because the code that made it forgot to bound a list
 */
export function factColumns(fact: Fact | null): FactColumns {
  if (fact === null) return { code: null, data: null };
  const { code, ...rest } = fact;
  for (const maxLength of [Number.POSITIVE_INFINITY, ...shortTexts]) {
    const data = JSON.stringify(rest, (_, value) => (isOutside(value) ? shortened(value, maxLength) : value));
    if (data.length <= maxData) return { code, data };
  }
  throw new Error(`The data of the fact ${code} is longer than ${maxData} characters.`);
}

/**
 * Reads a fact from its columns. The code may be one of a later version: `words/` prints those as they are. Data that is no
 * JSON object becomes the text of a `legacy` fact, because one damaged row must not stop a list of all.
 */
export function factOf<Known extends Fact>(code: string | null, data: string | null): Known | null {
  if (code === null) return null;
  try {
    const members: unknown = JSON.parse(data ?? '{}');
    if (typeof members === 'object' && members !== null && !Array.isArray(members))
      return { ...members, code } as unknown as Known;
  } catch {
    // Told as it is.
  }
  return { code: 'legacy', text: outside(`${code} ${data}`) } as unknown as Known;
}

/** The columns of a fact in a row that was read. */
type ColumnsOf<Name extends string> = Record<`${Name}Code` | `${Name}Data`, string | null>;

/** A row with the fact itself in place of its two columns. @param name of the columns in camel case, without `Code` and `Data` */
export function withFact<Row extends object, Name extends string>(row: Row, name: Name) {
  const { [`${name}Code`]: code, [`${name}Data`]: data, ...rest } = row as { [column: string]: unknown };
  return { ...rest, [name]: factOf(code as string | null, data as string | null) } as unknown as Omit<
    Row,
    keyof ColumnsOf<Name>
  > &
    Record<Name, Fact | null>;
}

/** A fact as the two columns of a row to be written. @param name of the columns, without `_code` and `_data` */
export function factRow<Name extends string>(name: Name, fact: Fact | null) {
  const { code, data } = factColumns(fact);
  return { [`${name}_code`]: code, [`${name}_data`]: data } as Record<`${Name}_code` | `${Name}_data`, string | null>;
}
