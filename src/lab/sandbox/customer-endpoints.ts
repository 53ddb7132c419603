import type { CustomerRecord } from '../../model/record.js';
import { type Answer, Refusal } from './answer.js';
import { checkCustomer, withoutNulls } from './body-rules.js';
import type { Call, Endpoint } from './call.js';
import { type StoredCustomer, timestamp } from './record-store.js';
import type { SandboxState } from './state.js';

export const createCustomer: Endpoint = (state, call) => {
  const record = withoutNulls<CustomerRecord>(checkCustomer(call.readBody(), 'create', state.options));
  const customerCode = record.customer_code;
  const existing = state.records.customers.get(customerCode);
  if (existing) {
    const { status, code } = state.options.alreadyExists;
    const shown = state.options.showExisting ? { customer: whole(existing).body } : {};
    throw new Refusal(status, code, `Customer ${customerCode} exists already`, shown);
  }
  const createdAt = timestamp(call.nowMs, state.options.utcOffsetMinutes);
  const customer: StoredCustomer = { customerCode, key: call.key, createdAt, requestIds: [], record };
  state.records.customers.set(customerCode, customer);
  return {
    status: 201,
    body: { customer_code: customerCode, status: 'active', created_at: createdAt },
    touched: customer,
  };
};

export const readCustomer: Endpoint = (state, call) => whole(find(state, call));

export const replaceCustomer: Endpoint = (state, call) => change(state, call, 'replace');

export const changeCustomer: Endpoint = (state, call) => change(state, call, 'change');

export const deleteCustomer: Endpoint = (state, call) => {
  const customer = find(state, call);
  state.records.deleteCustomer(customer);
  return { status: 204, touched: customer };
};

function change(state: SandboxState, call: Call, use: 'replace' | 'change'): Answer {
  const customer = find(state, call);
  const sent = checkCustomer(call.readBody(), use, state.options);
  if (sent.customer_code !== undefined && sent.customer_code !== customer.customerCode) {
    throw new Refusal(400, 'invalid_request', 'customer_code is the address of the customer and cannot change');
  }
  const kept = use === 'change' ? customer.record : {};
  customer.record = withoutNulls({ ...kept, ...sent, customer_code: customer.customerCode });
  return whole(customer);
}

function find(state: SandboxState, call: Call): StoredCustomer {
  const customer = state.records.customers.get(call.id);
  if (!customer) throw new Refusal(404, 'not_found', 'There is no such customer');
  return customer;
}

function whole(customer: StoredCustomer): Answer {
  return {
    status: 200,
    body: { ...customer.record, status: 'active', created_at: customer.createdAt },
    touched: customer,
  };
}
