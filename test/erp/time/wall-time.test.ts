import { expect } from 'chai';
import fc from 'fast-check';
import { timeFormOfValue, writeBound, writeInstant } from '../../../src/erp/time/time-form.js';
import { formatInstant, instantToWall, wallToInstant } from '../../../src/erp/time/wall-time.js';
import { parseWrittenTime } from '../../../src/model/written-time.js';

const BERLIN = 'Europe/Berlin';

function instantOf(text: string, zone = BERLIN): string {
  const written = parseWrittenTime(text);
  if (written === null) throw new Error(`${text} was not read as a time`);
  return formatInstant(wallToInstant(written.wallSeconds, zone), written.fraction, zone);
}

describe('wall time', () => {
  it('gets the offset of the zone on that day', () => {
    expect(instantOf('2026-01-15 10:00:00')).to.equal('2026-01-15T10:00:00+01:00');
    expect(instantOf('2026-07-15 10:00:00.250000')).to.equal('2026-07-15T10:00:00.250000+02:00');
    expect(instantOf('2026-07-15 10:00:00', 'Asia/Kolkata')).to.equal('2026-07-15T10:00:00+05:30');
  });

  it('that happens twice means the first time, in summer time', () => {
    expect(instantOf('2026-10-25 02:30:00')).to.equal('2026-10-25T02:30:00+02:00');
    expect(instantOf('2026-10-25 01:59:59')).to.equal('2026-10-25T01:59:59+02:00');
    expect(instantOf('2026-10-25 03:00:00')).to.equal('2026-10-25T03:00:00+01:00');
  });

  it('that is skipped counts on from before the change', () => {
    expect(instantOf('2026-03-29 02:30:00')).to.equal('2026-03-29T03:30:00+02:00');
    expect(instantOf('2026-03-29 01:59:59')).to.equal('2026-03-29T01:59:59+01:00');
    expect(instantOf('2026-03-29 03:00:00')).to.equal('2026-03-29T03:00:00+02:00');
  });

  it('found from an instant leads back to it, but for the hour that happens twice', () => {
    const zones = fc.constantFrom(BERLIN, 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'UTC');
    const seconds = fc.integer({ min: 0, max: 2_000_000_000 });
    fc.assert(
      fc.property(seconds, zones, (instant, zone) => {
        const wall = instantToWall(instant, zone);
        const back = wallToInstant(wall, zone);
        expect(instantToWall(back, zone)).to.equal(wall);
        expect(back).to.be.at.most(instant);
        expect(instant - back).to.be.oneOf([0, 1800, 3600]);
      }),
    );
  });

  it('is not read from days and hours that do not exist', () => {
    for (const text of ['2026-02-29', '2026-13-01', '0000-00-00', '2026-01-01 24:00:00', '2026-01-01 10', '1.1.2026']) {
      expect(parseWrittenTime(text), text).to.equal(null);
    }
  });
});

describe('the form in which a column writes its times', () => {
  const now = { seconds: Date.UTC(2026, 6, 1, 8, 0, 0) / 1000, micros: 123_456 };

  it('is learnt from a value', () => {
    const written = (like: string, kind: 'text' | 'timestamp' = 'text') => {
      const form = timeFormOfValue(like, kind);
      return form && writeInstant(now, form, BERLIN);
    };
    expect(written('2026-01-01 00:00:00')).to.equal('2026-07-01 10:00:00');
    expect(written('2026-01-01 00:00:00.000', 'timestamp')).to.equal('2026-07-01 08:00:00.123');
    expect(written('2026-01-01T00:00:00.000000Z')).to.equal('2026-07-01T08:00:00.123456Z');
    expect(written('2026-01-01T00:00:00-05:00')).to.equal('2026-07-01T03:00:00-05:00');
    expect(written('2026-01-01')).to.equal('2026-07-01');
    expect(written('1767225600')).to.equal('1782892800');
    expect(written('1767225600000')).to.equal('1782892800123');
    expect(written('4711')).to.equal(null);
  });

  it('is what a date of the settings is written in', () => {
    const bound = (text: string, like: string, kind: 'text' | 'timestamp' = 'text') => {
      const form = timeFormOfValue(like, kind);
      return form && writeBound(text, form, BERLIN);
    };
    expect(bound('2026-07-01', '2026-01-01 00:00:00')).to.equal('2026-07-01');
    expect(bound('2026-07-01 10:00', '2026-01-01T00:00:00.000')).to.equal('2026-07-01T10:00:00');
    expect(bound('2026-07-01', '2026-01-01 00:00:00', 'timestamp')).to.equal('2026-06-30 22:00:00');
    expect(bound('2026-07-01', '2026-01-01T00:00:00Z')).to.equal('2026-06-30T22:00:00Z');
    expect(bound('2026-07-01', '1767225600')).to.equal('1782856800');
    expect(bound('soon', '2026-01-01')).to.equal(null);
  });
});
