import { existsSync } from 'node:fs';
import { expect } from 'chai';
import { onTerminal } from '../../support/on-terminal.js';
import { openSqlite } from '../../support/sqlite-file.js';
import { useTempDir } from '../../support/temp-dir.js';
import { init, initJson, recordsBy } from './init-lab.js';

/** A shop in a SQLite file, plain but for what a test changes. */
interface Shop {
  /** Columns of the orders beside id, customer_id, status, created_at. */
  orders?: string;
  /** Columns of the lines beside order_id, pos, sku, qty. */
  lines?: string;
  /** Before the tables are made. */
  before?: string;
  /** After the rows are in: ten orders with a line each, of one to ten pieces. */
  rows: readonly string[];
}

describe('what waybill init asks instead of guessing', function () {
  this.timeout(30_000);
  const dir = useTempDir();
  let count = 0;

  /** Runs `init --yes` on a shop, and gives what runs it again with more answers. */
  const shop = ({ orders = 'total DECIMAL(12,2)', lines = 'price DECIMAL(12,2)', before = '', rows }: Shop) => {
    const name = `shop${++count}`;
    const erp = openSqlite(dir.file(`${name}.sqlite`));
    erp.exec(`${before}; CREATE TABLE customers (id INTEGER PRIMARY KEY, customer_no VARCHAR(20), name VARCHAR(80));
      INSERT INTO customers VALUES (1, 'K1', 'Anna'), (2, 'K2', 'Bert');
      CREATE TABLE orders (id INTEGER PRIMARY KEY, order_no VARCHAR(20), customer_id INTEGER REFERENCES customers (id), status VARCHAR(10),
        currency CHAR(3), created_at DATETIME, ${orders});
      CREATE TABLE order_lines (order_id INTEGER REFERENCES orders (id), pos INTEGER, sku VARCHAR(20), qty INTEGER, ${lines},
        PRIMARY KEY (order_id, pos));
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10)
        INSERT INTO orders (id, order_no, customer_id, status, currency, created_at)
          SELECT i, 'S-' || i, 1 + i % 2, 'open', 'EUR', '2026-01-01 10:00:00' FROM n;
      INSERT INTO order_lines (order_id, pos, sku, qty) SELECT id, 1, 'A-1', id FROM orders`);
    for (const statement of rows) erp.exec(statement);
    erp.close();
    const flags = [
      '--type',
      'sqlite',
      '--file',
      dir.file(`${name}.sqlite`),
      '--time-zone',
      'UTC',
      '--start-from',
      'all',
      '--status',
      'open',
    ];
    let runs = 0;
    const answer = async (...more: string[]) => {
      const config = dir.file(`${name}-${++runs}`);
      const printed = await initJson(config, ...flags, ...more);
      return { ...printed, names: (printed.open ?? []).map((one: { name: string }) => one.name), config };
    };
    return Object.assign(answer, { flags });
  };

  it('whether whole numbers are euros or cents', async () => {
    const ask = shop({
      orders: 'total INTEGER',
      lines: 'price INTEGER',
      rows: ['UPDATE order_lines SET price = 1999', 'UPDATE orders SET total = id * 1999'],
    });
    const asked = await ask();
    expect(asked.names).to.deep.equal(['money-unit']);
    expect(asked.open[0].text).to.equal(
      'price, total hold whole numbers. Is 1999 an amount of 1999.00 (major), or of 19.99 (minor)?',
    );
    const minor = await recordsBy((await ask('--money-unit', 'minor')).config);
    expect(minor.records.get('2')?.items).to.deep.equal([{ sku: 'A-1', qty: 2, price: 1999 }]);
    const major = await recordsBy((await ask('--money-unit', 'major')).config);
    expect(major.totals['2']).to.equal(2 * 199_900);
  });

  it('on a terminal one by one, again where an answer can not be, and writes only after a yes', async () => {
    const ask = shop({
      orders: 'total INTEGER',
      lines: 'price INTEGER',
      rows: ['UPDATE order_lines SET price = 1999', 'UPDATE orders SET total = id * 1999'],
    });
    const flags = ask.flags.slice(0, ask.flags.indexOf('--status'));
    const config = dir.file('asked');
    const talk: [asked: string, answer: string][] = [
      ['or of 19.99 (minor)?', 'minor'],
      ['Orders with which status may be sent?', 'shut'],
      ['no order has shut; there are open.', 'open'],
      ['A name for this installation', ''],
      ['local.yaml? [Y/n]', 'y'],
    ];
    const { code, shown } = await onTerminal(['init', '--config', config, ...flags], talk);
    expect(code, shown).to.equal(0);
    expect(shown).to.contain('Of the first 10 orders 10 can be sent').and.contain('Look at it: waybill preview');
    expect((await recordsBy(config)).records.get('2')?.items).to.deep.equal([{ sku: 'A-1', qty: 2, price: 1999 }]);

    const refused = await onTerminal(
      ['init', '--config', dir.file('refused'), ...ask.flags, '--money-unit', 'minor', '--installation', 'shop-1'],
      [['local.yaml? [Y/n]', 'n']],
    );
    expect([refused.code, existsSync(dir.file('refused'))], refused.shown).to.deep.equal([1, false]);
  });

  it('nothing where a name says that they are cents', async () => {
    const ask = shop({
      orders: 'total_cents INTEGER',
      lines: 'price_cents INTEGER',
      rows: ['UPDATE order_lines SET price_cents = 1999', 'UPDATE orders SET total_cents = id * 1999'],
    });
    const { code, config } = await ask();
    expect(code).to.equal(0);
    expect((await recordsBy(config)).totals['3']).to.equal(3 * 1999);
    const { stderr } = await init(dir.file('unit'), ...ask.flags, '--money-unit', 'minor');
    expect(stderr).to.match(
      /^waybill: --money-unit minor: no column of whole numbers holds money .* Leave it out\.\n$/,
    );
  });

  it('for net or gross, where the totals prove both', async () => {
    const ask = shop({
      orders: 'net_total DECIMAL(12,2), gross_total DECIMAL(12,2)',
      lines: 'net_price DECIMAL(12,2), gross_price DECIMAL(12,2)',
      rows: [
        'UPDATE order_lines SET net_price = 10.50, gross_price = 12.60',
        'UPDATE orders SET net_total = ROUND(id * 10.5, 2), gross_total = ROUND(id * 12.6, 2)',
      ],
    });
    const asked = await ask();
    expect(asked.names).to.deep.equal(['column']);
    expect(asked.open[0].text).to.match(/^Two ways to take the money of a line fit the totals\./);
    const { settled, config } = await ask('--column', 'line.price=gross_price');
    expect(settled).to.deep.include({
      name: 'money',
      value: 'gross_price is the price for one',
      reason: '10 of 10 orders come to their gross_total',
    });
    expect((await recordsBy(config)).totals['2']).to.equal(2520);
  });

  it('for the price where no total proves it, and for the discount beside it', async () => {
    const ask = shop({
      orders: 'remark TEXT',
      lines: 'price DECIMAL(12,2), list_price DECIMAL(12,2), discount DECIMAL(5,2)',
      rows: ['UPDATE order_lines SET price = 10, list_price = 12, discount = 5'],
    });
    expect((await ask()).names).to.deep.equal(['column']);
    const price = ['--column', 'line.price=price'];
    const second = await ask(...price);
    expect(second.names).to.deep.equal(['discount']);
    expect(second.open[0].text).to.match(/What does discount take off the price\?/);
    for (const [flags, total] of [
      [['--discount', 'percent'], 1900],
      [['--discount', 'none'], 2000],
      [['--column', 'line.discount=none'], 2000],
    ] as const)
      expect((await recordsBy((await ask(...price, ...flags)).config)).totals['2'], flags.join(' ')).to.equal(total);
    const refused = await init(dir.file('unit'), ...ask.flags, ...price, '--discount', 'half');
    expect(refused.stderr).to.equal('waybill: --discount half: write percent, fraction or none\n');
    const { config } = await ask(...price, '--discount', 'none');
    const { settings } = await recordsBy(config);
    expect(settings.orders.total).to.equal(undefined);
  });

  it('for the price where only some of the totals prove it: the others hold freight', async () => {
    const rows = [
      'UPDATE order_lines SET price = 10.25',
      'UPDATE orders SET total = id * 10.25 + CASE WHEN id > 5 THEN 4.90 ELSE 0 END',
    ];
    const ask = shop({ rows });
    expect((await ask()).names).to.deep.equal(['column']);
  });

  it('which orders, where not only the status tells them apart', async () => {
    const ask = shop({
      orders: 'total DECIMAL(12,2), doc_type VARCHAR(10), deleted_at DATETIME',
      rows: [
        'UPDATE order_lines SET price = 10.25',
        "UPDATE orders SET total = id * 10.25, doc_type = CASE WHEN id > 8 THEN 'quote' ELSE 'order' END",
        "UPDATE orders SET deleted_at = '2026-02-01 10:00:00' WHERE id = 1",
      ],
    });
    const asked = await ask();
    expect(asked.names).to.deep.equal(['pending']);
    expect(asked.open[0].text).to.contain(
      'deleted_at (NULL: 9, 2026-02-01 10:00:00: 1); doc_type (order: 8, quote: 2)',
    );
    expect(asked.open[0].choices).to.deep.equal([{ value: "status = 'open'", note: '10 orders' }]);
    const { config } = await ask('--pending', "status = 'open' AND doc_type = 'order' AND deleted_at IS NULL");
    expect(Object.keys((await recordsBy(config)).totals)).to.deep.equal(['2', '3', '4', '5', '6', '7', '8']);
  });

  it('which currency, and sends no order in another one', async () => {
    const rows = ['UPDATE order_lines SET price = 10.25', 'UPDATE orders SET total = id * 10.25'];
    const ask = shop({
      rows: [
        ...rows,
        "UPDATE orders SET currency = 'USD' WHERE id > 7",
        'UPDATE orders SET currency = NULL WHERE id = 1',
      ],
    });
    const asked = await ask();
    expect(asked.names).to.deep.equal(['currency']);
    expect(asked.open[0].choices.map(({ value }: { value: string }) => value)).to.deep.equal(['EUR', 'USD', 'NULL']);
    expect(Object.keys((await recordsBy((await ask('--currency', 'USD')).config)).totals)).to.deep.equal([
      '8',
      '9',
      '10',
    ]);
  });

  it('which orders, where a number that it can not read tells the currency', async () => {
    const ask = shop({
      orders: 'total DECIMAL(12,2), currency_id INTEGER',
      rows: [
        'UPDATE order_lines SET price = 10.25',
        'UPDATE orders SET total = id * 10.25, currency_id = 1 + id % 2',
        'ALTER TABLE orders DROP COLUMN currency',
      ],
    });
    const asked = await ask();
    expect(asked.names).to.deep.equal(['currency', 'pending']);
    expect(asked.open[1].text).to.contain('currency_id (1: 5, 2: 5)');
  });

  it('which orders, where a second column tells another currency', async () => {
    const ask = shop({
      orders: 'total DECIMAL(12,2), document_currency CHAR(3)',
      rows: [
        'UPDATE order_lines SET price = 10.25',
        "UPDATE orders SET total = id * 10.25, document_currency = CASE WHEN id > 8 THEN 'USD' ELSE 'EUR' END",
      ],
    });
    const asked = await ask();
    expect(asked.names).to.deep.equal(['pending']);
    expect(asked.open[0].text).to.contain('document_currency (EUR: 8, USD: 2)');
  });

  it('nothing where a key leads to the code of the currency', async () => {
    const ask = shop({
      orders: 'total DECIMAL(12,2), currency_id INTEGER REFERENCES currencies (id)',
      before:
        "CREATE TABLE currencies (id INTEGER PRIMARY KEY, code CHAR(3)); INSERT INTO currencies VALUES (1, 'CHF')",
      rows: [
        'UPDATE order_lines SET price = 10.25',
        'UPDATE orders SET total = id * 10.25, currency_id = 1',
        'ALTER TABLE orders DROP COLUMN currency',
      ],
    });
    const { settled, config } = await ask();
    expect(settled).to.deep.include({ name: 'currency', value: 'CHF', reason: 'the only one, in 10 orders' });
    const { settings, totals } = await recordsBy(config);
    expect(settings.orders.pending).to.equal("status = 'open' AND currency = 'CHF'");
    expect(Object.keys(totals)).to.have.lengthOf(10);
  });

  it('for the currency where its column holds none, and keeps every order', async () => {
    const rows = ['UPDATE order_lines SET price = 10.25', 'UPDATE orders SET total = id * 10.25, currency = NULL'];
    const ask = shop({ rows });
    expect((await ask()).names).to.deep.equal(['currency']);
    expect(Object.keys((await recordsBy((await ask('--currency', 'CHF')).config)).totals)).to.have.lengthOf(10);
  });

  it('nothing of a code that two customers share: their keys name them', async () => {
    const ask = shop({
      rows: [
        'UPDATE order_lines SET price = 10.25',
        'UPDATE orders SET total = id * 10.25',
        "UPDATE customers SET customer_no = 'K1'",
      ],
    });
    const { customers } = await recordsBy((await ask()).config);
    expect(customers.map((one) => (one as { customer_code: string }).customer_code).sort()).to.deep.equal(['1', '2']);
  });

  it('nothing of what is named and is not there: it says what is', async () => {
    const { flags } = shop({ rows: ['UPDATE order_lines SET price = 1'] });
    const { code, stderr } = await init(dir.file('named'), ...flags, '--column', 'line.price=preis');
    expect([code, stderr]).to.deep.equal([
      2,
      'waybill: --column line.price=preis: order_lines has order_id, pos, sku, qty, price\n',
    ]);
  });

  it('nothing of who made an order: its date is the one that is no person', async () => {
    const ask = shop({
      orders: 'created_by INTEGER, total DECIMAL(12,2)',
      rows: [
        'UPDATE order_lines SET price = 10.25',
        'UPDATE orders SET total = id * 10.25, created_by = 7',
        'ALTER TABLE orders RENAME COLUMN created_at TO order_date',
      ],
    });
    const { config } = await ask('--start-from', '2026-01-01');
    expect((await recordsBy(config)).settings.orders.startFrom).to.deep.equal({
      column: 'order_date',
      from: '2026-01-01',
    });
  });

  it('who the customer is, where two other parties are declared; and nothing where one is called so', async () => {
    const parties = (first: string, second: string) => ({
      orders: `total DECIMAL(12,2), ${first} INTEGER REFERENCES customers (id), ${second} INTEGER REFERENCES customers (id)`,
      rows: [
        'UPDATE order_lines SET price = 10.25',
        `UPDATE orders SET total = id * 10.25, ${first} = 2, ${second} = 1`,
      ],
    });
    const { config } = await shop(parties('agent_id', 'created_by'))();
    expect((await recordsBy(config)).settings.orders.customerKey).to.deep.equal(['customer_id']);

    const { rows, orders } = parties('ship_to', 'bill_to');
    const ask = shop({ orders, rows: [...rows, 'ALTER TABLE orders RENAME COLUMN customer_id TO agent_id'] });
    const asked = await ask();
    expect([asked.code, ...asked.names]).to.deep.equal([2, 'column']);
    expect(asked.open[0].text).to.equal('Which column of orders names its customer, the buyer?');
    expect(asked.open[0].choices.map(({ value }: { value: string }) => value)).to.have.members([
      ...['order.customer=agent_id', 'order.customer=ship_to', 'order.customer=bill_to'],
    ]);
    const said = await ask('--column', 'order.customer=bill_to');
    expect((await recordsBy(said.config)).settings.orders.customerKey).to.deep.equal(['bill_to']);
  });

  it('where the ERP is', async () => {
    const { code, open } = await initJson(dir.file('nowhere'));
    expect([code, ...open.map(({ name }: { name: string }) => name)]).to.deep.equal([2, 'type', 'database', 'user']);
  });

  it('all at once: the token of the service, the unit of the money and which orders are sent', async () => {
    const ask = shop({
      orders: 'total INTEGER',
      lines: 'price INTEGER',
      rows: ['UPDATE order_lines SET price = 1999', 'UPDATE orders SET total = id * 1999'],
    });
    const flags = ask.flags.slice(0, ask.flags.indexOf('--time-zone'));
    const { code, open } = await initJson(dir.file('all'), ...flags, '--service-url', 'http://127.0.0.1:8094');
    expect([code, ...open.map(({ name }: { name: string }) => name)]).to.deep.equal([
      ...[2, 'token-file', 'money-unit', 'time-zone', 'status', 'start-from'],
    ]);
    expect(existsSync(dir.file('all'))).to.equal(false);
  });

  it('the price that no total proves, with the other open questions', async () => {
    const ask = shop({ orders: 'remark TEXT', rows: ['UPDATE order_lines SET price = 10'] });
    const flags = ask.flags.slice(0, ask.flags.indexOf('--time-zone'));
    const { code, open } = await initJson(dir.file('price'), ...flags);
    expect([code, ...open.map(({ name }: { name: string }) => name)]).to.deep.equal([
      ...[2, 'column', 'time-zone', 'status', 'start-from'],
    ]);
  });

  it('for the tables, where orders with lines and customers are not to be found', async () => {
    const erp = openSqlite(dir.file('other.sqlite'));
    erp.exec('CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT)');
    erp.close();
    const { code, open } = await initJson(dir.file('other'), '--type', 'sqlite', '--file', dir.file('other.sqlite'));
    expect([code, open[0].name]).to.deep.equal([2, 'orders-table']);
  });
});
