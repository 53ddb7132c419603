import { chmodSync, existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Finding } from '../../../src/operator/setup/doctor/finding.js';
import { openSqlite } from '../../support/sqlite-file.js';
import { onAnyStore } from '../installation.js';

describe('waybill doctor', () => {
  onAnyStore((installation) => {
    const { waybill } = installation;
    const edit = async (change: (text: string) => string) => {
      const file = join(installation.configDir, 'local.yaml');
      const text = await readFile(file, 'utf8');
      await writeFile(file, change(text));
    };
    const findings = async (): Promise<Finding[]> => {
      // No address of the outside is asked for.
      await edit((text) => text.replace('https://sandbox.example.com', 'http://127.0.0.1:1'));
      return JSON.parse((await waybill('doctor', '--json')).stdout).findings;
    };
    const makeErp = () => {
      const database = openSqlite(join(installation.configDir, 'erp.sqlite'));
      database.exec(`
        CREATE TABLE customers (id INTEGER PRIMARY KEY, code TEXT);
        CREATE TABLE orders (id INTEGER PRIMARY KEY, order_no TEXT, customer_id INTEGER, created_at TEXT);
        CREATE TABLE lines (order_id INTEGER, line_no INTEGER, sku TEXT, quantity INTEGER, unit_price TEXT);
        INSERT INTO customers VALUES (1, 'K1');
        INSERT INTO orders VALUES (1, 'SO-1', 1, '2026-11-02 10:00:00');
        INSERT INTO lines VALUES (1, 1, 'A-1', 2, '12.50');`);
      database.close();
    };

    it('looks at every part, also where the service can not be reached', async () => {
      makeErp();
      const found = await findings();
      expect(new Set(found.map(({ part }) => part))).to.deep.equal(
        new Set(['configuration', 'erp', 'mapping', 'store', 'service', 'machine']),
      );
      expect(found.filter(({ severity }) => severity === 'error').map(({ part }) => part)).to.deep.equal(['service']);
      expect(found.find(({ what }) => what.startsWith('orders.lines.query'))?.todo[0]).to.contain('CREATE INDEX');
      const { code, stdout } = await waybill('doctor');
      expect(code).to.equal(1);
      expect(stdout).to.contain('ERROR    service: 127.0.0.1:1 can not be reached');
      expect(stdout).to.match(/\n1 errors, \d+ warnings, \d+ notes\.\n$/);
    });

    it('looks at the rest where there is no ERP, and none where the settings are wrong', async () => {
      const found = await findings();
      expect(found.filter(({ part }) => part === 'erp').map(({ severity }) => severity)).to.include('error');
      expect(found.some(({ part }) => part === 'store')).to.equal(true);
      await edit((text) => text.replace('currency: EUR', 'currency: EURO'));
      const { code, stdout } = await waybill('doctor');
      expect(code).to.equal(2);
      expect(stdout).to.contain('ERROR    configuration: amounts.currency');
    });

    it('reports the modes of files', async () => {
      makeErp();
      chmodSync(join(installation.configDir, 'token'), 0o644);
      const { store } = installation.app.settings;
      if (store.type === 'sqlite') chmodSync(store.file, 0o640);
      const todo = (await findings()).flatMap((one) => one.todo).join('\n');
      const said = (await findings()).map(({ what }) => what).join('\n');
      expect(said).to.contain('token may be read by every account');
      if (store.type === 'sqlite') expect(todo).to.contain(`chmod 600 ${store.file}`);
    });

    it('makes no store and sends nothing where it was not told to', async () => {
      makeErp();
      const other = join(installation.configDir, 'none', 'store.sqlite');
      await edit((text) => `${text.replace(/^store:\n(?: .*\n)+/m, '')}\nstore: { type: sqlite, file: ${other} }\n`);
      const found = await findings();
      expect(found.filter(({ part }) => part === 'store').map(({ what }) => what)).to.deep.equal([
        'There is no store yet: the daemon makes it at its first start.',
      ]);
      expect(existsSync(join(installation.configDir, 'none'))).to.equal(false);
    });
  });
});
