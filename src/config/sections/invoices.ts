import { z } from 'zod';

const parameter = (standard: string, meaning: string) => z.string().min(1).default(standard).describe(meaning);

const field = (standard: string, meaning: string) =>
  z
    .string()
    .regex(/^[^.\s]+(\.[^.\s]+)*$/, 'not the name of a field')
    .default(standard)
    .describe(meaning)
    .meta({ allowed: 'the name of a field, or names joined by dots such as meta.total' });

export const invoicesSettings = z
  .strictObject({
    enabled: z.boolean().default(true).describe('false never reads invoices.'),
    states: z
      .array(z.string().min(1).max(64))
      .min(1)
      .max(20)
      .refine((states) => new Set(states).size === states.length, { error: 'names a state twice' })
      .default(['unpaid'])
      .describe('States that mean that money is due; the list of each is pulled.')
      .meta({ allowed: 'a list of states without repetition, such as [unpaid, overdue]' }),
    scope: z
      .enum(['all', 'per-customer'])
      .default('all')
      .describe(
        'all: every invoice that the service shows. per-customer: those of the customers that were delivered, one by one.',
      ),
    pageSize: z
      .number()
      .int()
      .min(1)
      .max(10_000)
      .default(100)
      .describe('Invoices asked for at once; a service that gives less is followed.')
      .meta({ unit: 'invoices' }),
    maxPasses: z
      .number()
      .int()
      .min(2)
      .max(20)
      .default(5)
      .describe('How often one pull reads the list, until two readings in a row prove it.')
      .meta({ unit: 'readings' }),
    readsPerPull: z
      .number()
      .int()
      .min(0)
      .max(1_000)
      .default(50)
      .describe(
        'How many invoices that left the list one pull reads by their numbers (service.endpoints.readInvoice). The rest waits for the next pull.',
      )
      .meta({ unit: 'invoices' }),
    paging: z
      .strictObject({
        page: parameter('page', 'Query parameter with the number of the page.'),
        limit: parameter('limit', 'Query parameter with the size of a page.'),
        status: parameter('status', 'Query parameter with the state.'),
        customer: parameter('customer_code', 'Query parameter with the customer, where scope is per-customer.'),
        firstPage: z
          .number()
          .int()
          .min(0)
          .max(1)
          .default(1)
          .describe('Number of the first page.')
          .meta({ unit: '0 or 1' }),
        query: z
          .record(z.string().min(1), z.string())
          .default({})
          .describe('Further query parameters of every page, such as an order that the service should keep to.')
          .meta({ allowed: 'names and values, such as {sort: "invoice_no"}' }),
        fields: z
          .strictObject({
            invoices: field('data', 'Field of a page that holds its invoices.'),
            total: field('total', 'Field of a page that holds how many there are on all pages.'),
            page: field(
              'page',
              'Field of a page that holds its number. Compared with the one asked for, where it is there.',
            ),
          })
          .prefault({})
          .describe('Where a page says what.'),
      })
      .prefault({})
      .describe('How the service pages its list of invoices.'),
  })
  .describe('How unpaid invoices are read back.');

export type InvoicesSettings = z.output<typeof invoicesSettings>;
