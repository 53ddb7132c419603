import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { lastRun } from '../../src/operator/reconcile/reconcile-rows.js';
import { onAnyStore } from './installation.js';

describe('waybill reconcile', () => {
  onAnyStore((installation) => {
    it('files no report of orders that the service can not be asked for', async () => {
      const folder = join(installation.configDir, 'report');
      const { code, stdout, stderr } = await installation.waybill(
        ...['reconcile', 'orders', '--month', '2026-10', '--report', folder],
      );
      expect({ code, stdout }).to.deep.equal({ code: 2, stdout: '' });
      expect(stderr).to.contain('orders need service.endpoints.readOrder or lookUpOrder');
      expect(existsSync(folder)).to.equal(false);
      expect(await installation.app.store.read('look', (tx) => lastRun(tx, 'orders'))).to.equal(null);
    });
  });
});
