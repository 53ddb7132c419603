import { allOf, joinSql, rawSql, type Sql, sql } from '../db/sql.js';
import { formatSourceKey } from '../model/record.js';
import { type EligibilityStep, eligibilitySteps, isListed, type Reading, section } from './eligibility.js';
import type { Funnel, Standing } from './erp-reader.js';
import type { EntityPlan } from './mapping/mapping-plan.js';
import { replacedKey } from './mapping/order-page.js';
import { columnSql, fromQuery, keyOf } from './query-source.js';

/** Counts in one statement, whatever the number of rows. */
export async function countFunnel(reading: Reading, planned: EntityPlan): Promise<Funnel> {
  const steps = await allSteps(reading, planned);
  const counted = steps.map((_, at) => {
    const met = allOf(steps.slice(0, at + 1).map(({ condition }) => condition));
    return sql`COUNT(CASE WHEN ${met} THEN 1 END) AS ${name(at)}`;
  });
  const columns = joinSql([rawSql('COUNT(*) AS waybill_rows'), ...counted]);
  const doing = `count the rows of ${planned.source.path}`;
  const { rows } = await reading.snapshot.query(sql`SELECT ${columns} ${fromQuery(planned.source)}`, doing);
  const [row = {}] = rows;
  return {
    query: planned.source.path,
    rows: Number(row.waybill_rows),
    steps: steps.map(({ setting, demand }, at) => ({ setting, demand, left: Number(row[name(at).pieces[0] ?? '']) })),
  };
}

/** The rows with these keys, each with what keeps it back. */
export async function standingOf(reading: Reading, planned: EntityPlan, keys: readonly string[]): Promise<Standing[]> {
  const steps = await allSteps(reading, planned);
  const met = steps.map(({ condition }, at) => sql`CASE WHEN ${condition} THEN 1 ELSE 0 END AS ${name(at)}`);
  const listed = isListed(reading, planned, [...keys]);
  const statement = sql`SELECT ${joinSql([rawSql('q.*'), ...met])} ${fromQuery(planned.source)} WHERE ${listed}`;
  const { rows } = await reading.snapshot.query(statement, `look for a key (${planned.source.path})`);
  return rows.map((row) => ({
    sourceKey: formatSourceKey(keyOf(row, planned.key) ?? [], reading.plan.source),
    replaces: replacedKey(row, planned, reading.plan.source),
    row: Object.fromEntries(planned.source.columns.map((column) => [column.name, row[column.name] ?? null])),
    unmet: steps
      .filter((_, at) => row[name(at).pieces[0] ?? ''] !== '1')
      .map(({ setting, demand, column }) => {
        const isEmpty = column !== undefined && (row[column.name] ?? null) === null;
        return { setting, demand: isEmpty ? `${column.name} is empty; give it a value in the ERP` : demand };
      }),
  }));
}

/** As `eligibilitySteps`, and what every row needs to be told from the others. */
async function allSteps(reading: Reading, planned: EntityPlan): Promise<EligibilityStep[]> {
  const keyed = planned.key.map((column) => sql`${columnSql(reading.snapshot, column)} IS NOT NULL`);
  const demand = `${planned.key.map((column) => column.name).join(', ')} is not empty`;
  return [
    ...(await eligibilitySteps(reading, planned)),
    { setting: `${section(planned)}.key`, demand, condition: allOf(keyed) },
  ];
}

function name(at: number): Sql {
  return rawSql(`waybill_step_${at}`);
}
