import type { ActionFacts } from '../../model/facts/actions.js';
import type { WordsFor } from '../sentence.js';

export const actionWords: WordsFor<ActionFacts> = {};
