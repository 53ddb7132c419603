import { z } from 'zod';
import { group, place, text, whole } from './value-types.js';

const parameter = (standard: string, meaning: string) => text.default(standard).describe(meaning);
const field = (standard: string, meaning: string) => place('meta.total').default(standard).describe(meaning);

export const invoicePaging = group('How the service pages its list of invoices.', {
  page: parameter('page', 'Query parameter with the number of the page.'),
  limit: parameter('limit', 'Query parameter with the size of a page.'),
  status: parameter('status', 'Query parameter with the state.'),
  customer: parameter('customer_code', 'Query parameter with the customer, where scope is per-customer.'),
  firstPage: whole(0, 1, '0 or 1').default(1).describe('Number of the first page.'),
  query: z
    .record(text, z.string())
    .default({})
    .describe('Further query parameters of every page, such as the order in which to list the invoices.')
    .meta({ allowed: 'names and values, such as {sort: "invoice_no"}' }),
  fields: group('Where the parts of a page are.', {
    invoices: field('data', 'Field of a page that holds its invoices.'),
    total: field('total', 'Field of a page that holds the number of invoices on all pages.'),
    page: field('page', 'Field of a page that holds its number. If present, it is compared with the one asked for.'),
  }),
});
