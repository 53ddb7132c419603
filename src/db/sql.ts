/**
 * The kind of a column's values, as far as comparing and converting need it. timestamp: an instant, written in UTC.
 * datetime and date: wall time in erp.timeZone. unknown: the database can't tell before it has seen a value.
 */
export type ColumnKind = 'timestamp' | 'datetime' | 'date' | 'number' | 'text' | 'unknown';

/** A value for a statement: its text, and the kind of the column it is compared with, which decides how it is bound. */
export interface SqlValue {
  text: string;
  kind: ColumnKind;
}

/**
 * A statement as pieces of text with values between them. The driver decides how a value is written, so that a
 * question mark in a configured query is never taken for a placeholder.
 */
export class Sql {
  constructor(
    readonly pieces: readonly string[],
    readonly values: readonly SqlValue[],
  ) {}
}

/** Tagged template: nested Sql is spliced in, everything else becomes a value. */
export function sql(strings: readonly string[], ...parts: readonly (Sql | SqlValue)[]): Sql {
  const pieces = [strings[0] ?? ''];
  const values: SqlValue[] = [];
  parts.forEach((part, index) => {
    const { pieces: nested, values: nestedValues } = part instanceof Sql ? part : { pieces: ['', ''], values: [part] };
    pieces[pieces.length - 1] += nested[0] ?? '';
    pieces.push(...nested.slice(1));
    pieces[pieces.length - 1] += strings[index + 1] ?? '';
    values.push(...nestedValues);
  });
  return new Sql(pieces, values);
}

/** Text that is SQL already: a configured query or condition, or a quoted identifier. Never data. */
export function rawSql(text: string): Sql {
  return new Sql([text], []);
}

export function joinSql(parts: readonly (Sql | SqlValue)[], separator = ', '): Sql {
  return sql(['', ...parts.slice(1).map(() => separator), ''], ...parts);
}

/** All of the conditions; always true when there are none. */
export function allOf(conditions: readonly Sql[]): Sql {
  return conditions.length === 0 ? rawSql('1=1') : joinSql(conditions, ' AND ');
}

/** Each column equal to the value at its place. */
export function allEqual(columns: readonly Sql[], values: readonly SqlValue[]): Sql {
  return allOf(columns.map((column, index) => sql`${column} = ${values[index] ?? { text: '', kind: 'text' }}`));
}

/** True if a database reads the text as a number. */
export function isNumberText(text: string): boolean {
  return /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text);
}
