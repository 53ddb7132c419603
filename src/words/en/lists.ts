import type { ListFacts } from '../../model/facts/lists.js';
import type { WordsFor } from '../sentence.js';

export const listWords: WordsFor<ListFacts> = {
  listed_but_not_found: () => 'it says that there is none, though it stands on the list',
  many_would_leave: ({ leaving, listed, maxDrops, maxDropShare }) =>
    `${leaving} of ${listed} listed invoices would leave the list at once, more than invoices.maxDrops (${maxDrops}) and invoices.maxDropShare (${maxDropShare}) allow`,
};
