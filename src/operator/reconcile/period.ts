import type { Reconciliation } from './reconcile-rows.js';

/** The form of a comparison's dates in names of files: `2026-10`, or both ends. Pure. */
export function periodOf({ asks: { from, to } }: Pick<Reconciliation, 'asks'>): string {
  const [, year = '', nth = ''] = /^(\d{4})-(\d\d)-01$/.exec(from ?? '') ?? [];
  if (year !== '' && to === nextMonth(Number(year), Number(nth))) return `${year}-${nth}`;
  if (from === null && to === null) return 'all';
  return [from ?? 'begin', to ?? 'now'].map((end) => end.replace(/[^\d-]+/g, '-')).join('_');
}

/** The first day of the month after this one. Pure. */
export function nextMonth(year: number, month: number): string {
  return month === 12 ? `${year + 1}-01-01` : `${year}-${String(month + 1).padStart(2, '0')}-01`;
}
