import { parseNamedParameters, pickingParameters } from '../../model/named-parameters.js';
import { clearPendingColumns, writeBackColumns, writeBackKinds } from '../../model/write-back.js';
import { type Given, type Partly, type Report, requireSetting } from '../configuration-error.js';
import { onServer } from '../sections/database-server.js';
import type { FieldMapping } from '../sections/record-mapping.js';

const NUMBERS = new Set(['orders.lines.fields.qty', 'orders.lines.fields.price']);
const NAMES = new Set(['customers.fields.customer_code', 'orders.fields.customer_code', 'orders.lines.fields.sku']);

type Fields = Partly<Record<string, FieldMapping>> | undefined;

function checkMappings(path: string, fields: Fields, report: Report): void {
  for (const [name, mapping] of Object.entries(fields ?? {})) {
    if (typeof mapping !== 'object' || Array.isArray(mapping)) continue;
    checkText(`${path}.${name}`, mapping, report);
    const given = [mapping.column, mapping.constant].filter((part) => part !== undefined).length;
    if (given === 1) continue;
    const message = given === 0 ? 'names neither a column nor a constant' : 'names a column and a constant';
    report(`${path}.${name}`, message, { allowed: 'exactly one of column and constant' });
  }
}

/** A setting that shapes a text has no effect elsewhere, and a text that names something is never cut: two would become one. */
function checkText(path: string, mapping: Partly<Exclude<FieldMapping, string | string[]>>, report: Report): void {
  const { type, constant, cut, maxLength, when = {}, otherwise } = mapping;
  const isText = constant === undefined && (type ?? 'text') === 'text' && !NUMBERS.has(path);
  for (const name of ['html', 'trim', 'case', 'cut', 'when'] as const)
    if (mapping[name] !== undefined && !isText)
      report(`${path}.${name}`, 'has no effect', { allowed: 'only a column of type text has it' });
  if (otherwise !== undefined && mapping.when === undefined)
    report(`${path}.otherwise`, 'has no effect without when', { hint: 'name the known codes in when' });
  if (NAMES.has(path))
    for (const word of [...Object.values(when), otherwise ?? 'none'])
      if (typeof word !== 'string' || word === '')
        report(`${path}.when`, 'must name texts', { found: JSON.stringify(word), allowed: 'texts that are not empty' });
  if (mapping.when !== undefined && maxLength !== undefined)
    report(`${path}.maxLength`, 'has no effect beside when', { hint: 'leave it out: words are sent as they are' });
  if (cut === undefined) return;
  if (NAMES.has(path)) report(`${path}.cut`, 'would give two records one name', { hint: 'leave it out' });
  else if (maxLength === undefined || maxLength <= [...cut].length)
    report(`${path}.cut`, 'needs a maxLength that is longer than it', { found: JSON.stringify(cut) });
}

/** A field that the service needs has to be mapped, and no record may leave it out. */
function requireField(path: string, fields: Fields, name: string, why: string, report: Report): void {
  const mapping = fields?.[name];
  requireSetting(mapping, `${path}.${name}`, `a column, because ${why}`, report);
  if (typeof mapping === 'object' && !Array.isArray(mapping) && mapping.optional)
    report(`${path}.${name}.optional`, 'must not be true', { found: 'true', allowed: `false, because ${why}` });
}

/** Without a mark nothing is ever cancelled, and an effect that was configured for it would wait for ever. */
function checkCancelled(
  path: 'customers' | 'orders',
  { cancelled, onCancelled }: { cancelled?: unknown; onCancelled?: unknown },
  report: Report,
): void {
  if (onCancelled === undefined || onCancelled === 'nothing') return;
  const why = `a column and its values, because ${path}.onCancelled is set`;
  requireSetting(cancelled, `${path}.cancelled`, why, report);
}

export function checkCustomers({ customers = {} }: Given, report: Report): void {
  checkMappings('customers.fields', customers.fields, report);
  checkSameLength('customers.replaces', customers.replaces, 'customers.key', customers.key, report);
  checkCancelled('customers', customers, report);
  if (customers.send === undefined || customers.send === 'none') return;
  const why = 'customers.send is not none';
  requireSetting(customers.query, 'customers.query', `a SELECT, because ${why}`, report);
  requireSetting(customers.key, 'customers.key', `a column or a list of columns, because ${why}`, report);
  requireField('customers.fields', customers.fields, 'customer_code', why, report);
}

function checkSameLength(
  path: string,
  columns: string[] | undefined,
  keyPath: string,
  key: string[] | undefined,
  report: Report,
): void {
  if (columns === undefined || key === undefined || columns.length === key.length) return;
  const count = (names: string[]) => (names.length === 1 ? 'one column' : `${names.length} columns`);
  report(path, `has ${count(columns)}, but ${keyPath} has ${count(key)}`, {
    found: columns.join(', '),
    allowed: 'the same columns in the same order',
  });
}

/** If orders have several currencies, the service has to be told which, and amounts without one can't be read. */
function checkCurrencies({ amounts, orders = {}, invoices }: Given, report: Report): void {
  const { field } = orders.currency ?? {};
  if (field === 'items' || (field !== undefined && orders.fields?.[field] !== undefined))
    report('orders.currency.field', 'names a field that is made already', { found: field });
  if (amounts?.currencies === undefined) return;
  const why = 'amounts.currencies names several';
  requireSetting(orders.currency, 'orders.currency', `a column and a field, because ${why}`, report);
  if (orders.currency !== undefined)
    requireSetting(
      field,
      'orders.currency.field',
      `a field, because ${why} and the service must tell them apart`,
      report,
    );
  if (invoices?.enabled !== false)
    report('invoices.enabled', 'would read amounts of which the service does not say the currency', {
      allowed: `false, because ${why}`,
    });
}

export function checkOrders(given: Given, report: Report): void {
  const { orders = {}, customers = {} } = given;
  checkCurrencies(given, report);
  checkMappings('orders.fields', orders.fields, report);
  if (orders.fields?.items !== undefined)
    report('orders.fields.items', 'can not be mapped', { hint: 'map the lines in orders.lines.fields' });
  checkCancelled('orders', orders, report);
  if (orders.completed !== undefined && orders.pending === undefined)
    report('orders.completed', 'has no effect without orders.pending, which an order leaves', { hint: 'leave it out' });
  if (customers.send === 'none') {
    const why = 'customers.send is none, so that no customer supplies its code';
    requireField('orders.fields', orders.fields, 'customer_code', why, report);
  } else if (customers.send !== undefined) {
    const why = 'a column or a list of columns, because customers.send is not none';
    requireSetting(orders.customerKey, 'orders.customerKey', why, report);
    checkSameLength('orders.customerKey', orders.customerKey, 'customers.key', customers.key, report);
  }
  checkSameLength('orders.replaces', orders.replaces, 'orders.key', orders.key, report);
  checkMappings('orders.lines.fields', orders.lines?.fields, report);
  const { amount, rounding, discount, unit, fields } = orders.lines ?? {};
  if (rounding !== undefined && (amount ?? discount ?? unit) === undefined)
    report('orders.lines.rounding', 'has no effect without amount, discount or unit', {
      hint: 'name the column in orders.lines.amount',
    });
  if (discount !== undefined && amount !== undefined && fields?.price === undefined)
    report('orders.lines.discount', 'has no effect beside amount, which is what is left', { hint: 'leave it out' });
  for (const name of ['sku', 'qty', ...(amount === undefined ? ['price'] : [])])
    requireField('orders.lines.fields', orders.lines?.fields, name, 'every order line has one', report);
  checkSameLength('orders.lines.orderKey', orders.lines?.orderKey, 'orders.key', orders.key, report);
}

/** Customers are asked for by their bindings: where none is sent, no invoice would ever be asked for. */
export function checkInvoices({ customers, invoices }: Given, report: Report): void {
  if (invoices?.scope !== 'per-customer' || customers?.send !== 'none') return;
  report('invoices.scope', 'asks for the invoices of customers, but none is ever sent', {
    found: 'per-customer, with customers.send: none',
    allowed: 'all, unless customers.send is not none',
  });
}

/** The account that writes is never the one that reads, and a statement names only parameters that exist. */
export function checkWriteBack({ writeBack, erp, orders, customers }: Given, report: Report): void {
  if (writeBack?.enabled !== true) return;
  const server = onServer(erp);
  if (server !== undefined) {
    const why = 'an account of its own, because writeBack.enabled is true';
    requireSetting(writeBack.user, 'writeBack.user', why, report);
    const isSamePlace =
      (writeBack.host ?? server.host) === server.host && (writeBack.port ?? server.port) === server.port;
    if (writeBack.user !== undefined && writeBack.user === server.user && isSamePlace)
      report('writeBack.user', 'is the account that reads the ERP', {
        found: writeBack.user,
        allowed: 'another account than erp.user, which may only SELECT',
      });
  }
  checkClearPending({ writeBack, erp, orders, customers }, report);
  for (const kind of writeBackKinds) {
    const target = writeBack[kind];
    if (target?.enabled === false) continue;
    if (target?.gone !== undefined && target.upsert === undefined)
      report(`writeBack.${kind}.gone`, 'is given without upsert', {
        allowed: 'both statements, or neither and the side table',
      });
    const keyColumns = { orders: orders?.key, customers: customers?.key, invoices: undefined }[kind] ?? [];
    const known: string[] = [...writeBackColumns[kind], ...keyParameters(keyColumns)];
    for (const name of ['upsert', 'gone'] as const) {
      const statement = target?.[name];
      if (statement === undefined) continue;
      const path = `writeBack.${kind}.${name}`;
      checkParameters(path, statement, known, erp?.type === 'mysql', report);
      checkPicksRecord({ path, statement, keyName: known[0] ?? '', keyColumns }, erp?.type === 'mysql', report);
    }
  }
}

interface OwnStatement {
  path: string;
  statement: string;
  /** The parameter that is the whole key. */
  keyName: string;
  keyColumns: readonly string[];
}

/** A statement that does not compare the key would write to the rows of other records. */
function checkPicksRecord(
  { path, statement, keyName, keyColumns }: OwnStatement,
  backslashEscapes: boolean,
  report: Report,
): void {
  const picks = pickingParameters(statement, backslashEscapes);
  const parts = keyParameters(keyColumns);
  if (picks.includes(keyName) || (parts.length > 0 && parts.every((name) => picks.includes(name)))) return;
  const all = parts.length > 1 ? `, or all of ${parts.map((name) => `:${name}`).join(', ')}` : '';
  report(path, 'would write to other records than its own', { hint: `compare the key in WHERE: :${keyName}${all}` });
}

const keyParameters = (columns: readonly string[] = []) => columns.map((_, index) => `key_${index + 1}`);

function checkParameters(
  path: string,
  statement: string,
  known: readonly string[],
  backslashEscapes: boolean,
  report: Report,
): void {
  const { names } = parseNamedParameters(statement, backslashEscapes);
  const unknown = names.filter((parameter) => !known.includes(parameter));
  if (unknown.length > 0)
    report(path, 'has parameters that nothing fills', {
      found: unknown.map((parameter) => `:${parameter}`).join(', '),
      allowed: known.map((parameter) => `:${parameter}`).join(', '),
    });
}

/** A flag is only set back for a row that still says what was acknowledged: the statement has to compare when it changed. */
function checkClearPending({ writeBack, erp, orders, customers }: Given, report: Report): void {
  for (const [kind, source] of [
    ['orders', orders],
    ['customers', customers],
  ] as const) {
    const statement = writeBack?.[kind]?.clearPending;
    if (statement === undefined || writeBack?.[kind]?.enabled === false) continue;
    const path = `writeBack.${kind}.clearPending`;
    for (const name of ['pending', 'changedAt'] as const)
      requireSetting(source?.[name], `${kind}.${name}`, `given, because ${path} is`, report);
    const known = [...clearPendingColumns[kind], ...keyParameters(source?.key)];
    checkParameters(path, statement, known, erp?.type === 'mysql', report);
    const keyColumns = source?.key ?? [];
    checkPicksRecord({ path, statement, keyName: known[0] ?? '', keyColumns }, erp?.type === 'mysql', report);
    if (!pickingParameters(statement, erp?.type === 'mysql').includes('changed_at'))
      report(path, 'would set back the flag of a row that has changed again', {
        hint: `compare ${kind}.changedAt, such as: … AND ${source?.changedAt ?? 'updated_at'} = :changed_at`,
      });
  }
}
