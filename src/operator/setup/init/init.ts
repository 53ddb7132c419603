import { erpDatabase, erpDialect } from '../../../db/databases.js';
import type { ErpDialect } from '../../../db/erp-database.js';
import { sql } from '../../../db/sql.js';
import { readCatalogue } from '../../../erp/catalogue.js';
import type { ErpSource } from '../../../erp/erp-reader.js';
import { composeSettings, type Places } from './compose-settings.js';
import type { Answers, Draft } from './draft.js';
import { findMapping, type GivenChoices } from './find-mapping.js';
import { InitError, type Interview } from './interview.js';
import { orderFacts } from './order-facts.js';
import { type KnownErp, knownErps } from './presets/presets.js';
import { settleAnswers } from './settle-answers.js';
import { type Trial, tryMapping } from './trial.js';

export interface InitRequest {
  interview: Interview;
  places: Places;
  /** A person's choices for an unknown schema, given by flags. */
  given: GivenChoices;
  /** A preset by name; `none`: read the schema as an unknown one. */
  preset: string | undefined;
  /** Checks settings as a configuration is checked; the password of the ERP is added. */
  settingsOf(tree: unknown): ErpSource;
  suggestedName: string;
}

export interface Proposal {
  draft: Draft;
  /** As they stand in the file. */
  settings: Record<string, unknown>;
  grants: string[];
}

/** As many orders are added up before the money counts as understood. */
const TRIED = 300;

/** Answers that let every order through, and every line: the more there is, the more there is to add up. */
const everything: Answers = {
  ...{ installation: 'trial', timeZone: 'UTC', currency: 'EUR', pending: null, startFrom: 'all' },
  textLines: { sku: 'trial' },
};

/** Connects to the ERP, and asks nothing of its tables. @throws ErpError where that fails */
export async function reachErp({ places, settingsOf }: Pick<InitRequest, 'places' | 'settingsOf'>): Promise<void> {
  const database = await erpDatabase(settingsOf(placeholder(places)).erp);
  try {
    await database.snapshot(({ query }) => query(sql`SELECT 1 AS one`, 'reach it'));
  } finally {
    await database.close();
  }
}

/** Works out a configuration for an ERP. Reads, and writes nothing. Null: a question stays open. */
export async function propose(request: InitRequest): Promise<Proposal | null> {
  const { interview, places, settingsOf } = request;
  const sourceOf = (draft: Draft, answers: Answers) => settingsOf(composeSettings(draft, answers, places));
  const type = places.erp.type as ErpSource['erp']['type'];
  const dialect = await erpDialect(type);
  const database = await erpDatabase(settingsOf(placeholder(places)).erp);
  try {
    const catalogue = await database.snapshot(readCatalogue);
    if (catalogue.tables.length === 0)
      throw new InitError(`${database.identity()} has no tables, or none that this account may read.`);
    const known = await chooseKnown(request, knownErps(catalogue, dialect));
    if (known === 'open') return null;
    const found = known?.draft() ?? (await findMapping(database, catalogue, dialect, interview, request.given));
    if (found === null) return null;
    const tryConfirmed = (one: Draft) =>
      tryMapping(database, sourceOf(one, { ...everything, pending: one.orders.confirmed?.condition ?? null }), TRIED);
    const draft = known === null ? found : await withTrueTotal(found, tryConfirmed, interview);
    const facts = await orderFacts(database, draft);
    const answers = await settleAnswers(interview, draft, facts, dialect, request.suggestedName);
    if (answers === null) return null;
    const settings = composeSettings(draft, answers, places);
    return { draft, settings, grants: grantsFor(draft, dialect, places) };
  } finally {
    await database.close();
  }
}

/** Flags that name what is known of a known ERP. */
const forUnknown = ['orders-table', 'lines-table', 'customers-table', 'money-unit', 'discount'];

/** The known ERP that is meant; null: none of them. @throws InitError for a flag that the chosen way has no use for */
async function chooseKnown(request: InitRequest, known: readonly KnownErp[]): Promise<KnownErp | null | 'open'> {
  const { interview, given, preset } = request;
  const prefix = interview.isGiven('table-prefix');
  const namesColumns = Object.keys(given.columns).length > 0;
  if (namesColumns && preset !== undefined && preset !== 'none')
    throw new InitError(`--preset ${preset}: its columns are known. Leave out --column, or write --preset none.`);
  if (preset === 'none' || namesColumns) {
    if (prefix === undefined) return null;
    throw new InitError(
      `--table-prefix ${prefix}: ${namesColumns ? '--column' : '--preset none'} reads the tables as those of an unknown ERP. Name them: --orders-table, --lines-table, --customers-table.`,
    );
  }
  const chosen = await chooseAmong(interview, matching(known, preset, prefix));
  const rows = [
    ...given.ordersWith.map((one) => `orders-with ${one}`),
    ...given.linesWith.map((one) => `lines-with ${one}`),
  ];
  const flag = forUnknown.find((name) => interview.isGiven(name) !== undefined);
  const unused = flag === undefined ? rows[0] : `${flag} ${interview.isGiven(flag)}`;
  if (chosen === null || chosen === 'open' || unused === undefined) return chosen;
  throw new InitError(
    `--${unused}: these are the tables of ${chosen.title}, where it is known. Leave it out, or read them as those of an unknown ERP: --preset none.`,
  );
}

/** Those that the flags leave. @throws InitError where they leave none */
function matching(known: readonly KnownErp[], preset?: string, prefix?: string): readonly KnownErp[] {
  const named = known.filter(({ name }) => preset === undefined || name === preset);
  if (named.length === 0 && preset !== undefined)
    throw new InitError(`These are not the tables of ${preset}. Leave --preset out: the tables are looked at then.`);
  const found = named.filter((one) => prefix === undefined || one.prefix === prefix);
  if (found.length > 0 || prefix === undefined) return found;
  const there = named.map((one) => `those of ${one.title} under ${one.prefix || 'no prefix'}`);
  throw new InitError(
    `--table-prefix ${prefix}: there are no tables of a known ERP under it; there are ${there.join(', ') || 'none at all'}.`,
  );
}

async function chooseAmong(interview: Interview, named: readonly KnownErp[]): Promise<KnownErp | null | 'open'> {
  const [only, ...others] = named;
  if (others.length === 0) return only ?? null;
  const isOne = named.every(({ name }) => name === only?.name);
  const choiceOf = ({ name, prefix }: KnownErp) => (isOne ? prefix : name);
  const answer = await interview.answer(
    {
      name: isOne ? 'table-prefix' : 'preset',
      text: `The tables of ${isOne ? `${only?.title} are there several times` : 'several ERPs are there'}. Which are meant?`,
      choices: named.map((one) => ({ value: choiceOf(one), note: one.title })),
    },
    (text) => (named.some((one) => choiceOf(one) === text) ? null : 'choose one of them'),
  );
  return named.find((one) => choiceOf(one) === answer) ?? 'open';
}

/** Accounts that may do everything: Waybill gets one of its own. */
const MIGHTY = /^(root|postgres|mysql|admin|sa|odoo|dolibarr|frappe)$/i;

/** The commands for an administrator, so that the account can read these tables and nothing else. */
function grantsFor({ tables }: Draft, { account }: ErpDialect, { erp }: Places): string[] {
  const { user = '', database = '' } = erp as { user?: string; database?: string };
  const name = MIGHTY.test(user) ? 'waybill_reader' : user;
  if (account === null) return [];
  return [
    `-- If the account does not exist yet: ${account.create(name, '%')}`,
    ...account.grantReading(tables, name, '%', database),
  ];
}

/** The total of an order is a check only where it is the sum of the lines. */
async function withTrueTotal(
  draft: Draft,
  tryDraft: (draft: Draft) => Promise<Trial>,
  interview: Interview,
): Promise<Draft> {
  if (!draft.orders.totalMayDiffer) return draft;
  const { error, compared, agreeing } = await tryDraft(draft);
  if (error !== null) throw error;
  if (agreeing === compared) return draft;
  const { total, ...orders } = draft.orders;
  const reason = `${total} is not the sum of the lines in ${compared - agreeing} of ${compared} orders`;
  interview.settle('orders.total', 'not compared', reason);
  const comment = `${total} is no setting here: it ${reason.slice(`${total} `.length)}.`;
  return { ...draft, orders, comments: { ...draft.comments, 'orders.number': comment } };
}

/** Enough for a connection: what is read is not known yet. */
function placeholder({ erp, service }: Places): unknown {
  const query = 'SELECT 1 AS id';
  return {
    ...{ installation: 'trial', erp: { ...erp, timeZone: 'UTC' }, service, amounts: { currency: 'EUR' } },
    customers: { send: 'none' },
    orders: {
      ...{ query, key: 'id', startFrom: 'all', fields: { customer_code: 'id' } },
      lines: { query, orderKey: 'id', sortBy: 'id', fields: { sku: 'id', qty: 'id', price: 'id' } },
    },
  };
}
