import type { ErpColumn, ErpDatabase, ErpSnapshot } from './erp-database.js';
import { ErpError } from './erp-error.js';
import type { RowFilter } from './erp-reader.js';
import type { EntityPlan, MappingPlan, OrderPlan } from './mapping/mapping-plan.js';
import { conditionIn, fromQuery, type QuerySource } from './query-source.js';
import { columnSql, keyValues } from './related-rows.js';
import { parseSourceKey } from './source-key.js';
import { joinSql, rawSql, type Sql, sql } from './sql.js';
import { type TimeForm, timeFormOfColumn, timeFormOfValue, writeBound } from './time/time-form.js';
import { parseWrittenTime } from './time/wall-time.js';

/** Builds the conditions that say which rows may be sent, and which of them were asked for. */
export class Eligibility {
  /** Forms that were learnt from a value; a column without a value is asked again. */
  readonly #forms = new Map<ErpColumn, TimeForm | null>();

  constructor(
    readonly database: ErpDatabase,
    readonly plan: MappingPlan,
  ) {}

  async orders(snapshot: ErpSnapshot, filter: RowFilter = {}): Promise<Sql[]> {
    const { orders } = this.plan;
    return [
      ...this.pendingOrders(),
      ...(await this.#startFrom(snapshot, orders)),
      ...(await this.#filter(snapshot, orders, filter, [orders.startFrom?.column, orders.changedAt])),
    ];
  }

  /** Orders by their state alone, however old they are. */
  pendingOrders(): Sql[] {
    return this.#pending(this.plan.orders);
  }

  /** A cancelled row is never eligible, whatever else its state says. */
  #pending(entity: EntityPlan): Sql[] {
    const { pending, cancelled } = entity;
    const conditions = pending === null ? [] : [conditionIn(pending)];
    if (cancelled !== null) {
      const [name] = columnSql(this.database, [cancelled.column]) as [Sql];
      conditions.push(sql`(${name} IS NULL OR NOT ${this.isCancelled(entity)})`);
    }
    return conditions;
  }

  /** Never true where the mapping names no mark. */
  isCancelled({ cancelled }: EntityPlan): Sql {
    if (cancelled === null) return rawSql('1=0');
    const { column, values } = cancelled;
    const [name] = columnSql(this.database, [column]) as [Sql];
    const kind = column.kind === 'number' ? 'number' : 'text';
    return sql`(${name} IN (${joinSql(
      values.map((text) => sql`${{ text, kind }}`),
      ', ',
    )}))`;
  }

  /** `onlyReferenced`: those that an eligible order names. */
  async customers(
    snapshot: ErpSnapshot,
    customers: EntityPlan,
    onlyReferenced: boolean,
    filter: RowFilter = {},
  ): Promise<Sql[]> {
    return [
      ...this.#pending(customers),
      ...(onlyReferenced ? [await this.#referenced(snapshot, customers)] : []),
      ...(await this.#filter(snapshot, customers, filter, [customers.changedAt])),
    ];
  }

  async #referenced(snapshot: ErpSnapshot, customers: EntityPlan): Promise<Sql> {
    const { orders } = this.plan;
    const own = joinSql(columnSql(this.database, customers.key), ', ');
    const named = joinSql(columnSql(this.database, orders.customerKey ?? []), ', ');
    const eligible = joinSql([rawSql('1=1'), ...(await this.orders(snapshot))], ' AND ');
    return sql`(${own}) IN (SELECT ${named} ${fromQuery(orders.source)} WHERE ${eligible})`;
  }

  async #startFrom(snapshot: ErpSnapshot, { source, startFrom }: OrderPlan): Promise<Sql[]> {
    if (startFrom === null) return [];
    const { column, from } = startFrom;
    const [name] = columnSql(this.database, [column]) as [Sql];
    const form = await this.timeForm(snapshot, source, column);
    const bound = form === null ? null : writeBound(from, form, this.plan.context.timeZone);
    if (bound === null && column.kind === 'number' && parseWrittenTime(from) !== null) {
      if ((await this.#sample(snapshot, source, column)) === null) return [rawSql('1=0')];
      throw new ErpError(
        'mapping',
        `orders.startFrom.from: "${from}" is a date, but column "${column.name}" holds numbers that are no times; ` +
          'give the first number that is to be sent',
      );
    }
    return [sql`${name} >= ${{ text: bound ?? from, kind: column.kind }}`];
  }

  async #filter(
    snapshot: ErpSnapshot,
    entity: EntityPlan,
    { keys, from, to }: RowFilter,
    candidates: readonly (ErpColumn | null | undefined)[],
  ): Promise<Sql[]> {
    const conditions: Sql[] = [];
    if (keys !== undefined) conditions.push(this.#listed(entity, keys));
    if (from === undefined && to === undefined) return conditions;
    for (const column of candidates) {
      if (!column) continue;
      const form = await this.timeForm(snapshot, entity.source, column);
      if (form === null) continue;
      const [name] = columnSql(this.database, [column]) as [Sql];
      if (from !== undefined) conditions.push(sql`${name} >= ${{ text: this.#bound(from, form), kind: column.kind }}`);
      if (to !== undefined) conditions.push(sql`${name} < ${{ text: this.#bound(to, form), kind: column.kind }}`);
      return conditions;
    }
    const sample = candidates.find((column) => !!column);
    if (sample && (await this.#sample(snapshot, entity.source, sample)) === null) return [rawSql('1=0')];
    throw new ErpError(
      'mapping',
      `Could not choose rows of ${entity.source.path} by date: neither startFrom nor changedAt names a column of times. ` +
        'Choose by key instead.',
    );
  }

  #bound(text: string, form: TimeForm): string {
    const bound = writeBound(text, form, this.plan.context.timeZone);
    if (bound !== null) return bound;
    throw new ErpError('request', `"${text}" is not a date; write YYYY-MM-DD or "YYYY-MM-DD HH:MM:SS".`);
  }

  #listed({ key, source }: EntityPlan, keys: readonly string[]): Sql {
    const tuples = keys.map((sourceKey) => {
      const parts = parseSourceKey(sourceKey, key.length);
      if (parts !== null) return keyValues(key, parts);
      const names = key.map((column) => column.name).join('/');
      throw new ErpError('request', `"${sourceKey}" is not a key of ${source.path}; write it as ${names}.`);
    });
    const possible = tuples.filter((tuple) => tuple !== null);
    return possible.length === 0 ? rawSql('1=0') : this.database.tupleIn(columnSql(this.database, key), possible);
  }

  /** How the column writes a point in time; null when it holds none. */
  async timeForm(snapshot: ErpSnapshot, source: QuerySource, column: ErpColumn): Promise<TimeForm | null> {
    const known = this.#forms.get(column) ?? timeFormOfColumn(column);
    if (known !== null) return known;
    if (this.#forms.has(column)) return null;
    const sample = await this.#sample(snapshot, source, column);
    if (sample === null) return null;
    const form = timeFormOfValue(sample, column.kind);
    this.#forms.set(column, form);
    return form;
  }

  async #sample(snapshot: ErpSnapshot, source: QuerySource, column: ErpColumn): Promise<string | null> {
    const [name] = columnSql(this.database, [column]) as [Sql];
    const statement = sql`SELECT ${name} AS sample ${fromQuery(source)} WHERE ${name} IS NOT NULL ORDER BY ${name} DESC LIMIT 1`;
    const { rows } = await snapshot.query(statement, `look at the newest ${column.name} (${source.path})`);
    return rows[0]?.sample ?? null;
  }
}
