import { expect } from 'chai';
import fc from 'fast-check';
import { type FieldPlan, mapField } from '../../src/erp/mapping/map-field.js';
import { mapOrder, type OrderCustomer, type OrderMapping } from '../../src/erp/mapping/map-records.js';
import type { RowFact } from '../../src/model/facts/rows.js';
import { formatSourceKey, parseSourceKey } from '../../src/model/record.js';
import { tellWhole } from '../../src/words/words.js';
import { problemsInWords } from './problems-in-words.js';

const context = { timeZone: 'Europe/Berlin', scale: 2, rounding: 'refuse' as const };

function field(name: string, column: string, extra: Partial<FieldPlan> = {}): FieldPlan {
  return { name, source: { column, kind: 'text' }, type: 'text', optional: false, ...extra };
}

function map(value: string | null, extra: Partial<FieldPlan> = {}): unknown {
  const outcome = mapField({ c: value }, field('f', 'c', extra), context);
  return 'problem' in outcome ? { problem: tellWhole(outcome.problem) } : outcome.value;
}

describe('a field', () => {
  it('of text stays exactly as it is', () => {
    for (const text of [' Müller &amp; Söhne ', "O'Brien", '<p>Hi</p>', 'a\tb\nc', '0', '💶']) {
      expect(map(text)).to.equal(text);
    }
  });

  it('without a value is refused, or left out where it is optional', () => {
    const problem = 'c is empty. Correct it in the ERP, or set optional: true for f.';
    expect(map(null)).to.deep.equal({ problem });
    expect(map('')).to.deep.equal({ problem });
    expect(map(null, { optional: true })).to.equal(undefined);
    expect(map('', { optional: true })).to.equal(undefined);
    // The settings refuse a field that the service needs as optional.
    expect(map('', { isRequired: true })).to.deep.equal({ problem: 'c is empty. Correct it in the ERP.' });
  });

  it('of text that is too long, or no text, is refused', () => {
    expect(map('abcd', { maxLength: 3 })).to.deep.equal({
      problem: 'c has 4 characters, more than the 3 allowed. Shorten it in the ERP.',
    });
    expect(map('💶💶💶', { maxLength: 3 })).to.equal('💶💶💶');
    expect(map('a\0b')).to.deep.equal({ problem: 'c holds bytes that are not text. Correct it in the ERP.' });
  });

  it('of a constant needs no column', () => {
    expect(map(null, { source: { constant: 'shop' } })).to.equal('shop');
  });

  it('of a whole number takes 2.000, and refuses what JSON can not carry', () => {
    expect(map('2.000', { type: 'integer' })).to.equal(2);
    expect(map('-0', { type: 'integer' })).to.equal(0);
    expect(map('9007199254740991', { type: 'integer' })).to.equal(9007199254740991);
    expect(map('9007199254740992', { type: 'integer' })).to.have.property('problem');
    expect(map('2.5', { type: 'integer' })).to.deep.equal({
      problem: 'c 2.5 is not a whole number. Correct it in the ERP.',
    });
    expect(map('two', { type: 'integer' })).to.deep.equal({
      problem: 'c "two" is not a number. Correct it in the ERP.',
    });
  });

  it('of yes or no takes the ways in which databases say so', () => {
    expect(['1', 'TRUE', 'Y'].map((text) => map(text, { type: 'boolean' }))).to.deep.equal([true, true, true]);
    expect(['0', 'f', 'No'].map((text) => map(text, { type: 'boolean' }))).to.deep.equal([false, false, false]);
    expect(map('2', { type: 'boolean' })).to.have.property('problem');
  });

  it('of a date refuses stand-ins for "no date", or leaves them out', () => {
    for (const text of ['0000-00-00', '0000-00-00 00:00:00', '1000-01-01', '1899-12-30', '1900-01-01', '2026-00-00']) {
      expect(map(text, { type: 'date' }), text)
        .to.have.property('problem')
        .that.includes('is no date');
      expect(map(text, { type: 'datetime', optional: true }), text).to.equal(undefined);
    }
    expect(map('2026-02-30', { type: 'date', optional: true })).to.have.property('problem');
  });

  it('of a time carries the offset of the ERP’s zone', () => {
    const timestamp = { source: { column: 'c', kind: 'timestamp' as const } };
    expect(map('2026-07-01 10:00:00.000000', { type: 'datetime' })).to.equal('2026-07-01T10:00:00+02:00');
    expect(map('2026-07-01 22:30:00', { type: 'datetime', ...timestamp })).to.equal('2026-07-02T00:30:00+02:00');
    expect(map('2026-07-01 22:30:00', { type: 'date', ...timestamp })).to.equal('2026-07-02');
    expect(map('2026-07-01 22:30:00', { type: 'date' })).to.equal('2026-07-01');
    expect(map('2026-07-01T10:00:00Z', { type: 'datetime' })).to.equal('2026-07-01T12:00:00+02:00');
  });
});

describe('an order', () => {
  const mapping: OrderMapping = {
    ...context,
    fields: [],
    lineFields: [
      field('sku', 'item'),
      field('qty', 'qty', { type: 'integer' }),
      field('price', 'unit_price', { type: 'amount' }),
    ],
    total: 'total',
  };
  const customer: OrderCustomer = { found: 'yes', key: '7', customerCode: 'K7', problems: [], row: { id: '7' } };
  const noName: RowFact = {
    code: 'value_missing',
    field: 'name',
    columns: [{ column: 'name', value: 'nothing' }],
    mayBeOptional: false,
  };
  const line = { item: 'A', qty: '2.000', unit_price: '10.5000' };

  function read(lines: Record<string, string | null>[], extra: object = {}, row: Record<string, string | null> = {}) {
    return mapOrder({ number: 'A-1', row: { total: '21.00', ...row }, lines, customer, ...extra }, mapping);
  }
  function reason(lines: Record<string, string | null>[], extra: object = {}, row = {}): string {
    const { content } = read(lines, extra, row);
    return content.mapped ? 'it was mapped' : problemsInWords(content);
  }

  it('becomes a record with its customer’s code, and its number in the note', () => {
    expect(read([line])).to.deep.equal({
      content: {
        mapped: true,
        record: { customer_code: 'K7', items: [{ sku: 'A', qty: 2, price: 1050 }], note: 'A-1' },
      },
      totals: { lines: '2100', header: '2100' },
    });
  });

  it('keeps a note of its own', () => {
    const own = { ...mapping, fields: [field('note', 'remark')] };
    const row = { total: null, remark: 'hello' };
    const { content } = mapOrder({ number: 'A-1', row, lines: [line], customer }, own);
    expect(content).to.have.nested.property('record.note', 'hello');
  });

  it('with a price beyond the scale names the line, the column and what to do', () => {
    expect(reason([line, { ...line, unit_price: '1.005' }])).to.equal(
      'line 2: unit_price 1.005 has more than 2 decimals. Correct the price in the ERP, or work the price out from the amount (orders.lines.amount or .unit).',
    );
  });

  it('that can not be sent says why', () => {
    expect(reason([])).to.equal('it has no lines. Add them in the ERP, or cancel the order there.');
    expect(reason([{ ...line, qty: '1.5' }])).to.include('line 1: qty 1.5 is not a whole number');
    expect(reason([{ ...line, qty: '-2.000' }])).to.include('line 1: qty -2.000 is not a positive quantity');
    expect(reason([{ ...line, qty: '0' }])).to.include('line 1: qty 0 is not a positive quantity');
    expect(reason([{ ...line, item: null }])).to.include('line 1: item is empty');
    expect(reason([{ ...line, unit_price: null }])).to.include('line 1: unit_price is empty');
    expect(reason([line], {}, { total: '21.005' })).to.include('total 21.005 has more than 2 decimals');
    expect(
      reason([line], {
        customer: { found: 'no', problem: { code: 'customer_not_found', customer: '8', mayBeLeftOut: false } },
      }),
    ).to.equal('its customer 8 is not in customers.query. Correct the order in the ERP, or the query.');
    const unmapped = { ...customer, customerCode: null, problems: [noName] };
    expect(reason([line], { customer: unmapped })).to.equal(
      'its customer 7 can not be sent: name is empty. Correct it in the ERP.',
    );
    expect(reason([{ ...line, qty: '9007199254740991', unit_price: '1.00' }])).to.include('add up to');
  });

  it('with several faults names them all', () => {
    expect(
      reason([
        { ...line, qty: '-1' },
        { ...line, item: '' },
      ]),
    )
      .to.include('line 1: qty -1')
      .and.include('line 2: item is empty');
  });

  it('may have a negative price', () => {
    const { content, totals } = read([line, { ...line, qty: '1', unit_price: '-5.00' }]);
    expect(content.mapped).to.equal(true);
    expect(totals?.lines).to.equal('1600');
  });

  it('goes on when its customer has a code, whatever else is wrong with the customer', () => {
    const { content } = read([line], { customer: { ...customer, problems: [noName] } });
    expect(content.mapped).to.equal(true);
  });

  it('without lines still has both totals, so that a caller can wait for the lines', () => {
    expect(read([]).totals).to.deep.equal({ lines: '0', header: '2100' });
    expect(read([line], {}, { total: null }).totals).to.equal(null);
  });

  it('that is unmapped has the same fingerprint for the same rows, and another for others', () => {
    const fingerprint = (lines: Record<string, string | null>[]) => {
      const { content } = read(lines);
      return content.mapped ? null : content.fingerprint;
    };
    const bad = { ...line, qty: '-1' };
    expect(fingerprint([bad]))
      .to.be.a('string')
      .and.equal(fingerprint([{ ...bad }]));
    expect(fingerprint([bad])).not.to.equal(fingerprint([{ ...bad, item: 'B' }]));
  });

  it('adds up as its lines do, beyond what floats can add', () => {
    const lines = fc.array(
      fc.record({
        qty: fc.integer({ min: 1, max: 1_000_000 }),
        cents: fc.integer({ min: -1_000_000, max: 1_000_000 }),
      }),
      { minLength: 1, maxLength: 20 },
    );
    fc.assert(
      fc.property(lines, (rows) => {
        const expected = rows.reduce((sum, { qty, cents }) => sum + BigInt(qty) * BigInt(cents), 0n);
        const read_ = read(rows.map(({ qty, cents }) => ({ item: 'A', qty: `${qty}`, unit_price: `${cents}e-2` })));
        expect(read_.totals?.lines).to.equal(`${expected}`);
      }),
    );
  });
});

describe('a source key', () => {
  it('keeps composite keys apart', () => {
    expect(formatSourceKey(['a/b'])).to.equal('a/b');
    expect(formatSourceKey(['a/b', 'c'])).to.equal('a%2Fb/c');
    const parts = fc.array(fc.string(), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(parts, (key) => {
        expect(parseSourceKey(formatSourceKey(key), key.length)).to.deep.equal(key);
      }),
    );
    expect(parseSourceKey('a/b/c', 2)).to.equal(null);
  });
});
