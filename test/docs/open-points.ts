/** One thing that the conventions of such services leave open, and what answers it here. */
export interface OpenPoint {
  /** Part of the conventions, 1 to 9. */
  part: number;
  /** In the words of the conventions, or close to them. */
  point: string;
  /** Settings, or groups of them, that answer it. */
  settings: readonly string[];
  /** Words of the page that say why there is no setting. */
  fixed?: string;
}

/** Every "not shown" and every open point of the conventions, in their order. */
export const openPoints: readonly OpenPoint[] = [
  { part: 1, point: 'purpose of the service', settings: ['customers.send', 'invoices.enabled'] },
  { part: 1, point: 'business rules', settings: [], fixed: 'what it refuses is parked with its own words' },
  { part: 2, point: 'the other fields of a customer', settings: ['customers.fields'] },
  { part: 2, point: 'fields of orders and their lines', settings: ['orders.fields', 'orders.lines.fields'] },
  {
    part: 2,
    point: 'which fields are required or optional',
    settings: ['service.fields.customer', 'service.fields.order', 'service.fields.item'],
  },
  {
    part: 2,
    point: 'field length limits',
    settings: ['service.fields.customer', 'service.fields.order', 'service.fields.item'],
  },
  { part: 2, point: 'currency of amounts', settings: ['amounts.currency'] },
  { part: 2, point: 'unit of amounts', settings: ['amounts.scale', 'amounts.rounding'] },
  { part: 2, point: 'whether total is the sum of qty × price', settings: ['service.checkTotal'] },
  { part: 3, point: 'transitions', settings: [], fixed: 'nothing hangs on them' },
  { part: 3, point: 'complete list of states of an order', settings: ['service.states.order'] },
  { part: 3, point: 'complete list of states of a customer', settings: ['service.states.customer'] },
  { part: 3, point: 'complete list of states of an invoice', settings: ['invoices.states'] },
  { part: 4, point: 'body of a single read of a customer', settings: ['service.endpoints.readCustomer'] },
  {
    part: 4,
    point: 'bodies of reading, replacing, changing and deleting an order',
    settings: ['service.endpoints.updateOrder', 'service.endpoints.deleteOrder', 'service.endpoints.lookUpOrder'],
  },
  {
    part: 4,
    point: 'default and maximum of page and limit',
    settings: ['invoices.paging.page', 'invoices.paging.limit', 'invoices.paging.firstPage', 'invoices.pageSize'],
  },
  {
    part: 4,
    point: 'complete list of endpoints',
    settings: [
      'service.endpoints.createCustomer',
      'service.endpoints.createOrder',
      'service.endpoints.updateCustomer',
      'service.endpoints.updateOrder',
      'service.endpoints.deleteCustomer',
      'service.endpoints.deleteOrder',
      'service.endpoints.listInvoices',
      'service.endpoints.readInvoice',
      'service.endpoints.readCustomer',
      'service.endpoints.lookUpCustomer',
      'service.endpoints.lookUpOrder',
    ],
  },
  {
    part: 4,
    point: 'bodies of the endpoints other than order creation and invoice listing',
    settings: [
      'service.acknowledgement.customerId',
      'service.acknowledgement.orderId',
      'service.acknowledgement.orderTotal',
      'service.acknowledgement.orderCreatedAt',
      'invoices.paging.fields.invoices',
    ],
  },
  { part: 5, point: 'which kind of credential', settings: ['service.credential.kind'] },
  { part: 5, point: 'who issues it', settings: ['service.credential.tokenUrl', 'service.credential.clientId'] },
  {
    part: 5,
    point: 'its lifetime, and what to do when it expires',
    settings: ['service.credential.refreshBeforeSeconds'],
  },
  { part: 5, point: 'address of the test environment', settings: ['service.sandboxUrl'] },
  { part: 5, point: 'rules of the test environment', settings: ['service.environment'] },
  {
    part: 6,
    point: 'event type names',
    settings: ['webhooks.enabled', 'webhooks.events.paymentSucceeded', 'webhooks.events.orderStatusChanged'],
  },
  {
    part: 6,
    point: 'payload shapes of events',
    settings: ['webhooks.fields.type', 'webhooks.fields.id', 'webhooks.fields.invoiceNo', 'webhooks.fields.orderId'],
  },
  {
    part: 6,
    point: 'signing of events',
    settings: [
      'webhooks.scheme',
      'webhooks.secretFiles',
      'webhooks.toleranceSeconds',
      'webhooks.hmac.header',
      'webhooks.hmac.algorithm',
      'webhooks.hmac.encoding',
      'webhooks.hmac.prefix',
      'webhooks.hmac.timestampHeader',
      'webhooks.hmac.signedPayload',
    ],
  },
  {
    part: 6,
    point: 'registration of the delivery address',
    settings: ['webhooks.host', 'webhooks.port', 'webhooks.path'],
  },
  {
    part: 6,
    point: 'retry schedule of events',
    settings: ['schedule.pull'],
    fixed: 'a repeated event does nothing, and what never comes is found by the pull',
  },
  {
    part: 7,
    point: 'number and intervals of retries',
    settings: ['delivery.backoffBaseSeconds', 'delivery.backoffMaxSeconds', 'delivery.quickResends'],
  },
  {
    part: 7,
    point: 'shape of an error body',
    settings: ['service.errorBody.message', 'service.errorBody.details'],
  },
  { part: 7, point: 'error codes', settings: ['service.errorBody.code', 'service.answers.inProgress'] },
  {
    part: 7,
    point: 'name of the idempotency code field or header',
    settings: ['service.idempotency.in', 'service.idempotency.header', 'service.idempotency.field'],
  },
  {
    part: 7,
    point: 'lifetime of a code, and what it remembers',
    settings: [
      'service.idempotency.lifetimeHours',
      'service.idempotency.replaysRefusals',
      'service.idempotency.comparesBodies',
    ],
  },
  { part: 8, point: 'numeric limits and their windows', settings: ['service.limits'] },
  {
    part: 8,
    point: 'durations of a block',
    settings: ['service.answers.blocked', 'service.blockedSeconds'],
    fixed: 'it holds across restarts',
  },
  { part: 8, point: 'maximum page size', settings: ['invoices.pageSize'] },
  { part: 8, point: 'request size limits', settings: ['service.maxRequestBytes'] },
  { part: 9, point: 'which version is current', settings: ['service.endpoints.createOrder'] },
  { part: 9, point: 'whether and when callers must move', settings: [], fixed: '`Sunset` (RFC 8594)' },
  { part: 9, point: 'the deprecation policy', settings: [], fixed: '`Deprecation` (RFC 9745)' },
];
