import { cpSync, rmSync } from 'node:fs';
import { expect } from 'chai';
import { createSampleErp } from '../../src/lab/sample-erp/create-sample-erp.js';
import { type Sandbox, startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import { storesFor } from '../store/stores.js';
import { insertSampleOrder } from '../support/change-sample-erp.js';
import { openSqlite } from '../support/sqlite-file.js';
import { useTempDir } from '../support/temp-dir.js';
import { useMariaDb } from '../support/use-database.js';
import { canary, Installation } from './installation.js';

const orders = 12;
const customers = 4;

/** Real losses take the store and the witness beside it. */
describe('A production store that is lost together with its witness', function () {
  this.timeout(300_000);
  for (const kind of storesFor({ usual: ['sqlite'], possible: ['sqlite', 'mysql'] }))
    describe(`with a ${kind} store`, () => {
      const dir = useTempDir();
      const databases = kind === 'mysql' ? [useMariaDb(), useMariaDb(), useMariaDb()] : [];
      let sandbox: Sandbox;
      let exported: string;
      let stop: (() => Promise<void>) | null = null;
      const erp = () => ({ type: 'sqlite' as const, file: dir.file('erp.sqlite') });
      /** The machine with its settings; its store is the nth. */
      const machine = (nth: number) => {
        const database = databases[nth]?.database;
        return new Installation({
          folder: dir.file('machine'),
          serviceUrl: sandbox.url,
          erp: erp(),
          store: database ? { type: 'mysql', database } : { type: 'sqlite' },
          settings: { service: { environment: 'production', baseUrl: sandbox.url } },
        });
      };
      const remove = (...what: ('store' | 'witness')[]) => {
        // A store on a server is lost by going to an empty database.
        if (what.includes('store'))
          for (const end of ['', '-wal', '-shm']) rmSync(dir.file(`machine/waybill.sqlite${end}`), { force: true });
        const witness = kind === 'sqlite' ? 'machine/witness' : 'machine/data/witness';
        if (what.includes('witness')) rmSync(dir.file(witness), { recursive: true });
      };
      const succeeds = async (at: Installation, code: number, ...argv: string[]) => {
        const run = await at.run(...argv);
        expect(run.code, `${argv.join(' ')}\n${run.stdout}${run.stderr}`).to.equal(code);
        return run;
      };
      const onlyOnce = (count: number) =>
        expect(sandbox.counts()).to.include({ orders: count, customers, duplicateReferences: 0 });

      before(async () => {
        sandbox = await startSandbox({ token: canary.token });
        exported = dir.file('export.jsonl');
        await createSampleErp({ target: erp(), customers, orders });
        const first = machine(0);
        await succeeds(first, 0, 'go-live', '--first-installation', '--yes');
        await succeeds(first, 0, 'sync');
        await succeeds(first, 0, 'bindings', 'export', exported);
        await succeeds(first, 0, 'backup', dir.file('copy'));
        onlyOnce(orders);
      });
      afterEach(async () => {
        await stop?.();
        stop = null;
      });
      after(() => sandbox.close());

      it('sends nothing a second time, when a person recovers it from an export', async () => {
        remove('store', 'witness');
        const fresh = machine(1);
        sandbox.forgetKeys();
        const plain = await succeeds(fresh, 0, 'recover');
        expect(plain.stdout).to.contain('waybill recover --bindings FILE');
        // Nobody has said yet that there was a store before.
        const asked = await succeeds(fresh, 2, 'go-live', '--yes');
        expect(asked.stderr).to.contain('--first-installation').and.to.contain('waybill recover --bindings FILE');
        expect((await succeeds(fresh, 0, 'go-live', '--dry-run')).stdout).to.contain('Is this the first installation');

        const dry = await succeeds(fresh, 0, 'recover', '--bindings', exported, '--dry-run');
        expect(dry.stdout).to.contain(`the ${orders + customers} records in ${exported} are bound again`);
        expect(dry.stdout).to.contain('0 orders and 0 customers may have been sent before');
        await succeeds(fresh, 3, 'sync', 'deliver');

        // A power cut in the middle: it is held from the person's yes on, and the same command goes on.
        fresh.env.TORTURE_KILL_POINT = 'before-recover-commit';
        await fresh.run('recover', '--bindings', exported, '--yes');
        delete fresh.env.TORTURE_KILL_POINT;
        const held = await succeeds(fresh, 3, 'go-live', '--yes', '--first-installation');
        expect(held.stdout).to.contain('First: waybill recover');
        await succeeds(fresh, 0, 'recover', '--bindings', exported, '--yes', '--reason', 'a new disk');

        await succeeds(fresh, 0, 'go-live', '--yes');
        await succeeds(fresh, 0, 'sync');
        onlyOnce(orders);
      });

      it('sends nothing a second time, when the copy of last night takes its place', async () => {
        const late = await insertSampleOrder(erp());
        await succeeds(machine(1), 0, 'sync');
        onlyOnce(orders + 1);
        expect(sandbox.ledger().orders.at(-1)?.reference).to.equal(late.orderNo);
        remove('store', 'witness');
        const copied = machine(2);
        if (kind === 'sqlite') cpSync(dir.file('copy'), copied.storeFile);
        else await succeeds(copied, 0, 'backup', '--restore', dir.file('copy'));
        sandbox.forgetKeys();

        const stopped = JSON.parse((await succeeds(copied, 3, 'sync', '--json')).stdout).deliver.stopped;
        expect(stopped).to.contain('there is no witness file of this store here').and.to.contain('--same-store');
        expect((await succeeds(copied, 0, 'recover', '--dry-run')).stdout).to.contain('1 orders and 0 customers may');
        await succeeds(copied, 3, 'recover', '--yes');
        await succeeds(copied, 0, 'sync');
        onlyOnce(orders + 1);
      });

      it('goes on with the same store and its queue, when a person says that only the witness was lost', async () => {
        const same = machine(2);
        const late = await insertSampleOrder(erp());
        await succeeds(same, 0, 'sync', 'capture');
        remove('witness');
        await succeeds(same, 3, 'sync', 'deliver');
        const run = await succeeds(same, 0, 'recover', '--same-store', '--yes', '--reason', 'the folder was cleared');
        expect(run.stdout).to.contain('Delivery goes on.');
        await succeeds(same, 0, 'sync');
        onlyOnce(orders + 2);
        expect(sandbox.ledger().orders.at(-1)?.reference).to.equal(late.orderNo);
        await succeeds(same, 0, 'recover');
        if (kind !== 'sqlite') return;
        const store = openSqlite(same.storeFile);
        const open = store.prepare("SELECT source_key FROM outbox_message WHERE state IN ('pending','in_doubt')").all();
        store.close();
        expect(open).to.deep.equal([]);
      });

      it('is held while it is recovered under a running daemon, which then goes on by itself', async () => {
        const same = machine(2);
        const daemon = same.daemon();
        stop = async () => {
          daemon.kill('SIGTERM');
          await daemon.ended;
        };
        await daemon.line(({ message }) => message === 'Delivering from here');
        const run = await succeeds(same, 0, 'recover', '--bindings', exported, '--yes');
        expect(run.stdout).to.contain('0 bindings were taken over');
        const late = await insertSampleOrder(erp());
        await succeeds(same, 0, 'sync');
        expect(sandbox.ledger().orders.map(({ reference }) => reference)).to.include(late.orderNo);
        expect(sandbox.counts()).to.include({ duplicateReferences: 0 });
      });
    });
});
