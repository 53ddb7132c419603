import type { ErpDesk, Statement } from './erp-desk.js';

export interface NewOrder {
  id: number;
  number: string;
  customer: number;
  remark: string | null;
  lines: readonly { product: number; qty: number }[];
  /** When it was entered and changed, on the wall. */
  time: string;
  /** The column of a key beside the id; absent: the id is the key. */
  key?: string;
}

/** The price of every line of a new order. */
const unitCents = 1_250;

export function totalCents(lines: NewOrder['lines']): number {
  return lines.reduce((sum, { qty }) => sum + qty * unitCents, 0);
}

export function decimal(cents: number): string {
  return (cents / 100).toFixed(2);
}

export function insertOrder({ hasOrderKey }: Pick<ErpDesk, 'hasOrderKey'>, order: NewOrder): Statement[] {
  const { id, number, customer, remark, lines, time, key = `${id}` } = order;
  const values = [
    ...[id, number, customer, 'confirmed', time.slice(0, 10), 'EUR', decimal(totalCents(lines)), remark, time, time],
    ...(hasOrderKey ? [key] : []),
  ];
  return [
    [`INSERT INTO sales_orders VALUES (${values.map(() => '?').join(',')})`, ...values],
    ...lines.map(
      ({ product, qty }, index): Statement => [
        'INSERT INTO sales_order_lines VALUES (?,?,?,?,?,?)',
        id * 10 + index,
        id,
        index + 1,
        product,
        `${qty}.000`,
        decimal(unitCents),
      ],
    ),
  ];
}

export function insertCustomer(id: number, code: string, name: string, time: string): Statement {
  const marks = Array.from({ length: 10 }, () => '?').join(',');
  return [`INSERT INTO customers VALUES (${marks})`, id, code, name, null, null, null, null, 'DE', time, time];
}
