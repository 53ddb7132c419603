import { z } from 'zod';
import { httpStatus } from './http-status.js';
import { readInvoiceEndpoint } from './invoices-settings.js';
import { readOrderEndpoint } from './read-back-settings.js';

const pathTemplate = (meaning: string) =>
  z
    .string()
    .regex(/^\/(?!\/)[^?#\s]*$/, 'not a path that begins with one / and has no query')
    .describe(meaning)
    .meta({ allowed: 'a path that begins with one / and has no query' });

const endpoint = (method: 'POST' | 'PATCH' | 'PUT' | 'DELETE', path: string, successStatus: number, meaning: string) =>
  z
    .strictObject({
      method: z.enum(['POST', 'PATCH', 'PUT', 'DELETE']).default(method).describe('HTTP method.'),
      path: pathTemplate(
        'Path with its version. {order_id}, {customer_code} and {id} are what the service acknowledged; any other {field} is a text or a number of the record.',
      ).default(path),
      successStatus: httpStatus(200, 299).default(successStatus).describe('The one status that means done.'),
    })
    .prefault({})
    .describe(meaning);

const changeEndpoint = (path: string, meaning: string) =>
  endpoint('PATCH', path, 200, meaning)
    .unwrap()
    .extend({
      method: z
        .enum(['PATCH', 'PUT', 'POST'])
        .default('PATCH')
        .describe('HTTP method. PUT carries the whole record, every other one the fields that changed.'),
    })
    .prefault({})
    .describe(meaning);

const templates = z
  .record(z.string().min(1), z.string().min(1))
  .meta({ allowed: 'names and values, such as {note: "{note}"}' });

/** Where the service can be asked whether it has a record: a single read or a search. Only a service that offers this has one. */
const lookUp = (meaning: string) =>
  z
    .strictObject({
      path: pathTemplate(
        'Path with its version. {field} is replaced by a text field of the record, or {idempotency_key}.',
      ),
      query: templates.default({}).describe('Query parameters; {field} and {idempotency_key} as in the path.'),
      successStatus: httpStatus(200, 299).default(200).describe('Status of an answer with what was found.'),
      absentStatus: httpStatus(400, 499)
        .default(404)
        .describe('Status that says that there is nothing, besides an empty list.'),
      list: z
        .string()
        .optional()
        .describe(
          'Where the answer holds the list of what was found, such as data or data.orders. Absent: the answer is the one record itself.',
        ),
      id: z.string().min(1).describe('Where a found record holds its id at the service, such as id or order.id.'),
      match: templates.describe(
        'Places of a found record that have to equal a field of ours, exactly; a record with other values is another one. What stands beside the first is compared with our record. Without any nothing is ever found.',
      ),
      total: z.string().min(1).optional().describe('Where a found order holds its total, to be compared.'),
      absenceProves: z
        .boolean()
        .default(false)
        .describe(
          'true: finding nothing proves that it does not exist, so that it is sent again. Only for a look-up that sees at once what was created. false: a person decides.',
        ),
    })
    .optional()
    .describe(meaning);

export const endpointSettings = z
  .strictObject({
    createCustomer: endpoint('POST', '/v1/customers', 201, 'A new customer.'),
    createOrder: endpoint('POST', '/v1/orders', 201, 'A new order.'),
    updateCustomer: changeEndpoint('/v1/customers/{customer_code}', 'A change to a customer.'),
    updateOrder: changeEndpoint('/v1/orders/{order_id}', 'A change to an order.'),
    deleteCustomer: endpoint('DELETE', '/v1/customers/{customer_code}', 204, 'A customer that is withdrawn.'),
    deleteOrder: endpoint('DELETE', '/v1/orders/{order_id}', 204, 'An order that is withdrawn.'),
    listInvoices: z
      .strictObject({
        path: pathTemplate('Path with its version.').default('/v2/invoices'),
        successStatus: httpStatus(200, 299).default(200).describe('The one status that means done.'),
      })
      .prefault({})
      .describe('Unpaid invoices, page by page.'),
    readInvoice: readInvoiceEndpoint,
    readOrder: readOrderEndpoint,
    readCustomer: z
      .strictObject({
        path: pathTemplate('Path with its version. {field} is replaced by a text field of the record.').default(
          '/v1/customers/{customer_code}',
        ),
        successStatus: httpStatus(200, 299).default(200).describe('Status of an answer with the customer.'),
      })
      .prefault({})
      .describe(
        'One customer by its code. Asked when the service says that a customer is there already, unless lookUpCustomer is set.',
      ),
    lookUpCustomer: lookUp('Whether a customer exists. Absent: the service can not be asked.'),
    lookUpOrder: lookUp('Whether an order exists. Absent: the service can not be asked.'),
  })
  .prefault({})
  .describe('Where each kind of request goes.');

export type EndpointSettings = z.output<typeof endpointSettings>;
export type EndpointName = keyof EndpointSettings;
export type LookUpEndpoint = NonNullable<EndpointSettings['lookUpOrder']>;
