import type { WorkFacts } from '../../model/facts/work.js';
import type { WordsFor } from '../sentence.js';

export const workWords: WordsFor<WorkFacts> = {};
