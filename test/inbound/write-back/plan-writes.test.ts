import { expect } from 'chai';
import fc from 'fast-check';
import { orderRow } from '../../../src/inbound/write-back/wanted-rows.js';
import { planWrites } from '../../../src/inbound/write-back/write-back-batch.js';
import { writeBackDelayMs } from '../../../src/inbound/write-back/write-back-run.js';
import type { WrittenRow } from '../../../src/inbound/write-back/write-back-state.js';
import { legacy } from '../../../src/model/facts/fact.js';
import { decimalText } from '../../../src/model/minor-units.js';
import type { WriteBackRow } from '../../../src/model/write-back.js';

const key: fc.Arbitrary<string> = fc.constantFrom('1', '2', '3', 'ä/1', '');
const rows = fc
  .array(
    fc.tuple(key, fc.record({ status: fc.option(fc.constantFrom('a', 'b', 'paid')) }, { noNullPrototype: true })),
    { maxLength: 8 },
  )
  .map((entries) => new Map<string, WriteBackRow>(entries));
const keys = fc.array(key, { maxLength: 12 });

/** The ERP and its memory after a plan was carried out, but for the keys that the ERP refuses. */
function carryOut(
  erp: Map<string, WriteBackRow>,
  written: Map<string, WrittenRow>,
  planned: ReturnType<typeof planWrites>,
  refuses: ReadonlySet<string>,
  nowMs: number,
): void {
  for (const { key: one, row, hash } of planned) {
    const isRefused = refuses.has(one);
    if (!isRefused && row === null) {
      erp.delete(one);
      written.delete(one);
      continue;
    }
    if (!isRefused && row !== null) erp.set(one, row);
    const refusal = isRefused ? { refusal: legacy('no'), nextTryAt: nowMs + 100 } : { refusal: null, nextTryAt: null };
    written.set(one, { recordKey: one, contentHash: hash, ...refusal });
  }
}

describe('what is written back', () => {
  it('makes the ERP equal to what is known, whatever it held, and then is nothing', () => {
    fc.assert(
      fc.property(fc.array(rows, { minLength: 1, maxLength: 5 }), keys, (states, some) => {
        const erp = new Map<string, WriteBackRow>();
        const written = new Map<string, WrittenRow>();
        for (const wanted of states) {
          const all = [...some, ...wanted.keys(), ...written.keys()];
          carryOut(erp, written, planWrites(all, wanted, written, 0), new Set(), 0);
          expect(Object.fromEntries(erp)).to.deep.equal(Object.fromEntries(wanted));
          expect(planWrites(all, wanted, written, 0)).to.deep.equal([]);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('holds back what is refused until it is due or has changed, and nothing else', () => {
    fc.assert(
      fc.property(rows, rows, fc.uniqueArray(key), (wanted, changed, refused) => {
        const erp = new Map<string, WriteBackRow>();
        const written = new Map<string, WrittenRow>();
        const refuses = new Set(refused);
        carryOut(erp, written, planWrites([...wanted.keys()], wanted, written, 0), refuses, 0);
        expect(planWrites([...wanted.keys()], wanted, written, 99)).to.deep.equal([]);
        const due = planWrites([...wanted.keys()], wanted, written, 100).map((one) => one.key);
        expect(due.sort()).to.deep.equal([...wanted.keys()].filter((one) => refuses.has(one)).sort());
        for (const { key: one, row } of planWrites([...changed.keys()], changed, written, 50))
          expect(row).to.deep.equal(changed.get(one)).and.not.deep.equal(wanted.get(one));
      }),
      { numRuns: 500 },
    );
  });

  it('is an exact decimal of every amount', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }),
        fc.integer({ min: 0, max: 6 }),
        (minor, scale) => {
          const text = decimalText(String(minor), scale);
          expect(text).to.match(/^-?\d+(\.\d+)?$/);
          expect(text.split('.')[1]?.length ?? 0).to.equal(scale);
          expect(BigInt(text.replace('.', ''))).to.equal(minor);
        },
      ),
    );
    expect(decimalText('-5', 2)).to.equal('-0.05');
  });

  it('says of an order its id, status and total, and why it is parked', () => {
    const form = { currency: 'EUR', scale: 2, wallText: String };
    const outcome = {
      sourceKey: '7',
      number: 'A-7',
      serviceId: 'ord_1',
      serviceStatus: 'confirmed',
      serviceTotal: '1999',
      isUnproven: false,
      deliveredAt: 5,
      parked: { parkClass: 'refused' as const, reason: 'x'.repeat(2_000) },
    };
    expect(orderRow(outcome, form)).to.deep.equal({
      order_key: '7',
      order_number: 'A-7',
      service_order_id: 'ord_1',
      service_status: 'confirmed',
      service_total: '19.99',
      delivered_at: '5',
      parked_class: 'refused',
      parked_reason: 'x'.repeat(1_000),
    });
  });

  it('waits longer after each failure, and never longer than a quarter of an hour', () => {
    const waits = Array.from({ length: 60 }, (_, index) => writeBackDelayMs(index + 1));
    expect(waits[0]).to.equal(30_000);
    expect(waits).to.deep.equal(waits.toSorted((a, b) => a - b));
    expect(waits.at(-1)).to.equal(900_000);
  });
});
