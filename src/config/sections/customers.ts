import { fieldMappings, rowSettings } from './record-mapping.js';
import { choice, columns, group, query } from './value-types.js';

export const customersSettings = group('Which customers are sent, and how a row becomes a customer.', {
  send: choice(
    ['referenced', 'all', 'none'],
    'referenced: the customers of eligible orders. all: every pending customer. none: the service knows them already.',
  ),
  query: query.optional().describe('SELECT that yields one row per customer. Required unless send is none.'),
  key: columns.optional().describe('Column (or columns) of the primary key. Required unless send is none.'),
  ...rowSettings,
  fields: fieldMappings
    .optional()
    .describe('Field of the service: column. customer_code is required unless send is none.'),
});
