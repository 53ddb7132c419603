import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Command } from 'commander';
import { parse, stringify } from 'yaml';
import { allCommands } from '../../src/cli/run.js';
import { insertEvent } from '../../src/inbound/webhooks/webhook-rows.js';
import { legacy } from '../../src/model/facts/fact.js';
import { outside } from '../../src/model/outside.js';
import { insertAdoptions } from '../../src/outbound/outbox/adoptions.js';
import { raiseAlert } from '../../src/store/alerts.js';
import { pauseLane } from '../../src/store/lane-pauses.js';
import { forged as forgedState } from '../support/forged.js';
import { projectRoot } from '../support/project-root.js';
import { openSqlite } from '../support/sqlite-file.js';
import { answers, type Installation, onAnyStore, tokenCanary } from './installation.js';

/** Clears the screen, in two ways; turns the line around; begins lines that look like ours. */
const hostile = 'X\u001b[2J\u009b2J\u200f\u202e\u2066\u2028\u2029\u0085\r\nWhat you can do:\tforged';
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
const raw = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;
const forged = /^What you can do:.*forged/m;

/** The ERP of an unknown schema, with its tables and its buyer. */
const unknownErp = [
  ...['--type', 'sqlite', '--file', 'ERP', '--orders-table', 'sales_order', '--lines-table', 'sales_order_line'],
  ...['--customers-table', 'customer', '--column', 'order.customer=customer_id'],
];

/** Every command with what makes it say what it knows of the hostile records. */
const calls: Record<string, readonly string[][]> = {
  init: [
    ['--type', 'sqlite', '--file', 'ERP', '--time-zone', 'UTC', '--start-from', 'all', '--yes'],
    [...unknownErp, '--yes'],
    [...unknownErp, '--orders-with', `note=${hostile}?`, '--yes'],
    [
      ...[...unknownErp, '--time-zone', 'UTC', '--start-from', 'all', '--yes', '--column', 'line.qty=qty'],
      ...['--column', 'line.price=price', '--orders-with', 'none'],
      ...['--status', 'all', '--currency', 'EUR', '--text-lines', 'skip', '--installation', 'hostile'],
    ],
    ['--type', 'sqlite', '--file', 'ERP', '--time-zone', hostile, '--yes'],
    ['--type', 'sqlite', '--file', 'ERP', '--orders-table', hostile, '--yes'],
    ['--type', 'sqlite', '--file', hostile, '--yes'],
  ],
  preview: [[], ['--all'], ['--key', hostile], ['--key', `${hostile}?`]],
  doctor: [[]],
  sync: [['capture', '--dry-run'], ['capture', '--dry-run', '--key', hostile], ['capture'], ['pull', '--dry-run']],
  resync: [
    ['orders', '--plan'],
    ['orders', '--dry-run', '--key', hostile],
    ['orders', '--from', hostile],
  ],
  reconcile: [
    ['customers', '--again', '--csv', '-'],
    ['orders', '--from', hostile],
    ['orders', '--month', hostile],
    ['orders', '--repair', '--reason', hostile],
    ['orders', '--repair', '--reason', hostile, '--list', hostile, '--yes'],
    ['orders', '--repair', '--reason', hostile, '--csv', 'REPORT'],
    ['orders', '--repair', '--reason', hostile, '--month', '2026-11', '--report', 'REPORT'],
    ['orders', '--again'],
  ],
  'go-live': [['--dry-run'], ['--standby', '--reason', hostile]],
  pause: [['pull', '--reason', hostile]],
  resume: [['pull', '--reason', hostile]],
  confirm: [
    ['--dry-run'],
    ['orders', '--dry-run', '--key', hostile],
    ['invoices', '--dry-run'],
    ['orders', '--reason', hostile],
  ],
  outbox: [[], ['--group-by', 'reason'], ['--state', 'parked'], ['--key', hostile], ['--reason-like', hostile]],
  'outbox retry': [['--state', 'parked', '--reason', hostile]],
  'outbox discard': [['--key', hostile, '--reason', hostile]],
  'outbox resolve': [
    ['--delivered', '--entity', 'order', '--file', 'LIST', '--reason', hostile, '--yes'],
    ['--look-up', '--key', hostile, '--reason', hostile],
  ],
  explain: [
    ['order', hostile],
    ['order', '4711'],
    ['order', 'twice'],
    ['order', `${hostile}?`],
    ['customer', hostile],
  ],
  forget: [
    ['customer', hostile, '--reason', hostile],
    ['customer', 'twice', '--reason', hostile],
  ],
  audit: [['--limit', '500'], ['--csv'], ['--since', hostile], ['--since', tokenCanary], ['--outcome', hostile]],
  'audit verify': [[], ['--heads', 'LIST']],
  'audit head': [[]],
  'audit export': [['FILE']],
  invoices: [[], ['--left'], ['--malformed']],
  webhooks: [[]],
  status: [[], ['--check']],
  recover: [['--dry-run'], ['--dry-run', '--sent-since', hostile]],
  rekey: [
    ['orders', '--dry-run'],
    ['customers', '--same', '--dry-run'],
    ['orders', hostile, '4711', '--dry-run'],
    ['orders', '4711', hostile, '--yes'],
  ],
  adopt: [['orders', '--file', 'LIST', '--dry-run']],
  'bindings adopted': [[], ['--open']],
  'bindings export': [['FILE']],
  'bindings move': [['order', hostile, '--from', hostile, '--to', hostile, '--reason', hostile, '--yes']],
  'erp side-tables': [['--from', hostile]],
  'erp write-again': [[]],
  probe: [
    ['--sandbox', hostile],
    ['--customer', hostile],
    ['--prefix', hostile],
  ],
  'desk user': [
    [hostile, '--role', 'read'],
    ['anna', '--role', hostile],
  ],
  'desk token': [[hostile, '--role', 'read']],
  backup: [['LIST']],
  migrate: [[]],
  sandbox: [
    ['--port', hostile],
    ['--customers', hostile],
  ],
  demo: [['--orders', hostile]],
  daemon: [[hostile]],
  completion: [['bash'], [hostile]],
  man: [[], [hostile]],
};

function leaves(command: Command, path = ''): string[] {
  const name = `${path}${command.name()}`;
  const below = command.commands.flatMap((one) => leaves(one, `${name} `));
  return below.length > 0 && !['outbox', 'audit'].includes(name) ? below : [name, ...below];
}

describe('text from outside, on every command', () => {
  it('is tried with all of them', async () => {
    expect(Object.keys(calls).sort()).to.deep.equal((await allCommands()).flatMap((one) => leaves(one)).sort());
  });

  it('has one way to stdout and stderr', () => {
    const sources = readdirSync(join(projectRoot, 'src'), { recursive: true, encoding: 'utf8' });
    const writers = sources.filter(
      (file) =>
        /\.tsx?$/.test(file) &&
        /process\.std(out|err)|console\.|createInterface\([^)]*output/.test(
          readFileSync(join(projectRoot, 'src', file), 'utf8'),
        ),
    );
    // A copy of the store, byte by byte, is for a file alone: a terminal is refused. The bar is made of our own words and
    // numbers. A daemon's lines are all lines of its log.
    expect(writers.sort()).to.deep.equal([
      'cli/given-file.ts',
      'cli/terminal/progress-bar.ts',
      'cli/terminal/streams.ts',
      'ops/printed-lines.ts',
    ]);
  });

  it('reaches no stream out of an error that nothing caught, which still ends the program', function () {
    this.timeout(40_000);
    const late = `setInterval(() => {
      if (process.listenerCount('uncaughtException') > 0) throw new RangeError(${JSON.stringify(hostile)});
    }, 10);`;
    const { status, stderr } = spawnSync(
      process.execPath,
      ['--import', `data:text/javascript,${encodeURIComponent(late)}`, join(projectRoot, 'dist/src/main.js'), '--help'],
      { encoding: 'utf8', timeout: 30_000 },
    );
    expect(status).to.equal(1);
    expect(stderr).to.not.match(raw).and.not.match(forged);
    expect(stderr).to.match(/^waybill: RangeError: X\\u001b\[2J.*\n +at /);
  });

  onAnyStore((installation) => {
    it('reaches no stream out of wrong settings, and begins no line there', async () => {
      const file = join(installation.configDir, 'local.yaml');
      const settings = parse(readFileSync(file, 'utf8'));
      writeFileSync(file, stringify({ ...settings, amounts: { currency: hostile }, [hostile]: hostile }));
      const { code, stderr } = await installation.waybill('status');
      expect(code).to.equal(2);
      expect(stderr).to.not.match(raw).and.not.match(forged);
      expect(stderr).to.match(/^waybill: The configuration in .* has 2 problems:\n\n {2}\S/);
    });

    for (const [name, lines] of Object.entries(calls))
      it(`reaches no stream of ${name} as it came`, async () => {
        await fill(installation);
        const list = join(installation.configDir, 'list.csv');
        writeFileSync(list, `key;id\n"${hostile}";"id-1"\n"${hostile}";"id-2"\n"4711";"${hostile}"\n`);
        const files: Record<string, string> = {
          LIST: list,
          FILE: join(installation.configDir, hostile),
          REPORT: join(installation.configDir, 'report'),
          ERP: hostileErp(join(installation.configDir, 'unknown.sqlite')),
        };
        const isJson = ![
          'pause',
          'resume',
          'migrate',
          'daemon',
          'desk user',
          'desk token',
          'completion',
          'man',
        ].includes(name);
        for (const line of lines)
          for (const more of isJson && !line.includes('--csv') ? [[], ['--json']] : [[]]) {
            if (name === 'init') rmSync(join(installation.configDir, 'local.yaml'), { force: true });
            const argv = [...name.split(' '), ...line.map((part) => files[part] ?? part), ...more];
            const { stdout, stderr } = await installation.waybill(...argv);
            const said = `${argv.join(' ')}\n${stdout}\n${stderr}`;
            expect(stdout, said).to.not.match(raw).and.not.match(forged);
            expect(stderr, said).to.not.match(raw).and.not.match(forged);
            if (more.length > 0 && stdout !== '') expect(() => JSON.parse(stdout), said).to.not.throw();
          }
      });
  });
});

/** An ERP of an unknown schema, whose columns, states and currencies are hostile as well. */
function hostileErp(file: string): string {
  const database = openSqlite(file);
  const quoted = `"${hostile}"`;
  database.exec(`
    CREATE TABLE customer (id INTEGER PRIMARY KEY, code TEXT, name TEXT, ${quoted} TEXT);
    CREATE TABLE sales_order (id INTEGER PRIMARY KEY, order_no TEXT, customer_id INTEGER REFERENCES customer (id), status TEXT,
      currency TEXT, total DECIMAL(12,2), created_at TEXT, updated_at TEXT, note TEXT);
    CREATE TABLE sales_order_line (id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES sales_order (id), sku TEXT, qty INTEGER, price DECIMAL(12,2));`);
  const add = (table: string, ...values: (string | number)[]) =>
    database.prepare(`INSERT INTO ${table} VALUES (${values.map(() => '?').join()})`).run(...values);
  add('customer', 1, hostile, hostile, hostile);
  const at = '2026-11-02 08:00:00';
  for (let id = 1; id <= 6; id++) {
    const state = id % 2 === 0 ? hostile : `${hostile}2`;
    add('sales_order', id, `${hostile}${id}`, 1, state, id < 6 ? 'EUR' : hostile, '12.50', at, at, state);
    add('sales_order_line', id, id, hostile, 2, '6.25');
  }
  database.close();
  return file;
}

/** An ERP and a store whose every text is hostile. */
async function fill({ app, configDir, capture, deliver }: Installation): Promise<void> {
  const database = openSqlite(join(configDir, 'erp.sqlite'));
  database.exec(`
    CREATE TABLE customers (id TEXT PRIMARY KEY, code TEXT);
    CREATE TABLE orders (id TEXT PRIMARY KEY, order_no TEXT, customer_id TEXT, created_at TEXT);
    CREATE TABLE lines (order_id TEXT, line_no INTEGER, sku TEXT, quantity INTEGER, unit_price TEXT);`);
  const add = (sql: string, ...values: string[]) => database.prepare(sql).run(...values);
  add("INSERT INTO customers VALUES (?, ?), ('other', NULL)", hostile, hostile);
  add("INSERT INTO orders VALUES (?, ?, ?, '2026-11-02')", hostile, hostile, hostile);
  add("INSERT INTO orders VALUES ('bad', ?, 'other', '2026-11-02')", hostile);
  add("INSERT INTO lines VALUES (?, 1, ?, 1, '12.50'), ('bad', 1, 'A', 1, ?)", hostile, hostile, hostile);
  database.close();

  await capture(
    { entity: 'order', sourceKey: '4711', number: hostile },
    { entity: 'customer', sourceKey: hostile, number: 'twice' },
    { entity: 'customer', sourceKey: `${hostile}2`, number: 'twice' },
    { entity: 'order', sourceKey: `${hostile}2`, number: 'twice', unmapped: hostile },
    { entity: 'order', sourceKey: `${hostile}3`, number: 'twice' },
  );
  await deliver((request) =>
    request.body.includes(`"${'SO-4711'}"`) ? answers.created(hostile) : answers.refused(hostile),
  );
  await capture({
    entity: 'order',
    sourceKey: '4711',
    number: hostile,
    operation: 'update',
    revision: 2,
    record: { customer_code: hostile, items: [], [hostile]: hostile },
  });
  await app.store.transaction('arrange a test', async (tx) => {
    await tx.run(
      `UPDATE outbox_message SET ${forgedState.parked}, park_class='held', reason_code='legacy', reason_data=? WHERE operation='update'`,
      [JSON.stringify({ text: { outside: hostile } })],
    );
    const invoice = `INSERT INTO invoice (invoice_no, customer_code, amount, due_date, status, first_listed_at,
      last_listed_at, unlisted_at, left_status, drop_held_at) VALUES (?,?,7,'2026-12-01',?,1,1,?,?,?)`;
    await tx.run(invoice, [hostile, hostile, hostile.slice(0, 60), null, null, 2]);
    await tx.run(invoice, [`${hostile}2`, hostile, hostile.slice(0, 60), 3, hostile.slice(0, 60), null]);
    await tx.run(
      "INSERT INTO invoice_malformed (list_kind, list_customer, list_state, row_key, invoice_no, reason_code, reason_data, since_at) VALUES ('all','','unpaid','k',?,'legacy',?,1)",
      [hostile, JSON.stringify({ text: { outside: hostile } })],
    );
    await tx.run(
      `INSERT INTO reconciliation (subject, asks, state, phase, tally, actor, started_at, progress_at, ended_at)
       VALUES ('orders','{"from":null,"to":null,"fromMs":null,"toMs":null}','done','ended',?,?,1,1,?)`,
      [
        `{"read":1,"same":0,"found":{"missing":0,"different":1,"extra":0,"unjudged":0},"shown":[],"unshown":{${JSON.stringify(hostile)}:1},"total":1,"filtered":1,"requests":1,"proof":null}`,
        hostile,
        Date.now(),
      ],
    );
    const runId = await tx.value<number>('SELECT MAX(id) FROM reconciliation');
    await tx.run(
      `INSERT INTO reconcile_finding (run_id, kind, cause, entity, source_key, number, service_id, reason_code, reason_data, fields, currency)
       VALUES (?,'different','changed','order',?,?,?,'legacy',?,?,?)`,
      [
        runId ?? 0,
        hostile,
        hostile,
        hostile,
        JSON.stringify({ text: { outside: hostile } }),
        JSON.stringify([{ field: hostile, erp: hostile, service: hostile }]),
        hostile.slice(0, 16),
      ],
    );
    await insertEvent(tx, { id: hostile, type: hostile, about: 'invoice', subject: hostile }, 1_700_000_000_000);
    await insertAdoptions(
      tx,
      [
        {
          entity: 'customer',
          sourceKey: hostile,
          serviceId: hostile,
          from: 'file',
          actor: hostile,
          differs: [hostile],
        },
      ],
      1,
    );
    await raiseAlert(
      tx,
      `redis.${hostile.slice(0, 54)}`,
      { code: 'redis_away', node: hostile, reason: outside(hostile) },
      1,
    );
    await pauseLane(tx, {
      lane: 'deliver',
      cause: 'misconfigured',
      until_at: null,
      reason: legacy(hostile),
      actor: hostile,
      since_at: 1,
    });
  });
}
