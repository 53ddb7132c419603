import { z } from 'zod';
import { httpStatus } from './value-types.js';

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

/** Where one order can be read by the id that the service gave. Only a service that offers this has one. */
const readOrderEndpoint = z
  .strictObject({
    path: z
      .string()
      .regex(/^\/(?!\/)(?=[^?#\s]*\{(order_id|id)\})[^?#\s]*$/, 'not a path that begins with one / and has {order_id}')
      .default('/v1/orders/{order_id}')
      .describe('Path with its version. {order_id} (or {id}) is replaced by the id that the service gave.')
      .meta({ allowed: 'a path with {order_id}, such as /v1/orders/{order_id}' }),
    successStatus: httpStatus(200, 299).default(200).describe('Status of an answer with the order.'),
    absentStatus: httpStatus(400, 499)
      .default(404)
      .describe('Status that says that there is no such order (any more).'),
  })
  .optional()
  .describe(
    'One order by its id; service.acknowledgement.orderId, orderState and orderTotal say where its answer says what. Absent: orders are not read back. `readOrder: {}` takes the usual path.',
  );

/** Where one invoice can be read by its number. Only a service that offers this has one. */
const readInvoiceEndpoint = z
  .strictObject({
    path: z
      .string()
      .regex(/^\/(?!\/)[^?#\s]*\{invoice_no\}[^?#\s]*$/, 'not a path that begins with one / and has {invoice_no}')
      .describe('Path with its version. {invoice_no} is replaced by the number of the invoice.')
      .meta({ allowed: 'a path with {invoice_no}, such as /v2/invoices/{invoice_no}' }),
    successStatus: httpStatus(200, 299).default(200).describe('Status of an answer with the invoice.'),
    absentStatus: httpStatus(400, 499)
      .default(404)
      .describe(
        'Status that says that there is no such invoice. Believed only where its body is a JSON object, as an error of the service is, and an invoice that stands on the list is found in this way.',
      ),
    field: z
      .string()
      .regex(/^[^.\s]+(\.[^.\s]+)*$/, 'not the name of a field')
      .optional()
      .describe('Field of the answer that holds the invoice. Absent: the answer is the invoice itself.')
      .meta({ allowed: 'the name of a field, or names joined by dots' }),
  })
  .optional()
  .describe('One invoice by its number. Absent: what a pull misses stays listed until a pull is proven.');

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
export type ReadOrderEndpoint = NonNullable<EndpointSettings['readOrder']>;
export type ReadInvoiceEndpoint = NonNullable<EndpointSettings['readInvoice']>;
