import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { openSqlite } from '../support/sqlite-file.js';
import { onAnyStore } from './installation.js';

describe('waybill sync', () => {
  onAnyStore((installation) => {
    const { waybill, json } = installation;
    /** An ERP with so many customers and orders, each order of one line. */
    const makeErp = (customers: number, orders: number, quantity = 1, code = "'K' || value") => {
      const database = openSqlite(join(installation.configDir, 'erp.sqlite'));
      const series = (n: number) =>
        `WITH RECURSIVE s(value) AS (SELECT 1 UNION ALL SELECT value+1 FROM s WHERE value<${n})`;
      database.exec(`
        CREATE TABLE customers (id INTEGER PRIMARY KEY, code TEXT);
        CREATE TABLE orders (id INTEGER PRIMARY KEY, order_no TEXT, customer_id INTEGER, created_at TEXT);
        CREATE TABLE lines (order_id INTEGER, line_no INTEGER, sku TEXT, quantity INTEGER, unit_price TEXT);
        ${series(customers)} INSERT INTO customers SELECT value, ${code} FROM s;
        ${series(orders)} INSERT INTO orders SELECT value, 'SO-' || value, value % ${customers} + 1, '2026-11-02 10:00:00' FROM s;
        INSERT INTO lines SELECT id, 1, 'A-1', ${quantity}, '12.50' FROM orders;`);
      database.close();
    };

    it('says in a dry run how many there are in all, and that orders wait for their lines', async () => {
      makeErp(250, 1_000);
      const { code, stdout } = await waybill('sync', 'capture', '--dry-run');
      expect(code).to.equal(0);
      expect(stdout).to.contain('Would capture 1000 orders and 250 customers');
      expect(stdout).to.contain('1000 of the orders first wait for their lines, up to ');
      expect(stdout).to.contain('… and 1230 more\n');
      expect((await json('outbox')).messages ?? []).to.deep.equal([]);
    });

    it('names in JSON as many records as in the table, and all of those that were asked for', async () => {
      makeErp(25, 30);
      const { capture } = await json('sync', 'capture', '--dry-run');
      expect(capture.captured).to.deep.equal({ orders: 30, customers: 25 });
      expect(capture.touched.map(({ entity }: { entity: string }) => entity)).to.deep.equal(Array(20).fill('order'));
      const keys = Array.from({ length: 25 }, (_, i) => ['--key', `${i + 1}`]).flat();
      const named = (await json('sync', 'capture', '--dry-run', ...keys)).capture.touched;
      expect(named.filter(({ entity }: { entity: string }) => entity === 'order')).to.have.length(25);
    });

    it('says of a number that it has not met, why it finds nothing', async () => {
      makeErp(1, 1);
      const { code, stderr } = await waybill('sync', 'capture', '--key', 'SO-1', '--by', 'number');
      expect(code).to.equal(1);
      expect(stderr).to.contain('none of SO-1 is the number of an eligible record that Waybill has read before');
    });

    it('says in a dry run that nothing could go, and that the service was not asked', async () => {
      makeErp(1, 1, -1, 'NULL');
      const { stdout } = await waybill('sync', '--dry-run');
      expect(stdout).to.contain('Would capture 1 orders and 0 customers').and.to.contain('1 parked)');
      expect(stdout).to.contain('None of them could be sent as they are.');
      expect(stdout).to.contain(
        'the service was not asked: whether it takes the credential shows with the first request',
      );
    });

    it('says in a dry run how many could not go', async () => {
      makeErp(2, 4, 1, "CASE value WHEN 1 THEN NULL ELSE 'K' || value END");
      const { stdout } = await waybill('sync', '--dry-run');
      expect(stdout).to.contain('Would capture 4 orders and 2 customers');
      expect(stdout).to.contain('\n3 of them could not be sent as they are.');
    });

    it('says that orders.startFrom leaves out all orders', async () => {
      makeErp(2, 3);
      appendFileSync(join(installation.configDir, 'local.yaml'), '\ninvoices: { enabled: false }\n');
      const file = join(installation.configDir, 'local.yaml');
      writeFileSync(file, readFileSync(file, 'utf8').replace('from: 2026-01-01', 'from: 2026-12-01'));
      const words = 'No order may be sent: orders.startFrom leaves out 3 older ones';
      expect((await waybill('sync', 'capture', '--dry-run')).stdout).to.contain(words);
      expect((await waybill('sync', 'capture')).stdout).to.contain(words);
      expect((await json('sync', 'capture')).excludedByStartFrom).to.equal(3);
      expect((await waybill('resync', 'customers', '--dry-run')).stdout).to.not.contain('startFrom');
    });

    it('blames orders.startFrom neither for a filter that finds none, nor where no order has changed', async () => {
      makeErp(2, 3);
      const database = openSqlite(join(installation.configDir, 'erp.sqlite'));
      database.exec("UPDATE orders SET created_at='2025-11-02' WHERE id=3");
      database.close();
      const words = 'orders.startFrom leaves out';
      const range = ['--from', '2026-03-01', '--to', '2026-03-02'];
      expect((await waybill('resync', 'orders', ...range, '--dry-run')).stdout).to.not.contain(words);
      expect((await waybill('sync', 'capture', '--dry-run')).stdout).to.not.contain(words);
    });

    it('tells orders without a date from older ones', async () => {
      makeErp(2, 3);
      const database = openSqlite(join(installation.configDir, 'erp.sqlite'));
      database.exec("UPDATE orders SET created_at=CASE id WHEN 3 THEN NULL ELSE '2025-11-02' END");
      database.close();
      const { stdout } = await waybill('sync', 'capture', '--dry-run');
      expect(stdout).to.contain('No order may be sent: orders.startFrom leaves out 2 older ones, for good.');
      const words = '1 without a created_at: give it one in the ERP';
      expect(stdout).to.contain(`No order may be sent: orders.startFrom leaves out ${words}.`);
      const live = (await waybill('go-live', '--dry-run')).stdout;
      expect(live).to.match(/Left out +2 older orders \(orders\.startFrom\), for good\n/);
      expect(live).to.contain(words);
      expect(await json('go-live', '--dry-run')).to.include({ excludedByStartFrom: 2, withoutStart: 1 });
    });

    it('says how many wait for a person in all, and how many of them are new', async () => {
      makeErp(1, 1, -1, 'NULL');
      const file = join(installation.configDir, 'local.yaml');
      const given = readFileSync(file, 'utf8').replace(/^orders:\n/m, 'orders:\n  settleSeconds: 0\n');
      writeFileSync(file, `${given}\ninvoices: { enabled: false }\n`);
      const parked = ['101', '102', '103', '104', '105', '106'];
      await installation.capture(
        ...parked.map((sourceKey) => ({ entity: 'order' as const, sourceKey, unmapped: 'no code' })),
      );
      expect((await waybill('sync', 'deliver')).stdout).to.contain(
        '6 wait for a person, 0 of them new: waybill outbox',
      );
      const { code, stdout } = await waybill('sync');
      expect(stdout).to.contain('7 wait for a person, 1 of them new: waybill outbox --state parked');
      expect(code).to.equal(3);
      expect((await json('sync')).parked).to.equal(7);
    });
  });
});
