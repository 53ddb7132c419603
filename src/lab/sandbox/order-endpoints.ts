import type { OrderRecord } from '../../model/record.js';
import { type Answer, Refusal } from './answer.js';
import { checkOrder, orderTotal, withoutNulls } from './body-rules.js';
import type { Call, Endpoint } from './call.js';
import { dateAt, type StoredOrder, timestamp } from './record-store.js';
import type { SandboxState } from './state.js';

const dayMs = 24 * 60 * 60 * 1000;

export const createOrder: Endpoint = (state, call) => {
  const record = withoutNulls<OrderRecord>(checkOrder(call.readBody(), 'create', state.options));
  const total = orderTotal(record.items);
  requireCustomer(state, record);
  const createdAt = timestamp(call.nowMs, state.options.utcOffsetMinutes);
  const order: StoredOrder = {
    orderId: state.orderIds.next(),
    key: call.key,
    createdAt,
    requestIds: [],
    record,
    status: 'confirmed',
    total,
  };
  state.records.addOrder(order);
  if (state.options.invoicePerOrder) addInvoice(state, order, call.nowMs);
  return {
    status: 201,
    body: { order_id: order.orderId, status: order.status, total, created_at: createdAt },
    touched: order,
  };
};

export const readOrder: Endpoint = (state, call) => {
  const order = find(state, call);
  return { status: 200, body: whole(order), touched: order };
};

/** The look-up that some services offer: by the sender's reference, by the idempotency key, or both. */
export const findOrders: Endpoint = (state, call) => {
  const { records } = state;
  const known = [records.orderReferenceField, 'idempotency_key'];
  for (const name of call.query.keys()) {
    if (!known.includes(name)) throw new Refusal(400, 'invalid_parameter', `${name.slice(0, 80)} is not a parameter`);
  }
  const reference = call.query.get(records.orderReferenceField);
  const key = call.query.get('idempotency_key');
  if (reference === null && key === null) {
    throw new Refusal(400, 'invalid_parameter', `A look-up needs one of ${known.join(', ')}`);
  }
  const ids = reference === null ? records.ordersByKey.get(key ?? '') : records.ordersByReference.get(reference);
  const orders = records.findOrders(ids).filter((order) => key === null || order.key === key);
  return { status: 200, body: { data: orders.map(whole), total: orders.length } };
};

export const replaceOrder: Endpoint = (state, call) => change(state, call, 'replace');

export const changeOrder: Endpoint = (state, call) => change(state, call, 'change');

export const deleteOrder: Endpoint = (state, call) => {
  const order = find(state, call);
  state.records.deleteOrder(order);
  state.invoices.orderDeleted(order.orderId);
  return { status: 204, touched: order };
};

function change(state: SandboxState, call: Call, use: 'replace' | 'change'): Answer {
  const order = find(state, call);
  const sent = checkOrder(call.readBody(), use, state.options);
  const record = withoutNulls<OrderRecord>(use === 'change' ? { ...order.record, ...sent } : sent);
  const total = orderTotal(record.items);
  requireCustomer(state, record);
  state.records.changeOrder(order, record, total);
  state.invoices.orderChanged(order.orderId, record.customer_code, total);
  return { status: 200, body: whole(order), touched: order };
}

function addInvoice(state: SandboxState, order: StoredOrder, nowMs: number): void {
  const { paidShare, paymentTermDays, utcOffsetMinutes } = state.options;
  const invoice = {
    customer_code: order.record.customer_code,
    amount: order.total,
    due_date: dateAt(nowMs + paymentTermDays * dayMs, utcOffsetMinutes),
    status: state.paidRandom() < paidShare ? 'paid' : 'unpaid',
  };
  state.invoices.add(invoice, order.orderId);
}

function requireCustomer(state: SandboxState, record: OrderRecord): void {
  if (!state.records.customers.has(record.customer_code)) {
    throw new Refusal(404, 'unknown_customer', `There is no customer ${record.customer_code}`);
  }
}

function find(state: SandboxState, call: Call): StoredOrder {
  const order = state.records.orders.get(call.id);
  if (!order) throw new Refusal(404, 'not_found', 'There is no such order');
  return order;
}

function whole(order: StoredOrder): Record<string, unknown> {
  const { orderId, record, status, total, createdAt } = order;
  return { order_id: orderId, ...record, status, total, created_at: createdAt };
}
