import type { WorkFacts } from '../../model/facts/work.js';
import { openOutside } from '../../model/outside.js';
import type { WordsFor } from '../sentence.js';

export const workWords: WordsFor<WorkFacts> = {
  store_failed: ({ message }) => openOutside(message),
  erp_failed: ({ message }) => openOutside(message),
  capture_refused: ({ reason }) => openOutside(reason),
  left_to_holder: ({ holder, quiet, open, pulled }, say) => {
    const left = [
      ...quiet.map(({ lane, reason }) => `${lane} is ${say.fact(reason)}`),
      open > 0 ? `${open} messages are still open` : '',
      pulled ? '' : 'it has not pulled the invoices yet',
    ].filter(Boolean);
    return `${holder} delivers, and ${left.join(', and ')}`;
  },
  failed: ({ message }) => openOutside(message),
};
