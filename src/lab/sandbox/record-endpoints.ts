import type { CustomerRecord, OrderRecord } from '../../model/record.js';
import { type Answer, orNotFound, Refusal } from './answer.js';
import type { Call, Endpoint, Endpoints } from './handle-request.js';
import { dueDate } from './invoice-endpoints.js';
import type { LedgerCustomer, LedgerOrder } from './ledger.js';
import { timestamp } from './record-store.js';
import { cancelled, checkParameters, checkRecord, orderTotal, withoutNulls } from './request-rules.js';
import type { SandboxState } from './state.js';

const createCustomer: Endpoint = ({ options, records }, call) => {
  const body = call.readBody();
  checkRecord('customer', body, 'create', options);
  const record = withoutNulls<CustomerRecord>(body);
  const existing = records.customers.get(record.customer_code);
  if (existing) {
    const { status, code } = options.alreadyExists;
    const shown = options.showExisting ? { customer: showCustomer(existing).body } : {};
    throw new Refusal(status, code, `Customer ${record.customer_code} exists already`, shown);
  }
  const ids = { customer_code: record.customer_code, created_at: timestamp(call.nowMs, options.utcOffsetMinutes) };
  const customer: LedgerCustomer = { ...ids, key: call.key, requests: [], record };
  records.customers.set(customer.customer_code, customer);
  return { status: options.createdStatus, body: { ...ids, status: 'active' }, touched: customer };
};

const readCustomer: Endpoint = (state, call) => showCustomer(findCustomer(state, call));

const deleteCustomer: Endpoint = (state, call) => {
  const customer = findCustomer(state, call);
  state.records.deleteCustomer(customer);
  return { status: 204, touched: customer };
};

function writeCustomer(use: 'replace' | 'change'): Endpoint {
  return (state, call) => {
    const customer = findCustomer(state, call);
    const { customer_code } = customer;
    const sent = call.readBody();
    checkRecord('customer', sent, use, state.options);
    if (sent.customer_code !== undefined && sent.customer_code !== customer_code) {
      throw new Refusal(400, 'invalid_request', 'customer_code is the address of the customer and cannot change');
    }
    customer.record = withoutNulls({ ...(use === 'change' ? customer.record : {}), ...sent, customer_code });
    return showCustomer(customer);
  };
}

function findCustomer({ records }: SandboxState, { id }: Call): LedgerCustomer {
  return orNotFound(records.customers.get(id), 'There is no such customer');
}

function showCustomer(customer: LedgerCustomer): Answer {
  const body = { ...customer.record, status: 'active', created_at: customer.created_at };
  return { status: 200, body, touched: customer };
}

const createOrder: Endpoint = (state, call) => {
  const { options, records, invoices } = state;
  const body = call.readBody();
  checkRecord('order', body, 'create', options);
  const record = withoutNulls<OrderRecord>(body);
  const total = orderTotal(record.items);
  requireCustomer(state, record);
  const shown = {
    order_id: state.nextOrderId(),
    status: 'confirmed',
    total,
    created_at: timestamp(call.nowMs, options.utcOffsetMinutes),
  };
  const order = records.addOrder({ ...shown, key: call.key, requests: [], record });
  if (options.invoicePerOrder) {
    const status = state.paidRandom() < options.paidShare ? 'paid' : 'unpaid';
    const { customer_code } = record;
    invoices.add({ customer_code, amount: total, due_date: dueDate(options, call.nowMs), status }, shown.order_id);
  }
  return { status: options.createdStatus, body: shown, touched: order };
};

const readOrder: Endpoint = (state, call) => {
  const order = findOrder(state, call);
  return { status: 200, body: showOrder(order), touched: order };
};

/** The look-up that some services offer: by the sender's reference, by the idempotency key, or both. */
const findOrders: Endpoint = ({ records }, { query }) => {
  const known = [records.orderReferenceField, 'idempotency_key'];
  checkParameters(query, known);
  const reference = query.get(records.orderReferenceField);
  const key = query.get('idempotency_key');
  if (reference === null && key === null) {
    throw new Refusal(400, 'invalid_parameter', `A look-up needs one of ${known.join(', ')}`);
  }
  const orders = records.findOrders(reference, key);
  return { status: 200, body: { data: orders.map(showOrder), total: orders.length } };
};

const deleteOrder: Endpoint = (state, call) => {
  const order = findOrder(state, call);
  state.records.deleteOrder(order);
  state.invoices.orderDeleted(order.order_id);
  return { status: 204, touched: order };
};

function writeOrder(use: 'replace' | 'change'): Endpoint {
  return (state, call) => {
    const order = findOrder(state, call);
    const body = call.readBody();
    checkRecord('order', body, use, state.options);
    const { status, ...sent } = body;
    if (status === cancelled) order.status = cancelled;
    const record = withoutNulls<OrderRecord>(use === 'change' ? { ...order.record, ...sent } : sent);
    const total = orderTotal(record.items);
    requireCustomer(state, record);
    state.records.changeOrder(order, record, total);
    state.invoices.orderChanged(order.order_id, record.customer_code, total);
    return { status: 200, body: showOrder(order), touched: order };
  };
}

function requireCustomer({ records }: SandboxState, { customer_code }: OrderRecord): void {
  if (!records.customers.has(customer_code)) {
    throw new Refusal(404, 'unknown_customer', `There is no customer ${customer_code}`);
  }
}

function findOrder({ records }: SandboxState, { id }: Call): LedgerOrder {
  return orNotFound(records.orders.get(id), 'There is no such order');
}

function showOrder({ order_id, record, status, total, created_at }: LedgerOrder): Record<string, unknown> {
  return { order_id, ...record, status, total, created_at };
}

/** Each kind of record lives under one version only; the same name under another is an unknown address. */
export const recordEndpoints: Endpoints = {
  'POST /v1/customers': createCustomer,
  'GET /v1/customers/:id': readCustomer,
  'PUT /v1/customers/:id': writeCustomer('replace'),
  'PATCH /v1/customers/:id': writeCustomer('change'),
  'DELETE /v1/customers/:id': deleteCustomer,
  'POST /v1/orders': createOrder,
  'GET /v1/orders': findOrders,
  'GET /v1/orders/:id': readOrder,
  'PUT /v1/orders/:id': writeOrder('replace'),
  'PATCH /v1/orders/:id': writeOrder('change'),
  'DELETE /v1/orders/:id': deleteOrder,
};
