import { copyFileSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { createSampleErp, type SampleErpTarget, withSampleErp } from '../../src/lab/sample-erp/create-sample-erp.js';
import { type Sandbox, startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import { isFullMatrix } from '../store/stores.js';
import { insertSampleOrder } from '../support/change-sample-erp.js';
import { useTempDir } from '../support/temp-dir.js';
import { useMariaDb } from '../support/use-database.js';
import { canary, Installation } from './installation.js';

/** The long form: WAYBILL_LONG=1 WAYBILL_CLONED_ORDERS=5000 npx mocha dist/test/e2e/cloned-machine.test.js */
const orders = Number(process.env.WAYBILL_CLONED_ORDERS ?? 12);
const customers = 5;

describe('A cloned server', function () {
  this.timeout(300_000);
  // A clone is recognised without the store's own SQL.
  for (const kind of isFullMatrix ? (['sqlite', 'mysql'] as const) : (['sqlite'] as const))
    describe(`with a ${kind} store`, () => {
      const dir = useTempDir();
      const ownStore = kind === 'mysql' ? useMariaDb() : null;
      const clonedStore = kind === 'mysql' ? useMariaDb() : null;
      let sandbox: Sandbox;
      let waybill: Installation;
      let clone: Installation;
      const erpOf = (name: string): SampleErpTarget & { type: 'sqlite' } => ({
        type: 'sqlite',
        file: dir.file(`${name}.sqlite`),
      });
      const installation = (folder: string, erp: string, store = ownStore) =>
        new Installation({
          folder: dir.file(folder),
          serviceUrl: sandbox.url,
          erp: erpOf(erp),
          store: store ? { type: 'mysql', database: store.database } : { type: 'sqlite' },
          settings: {
            service: {
              environment: 'production',
              baseUrl: sandbox.url,
              limits: [{ requests: 500, perSeconds: 1 }],
            },
          },
        });
      const atService = () => {
        const { counts, orders, customers, requests } = sandbox.ledger();
        const writes = requests.filter(({ method }) => method !== 'GET').length;
        return { orders, customers, writes, duplicates: counts.duplicateReferences };
      };
      /** Makes its processes believe that they run on another host. */
      const movedTo = (host: string, machine: Installation) => {
        const file = dir.file(`on-${host}.cjs`);
        const lie = `require('node:os').hostname = () => '${host}'; require('node:module').syncBuiltinESMExports();`;
        writeFileSync(file, lie);
        machine.env.NODE_OPTIONS = `--require ${file}`;
        return machine;
      };
      const heldFor = async (machine: Installation) => {
        const run = await machine.run('sync', '--json');
        expect(run.code, run.stderr).to.equal(3);
        return JSON.parse(run.stdout).deliver.stopped as string;
      };

      before(async () => {
        sandbox = await startSandbox({ token: canary.token });
        mkdirSync(dir.file('original'));
        waybill = installation('original', 'erp');
        await createSampleErp({ target: erpOf('erp'), customers, orders });
        expect((await waybill.run('go-live', '--first-installation', '--yes')).code).to.equal(0);
        expect((await waybill.run('sync')).code).to.equal(0);
        expect(sandbox.counts()).to.include({ orders, customers });
      });
      after(() => sandbox.close());

      it('with store, settings and witness, under another name: captures, and sends nothing of it', async () => {
        if (kind === 'sqlite') cpSync(dir.file('original'), dir.file('clone'), { recursive: true });
        else {
          const copy = dir.file('store.copy');
          expect((await waybill.run('backup', copy)).code).to.equal(0);
          const restoring = installation('clone', 'erp', clonedStore);
          cpSync(join(dir.file('original'), 'data'), join(dir.file('clone'), 'data'), { recursive: true });
          const restored = await restoring.run('backup', '--restore', copy);
          expect(restored.code, restored.stderr).to.equal(0);
          // Its witness is named after the database, so a person says that nothing newer was lost.
          const same = await restoring.run('recover', '--same-store', '--yes');
          expect(same.code, same.stderr).to.equal(0);
        }
        clone = movedTo('staging', installation('clone', 'erp', clonedStore));
        const before = atService();
        const { orderNo } = await insertSampleOrder(erpOf('erp'));
        expect(await heldFor(clone)).to.match(/held since something changed: the machine was .+ and is staging/);
        expect(atService()).to.deep.equal(before);
        // The server that it was cloned from goes on.
        expect((await waybill.run('sync')).code).to.equal(0);
        expect(sandbox.ledger().orders.at(-1)?.reference).to.equal(orderNo);
      });

      it('sends what is new when a person says so, and nothing a second time', async () => {
        const before = atService();
        const wentLive = await clone.run('go-live', '--yes', '--reason', 'the old server is switched off');
        expect(wentLive.code, wentLive.stderr).to.equal(0);
        expect(atService()).to.deep.equal(before);
        const { orderNo } = await insertSampleOrder(erpOf('erp'));
        expect((await clone.run('sync')).code).to.equal(0);
        const { orders: now, duplicates } = atService();
        // The clone's outbox also holds the messages that the original had sent meanwhile: the same key, the same
        // record.
        expect(now.map(({ reference }) => reference)).to.deep.equal([
          ...before.orders.map(({ reference }) => reference),
          orderNo,
        ]);
        expect(duplicates).to.equal(0);
      });

      // The store has no part in it; the job's tests prove it on both.
      if (kind === 'mysql') return;
      it('that reads a copy of the ERP on the same host sends nothing of it, until a person says so', async () => {
        copyFileSync(erpOf('erp').file, erpOf('test-copy').file);
        const { orderNo } = await insertSampleOrder(erpOf('test-copy'));
        const before = atService();
        const copy = installation('original', 'test-copy');
        const held = await copy.run('sync');
        expect(held.code, held.stdout).to.equal(3);
        expect(held.stdout + held.stderr).to.match(
          /keys of customers were .*erp\.sqlite.*, and now .*test-copy\.sqlite/,
        );
        for (const entity of ['customers', 'orders']) {
          const rekeyed = await copy.run('rekey', entity, '--same', '--yes', '--reason', 'the ERP moved');
          expect(rekeyed.code, rekeyed.stderr).to.equal(0);
          const held = entity === 'customers' ? 'the keys of orders were' : 'the ERP database was';
          expect(rekeyed.stdout).to.contain('Done. Still held: ').and.to.contain(held);
        }
        expect(await heldFor(copy)).to.match(/the ERP database was .*erp\.sqlite and is .*test-copy\.sqlite/);
        expect(atService()).to.deep.equal(before);
        expect((await copy.run('go-live', '--yes')).code).to.equal(0);
        expect((await copy.run('sync')).code).to.equal(0);
        const { orders: now, duplicates } = atService();
        expect(now.slice(before.orders.length).map(({ reference }) => reference)).to.deep.equal([orderNo]);
        expect(duplicates).to.equal(0);
      });

      it('that reads a copy in which all orders have other ids gives them these, and sends nothing a second time', async () => {
        copyFileSync(erpOf('test-copy').file, erpOf('renumbered').file);
        await withSampleErp(erpOf('renumbered'), async (database) => {
          await database.run('UPDATE sales_orders SET id=id+1000', []);
          await database.run('UPDATE sales_order_lines SET order_id=order_id+1000', []);
        });
        const before = atService();
        const copy = installation('original', 'renumbered');
        const held = await copy.run('sync');
        expect(held.stdout + held.stderr).to.match(
          /rekey customers --same.*, then.*rekey orders --same.*, then.*go-live/,
        );
        const same = await copy.run('rekey', 'orders', '--same', '--yes');
        expect(same.code).to.equal(1);
        expect(same.stdout).to.include('waybill rekey orders');
        const shown = await copy.run('rekey', 'orders', '--dry-run');
        expect(shown.code, shown.stderr).to.equal(0);
        const [, key] = /\d+ is (1\d\d\d) now/.exec(shown.stdout) ?? [];
        expect(key, shown.stdout).to.be.a('string');
        for (const entity of ['customers', 'orders']) {
          const rekeyed = await copy.run('rekey', entity, '--yes', '--reason', 'a new database');
          expect(rekeyed.code, rekeyed.stdout + rekeyed.stderr).to.equal(0);
        }
        expect((await copy.run('go-live', '--yes')).code).to.equal(0);
        expect((await copy.run('sync')).code).to.equal(0);
        expect(atService()).to.deep.equal(before);
        expect((await copy.run('explain', 'order', key as string)).stdout).to.include('operator gave it this key');
      });
    });
});
