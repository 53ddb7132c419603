import { sampleErpMapping } from '../../src/lab/sample-erp/create-sample-erp.js';
import type { Directus } from '../support/directus.js';

const text = { type: 'string', schema: {} };
const whole = { type: 'integer', schema: {} };
const required = (field: { type: string }) => ({ ...field, schema: { is_nullable: false } });
const unique = { type: 'string', schema: { is_unique: true } };
const named = { type: 'string', schema: { is_primary_key: true, is_nullable: false } };
const counted = { type: 'integer', schema: { is_primary_key: true, has_auto_increment: true } };

const collections = {
  customers: {
    customer_code: named,
    client_reference: unique,
    name: required(text),
    email: text,
    street: text,
    postcode: text,
    city: text,
    country: text,
  },
  orders: {
    id: counted,
    client_reference: unique,
    customer_code: required(text),
    note: text,
    status: { type: 'string', schema: { default_value: 'confirmed' } },
    total: required(whole),
    created_at: { type: 'timestamp', schema: {}, meta: { special: ['date-created'] } },
  },
  order_items: { id: counted, order_id: whole, sku: required(text), qty: required(whole), price: required(whole) },
  invoices: {
    invoice_no: named,
    customer_code: required(text),
    amount: required(whole),
    due_date: { type: 'date', schema: {} },
    status: text,
  },
};

/** Makes the collections of a small shop, with what a database is there for: foreign keys, and unique references. */
export async function makeShop({ request }: Directus): Promise<void> {
  for (const [collection, fields] of Object.entries(collections)) {
    const list = Object.entries(fields).map(([field, definition]) => ({ field, ...definition }));
    await request('POST', '/collections', { collection, schema: {}, meta: {}, fields: list });
  }
  await request('POST', '/fields/orders', { field: 'items', type: 'alias', meta: { special: ['o2m'] } });
  await request('POST', '/relations', {
    collection: 'order_items',
    field: 'order_id',
    related_collection: 'orders',
    schema: { on_delete: 'CASCADE' },
    meta: { one_field: 'items', one_deselect_action: 'delete' },
  });
  for (const collection of ['orders', 'invoices'])
    await request('POST', '/relations', {
      collection,
      field: 'customer_code',
      related_collection: 'customers',
      schema: { on_delete: 'NO ACTION' },
    });
}

/** Asks for what has this value in one field. Its list is empty as long as there is none. */
const lookUp = (collection: string, field: string, value: string, id: string) => ({
  path: `/items/${collection}`,
  query: { [`filter[${field}][_eq]`]: value, fields: '*,items.*' },
  list: 'data',
  id,
  match: { [field]: value },
  absenceProves: true,
});

/** Settings under `service` that tell Waybill what Directus is like: a unique column is its idempotency. */
export const service = {
  environment: 'sandbox',
  // Longer than Directus works on any request of this test.
  maxProcessingSeconds: 10,
  idempotency: { in: 'body', field: 'client_reference', keptInRecord: true, lifetimeHours: 24 },
  endpoints: {
    createCustomer: { path: '/items/customers', successStatus: 200 },
    updateCustomer: { path: '/items/customers/{customer_code}' },
    deleteCustomer: { path: '/items/customers/{customer_code}' },
    lookUpCustomer: lookUp('customers', 'customer_code', '{customer_code}', 'customer_code'),
    createOrder: { path: '/items/orders', successStatus: 200 },
    updateOrder: { path: '/items/orders/{order_id}' },
    deleteOrder: { path: '/items/orders/{order_id}' },
    lookUpOrder: { ...lookUp('orders', 'client_reference', '{idempotency_key}', 'id'), total: 'total' },
    listInvoices: { path: '/items/invoices' },
    // Directus tells nobody whether it hides a record or has none.
    readInvoice: { path: '/items/invoices/{invoice_no}', field: 'data', absentStatus: 403 },
  },
  acknowledgement: {
    customerId: 'data.customer_code',
    orderId: 'data.id',
    orderState: 'data.status',
    orderTotal: 'data.total',
    orderCreatedAt: 'data.created_at',
  },
  errorBody: { code: ['errors.0.extensions.code'], message: ['errors.0.message'] },
  answers: {
    alreadyExists: [{ status: 400, code: 'RECORD_NOT_UNIQUE' }],
    unknownCustomer: [{ status: 400, code: 'INVALID_FOREIGN_KEY' }],
  },
  states: { order: ['confirmed', 'cancelled'] },
};

/** The sections beside it. */
export const others = {
  orders: {
    ...sampleErpMapping.orders,
    fields: { total: { column: 'total', type: 'amount' } },
    cancelled: { column: 'status', values: ['cancelled'] },
    onCancelled: { patch: { status: 'cancelled' } },
  },
  invoices: {
    paging: {
      status: 'filter[status][_eq]',
      query: { meta: 'filter_count', sort: 'invoice_no' },
      fields: { total: 'meta.filter_count' },
    },
  },
};
