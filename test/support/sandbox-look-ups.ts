/**
 * The endpoints by which the sandbox can be asked for a record, as settings. Orders are recognised by their note, of
 * which each has its own.
 */
export const sandboxLookUps = {
  lookUpCustomer: {
    path: '/v1/customers/{customer_code}',
    id: 'customer_code',
    match: { customer_code: '{customer_code}' },
  },
  lookUpOrder: {
    path: '/v1/orders',
    query: { note: '{note}' },
    list: 'data',
    id: 'order_id',
    total: 'total',
    match: { note: '{note}' },
  },
};
