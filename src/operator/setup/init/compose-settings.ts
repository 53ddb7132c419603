import { Document, isMap, isScalar, Scalar, visit } from 'yaml';
import type { ErpDialect } from '../../../db/erp-database.js';
import { harmlessLine } from '../../../model/redact.js';
import type { Answers, Draft } from './draft.js';
import { FILLED } from './table-facts.js';

/** The addresses of the ERP and the service, as settings: without secrets, with the files that hold them. */
export interface Places {
  erp: Readonly<Record<string, unknown>>;
  service: Readonly<Record<string, unknown>>;
}

type Tree = Record<string, unknown>;

/** The interval at which everything is read if no column says what changed. */
const SWEEP_MINUTES_WITHOUT_CHANGES = 15;

/** The settings, as they stand in the file. Pure. */
export function composeSettings(draft: Draft, answers: Answers, { erp, service }: Places): Tree {
  const { customers, orders, lines } = draft;
  const one = (columns: readonly string[]) => (columns.length === 1 ? columns[0] : columns);
  const some = (tree: Tree) => Object.fromEntries(Object.entries(tree).filter(([, value]) => value !== undefined));
  return {
    installation: answers.installation,
    erp: { ...erp, timeZone: draft.timeZone ?? answers.timeZone },
    customers: some({
      send: 'referenced',
      query: customers.query,
      key: one(customers.key),
      changedAt: customers.changedAt,
      fields: customers.fields,
    }),
    orders: some({
      query: orders.query,
      key: one(orders.key),
      changedAt: orders.changedAt,
      pending: answers.pending ?? undefined,
      cancelled: orders.cancelled,
      onCancelled: orders.cancelled && 'nothing',
      completed: orders.completed,
      onDeleted: orders.onDeleted,
      replaces: orders.replaces,
      startFrom: startFrom(orders.startColumn, answers.startFrom),
      customerKey: one(orders.customerKey),
      number: orders.number,
      total: orders.total,
      fields: Object.keys(orders.fields).length > 0 ? orders.fields : undefined,
      lines: some({
        query: lines.query,
        orderKey: one(lines.orderKey),
        sortBy: one(lines.sortBy),
        fields: lines.fields,
        amount: lines.amount,
        discount: lines.discount,
        text: answers.textLines ?? undefined,
      }),
    }),
    amounts: { currency: answers.currency, ...(lines.discount && { rounding: 'half-up' }) },
    ...(orders.changedAt === undefined && { capture: { sweepMinutes: SWEEP_MINUTES_WITHOUT_CHANGES } }),
    service,
    store: { type: 'sqlite' },
    schedule: { timeZone: answers.timeZone },
  };
}

function startFrom(column: string, from: string): unknown {
  if (from === 'all') return 'all';
  return { column, from: /^\d{5,15}$/.test(from) ? Number(from) : from };
}

/** A condition that is true for each of these together. */
export function allConditions(conditions: readonly (string | null | undefined)[]): string | null {
  const given = conditions.filter((one) => one !== null && one !== undefined && one !== '');
  if (given.length < 2) return given[0] ?? null;
  return given
    .map((one) => (/\bOR\b/i.test(one ?? '') && !/^\([^()]*\)$/.test(one ?? '') ? `(${one})` : one))
    .join(' AND ');
}

/** A condition that a person wrote, closed off from what is joined to it: a comment at its end would swallow that. */
export function closedOff(condition: string): string {
  const plain = condition.replace(/[;\s]+$/, '');
  return /--|#|\/\*/.test(plain) ? `(${plain}\n)` : `(${plain})`;
}

/** Words that no column can be called by in a statement without quotes, and that ERPs call columns by. */
const RESERVED =
  /^(all|and|as|asc|between|both|case|cast|check|column|condition|constraint|current|default|desc|distinct|else|end|except|false|fetch|for|from|grant|group|having|in|index|is|key|keys|like|limit|not|null|of|offset|on|option|or|order|primary|range|rank|read|references|release|row|rows|select|set|sql|system|table|then|to|true|union|unique|user|using|values|when|where|with|write)$/;

/** `column IN (…)`, with the values as this database writes them; the value NULL is none. @param prefix such as `l.` */
export function isOneOf(
  dialect: ErpDialect,
  column: string,
  values: readonly string[],
  isNumber: boolean,
  prefix = '',
): string {
  const escaped = (text: string) => (dialect.backslashEscapes ? text.replaceAll('\\', '\\\\') : text);
  // Only a number is written as it was typed.
  const literal = (text: string) =>
    isNumber && /^-?\d+(\.\d+)?$/.test(text) ? text : `'${escaped(text).replaceAll("'", "''")}'`;
  // A plain name is easier to read. With capital letters it means another column on PostgreSQL.
  const isPlain = /^[a-z_][a-z0-9_]*$/.test(column) && !RESERVED.test(column);
  const name = `${prefix}${isPlain ? column : dialect.quoteIdentifier(column)}`;
  if (values.includes(FILLED)) return values.includes('NULL') ? '1 = 1' : `${name} IS NOT NULL`;
  const given = values.filter((value) => value !== 'NULL');
  const listed =
    given.length === 1 ? `${name} = ${literal(given[0] ?? '')}` : `${name} IN (${given.map(literal).join(', ')})`;
  if (given.length === values.length) return listed;
  return given.length === 0 ? `${name} IS NULL` : `(${listed} OR ${name} IS NULL)`;
}

const general: Readonly<Record<string, string>> = {
  installation:
    'The name of this installation. Every idempotency key is made from it: never change it, never use it twice.',
  erp: '---- Where the records come from ----',
  'erp.user': 'An account that can only read: the GRANTs stand at the end of this file.',
  'erp.passwordFile': 'The password, and nothing else, in a file of its own.',
  'erp.timeZone': 'Of the dates and times in the ERP.',
  'customers.send': 'The customers of the orders that are sent; or: all, none',
  'customers.fields': 'Field of the service: column of the query.',
  'orders.pending': 'Which orders may be sent.',
  'orders.cancelled': 'An order that is cancelled before it was sent is never sent.',
  'orders.onCancelled':
    'What was sent and is then cancelled stays at the service; or: delete, {patch: {status: cancelled}}',
  'orders.completed': 'Nothing more happens to such an order: it may leave `pending`.',
  'orders.onDeleted': 'What to do at the service when the order is gone from the ERP: nothing, or delete.',
  'orders.replaces': 'An order that goes on for another one stays the same order at the service.',
  'orders.startFrom': 'Older orders are never sent, not even when somebody edits them.',
  'orders.number': 'Goes into `note`, so that people find the order again.',
  'orders.total': "An order whose lines don't add up to it waits, then needs a person.",
  'orders.lines.text':
    'Lines without a SKU: skip leaves out those without a price; {sku: TEXT} sends all under that SKU.',
  amounts:
    '19.99 is sent as 1999 where the currency has two decimals; 19.999 needs a person. `rounding` would round prices too, and 1000 × 0.0049 be nothing: docs/mapping.md',
  capture: 'How often everything is read, because nothing says what changed.',
  service: '---- Where they go ----',
  'service.environment': 'production delivers only after `waybill go-live`',
  'service.tokenFile':
    'The bearer token, and nothing else, in a file of its own. Other credentials: docs/credentials.md',
  'service.idempotency':
    'How long the service remembers an idempotency key: ask its operator. Too long a guess makes second records.',
  store: '---- What Waybill keeps ----',
};

/** The settings as a commented file. Pure. @param head lines above everything; @param tail lines below */
export function composeYaml(
  settings: Tree,
  draft: Pick<Draft, 'comments'>,
  head: readonly string[],
  tail: readonly string[],
): string {
  const document = new Document(settings);
  visit(document, {
    Scalar(_, node) {
      // A query keeps its lines.
      if (typeof node.value === 'string' && node.value.includes('\n')) node.type = Scalar.BLOCK_LITERAL;
    },
  });
  for (const [path, words] of Object.entries({ ...general, ...joined(general, draft.comments) })) {
    const segments = path.split('.');
    const parent = segments.length === 1 ? document.contents : document.getIn(segments.slice(0, -1));
    const pair = isMap(parent)
      ? parent.items.find(({ key }) => isScalar(key) && key.value === segments.at(-1))
      : undefined;
    if (!isScalar(pair?.key)) continue;
    pair.key.commentBefore = comment(words.split('\n'));
    if (segments.length === 1 && path !== 'installation') pair.key.spaceBefore = true;
  }
  document.commentBefore = comment(head);
  if (tail.length > 0) document.comment = comment(tail, Number.POSITIVE_INFINITY);
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}

/** The parts that the schema adds stand below those that are always true. */
function joined(
  base: Readonly<Record<string, string>>,
  added: Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(added).map(([path, words]) => [path, base[path] === undefined ? words : `${base[path]}\n${words}`]),
  );
}

const COMMENT_WIDTH = 110;

/** Lines as a comment. Names of the ERP stand in them: what would end the comment becomes a space. */
function comment(lines: readonly string[], width = COMMENT_WIDTH): string {
  return lines
    .flatMap((line) => wrapped(harmlessLine(line).replace(/\s+/g, ' ').trim(), width))
    .map((line) => (line === '' ? '' : ` ${line}`))
    .join('\n');
}

function wrapped(line: string, width: number): string[] {
  const lines: string[] = [];
  let current = '';
  for (const word of line.split(' ')) {
    if (current !== '' && current.length + word.length + 1 > width) {
      lines.push(current);
      current = word;
    } else current = current === '' ? word : `${current} ${word}`;
  }
  return [...lines, current];
}
