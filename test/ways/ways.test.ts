import { EventEmitter, once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { readAnnounced } from '../../src/inbound/webhooks/read-announced.js';
import { receiveWebhooks } from '../../src/inbound/webhooks/receive-webhooks.js';
import { createSampleErp } from '../../src/lab/sample-erp/create-sample-erp.js';
import { startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import { KnownSecrets } from '../../src/model/secret.js';
import { deliver } from '../../src/outbound/deliver/deliver.js';
import type { ServiceLease } from '../../src/outbound/deliver/service-lease.js';
import { Browser, deskSettings, openDesk } from '../desk/desk-client.js';
import { park } from '../desk/parked-message.js';
import { eventually, Installation } from '../e2e/installation.js';
import { standardSecret } from '../inbound/webhooks/sign.js';
import { useStore } from '../store/stores.js';
import { insertSampleOrder } from '../support/change-sample-erp.js';
import { ExecutedFiles } from '../support/executed-files.js';
import { type Lab, useLab, withServiceLease } from '../support/jobs/job-lab.js';
import { projectRoot } from '../support/project-root.js';
import { openSqlite } from '../support/sqlite-file.js';
import { useTempDir } from '../support/temp-dir.js';

/** Headings in docs/architecture.md. */
const order = 'An order, from its ERP row to its acknowledgement';
const tooMany = 'A 429, from the answer to the pause';
const stop = 'A SIGTERM, from the signal to the end';
const invoicePage = 'A page of invoices, from the schedule to the list';
const deskAction = 'An action at the desk, from the button to the outbox';
const webhook = 'A webhook, from the notice to the list';

/** The files that docs/architecture.md lists under a heading, in its order. */
function listed(heading: string): string[] {
  const page = readFileSync(join(projectRoot, 'docs/architecture.md'), 'utf8');
  const section = page.split(`### ${heading}\n`)[1]?.split(/^#/m)[0] ?? '';
  return [...section.matchAll(/\]\(\.\.\/src\/([^)]+)\)/g)].map(([, file]) => file as string);
}

function expectWay(heading: string, executed: readonly string[]): void {
  const files = listed(heading);
  expect(files, `the list under "${heading}" in docs/architecture.md`).to.not.be.empty;
  expect(new Set(files).size, 'a file is listed twice').to.equal(files.length);
  expect(files.filter((file) => !existsSync(join(projectRoot, 'src', file)))).to.deep.equal([]);
  expect(
    files.filter((file) => !executed.includes(file.replace(/\.tsx$/, '.ts'))),
    `listed, but not executed; executed: ${executed.join(' ')}`,
  ).to.deep.equal([]);
}

describe('the ways in docs/architecture.md', () => {
  const kit = useLab(useStore('sqlite'));
  const dir = useTempDir();
  const deliverAll = (lab: Lab, lease: ServiceLease, retryHorizonMs: number) =>
    deliver(lab.context, lab.client, lease, {
      untilDrained: true,
      scope: { only: null },
      retryHorizonMs,
      trial: false,
      erp: lab.reader,
    });
  let executed: ExecutedFiles;
  beforeEach(() => {
    executed = new ExecutedFiles();
  });
  afterEach(() => executed.end());

  it('are the way of an order', async () => {
    const lab = await kit.start({ orders: 4, customers: 1 });
    await withServiceLease(lab.context, async (lease) => {
      await lab.capture();
      await deliverAll(lab, lease, 20_000);
      await insertSampleOrder(lab.erp);
      executed.reset();
      await lab.capture();
      const { delivered } = await deliverAll(lab, lease, 20_000);
      expect(delivered.orders).to.equal(1);
    });
    expectWay(order, executed.take());
  });

  it('are the way of a 429', async () => {
    const service = createServer((_request, response) => {
      executed.reset();
      response.writeHead(429, { 'content-type': 'application/json' }).end('{}');
    });
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
    const { port } = service.address() as AddressInfo;
    const first = await kit.start({ orders: 1, customers: 1 });
    const lab = first.another({ settings: { service: { baseUrl: `http://127.0.0.1:${port}` } } });
    await lab.capture();
    const { store } = lab.context;
    const transaction = store.transaction.bind(store);
    let files: string[] = [];
    store.transaction = async (action, work) => {
      const done = await transaction(action, work);
      const pauses = await kit.rows('SELECT cause FROM lane_pause');
      if (pauses.length > 0 && files.length === 0) files = executed.take();
      return done;
    };
    await withServiceLease(lab.context, (lease) => deliverAll(lab, lease, 0));
    service.close();
    expectWay(tooMany, files);
  });

  it('are the way of a page of invoices', async () => {
    const lab = await kit.start({ orders: 1, customers: 1 });
    lab.sandbox.addInvoices([{ amount: 100 }]);
    executed.reset();
    expect((await lab.pull()).outcome).to.equal('proven');
    expectWay(invoicePage, executed.take());
  });

  it('are the way of an action at the desk', async () => {
    const lab = await kit.start({ orders: 1, customers: 1, settings: await deskSettings(kit.folder) });
    await park(lab, '1001', 'refused');
    const desk = await openDesk(lab);
    const anna = new Browser(desk.url);
    const csrf = await anna.signIn('anna');
    executed.reset();
    const preview = await anna.open('act?action=retry&entity=order&key=1001');
    const path = (preview.headers.location ?? '').slice(1);
    await anna.open(path);
    expect((await anna.post(path, { csrf, reason: 'the sku was added' })).status).to.equal(303);
    const files = executed.take();
    await desk.close();
    expect(await kit.rows("SELECT state FROM outbox_message WHERE source_key='1001'")).to.deep.equal([
      { state: 'pending' },
    ]);
    expectWay(deskAction, files);
  });

  it('are the way of a webhook', async () => {
    const secretFile = join(kit.folder, 'webhook-secret');
    writeFileSync(secretFile, standardSecret, { mode: 0o600 });
    const lab = await kit.start({
      orders: 1,
      customers: 1,
      settings: {
        service: { endpoints: { readInvoice: { path: '/v2/invoices/{invoice_no}' } } },
        webhooks: { enabled: true, port: 0, secretFiles: [secretFile] },
      },
    });
    lab.sandbox.addInvoices([{ invoice_no: 'I-1', amount: 100 }]);
    await lab.pull();
    const bell = new EventEmitter();
    const receiver = await receiveWebhooks(lab.context, {
      knownSecrets: new KnownSecrets(),
      onEvent: () => bell.emit('event'),
    });
    const url = `http://127.0.0.1:${receiver.port}/webhooks`;
    lab.sandbox.change({ webhooks: { url, scheme: 'standard', secret: standardSecret } });
    executed.reset();
    const heard = once(bell, 'event');
    lab.sandbox.payInvoice('I-1');
    await heard;
    await withServiceLease(lab.context, (lease) => readAnnounced(lab.context, lab.client, lease));
    const files = executed.take();
    await receiver.close();
    expect(await kit.rows('SELECT left_status FROM invoice')).to.deep.equal([{ left_status: 'paid' }]);
    expectWay(webhook, files);
  });

  it('are the way of a SIGTERM', async function () {
    this.timeout(120_000);
    const file = dir.file('erp.sqlite');
    await createSampleErp({ target: { type: 'sqlite', file }, customers: 2, orders: 3 });
    const sandbox = await startSandbox({ token: 'sandbox-token' });
    const waybill = new Installation({
      folder: dir.path,
      serviceUrl: sandbox.url,
      erp: { type: 'sqlite', file },
      store: { type: 'sqlite' },
      token: 'sandbox-token',
      nodeFlags: ['--import', pathToFileURL(join(projectRoot, 'dist/test/ways/trace-signal.js')).href],
    });
    const output = dir.file('executed.json');
    waybill.env.WAYS_OUTPUT = output;
    const daemon = waybill.daemon();
    await eventually(
      'everything is delivered, and on record',
      () => {
        if (sandbox.counts().orders === 0) return false;
        const store = openSqlite(waybill.storeFile, { readonly: true });
        const open = store.prepare(
          "SELECT COUNT(*) AS n FROM outbox_message WHERE state NOT IN ('delivered', 'parked')",
        );
        const { n } = open.get() as { n: number };
        store.close();
        return n === 0;
      },
      60_000,
    );
    daemon.kill('SIGTERM');
    expect(await daemon.ended).to.equal(0);
    await sandbox.close();
    expectWay(stop, JSON.parse(readFileSync(output, 'utf8')));
  });
});
