import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { openApp } from '../../src/app.js';
import { forgetWritten, saveWriteBack, saveWritten } from '../../src/inbound/write-back/write-back-state.js';
import { legacy } from '../../src/model/facts/fact.js';
import { openSqlite } from '../support/sqlite-file.js';
import { onAnyStore } from './installation.js';

describe('waybill erp', () => {
  onAnyStore((installation) => {
    const { waybill, json } = installation;
    const setting = (text: string) => appendFileSync(join(installation.configDir, 'local.yaml'), `\n${text}\n`);

    it('prints side tables that SQLite takes, and no grants for it', async () => {
      const { code, stdout } = await waybill('erp', 'side-tables');
      expect(code).to.equal(0);
      expect(stdout).to.not.include('GRANT');
      const database = openSqlite(':memory:');
      database.exec(stdout);
      const tables = database.prepare("SELECT name FROM sqlite_master WHERE type='table' ORDER BY name").pluck().all();
      expect(tables).to.deep.equal(['waybill_customers', 'waybill_invoices', 'waybill_orders']);
      expect(existsSync(join(installation.configDir, 'erp.sqlite')), 'nothing is touched').to.equal(false);
      expect((await json('erp', 'side-tables')).tables).to.have.length(3);
    });

    it('has what a command changes marked for the write-back, of the kinds that are on', async () => {
      setting('writeBack: { enabled: true, customers: { enabled: false } }');
      const app = await openApp({ configDir: installation.configDir, role: 'test', log: 'stderr' });
      const kinds = [...app.store.writeBackKinds];
      await app.close();
      expect(kinds).to.deep.equal(['orders', 'invoices']);
    });

    it('shows in status how the write-back goes, and has everything written again', async () => {
      expect((await json('status')).writeBack).to.deep.equal([]);
      expect((await waybill('erp', 'write-again')).stdout).to.include('writeBack.enabled is false');
      setting('writeBack: { enabled: true, customers: { enabled: false } }');
      const fine = { failures: 0, failingSince: null, failure: null, nextTryAt: null, sweep: null, sweptAt: 1 };
      const failing = { failures: 2, failingSince: 1, failure: legacy('no table waybill_invoices'), nextTryAt: 2 };
      await installation.app.store.transaction('write back', async (tx) => {
        const common = { fingerprint: 'f', succeededAt: 1_700_000_000_000 };
        await saveWriteBack(tx, { ...common, ...fine, kind: 'orders' });
        await saveWriteBack(tx, { ...common, ...fine, ...failing, kind: 'invoices' });
        await saveWritten(tx, 'orders', [
          { recordKey: '1', contentHash: 'a', refusal: null, nextTryAt: null },
          { recordKey: '2', contentHash: 'b', refusal: legacy('too long'), nextTryAt: 5 },
        ]);
      });
      const { stdout } = await waybill('status');
      expect(stdout).to.match(/Written back +orders: 2023-11-14 .* ago\); 1 refused by the ERP\n/);
      expect(stdout).to.match(/ +invoices: 2023.*; failing, tried again at 1970.*: no table waybill_invoices\n/);
      const [orders, invoices] = (await json('status')).writeBack;
      expect(orders).to.deep.include({ kind: 'orders', refused: 1, sweeps: false, failing: null });
      expect(invoices.failing).to.include({ reason: 'no table waybill_invoices' });

      expect((await waybill('erp', 'write-again')).stdout).to.include('writes all orders, invoices again');
      expect((await json('status')).writeBack[0]).to.include({ refused: 0, sweeps: true });
      await installation.app.store.transaction('clean up', (tx) => forgetWritten(tx, 'orders'));
    });
  });
});
