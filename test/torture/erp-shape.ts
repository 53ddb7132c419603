import { type ErpDesk, sqliteDesk } from './erp-desk.js';
import type { Plan } from './plan.js';

const keyTypes = {
  sqlite: { text: 'VARCHAR(400) COLLATE NOCASE', bigint: 'INTEGER' },
  mysql: { text: 'VARCHAR(400) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci', bigint: 'BIGINT' },
} as const;

/** Makes the sample ERP one in which numbers and codes may repeat, and orders may have a key of another kind beside their id. */
export async function shapeErp(desk: ErpDesk, type: 'sqlite' | 'mysql', orderKey: Plan['orderKey']): Promise<void> {
  for (const [table, column] of [
    ['sales_orders', 'order_no'],
    ['customers', 'customer_no'],
  ] as const)
    if (type === 'mysql') await desk.run([[`ALTER TABLE ${table} DROP INDEX ${column}`]]);
    else await rebuildWithoutUnique(desk, table);
  if (orderKey === 'id') return;
  await desk.run([
    [`ALTER TABLE sales_orders ADD COLUMN order_key ${keyTypes[type][orderKey]}`],
    ['UPDATE sales_orders SET order_key=id'],
    ['CREATE UNIQUE INDEX sales_orders_key ON sales_orders (order_key)'],
  ]);
}

/** Before its tables get triggers, which would go with them. */
export async function shapeSqliteErp(file: string, { mixUps, orderKey }: Plan): Promise<void> {
  if (mixUps.length === 0) return;
  const desk = sqliteDesk(file, false);
  await shapeErp(desk, 'sqlite', orderKey);
  await desk.close();
}

/** SQLite drops no constraint: the table is made anew. */
async function rebuildWithoutUnique(desk: ErpDesk, table: string): Promise<void> {
  const made = await desk.read(`SELECT type, sql FROM sqlite_master WHERE tbl_name='${table}' AND sql IS NOT NULL`);
  const create = made.find(({ type }) => type === 'table')?.sql as string;
  await desk.run([
    [create.replace(`CREATE TABLE ${table}`, 'CREATE TABLE reshaped').replaceAll(' UNIQUE', '')],
    [`INSERT INTO reshaped SELECT * FROM ${table}`],
    [`DROP TABLE ${table}`],
    [`ALTER TABLE reshaped RENAME TO ${table}`],
    ...made.filter(({ type }) => type === 'index').map(({ sql }) => [sql as string] as const),
  ]);
}
