import { erpDatabase, erpDialect } from '../../../db/databases.js';
import type { ErpDatabase, ErpDialect } from '../../../db/erp-database.js';
import { sql } from '../../../db/sql.js';
import { type Catalogue, readCatalogue } from '../../../erp/catalogue.js';
import type { ErpSource } from '../../../erp/erp-reader.js';
import type { SetupAnswers, SetupNote, SetupProblem, SetupQuestion } from '../../../model/setup-questions.js';
import { askRest } from './ask-rest.js';
import { Asking, Facts, refused, taken, type WrongAnswer } from './asking.js';
import { composeSettings, type Places } from './compose-settings.js';
import type { Answers, Draft } from './draft.js';
import { orderFacts } from './order-facts.js';
import { type KnownErp, knownErps } from './presets/presets.js';
import { tryMapping } from './trial.js';
import { askUnknown } from './unknown-schema.js';

export interface SetupRequest {
  places: Places;
  /** Checks settings as a configuration is checked; the password of the ERP is added. */
  settingsOf(tree: unknown): ErpSource;
  suggestedName: string;
  now(): number;
}

export interface Proposal {
  draft: Draft;
  /** As they stand in the file. */
  settings: Record<string, unknown>;
  grants: string[];
}

/** The next questions of set-up, with what it has to tell until then. */
export interface SetupState {
  /** In their order. A proposal is there once none is open but optional ones. */
  open: readonly SetupQuestion[];
  wrong: readonly WrongAnswer[];
  notes: readonly SetupNote[];
  proposal: Proposal | null;
}

/** As many orders are added up before the money counts as understood. */
const TRIED = 300;

/** Answers that let every order through, and every line: the more there is, the more there is to add up. */
const everything: Answers = {
  ...{ installation: 'trial', timeZone: 'UTC', currency: 'EUR', pending: null, startFrom: 'all' },
  textLines: { sku: 'trial' },
};

/** Connects to the ERP, and asks nothing of its tables. @throws ErpError where that fails */
export async function reachErp({ places, settingsOf }: Pick<SetupRequest, 'places' | 'settingsOf'>): Promise<void> {
  const database = await erpDatabase(settingsOf(placeholder(places)).erp);
  try {
    await database.snapshot(({ query }) => query(sql`SELECT 1 AS one`, 'reach it'));
  } finally {
    await database.close();
  }
}

/** Works out a configuration for an ERP from a person's answers. Reads, and writes nothing. */
export class Setup {
  readonly #facts = new Facts();
  readonly #knownDrafts = new Map<string, Promise<{ draft: Draft; notes: SetupNote[] }>>();

  private constructor(
    private readonly request: SetupRequest,
    private readonly database: ErpDatabase,
    private readonly catalogue: Catalogue,
    private readonly dialect: ErpDialect,
  ) {}

  /** @throws NoTables */
  static async open(request: SetupRequest): Promise<Setup> {
    const { places, settingsOf } = request;
    const { erp } = settingsOf(placeholder(places));
    const [dialect, database] = [await erpDialect(erp.type), await erpDatabase(erp)];
    try {
      const catalogue = await database.snapshot(readCatalogue);
      if (catalogue.tables.length === 0) throw new NoTables(database.identity());
      return new Setup(request, database, catalogue, dialect);
    } catch (error) {
      await database.close();
      throw error;
    }
  }

  close(): Promise<void> {
    return this.database.close();
  }

  /** Reads what the answers need, and says what is asked next. The same facts and answers say the same. */
  async look(answers: SetupAnswers): Promise<SetupState> {
    for (;;) {
      const state = await this.state(answers);
      if (this.#facts.isWhole) return state;
      await this.database.snapshot((snapshot) => this.#facts.fill(snapshot));
    }
  }

  private async state(answers: SetupAnswers): Promise<SetupState> {
    const asking = new Asking(answers);
    const known = askKnown(asking, answers, knownErps(this.catalogue, this.dialect));
    const proposal = known === undefined ? null : await this.propose(asking, answers, known);
    return { open: asking.open, wrong: asking.wrong, notes: asking.notes, proposal };
  }

  private async propose(asking: Asking, answers: SetupAnswers, known: KnownErp | null): Promise<Proposal | null> {
    const { catalogue, dialect, request } = this;
    const found = known && (await this.knownDraft(known));
    if (known) refuseFlags(asking, answers, known);
    if (found) asking.tell(...found.notes);
    const facts = this.#facts;
    const draft = found?.draft ?? askUnknown({ catalogue, dialect, asking, facts, nowMs: request.now() });
    if (draft === null) return null;
    const rest = facts.get(
      ['orders of', draft.orders.query, draft.lines.query, draft.orders.startsByKey ?? false],
      (snapshot) => orderFacts(snapshot, draft),
    );
    const said = rest && askRest(asking, draft, rest, dialect, request.suggestedName);
    if (!said || asking.wrong.length > 0) return null;
    for (const [id, [answer = '']] of answers)
      if (!asking.used.has(id))
        asking.wrong.push({ question: questionOf(id), answer, problem: { code: 'no_use', because: 'not_asked' } });
    if (asking.wrong.length > 0) return null;
    const settings = composeSettings(draft, said, request.places);
    return { draft, settings, grants: grantsFor(draft, dialect, request.places) };
  }

  /** The draft of a known ERP: its total is a check only where it is the sum of the lines. */
  private knownDraft(known: KnownErp): Promise<{ draft: Draft; notes: SetupNote[] }> {
    const key = `${known.name} ${known.prefix}`;
    const read = this.#knownDrafts.get(key) ?? this.withTrueTotal(known.draft());
    this.#knownDrafts.set(key, read);
    return read;
  }

  private async withTrueTotal(draft: Draft): Promise<{ draft: Draft; notes: SetupNote[] }> {
    const { database, request } = this;
    const confirmed = { ...everything, pending: draft.orders.confirmed?.condition ?? null };
    if (!draft.orders.totalMayDiffer) return { draft, notes: [] };
    const source = request.settingsOf(composeSettings(draft, confirmed, request.places));
    const { error, compared, agreeing } = await tryMapping(database, source, TRIED);
    if (error !== null) throw error;
    if (agreeing === compared) return { draft, notes: [] };
    const { total = '', ...orders } = draft.orders;
    const differing = compared - agreeing;
    const comment = `${total} is no setting here: it is not the sum of the lines in ${differing} of ${compared} orders.`;
    return {
      draft: { ...draft, orders, comments: { ...draft.comments, 'orders.number': comment } },
      notes: [{ code: 'total_left_out', total, differing, compared }],
    };
  }
}

/** The account sees no table. */
export class NoTables extends Error {
  override readonly name = 'NoTables';
  constructor(readonly database: string) {
    super(`${database} has no tables`);
  }
}

const questionOf = (id: string): SetupQuestion => ({
  ...{ step: 'finish', about: {}, candidates: [] },
  ...(id.includes('.') ? { flag: 'column', role: id } : { flag: id }),
});

/** Flags that name what is known of a known ERP. */
const forUnknown = [
  'orders-table',
  'lines-table',
  'customers-table',
  'money-unit',
  'discount',
  'orders-with',
  'lines-with',
];

function refuseFlags(asking: Asking, answers: SetupAnswers, { title }: KnownErp): void {
  for (const id of forUnknown) {
    const [answer] = answers.get(id) ?? [];
    if (answer !== undefined)
      asking.wrong.push({ question: questionOf(id), answer, problem: { code: 'of_known', title } });
  }
}

/** The known ERP that is meant; null: none of them. Undefined: a person has to say it. */
function askKnown(asking: Asking, answers: SetupAnswers, known: readonly KnownErp[]): KnownErp | null | undefined {
  const [preset] = asking.given('preset');
  const [prefix] = asking.given('table-prefix');
  const wrong = (id: string, answer: string, problem: SetupProblem) => {
    asking.wrong.push({ question: questionOf(id), answer, problem });
    return undefined;
  };
  const namesColumns = [...answers.keys()].some((id) => id.includes('.'));
  if (namesColumns && preset !== undefined && preset !== 'none')
    return wrong('preset', preset, { code: 'columns_known' });
  if (preset === 'none' || namesColumns) {
    if (prefix === undefined) return null;
    return wrong('table-prefix', prefix, { code: 'of_unknown', by: namesColumns ? 'column' : 'preset' });
  }
  const named = known.filter(({ name }) => preset === undefined || name === preset);
  if (named.length === 0 && preset !== undefined) return wrong('preset', preset, { code: 'not_that_erp' });
  const found = named.filter((one) => prefix === undefined || one.prefix === prefix);
  if (found.length === 0 && prefix !== undefined)
    return wrong('table-prefix', prefix, {
      code: 'no_prefix',
      there: named.map((one) => ({ title: one.title, prefix: one.prefix })),
    });
  const [only, ...others] = found;
  if (only === undefined) return null;
  const isOne = found.every(({ name }) => name === only.name);
  if (others.length > 0 && isOne) {
    const candidates = found.map((one) => ({
      value: one.prefix,
      evidence: [{ of: 'title' as const, title: one.title }],
    }));
    return asking.one({ step: 'orders', flag: 'table-prefix', about: { title: only.title }, candidates }, (text) => {
      const one = found.find((known) => known.prefix === text);
      return one === undefined
        ? refused({ code: 'not_offered', offered: found.map((known) => known.prefix) })
        : taken(one);
    });
  }
  if (preset !== undefined || prefix !== undefined) return only;
  const names = [...new Set(found.map(({ name }) => name)), 'none'];
  const titles = new Map(found.map((one) => [one.name, one.title]));
  return asking.one(
    {
      ...{ step: 'orders', flag: 'preset', about: isOne ? { title: only.title } : {} },
      candidates: names.map((value) => ({
        value,
        evidence: titles.has(value) ? [{ of: 'title', title: titles.get(value) ?? '' }] : [],
      })),
      // One ERP that is recognised is confirmed, not chosen.
      ...(isOne && { suggestion: only.name }),
    },
    (text) => {
      if (text === 'none') return taken(null);
      const one = found.find(({ name }) => name === text);
      return one === undefined ? refused({ code: 'not_offered', offered: names }) : taken(one);
    },
  );
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
