import type { RecordFacts } from '../../model/facts/records.js';
import { quoted, type WordsFor } from '../sentence.js';

export const recordWords: WordsFor<RecordFacts> = {
  left_with_status: ({ column, value }) => `${column} is ${value === null ? 'empty' : quoted(value)}`,
};
