import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse, stringify } from 'yaml';
import { insertRows } from '../../src/store/rows.js';
import { openSqlite } from '../support/sqlite-file.js';
import { onAnyStore } from './installation.js';

describe('waybill with two sources', () => {
  onAnyStore((installation) => {
    const { waybill, json } = installation;
    const settingsFile = () => join(installation.configDir, 'local.yaml');

    function makeErp(file: string, orders: number): void {
      const database = openSqlite(join(installation.configDir, file));
      database.exec(`
        CREATE TABLE customers (id INTEGER PRIMARY KEY, code TEXT);
        CREATE TABLE orders (id INTEGER PRIMARY KEY, order_no TEXT, customer_id INTEGER, created_at TEXT);
        CREATE TABLE lines (order_id INTEGER, line_no INTEGER, sku TEXT, quantity INTEGER, unit_price TEXT);
        INSERT INTO customers VALUES (1, '${file.slice(0, 3)}-1');
        WITH RECURSIVE s(value) AS (SELECT 1 UNION ALL SELECT value+1 FROM s WHERE value<${orders})
          INSERT INTO orders SELECT value, 'SO-' || value, 1, '2026-11-02 10:00:00' FROM s;
        INSERT INTO lines SELECT id, 1, 'A-1', 1, '12.50' FROM orders;`);
      database.close();
    }

    /** Both ERPs, and settings that name the second one. */
    function begin(): void {
      makeErp('erp.sqlite', 2);
      makeErp('berlin.sqlite', 3);
      const settings = parse(readFileSync(settingsFile(), 'utf8'));
      const { erp, customers, orders } = settings;
      orders.settleSeconds = 0;
      const berlin = { erp: { ...erp, file: 'berlin.sqlite' }, customers, orders };
      writeFileSync(settingsFile(), stringify({ ...settings, sources: { berlin } }, { aliasDuplicateObjects: false }));
    }

    it('reads both, or the one that --source names, and takes keys as it calls them', async () => {
      begin();
      const both = await json('sync', 'capture', '--dry-run');
      expect(both.capture.captured).to.deep.equal({ customers: 2, orders: 5 });
      const one = await json('sync', 'capture', '--source', 'berlin', '--key', '3');
      expect(one.capture.captured).to.deep.equal({ customers: 1, orders: 1 });
      expect((await json('sync', 'capture', '--source', 'default')).capture.captured.orders).to.equal(2);
      const keys = async (...options: string[]) =>
        (await json('outbox', '--entity', 'order', ...options)).messages.map(
          (one: { sourceKey: string }) => one.sourceKey,
        );
      expect(await keys('--source', 'berlin')).to.deep.equal(['berlin~3']);
      expect(await keys('--source', 'default', '--key', '2')).to.deep.equal(['2']);
      expect((await json('explain', 'order', '3', '--source', 'berlin')).sourceKey).to.equal('berlin~3');
      expect((await json('explain', 'order', 'berlin~3')).sourceKey).to.equal('berlin~3');
      const preview = await json('preview', '--source', 'berlin', '--key', '1');
      expect(preview.shown[0].key).to.equal('berlin~1');
    });

    it('refuses a name that the settings do not hold, and says which there are', async () => {
      begin();
      const { code, stderr } = await waybill('sync', '--source', 'hamburg');
      expect(code).to.equal(2);
      expect(stderr).to.contain('no source "hamburg". There are: default, berlin.');
    });

    it('says what it read of each, and which could not be read, and reads the other all the same', async () => {
      begin();
      await waybill('sync', 'capture');
      const { stdout } = await waybill('status');
      expect(stdout).to.match(/Source berlin +captured .* ago/);
      rmSync(join(installation.configDir, 'berlin.sqlite'));
      const away = await waybill('sync', 'capture');
      expect(away.stdout).to.contain('Source berlin could not be read, and the others were:');
      expect(away.stdout).to.contain('Captured 0 orders and 0 customers (read 2 ');
      expect(away.code).to.equal(1);
    });

    it('says of an invoice whose customer it is', async () => {
      begin();
      await installation.app.store.transaction('a customer and two invoices', async (tx) => {
        const hash = '0'.repeat(64);
        await insertRows(tx, 'binding', [
          {
            entity: 'customer',
            source_key: 'berlin~1',
            folded_key: 'x',
            service_id: 'ber-1',
            revision: 1,
            generation: 0,
            content_hash: hash,
            mapping_fingerprint: hash,
            acknowledged_at: 1,
          },
        ]);
        const invoice = {
          amount: 100,
          due_date: '2026-12-01',
          status: 'unpaid',
          first_listed_at: 1,
          last_listed_at: 1,
        };
        await insertRows(tx, 'invoice', [
          { ...invoice, invoice_no: 'I-1', customer_code: 'ber-1' },
          { ...invoice, invoice_no: 'I-2', customer_code: 'other' },
        ]);
      });
      const { invoices } = await json('invoices');
      expect(invoices.map((one: { source: string | null }) => one.source)).to.deep.equal(['berlin', null]);
      expect((await waybill('invoices')).stdout).to.match(/I-1 .*ber-1 .* berlin/);
    });

    it('is refused where a source is gone from the settings while messages of it wait', async () => {
      begin();
      await waybill('sync', 'capture', '--source', 'berlin');
      const { sources: _, ...rest } = parse(readFileSync(settingsFile(), 'utf8'));
      writeFileSync(settingsFile(), stringify(rest, { aliasDuplicateObjects: false }));
      const { code, stderr } = await waybill('sync');
      expect(code).to.equal(2);
      expect(stderr).to.contain(
        'sources.berlin: is no longer in the settings, and messages of it are still to be sent',
      );
    });
  });
});
