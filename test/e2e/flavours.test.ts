import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { openApp } from '../../src/app.js';
import { createSampleErp } from '../../src/lab/sample-erp/create-sample-erp.js';
import type { FaultInput } from '../../src/lab/sandbox/fault-plan.js';
import { type Sandbox, startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import { type SyncResult, sync } from '../../src/operator/sync.js';
import { capturingOutput } from '../cli/installation.js';
import { Authority } from '../support/certificates.js';
import { editSampleLine, insertSampleOrder } from '../support/change-sample-erp.js';
import { openSqlite } from '../support/sqlite-file.js';
import { useTempDir } from '../support/temp-dir.js';
import { expectNoSecret } from './expect-no-secret.js';
import { type ErpTables, expectedCustomers, expectedOrders } from './expected-records.js';
import { type Flavour, flavours } from './flavours.js';
import { Installation } from './installation.js';

/** Customers and orders in all, for each flavour. The long form, with a process for each command: WAYBILL_FLAVOUR_RECORDS=300. */
const longForm = process.env.WAYBILL_FLAVOUR_RECORDS;
const records = Number(longForm ?? 30);
const customers = Math.floor(records / 5);
const orders = records - customers;
const longestName = 60;
const longName = 'x'.repeat(longestName + 1);

/** One request of ten goes wrong, in one of ten ways. */
const faults: FaultInput[] = [
  { kind: 'status', status: 500 },
  { kind: 'status', status: 502, effect: 'done' },
  { kind: 'status', status: 503, headers: { 'retry-after': '0' } },
  { kind: 'status', status: 429, headers: { 'retry-after': '0' } },
  { kind: 'reset-before' },
  { kind: 'reset-after-commit' },
  { kind: 'cut-off' },
  { kind: 'cut-off', chunked: true },
  { kind: 'truncated-json' },
  { kind: 'hang', effect: 'done' },
].map((fault) => ({ ...fault, probability: 0.0105 }) as FaultInput);
describe(`services of six flavours, with ${records} customers and orders each`, function () {
  this.timeout(records * 2_000);
  const dir = useTempDir();
  const closing: (() => unknown)[] = [];
  after(async () => {
    for (const close of closing.reverse()) await close();
  });

  it('take each record once and give every invoice back, by configuration alone', async () => {
    const authority = new Authority(dir.file('authority'));
    const served: Served[] = [];
    for (const [i, flavour] of flavours.entries()) {
      const sandbox = await startSandbox({
        seed: i + 1,
        paidShare: 0,
        maxLengths: { name: longestName },
        ...flavour.sandbox(authority),
        echoCredentials: true,
      });
      closing.push(() => sandbox.close());
      const folder = join(dir.path, String(i + 1));
      served.push({ flavour, sandbox, waybill: await install(flavour, sandbox, folder, authority) });
    }
    let ended: PromiseSettledResult<void>[] = [];
    const printed = await capturingOutput(async () => {
      ended = await Promise.allSettled(served.map(serve));
      return 0;
    });
    for (const one of ended) if (one.status === 'rejected') throw one.reason;
    const said = printed.stdout + printed.stderr;
    expect(said).to.include('will be tried again');
    expectNoSecret('the log', said);
    if (longForm) for (const one of served) console.log(figures(one));
  });
});

interface Served {
  flavour: Flavour;
  sandbox: Sandbox;
  waybill: Installation;
}

async function install({ service, invoices }: Flavour, sandbox: Sandbox, folder: string, authority: Authority) {
  const erp = { type: 'sqlite' as const, file: join(folder, 'erp.sqlite') };
  mkdirSync(folder, { recursive: true });
  await createSampleErp({ target: erp, customers, orders });
  const waybill = new Installation({
    folder,
    serviceUrl: sandbox.url,
    erp,
    store: { type: 'sqlite' },
    settings: {
      delivery: { backoffBaseSeconds: 0.1, backoffMaxSeconds: 0.5, probeSeconds: 0.3, outageAfterFailures: 10 },
      log: { level: 'debug' },
      service: {
        environment: 'sandbox',
        baseUrl: sandbox.url,
        // Far longer than an answer takes where six processes share a machine.
        deadlineSeconds: longForm ? 6 : 1.5,
        ...service(folder, authority, sandbox.url),
      },
      invoices: invoices ?? {},
    },
  });
  delete waybill.env.WAYBILL_SERVICE_TOKEN;
  return waybill;
}

/** One pass of everything: as a process of its own in the long form, else in this one. */
async function syncOnce(waybill: Installation, key?: string): Promise<SyncResult> {
  if (longForm) {
    const { stdout, stderr } = await waybill.run('sync', '--json', ...(key ? ['--key', key] : []));
    process.stderr.write(stdout + stderr);
    return JSON.parse(stdout);
  }
  const app = await openApp({ configDir: waybill.configDir, role: 'sync', log: 'stderr' });
  try {
    const partners = { reader: await app.reader(), client: app.client };
    return await sync(app.context, partners, {
      stages: ['capture', 'deliver', 'pull'],
      ...(key ? { filter: { entity: 'order', keys: [key] } } : {}),
    });
  } finally {
    await app.close();
  }
}

async function serve({ flavour: { name }, sandbox, waybill }: Served): Promise<void> {
  const erpFile = join(waybill.options.folder, 'erp.sqlite');
  const target = { type: 'sqlite' as const, file: erpFile };
  const inErp = (sql: string, ...values: unknown[]) => query(erpFile, sql, ...values);

  // One customer is refused, before anything is lost: a refusal after a lost answer proves nothing and waits for a person.
  const [first] = inErp("SELECT id, customer_id FROM sales_orders WHERE status='confirmed' AND currency='EUR'");
  inErp('UPDATE customers SET name=? WHERE id=?', longName, first?.customer_id);
  await syncOnce(waybill, String(first?.id));
  const parked = query(
    waybill.storeFile,
    "SELECT park_class, reason_code, reason_data FROM outbox_message WHERE state='parked'",
  );
  expect(
    parked.map((one) => one.park_class),
    name + JSON.stringify(parked),
  ).to.deep.equal(['refused']);
  expect(parked[0]?.reason_data, name).to.include('name is longer than 60');

  sandbox.setFaults(faults);
  await syncOnce(waybill);
  expect(sandbox.counts().orders, name).to.be.within(1, orders - 1);

  inErp('UPDATE customers SET name=? WHERE id=?', 'Corrected & Sons', first?.customer_id);
  inErp("UPDATE customers SET city='Neu-Ulm' WHERE id%3=0");
  for (let id = 5; id < orders; id += 5) await editSampleLine(target, id, 1, 17);
  await insertSampleOrder(target, { time: '2026-06-01 10:00:00.000000' });
  for (let tries = 1; ; tries++) {
    const { open, pull } = await syncOnce(waybill);
    if (open === 0 && pull?.outcome === 'proven') break;
    if (tries === 8)
      throw new Error(`${name}: ${open} are open after ${tries} passes, and the pull was ${pull?.reason}`);
  }

  const ledger = sandbox.ledger();
  expect(ledger.duplicates, name).to.deep.equal([]);
  expect(ledger.counts.throttled, name).to.equal(0);
  const tables: ErpTables = { query: async (sql) => inErp(sql) };
  const wanted = await expectedOrders(tables);
  expect(ledger.orders, name)
    .to.have.length(wanted.size)
    .and.length(orders + 1);
  for (const { reference, record, total } of ledger.orders)
    expect({ ...record, total }, name).to.deep.equal(wanted.get(reference as string));
  const atService = new Map(ledger.customers.map((one) => [one.customer_code, one.record]));
  expect(atService, name).to.deep.equal(await expectedCustomers(tables));

  const invoices = query(waybill.storeFile, 'SELECT customer_code, amount FROM invoice WHERE unlisted_at IS NULL');
  const due = ledger.orders.map(({ record, total }) => `${record.customer_code} ${total}`);
  expect(invoices.map((one) => `${one.customer_code} ${one.amount}`).sort(), name).to.deep.equal(due.sort());

  // Whoever is not let in is shown what he came with.
  sandbox.clearFaults();
  sandbox.change({ forbidden: true });
  await insertSampleOrder(target, { time: '2026-06-01 11:00:00.000000' });
  const { pull } = await syncOnce(waybill);
  expect(JSON.stringify(pull?.reason), name).to.include('This account may not do that');
  const { folder } = waybill.options;
  for (const file of readdirSync(folder).filter((one) => one.startsWith('waybill.sqlite')))
    expectNoSecret(`${name}: ${file}`, readFileSync(join(folder, file)).toString('latin1'));
}

function query(file: string, sql: string, ...values: unknown[]): Record<string, string | number | null>[] {
  const database = openSqlite(file);
  try {
    const statement = database.prepare(sql);
    if (statement.reader) return statement.all(...values) as Record<string, string | number | null>[];
    statement.run(...values);
    return [];
  } finally {
    database.close();
  }
}

function figures({ flavour, sandbox }: Served): string {
  const { requests, counts } = sandbox.ledger();
  const hit = requests.filter(({ fault }) => fault !== null).length;
  return (
    `      ${flavour.name}: ${counts.customers} customers, ${counts.orders} orders, ${counts.invoices} invoices, ` +
    `${requests.length} requests, ${hit} of them faulty, ${counts.duplicateReferences} references twice`
  );
}
