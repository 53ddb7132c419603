import { expect } from 'chai';
import fc from 'fast-check';
import { serviceSettings } from '../../../src/config/sections/service.js';
import {
  isShownOtherwise,
  keyLifetimeMs,
  keyLifetimeOf,
  mayBeForgotten,
  presentationsOf,
} from '../../../src/outbound/outbox/idempotency-key.js';
import { clockToleranceMs } from '../../../src/store/clock.js';

describe('whether the service may have forgotten a key', () => {
  const now = 1_800_000_000_000;
  const lifetime = 86_400_000;

  it('is a question of its age', () => {
    expect(mayBeForgotten(now - lifetime, now, lifetime)).to.equal(false);
    expect(mayBeForgotten(now - lifetime - 1, now, lifetime)).to.equal(true);
    expect(mayBeForgotten(null, now, lifetime)).to.equal(true);
  });

  it('is said of every key where nothing says how long the service remembers one', () => {
    const at = (lifetimeHours?: number) =>
      keyLifetimeMs(
        serviceSettings.parse({ environment: 'sandbox', baseUrl: 'https://a.example', idempotency: { lifetimeHours } }),
      );
    expect(at(24)).to.equal(lifetime);
    const unknown = at();
    const age = fc.integer({ min: -1_000_000_000_000, max: 1_800_000_000_000 });
    fc.assert(fc.property(age, (ageMs) => mayBeForgotten(now - ageMs, now, unknown)));
    expect(Number.isSafeInteger(4_000_000_000_000 - unknown), 'as a parameter of a query').to.equal(true);
  });

  it('is said of one from the future, of which nobody knows the age, but not where two clocks differ a little', () => {
    expect(mayBeForgotten(now + clockToleranceMs, now, lifetime)).to.equal(false);
    expect(mayBeForgotten(now + clockToleranceMs + 1, now, lifetime)).to.equal(true);
  });

  it('ends where the settings would show the key in another way, and not where that changes nothing', () => {
    const service = (over: object = {}) =>
      serviceSettings.parse({
        environment: 'sandbox',
        baseUrl: 'https://sandbox.example.com/api',
        ...over,
        idempotency: { lifetimeHours: 1, ...(over as { idempotency?: object }).idempotency },
      });
    const before = presentationsOf(service());
    const shown = (entity: 'customer' | 'order', keyField: string | null) => {
      return { entity, keyField, presentedAs: before[entity][keyField ? 'body' : 'header'] };
    };
    const isOther = (over: object, keyField: string | null = null) => {
      const now = service(over);
      const is = isShownOtherwise(shown('order', keyField), presentationsOf(now));
      expect(keyLifetimeOf(now, shown('order', keyField))).to.equal(
        is
          ? keyLifetimeOf(now, {
              ...shown('order', keyField),
              presentedAs: 'another',
            })
          : 3_600_000,
      );
      return is;
    };
    const credential = { kind: 'oauth', tokenUrl: 'https://login.example.com/token', clientId: 'a' };
    for (const over of [
      { idempotency: { quoted: true } },
      { idempotency: { header: 'X-Request-Key' } },
      { endpoints: { createOrder: { path: '/v2/orders' } } },
      { endpoints: { createOrder: { method: 'PUT' } } },
      { baseUrl: 'https://sandbox.example.com/api2' },
      { credential },
    ])
      expect(isOther(over), JSON.stringify(over)).to.equal(true);
    const accounts = ['a', 'b'].map((clientId) =>
      presentationsOf(service({ credential: { ...credential, clientId } })),
    );
    expect(accounts[0]).to.not.deep.equal(accounts[1]);
    for (const over of [
      {},
      { baseUrl: 'https://other.example.com/api/' },
      { idempotency: { header: 'idempotency-key' } },
      { idempotency: { in: 'body', field: 'code' } },
      { endpoints: { updateOrder: { path: '/v2/orders/{id}' }, createCustomer: { path: '/v2/customers' } } },
    ])
      expect(isOther(over), JSON.stringify(over)).to.equal(false);
    // The field of a body is frozen with its bytes, and quotes are about a header.
    expect(isOther({ idempotency: { header: 'X-Other' } }, 'code')).to.equal(false);
    expect(isShownOtherwise({ entity: 'order', keyField: null, presentedAs: null }, before)).to.equal(false);
  });
});
