import { type StoreType, triggerSql } from './store-witness.js';

export const webhookSecret = 'canary-webhook-secret-31b9';

/** The tables in which the ERP is told of its orders. */
export const writeBackTable = `CREATE TABLE waybill_orders (
  order_key VARCHAR(255) NOT NULL PRIMARY KEY, order_number VARCHAR(255) NULL, service_order_id VARCHAR(255) NULL,
  service_status VARCHAR(255) NULL, service_total DECIMAL(30,6) NULL, delivered_at DATETIME NULL,
  parked_class VARCHAR(16) NULL, parked_reason VARCHAR(1000) NULL, written_at DATETIME NOT NULL)`;

/** The settings of a run in which the service is asked and the ERP is told. */
export const tellBackSettings = {
  webhooks: { enabled: true, port: 0, scheme: 'hmac', secretFiles: ['webhook-secret'] },
  writeBack: { enabled: true, customers: { enabled: false }, invoices: { enabled: false } },
};

/** The tables that keep the rows while they are away. */
export const asideTables = ['sales_orders', 'sales_order_lines'].map(
  (table) => `CREATE TABLE aside_${table} AS SELECT * FROM ${table} WHERE 1=0`,
);

/** The table in which a store keeps, for the invariants, the pruned rows; no daemon knows of it. */
export function pruneWitnessSql(dialect: StoreType): string[] {
  return ['outbox_message', 'attempt'].flatMap((table) => {
    const copy = `INSERT INTO torture_pruned_${table} SELECT * FROM ${table} WHERE id=OLD.id`;
    return [
      `CREATE TABLE torture_pruned_${table} AS SELECT * FROM ${table} WHERE 1=0`,
      triggerSql(dialect, `prunes_${table}`, `BEFORE DELETE ON ${table}`, null, copy),
    ];
  });
}

/** Tells of every write into the rows of the ERP that is not made at its desk, which says so in the same transaction. */
export const touchSql = [
  'CREATE TABLE touched (what TEXT NOT NULL)',
  'CREATE TABLE at_desk (n INTEGER NOT NULL)',
  ...['customers', 'sales_orders', 'sales_order_lines', 'products'].flatMap((table) =>
    ['INSERT', 'UPDATE', 'DELETE'].map(
      (event) => `CREATE TRIGGER ${table}_${event} AFTER ${event} ON ${table} WHEN NOT EXISTS (SELECT 1 FROM at_desk)
        BEGIN INSERT INTO touched VALUES ('${event} ${table}'); END`,
    ),
  ),
];
