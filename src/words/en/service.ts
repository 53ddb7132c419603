import type { ServiceFacts } from '../../model/facts/service.js';
import type { WordsFor } from '../sentence.js';

export const serviceWords: WordsFor<ServiceFacts> = {};
