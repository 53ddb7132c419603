import { existsSync } from 'node:fs';
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse, stringify } from 'yaml';
import { capture } from '../../../src/outbound/capture/capture.js';
import { merge } from '../../support/merge-settings.js';
import { openSqlite } from '../../support/sqlite-file.js';
import { answers, onAnyStore } from '../installation.js';

describe('waybill preview', () => {
  onAnyStore((installation) => {
    const { waybill } = installation;
    const makeErp = (orders: number, change = '') => {
      const database = openSqlite(join(installation.configDir, 'erp.sqlite'));
      const series = `WITH RECURSIVE s(value) AS (SELECT 1 UNION ALL SELECT value+1 FROM s WHERE value<${orders})`;
      database.exec(`
        CREATE TABLE customers (id INTEGER PRIMARY KEY, code TEXT);
        CREATE TABLE orders (id INTEGER PRIMARY KEY, order_no TEXT, customer_id INTEGER, created_at TEXT);
        CREATE TABLE lines (order_id INTEGER, line_no INTEGER, sku TEXT, quantity INTEGER, unit_price TEXT);
        INSERT INTO customers VALUES (1, 'K1');
        ${series} INSERT INTO orders SELECT value, 'SO-' || value, 1, '2026-11-02 10:00:00' FROM s;
        INSERT INTO lines SELECT id, 1, 'A-1', 2, '12.50' FROM orders;${change}`);
      database.close();
    };

    const changeSettings = async (changes: object) => {
      const file = join(installation.configDir, 'local.yaml');
      await writeFile(file, stringify(merge(parse(await readFile(file, 'utf8')), changes as never)));
    };

    it('shows one order in full, the way to it, and the total', async () => {
      makeErp(3, "UPDATE orders SET created_at='2025-12-31' WHERE id=1;");
      const { code, stdout } = await waybill('preview');
      expect(code).to.equal(0);
      expect(stdout).to.contain('Order SO-2 (key 2 in the ERP): to create');
      expect(stdout).to.contain('{"customer_code":"K1","items":[{"price":1250,"qty":2,"sku":"A-1"}],"note":"SO-2"}');
      expect(stdout).to.contain('Its customer 1: to create').and.to.contain('{"customer_code":"K1"}');
      expect(stdout).to.match(/rows of orders\.query +│ +3 │/);
      expect(stdout).to.match(/orders\.startFrom: created_at from 2026-01-01[^│]*│ +2 │ -1/);
      expect(stdout).to.match(/could be sent +│ +2 │/);
      expect(stdout).to.contain('Total: 50.00 EUR in the orders that could be sent (2).');
      expect(stdout).to.contain('Nothing checks these amounts: no order has a total of the ERP (orders.total).');
      expect(stdout).to.not.contain('Order SO-3');
      expect(stdout).to.contain('Nothing was stored or sent.');
      expect((await waybill('preview', '--limit', '2')).stdout).to.contain('Order SO-3');
    });

    it('leaves out the zeros of a computed decimal, and nothing else', async () => {
      makeErp(
        2,
        "UPDATE lines SET unit_price='15.000000000000000000'; UPDATE orders SET order_no='1.2300500000' WHERE id=1; UPDATE orders SET order_no='1.500' WHERE id=2;",
      );
      const { stdout } = await waybill('preview', '--all');
      expect(stdout).to.match(/unit_price +15\.00$/m);
      expect(stdout)
        .to.match(/order_no +1\.23005$/m)
        .and.to.match(/order_no +1\.500$/m);
    });

    it('says of one key which condition leaves it out, and of an unknown one that no row has it', async () => {
      makeErp(2, "UPDATE orders SET created_at='2025-12-31' WHERE id=1;");
      const old = await waybill('preview', '--key', '1');
      expect(old.code).to.equal(3);
      expect(old.stdout).to.contain(
        'Order 1 may not be sent:\n  orders.startFrom leaves it out: created_at from 2026-01-01',
      );
      const unknown = await waybill('preview', '--key', '77');
      expect(unknown.code).to.equal(1);
      expect(unknown.stderr).to.contain('no row of orders.query has the key 77');
      expect((await waybill('preview', '--key', '1', '--all')).code).to.equal(2);
    });

    it('says what keeps records back and what mends it, and obeys no text of the ERP', async () => {
      makeErp(2, "UPDATE lines SET sku='' WHERE order_id=1; UPDATE orders SET order_no='\u001b[2J' WHERE id=2;");
      const { code, stdout } = await waybill('preview', '--all');
      expect(code).to.equal(3);
      expect(stdout).to.contain('  1 order (1): line 1: sku is empty');
      expect(stdout)
        .to.contain('orders.lines.text: {sku: TEXT}, a SKU that')
        .and.to.contain('or orders.lines.text: skip');
      expect(stdout).to.contain('\\u001b[2J').and.not.contain('\u001b');
    });

    it('prints one JSON document, however many orders are in it', async () => {
      makeErp(40);
      const all = JSON.parse((await waybill('preview', '--all', '--json')).stdout);
      expect(all.shown).to.have.length(40);
      expect(all).to.include({ isStoreAbsent: false, environment: 'sandbox' });
      expect(all.orders).to.include({ read: 40, create: 40 });
      makeNone();
      expect(JSON.parse((await waybill('preview', '--json')).stdout).shown).to.deep.equal([]);
    });

    it('ends with 3 where the changes would be held for a person', async () => {
      makeErp(3, "ALTER TABLE orders ADD COLUMN status TEXT; UPDATE orders SET status='cancelled' WHERE id<>3;");
      const keys = ['1', '2', '3'];
      await installation.capture(
        { entity: 'customer', sourceKey: '1', record: { customer_code: 'K1' } },
        ...keys.map((sourceKey) => ({ entity: 'order' as const, sourceKey, customerKey: '1' })),
      );
      let sent = 0;
      await installation.deliver(() => answers.created(`at-service-${++sent}`));
      const follows = { cancelled: { column: 'status', values: ['cancelled'] }, onCancelled: 'delete' };
      await changeSettings({ orders: follows, capture: { maxRemovals: 1 } });
      const { code, stdout } = await waybill('preview');
      expect(stdout).to.contain('Would be held: 2 changes to orders are held').and.not.contain('What keeps');
      expect(code).to.equal(3);
    });

    it('blames no condition for rows that were not read, or that share a key', async () => {
      makeErp(
        4,
        'CREATE TABLE twice AS SELECT * FROM orders UNION ALL SELECT * FROM orders WHERE id<=2; DROP TABLE orders; ALTER TABLE twice RENAME TO orders; DELETE FROM lines WHERE order_id=4;',
      );
      const { code, stdout } = await waybill('preview');
      expect(code).to.equal(3);
      const steps = (text: string) =>
        [
          ...text.matchAll(/^│ (of these read|one row for each key|with lines|could be sent) *│ *(\d+) │ *(\S*) *│$/gm),
        ].map(([, ...step]) => step);
      expect(steps(stdout)).to.deep.equal([
        ['one row for each key', '4', '-2'],
        ['with lines', '3', '-1'],
        ['could be sent', '1', '-2'],
      ]);
      expect(steps((await waybill('preview', '--limit', '3')).stdout).slice(0, 2)).to.deep.equal([
        ['of these read', '5', ''],
        ['one row for each key', '3', '-2'],
      ]);

      await capture(installation.app.context, await installation.app.reader());
      await changeSettings({ orders: { key: 'order_no' } });
      const stopped = await waybill('preview');
      expect(stopped.stdout).to.contain('Stopped: the keys of orders were id');
      expect(steps(stopped.stdout)).to.deep.equal([
        ['of these read', '0', ''],
        ['with lines', '0', ''],
        ['could be sent', '0', ''],
      ]);
    });

    it('needs no store, and makes none', async () => {
      makeErp(2);
      const file = join(installation.configDir, 'local.yaml');
      const other = join(installation.configDir, 'none', 'store.sqlite');
      const text = await readFile(file, 'utf8');
      await writeFile(file, text.replace(/^store:\n(?: .*\n)+/m, ''));
      await appendFile(file, `\nstore: { type: sqlite, file: ${other} }\n`);
      const { code, stdout } = await waybill('preview');
      await writeFile(file, text);
      expect(code).to.equal(0);
      expect(stdout).to.contain('There is no store yet, so everything counts as new.');
      expect(existsSync(join(installation.configDir, 'none'))).to.equal(false);
    });

    const makeNone = () => {
      const database = openSqlite(join(installation.configDir, 'erp.sqlite'));
      database.exec('DELETE FROM lines; DELETE FROM orders;');
      database.close();
    };
  });
});
