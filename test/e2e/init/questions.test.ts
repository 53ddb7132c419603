import { existsSync } from 'node:fs';
import { expect } from 'chai';
import { onTerminal } from '../../support/on-terminal.js';
import { openSqlite } from '../../support/sqlite-file.js';
import { useTempDir } from '../../support/temp-dir.js';
import { init, initJson, questionsOf, recordsBy } from './init-lab.js';

/** A shop in a SQLite file, plain but for what a test changes. */
interface Shop {
  /** Columns of the orders beside id, customer_id, status, created_at. */
  orders?: string;
  /** Columns of the lines beside order_id, pos, sku, qty. */
  lines?: string;
  /** Before the tables are made. */
  before?: string;
  /** A person's answers about the columns, beside the customer and the quantity. */
  columns?: readonly string[];
  /** After the rows are in: ten orders with a line each, of one to ten pieces. */
  rows: readonly string[];
}

describe('what waybill init asks instead of guessing', function () {
  this.timeout(30_000);
  const dir = useTempDir();
  let count = 0;

  /** Runs `init --yes` on a shop, and gives what runs it again with more answers. */
  const shop = ({
    orders = 'total DECIMAL(12,2)',
    lines = 'price DECIMAL(12,2)',
    before = '',
    columns = ['line.price=price'],
    rows,
  }: Shop) => {
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
      ...['--orders-table', 'orders', '--lines-table', 'order_lines', '--customers-table', 'customers'],
      ...['order.customer=customer_id', 'line.qty=qty', ...columns].flatMap((one) => ['--column', one]),
      '--currency',
      'EUR',
      '--status',
      'open',
    ];
    let runs = 0;
    const answer = async (...more: string[]) => {
      const config = dir.file(`${name}-${++runs}`);
      const printed = await initJson(config, ...flags, ...more);
      return { ...printed, names: questionsOf(printed), config };
    };
    /** The flags but for these. */
    const without = (...names: string[]) =>
      flags.filter((text, at) => !names.includes(text) && !names.includes(flags[at - 1] ?? ''));
    return Object.assign(answer, { flags, without });
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
      orders: 'total INTEGER, kind VARCHAR(10)',
      lines: 'price INTEGER',
      rows: [
        'UPDATE order_lines SET price = 1999',
        'UPDATE orders SET total = id * 1999',
        "UPDATE orders SET kind = CASE id WHEN 9 THEN 'quote' ELSE 'order' END",
      ],
    });
    const flags = ask.flags.slice(0, 4);
    const config = dir.file('asked');
    const talk: [asked: string, answer: string][] = [
      ['Which table holds the sales orders?', ''],
      ['an answer is needed. Which table', 'orders'],
      // The only table with a key to the orders: offered, and confirmed.
      ['Which table holds their lines? [order_lines]', ''],
      ['names its customer, the buyer?', 'customer'],
      ['orders has id, order_no', 'customer_id'],
      ['Which table holds the customers? [customers]', ''],
      ['Which column of order_lines is the quantity?', ''],
      ['an answer is needed. Which column', 'qty'],
      ['or the amount of the line?', 'line.price=price'],
      ['or of 19.99 (minor)?', 'minor'],
      ['Orders with which status may be sent?', 'shut'],
      ['no order has shut; there are open.', 'open'],
      ['Does one of them mark orders that must not be sent?', 'kind=bill'],
      ['no row has bill; there are order, quote.', 'kind=order'],
      ['Another one?', ''],
      ['In which time zone', 'UTC'],
      ['The orders of which currency are sent?', 'EUR'],
      ['From which created_at on', 'all'],
      ['A name for this installation', ''],
      ['local.yaml? [Y/n]', 'y'],
    ];
    const { code, shown } = await onTerminal(['init', '--config', config, ...flags], talk);
    expect(code, shown).to.equal(0);
    expect(shown).to.contain('Of the first 9 orders 9 can be sent').and.contain('Look at it: waybill preview');
    expect((await recordsBy(config)).records.get('2')?.items).to.deep.equal([{ sku: 'A-1', qty: 2, price: 1999 }]);

    const refused = await onTerminal(
      [
        'init',
        '--config',
        dir.file('refused'),
        ...ask.flags,
        '--money-unit',
        'minor',
        '--orders-with',
        'none',
        '--installation',
        'shop-1',
      ],
      [['local.yaml? [Y/n]', 'n']],
    );
    expect([refused.code, existsSync(dir.file('refused'))], refused.shown).to.deep.equal([1, false]);
  });

  it('nothing where a name says that they are cents', async () => {
    const ask = shop({
      orders: 'total_cents INTEGER',
      lines: 'price_cents INTEGER',
      columns: ['line.price=price_cents'],
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
      columns: [],
      rows: [
        'UPDATE order_lines SET net_price = 10.50, gross_price = 12.60',
        'UPDATE orders SET net_total = ROUND(id * 10.5, 2), gross_total = ROUND(id * 12.6, 2)',
      ],
    });
    const asked = await ask();
    expect(asked.names).to.deep.equal(['column line.price']);
    expect(asked.open[0].choices.slice(0, 2)).to.deep.equal([
      { value: 'line.price=net_price', note: 'qty × net_price comes to net_total in 10 of 10 orders' },
      { value: 'line.price=gross_price', note: 'qty × gross_price comes to gross_total in 10 of 10 orders' },
    ]);
    const gross = ['--column', 'line.price=gross_price'];
    const second = await ask(...gross);
    expect(second.names).to.deep.equal(['column order.total']);
    expect(second.open[0].choices).to.deep.equal([
      { value: 'order.total=gross_total', note: '10 of 10 orders come to it' },
      { value: 'order.total=net_total', note: '0 of 10 orders come to it' },
    ]);
    const { settled, config } = await ask(...gross, '--column', 'order.total=gross_total');
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
      columns: [],
      rows: ['UPDATE order_lines SET price = 10, list_price = 12, discount = 5'],
    });
    const asked = await ask();
    expect(asked.names).to.deep.equal(['column line.price']);
    expect(asked.open[0].choices[0]).to.deep.equal({ value: 'line.price=price', note: 'no total to compare' });
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
    const { config, settled } = await ask(...price, '--discount', 'none');
    const { settings } = await recordsBy(config);
    expect(settings.orders.total).to.equal(undefined);
    const none = settled.find(({ name }: { name: string }) => name === 'orders.total');
    expect(none.reason).to.match(/nothing checks the amounts/);
  });

  it('nothing of a total that most orders come to: it stays the check, and the others are named', async () => {
    const rows = [
      'UPDATE order_lines SET price = 10.25',
      'UPDATE orders SET total = id * 10.25 + CASE WHEN id > 5 THEN 4.90 ELSE 0 END',
    ];
    const { settled, config } = await shop({ rows })();
    expect(settled).to.deep.include({
      ...{ name: 'money', value: 'price is the price for one' },
      reason:
        '5 of 10 orders come to their total; not S-10 (lines 102.50, ERP 107.40), S-6 (lines 61.50, ERP 66.40), S-7 (lines 71.75, ERP 76.65) and 2 more: those wait for a person',
    });
    const { settings, records, parked } = await recordsBy(config);
    expect([settings.orders.total, [...records.keys()], parked.size]).to.deep.equal([
      ...['total', ['1', '2', '3', '4', '5'], 5],
    ]);
  });

  it('for the total where fewer than half of the orders come to it, and takes none for an answer', async () => {
    const ask = shop({
      rows: [
        'UPDATE order_lines SET price = 10.25',
        'UPDATE orders SET total = id * 10.25 + CASE WHEN id > 4 THEN 4.90 ELSE 0 END',
      ],
    });
    const asked = await ask();
    expect(asked.names).to.deep.equal(['column order.total']);
    expect(asked.open[0].choices).to.deep.equal([{ value: 'order.total=total', note: '4 of 10 orders come to it' }]);
    const none = await ask('--column', 'order.total=none');
    expect(none.settled).to.deep.include({ name: 'orders.total', value: 'none', reason: 'nothing checks the amounts' });
    expect((await recordsBy(none.config)).records.size).to.equal(10);
    expect((await recordsBy((await ask('--column', 'order.total=total')).config)).parked.size).to.equal(6);
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
    expect(asked.names).to.deep.equal(['orders-with']);
    expect(asked.open[0].choices).to.deep.equal([
      { value: 'doc_type', note: 'order: 8, quote: 2' },
      { value: 'deleted_at', note: 'NULL: 9, NOT NULL: 1' },
    ]);
    const marks = ['--orders-with', 'doc_type=order', '--orders-with', 'deleted_at=NULL'];
    const keys = ['2', '3', '4', '5', '6', '7', '8'];
    const { config } = await ask(...marks);
    const { settings, totals } = await recordsBy(config);
    expect(settings.orders.pending).to.equal(
      "status = 'open' AND doc_type = 'order' AND deleted_at IS NULL AND currency = 'EUR'",
    );
    expect(Object.keys(totals)).to.deep.equal(keys);
    const written = ['--pending', "status = 'open' AND doc_type = 'order' AND deleted_at IS NULL"];
    expect(Object.keys((await recordsBy((await ask(...written)).config)).totals)).to.deep.equal(keys);
    const some = await ask('--orders-with', 'doc_type=order');
    expect(some.settled).to.deep.include({
      ...{ name: 'not used', value: 'deleted_at: NULL: 9, NOT NULL: 1' },
      reason: 'if it marks orders that must not be sent: --orders-with deleted_at=VALUES',
    });
    const said = async (flag: string) => (await init(dir.file('with'), ...ask.flags, '--orders-with', flag)).stderr;
    expect(await said('doc_type=bill')).to.equal(
      'waybill: --orders-with doc_type=bill: no row has bill; there are order, quote\n',
    );
    expect(await said('doctype=order')).to.match(/^waybill: --orders-with doctype=order: orders has id, order_no, /);
    expect(await said('doc_type')).to.match(/: write COLUMN=VALUES, such as doc_type=order, or none\n$/);
  });

  it('which lines, where a column may mark those that were removed', async () => {
    const ask = shop({
      lines: 'price DECIMAL(12,2), removed_at DATETIME',
      rows: [
        'UPDATE order_lines SET price = 10.25',
        'UPDATE orders SET total = id * 10.25',
        "INSERT INTO order_lines SELECT id, 2, 'OLD', 1, 99, '2026-01-02' FROM orders WHERE id < 3",
      ],
    });
    const asked = await ask();
    expect(asked.names).to.deep.equal(['lines-with']);
    expect(asked.open[0].choices).to.deep.include({ value: 'removed_at', note: 'NULL: 10, NOT NULL: 2' });
    const { config, settled } = await ask('--lines-with', 'removed_at=NULL');
    expect(settled).to.deep.include({
      ...{ name: 'money', value: 'price is the price for one' },
      reason: '10 of 10 orders come to their total',
    });
    expect((await recordsBy(config)).totals['2']).to.equal(2050);
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
    const asked = await initJson(dir.file('currency'), ...ask.without('--currency'));
    expect(questionsOf(asked)).to.deep.equal(['currency']);
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
    const asked = await initJson(dir.file('number'), ...ask.without('--currency'));
    expect(questionsOf(asked)).to.deep.equal(['orders-with', 'currency']);
    expect(asked.open[0].choices).to.deep.equal([{ value: 'currency_id', note: '1: 5, 2: 5' }]);
    const { config } = await ask('--orders-with', 'currency_id=2');
    expect(Object.keys((await recordsBy(config)).totals)).to.deep.equal(['1', '3', '5', '7', '9']);
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
    expect(asked.names).to.deep.equal(['column order.currency', 'orders-with']);
    expect(asked.open[0].choices).to.deep.equal([
      { value: 'order.currency=currency', note: 'EUR: 10' },
      { value: 'order.currency=document_currency', note: 'EUR: 8, USD: 2' },
    ]);
    const { config } = await ask('--column', 'order.currency=document_currency');
    expect(Object.keys((await recordsBy(config)).totals)).to.have.lengthOf(8);
  });

  it('the code of the currency that a key leads to, in whatever letters the ERP writes it', async () => {
    const ask = shop({
      orders: 'total DECIMAL(12,2), currency_id INTEGER REFERENCES currencies (id)',
      before:
        "CREATE TABLE currencies (id INTEGER PRIMARY KEY, cur_abbr CHAR(3)); INSERT INTO currencies VALUES (1, 'chf'), (2, 'usd')",
      rows: [
        'UPDATE order_lines SET price = 10.25',
        'UPDATE orders SET total = id * 10.25, currency_id = CASE WHEN id > 8 THEN 2 ELSE 1 END',
        'ALTER TABLE orders DROP COLUMN currency',
      ],
    });
    const asked = await initJson(dir.file('code'), ...ask.without('--currency'));
    expect(asked.open[0].choices.map(({ value }: { value: string }) => value)).to.deep.equal(['chf', 'usd']);
    const { config } = await ask('--currency', 'CHF');
    const { settings, totals } = await recordsBy(config);
    expect(settings.amounts.currency).to.equal('CHF');
    expect(settings.orders.pending).to.equal("status = 'open' AND currency = 'chf'");
    expect(Object.keys(totals)).to.have.lengthOf(8);
  });

  it('for the currency where its column holds none, and keeps every order', async () => {
    const rows = ['UPDATE order_lines SET price = 10.25', 'UPDATE orders SET total = id * 10.25, currency = NULL'];
    const ask = shop({ rows });
    expect(questionsOf(await initJson(dir.file('none'), ...ask.without('--currency')))).to.deep.equal(['currency']);
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
    const { flags } = shop({ columns: [], rows: ['UPDATE order_lines SET price = 1'] });
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

  it('who the customer is, of every key of the orders to any table', async () => {
    const ask = shop({
      before: "CREATE TABLE tenants (id INTEGER PRIMARY KEY, name VARCHAR(80)); INSERT INTO tenants VALUES (1, 'We')",
      orders: `total DECIMAL(12,2), tenant_id INTEGER REFERENCES tenants (id), agent_id INTEGER REFERENCES customers (id),
        payer INTEGER, payer_no INTEGER`,
      rows: [
        'UPDATE order_lines SET price = 10.25',
        'UPDATE orders SET total = id * 10.25, tenant_id = 1, agent_id = 2, payer_no = 1',
      ],
    });
    const others = ask
      .without('--customers-table', 'order.customer=customer_id')
      .filter((one, at, all) => one !== '--column' || all[at + 1]?.includes('='));
    const asked = await initJson(dir.file('buyer'), ...others);
    expect(questionsOf(asked)).to.deep.equal(['column order.customer', 'customers-table']);
    expect(asked.open[0].text).to.match(/^Which column of orders names its customer, the buyer\?/);
    expect(asked.open[0].choices[0].value).to.equal('order.customer=customer_id');
    expect(asked.open[0].choices).to.have.deep.members([
      { value: 'order.customer=customer_id', note: 'a key of customers, 2 different in 10 orders' },
      { value: 'order.customer=tenant_id', note: 'a key of tenants, 1 different in 10 orders' },
      { value: 'order.customer=agent_id', note: 'a key of customers, 1 different in 10 orders' },
      { value: 'order.customer=order_no', note: '10 different in 10 orders' },
      { value: 'order.customer=payer_no', note: '1 different in 10 orders' },
    ]);
    const tenants = await initJson(dir.file('tenants'), ...others, '--column', 'order.customer=tenant_id');
    expect(questionsOf(tenants), 'one table is no reason not to ask').to.deep.equal(['customers-table']);
    expect(tenants.open[0].choices[0]).to.deep.equal({ value: 'tenants', note: '1 row' });
    const loose = await initJson(dir.file('loose'), ...others, '--column', 'order.customer=payer_no');
    expect(loose.open[0].choices[0]).to.deep.equal({ value: 'customers', note: '2 rows, 1 of 1 keys are there' });
    const said = [...others, '--customers-table', 'customers', '--column', 'order.customer=payer_no'];
    expect((await initJson(dir.file('said'), ...said, '--orders-with', 'none')).written).to.equal(true);
    expect((await recordsBy(dir.file('said'))).settings.orders.customerKey).to.deep.equal(['payer_no']);
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
    const flags = ask.without('--time-zone', '--start-from', '--currency', '--status');
    const all = await initJson(dir.file('all'), ...flags, '--service-url', 'http://127.0.0.1:8094');
    expect([all.code, ...questionsOf(all)]).to.deep.equal([
      ...[2, 'token-file', 'money-unit', 'status', 'time-zone', 'currency', 'start-from'],
    ]);
    expect(existsSync(dir.file('all'))).to.equal(false);
  });

  it('the price that no total proves, with the other open questions', async () => {
    const ask = shop({ orders: 'remark TEXT', columns: [], rows: ['UPDATE order_lines SET price = 10'] });
    const asked = await initJson(dir.file('price'), ...ask.without('--time-zone', '--start-from', '--status'));
    expect([asked.code, ...questionsOf(asked)]).to.deep.equal([
      ...[2, 'column line.price', 'status', 'time-zone', 'start-from'],
    ]);
  });

  it('for the tables, where orders with lines and customers are not to be found', async () => {
    const erp = openSqlite(dir.file('other.sqlite'));
    erp.exec('CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT)');
    erp.close();
    const other = await initJson(dir.file('other'), '--type', 'sqlite', '--file', dir.file('other.sqlite'));
    expect([other.code, ...questionsOf(other)]).to.deep.equal([2, 'orders-table', 'lines-table', 'customers-table']);
  });
});
