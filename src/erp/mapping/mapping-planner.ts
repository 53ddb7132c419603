import type { FieldMapping } from '../../config/sections/record-mapping.js';
import type { ErpColumn, ErpSnapshot } from '../../db/erp-database.js';
import { type Sql, type SqlValue, sql } from '../../db/sql.js';
import { hasLimit } from '../../model/named-parameters.js';
import { ErpError } from '../erp-reader.js';
import { columnSql, conditionIn, fromQuery, type QuerySource } from '../query-source.js';
import type { FieldPlan, FieldType } from './map-field.js';
import type { Rounding } from './money.js';

type FieldOptions = Exclude<FieldMapping, string | string[]>;

const PLAIN = { type: 'text', optional: false } as const;

/**
 * The types that the service accepts for the fields that it knows; the first is the default. A price may be decimal, or
 * an integer in minor units already.
 */
const KNOWN_TYPES = new Map<string, readonly FieldType[]>([
  ['customers.fields.customer_code', ['text']],
  ['orders.fields.customer_code', ['text']],
  ['orders.lines.fields.sku', ['text']],
  ['orders.lines.fields.qty', ['integer']],
  ['orders.lines.fields.price', ['amount', 'integer']],
]);

/** Collects faults, each with the path of the setting, and finds columns. A null source has its fault already. */
export class MappingPlanner {
  readonly faults: string[] = [];
  queryFailed = false;

  /** The columns that were found, with the path of the setting that names each. */
  readonly used: { path: string; source: QuerySource; column: ErpColumn }[] = [];

  constructor(
    readonly snapshot: ErpSnapshot,
    private readonly rounding: Rounding,
  ) {}

  fault(path: string, what: string): void {
    this.faults.push(`${path}: ${what}`);
  }

  /** Runs the query for no rows, so that the database itself checks it. */
  async describe(path: string, query: string): Promise<QuerySource | null> {
    if (hasLimit(query, this.snapshot.dialect.backslashEscapes))
      this.fault(
        path,
        'has a LIMIT; every record beyond it would count as deleted: choose rows by a condition instead',
      );
    if (this.#isMisread(path, query)) return null;
    const columns = await this.#describe(path, sql`SELECT q.* ${fromQuery({ query })} LIMIT 0`);
    return columns && { path, query, columns };
  }

  async checkCondition(path: string, source: QuerySource, condition: string): Promise<void> {
    if (this.#isMisread(path, condition)) return;
    const failedBefore = this.queryFailed;
    await this.#describe(path, sql`SELECT q.* ${fromQuery(source)} WHERE ${conditionIn(condition)} LIMIT 0`);
    // The query itself has just run, and no row is read: the setting is wrong, and trying again would not help.
    this.queryFailed = failedBefore;
  }

  /** Runs the query, and the condition, for some rows: a conversion fails only on a row that it does not fit. */
  async tryRows(path: string, source: QuerySource, condition: Sql, rows: SqlValue): Promise<void> {
    await this.#describe(path, sql`SELECT q.*, ${condition} AS waybill_tried ${fromQuery(source)} LIMIT ${rows}`);
  }

  #isMisread(path: string, statement: string): boolean {
    const problem = this.snapshot.misread?.(statement) ?? null;
    if (problem !== null) this.fault(path, problem);
    return problem !== null;
  }

  async #describe(path: string, statement: Sql): Promise<ErpColumn[] | null> {
    const { savepoint } = this.snapshot.dialect;
    const go = async (to: Sql | undefined) => to && this.snapshot.query(to, `check ${path}`);
    try {
      await go(savepoint?.set);
      return (await this.snapshot.query(statement, `check ${path}`)).columns;
    } catch (error) {
      if (!(error instanceof ErpError) || error.kind === 'unreachable') throw error;
      await go(savepoint?.back);
      this.queryFailed = true;
      this.fault(path, error.detail);
      return null;
    }
  }

  /** The column as the database spells it: names in SQL don't mind upper and lower case. */
  column(path: string, source: QuerySource | null, name: string | undefined): ErpColumn | null {
    if (source === null || name === undefined) return null;
    const found =
      source.columns.find((column) => column.name === name) ??
      source.columns.find((column) => column.name.toLowerCase() === name.toLowerCase());
    const isTwice = source.columns.filter((column) => column.name === found?.name).length > 1;
    const problem = isTwice
      ? `comes twice in ${source.path}; give each of them a name of its own, with AS`
      : found?.valueProblem;
    if (problem) {
      this.fault(path, `column "${found?.name}" ${problem}`);
      return null;
    }
    if (found !== undefined) {
      this.used.push({ path, source, column: found });
      return found;
    }
    const names = source.columns.map((column) => column.name).join(', ');
    this.fault(path, `column "${name}" is not in ${source.path}; it has: ${names}`);
    return null;
  }

  /** A column of amounts. The exact value behind a double is lost before it is rounded; a FLOAT is not even read whole. */
  amount(path: string, source: QuerySource | null, name: string | undefined): ErpColumn | null {
    const found = this.column(path, source, name);
    if (found?.float === 'FLOAT' || (found?.float === 'DOUBLE' && this.rounding !== 'refuse'))
      this.fault(
        path,
        `column "${found.name}" is a ${found.float}, which is not exact; write CAST(… AS DECIMAL(20, 6)) in the query ` +
          'around each column in floating point',
      );
    return found;
  }

  /** Plans every field of a section. A faulty field is left out, and its fault reported. */
  fields(
    path: string,
    source: QuerySource | null,
    fields: Record<string, FieldMapping>,
    required: readonly string[],
  ): FieldPlan[] {
    for (const name of required) {
      if (!(name in fields)) this.fault(`${path}.${name}`, 'is missing; name the column that holds it');
    }
    const plans = Object.entries(fields).map(([name, mapping]) =>
      this.#field(`${path}.${name}`, source, name, mapping),
    );
    return plans.filter((plan) => plan !== null);
  }

  #field(path: string, source: QuerySource | null, name: string, given: FieldMapping): FieldPlan | null {
    const mapping: FieldOptions =
      typeof given === 'string' || Array.isArray(given) ? { ...PLAIN, column: given } : given;
    const { column, constant, optional, maxLength, cut, html, trim, case: letters, otherwise } = mapping;
    const known = KNOWN_TYPES.get(path);
    // The settings give every field the type text when nothing is said.
    const type = known === undefined || known.includes(mapping.type) ? mapping.type : (known[0] ?? mapping.type);
    if ((column === undefined) === (constant === undefined)) {
      this.fault(path, 'needs either a column or a constant');
      return null;
    }
    if (known !== undefined && optional) this.fault(path, 'can not be optional: the service needs it');
    const shape = html || trim || letters ? { html, trim, case: letters } : undefined;
    const when = mapping.when && { path: `${path}.when`, words: new Map(Object.entries(mapping.when)), otherwise };
    const field = { name, type, optional, isRequired: known !== undefined, maxLength, cut, shape, when };
    if (constant === undefined) {
      const isNumber = type === 'amount' || type === 'integer';
      const found = [column]
        .flat()
        .map((one) => (isNumber ? this.amount(path, source, one) : this.column(path, source, one)));
      const sources = found.filter((one) => one !== null).map(({ name, kind }) => ({ column: name, kind }));
      const [first, ...orElse] = sources;
      if (first === undefined || sources.length < found.length) return null;
      return { ...field, source: orElse.length === 0 ? first : { ...first, orElse } };
    }
    const fits = type === 'text' ? typeof constant === 'string' && constant !== '' : Number.isSafeInteger(constant);
    if (known === undefined || fits) return { ...field, source: { constant } };
    const wanted = type === 'text' ? 'a text' : 'a whole number';
    this.fault(path, `the constant ${JSON.stringify(constant)} must be ${wanted}`);
    return null;
  }

  /** A column that rows are ordered by or found by: its kind must be known, since it decides how values are bound. */
  async ordering(path: string, source: QuerySource | null, name: string | undefined): Promise<ErpColumn | null> {
    const column = this.column(path, source, name);
    if (column === null || source === null) return null;
    if (column.keyProblem !== null) {
      this.fault(path, `column "${column.name}" can not be used here: ${column.keyProblem}`);
      return null;
    }
    const quoted = columnSql(this.snapshot, column);
    const type = this.snapshot.dialect.typeOf?.(quoted);
    if (column.kind !== 'unknown' || type === undefined) return column;
    const statement = sql`SELECT ${type} AS type ${fromQuery(source)} WHERE ${quoted} IS NOT NULL LIMIT 1`;
    const { rows } = await this.snapshot.query(statement, `look at a value of ${path}`);
    const found = rows[0]?.type ?? null;
    if (found === null) return { ...column, kind: 'unknown' };
    return { ...column, kind: found === 'number' ? 'number' : 'text' };
  }

  async orderings(path: string, source: QuerySource | null, names: readonly string[]): Promise<ErpColumn[]> {
    const columns: ErpColumn[] = [];
    for (const name of names) {
      const column = await this.ordering(path, source, name);
      if (column !== null && !(await this.#isMixed(path, source, column))) columns.push(column);
    }
    return columns;
  }

  /** Numbers come before texts: a page that begins behind one kind would pass over rows of the other. */
  async #isMixed(path: string, source: QuerySource | null, { name }: ErpColumn): Promise<boolean> {
    const column = source?.columns.find((one) => one.name === name);
    const type = column?.kind === 'unknown' && this.snapshot.dialect.typeOf?.(columnSql(this.snapshot, column));
    if (!source || !type) return false;
    const statement = sql`SELECT DISTINCT ${type} AS type ${fromQuery(source)} WHERE ${columnSql(this.snapshot, column)} IS NOT NULL`;
    const { rows } = await this.snapshot.query(statement, `look at the values of ${path}`);
    if (rows.length > 1)
      this.fault(path, `column "${name}" holds numbers and texts; write CAST(… AS TEXT) in the query`);
    return rows.length > 1;
  }
}
