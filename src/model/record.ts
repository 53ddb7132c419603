/** The two kinds of record that Waybill carries to the service. */
export const entities = ['customer', 'order'] as const;

export function pluralOf(entity: Entity): 'customers' | 'orders' {
  return entity === 'order' ? 'orders' : 'customers';
}
export type Entity = (typeof entities)[number];

/** A value that JSON can hold exactly. Numbers are safe integers; money never travels as a float. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [name: string]: JsonValue };

/** One order line as the service wants it. `price` is in the service's unit of money, an integer (see `amounts`). */
export interface OrderItem {
  sku: string;
  qty: number;
  price: number;
  [field: string]: JsonValue;
}

/** What is sent for a customer: `customer_code` and whatever else the mapping names. */
export interface CustomerRecord {
  customer_code: string;
  [field: string]: JsonValue;
}

/** What is sent for an order. `note` carries the ERP's order number unless the mapping puts it elsewhere. */
export interface OrderRecord {
  customer_code: string;
  items: OrderItem[];
  [field: string]: JsonValue;
}

/** An invoice as the service lists it. `amount` is in the service's unit of money, an integer. */
export interface Invoice {
  invoice_no: string;
  customer_code?: string;
  amount: number;
  /** YYYY-MM-DD */
  due_date: string;
  status: string;
}

/** Sum of qty × price in the service's unit of money. BigInt, because a sum of safe integers need not be one. */
export function orderTotal(items: readonly OrderItem[]): bigint {
  return items.reduce((sum, item) => sum + BigInt(item.qty) * BigInt(item.price), 0n);
}

/** Characters that the store has room for. */
const foldedLength = 255;

/**
 * One text for all spellings of a key that a collation may call equal: without case, accents, width, and blanks, and with one
 * letter for those that some collation takes for each other or for two (ß for S and SS, Ł for L, Ü for UE and Y). Spellings that
 * have it in common need not be equal; only the ERP's database can say that.
 */
export function foldKey(sourceKey: string): string {
  const folded = sourceKey
    .normalize('NFKD')
    .replace(/[\p{M}\p{Z}\p{C}·]/gu, '')
    .toUpperCase()
    .replace(/[ÐĐ]/g, 'D')
    .replace(/Ħ/g, 'H')
    .replace(/Ł/g, 'L')
    .replace(/[AÆ][AÆE]*/g, 'A')
    .replace(/[OØŒ]E*/g, 'O')
    .replace(/[UY]E*/g, 'U')
    .replace(/S+/g, 'S');
  return Array.from(folded).slice(0, foldedLength).join('');
}
