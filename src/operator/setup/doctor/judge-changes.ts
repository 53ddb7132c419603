import type { Settings } from '../../../config/settings.js';
import { type ExcludedOrders, withoutStartInWords } from '../../foresee-delivery.js';
import { type Finding, findingsOf } from './finding.js';

/**
 * The delay with which edits are found that no change of `changedAt` shows. Pure. @param withoutTime rows that hold
 * NULL there
 */
export function judgeChanges(
  { capture, orders, customers }: Pick<Settings, 'capture' | 'orders' | 'customers'>,
  withoutTime: { orders: number; customers: number },
): Finding[] {
  const finding = findingsOf('mapping');
  const late = `up to ${capture.sweepMinutes} min late (capture.sweepMinutes)`;
  return (['orders', 'customers'] as const).flatMap((kind) => {
    const { changedAt } = kind === 'orders' ? orders : customers;
    if (kind === 'customers' && customers.send === 'none') return [];
    if (changedAt === undefined)
      return [
        finding(
          'note',
          `${kind}.changedAt is not set: every change is found by a sweep, ${late}.`,
          `${kind}.changedAt: a column that moves with every edit, or a smaller capture.sweepMinutes`,
        ),
      ];
    const missing = withoutTime[kind];
    return [
      finding(
        'ok',
        `${kind}.changedAt: a change that moves ${changedAt} is found by the next pass; another one${kind === 'orders' ? ', such as of a line,' : ''} by a sweep, ${late}.`,
      ),
      ...(missing === 0
        ? []
        : [
            finding(
              'warning',
              `${missing} rows of ${kind}.query hold no ${changedAt}: their changes are found by a sweep, ${late}.`,
              `${kind}.query: COALESCE it with the time of creation, as long as both are of one type`,
            ),
          ]),
    ];
  });
}

/** Orders that may be sent but for an empty column of `orders.startFrom`. Pure. */
export function judgeStarts(excluded: ExcludedOrders, orders: Settings['orders']): Finding[] {
  const without = withoutStartInWords(excluded, orders);
  return without === null ? [] : [findingsOf('mapping')('warning', `orders.startFrom leaves out ${without}.`)];
}

/** Columns in floating point from which amounts are made. Pure. */
export function judgeFloats(columns: readonly { setting: string; name: string; float: string }[]): Finding[] {
  return columns.map(({ setting, name, float }) =>
    findingsOf('mapping')(
      'warning',
      `${setting}: column ${name} is a ${float}, which holds most amounts only nearly.`,
      `In the query: CAST(${name} AS DECIMAL(20, 6)) AS ${name}, around each column before it is multiplied`,
    ),
  );
}

/** Pure. @param columns how many rows of each hold an amount with a rest, and one of these amounts */
export function judgeRests(
  columns: readonly { setting: string; name: string; rows: number; such: string }[],
): Finding[] {
  return columns
    .filter(({ rows }) => rows > 0)
    .map(({ setting, name, rows, such }) =>
      findingsOf('mapping')(
        'warning',
        `${setting}: ${rows} rows of column ${name} hold an amount with a rest of floating point, such as ${such}.`,
        `In the query: ROUND(${name}, 2) AS ${name}, with as many digits as the currency has`,
      ),
    );
}

/** Pure. @param keys some keys that come several times */
export function judgeMultiplied(setting: string, keys: readonly string[]): Finding[] {
  if (keys.length === 0) return [];
  return [
    findingsOf('mapping')(
      'error',
      `${setting} yields several rows for one key, such as ${keys.join(', ')}: those records are parked.`,
      'Look for a join that finds several rows; choose one of them with a condition or a subselect',
    ),
  ];
}

/** The rows of a query beside those of the table that it is about. Pure. */
export function judgeRowCount(
  setting: string,
  table: string,
  counts: { query: number; table: number },
  { losesRows, filtersRows }: { losesRows: boolean; filtersRows: boolean },
): Finding[] {
  const finding = findingsOf('mapping');
  const difference = counts.query - counts.table;
  if (difference > 0)
    return [
      finding(
        'error',
        `${setting} yields ${difference} more rows than ${table} has (${counts.table}): a join multiplies them.`,
        'Join on the whole key, and only tables that hold one row for it',
      ),
    ];
  if (difference === 0 || !losesRows) return [];
  return [
    finding(
      filtersRows ? 'note' : 'warning',
      `${setting} leaves out ${-difference} of the ${counts.table} rows of ${table}${filtersRows ? ', by its WHERE or by a join' : ' by a join'}.`,
      'Write LEFT JOIN where a row should stay without its counterpart',
    ),
  ];
}

/** Nothing tells a wrong amount from a right one unless the ERP's own total is compared. */
export function judgeTotal({ total }: { total?: unknown }): Finding[] {
  if (total !== undefined) return [];
  return [
    findingsOf('mapping')(
      'note',
      'Nothing checks the amounts: no total of the ERP is compared with the lines of an order.',
      'orders.total: the column that the lines have to come to',
    ),
  ];
}
