import type { WorkFacts } from '../../model/facts/work.js';
import { openOutside } from '../../model/outside.js';
import type { WordsFor } from '../sentence.js';

export const workWords: WordsFor<WorkFacts> = {
  store_failed: ({ message }) => openOutside(message),
  erp_failed: ({ message }) => openOutside(message),
  capture_refused: ({ reason }) => openOutside(reason),
  failed: ({ message }) => openOutside(message),
};
