import { expect } from 'chai';
import fc from 'fast-check';
import { compareChangedAt, shiftChangedAt, timeFormOfValue } from '../../src/erp/time/time-form.js';

describe('a change cursor moved back for the overlap', () => {
  it('keeps its form', () => {
    expect(shiftChangedAt('2026-03-01 00:05:00', -600)).to.equal('2026-02-28 23:55:00');
    expect(shiftChangedAt('2026-03-01 00:05:00.123456', -600)).to.equal('2026-02-28 23:55:00.123456');
    expect(shiftChangedAt('2026-03-01T00:05:00.5Z', -600)).to.equal('2026-02-28T23:55:00.5Z');
    expect(shiftChangedAt('2026-03-01T00:05:00+02:00', -600)).to.equal('2026-02-28T23:55:00+02:00');
    expect(shiftChangedAt('2026-03-01 00:05', -600)).to.equal('2026-02-28 23:55');
    expect(shiftChangedAt('2026-03-01 00:05:00', 60)).to.equal('2026-03-01 00:06:00');
  });

  it('goes back by whole days where only days are written, the started one included', () => {
    expect(shiftChangedAt('2026-03-01', -600)).to.equal('2026-02-28');
    expect(shiftChangedAt('2026-03-01', -86_400)).to.equal('2026-02-28');
    expect(shiftChangedAt('2026-03-01', 0)).to.equal('2026-03-01');
  });

  it('understands seconds, milliseconds and microseconds since 1970', () => {
    expect(shiftChangedAt('1767225600', -600)).to.equal('1767225000');
    expect(shiftChangedAt('1767225600123', -600)).to.equal('1767225000123');
    expect(shiftChangedAt('1767225600123456', -600)).to.equal('1767225000123456');
  });

  it('stays where it is when it is a version counter or no time at all', () => {
    for (const text of ['4711', '7', '20260301000500', '0000-00-00 00:00:00', '', 'abc', '2026-02-30', '0xFF']) {
      expect(shiftChangedAt(text, -600), text).to.equal(text);
    }
    expect(timeFormOfValue('123456789', 'number')).to.equal(null);
  });

  it('goes to the earlier second for a part of one, and never out of the calendar', () => {
    expect(shiftChangedAt('2026-03-01 00:00:01', -0.5)).to.equal('2026-03-01 00:00:00');
    expect(shiftChangedAt('0001-01-01 00:00:00', -600)).to.equal('0001-01-01 00:00:00');
    expect(shiftChangedAt('9999-12-31 23:59:59', 600)).to.equal('9999-12-31 23:59:59');
  });

  it('moved there and back is the same text', () => {
    const times = fc.date({ min: new Date('1990-01-01'), max: new Date('2090-01-01'), noInvalidDate: true });
    fc.assert(
      fc.property(times, fc.integer({ min: 0, max: 1e7 }), fc.constantFrom(' ', 'T'), (time, seconds, separator) => {
        const text = time.toISOString().slice(0, 23).replace('T', separator);
        const moved = shiftChangedAt(text, -seconds);
        expect(shiftChangedAt(moved, seconds)).to.equal(text);
        expect(compareChangedAt(moved, text)).to.equal(seconds === 0 ? 0 : -1);
      }),
    );
  });
});

describe('two values of a change cursor', () => {
  it('that are written alike are compared as all others are', () => {
    const times = fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true });
    const forms = fc.constantFrom<(iso: string) => string>(
      (iso) => iso.slice(0, 19).replace('T', ' '),
      (iso) => iso.slice(0, 19),
      (iso) => iso.slice(0, 23),
      (iso) => iso.slice(0, 10),
    );
    fc.assert(
      fc.property(times, times, forms, (a, b, write) => {
        const [first, second] = [write(a.toISOString()), write(b.toISOString())];
        // With a zero more they are not alike, and just as late.
        const inOtherForm = second.length > 10 ? `${second}${second.includes('.') ? '' : '.'}0` : `${second} 00:00:00`;
        expect(compareChangedAt(first, second)).to.equal(compareChangedAt(first, inOtherForm));
      }),
    );
    expect(compareChangedAt('2026-02-30 10:00:00', '2026-03-01 10:00:00')).to.equal(-1);
    expect(compareChangedAt('2026-01-01T10:00:00', '2026-01-01 11:00:00')).to.equal(-1);
  });

  it('are compared as times, or as numbers', () => {
    expect(compareChangedAt('2026-01-01 10:00:00', '2026-01-01 10:00:00.000000')).to.equal(0);
    expect(compareChangedAt('2026-01-01T10:00:00Z', '2026-01-01T10:00:00.5Z')).to.equal(-1);
    expect(compareChangedAt('2026-01-01T10:00:00+02:00', '2026-01-01T09:00:00Z')).to.equal(-1);
    expect(compareChangedAt('9', '10')).to.equal(-1);
    expect(compareChangedAt('9007199254740993', '9007199254740992')).to.equal(1);
    expect(compareChangedAt('b', 'a')).to.equal(1);
    expect(compareChangedAt('0000-00-00 00:00:00', '2026-01-01 00:00:00')).to.equal(-1);
  });
});
