import { Refusal } from './answer.js';
import type { Endpoint } from './call.js';
import { changeCustomer, createCustomer, deleteCustomer, readCustomer, replaceCustomer } from './customer-endpoints.js';
import { listInvoices, readInvoice } from './invoice-endpoints.js';
import { changeOrder, createOrder, deleteOrder, findOrders, readOrder, replaceOrder } from './order-endpoints.js';

interface Resource {
  collection: Record<string, Endpoint>;
  item: Record<string, Endpoint>;
}

/** Each resource lives under one version only; the same name under another is as unknown as any other path. */
const resources = new Map<string, Resource>([
  [
    'v1/customers',
    {
      collection: { POST: createCustomer },
      item: { GET: readCustomer, PUT: replaceCustomer, PATCH: changeCustomer, DELETE: deleteCustomer },
    },
  ],
  [
    'v1/orders',
    {
      collection: { POST: createOrder, GET: findOrders },
      item: { GET: readOrder, PUT: replaceOrder, PATCH: changeOrder, DELETE: deleteOrder },
    },
  ],
  ['v2/invoices', { collection: { GET: listInvoices }, item: { GET: readInvoice } }],
]);

export interface Route {
  endpoint: Endpoint;
  id: string;
  query: URLSearchParams;
}

/** Finds the endpoint for a method and a raw path with query. Refuses with 404 all that isn't served. */
export function route(method: string, pathAndQuery: string): Route {
  const queryAt = pathAndQuery.indexOf('?');
  const path = queryAt < 0 ? pathAndQuery : pathAndQuery.slice(0, queryAt);
  const [before, version, name, id, ...rest] = path.split('/');
  const resource = resources.get(`${version}/${name}`);
  const endpoint = (id === undefined ? resource?.collection : resource?.item)?.[method];
  if (before !== '' || rest.length > 0 || id === '' || !endpoint) {
    throw new Refusal(404, 'not_found', 'There is nothing at this address');
  }
  return {
    endpoint,
    id: decode(id ?? ''),
    query: new URLSearchParams(queryAt < 0 ? '' : pathAndQuery.slice(queryAt + 1)),
  };
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new Refusal(400, 'invalid_request', 'The address is not well encoded');
  }
}
