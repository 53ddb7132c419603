import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, sep } from 'node:path';
import { expect } from 'chai';
import { databaseKinds } from '../src/config/sections/database-kinds.js';
import { projectRoot } from './support/project-root.js';
import { sourceImports, staticImports } from './support/source-imports.js';

/** Types of the settings may be named anywhere above `model`; the settings themselves are handed down, not fetched. */
const TYPES_OF_SETTINGS = 'config (types only)';
/** V8's settings and its one thread, for `db` and the entrances alone: jobs get what they need in their context. */
const V8 = 'v8';
/** Sentences are made at the edge: `operator` and all rooms below hand facts on. */
const WORDS = 'words';
/** The stories and pages that both faces tell in the same sentences. */
const TELLING = 'telling';
const BASE = ['audit', 'ops', 'store', 'model', TYPES_OF_SETTINGS];
/** The one place that chooses the SQLite for the Node that runs. */
const SQLITE = 'db/sqlite/driver.ts';
const OUTBOUND = ['outbox', 'recovery', 'capture', 'adoption', 'deliver', 'dispatch'].map((room) => `outbound/${room}`);
const INBOUND = ['invoices', 'orders', 'webhooks', 'write-back'].map((room) => `inbound/${room}`);
const [OUTBOX = '', RECOVERY = '', CAPTURE = '', ADOPTION = '', DELIVER = '', DISPATCH = ''] = OUTBOUND;
const [INVOICES = '', ORDERS = ''] = INBOUND;
const BELOW_OPERATOR = [...INBOUND, ...OUTBOUND, 'service', 'erp', ...BASE];

/**
 * Which room (or file) of src may import which. A room is a concept of the domain with all that belongs to it, and arrows
 * point one way: what comes later on a record's way knows what comes before, never the other way round.
 */
const ALLOWED: Record<string, readonly string[]> = {
  main: ['cli', V8, 'model'],
  // A command asks operator and daemon. It may name lists, files and types of the rooms below them, but start no
  // request.
  cli: [
    WORDS,
    TELLING,
    'desk',
    'app',
    'daemon',
    'operator',
    'config',
    ADOPTION,
    RECOVERY,
    OUTBOX,
    ...INBOUND,
    'erp',
    'db',
    ...BASE,
  ],
  // Every question of the desk is a named query of operator; below it, the desk names types and lists.
  desk: [WORDS, TELLING, 'app', 'daemon', 'operator', OUTBOX, ...BASE],
  [TELLING]: [WORDS, 'operator', OUTBOX, ...BASE],
  // It gives the log its words.
  app: [V8, WORDS, 'daemon', 'operator', 'config', ...BELOW_OPERATOR],
  daemon: [WORDS, 'operator', ...BELOW_OPERATOR],
  operator: ['db', ...BELOW_OPERATOR],
  [OUTBOX]: BASE,
  [RECOVERY]: [OUTBOX, ...BASE],
  [CAPTURE]: [RECOVERY, OUTBOX, 'erp', ...BASE],
  [ADOPTION]: [CAPTURE, RECOVERY, OUTBOX, 'service', 'erp', ...BASE],
  [DELIVER]: [ADOPTION, CAPTURE, RECOVERY, OUTBOX, 'service', ...BASE],
  // It knows ids and Redis, and nothing of records.
  [DISPATCH]: [DELIVER, ...BASE],
  [INVOICES]: [DELIVER, OUTBOX, 'service', ...BASE],
  [ORDERS]: [DELIVER, OUTBOX, 'service', ...BASE],
  'inbound/webhooks': [INVOICES, ORDERS, DELIVER, OUTBOX, 'service', ...BASE],
  // People read in the ERP why a record is parked: this is an edge too.
  'inbound/write-back': [INVOICES, DELIVER, OUTBOX, 'erp', WORDS, ...BASE],
  service: ['store', 'model', TYPES_OF_SETTINGS],
  erp: ['db', 'model', TYPES_OF_SETTINGS],
  audit: ['store', 'model'],
  ops: ['store', 'model', TYPES_OF_SETTINGS],
  store: ['db', 'model', TYPES_OF_SETTINGS],
  db: ['model', V8, TYPES_OF_SETTINGS],
  config: ['model'],
  [V8]: [],
  model: [],
  [WORDS]: ['model'],
  // Stand-ins share no code with what they stand in for, so that they can't agree with a bug.
  lab: ['db', 'model'],
};

/** Only these commands may start a stand-in; the rest of the command line is for real work. */
const STAND_IN_COMMAND = /^cli\/(sandbox|demo|sample-erp)\b/;

/** `cli/demo.ts` belongs to `cli`, `outbound/deliver/claims.ts` to `outbound/deliver`, and `app.ts` to `app`. */
function partOf(file: string): string {
  const [top = '', next = ''] = file.split('/');
  return top === 'outbound' || top === 'inbound' ? `${top}/${next}` : top.replace(/\.(tsx?|js)$/, '');
}

/** The faults in the imports of `file` (its path in src), a line for each. */
function violations(file: string, source: string): string[] {
  const from = partOf(file);
  const allowed = ALLOWED[from];
  if (allowed === undefined) return [`${file}: add src/${from} to the table in architecture.test.ts, on purpose`];

  return sourceImports(source).flatMap(({ specifier, typeOnly }) => {
    if (specifier === undefined || specifier.startsWith('*'))
      return [`${file}: import() of a name that is not written out can't be checked`];
    if (!specifier.startsWith('.')) {
      const isLibrary = !specifier.startsWith('node:');
      if (isLibrary && from === 'model') return [`${file}: model needs no library, not even ${specifier}`];
      const chosen = /^(better-sqlite3|node:sqlite)/.test(specifier) && file !== SQLITE;
      return chosen ? [`${file}: only ${SQLITE} chooses which SQLite fits this Node`] : [];
    }

    const target = posix.join(posix.dirname(file), specifier);
    const to = partOf(target);
    if (target.startsWith('..')) return [`${file}: ${specifier} leaves src`];
    if (to === from) return [];
    if (to === 'lab' && STAND_IN_COMMAND.test(file)) return [];
    if (allowed.includes(to) || (typeOnly && allowed.includes(`${to} (types only)`))) return [];
    return [`${file} imports ${specifier}, but ${from} may import ${allowed.join(', ') || 'nothing'}`];
  });
}

const sources = readdirSync(join(projectRoot, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => file.split(sep).join('/'));

describe('the arrows between the parts of Waybill', () => {
  it('point one way in every file of src', () => {
    expect(sources).to.not.be.empty;
    const wrong = sources.flatMap((file) => violations(file, readFileSync(join(projectRoot, 'src', file), 'utf8')));
    expect(wrong, `\n${wrong.join('\n')}\n`).to.be.empty;
  });

  it('leave what differs between databases to db/ and to the settings: no other room asks which one it is', () => {
    const own = /^(db\/\w+|lab)\/|^config\/sections\/database-(server|kinds)\.ts$|^model\/database-place\.ts$/;
    const elsewhere = sources.filter((file) => !own.test(file));
    // To make a store or a sample in a file is no question.
    const asks =
      /(?<!\btype: )(['"`])(mysql|mariadb|postgres|sqlite)\1|^ *(mysql|mariadb|postgres|sqlite): |'(file|host)' in /m;
    expect(elsewhere.filter((file) => asks.test(readFileSync(join(projectRoot, 'src', file), 'utf8')))).to.deep.equal(
      [],
    );
  });

  it('lead to a database by its name: a kind is one folder in db/, and one line in the settings', () => {
    const folders = sources.flatMap((file) => /^db\/(\w+)\/database\.ts$/.exec(file)?.[1] ?? []);
    expect(folders.sort()).to.deep.equal(databaseKinds.map(({ value }) => String(value)).sort());
    const into = new RegExp(`/(${folders.join('|')})/`);
    const wrong = sources.filter(
      (file) =>
        !/^(db\/\w+\/|lab\/)/.test(file) &&
        sourceImports(readFileSync(join(projectRoot, 'src', file), 'utf8')).some(({ specifier }) =>
          into.test(specifier ?? ''),
        ),
    );
    expect(wrong).to.deep.equal([]);
  });

  it('lead to what libraries publish, not to the insides of zod, config, mysql2 and pg', () => {
    const insides = /\._zod\b|\._?def\b|\bz\.core\b|'config\/|\.connection\.stream|\bstream: Socket\b|\.driver as\b/;
    expect(sources.filter((file) => insides.test(readFileSync(join(projectRoot, 'src', file), 'utf8')))).to.deep.equal(
      [],
    );
  });

  it('lead from `waybill status`, which a monitor starts every minute, to nothing that acts or sends', () => {
    const loaded = new Set(['cli/status.ts']);
    for (const file of loaded)
      for (const { specifier, typeOnly } of staticImports(readFileSync(join(projectRoot, 'src', file), 'utf8'))) {
        if (typeOnly || !specifier?.startsWith('.')) continue;
        loaded.add(posix.join(posix.dirname(file), specifier).replace(/\.js$/, '.ts'));
      }
    expect(loaded).to.include('daemon/read-status.ts');
    const heavy =
      /^(operator\/(actions|reconcile)|outbound\/(adoption|capture\/capture\.|deliver\/(deliver|exchange)\.)|service\/wire)/;
    expect([...loaded].filter((file) => heavy.test(file))).to.deep.equal([]);
  });

  it('lead to V8 by v8.ts alone, and by the program that starts', () => {
    const tunes = sources.filter((file) => readFileSync(join(projectRoot, 'src', file), 'utf8').includes("'node:v8'"));
    expect(tunes.sort()).to.deep.equal(['main.ts', 'v8.ts']);
  });

  const allowed: [string, string][] = [
    ['main.ts', `import { run } from './cli/run.js';`],
    ['outbound/capture/capture.ts', `import { read } from '../../erp/reader.js';`],
    ['outbound/deliver/deliver.ts', `import { createKey } from '../outbox/idempotency-key.js';`],
    ['erp/sub/reader.ts', `import type { WriteBackSettings } from '../../config/sections/write-back.js';`],
    ['erp/reader.ts', `import { Money } from './money.js';`],
    ['desk/routes.tsx', `import { explainRecord } from '../operator/explain-record.js';`],
    ['cli/sandbox.ts', `import { startSandbox } from '../lab/sandbox/start-sandbox.js';`],
    ['cli/demo/run.ts', `const { fill } = await import('../../lab/sample-erp/fill.js');`],
  ];
  for (const [file, source] of allowed) {
    it(`allow ${file} to ${source}`, () => {
      expect(violations(file, source)).to.deep.equal([]);
    });
  }

  /** One arrow the wrong way from each room, and what no table can allow. */
  const refused: [string, string][] = [
    ['main.ts', `import { openApp } from './app.js';`],
    ['desk/pages/record.tsx', `import { CommandApp } from '../../cli/command.js';`],
    ['desk/routes.tsx', `import { deliver } from '../outbound/deliver/deliver.js';`],
    ['app.ts', `import { run } from './cli/run.js';`],
    ['app.ts', `import { seed } from '../bench/seed.js';`],
    ['cli/sync.ts', `import { startSandbox } from '../lab/sandbox/start-sandbox.js';`],
    ['cli/plugin.ts', 'await import(name);'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a source in which it is a template
    ['cli/plugin.ts', 'await import(`${name}/plugin.js`);'],
    ['cli/sync.ts', `import { deliver } from '../outbound/deliver/deliver.js';`],
    ['cli/explain.ts', `import { ServiceClient } from '../service/service-client.js';`],
    ['daemon/schedule.ts', `import { openApp } from '../app.js';`],
    ['operator/story.ts', `import { readStatus } from '../daemon/status.js';`],
    ['operator/recover.ts', `import { tell } from '../words/words.js';`],
    ['telling/describe-story.ts', `import { Desk } from '../desk/desk.js';`],
    ['words/en.ts', `import { tellStory } from '../operator/tell-story.js';`],
    ['outbound/outbox/message.ts', `import type { Verdict } from '../../service/judge.js';`],
    ['outbound/recovery/recover.ts', `import { capture } from '../capture/capture.js';`],
    ['outbound/capture/capture.ts', `import { deliver } from '../deliver/deliver.js';`],
    ['outbound/capture/capture.ts', `import { fill } from '../../lab/sample-erp/fill.js';`],
    ['outbound/adoption/adopt.ts', `import { deliver } from '../deliver/deliver.js';`],
    ['outbound/deliver/deliver.ts', `import { ClusterDispatcher } from '../dispatch/cluster-dispatcher.js';`],
    ['outbound/dispatch/cluster-dispatcher.ts', `import { Outbox } from '../outbox/message.js';`],
    ['outbound/deliver/deliver.ts', `import type { ErpReader } from '../../erp/erp-reader.js';`],
    ['inbound/invoices/pull.ts', `import { openErp } from '../../erp/open-erp.js';`],
    ['inbound/orders/read-orders.ts', `import { pull } from '../invoices/pull.js';`],
    ['inbound/webhooks/receive.ts', `import { writeBack } from '../write-back/write-back.js';`],
    ['inbound/write-back/write-back.ts', `import type { ServiceClient } from '../../service/service-client.js';`],
    ['service/judge.ts', `import { settle } from '../outbound/outbox/message.js';`],
    ['erp/reader.ts', `import { settings } from '../config/settings.js';`],
    ['erp/reader.ts', `const job = await import('../outbound/capture/capture.js');`],
    ['audit/audit-log.ts', `import { outbox } from '../outbound/outbox/message.js';`],
    ['ops/logger.ts', `export { app } from '../app.js';`],
    ['store/store.ts', `import { Outbox } from '../outbound/outbox/message.js';`],
    ['config/settings.ts', `import { Store } from '../store/store.js';`],
    ['model/record.ts', `import { z } from 'zod';`],
    ['erp/reader.ts', `import Database from 'better-sqlite3';`],
    ['db/mysql/session.ts', `import { Money } from '../../erp/money.js';`],
    ['outbound/deliver/exchange.ts', `import { makeRoom } from '../../v8.js';`],
    ['v8.ts', `import { Store } from './store/store.js';`],
    ['model/record.ts', `import type { Store } from '../store/store.js';`],
    ['lab/sandbox/start.ts', `import { createKey } from '../../outbound/outbox/idempotency-key.js';`],
    ['utils/strings.ts', ''],
  ];
  for (const [file, source] of refused) {
    it(`refuse ${file} to ${source || 'be anywhere at all'}`, () => {
      expect(violations(file, source)).to.have.length(1);
    });
  }

  it('are planted the wrong way once in each room', () => {
    const planted = new Set(refused.map(([file]) => partOf(file)));
    expect(Object.keys(ALLOWED).filter((room) => !planted.has(room))).to.deep.equal([]);
  });
});

describe('text from outside', () => {
  /** The only rooms that may read one: those that judge an answer, those that name a database's error, and those that print. */
  const readers = ['words/', 'service/', 'model/outside.ts'];

  it('is read nowhere else', () => {
    const importers = sources.filter((file) =>
      /\bopenOutside\b/.test(readFileSync(join(projectRoot, 'src', file), 'utf8')),
    );
    const wrong = importers.filter((file) => !readers.some((reader) => file.startsWith(reader)));
    expect(wrong, 'openOutside').to.deep.equal([]);
  });
});
