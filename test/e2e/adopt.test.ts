import { rmSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { createSampleErp } from '../../src/lab/sample-erp/create-sample-erp.js';
import { type Sandbox, startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import type { CustomerRecord } from '../../src/model/record.js';
import { behaviour, storesFor } from '../store/stores.js';
import { openSqlite, type SqliteFile } from '../support/sqlite-file.js';
import { useTempDir } from '../support/temp-dir.js';
import { useServer } from '../support/use-database.js';
import { canary, type Daemon, eventually, Installation, storeIn } from './installation.js';

const customers = 20;
const orders = 120;

describe('a service that has half of the customers already', function () {
  this.timeout(300_000);
  for (const kind of storesFor(behaviour())) {
    describe(`with a ${kind} store`, () => {
      const dir = useTempDir();
      const server = useServer(kind);
      const daemons: Daemon[] = [];
      let sandbox: Sandbox;
      let waybill: Installation;
      let number = 0;

      beforeEach(async () => {
        const folder = dir.file(`run-${++number}`);
        sandbox = await startSandbox({ token: canary.token });
        waybill = new Installation({
          folder,
          serviceUrl: sandbox.url,
          erp: { type: 'sqlite', file: `${folder}/erp.sqlite` },
          store: storeIn(kind, await server?.server.createDatabase()),
          settings: {
            schedule: { capture: '* * * * * *', pull: '0 0 0 1 1 *' },
          },
        });
        await createSampleErp({ target: { type: 'sqlite', file: `${folder}/erp.sqlite` }, customers, orders });
      });
      afterEach(async () => {
        for (const daemon of daemons) daemon.kill('SIGKILL');
        await Promise.all(daemons.splice(0).map((daemon) => daemon.ended));
        await sandbox.close();
      });

      const inErp = <T>(work: (erp: SqliteFile) => T): T => {
        const erp = openSqlite(`${waybill.options.folder}/erp.sqlite`);
        try {
          return work(erp);
        } finally {
          erp.close();
        }
      };
      const query = (sql: string) => inErp((erp) => erp.prepare(sql).all() as Record<string, string>[]);
      const eligible = "status='confirmed' AND currency='EUR' AND created_at>='2026-01-01'";
      const codes = () =>
        query(
          `SELECT id, customer_no FROM customers WHERE id IN (SELECT customer_id FROM sales_orders WHERE ${eligible}) ORDER BY id`,
        );
      const half = () => codes().filter((_, i) => i % 2 === 0);
      const foreign = (): CustomerRecord[] =>
        half().map(({ customer_no: code }) => ({
          customer_code: code as string,
          name: `Theirs ${code}`,
          loyalty: 'gold',
        }));
      const writes = (method: string, path: RegExp) =>
        sandbox.ledger().requests.filter((request) => request.method === method && path.test(request.path));
      const start = () => {
        const daemon = waybill.daemon();
        daemons.push(daemon);
        return daemon;
      };
      const json = async (...args: string[]) => {
        const run = await waybill.run(...args, '--json');
        expect(run.stderr, args.join(' ')).to.equal('');
        return { code: run.code, ...JSON.parse(run.stdout) };
      };
      const list = (name: string, lines: readonly (readonly unknown[])[], separator = ';') => {
        const file = `${waybill.options.folder}/${name}.csv`;
        const text = [['source key', 'service id'], ...lines].map((line) => line.join(separator)).join('\r\n');
        writeFileSync(file, `\uFEFF${text}\r\n`);
        return file;
      };
      const expectEachOnce = (expected = query(`SELECT order_no FROM sales_orders WHERE ${eligible}`).length) =>
        expect(sandbox.counts()).to.include({ customers: codes().length, orders: expected, duplicateReferences: 0 });

      it('takes all orders, makes nothing twice, and lists what differs, also after kill -9', async () => {
        const there = foreign();
        sandbox.addCustomers(there);
        sandbox.change({ delayMs: [0, 10] });
        const expected = query(`SELECT order_no FROM sales_orders WHERE ${eligible}`).length;
        const first = start();
        await eventually('some orders are at the service', () => sandbox.counts().orders >= 20, 60_000);
        first.kill('SIGKILL');
        await first.ended;
        const second = start();
        await eventually('all orders are at the service', () => sandbox.counts().orders >= expected, 30_000);
        second.kill('SIGTERM');
        await second.ended;
        const left = await json('sync', 'deliver');
        expect(left.open).to.equal(0);
        expectEachOnce(expected);

        // Nothing at the service was written over, and each difference is told.
        expect(writes('PATCH', /customers/)).to.deep.equal([]);
        const theirs = () =>
          sandbox
            .ledger()
            .customers.map(({ record }) => record)
            .filter((record) => 'loyalty' in record);
        expect(theirs()).to.deep.equal(there);
        const shown = await json('bindings', 'adopted', '--open');
        expect(shown).to.include({ customers: there.length, orders: 0, open: there.length });
        for (const one of shown.adopted) {
          expect(one.differs).to.include('name').and.not.to.include('customer_code');
          const name = one.fields.find(({ field }: { field: string }) => field === 'name');
          expect(name.service).to.equal(`Theirs ${one.serviceId}`);
          expect(name.erp).to.not.contain('Theirs');
        }
        const status = await json('status');
        expect(status.adopted).to.deep.equal({ customers: there.length, orders: 0, open: there.length });
        const story = await waybill.run('explain', 'customer', String(half()[0]?.id));
        expect(story.stdout).to.contain('had').and.to.contain('already').and.to.contain('name');
        const audit = await waybill.run('audit', '--event', 'adopted', '--json');
        expect(audit.stdout.match(/"event":"adopted"/g)).to.have.length(there.length);

        // A lost store learns again what nobody has looked at.
        if (kind === 'sqlite') {
          const exported = `${waybill.options.folder}/bindings.jsonl`;
          await json('bindings', 'export', exported);
          for (const end of ['', '-wal', '-shm']) rmSync(waybill.storeFile + end, { force: true });
          await waybill.run('sync');
          const recovered = await waybill.run('recover', '--bindings', exported, '--reason', 'disk replaced', '--yes');
          expect(recovered.code, recovered.stderr).to.equal(0);
          await waybill.run('sync');
          expect(theirs()).to.deep.equal(there);
          expect((await json('bindings', 'adopted', '--open')).open).to.equal(there.length);
          expectEachOnce(expected);
        }

        // A person's word counts as done, and then an edit goes its way like any other.
        expect((await waybill.run('confirm', 'customers', '--reason', 'the ERP is right', '--yes')).code).to.equal(0);
        await waybill.run('sync', 'deliver');
        for (const record of theirs()) expect(record.name).to.not.contain('Theirs');
        expect((await json('bindings', 'adopted', '--open')).open).to.equal(0);
        // Requests that were under way at the kill go once more, and are only repeated.
        const made = writes('POST', /customers/).filter((request) => request.status === 201 && !request.replayed);
        expect(made).to.have.length(codes().length - there.length);
        for (const output of [story.stdout, JSON.stringify(shown), JSON.stringify(status)])
          expect(output).to.not.contain(canary.token);
      });

      // Once is enough: the stores have their own tests.
      if (kind === 'mysql')
        it('binds what a list says without sending, whole or not at all, whenever the power goes', async () => {
          sandbox.addCustomers(foreign());
          const file = list(
            'customers',
            half().map((row) => [row.id, row.customer_no]),
          );
          const dry = await json('adopt', 'customers', '--file', file, '--dry-run');
          expect(dry).to.include({ code: 0, bound: half().length, known: 0, problemCount: 0 });
          const count = async () => (await json('status')).adopted.customers;
          expect(await count()).to.equal(0);
          for (const [point, bound] of [
            ['before-adopt-commit', 0],
            ['after-adopt-commit', half().length],
          ] as const) {
            waybill.env.TORTURE_KILL_POINT = point;
            const killed = await waybill.run('adopt', 'customers', '--file', file);
            delete waybill.env.TORTURE_KILL_POINT;
            expect(killed.code, killed.stderr).to.equal(null);
            expect(killed.stderr).to.contain(`reached ${point}`);
            expect(await count()).to.equal(bound);
          }
          const again = await json('adopt', 'customers', '--file', file);
          expect(again).to.include({ code: 0, bound: 0, known: half().length });
          expect(sandbox.counts().requests, 'nothing was sent').to.equal(0);

          const synced = await json('sync', 'capture');
          expect(synced.code).to.equal(0);
          expect((await json('sync', 'deliver')).code).to.equal(0);
          expectEachOnce();
          expect(writes('POST', /customers/)).to.have.length(codes().length - half().length);
          expect(sandbox.ledger().customers.filter(({ record }) => 'loyalty' in record)).to.have.length(half().length);

          // An edit sends what was edited and leaves the rest as it is there.
          inErp((erp) =>
            erp.exec(
              `UPDATE customers SET city='Elsewhere', updated_at='2026-12-24 10:00:00' WHERE id=${half()[0]?.id}`,
            ),
          );
          expect((await json('sync')).code).to.equal(0);
          const [patched] = sandbox
            .ledger()
            .customers.filter(({ customer_code }) => customer_code === half()[0]?.customer_no);
          expect(patched?.record).to.deep.equal({ ...foreign()[0], city: 'Elsewhere' });
        });

      if (kind === 'sqlite')
        it('takes orders beside a daemon, and never sends the creates that were waiting', async () => {
          await waybill.run('migrate');
          await waybill.run('pause', 'deliver', '--reason', 'a list comes first');
          start();
          const inStore = (sql: string) => {
            const opened = openSqlite(waybill.storeFile, { timeout: 10_000 });
            try {
              return Number((opened.prepare(sql).get() as { n: number }).n);
            } finally {
              opened.close();
            }
          };
          const waiting = "SELECT COUNT(*) AS n FROM outbox_message WHERE state='pending'";
          const all = query(`SELECT order_no FROM sales_orders WHERE ${eligible}`).length + codes().length;
          await eventually('everything is captured', () => inStore(waiting) === all);
          const some = query(
            `SELECT o.id, o.order_no, c.customer_no FROM sales_orders o JOIN customers c ON c.id=o.customer_id WHERE ${eligible.replace('created_at', 'o.created_at')} ORDER BY o.id LIMIT 10`,
          );
          const code = new Set(some.map((row) => row.customer_no as string));
          sandbox.addCustomers([...code].map((customer_code) => ({ customer_code })));
          const ids: string[] = [];
          for (const row of some) {
            const response = await fetch(`${sandbox.url}/v1/orders`, {
              method: 'POST',
              headers: {
                authorization: `Bearer ${canary.token}`,
                'content-type': 'application/json',
                'idempotency-key': `theirs-${row.id}`,
              },
              body: JSON.stringify({
                customer_code: row.customer_no,
                items: [{ sku: 'A', qty: 1, price: 1 }],
                note: row.order_no,
              }),
            });
            ids.push(((await response.json()) as { order_id: string }).order_id);
          }
          const lines = some.map((row, i) => [row.id, ids[i]]);
          const result = await json('adopt', 'orders', '--file', list('orders', lines, ','));
          expect(result).to.include({ code: 0, bound: 10, superseded: 10, ordersWithoutCustomer: 10 });
          await waybill.run('resume', 'deliver', '--reason', 'the list is in');
          const expected = query(`SELECT order_no FROM sales_orders WHERE ${eligible}`).length;
          await eventually('all orders are at the service', () => sandbox.counts().orders >= expected, 30_000);
          const open = "SELECT COUNT(*) AS n FROM outbox_message WHERE state IN ('pending','sending','in_doubt')";
          await eventually('nothing is open', () => inStore(open) === 0);
          expectEachOnce(expected);
        });

      if (kind === 'sqlite')
        it('refuses a list with its lines, and writes nothing of it', async () => {
          const [a, b, c, d] = codes() as [
            Record<string, string>,
            Record<string, string>,
            Record<string, string>,
            Record<string, string>,
          ];
          await waybill.run('adopt', 'customers', '--file', list('first', [[a.id, a.customer_no]]));
          const wrong = list('wrong', [
            [a.id, 'K0'],
            [b.id, a.customer_no],
            [c.id, c.customer_no],
            [c.id, 'K2'],
            ['9999', 'K9999'],
            [d.id, ''],
            [d.id, 'k-other'],
            ['x', 'y', 'z'],
          ]);
          const result = await json('adopt', 'customers', '--file', wrong);
          expect(result).to.include({ code: 1, bound: 0, problemCount: 7 });
          expect(result.problems.map(({ line }: { line: number }) => line).sort()).to.deep.equal([2, 3, 5, 6, 7, 8, 9]);
          expect((await json('status')).adopted.customers).to.equal(1);
          const words = await waybill.run('adopt', 'customers', '--file', wrong);
          expect(words.stdout).to.contain('7 of 8 lines').and.to.contain('Nothing was adopted');
          expect((await waybill.run('adopt', 'customers', '--file', `${wrong}x`)).code).to.equal(2);
          expect((await waybill.run('adopt', 'customers')).code).to.equal(2);
        });
    });
  }
});
