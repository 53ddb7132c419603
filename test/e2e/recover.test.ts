import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { createSampleErp, sampleErpMapping } from '../../src/lab/sample-erp/create-sample-erp.js';
import type { SandboxOptions } from '../../src/lab/sandbox/options.js';
import { type Sandbox, startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import { sandboxLookUps } from '../support/sandbox-look-ups.js';
import { rewriteSealed } from '../support/sealed-file.js';
import { openSqlite, type SqliteFile } from '../support/sqlite-file.js';
import { useTempDir } from '../support/temp-dir.js';
import { canary, Installation } from './installation.js';

const anHourAgo = new Date(Date.now() - 3_600_000).toISOString();
const orders = 30;
const customers = 5;

describe('waybill recover', function () {
  this.timeout(300_000);
  const dir = useTempDir();
  let sandbox: Sandbox;
  let waybill: Installation;
  let number = 0;

  const begin = async (
    service: Record<string, unknown> = {},
    options: Partial<SandboxOptions> = {},
    settings: Record<string, unknown> = {},
  ) => {
    const folder = dir.file(`run-${++number}`);
    sandbox = await startSandbox({ token: canary.token, ...options });
    waybill = new Installation({
      folder,
      serviceUrl: sandbox.url,
      erp: { type: 'sqlite', file: `${folder}/erp.sqlite` },
      store: { type: 'sqlite' },
      settings: { ...settings, service: { environment: 'sandbox', baseUrl: sandbox.url, ...service } },
    });
    await createSampleErp({ target: { type: 'sqlite', file: `${folder}/erp.sqlite` }, customers, orders });
    expect((await waybill.run('sync')).code).to.equal(0);
  };
  afterEach(() => sandbox.close());

  const loseStore = () => {
    for (const end of ['', '-wal', '-shm']) rmSync(waybill.storeFile + end, { force: true });
  };
  const onStore = <T>(work: (database: SqliteFile) => T): T => {
    const database = openSqlite(waybill.storeFile);
    try {
      return work(database);
    } finally {
      database.close();
    }
  };
  const bindings = () =>
    onStore((database) =>
      database.prepare('SELECT entity, source_key, service_id FROM binding ORDER BY entity, source_key').all(),
    );
  const inErp = (sql: string) => {
    const database = openSqlite(`${waybill.options.folder}/erp.sqlite`);
    database.exec(sql);
    database.close();
  };
  const fromErp = (sql: string): unknown[] => {
    const database = openSqlite(`${waybill.options.folder}/erp.sqlite`);
    try {
      return database.prepare(sql).all();
    } finally {
      database.close();
    }
  };
  const writes = () => sandbox.ledger().requests.filter(({ method }) => method !== 'GET').length;
  const onlyOnce = (count = orders) =>
    expect(sandbox.counts()).to.include({ orders: count, customers, duplicateReferences: 0 });

  it('has nothing to do on a first run, and on a store that is the newest', async () => {
    await begin();
    const run = await waybill.run('recover', '--yes', '--json');
    expect(run.code).to.equal(0);
    expect(JSON.parse(run.stdout)).to.deep.equal({ environment: 'sandbox', hold: null });
  });

  it('without any proof parks what may exist, so that nothing is made twice', async () => {
    await begin({}, { keyLifetimeMs: 1 });
    loseStore();
    const before = writes();
    expect((await waybill.run('sync')).code).to.equal(3);
    const run = await waybill.run('recover', '--yes', '--reason', 'disk replaced', '--json');
    expect(run.code).to.equal(3);
    expect(JSON.parse(run.stdout)).to.include({ unbound: orders + customers, to: 'parked' });
    expect((await waybill.run('sync')).code).to.equal(0);
    const open = onStore((database) =>
      database.prepare('SELECT state, park_class, COUNT(*) AS n FROM outbox_message GROUP BY 1, 2').all(),
    );
    expect(open).to.deep.equal([{ state: 'parked', park_class: 'unproven', n: orders + customers }]);
    expect(writes()).to.equal(before);

    // An edit is no new create, and waits until a person has said what is there.
    inErp("UPDATE customers SET name='Renamed' WHERE id=1");
    expect((await waybill.run('sync')).stdout).to.contain('1 wait for their next try');
    expect(writes()).to.equal(before);
    const found = ['--entity', 'customer', '--key', '1', '--delivered', '--reason', 'found by its code', '--yes'];
    expect((await waybill.run('outbox', 'resolve', ...found)).stderr).to.equal('');
    await waybill.run('sync');
    expect(writes()).to.equal(before + 1);
    expect(sandbox.ledger().customers.filter(({ record }) => record.name === 'Renamed')).to.have.length(1);
    onlyOnce();
  });

  it('refuses to send again what the service may have forgotten', async () => {
    await begin();
    loseStore();
    const since = new Date(Date.now() - 25 * 3_600_000).toISOString();
    const run = await waybill.run('recover', '--from-service', '--sent-since', since, '--yes');
    expect(run.code).to.equal(2);
    expect(run.stderr).to.contain('longer ago than the service remembers a key');
    writeFileSync(
      `${waybill.configDir}/local.yaml`,
      readFileSync(`${waybill.configDir}/local.yaml`, 'utf8').replace('"lifetimeHours": 24', ''),
    );
    const unknown = await waybill.run('recover', '--from-service', '--sent-since', anHourAgo, '--yes');
    expect(unknown.code).to.equal(2);
    expect(unknown.stderr).to.contain('(service.idempotency.lifetimeHours: not set)');
  });

  it('gets every binding back from an export, and sends every record once as an update', async () => {
    await begin({}, { keyLifetimeMs: 1 });
    const before = bindings();
    const file = `${waybill.options.folder}/bindings.jsonl`;
    const exported = await waybill.run('bindings', 'export', file, '--json');
    expect(exported.stderr).to.equal('');
    expect(JSON.parse(exported.stdout).bindings).to.equal(orders + customers);
    expect((await waybill.run('bindings', 'export', file)).code, 'never over another file').to.equal(2);

    loseStore();
    inErp("UPDATE customers SET name='Renamed' WHERE id=1");
    // Captured before anybody said recover: as new, because this store knows nothing.
    expect((await waybill.run('sync')).code).to.equal(3);
    const dry = await waybill.run('recover', '--bindings', file, '--dry-run');
    expect(dry.stdout).to.contain(`the ${orders + customers} records in ${file} are bound again`);
    const run = await waybill.run('recover', '--bindings', file, '--yes', '--json');
    expect(run.stderr).to.equal('');
    expect(run.code).to.equal(0);
    expect(JSON.parse(run.stdout)).to.include({ unbound: 0 });
    expect((await waybill.run('sync')).code).to.equal(0);
    expect(bindings()).to.deep.equal(before);
    onlyOnce();
    // The lost store may have sent changes after the export that were taken back since.
    const patches = sandbox.ledger().requests.filter(({ method }) => method === 'PATCH');
    expect(new Set(patches.map(({ path }) => path)).size).to.equal(orders + customers);
    expect(patches).to.have.length(orders + customers);
    expect(sandbox.ledger().customers.filter(({ record }) => record.name === 'Renamed')).to.have.length(1);
  });

  it('exports the bindings of the configuration that is named, wherever it is typed', async () => {
    await begin();
    const file = `${waybill.options.folder}/bindings.jsonl`;
    const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
    const args = [main, 'bindings', 'export', file, '--config', waybill.configDir];
    execFileSync(process.execPath, args, { cwd: dir.file('.'), env: waybill.env });
    expect(readFileSync(file, 'utf8').trim().split('\n')).to.have.length.at.least(orders + customers);
  });

  it('exports every binding or says that it could not, and takes nothing from a file that was cut', async () => {
    await begin();
    const { folder } = waybill.options;
    const file = `${folder}/bindings.jsonl`;
    const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
    const args = [main, 'bindings', 'export', file, '--config', waybill.configDir];
    onStore((database) => database.exec(`UPDATE binding SET acknowledged='{"note":"${'x'.repeat(2_000)}"}'`));
    // As on a full disk: no file grows beyond 40 KiB, which is enough for all but this one.
    const limited = ['-c', 'ulimit -f 80; exec "$@"', 'sh', process.execPath, ...args];
    const full = spawnSync('sh', limited, { cwd: dir.file('.'), env: waybill.env, encoding: 'utf8' });
    expect({ code: full.status, said: full.stdout }).to.deep.equal({ code: 1, said: '' });
    expect(full.stderr).to.contain(`${file} can not be written`).and.to.contain('No part of it was left there');
    expect(readdirSync(folder).filter((name) => name.startsWith('bindings'))).to.deep.equal([]);

    expect((await waybill.run('bindings', 'export', file)).code).to.equal(0);
    const lines = readFileSync(file, 'utf8').split('\n');
    writeFileSync(file, `${lines.slice(0, 20).join('\n')}\n`);
    loseStore();
    for (const how of ['--dry-run', '--yes']) {
      const run = await waybill.run('recover', '--bindings', file, how);
      expect(run.code, how).to.equal(2);
      expect(run.stderr).to.contain('was cut off').and.to.contain('Nothing of it was taken over');
    }
    expect(bindings()).to.deep.equal([]);
    expect((await waybill.run('recover', '--dry-run', '--json')).stdout).to.contain('"kind":"lost"');
  });

  it('asks the service for each record where it can be asked, whatever it has forgotten of the keys', async () => {
    await begin({ endpoints: sandboxLookUps }, { keyLifetimeMs: 1 });
    const before = bindings();
    loseStore();
    const posts = writes();
    const run = await waybill.run('recover', '--look-up', '--yes', '--json');
    expect(run.stderr).to.equal('');
    expect(JSON.parse(run.stdout)).to.include({ unbound: orders + customers, to: 'in_doubt' });
    // Found by look-up: each is flagged for review.
    expect((await waybill.run('sync')).code).to.equal(3);
    expect(bindings()).to.deep.equal(before);
    expect(writes()).to.equal(posts);
    onlyOnce();
  });

  for (const [way, ...more] of [['--from-service', '--sent-since', anHourAgo], ['--look-up']])
    it(`brings up to date what the lost store changed and the ERP changed back, ${way}`, async () => {
      await begin(way === '--look-up' ? { endpoints: sandboxLookUps } : {});
      const [{ name }] = fromErp('SELECT name FROM customers WHERE id=1') as [{ name: string }];
      inErp("UPDATE customers SET name='Renamed' WHERE id=1");
      expect((await waybill.run('sync')).code).to.equal(0);
      inErp(`UPDATE customers SET name='${name}' WHERE id=1`);
      loseStore();
      const run = await waybill.run('recover', way as string, ...more, '--yes');
      expect(run.stderr).to.equal('');
      // A sweep captures again the records that a look-up shows to differ.
      for (const _ of ['the creates', 'their changes']) await waybill.run('sync');
      expect(sandbox.ledger().customers.filter(({ record }) => record.name === 'Renamed')).to.deep.equal([]);
      onlyOnce();
    });

  it('removes what was cancelled while nobody knew whether it had been sent', async () => {
    await begin(
      {},
      {},
      {
        orders: {
          ...sampleErpMapping.orders,
          cancelled: { column: 'status', values: ['cancelled'] },
          onCancelled: 'delete',
        },
      },
    );
    loseStore();
    const { reference } = sandbox.ledger().orders[0] as { reference: string };
    // Captured as new by the empty store, then cancelled: it seems never to have been sent.
    expect((await waybill.run('sync')).code).to.equal(3);
    inErp(`UPDATE sales_orders SET status='cancelled' WHERE order_no='${reference}'`);
    expect((await waybill.run('sync')).code).to.equal(3);
    const recovered = await waybill.run('recover', '--from-service', '--sent-since', anHourAgo, '--yes');
    expect(recovered.code).to.equal(0);
    // The bindings that a person vouches for stand before the question.
    expect(recovered.stdout).to.contain('A record whose key is spelled otherwise since would be made twice');
    await waybill.run('sync');
    expect(sandbox.ledger().deleted.map((record) => record.reference)).to.deep.equal([reference]);
  });

  it('keeps the bytes of a create that the copy took for unsent, and sends what changed since as an update', async () => {
    await begin();
    inErp(
      "INSERT INTO sales_orders SELECT 9001, 'A-9001', customer_id, status, order_date, currency, total, remark, '2027-01-01', '2027-01-01' FROM sales_orders WHERE id=1",
    );
    inErp(
      'INSERT INTO sales_order_lines SELECT id+900000, 9001, line_no, product_id, qty, unit_price FROM sales_order_lines WHERE order_id=1',
    );
    expect((await waybill.run('sync', 'capture')).code).to.equal(0);
    const copy = `${waybill.options.folder}/copy.sqlite`;
    expect((await waybill.run('backup', copy)).code).to.equal(0);
    expect((await waybill.run('sync')).code).to.equal(0);
    const count = sandbox.counts().orders;

    loseStore();
    copyFileSync(copy, waybill.storeFile);
    inErp('UPDATE sales_order_lines SET qty=qty+1 WHERE order_id=9001');
    inErp(
      "UPDATE sales_orders SET updated_at='2027-01-02', total=(SELECT SUM(qty*unit_price) FROM sales_order_lines WHERE order_id=9001) WHERE id=9001",
    );
    // Captured before anybody said recover.
    expect((await waybill.run('sync')).code).to.equal(3);
    expect((await waybill.run('recover', '--from-service', '--yes')).code).to.equal(0);
    expect((await waybill.run('sync')).code).to.equal(0);
    expect(sandbox.counts()).to.include({ orders: count, duplicateReferences: 0 });
    const [{ cents }] = fromErp(
      'SELECT CAST(ROUND(SUM(qty*unit_price)*100) AS INTEGER) AS cents FROM sales_order_lines WHERE order_id=9001',
    ) as [{ cents: number }];
    expect(sandbox.ledger().orders.find(({ reference }) => reference === 'A-9001')?.total).to.equal(cents);
  });

  it('refuses the bindings of another installation', async () => {
    await begin();
    const file = `${waybill.options.folder}/bindings.jsonl`;
    await waybill.run('bindings', 'export', file);
    await rewriteSealed(file, (lines) => lines.replace('"e2e-test"', '"another"'));
    loseStore();
    const run = await waybill.run('recover', '--bindings', file, '--yes');
    expect(run.code).to.equal(2);
    expect(run.stderr).to.contain('belongs to another');
  });

  it('knows a restored copy by its witness, and learns again what was sent after it was made', async () => {
    await begin();
    const copy = `${waybill.options.folder}/copy.sqlite`;
    onStore((database) => database.pragma('wal_checkpoint(TRUNCATE)'));
    copyFileSync(waybill.storeFile, copy);

    // After the copy: a change that the service got, and its way back, which nobody saw.
    const rename = (name: string, when: string) =>
      inErp(`UPDATE customers SET name='${name}', updated_at='${when}' WHERE id=1`);
    const [{ name }] = fromErp('SELECT name FROM customers WHERE id=1') as [{ name: string }];
    rename('Renamed', '2027-01-01 10:00:00');
    expect((await waybill.run('sync')).code).to.equal(0);
    expect(sandbox.ledger().customers.filter(({ record }) => record.name === 'Renamed')).to.have.length(1);
    rename(name, '2027-01-01 10:00:01');

    loseStore();
    copyFileSync(copy, waybill.storeFile);
    const before = writes();
    const held = await waybill.run('sync', '--json');
    expect(held.code).to.equal(3);
    expect(JSON.parse(held.stdout).deliver.stopped).to.contain('an older copy of itself');
    expect(writes()).to.equal(before);

    const run = await waybill.run('recover', '--from-service', '--yes', '--json');
    expect(run.stderr).to.equal('');
    expect(run.code).to.equal(0);
    expect((await waybill.run('sync')).code).to.equal(0);
    onlyOnce();
    expect(sandbox.ledger().customers.filter(({ record }) => record.name === 'Renamed')).to.deep.equal([]);
    expect((await waybill.run('recover', '--yes', '--json')).stdout).to.contain('"hold":null');
  });
});
