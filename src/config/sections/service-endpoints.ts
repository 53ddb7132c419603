import { z } from 'zod';
import { namesIn } from '../../model/placeholder.js';
import type { Partly, Report } from '../configuration-error.js';
import type { CustomersSettings } from './customers.js';
import type { OrdersSettings } from './orders.js';
import { choice, flag, group, place, text, textLike, whole } from './value-types.js';

const pathTemplate = (meaning: string) =>
  textLike(/^\/(?!\/)[^?#\s]*$/, 'a path that begins with one / and has no query').describe(meaning);

const success = (standard: number, meaning: string) => whole(200, 299).default(standard).describe(meaning);
const successes = (standard: number) =>
  z
    .union([whole(200, 299), z.array(whole(200, 299)).min(1)])
    .default(standard)
    .describe('The status that means done, or a list of them.')
    .meta({ allowed: 'a whole number from 200 to 299, or a list of them' });
const absent = (meaning: string) => whole(400, 499).default(404).describe(meaning);
const doneStatus = 'The only status that means done.';

const changePath = (path: string) =>
  pathTemplate(
    'Path with its version. {order_id}, {customer_code} and {id} are what the service acknowledged; any other {field} is a text or a number of the record.',
  ).default(path);

const endpoint = (method: 'POST' | 'DELETE', path: string, successStatus: number, meaning: string) =>
  group(meaning, {
    method: z.enum(['POST', 'PATCH', 'PUT', 'DELETE']).default(method).describe('HTTP method.'),
    path: changePath(path),
    successStatus: successes(successStatus),
  });

const updateEndpoint = (path: string, meaning: string) =>
  group(meaning, {
    method: choice(
      ['PATCH', 'PUT', 'POST'],
      'HTTP method. PUT carries the whole record, any other method only the fields that changed.',
    ),
    path: changePath(path),
    successStatus: successes(200),
  });

const templates = z.record(text, text).meta({ allowed: 'names and values, such as {note: "{note}"}' });

/** The endpoint where the service can be asked for a record: a single read or a search. Not every service offers this. */
const lookUp = (meaning: string) =>
  z
    .strictObject({
      path: pathTemplate(
        'Path with its version. {field} is replaced by a text field of the record, or {idempotency_key}.',
      ),
      query: templates.default({}).describe('Query parameters; {field} and {idempotency_key} as in the path.'),
      successStatus: success(200, 'Status of an answer with what was found.'),
      absentStatus: absent('Status that says that there is no such record. An empty list says so too.'),
      list: z
        .string()
        .optional()
        .describe(
          'Where the answer holds the list of what was found, such as data or data.orders. Absent: the answer is the one record itself.',
        ),
      id: text.describe('Where a found record holds its id at the service, such as id or order.id.'),
      match: templates.describe(
        'Places of a found record that must equal a field of ours exactly; a record with other values is another record. The fields beside the first are compared with our record. Without any, nothing is ever found.',
      ),
      total: text.optional().describe('Where a found order holds its total, to be compared.'),
      absenceProves: flag(
        false,
        'true: if two look-ups find nothing after service.maxProcessingSeconds, the record does not exist, and is sent again. Only for a look-up that sees at once what was created. false: a person decides.',
      ),
    })
    .optional()
    .describe(meaning);

export const endpointSettings = group('Where each kind of request goes.', {
  createCustomer: endpoint('POST', '/v1/customers', 201, 'A new customer.'),
  createOrder: endpoint('POST', '/v1/orders', 201, 'A new order.'),
  updateCustomer: updateEndpoint('/v1/customers/{customer_code}', 'A change to a customer.'),
  updateOrder: updateEndpoint('/v1/orders/{order_id}', 'A change to an order.'),
  deleteCustomer: endpoint('DELETE', '/v1/customers/{customer_code}', 204, 'The removal of a customer.'),
  deleteOrder: endpoint('DELETE', '/v1/orders/{order_id}', 204, 'The removal of an order.'),
  listInvoices: group('Unpaid invoices, page by page.', {
    path: pathTemplate('Path with its version.').default('/v2/invoices'),
    successStatus: success(200, doneStatus),
  }),
  readInvoice: z
    .strictObject({
      path: textLike(
        /^\/(?!\/)[^?#\s]*\{invoice_no\}[^?#\s]*$/,
        'a path with {invoice_no}, such as /v2/invoices/{invoice_no}',
      ).describe('Path with its version. {invoice_no} is replaced by the number of the invoice.'),
      successStatus: success(200, 'Status of an answer with the invoice.'),
      absentStatus: absent(
        'Status that says that there is no such invoice. Believed only if its body is a JSON object, as an error of the service is, and if an invoice on the list can be read in this way.',
      ),
      field: place('data.invoice')
        .optional()
        .describe('Field of the answer that holds the invoice. Absent: the answer is the invoice itself.'),
    })
    .optional()
    .describe('One invoice by its number. Absent: an invoice that a pull misses stays listed until a pull is proven.'),
  readOrder: z
    .strictObject({
      path: textLike(
        /^\/(?!\/)(?=[^?#\s]*\{(order_id|id)\})[^?#\s]*$/,
        'a path with {order_id}, such as /v1/orders/{order_id}',
      )
        .default('/v1/orders/{order_id}')
        .describe('Path with its version. {order_id} (or {id}) is replaced by the id that the service gave.'),
      successStatus: success(200, 'Status of an answer with the order.'),
      absentStatus: absent('Status that says that there is no such order (any more).'),
    })
    .optional()
    .describe(
      'One order by its id; service.acknowledgement.orderId, orderState and orderTotal say where the values are in its answer. Absent: orders are not read back. `readOrder: {}` takes the usual path.',
    ),
  readCustomer: group(
    'One customer by its code. Used when the service says that a customer already exists, unless lookUpCustomer is set.',
    {
      path: pathTemplate('Path with its version. {field} is replaced by a text field of the record.').default(
        '/v1/customers/{customer_code}',
      ),
      successStatus: success(200, 'Status of an answer with the customer.'),
    },
  ),
  lookUpCustomer: lookUp('Whether a customer exists. Absent: the service can not be asked.'),
  lookUpOrder: lookUp('Whether an order exists. Absent: the service can not be asked.'),
});

export type EndpointSettings = z.output<typeof endpointSettings>;
export type EndpointName = keyof EndpointSettings;
export type LookUpEndpoint = NonNullable<EndpointSettings['lookUpOrder']>;
export type ReadInvoiceEndpoint = NonNullable<EndpointSettings['readInvoice']>;

type Named = { [name: string]: string | undefined };
/** The settings of an endpoint that records fill. */
interface Templates {
  path?: string | undefined;
  query?: Named | undefined;
  match?: Named | undefined;
}

/** The settings that are checked together. */
type Relevant = Partly<{
  service: { endpoints: EndpointSettings };
  customers: CustomersSettings;
  orders: OrdersSettings;
}>;

/** A template that no record can fill would park every record; reading orders back needs its endpoint. */
export function checkEndpoints({ service, customers, orders }: Relevant, report: Report): void {
  const endpoints = service?.endpoints;
  const check = (name: EndpointName, known: readonly string[]) => {
    const { path, query, match }: Templates = endpoints?.[name] ?? {};
    const inGroup = (group: string, templates: Templates['match'] = {}) =>
      Object.entries(templates).map(([of, template]) => [`${group}.${of}`, template] as const);
    const templates = [['path', path] as const, ...inGroup('query', query), ...inGroup('match', match)];
    for (const [setting, template = ''] of templates)
      for (const field of namesIn(template))
        if (!known.includes(field))
          report(`service.endpoints.${name}.${setting}`, `names {${field}}, which nothing fills`, {
            found: template,
            allowed: `any of ${[...new Set(known)].map((one) => `{${one}}`).join(', ')}`,
          });
  };
  if (customers?.send !== 'none') {
    const ofCustomer = [...Object.keys(customers?.fields ?? {}), 'customer_code'];
    check('createCustomer', ofCustomer);
    for (const name of ['updateCustomer', 'deleteCustomer'] as const) check(name, [...ofCustomer, 'id']);
    check('readCustomer', ofCustomer);
    check('lookUpCustomer', [...ofCustomer, 'idempotency_key']);
  }
  const ofOrder = [...Object.keys(orders?.fields ?? {}), 'customer_code', ...(orders?.number ? ['note'] : [])];
  check('createOrder', ofOrder);
  for (const name of ['updateOrder', 'deleteOrder'] as const) check(name, [...ofOrder, 'order_id', 'id']);
  check('lookUpOrder', [...ofOrder, 'idempotency_key']);
  check('readOrder', ['order_id', 'id']);

  if (orders?.readBack?.enabled && endpoints !== undefined && endpoints.readOrder === undefined)
    report('orders.readBack.enabled', 'is true, but nothing says where to read an order', {
      found: 'true',
      hint: 'set service.endpoints.readOrder; {} takes the usual path',
    });
}
