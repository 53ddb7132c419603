import type { ErpColumn } from '../db/erp-database.js';
import { joinSql, type Sql, sql } from '../db/sql.js';
import { type Entity, formatSourceKey } from '../model/record.js';
import type { Reading } from './eligibility.js';
import type { Namesake } from './erp-reader.js';
import { type FieldPlan, mapField } from './mapping/map-field.js';
import { identityOf } from './mapping/order-page.js';
import { columnSql, fromQuery, keyOf, keyValues } from './query-source.js';

const namesPerStatement = 400;

/**
 * Reads the rows that people know by one of these names (the number of an order, the code of a customer), whether they may be sent
 * or not. Without a mapped name there are none.
 */
export async function readNamesakes(
  reading: Reading,
  entity: Entity,
  names: readonly string[],
): Promise<{ name: string; row: Namesake }[]> {
  const { snapshot, plan } = reading;
  const planned = entity === 'order' ? plan.orders : plan.customers;
  const field = entity === 'order' ? plan.orders.number : codeField(plan.customers?.fields);
  if (planned === null || field === null || 'constant' in field.source) return [];
  const { source } = planned;
  const sources = [field.source, ...(field.source.orElse ?? [])];
  const columns = source.columns.filter(({ name }) => sources.some(({ column }) => column === name));
  const found: { name: string; row: Namesake }[] = [];
  for (let from = 0; from < names.length; from += namesPerStatement) {
    const asked = names.slice(from, from + namesPerStatement);
    const conditions = columns.flatMap((column) => hasName(reading, column, field, asked) ?? []);
    if (conditions.length === 0) return found;
    const statement = sql`SELECT q.* ${fromQuery(source)} WHERE ${joinSql(conditions, ' OR ')}`;
    const { rows } = await snapshot.query(statement, `look for records of the same name (${source.path})`);
    const wanted = new Set(asked);
    for (const row of rows) {
      const key = keyOf(row, planned.key);
      const outcome = mapField(row, field, plan.context);
      // The database may call names equal that are not.
      const name = 'value' in outcome ? `${outcome.value}` : '';
      if (key === null || !wanted.has(name)) continue;
      const identity = entity === 'order' ? identityOf(row, plan.orders) : JSON.stringify({ customer_code: name });
      found.push({ name, row: { sourceKey: formatSourceKey(key, plan.source), identity } });
    }
  }
  return found;
}

function codeField(fields: readonly FieldPlan[] | undefined): FieldPlan | null {
  return fields?.find(({ name }) => name === 'customer_code') ?? null;
}

/** Null where no row can have such a name in this column. */
function hasName({ snapshot }: Reading, column: ErpColumn, { shape }: FieldPlan, names: readonly string[]): Sql | null {
  const values = names.flatMap((name) => keyValues([column], [name]) ?? []);
  if (values.length === 0) return null;
  const own = columnSql(snapshot, column);
  const listed = sql`(${snapshot.dialect.tupleIn(
    [own],
    values.map((value) => [value]),
  )})`;
  // A text that the mapping trims or writes in capitals stands in the row as people typed it.
  if (shape === undefined || column.kind !== 'text') return listed;
  const alike = values.map((value) => sql`UPPER(TRIM(${own})) = UPPER(TRIM(${value}))`);
  return sql`(${joinSql([listed, ...alike], ' OR ')})`;
}
