import { join } from 'node:path';
import { expect } from 'chai';
import { openSqlite } from '../support/sqlite-file.js';
import { answers, type Installation, onAnyStore } from './installation.js';

onAnyStore((installation) => {
  const withErp = ({ configDir }: Installation, id: string) => {
    const database = openSqlite(join(configDir, 'erp.sqlite'));
    database.exec(`
      CREATE TABLE customers (id TEXT PRIMARY KEY, code TEXT);
      CREATE TABLE orders (id TEXT PRIMARY KEY, order_no TEXT, customer_id TEXT, created_at TEXT);
      CREATE TABLE lines (order_id TEXT, line_no INTEGER, sku TEXT, quantity INTEGER, unit_price TEXT);
      INSERT INTO customers VALUES ('1', 'K1');`);
    database.prepare("INSERT INTO orders VALUES (?, 'SO-7', '1', '2026-11-02')").run(id);
    database.prepare("INSERT INTO lines VALUES (?, 1, 'A-1', 2, '12.50')").run(id);
    database.close();
  };

  it('gives one record the key that its row has now, as the reason that holds it says', async () => {
    const key = "new 'key'";
    withErp(installation, key);
    await installation.capture(
      { entity: 'customer', sourceKey: '1' },
      { entity: 'order', sourceKey: '7', number: 'SO-7' },
    );
    await installation.deliver(({ entity }) => answers.created(entity === 'order' ? 'ord-7' : 'K1'));
    const keys = ['rekey', 'orders', '7', key];

    for (const all of [['--dry-run'], ['--same']]) {
      const { code, stdout } = await installation.waybill('rekey', 'orders', ...all);
      expect(code).to.equal(0);
      expect(stdout).to.match(/are what they were\. .*: waybill rekey orders OLD NEW\n$/);
    }
    const both = await installation.waybill('rekey', 'orders', '7');
    expect([both.code, both.stderr]).to.deep.equal([
      2,
      'waybill: Give both keys of the record: the old and the new.\n',
    ]);
    const mixed = await installation.waybill(...keys, '--same');
    expect(mixed.code).to.equal(2);
    const unconfirmed = await installation.waybill(...keys);
    expect(unconfirmed.code).to.equal(2);
    expect(await installation.json(...keys, '--dry-run')).to.include({ changed: false, serviceId: 'ord-7', closed: 0 });

    const { code, stdout } = await installation.waybill(...keys, '--yes', '--reason', 'renamed');
    expect(code).to.equal(0);
    expect(stdout).to.contain(`order 7 (SO-7) is ord-7 at the service, and ${key} in the ERP now.`);
    const again = await installation.waybill(...keys, '--yes');
    expect([again.code, again.stderr]).to.deep.equal([1, 'waybill: the store knows no order 7\n']);
    const [line] = await installation.json('audit', '--outcome', 'rekey');
    expect(line).to.deep.include({
      entity: 'order',
      sourceKey: key,
      detail: { from: '7', to: key, reason: 'renamed' },
    });
  });
});
