import type { DoctorFacts } from '../../model/facts/doctor.js';
import { quoted, type WordsFor } from '../sentence.js';

function apart(minutes: number): string {
  const [size, direction] = [Math.abs(minutes), minutes < 0 ? 'behind' : 'ahead'];
  return `${size % 60 === 0 ? `${size / 60} h` : `${size} min`} ${direction}`;
}

export const doctorWords: WordsFor<DoctorFacts> = {
  time_zones_differ: ({ setting, column, database, settings, minutes, isSeen }) => ({
    text:
      `${setting}: ${column} has no time zone. That of the database is ${database}, ${apart(minutes)} of ${settings} (erp.timeZone)` +
      (isSeen
        ? ', and the newest change is just so far from now: edits are found by full scans alone.'
        : '. If the database writes this column by itself, edits are found by full scans alone.'),
    remedy: `Set erp.timeZone to the zone in which ${column} is written, such as that of the database.`,
  }),
  newest_change_ahead: ({ setting, column, newest, settings, minutes }) => ({
    text: `${setting}: the newest ${column}, ${quoted(newest)}, is ${minutes} min in the future by erp.timeZone (${settings}).`,
    remedy:
      'Set erp.timeZone to the zone in which the column is written, or correct the clock of the program that writes it.',
  }),
  no_cancellation_rule: ({ column, values }) => ({
    text: `Nothing says which orders are cancelled, while ${column} has ${values.map(({ value, rows }) => `${quoted(value)} (${rows})`).join(', ')}: an order that is cancelled after it was sent stays at the service.`,
    remedy: 'Name them in orders.cancelled, and the effect at the service in orders.onCancelled.',
  }),
  no_end_of_orders: ({ missing }) => ({
    text: `${missing.map((name) => `orders.${name}`).join(' and ')} ${missing.length === 1 ? 'is' : 'are'} not set: nobody is told of an order that leaves orders.pending after it was sent.`,
    remedy:
      'Name the states that end an order well in orders.completed, and those of a cancellation in orders.cancelled.',
  }),
  codes_shared: ({ codes, some }) => ({
    text: `${codes} customer ${codes === 1 ? 'code belongs' : 'codes belong'} to several customers each, such as ${some.map(quoted).join(', ')}: only one of them can be sent, the others are parked.`,
    remedy: 'Map customer_code to a column that tells them apart, or let customers.query yield one row for each code.',
  }),
};
