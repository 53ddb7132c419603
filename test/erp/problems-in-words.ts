import { type RowProblems, rowFact } from '../../src/model/facts/rows.js';
import { tellWhole } from '../../src/words/words.js';

/** The message for people about a row that can't become a record. */
export function problemsInWords({ problems }: { problems: RowProblems }): string {
  return tellWhole(rowFact(problems));
}
