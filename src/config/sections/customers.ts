import type { z } from 'zod';
import { type Partly, type Report, requireSetting } from '../configuration-error.js';
import {
  checkCancelled,
  checkMappings,
  checkSameLength,
  fieldMappings,
  requireField,
  rowSettings,
} from './record-mapping.js';
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

export type CustomersSettings = z.output<typeof customersSettings>;

/** The settings that are checked together. */
type Relevant = Partly<{ customers: CustomersSettings }>;

export function checkCustomers({ customers = {} }: Relevant, report: Report): void {
  checkMappings('customers.fields', customers.fields, report);
  checkSameLength('customers.replaces', customers.replaces, 'customers.key', customers.key, report);
  checkCancelled('customers', customers, report);
  if (customers.send === undefined || customers.send === 'none') return;
  const why = 'customers.send is not none';
  requireSetting(customers.query, 'customers.query', `a SELECT, because ${why}`, report);
  requireSetting(customers.key, 'customers.key', `a column or a list of columns, because ${why}`, report);
  requireField('customers.fields', customers.fields, 'customer_code', why, report);
}
