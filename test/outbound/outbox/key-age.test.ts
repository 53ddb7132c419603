import { expect } from 'chai';
import fc from 'fast-check';
import { serviceSettings } from '../../../src/config/sections/service.js';
import { keyLifetimeMs, mayBeForgotten, sentUnknownWhen } from '../../../src/outbound/outbox/idempotency-key.js';
import { clockToleranceMs } from '../../../src/store/clock.js';

describe('whether the service may have forgotten a key', () => {
  const now = 1_800_000_000_000;
  const lifetime = 86_400_000;

  it('is a question of its age', () => {
    expect(mayBeForgotten(now - lifetime, now, lifetime)).to.equal(false);
    expect(mayBeForgotten(now - lifetime - 1, now, lifetime)).to.equal(true);
    expect(mayBeForgotten(sentUnknownWhen, now, lifetime)).to.equal(true);
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
});
