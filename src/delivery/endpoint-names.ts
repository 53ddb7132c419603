/** The endpoint by which each kind of record is made, changed and removed. */
export const endpointNames = {
  customer: { create: 'createCustomer', update: 'updateCustomer', delete: 'deleteCustomer' },
  order: { create: 'createOrder', update: 'updateOrder', delete: 'deleteOrder' },
} as const;
