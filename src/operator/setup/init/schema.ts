import type { ErpDialect } from '../../../db/erp-database.js';
import { type Catalogue, type CatalogueTable, nameOf } from '../../../erp/catalogue.js';
import type { Candidate, Evidence, QuestionAbout, SetupQuestion } from '../../../model/setup-questions.js';
import { type Asking, type Facts, type Parsed, refused, taken } from './asking.js';
import { type Link, type TestedLink, testLink } from './links.js';
import { columnCalled, noSuchColumn } from './row-choices.js';
import { type ColumnFacts, readTable, type TableFacts } from './table-facts.js';

/** The facts and answers that the questions about an unknown schema need. */
export interface Schema {
  catalogue: Catalogue;
  dialect: ErpDialect;
  asking: Asking;
  facts: Facts;
  nowMs: number;
}

/** The facts of a table; undefined until they are read. */
export const tableFacts = ({ facts, catalogue }: Schema, table: CatalogueTable): TableFacts | undefined =>
  facts.get(['table', nameOf(table)], (snapshot) => readTable(snapshot, catalogue, table));

/** A link with its figures; undefined until they are read. */
export const linkFacts = (
  { facts }: Schema,
  from: CatalogueTable,
  to: CatalogueTable,
  link: Link,
): TestedLink | undefined =>
  facts.get(['link', nameOf(from), nameOf(to), link], (snapshot) => testLink(snapshot, from, to, link));

/** `role=NAME` or NAME. */
export const withoutRole = (role: string, text: string) =>
  text.startsWith(`${role}=`) ? text.slice(role.length + 1) : text;

/** A question about a column, whose answer is the column's name or, where that may be, `none`. */
export function askColumn(
  { asking }: Pick<Schema, 'asking'>,
  table: CatalogueTable,
  {
    step,
    role,
    candidates,
    mayBeNone = false,
    about,
  }: Pick<SetupQuestion, 'step' | 'candidates'> & { role: string; mayBeNone?: boolean; about?: QuestionAbout },
  check: (name: string) => Parsed<string> = taken,
): string | undefined {
  const question: SetupQuestion = {
    ...{ step, flag: 'column', role, about: { table: nameOf(table), ...about } },
    candidates: candidates.map(({ value, evidence }) => ({ value: `${role}=${value}`, evidence })),
  };
  return asking.one(question, (text) => {
    const answer = withoutRole(role, text);
    if (answer === 'none' && mayBeNone) return taken('none');
    const column = columnCalled(table, answer);
    return column === undefined ? refused(noSuchColumn(table)) : check(column.name);
  });
}

export const listed = (
  columns: readonly ColumnFacts[],
  evidence: (column: ColumnFacts) => readonly Evidence[],
): Candidate[] => columns.map((one) => ({ value: one.column.name, evidence: evidence(one) }));

/** A time zone by its name. An offset knows no daylight saving time. */
export function isZone(text: string | null): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: text ?? '' });
    return text !== null && /^[A-Za-z]/.test(text);
  } catch {
    return false;
  }
}
