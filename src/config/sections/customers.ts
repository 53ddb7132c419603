import { z } from 'zod';
import { fields } from './field-mapping.js';
import { changedAt, removals } from './removals.js';
import { columns, query } from './value-types.js';

export const customersSettings = z
  .strictObject({
    send: z
      .enum(['referenced', 'all', 'none'])
      .default('referenced')
      .describe(
        'referenced: the customers of eligible orders. all: every pending customer. none: the service knows them already.',
      ),
    query: query.optional().describe('SELECT that yields one row per customer. Required unless send is none.'),
    key: columns.optional().describe('Column (or columns) of the primary key. Required unless send is none.'),
    changedAt,
    pending: z
      .string()
      .min(1)
      .optional()
      .describe('SQL condition over the columns of the query: which rows may be sent. Without it: all.'),
    ...removals,
    fields: fields.optional().describe('Field of the service: column. customer_code is required unless send is none.'),
  })
  .describe('Which customers are sent, and how a row becomes a customer.');

export type CustomersSettings = z.output<typeof customersSettings>;
