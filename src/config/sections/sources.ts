import { z } from 'zod';
import { sourceName } from '../../model/record.js';
import { textLike, whole } from './value-types.js';

/** Checked like the section itself, with its faults named by their place here; see named-sources.ts. */
const likeSection = (name: string, meaning: string) =>
  z
    .looseObject({})
    .describe(meaning)
    .meta({ allowed: `what the section \`${name}\` allows` });

/** One more ERP. */
export const sourceSettings = z
  .strictObject({
    erp: likeSection('erp', 'Its database. A password is named by its file (erp.passwordFile).'),
    customers: likeSection('customers', 'Its customers.'),
    orders: likeSection('orders', 'Its orders.'),
    priority: whole(1, 100)
      .default(1)
      .describe(
        'Where several sources have messages that are due, one of priority 2 has two turns for each one of priority 1. The ERP of the section `erp` has 1.',
      ),
  })
  .meta({ shape: 'A source' });

export const sourcesSettings = z
  .record(textLike(sourceName, '1 to 24 small letters, digits and dashes, no dash first'), sourceSettings)
  .default({})
  .describe(
    'Further ERPs whose records go to the same service, by name. The name stands before their keys (`berlin~4711`): never change it. See sources.md.',
  )
  .meta({ allowed: 'a group of sources by name, such as {berlin: {erp: …, customers: …, orders: …}}' });
