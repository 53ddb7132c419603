import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { onTerminal } from '../../support/on-terminal.js';
import { useTempDir } from '../../support/temp-dir.js';
import { useMariaDb, usePostgres } from '../../support/use-database.js';
import { odooDemo, odooTables } from '../odoo.js';
import { answersFor, flagsFor } from './init-answers.js';
import { init, initJson, questionsOf, recordsBy } from './init-lab.js';
import { dolibarr, erpnext, frontaccounting, weberp } from './known-schemas.js';

describe('waybill init --yes', function () {
  this.timeout(60_000);

  /** An ERP on MariaDB, and what connects to it. */
  const onMariaDb = (tables: readonly string[]) => {
    const dir = useTempDir();
    const { server, database } = lazily(useMariaDb());
    const flags: string[] = [];
    before(async () => {
      const connection = await server().connect(database().database);
      for (const statement of tables) await connection.query(statement);
      await connection.end();
      const { port, database: name, user, password } = database();
      writeFileSync(dir.file('password'), password, { mode: 0o600 });
      flags.push('--type', 'mysql', '--port', `${port}`, '--database', name, '--user', user);
      flags.push('--password-file', dir.file('password'), '--time-zone', 'Europe/Paris', '--start-from', '2026-01-01');
    });
    /** Takes every right from the account, and gives it those that `init` printed. */
    const grantOnly = async (grants: readonly string[]) => {
      const account = `'${database().user}'@'127.0.0.1'`;
      await database().query(`REVOKE ALL PRIVILEGES, GRANT OPTION FROM ${account}`);
      for (const grant of grants.filter((one) => one.startsWith('GRANT')))
        await database().query(grant.replace(/'[^']*'@'%'/, account));
    };
    return { dir, flags, config: () => dir.file('config'), grantOnly, server: database };
  };

  describe('on Dolibarr', () => {
    const { dir, flags, config, grantOnly } = onMariaDb(dolibarr);

    it('sends what is validated, by its exact net amounts, and asks which currency', async () => {
      const asked = await initJson(config(), ...flags);
      expect(asked.code).to.equal(2);
      expect(asked.open).to.deep.equal([
        {
          name: 'currency',
          text: 'The orders of which currency are sent?',
          choices: [
            { value: 'EUR', note: '5 orders in any state' },
            { value: 'USD', note: '1 order in any state' },
          ],
        },
        {
          name: 'text-lines',
          text: '2 lines have no SKU, 1 of them a price. A SKU for them, or skip: those without a price are left out, the others need a person.',
        },
      ]);
      const done = await initJson(config(), ...flags, '--currency', 'EUR', '--text-lines', 'TEXT');
      expect(done).to.deep.include({ code: 0, erp: 'Dolibarr' });
      const { records, parked, totals, customers } = await recordsBy(config());
      expect(totals).to.deep.equal({ 2: 1250 });
      // 93.47 for three: no whole price comes to it, and a person is shown both figures.
      expect([...parked].map(([key, reason]) => [key, /no price comes to amount 93\.47/.test(reason)])).to.deep.equal([
        ['1', true],
      ]);
      expect(records.get('2')).to.deep.equal({
        customer_code: 'ROWID-2',
        note: 'CO1107-0003',
        items: [{ sku: 'APPLEPIE', qty: 5, price: 250 }],
      });
      expect(customers).to.deep.include({
        customer_code: 'CU1212-0007',
        name: 'Indian SAS',
        street: '1 alalah road',
        city: 'Paris',
        country: 'FR',
      });
    });

    it('takes the amounts in their own currency where that is meant, with no more rights than it prints', async () => {
      const { grants } = await initJson(dir.file('usd'), ...flags, '--currency', 'USD', '--text-lines', 'skip');
      await grantOnly(grants);
      expect((await recordsBy(dir.file('usd'))).totals).to.deep.equal({ 5: 11_000 });
    });
  });

  describe('on ERPNext', () => {
    const { flags, config } = onMariaDb(erpnext);

    it('sends what is submitted, by its net amounts, and asks which company', async () => {
      const asked = await initJson(config(), ...flags);
      expect(
        asked.open.map(({ name, choices }: { name: string; choices: { value: string }[] }) => [
          name,
          choices.map(({ value }) => value),
        ]),
      ).to.deep.equal([['company', ['Wind Power', 'Sun Power']]]);
      await initJson(config(), ...flags, '--company', 'Wind Power');
      const { settings, records, parked, totals, customers } = await recordsBy(config());
      expect(settings.orders.replaces, 'an amended order goes on for another one').to.deep.equal(['amended_from']);
      expect(totals).to.deep.equal({ 'SAL-ORD-2026-00001': 27_000 });
      expect([...parked.keys()]).to.deep.equal(['SAL-ORD-2026-00005']);
      expect(records.get('SAL-ORD-2026-00001')).to.deep.equal({
        ...{ customer_code: 'West View Software Ltd.', note: 'SAL-ORD-2026-00001' },
        items: [{ sku: 'Wind Turbine-L', qty: 3, price: 9000 }],
      });
      expect(customers).to.deep.equal([
        { customer_code: 'West View Software Ltd.', name: 'West View Software Ltd.', email: 'w@example.test' },
      ]);
    });
  });

  describe('on ERPNext, read as a schema that it does not know', () => {
    const { dir, flags } = onMariaDb(erpnext);
    const tables = ['--orders-table', 'tabSales Order', '--lines-table', 'tabSales Order Item'];
    const asUnknown = ['--preset', 'none', ...tables, '--customers-table', 'tabCustomer'];

    it('asks by which columns the tables belong together, where no key says it', async () => {
      const first = await initJson(dir.file('open'), ...flags, ...asUnknown);
      expect(first.code).to.equal(2);
      const [order, customer] = ['line.order', 'order.customer'].map((role) =>
        first.open.find((one: { role?: string }) => one.role === role),
      );
      expect(order.text).to.equal('Which column of tabSales Order Item names the order that the line belongs to?');
      expect(order.choices).to.deep.include({ value: 'line.order=parent', note: '5 of 5 keys are there' });
      expect(customer.text).to.match(/^Which column of tabSales Order names its customer, the buyer\?/);
      expect(customer.choices.map(({ value }: { value: string }) => value)).to.include('order.customer=customer');
      const answers = answersFor({
        ...{ orders: 'tabSales Order', lines: 'tabSales Order Item', customers: 'tabCustomer' },
        columns: {
          ...{ 'order.number': 'name', 'order.created': 'transaction_date', 'order.status': 'status' },
          ...{ 'order.customer': 'customer', 'customer.code': 'name', 'customer.name': 'customer_name' },
          ...{ 'line.order': 'parent', 'line.sku': 'item_code', 'line.qty': 'qty', 'line.amount': 'net_amount' },
          ...{ 'order.total': 'net_total', 'order.currency': 'currency' },
        },
        flags: {
          ...{
            status: 'all',
            'orders-with': ['company=Wind Power', 'docstatus=1'],
            'lines-with': 'parenttype=Sales Order',
          },
          ...{ 'time-zone': '', 'start-from': '' },
        },
      });
      const done = await initJson(dir.file('named'), ...flags, '--preset', 'none', ...flagsFor(answers));
      expect([done.code, done.erp], JSON.stringify(done)).to.deep.equal([
        0,
        'tabSales Order, tabSales Order Item and tabCustomer',
      ]);
      const { totals, parked } = await recordsBy(dir.file('named'));
      expect([totals, [...parked.keys()]]).to.deep.equal([{ 'SAL-ORD-2026-00001': 27_000 }, ['SAL-ORD-2026-00005']]);
    });

    it('refuses a column that is not there or holds no key, and asks for the tables that are not named', async () => {
      const said = async (...more: string[]) => (await init(dir.file('x'), ...flags, ...asUnknown, ...more)).stderr;
      expect(await said('--column', 'line.order=parents')).to.match(
        /^waybill: --column line\.order=parents: tabSales Order Item has name, parent, parentfield, /,
      );
      expect(await said('--column', 'order.customer=customer', '--column', 'line.order=qty')).to.match(
        /^waybill: --column line\.order=qty: it can not hold a key of tabSales Order\. These columns of tabSales Order Item can: .*parent, /,
      );
      const some = await initJson(dir.file('some'), ...flags, '--preset', 'none', ...tables.slice(0, 2));
      expect(questionsOf(some)).to.include.members(['lines-table', 'column order.customer', 'customers-table']);
    });
  });

  describe('on webERP', () => {
    const { flags, config } = onMariaDb(weberp);

    it('sends what is no quotation, computes the discount exactly, and reads freight, entities and empty dates', async () => {
      const done = await initJson(config(), ...flags, '--currency', 'USD');
      expect(done).to.deep.include({ code: 0, erp: 'webERP' });
      const { settings, records, parked, totals, customers } = await recordsBy(config());
      expect(totals).to.deep.equal({ 1: 4866 });
      expect(parked.get('2')).to.match(/no price comes to amount 31\.00: 3 × 10\.33 is 30\.99/);
      expect(records.get('1')).to.deep.equal({
        ...{ customer_code: 'ANGRY', note: '1' },
        items: [
          { sku: 'BREAD', qty: 1, price: 3116 },
          { sku: 'SALT', qty: 2, price: 250 },
          { sku: 'FREIGHT', qty: 1, price: 1250 },
        ],
      });
      expect(customers).to.deep.equal([
        {
          customer_code: 'ANGRY',
          name: 'Angus Rouledge & Co',
          street: '123 Alexander Road',
          city: 'Leeds',
          country: 'United Kingdom',
        },
      ]);
      expect(settings.capture.sweepMinutes, 'nothing says what changed').to.equal(15);
    });
  });

  describe('on webERP, read as a schema that it does not know', () => {
    const { dir, flags } = onMariaDb(weberp);

    it('asks what the discount takes off, which no total proves, and takes it as it is said', async () => {
      const answers = (unit: string) =>
        flagsFor(
          answersFor({
            ...{ orders: 'salesorders', lines: 'salesorderdetails', customers: 'debtorsmaster' },
            columns: {
              ...{ 'order.number': 'orderno', 'order.created': 'orddate', 'order.customer': 'debtorno' },
              ...{
                'customer.code': 'debtorno',
                'line.order': 'orderno',
                'line.sku': 'stkcode',
                'line.qty': 'quantity',
              },
              ...{ 'line.price': 'unitprice', 'line.discount': 'discountpercent', 'order.total': 'none' },
              ...{ 'order.currency': 'none' },
            },
            flags: {
              ...{ pending: 'all', 'lines-with': 'none', discount: unit, currency: 'USD', 'text-lines': 'TEXT' },
              ...{ 'time-zone': '', 'start-from': '' },
            },
          }),
        );
      const { code, open } = await initJson(dir.file('open'), ...flags, '--preset', 'none', ...answers(''));
      expect([code, open[0].name, open[0].choices.map(({ value }: { value: string }) => value)]).to.deep.equal([
        ...[2, 'discount', ['percent', 'fraction', 'none']],
      ]);
      await initJson(dir.file('fraction'), ...flags, '--preset', 'none', ...answers('fraction'));
      expect((await recordsBy(dir.file('fraction'))).totals['1']).to.equal(3616);
      await initJson(dir.file('percent'), ...flags, '--preset', 'none', ...answers('percent'));
      expect((await recordsBy(dir.file('percent'))).totals['1']).to.equal(3848);
    });
  });

  describe('on FrontAccounting', () => {
    const { dir, flags, config, server } = onMariaDb(frontaccounting);

    it('sends what is no quotation and no template, with its freight, and compares the totals of these alone', async () => {
      const done = await initJson(config(), ...flags, '--currency', 'USD');
      expect(done).to.deep.include({ code: 0, erp: 'FrontAccounting' });
      const { settings, records, totals, parked } = await recordsBy(config());
      expect(settings.orders.total).to.equal('total');
      expect(parked.size).to.equal(0);
      expect(totals).to.deep.equal({ '30/1': 624_000, '30/2': 3615 });
      expect([...records.values()].map(({ note, customer_code }) => [note, customer_code])).to.deep.equal([
        ['1', '1'],
        ['002/2026', '1'],
      ]);
    });

    it('says that it compares no totals where tax is in one of them', async () => {
      await server().query('UPDATE 0_sales_orders SET total = 280.50 WHERE order_no = 4');
      const { settled } = await initJson(dir.file('taxed'), ...flags, '--currency', 'USD');
      const reason = 'total is not the sum of the lines in 1 of 3 orders';
      expect(settled).to.deep.include({ name: 'orders.total', value: 'not compared', reason });
      expect((await recordsBy(dir.file('taxed'))).settings.orders.total).to.equal(undefined);
    });
  });

  describe('on FrontAccounting with flags that mean something else', () => {
    const { dir, flags } = onMariaDb(frontaccounting);
    const port = () => flags[flags.indexOf('--port') + 1] ?? '';

    it('names the flags where the server or the account is wrong, and promises no second attempt', async () => {
      const said = async (flag: string, value: string) =>
        (await init(dir.file('x'), ...flags, '--currency', 'USD', flag, value)).stderr;
      expect(await said('--type', 'postgres')).to.match(
        /^waybill: Could not connect .* Check --type, --host and --port\.\n$/,
      );
      expect(await said('--port', '1')).to.match(/Check --host and --port, and that the server is running\.\n$/);
      expect(await said('--user', 'nobody')).to.match(/Check --user and its password\.\n$/);
      expect(await said('--database', 'none')).to.match(/Check --database/);
    });

    it('asks a person for the place again where it is wrong, and keeps what was said', async () => {
      const wrong = flags.flatMap((flag) => (flag === port() ? '1' : flag));
      const password = readFileSync(dir.file('password'), 'utf8');
      const { code, shown } = await onTerminal(
        ['init', '--config', dir.file('again'), ...wrong, '--installation', 'shop-1', '--currency', 'USD'],
        [
          ['On which server? [127.0.0.1]', ''],
          ['Check --host and --port, and that the server is running.', ''],
          ['On which port? [1]', port()],
          ['What is the database called?', ''],
          ['An account that may read it?', ''],
          ['Its password (it is not shown):', 'wrong'],
          ['Check --user and its password.', ''],
          [`On which port? [${port()}]`, ''],
          ['What is the database called?', ''],
          ['An account that may read it?', ''],
          ['Its password (it is not shown):', password],
          ['These are the tables of FrontAccounting. Take them so?', ''],
          ['local.yaml? [Y/n]', 'y'],
        ],
      );
      expect(code, shown).to.equal(0);
      expect(shown).not.to.contain(password);
      expect(readFileSync(join(dir.file('again'), 'erp-password'), 'utf8')).to.equal(password);
      expect((await recordsBy(dir.file('again'))).totals).to.deep.equal({ '30/1': 624_000, '30/2': 3615 });
    });

    it('refuses what it has no use for, and what no order has, and says what there is', async () => {
      const usd = ['--currency', 'USD'];
      const refused: [flags: string[], reason: string][] = [
        [
          ['--table-prefix', '1_', ...usd],
          '--table-prefix 1_: there are no tables of a known ERP under it; there are those of FrontAccounting under 0_.',
        ],
        [
          ['--table-prefix', '0_', '--preset', 'none', ...usd],
          '--table-prefix 0_: --preset none reads the tables as those of an unknown ERP. Name them: --orders-table, --lines-table, --customers-table.',
        ],
        [
          ['--orders-table', 'foo', ...usd],
          '--orders-table foo: these are the tables of FrontAccounting, where it is known. Leave it out, or read them as those of an unknown ERP: --preset none.',
        ],
        [
          ['--money-unit', 'minor', ...usd],
          '--money-unit minor: these are the tables of FrontAccounting, where it is known. Leave it out, or read them as those of an unknown ERP: --preset none.',
        ],
        [
          ['--preset', 'frontaccounting', '--column', 'line.price=unit_price', ...usd],
          '--preset frontaccounting: its columns are known. Leave out --column, or write --preset none.',
        ],
        [
          ['--company', 'Nobody', ...usd],
          '--company Nobody: no column here says a company. Leave it out, or name the column: --orders-with COLUMN=VALUE',
        ],
        [['--currency', 'GBP'], '--currency GBP: no order has GBP; there are USD, EUR'],
      ];
      for (const [more, reason] of refused) {
        const { code, stderr } = await init(dir.file('x'), ...flags, ...more);
        expect([code, stderr]).to.deep.equal([2, `waybill: ${reason}\n`]);
      }
      const done = await initJson(dir.file('right'), ...flags, ...usd, '--table-prefix', '0_');
      expect(done).to.deep.include({ code: 0, erp: 'FrontAccounting' });
    });
  });

  describe('on FrontAccounting with two companies', () => {
    const second = frontaccounting.map((statement) => statement.replaceAll(/\b0_/g, '1_'));
    const { flags, config } = onMariaDb([
      ...frontaccounting,
      ...second,
      'DELETE FROM 1_sales_orders WHERE order_no <> 2',
    ]);

    it('asks which of them is meant', async () => {
      const asked = await initJson(config(), ...flags, '--currency', 'USD');
      expect(asked.open.map(({ name, choices }: { name: string; choices: unknown }) => [name, choices])).to.deep.equal([
        ['table-prefix', ['0_', '1_'].map((value) => ({ value, note: 'FrontAccounting' }))],
      ]);
      await initJson(config(), ...flags, '--currency', 'USD', '--table-prefix', '1_');
      expect((await recordsBy(config())).totals).to.deep.equal({ '30/2': 3615 });
    });
  });

  describe('on Odoo', () => {
    const dir = useTempDir();
    const { server, database } = lazily(usePostgres());

    it('sends what is confirmed, knows the zone of its times, and parks what has a fraction', async () => {
      const client = await server().connect(database().database);
      await client.query(odooTables);
      await client.query(odooDemo);
      const { rows } = await client.query(
        "SELECT id, (amount_untaxed * 100)::int AS cents FROM sale_order WHERE state = 'sale' AND currency_id = 1 AND id <> 17",
      );
      const { port, database: name, user, password } = database();
      // One without a currency, and a line of nothing, as for a down payment.
      await client.query("UPDATE sale_order SET currency_id = NULL WHERE name = 'S00002'");
      await client.query(
        "INSERT INTO sale_order_line (order_id, sequence, name, product_uom_qty, price_unit, price_subtotal) VALUES (1, 90, 'Down payment', 0, 0, 0)",
      );
      const all = rows.filter(({ id }) => id !== 2);
      await client.query(`GRANT SELECT ON ALL TABLES IN SCHEMA public TO "${user}"`);
      writeFileSync(dir.file('password'), password, { mode: 0o600 });
      const flags = ['--type', 'postgres', '--port', `${port}`, '--database', name, '--user', user];
      flags.push('--password-file', dir.file('password'), '--currency', 'EUR', '--start-from', 'all');
      flags.push('--time-zone', 'Europe/Berlin');
      const done = await initJson(dir.file('config'), ...flags);
      expect(done).to.deep.include({ code: 0, erp: 'Odoo' });
      const { settings, totals, parked } = await recordsBy(dir.file('config'));
      expect(settings.erp.timeZone, 'the times in the tables').to.equal('UTC');
      expect(settings.schedule.timeZone, 'that of the people').to.equal('Europe/Berlin');
      const read = await client.query(`SELECT 1 FROM (${settings.orders.query}) q`);
      expect(read.rowCount, 'the one without a currency is read').to.equal(20);
      await client.end();
      expect(totals).to.deep.equal(Object.fromEntries(all.map(({ id, cents }) => [id, cents])));
      expect([...parked.keys()]).to.deep.equal(['17']);
      const asUnknown = flagsFor(
        answersFor({
          ...{ orders: 'sale_order', lines: 'sale_order_line', customers: 'res_partner' },
          columns: {
            ...{ 'order.number': 'name', 'order.created': 'date_order', 'order.changedAt': 'write_date' },
            ...{ 'order.customer': 'partner_id', 'customer.code': 'id', 'line.sku': 'default_code' },
            ...{ 'line.qty': 'product_uom_qty', 'line.amount': 'price_subtotal', 'order.total': 'amount_untaxed' },
            ...{ 'order.currency': 'currency_id' },
          },
          flags: {
            ...{ pending: "state = 'sale'", 'lines-with': 'none', 'text-lines': 'TEXT' },
            ...{ currency: '', 'time-zone': '', 'start-from': '' },
          },
        }),
      );
      asUnknown.push('--preset', 'none', '--time-zone', 'UTC');
      const unknown = await initJson(dir.file('unknown'), ...flags, ...asUnknown);
      expect(unknown.code, JSON.stringify(unknown)).to.equal(0);
      const { records } = await recordsBy(dir.file('unknown'));
      expect(records.get('1')?.items[0], 'default_code names the product').to.include({ sku: 'FURN_7777' });
    });
  });
});

/** A database is there only while tests and their hooks run. */
function lazily<Server, Database>(handle: { readonly server: Server; readonly database: Database }) {
  return { server: () => handle.server, database: () => handle.database };
}
