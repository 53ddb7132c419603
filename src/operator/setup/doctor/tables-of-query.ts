import type { CatalogueTable } from '../../../erp/catalogue.js';
import { literalPattern } from '../../../model/literal-pattern.js';

/** A table in a query, and the name by which the query calls it. */
export interface NamedTable {
  table: CatalogueTable;
  alias: string;
  at: number;
}

const KEYWORDS =
  /^(where|on|using|join|left|right|inner|outer|full|cross|natural|order|group|having|limit|union|set|as)$/i;

/**
 * The tables of the catalogue that stand behind FROM or JOIN, in their order. A schema that the query writes has to be the
 * table's; without one, the query means the table that the account finds without it. Pure.
 */
export function tablesOf(query: string, tables: readonly CatalogueTable[]): NamedTable[] {
  const sql = withoutTexts(query);
  const found = tables.flatMap((table) => {
    const schema = table.schema === null ? '\\w+' : literalPattern(table.schema);
    const place = `(?:["\`\\[]?${schema}["\`\\]]?\\.)${table.isInPath ? '?' : ''}`;
    const name = `${place}["\`\\[]?${literalPattern(table.name)}["\`\\]]?`;
    const named = new RegExp(
      `(?:\\bfrom|\\bjoin|,)\\s+${name}(?![\\w"\`.])(?:\\s+(?:as\\s+)?["\`]?(\\w+)["\`]?)?`,
      'gi',
    );
    return [...sql.matchAll(named)].map((match): NamedTable => {
      const [, alias] = match;
      return { table, alias: alias && !KEYWORDS.test(alias) ? alias : table.name, at: match.index };
    });
  });
  return found.sort((a, b) => a.at - b.at);
}

/** The table that a query is about: the first one that is not in brackets; null where a view or a subselect is. Pure. */
export function baseTable(query: string, tables: readonly CatalogueTable[]): CatalogueTable | null {
  const flat = withoutBrackets(withoutTexts(query));
  const from = /\bfrom\b/i.exec(flat)?.index;
  if (from === undefined || /\b(union|group\s+by|distinct)\b/i.test(flat)) return null;
  const [first] = tablesOf(flat, tables).filter(({ at }) => at >= from);
  return first && first.at === from && !first.table.isView ? first.table : null;
}

/** Which rows a query may lose or multiply, by its words. Pure. */
export function joinsOf(query: string): { losesRows: boolean; filtersRows: boolean } {
  const flat = withoutBrackets(withoutTexts(query));
  const inner = flat.replace(/\bleft\s+(outer\s+)?join\b/gi, '');
  return { losesRows: /\bjoin\b/i.test(inner), filtersRows: /\bwhere\b/i.test(flat) };
}

/** Texts and comments become blanks of the same length. */
function withoutTexts(sql: string): string {
  return sql.replace(/'(?:[^']|'')*'|--[^\n]*|\/\*[\s\S]*?\*\//g, (part) => ' '.repeat(part.length));
}

function withoutBrackets(sql: string): string {
  let depth = 0;
  return [...sql]
    .map((character) => {
      if (character === '(') depth++;
      const kept = depth === 0 ? character : ' ';
      if (character === ')') depth = Math.max(0, depth - 1);
      return kept;
    })
    .join('');
}
