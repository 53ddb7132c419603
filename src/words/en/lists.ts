import type { ListFacts } from '../../model/facts/lists.js';
import type { WordsFor } from '../sentence.js';

export const listWords: WordsFor<ListFacts> = {};
