import type { ErpColumn, ErpSnapshot } from '../db/erp-database.js';
import { allOf, isNumberText, joinSql, rawSql, type Sql, sql } from '../db/sql.js';
import { isShortened, parseSourceKey } from '../model/record.js';
import { parseWrittenTime } from '../model/written-time.js';
import { ErpError, type RowFilter } from './erp-reader.js';
import type { EntityPlan, MappingPlan, Mark, OrderPlan } from './mapping/mapping-plan.js';
import { columnSql, conditionIn, fromQuery, highestValue, keyValues, type QuerySource } from './query-source.js';
import { type Instant, type TimeForm, timeFormOfColumn, timeFormOfValue, writeBound } from './time/time-form.js';

/** One read of the ERP: its snapshot, and the mapping that was planned in it. */
export interface Reading {
  snapshot: ErpSnapshot;
  plan: MappingPlan;
  /** Forms that a value showed. A column without a value isn't here, so that it is asked again. */
  timeForms: Map<ErpColumn, TimeForm | null>;
  /** The ERP's clock. */
  now: Instant;
}

const NEVER = rawSql('1=0');

/** One thing that a row has to meet before it may be sent, and the setting that says so. */
export interface EligibilityStep {
  setting: string;
  /** The setting's demand, for people. */
  demand: string;
  condition: Sql;
  /** A column that must not be empty for it. */
  column?: ErpColumn;
}

/** Which rows may be sent, and which of them were asked for. */
export async function eligibleConditions(
  reading: Reading,
  planned: EntityPlan,
  filter: RowFilter = {},
): Promise<Sql[]> {
  const steps = filter.anyStanding ? [] : await eligibilitySteps(reading, planned);
  return [...steps.map(({ condition }) => condition), ...(await filterConditions(reading, planned, filter))];
}

/** Every condition of the settings, in the order in which they are told to people. */
export async function eligibilitySteps(reading: Reading, planned: EntityPlan): Promise<EligibilityStep[]> {
  return [...(await startSteps(reading, planned)), ...pendingSteps(reading, planned)];
}

/** Which rows may be sent by their state alone, however old they are. */
export function pendingConditions(reading: Reading, entity: EntityPlan): Sql[] {
  return pendingSteps(reading, entity).map(({ condition }) => condition);
}

/** A cancelled row never may be sent. */
function pendingSteps({ snapshot }: Reading, entity: EntityPlan): EligibilityStep[] {
  const { pending, cancelled } = entity;
  const steps: EligibilityStep[] = [];
  if (pending !== null)
    steps.push({ setting: `${section(entity)}.pending`, demand: pending, condition: conditionIn(pending) });
  if (cancelled !== null)
    steps.push({
      setting: `${section(entity)}.cancelled`,
      demand: `${cancelled.column.name} is none of ${cancelled.values.join(', ')}`,
      condition: sql`(${columnSql(snapshot, cancelled.column)} IS NULL OR NOT ${isCancelled(snapshot, entity)})`,
    });
  return steps;
}

/** `orders` or `customers`, as the settings call them. */
export function section({ source }: Pick<EntityPlan, 'source'>): string {
  return source.path.replace(/\.query$/, '');
}

/** Never true where the mapping names no mark. */
export function isCancelled(snapshot: ErpSnapshot, { cancelled }: EntityPlan): Sql {
  return cancelled === null ? NEVER : isMarked(snapshot, cancelled);
}

function isMarked(snapshot: ErpSnapshot, { column, values }: Mark): Sql {
  const kind = column.kind === 'number' ? 'number' : 'text';
  return sql`(${columnSql(snapshot, column)} IN (${joinSql(values.map((text) => ({ text, kind })))}))`;
}

/** Orders that are neither pending nor cancelled nor completed; null where the mapping does not tell those apart. */
export function hasLeftUnsaid(snapshot: ErpSnapshot, { pending, cancelled, completed }: OrderPlan): Sql[] | null {
  if (pending === null || completed === null) return null;
  const marks = [completed, ...(cancelled === null ? [] : [cancelled])].map((mark) => isMarked(snapshot, mark));
  // A condition that is unknown to SQL, because a column is NULL, is neither pending nor a mark.
  return [conditionIn(pending), ...marks].map((condition) => sql`CASE WHEN ${condition} THEN 1 ELSE 0 END = 0`);
}

/** Customers that an eligible order names. */
export async function isReferenced(reading: Reading, customers: EntityPlan): Promise<Sql> {
  const { orders } = reading.plan;
  const own = joinSql(customers.key.map((column) => columnSql(reading.snapshot, column)));
  const named = joinSql((orders.customerKey ?? []).map((column) => columnSql(reading.snapshot, column)));
  const eligible = allOf(await eligibleConditions(reading, orders));
  return sql`(${own}) IN (SELECT ${named} ${fromQuery(orders.source)} WHERE ${eligible})`;
}

async function startSteps(reading: Reading, { source, startFrom }: EntityPlan): Promise<EligibilityStep[]> {
  if (startFrom === null) return [];
  const { column, from } = startFrom;
  const step = { setting: 'orders.startFrom', demand: `${column.name} from ${from} on`, column };
  const form = await timeFormOf(reading, source, column);
  const bound = form && writeBound(from, form, reading.plan.context.timeZone);
  const problem = bound === null ? startProblem(startFrom, form) : null;
  if (problem !== null) {
    const isDate = parseWrittenTime(from) !== null;
    // Its first value may be a time.
    const isEmpty = isDate && (await highestValue(reading.snapshot, source, column)) === null;
    if (isEmpty) return [{ ...step, condition: NEVER }];
    throw new ErpError('mapping', `orders.startFrom.from: "${from}" ${problem}`);
  }
  const condition = sql`${columnSql(reading.snapshot, column)} >= ${{ text: bound ?? from, kind: column.kind }}`;
  return [{ ...step, condition }];
}

/**
 * Why this can't be the first value to send, null where it can. Compared all the same, it could come before every order.
 * @param form in which the column can't write it; null: it holds no times, or nothing yet
 */
function startProblem({ column, from }: NonNullable<OrderPlan['startFrom']>, form: TimeForm | null): string | null {
  const isNumber = column.kind === 'number';
  if ((isNumber || form?.form === 'epoch') && isNumberText(from)) return null;
  const isDate = parseWrittenTime(from) !== null;
  const holdsTimes = form !== null || ['timestamp', 'datetime', 'date'].includes(column.kind);
  if (holdsTimes) return isDate ? null : 'is not a date; write YYYY-MM-DD';
  if (!isNumber) return null;
  const isWhat = isDate ? 'is a date' : 'is no number';
  return `${isWhat}, but column "${column.name}" holds numbers that are no times; give the first number to send`;
}

/** Ordered by key, and by date: in the column of startFrom if it holds times, else in changedAt. */
async function filterConditions(
  reading: Reading,
  { source, key, startFrom, changedAt }: EntityPlan,
  { keys, from, to }: RowFilter,
): Promise<Sql[]> {
  const conditions = keys === undefined ? [] : [isListed(reading, { source, key }, keys)];
  if (from === undefined && to === undefined) return conditions;
  const columns = [startFrom?.column ?? null, changedAt].filter((column) => column !== null);
  for (const column of columns) {
    const form = await timeFormOf(reading, source, column);
    if (form === null) continue;
    const name = columnSql(reading.snapshot, column);
    const bound = (text: string) => {
      const written = writeBound(text, form, reading.plan.context.timeZone);
      if (written !== null) return { text: written, kind: column.kind };
      throw new ErpError('request', `"${text}" is not a date; write YYYY-MM-DD or "YYYY-MM-DD HH:MM:SS".`);
    };
    if (from !== undefined) conditions.push(sql`${name} >= ${bound(from)}`);
    if (to !== undefined) conditions.push(sql`${name} < ${bound(to)}`);
    return conditions;
  }
  const [first] = columns;
  if (first && (await highestValue(reading.snapshot, source, first)) === null) return [NEVER];
  throw new ErpError(
    'mapping',
    `Could not choose rows of ${source.path} by date: neither startFrom nor changedAt names a column of times. ` +
      'Choose by key instead.',
  );
}

/** The rows with one of these keys. */
export function isListed(
  { snapshot, plan }: Reading,
  { key, source }: Pick<EntityPlan, 'key' | 'source'>,
  keys: string[],
): Sql {
  const tuples = keys.map((sourceKey) => {
    const parts = parseSourceKey(sourceKey, key.length, plan.source);
    if (parts !== null) return keyValues(key, parts);
    if (isShortened(sourceKey)) return null;
    const names = key.map(({ name }) => name).join('/');
    throw new ErpError('request', `"${sourceKey}" is not a key of ${source.path}; write it as ${names}.`);
  });
  const possible = tuples.filter((tuple) => tuple !== null);
  if (possible.length === 0) return NEVER;
  const names = key.map((column) => columnSql(snapshot, column));
  return snapshot.dialect.tupleIn(names, possible);
}

/** The column's text for a point in time; null if it holds none. */
export async function timeFormOf(
  { snapshot, timeForms }: Reading,
  source: QuerySource,
  column: ErpColumn,
): Promise<TimeForm | null> {
  const fixed = timeForms.get(column) ?? timeFormOfColumn(column);
  if (fixed !== null || timeForms.has(column)) return fixed;
  const sample = await highestValue(snapshot, source, column);
  if (sample === null) return null;
  const form = timeFormOfValue(sample, column.kind);
  timeForms.set(column, form);
  return form;
}
