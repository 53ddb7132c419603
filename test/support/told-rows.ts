import type { Fact } from '../../src/model/facts/fact.js';
import type { PartFact } from '../../src/model/facts/fact-of.js';
import { factOf } from '../../src/store/fact-columns.js';
import { tell, tellWhole } from '../../src/words/words.js';

// biome-ignore lint/suspicious/noExplicitAny: rows of any table
type Row = Record<string, any>;

/** Rows in which each fact, in the columns `x_code` and `x_data`, stands as its sentence in `x`; null where there is none. */
export function toldRows(rows: readonly Row[]): Row[] {
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).flatMap(([column, value]): [string, unknown][] => {
        const name = /^(.+)_code$/.exec(column)?.[1];
        if (name === undefined) return column.endsWith('_data') ? [] : [[column, value]];
        const fact = factOf(value as string | null, row[`${name}_data`] as string | null);
        return [[name, fact && tell(fact)]];
      }),
    ),
  );
}

/** The sentence of a fact, with its remedy; empty where there is none. */
export const said = (fact: Fact | PartFact | string | null | undefined): string =>
  typeof fact === 'string' || !fact ? (fact ?? '') : tellWhole(fact as Fact);
