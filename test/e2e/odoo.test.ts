import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { Client } from 'pg';
import { parse } from 'yaml';
import { type Sandbox, startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import { useTempDir } from '../support/temp-dir.js';
import { usePostgres } from '../support/use-database.js';
import { canary, type Daemon, eventually, Installation } from './installation.js';
import { computed, odooDemo, odooTables } from './odoo.js';

const {
  erp: example,
  customers,
  orders,
  amounts,
  ...others
} = parse(readFileSync('config/example-odoo/local.yaml', 'utf8'));
/** The GRANT that the example names. */
const grants = /GRANT (SELECT ON [\w, ]+) TO/.exec(readFileSync('config/example-odoo/local.yaml', 'utf8'))?.[1] ?? '';

describe('waybill daemon with an Odoo on PostgreSQL, by the example configuration', function () {
  this.timeout(120_000);
  const dir = useTempDir();
  const odoo = usePostgres();
  let erp: Client;
  let sandbox: Sandbox;
  let waybill: Installation;
  let daemon: Daemon;

  before(async () => {
    erp = await odoo.server.connect(odoo.database.database);
    await erp.query(odooTables);
    await erp.query(odooDemo);
    const reader = await odoo.database.createUser([grants]);
    sandbox = await startSandbox({ token: canary.token });
    waybill = new Installation({
      folder: dir.path,
      serviceUrl: sandbox.url,
      erp: { type: 'postgres', database: odoo.database, user: reader.user, password: reader.password },
      store: { type: 'sqlite' },
      timeZone: example.timeZone,
      settings: { customers, orders, amounts, schedule: { ...others.schedule, capture: '* * * * * *' } },
    });
    daemon = waybill.daemon();
  });
  after(async () => {
    daemon?.kill('SIGKILL');
    await daemon?.ended;
    await sandbox?.close();
    await erp?.end();
  });

  /** The worth of each sent order in the ERP, and at the service: both in cents, by its number. */
  const amountsOf = async () => {
    const { rows } = await erp.query(
      `SELECT name, (amount_untaxed * 100)::bigint AS cents FROM sale_order o
        WHERE state = 'sale' AND currency_id = 1 AND id <> 17 ORDER BY name`,
    );
    return rows.map(({ name, cents }) => [name, Number(cents)]);
  };
  const atService = () =>
    sandbox
      .ledger()
      .orders.map(({ reference, total }) => [reference, total])
      .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
  const arrive = (what: string) =>
    eventually(what, async () => JSON.stringify(atService()) === JSON.stringify(await amountsOf()), 30_000);
  const insert = (name: string, writtenAt: string) =>
    erp.query(
      `INSERT INTO sale_order (name, partner_id, currency_id, state, date_order, create_date, write_date)
         VALUES ('${name}', 1, 1, 'sale', now(), ${writtenAt}, ${writtenAt});
       INSERT INTO sale_order_line (order_id, sequence, product_id, name, product_uom_qty, price_unit, discount)
         SELECT id, 10, 2, 'Desk', 4, 1234.56, 25 FROM sale_order WHERE name = '${name}';
       ${computed()}`,
    );
  const now = "(clock_timestamp() AT TIME ZONE 'UTC')";

  it('brings the demo orders and their customers, each amount exact', async () => {
    await arrive('the demo orders');
    expect(atService()).to.have.length(16);
    const parked = await waybill.run('outbox', '--class', 'unmapped', '--json');
    expect(parked.stdout).to.match(/line \d: qty 2\.5 is not a whole number/);
    const { customers: sent, duplicates, orders: sentOrders } = sandbox.ledger();
    expect(duplicates).to.deep.equal([]);
    expect(sent.map(({ record }) => record)).to.deep.include.members([
      {
        ...{ customer_code: 'P1', name: 'Azure Interior', email: 'azure@example.test' },
        ...{ street: 'Hauptstraße 1', postcode: '10115', city: 'Berlin', country: 'DE' },
      },
      { customer_code: 'P2', name: 'Azure Interior' },
    ]);
    expect(sentOrders.find(({ reference }) => reference === 'S00015')?.record).to.deep.equal({
      ...{ customer_code: 'P2', note: 'S00015' },
      items: [
        { sku: 'FURN_7777', qty: 4, price: 6300 },
        { sku: 'DESK0006', qty: 3, price: 19999 },
      ],
    });
  });

  it('brings a new order, an edited line, and an order whose transaction was open meanwhile', async () => {
    const slow = await odoo.server.connect(odoo.database.database);
    try {
      await slow.query(`BEGIN;
        INSERT INTO sale_order (name, partner_id, currency_id, state, date_order, amount_untaxed, create_date, write_date)
          VALUES ('S00021', 1, 1, 'sale', now(), 199.99, ${now}, ${now});
        INSERT INTO sale_order_line (order_id, sequence, product_id, name, product_uom_qty, price_unit, price_subtotal)
          SELECT id, 10, 2, 'Desk', 1, 199.99, 199.99 FROM sale_order WHERE name = 'S00021'`);
      await insert('S00022', now);
      await arrive('the order that was committed first');
      await slow.query('COMMIT');
      await arrive('the order that was committed late');
    } finally {
      await slow.end();
    }
    await erp.query(
      `UPDATE sale_order_line SET product_uom_qty = 7 WHERE order_id = 1 AND product_id = 1; ${computed()};
       UPDATE sale_order SET write_date = ${now} WHERE id = 1`,
    );
    await arrive('the edit');
    expect(atService()).to.have.length(18);
    expect(sandbox.ledger().duplicates).to.deep.equal([]);
  });
});
