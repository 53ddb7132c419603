import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { expect } from 'chai';
import type { StoreSettings } from '../../src/config/sections/store.js';
import { storeDialect } from '../../src/db/databases.js';
import { sampleErpMapping } from '../../src/lab/sample-erp/create-sample-erp.js';
import { type Sandbox, startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import { storeDataSource } from '../../src/store/data-source.js';
import { migrations } from '../../src/store/migration-list.js';
import { openStoreForReading } from '../../src/store/open-store.js';
import { canary, Installation, storeIn } from '../e2e/installation.js';
import { projectRoot } from '../support/project-root.js';
import { openSqlite } from '../support/sqlite-file.js';
import { useTempDir } from '../support/temp-dir.js';
import { useServer } from '../support/use-database.js';
import { serverSettings, storeSettings } from './store-settings.js';
import { eachStore } from './stores.js';

/** A request that took effect at the service before the upgrade. */
interface Effect {
  method: string;
  path: string;
  key: string | null;
  body: string;
}

/** Orders by what had become of them before the upgrade. */
type Names = Record<
  | 'refused'
  | 'doubt'
  | 'lost'
  | 'invalid'
  | 'total'
  | 'unmapped'
  | 'closed'
  | 'replaced'
  | 'hung'
  | 'waiting'
  | 'conflict'
  // An update and a removal that wait for the end of their scan.
  | 'scan'
  | 'removal',
  { id: number; orderNo: string }
>;

/**
 * An installation as an earlier version left it: its store, its ERP, what had taken effect at the service, and what its commands
 * printed then. That version made all of it by its own commands, a daemon, and a `sync` that was killed while it sent, and another one
 * while it captured. Two things
 * were edited: the address and folder of the machine, and the next tries of what is in doubt, which lie ahead for ever.
 */
const fixture = (name: string) => readFileSync(`${projectRoot}/test/store/fixtures/before-facts/${name}`, 'utf8');

/** Sentences that were put in other words since, which say the same. */
const reworded: readonly (readonly [before: string, now: string])[] = [
  [
    'The same key and bytes are sent again, which cannot create a second record.',
    'The same key and bytes are sent again: a service that recognises the key makes no second record.',
  ],
  // That version had a time which meant that a change waits for the end of its scan, and recommended a retry that it refused.
  [
    'Next try at Invalid DateTime.',
    'It waits for the end of the scan that found it, which shows whether it is put on hold.',
  ],
  [
    'held: a brake asks a person to look first; nothing was sent',
    'on hold until a person has looked; nothing was sent',
  ],
  ['Invalid DateTime', 'when its scan ends'],
  ...[7, 9].map(
    (key) =>
      [
        `Try now instead.\n      waybill outbox retry --entity order --key ${key} --reason "…"`,
        'If no scan is running, run one to its end.\n      waybill sync capture',
      ] as const,
  ),
];

/** Times that passed since, and the width of a column that they fill. */
function lasting(text: string): string {
  return text
    .replace(/\([^()]* ago\)/g, '(… ago)')
    .replace(/ +│/g, ' │')
    .replace(/[─]+/g, '─');
}

/** Reasons and classes of as many messages have no order among them. */
function sortedLines(text: string): string {
  const classes = text.replace(/\(([^()]*)\)/g, (_, list: string) => `(${list.split(', ').sort().join(', ')})`);
  return classes.split('\n').sort().join('\n');
}

interface Message {
  state: string;
  nextAttemptAt: string | null;
}

/** Each field of the earlier version is still there with its value. What nothing moves by itself had a next try, which meant nothing. */
function expectNothingLost(now: string, before: string): void {
  const [is, was] = [now, before].map((text) => JSON.parse(text.slice(text.indexOf('\n')))) as {
    messages: Message[];
  }[];
  expect(is?.messages).to.have.length(was?.messages.length ?? 0);
  for (const [nth, message] of was?.messages.entries() ?? []) {
    const nextAttemptAt = message.state === 'parked' ? null : message.nextAttemptAt;
    expect(is?.messages[nth]).to.deep.include({ ...message, nextAttemptAt });
  }
}

/** The preview of a release has another form: the same records stand in it, each with the reason and the fields. */
function expectSameHeld(now: string, before: string): void {
  const numbers = before.match(/A-\d+-\d+/g) ?? [];
  expect(numbers).to.have.length(5);
  for (const number of numbers)
    expect(now.split('\n').find((line) => line.includes(number))).to.match(
      /5 updates in one pass, more than capture\.maxUpdates \(3\).*items/,
    );
}

/** Fills a store on a server as that version had it: its schema, and the rows of the file. */
async function fillServer(settings: StoreSettings, sql: string): Promise<void> {
  const own = migrations.filter(({ name }) => sql.includes(`'${name}'`));
  const source = await storeDataSource(settings);
  Object.assign(source.options, { migrations: await Promise.all(own.map(({ load }) => load())) });
  await source.initialize();
  await source.runMigrations({ transaction: 'all' });
  const runner = source.createQueryRunner();
  // The file spells texts as SQLite does.
  if (settings.type === 'mysql') await runner.query("SET SESSION sql_mode=CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES')");
  const rows = sql.split(/^(?=INSERT INTO )/m).filter((row) => /^INSERT INTO (?!migration )/.test(row));
  for (const row of rows) await runner.query(row.replace(/;\s*(COMMIT;|CREATE[\s\S]*)?\s*$/, ''));
  const move = (await storeDialect(settings)).moveCounter;
  for (const table of ['outbox_message', 'attempt', 'audit_log', 'audit_chain', 'alert', 'invoice_pull']) {
    const statement = move(table);
    if (statement !== null) await runner.query(statement);
  }
  await runner.release();
  await source.destroy();
}

eachStore({ usual: ['sqlite', 'mysql', 'postgres'], possible: ['sqlite', 'mysql', 'postgres'] }, (type, storeName) =>
  describe(`an installation of an earlier version (${storeName})`, function () {
    this.timeout(180_000);
    const server = useServer(type);
    const dir = useTempDir();
    const { names, effects } = JSON.parse(fixture('service.json')) as { names: Names; effects: Effect[] };
    let sandbox: Sandbox;
    let machine: Installation;
    let settings: StoreSettings;

    before(async () => {
      sandbox = await startSandbox({ token: canary.token, random: () => 0.5, keyLifetimeMs: 1e15 });
      for (const { method, path, key, body } of effects) {
        const headers = {
          authorization: `Bearer ${canary.token}`,
          ...(body && { 'content-type': 'application/json' }),
          ...(key && { 'idempotency-key': key }),
        };
        const answer = await fetch(sandbox.url + path, { method, headers, ...(body && { body }) });
        expect(answer.status, `${method} ${path}`).to.be.below(300);
      }
      const erp = { type: 'sqlite', file: dir.file('erp.sqlite') } as const;
      const store = storeIn(type, await server?.server.createDatabase());
      machine = new Installation({
        folder: dir.file('machine'),
        serviceUrl: sandbox.url,
        erp,
        store,
        settings: {
          capture: { maxUpdates: 3 },
          retention: { messagesDays: 36_500, bodiesDays: 36_500, auditDays: 36_500 },
          // The fixture gets older each day: what waits in it shall be no alert, and its keys have to stay good.
          alert: { maxSilenceHours: 876_000 },
          service: { environment: 'sandbox', baseUrl: sandbox.url, idempotency: { lifetimeHours: 876_000 } },
          orders: {
            ...sampleErpMapping.orders,
            cancelled: { column: 'status', values: ['cancelled'] },
            onCancelled: 'delete',
          },
        },
      });
      const make = (file: string, sql: string) => {
        const database = openSqlite(file);
        database.exec(sql.replaceAll('{folder}', dir.path));
        database.close();
      };
      make(erp.file, fixture('erp.sql'));
      if (store.type === 'sqlite') {
        settings = storeSettings({ type: 'sqlite', file: machine.storeFile });
        make(machine.storeFile, fixture('store.sql'));
        await mkdir(dir.file('machine/witness'));
        await writeFile(dir.file('machine/witness/waybill.sqlite.json'), fixture('witness.json'));
      } else {
        settings = serverSettings(store.type, store.database);
        await fillServer(settings, fixture('store.sql').replaceAll('{folder}', dir.path));
      }
    });
    after(() => sandbox.close());

    const waybill = async (...argv: string[]) => {
      const { code, stdout, stderr } = await machine.run(...argv);
      return `$ waybill ${argv.join(' ')} -> ${code}\n${stdout}${stderr}`;
    };
    const rows = async (sql: string) => {
      const { store } = await openStoreForReading(settings);
      try {
        return await store.read('look', (tx) => tx.select<Record<string, unknown>>(sql));
      } finally {
        await store.close();
      }
    };

    it('tells the same of every record, alert and pause after the upgrade', async () => {
      expect(await waybill('migrate')).to.match(/-> 0\n/);
      const before = reworded
        .reduce((all, [from, to]) => all.replaceAll(from, to), fixture('printed.txt'))
        .replaceAll('{service}', sandbox.url)
        .split(/^(?=\$ waybill )/m);
      expect(before).to.have.length.above(15);
      for (const printed of before) {
        const argv = /^\$ waybill (.*) -> /.exec(printed)?.[1]?.split(' ') ?? [];
        const now = await waybill(...argv);
        if (argv.includes('--json')) expectNothingLost(now, printed);
        else if (/group-by|status/.test(printed.slice(0, 60)))
          expect(sortedLines(lasting(now))).to.equal(sortedLines(lasting(printed)));
        else if (argv[0] === 'confirm') expectSameHeld(now, printed);
        else expect(lasting(now)).to.equal(lasting(printed));
      }
    });

    it('goes on: delivers what waited, once, under the keys of before, and captures only what could not be mapped anew', async () => {
      const before = sandbox.ledger().requests.length;
      const keys = new Map(
        (
          await rows(
            "SELECT source_key, idempotency_key FROM outbox_message WHERE entity='order' AND operation='create'",
          )
        ).map((row) => [String(row.source_key), row.idempotency_key]),
      );
      expect(await waybill('resume', 'deliver', '--reason', 'upgraded')).to.match(/-> 0\n/);
      // They wait for an hour between two tries.
      expect(await waybill('outbox', 'retry', '--state', 'in_doubt', '--reason', 'upgraded', '--yes')).to.include(
        '2 messages',
      );
      const runs = [await waybill('sync'), await waybill('sync')];
      // What stands in the way of a row is captured once more, as a fact in the place of a sentence. Nothing of it is sent.
      expect(runs[0]).to.include('Captured 2 orders and 0 customers').and.include('2 parked');
      expect(runs[1]).to.include('Captured 0 orders and 0 customers');
      const open = await rows(`SELECT state, park_class, generation, attempts, reason_code FROM outbox_message
      WHERE source_key IN ('${names.unmapped.id}','${names.conflict.id}') AND state NOT IN ('superseded','delivered')
      ORDER BY source_key`);
      expect(open).to.deep.equal([
        { state: 'parked', park_class: 'conflict', generation: 0, attempts: 0, reason_code: 'key_reused' },
        { state: 'parked', park_class: 'unmapped', generation: 0, attempts: 0, reason_code: 'not_a_number' },
      ]);
      const changes = sandbox
        .ledger()
        .requests.slice(before)
        .filter(({ method }) => method === 'PATCH' || method === 'DELETE');
      expect(changes.map(({ method }) => method)).to.have.members(['PATCH', 'DELETE']);
      const ended = await rows(`SELECT state FROM outbox_message
      WHERE source_key IN ('${names.scan.id}','${names.removal.id}') AND entity='order' AND revision=2`);
      expect(ended).to.deep.equal([{ state: 'delivered' }, { state: 'delivered' }]);
      const created = sandbox
        .ledger()
        .requests.slice(before)
        .filter(({ method, path }) => method === 'POST' && path === '/v1/orders')
        .map((request) => request.idempotency_key);
      const sent = (['doubt', 'lost', 'hung', 'waiting'] as const).map((name) => {
        return keys.get(String(names[name].id));
      });
      expect(created).to.have.members(sent);
      expect(sandbox.counts().duplicateReferences).to.equal(0);
      expect(await waybill('audit', 'verify')).to.include('The audit is whole');
    });
  }),
);
