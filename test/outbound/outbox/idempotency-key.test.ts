import { expect } from 'chai';
import fc from 'fast-check';
import type { Entity } from '../../../src/model/record.js';
import { createKey, keyAfterRefusal, revisionKey } from '../../../src/outbound/outbox/idempotency-key.js';

const entity = fc.constantFrom<Entity>('customer', 'order');
/** Keys of ERPs hold anything, and above all what others use to separate parts. */
const sourceKey = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .array(fc.constantFrom('1', '0', '/', '%', '|', ',', '"', '\\', '[', ']', ' ', '\n', '\u0000', 'create', 'ä'))
    .map((parts) => parts.join('')),
);

describe('the key of a create', () => {
  it('is what it has always been', () => {
    expect(createKey('main-office', 'order', '4711', 0)).to.equal('72d82ab9-391f-59de-b75a-95a76425b028');
    expect(createKey('main-office', 'order', '4711', 1)).to.equal('83aec56c-2613-5114-bbd1-e387d9cddb7b');
  });

  it('is the same for the same record, and another for any other record, generation or installation', () => {
    const parts = fc.tuple(fc.string(), entity, sourceKey, fc.nat({ max: 3 }));
    fc.assert(
      fc.property(parts, parts, (a, b) => {
        expect(createKey(...a)).to.equal(createKey(...a));
        expect(createKey(...a)).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        if (JSON.stringify(a) !== JSON.stringify(b)) expect(createKey(...a)).to.not.equal(createKey(...b));
      }),
      { numRuns: 500 },
    );
  });

  it('differs in each of its parts alone', () => {
    fc.assert(
      fc.property(fc.string(), entity, sourceKey, fc.nat({ max: 9 }), (installation, of, key, generation) => {
        const own = createKey(installation, of, key, generation);
        expect(createKey(installation, of, key, generation + 1), 'generation').to.not.equal(own);
        expect(createKey(`${installation}x`, of, key, generation), 'installation').to.not.equal(own);
        expect(createKey(installation, of === 'order' ? 'customer' : 'order', key, generation)).to.not.equal(own);
        expect(createKey(installation, of, `${key} `, generation), 'source key').to.not.equal(own);
      }),
    );
  });

  it('can not be made to collide by separators within a source key', () => {
    const keys = [
      '1","create",0',
      '1',
      '1/create/0',
      '1|create|0',
      '1%2F2',
      '1/2',
      '"1"',
      "1','2",
      '["1"]',
      '1 ',
      ' 1',
      '01',
    ];
    const made = keys.flatMap((key) => [0, 1].map((generation) => createKey('a', 'order', key, generation)));
    expect(new Set(made).size).to.equal(made.length);
  });
});

describe('the key of an update', () => {
  it('differs between revisions, records, operations and stores, and never equals a create', () => {
    fc.assert(
      fc.property(entity, sourceKey, fc.integer({ min: 1, max: 9 }), (of, key, revision) => {
        const own = revisionKey('store-1', of, key, 'update', revision);
        expect(revisionKey('store-1', of, key, 'update', revision)).to.equal(own);
        const others = [
          revisionKey('store-1', of, key, 'update', revision + 1),
          revisionKey('store-2', of, key, 'update', revision),
          revisionKey('store-1', of, `${key}/`, 'update', revision),
          revisionKey('store-1', of, key, 'delete', revision),
          revisionKey('store-1', of, key, 'create', revision),
          createKey('store-1', of, key, revision),
          createKey('store-1', of, key, 0),
        ];
        expect(others.slice(0, 4)).to.not.include(own);
        expect(others.slice(5)).to.not.include(own);
      }),
    );
  });

  it('has another one after it, and another after that, which are always the same', () => {
    const own = revisionKey('store-1', 'order', '4711', 'update', 2);
    const keys = [own, keyAfterRefusal(own), keyAfterRefusal(keyAfterRefusal(own))];
    expect(new Set(keys).size).to.equal(3);
    expect(keyAfterRefusal(own)).to.equal(keys[1]);
  });
});
