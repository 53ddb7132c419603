/** The kinds that are written back into the ERP. */
export const writeBackKinds = ['orders', 'customers', 'invoices'] as const;
export type WriteBackKind = (typeof writeBackKinds)[number];

/**
 * The columns of each side table, which are also the named parameters of a statement; the key comes first. Amounts are decimals,
 * times are wall time in erp.timeZone, as text.
 */
export const writeBackColumns = {
  orders: [
    'order_key',
    'order_number',
    'service_order_id',
    'service_status',
    'service_total',
    'delivered_at',
    'parked_class',
    'parked_reason',
  ],
  customers: ['customer_key', 'service_customer_id', 'delivered_at', 'parked_class', 'parked_reason'],
  invoices: [
    'invoice_no',
    'customer_code',
    'amount',
    'currency',
    'due_date',
    'status',
    'listed_since',
    'no_longer_listed_at',
    'status_when_it_left',
  ],
} as const satisfies Record<WriteBackKind, readonly [string, ...string[]]>;

/** The named parameters of the statement that sets back a flag; `changed_at` is the row's own, as its database wrote it. */
export const clearPendingColumns = {
  orders: ['order_key', 'changed_at'],
  customers: ['customer_key', 'changed_at'],
} as const;

/** Column → value. A column of its kind that is left out stays as the ERP has it. */
export type WriteBackRow = Readonly<Record<string, string | null>>;

/** One record as it is to be in the ERP; `row` null: nothing is known of it any more. */
export interface WriteBackChange {
  key: string;
  /** The parts of a composite key of the ERP, for a statement's `:key_1`, `:key_2`; one part where the key is one column. */
  keyParts: readonly string[];
  row: WriteBackRow | null;
}
