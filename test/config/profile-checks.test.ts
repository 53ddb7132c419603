import { expect } from 'chai';
import { load, pathsOf, problemsOf, removeFolders, validSettings } from './folder.js';

const withService = (
  service: object,
  change: (settings: ReturnType<typeof validSettings>) => void = () => undefined,
) => {
  const settings = validSettings();
  Object.assign(settings.service, service);
  change(settings);
  return settings;
};
const paths = (...given: Parameters<typeof withService>) => pathsOf(problemsOf(withService(...given)));

describe('a profile that does not fit the records', () => {
  after(removeFolders);

  it('is refused when the key would take the place of a field', () => {
    for (const field of ['customer_code', 'items', 'remark'])
      expect(
        paths({ idempotency: { in: 'body', field } }, ({ orders }) => {
          orders.fields = { remark: 'remark' };
        }),
      ).to.deep.equal(['service.idempotency.field']);
    load(withService({ idempotency: { in: 'body', field: 'code' } }));
    load(withService({ idempotency: { in: 'header', field: 'customer_code' } }));
  });

  it('is refused when the key would go in a header that the client writes', () => {
    for (const header of ['Content-Length', 'Traceparent'])
      expect(paths({ idempotency: { header } })).to.deep.equal(['service.idempotency.header']);
  });

  it('is refused when a key in the body is to be quoted', () => {
    expect(paths({ idempotency: { in: 'body', quoted: true } })).to.deep.equal(['service.idempotency.quoted']);
  });

  it('is refused when a look-up asks by what nothing fills, and braces of JSON are no names', () => {
    const asking = (query: object, match: object) => ({
      endpoints: { lookUpOrder: { path: '/v1/orders', list: 'data', id: 'id', query, match } },
    });
    const lookUp = (query: object, match: object) => paths(asking(query, match));
    const where = '{"reference":"{idempotency_key}"}';
    load(withService(asking({ where }, { reference: '{idempotency_key}' })));
    expect(lookUp({ where: '{"reference":"{reference}"}' }, { reference: '{idempotency_key}' })).to.deep.equal([
      'service.endpoints.lookUpOrder.query.where',
    ]);
    expect(lookUp({ where }, { reference: '{nothing}' })).to.deep.equal([
      'service.endpoints.lookUpOrder.match.reference',
    ]);
  });

  it('is refused when a path names what nothing fills', () => {
    const endpoints = {
      createOrder: { path: '/v1/orders/{order_id}' },
      updateOrder: { path: '/v1/shops/{shop}/orders/{order_id}' },
      updateCustomer: { path: '/v1/customers/{order_id}' },
      lookUpOrder: { path: '/v1/orders/{nothing}', id: 'order_id', match: { note: '{note}' } },
    };
    expect(paths({ endpoints }).sort()).to.deep.equal(
      Object.keys(endpoints)
        .map((name) => `service.endpoints.${name}.path`)
        .sort(),
    );
    load(
      withService({ endpoints: { updateOrder: { path: '/v1/shops/{shop}/orders/{id}/{note}' } } }, ({ orders }) => {
        orders.fields = { shop: { constant: 'main' } };
      }),
    );
  });

  it('is refused when it requires a field that is not mapped', () => {
    const fields = {
      customer: { name: { required: true }, customer_code: { required: true } },
      order: { note: { required: true }, shop: { required: true }, memo: { maxLength: 5 } },
      item: { unit: { required: true }, sku: { required: true } },
    };
    expect(paths({ fields })).to.deep.equal([
      'service.fields.customer.name.required',
      'service.fields.order.shop.required',
      'service.fields.item.unit.required',
    ]);
  });

  it('is refused when orders are to be read back, and nothing says where, or by what', () => {
    const enable = ({ orders }: ReturnType<typeof validSettings>) => {
      Object.assign(orders, { readBack: { enabled: true } });
    };
    expect(paths({}, enable)).to.deep.equal(['orders.readBack.enabled']);
    load(withService({ endpoints: { readOrder: {} } }, enable));
    for (const path of ['/v1/orders', 'v1/orders/{order_id}', '/v1/orders/{order_id}?a=b', '/v1/{shop}/orders/{id}'])
      expect(paths({ endpoints: { readOrder: { path } } })).to.deep.equal(['service.endpoints.readOrder.path']);
  });

  it('is refused with a rule that is none', () => {
    expect(paths({ fields: { order: { note: { maxLength: 0 } } } })).to.deep.equal([
      'service.fields.order.note.maxLength',
    ]);
    expect(paths({ fields: { order: { note: { longest: 1 } } } })).to.deep.equal(['service.fields.order.note.longest']);
  });
});

describe('the address of the service', () => {
  after(removeFolders);
  const urls = { baseUrl: 'https://api.example.com', sandboxUrl: 'https://sandbox.example.com' };

  it('is that of the environment in use', () => {
    const urlIn = (environment: string) => load(withService({ ...urls, environment })).settings.service.baseUrl;
    expect(urlIn('sandbox')).to.equal(urls.sandboxUrl);
    expect(urlIn('production')).to.equal(urls.baseUrl);
    expect(load(withService({ baseUrl: urls.baseUrl })).settings.service.baseUrl).to.equal(urls.baseUrl);
  });
});
