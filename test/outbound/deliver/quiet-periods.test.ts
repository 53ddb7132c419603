import { expect } from 'chai';
import fc from 'fast-check';
import { DateTime } from 'luxon';
import { type QuietHours, scheduleSettings } from '../../../src/config/sections/schedule.js';
import { quietMs, quietPeriods } from '../../../src/outbound/deliver/quiet-hours.js';

const hourMs = 3_600_000;
const berlin = 'Europe/Berlin';
const parse = (...given: object[]) => scheduleSettings.parse({ quietHours: given }).quietHours;
const at = (local: string, zone = berlin) => DateTime.fromISO(local, { zone }).toMillis();
const utc = (text: string) => Date.parse(`${text}Z`);
const iso = (ms: number) => new Date(ms).toISOString().slice(0, 16);
const around = (day: string, zone = berlin) => ({ fromMs: at(`${day}T00:00`, zone), toMs: at(`${day}T23:59`, zone) });
const shown = (hours: QuietHours[], day: string, zone = berlin) =>
  quietPeriods(hours, 'deliver', zone, around(day, zone)).map(({ fromMs, toMs }) => [iso(fromMs), iso(toMs)]);

describe('quiet periods', () => {
  it('go over midnight, in the zone of the schedule', () => {
    expect(shown(parse({ from: '22:00', to: '06:00' }), '2026-06-10')).to.deep.equal([
      ['2026-06-09T20:00', '2026-06-10T04:00'],
      ['2026-06-10T20:00', '2026-06-11T04:00'],
    ]);
  });

  it('belong to the day on which they begin', () => {
    const fridays = parse({ from: '22:00', to: '06:00', days: ['fri'] });
    expect(shown(fridays, '2026-06-12')).to.deep.equal([['2026-06-12T20:00', '2026-06-13T04:00']]);
    expect(shown(fridays, '2026-06-13')).to.deep.equal([['2026-06-12T20:00', '2026-06-13T04:00']]);
    expect(shown(fridays, '2026-06-14')).to.deep.equal([]);
  });

  it('are one where they meet or overlap', () => {
    const weekend = parse(
      { from: '00:00', to: '24:00', days: ['sat', 'sun'] },
      { from: '20:00', to: '02:00', days: ['fri'] },
    );
    const week = { fromMs: at('2026-06-13T00:00'), toMs: at('2026-06-17T00:00') };
    const [period, ...others] = quietPeriods(weekend, 'deliver', berlin, week);
    expect([iso(period?.fromMs ?? 0), iso(period?.toMs ?? 0)]).to.deep.equal(['2026-06-12T18:00', '2026-06-14T22:00']);
    expect(others).to.deep.equal([]);
  });

  it('bind only the lanes that they name', () => {
    const pulls = parse({ lanes: ['pull'], from: '22:00', to: '06:00' });
    expect(shown(pulls, '2026-06-10')).to.deep.equal([]);
    expect(quietPeriods(pulls, 'pull', berlin, around('2026-06-10'))).to.have.length(2);
  });

  // Berlin's clocks go from 02:00 to 03:00 on 29 March 2026, and from 03:00 back to 02:00 on 25 October.
  it('begin and end at the change where the clocks skip their time', () => {
    expect(shown(parse({ from: '02:30', to: '05:00' }), '2026-03-29')).to.deep.equal([
      ['2026-03-29T01:00', '2026-03-29T03:00'],
    ]);
    expect(shown(parse({ from: '01:00', to: '02:30' }), '2026-03-29')).to.deep.equal([
      ['2026-03-29T00:00', '2026-03-29T01:00'],
    ]);
    expect(shown(parse({ from: '02:10', to: '02:50' }), '2026-03-29')).to.deep.equal([]);
  });

  it('last from the first to the last time that the clocks show their ends', () => {
    expect(shown(parse({ from: '02:30', to: '05:00' }), '2026-10-25')).to.deep.equal([
      ['2026-10-25T00:30', '2026-10-25T04:00'],
    ]);
    expect(shown(parse({ from: '01:00', to: '02:30' }), '2026-10-25')).to.deep.equal([
      ['2026-10-24T23:00', '2026-10-25T01:30'],
    ]);
  });

  it('are as long as the night is, when the clocks change in it', () => {
    const nights = parse({ from: '22:00', to: '06:00' });
    const hoursOf = (day: string) =>
      quietMs(nights, ['deliver'], berlin, { fromMs: at(`${day}T12:00`), toMs: at(`${day}T12:00`) + 24 * hourMs }) /
      hourMs;
    expect([hoursOf('2026-06-10'), hoursOf('2026-03-28'), hoursOf('2026-10-24')]).to.deep.equal([8, 7, 9]);
  });

  it('know zones whose clocks change by half an hour, or at midnight, or lost a day', () => {
    // Lord Howe Island goes back from 02:00 to 01:30; Havana from 01:00 to 00:00; Samoa had no 30 December 2011.
    const doubled = parse({ from: '01:15', to: '01:45' });
    expect(shown(doubled, '2026-04-05', 'Australia/Lord_Howe')).to.deep.equal([
      ['2026-04-04T14:15', '2026-04-04T15:15'],
    ]);
    expect(shown(parse({ from: '00:00', to: '00:30' }), '2026-11-01', 'America/Havana')).to.deep.equal([
      ['2026-11-01T04:00', '2026-11-01T05:30'],
    ]);
    const lost = quietPeriods(parse({ from: '08:00', to: '10:00' }), 'deliver', 'Pacific/Apia', {
      fromMs: utc('2011-12-29T12:00'),
      toMs: utc('2012-01-01T00:00'),
    });
    expect(lost.map(({ fromMs }) => iso(fromMs))).to.deep.equal([
      '2011-12-29T18:00',
      '2011-12-30T18:00',
      '2011-12-31T18:00',
    ]);
  });

  it('hold every moment at which the clocks show a quiet time, and no others but the second half of a doubled hour', () => {
    const time = fc.record({ hour: fc.nat(23), minute: fc.nat(59) });
    const written = ({ hour, minute }: { hour: number; minute: number }) =>
      `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`;
    const names = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
    const zones = [berlin, 'UTC', 'America/New_York', 'America/Havana', 'Australia/Lord_Howe', 'Asia/Kathmandu'];
    const moments = fc.oneof(
      fc.integer({ min: utc('2026-01-01T00:00'), max: utc('2027-01-01T00:00') }),
      ...['2026-03-29T01:00', '2026-10-25T01:00', '2026-03-08T07:00', '2026-11-01T05:00', '2026-04-04T15:00'].map(
        (change) => fc.integer({ min: -240, max: 240 }).map((minutes) => utc(change) + minutes * 60_000),
      ),
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        moments,
        time.map(written),
        time.map(written),
        fc.subarray([...names], { minLength: 1 }),
        (zone, now, from, to, days) => {
          fc.pre(from !== to);
          const hours = parse({ from, to, days });
          const isQuiet = quietPeriods(hours, 'deliver', zone, { fromMs: now, toMs: now + 1 }).length > 0;
          const reads = (ms: number) => {
            const local = DateTime.fromMillis(ms, { zone });
            const clock = local.toFormat('HH:mm');
            const day = (back: number) =>
              days.includes(names[local.minus({ days: back }).weekday - 1] as (typeof names)[number]);
            if (from < to) return clock >= from && clock < to && day(0);
            return (clock >= from && day(0)) || (clock < to && day(1));
          };
          if (reads(now)) expect(isQuiet, 'quiet by the clock').to.equal(true);
          else if (isQuiet) {
            // The clocks go back within the next or the last hour, and show a quiet time on the other side.
            const offsets = [-hourMs, 0, hourMs].map((ms) => DateTime.fromMillis(now + ms, { zone }).offset);
            expect(new Set(offsets).size, 'a change of the clocks nearby').to.be.above(1);
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
