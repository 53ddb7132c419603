import type { Fact } from '../../src/model/facts/fact.js';
import { Refused } from '../../src/model/facts/failure.js';
import { factOf } from '../../src/store/fact-columns.js';
import { isFact, tell, tellWhole } from '../../src/words/words.js';

/** A copy of a value with each fact in it as people read it: its sentence, and what they have to do. */
// biome-ignore lint/suspicious/noExplicitAny: tests compare it with what they please
export function told(value: unknown): any {
  if (isFact(value)) return tellWhole(value);
  if (Array.isArray(value)) return value.map(told);
  if (Object.prototype.toString.call(value) !== '[object Object]') return value;
  return Object.fromEntries(Object.entries(value as object).map(([name, member]) => [name, told(member)]));
}

/**
 * Rows with the sentence of each fact in place of its two columns, as people see it. Rows of `SELECT *` keep their columns, so that
 * they can be written again; the sentences are there as well, but not listed.
 */
// biome-ignore lint/suspicious/noExplicitAny: as the rows of a store
export function toldRows(rows: any[], sql = 'reason_code'): any[] {
  const isNamed = /\b(reason|flag)_code\b/.test(sql);
  return rows.map((row) => {
    const told = { ...row };
    for (const name of ['reason', 'flag', 'read_flag']) {
      if (!(`${name}_code` in row) || !(`${name}_data` in row)) continue;
      const code: string | null = row[`${name}_code`];
      const value = code === null ? null : tellWhole(factOf(code, row[`${name}_data`]) as Fact);
      Object.defineProperty(told, name, { value, enumerable: isNamed, configurable: true, writable: true });
      if (!isNamed) continue;
      delete told[`${name}_code`];
      delete told[`${name}_data`];
    }
    return told;
  });
}

/** The words in which the command line tells a refusal. */
export function refusalOf(error: Error): string {
  return error instanceof Refused ? tell(error.fact) : error.message;
}
