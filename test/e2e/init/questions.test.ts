import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { onTerminal } from '../../support/on-terminal.js';
import { openSqlite } from '../../support/sqlite-file.js';
import { useTempDir } from '../../support/temp-dir.js';
import { answersFor, flagsFor, type Named } from './init-answers.js';
import { init, initJson, questionsOf, recordsBy } from './init-lab.js';

/** A shop in a SQLite file, plain but for what a test changes. */
interface Shop {
  /** Columns of the orders beside id, order_no, customer_id, status, currency, created_at. */
  orders?: string;
  /** Columns of the lines beside order_id, pos, sku, qty. */
  lines?: string;
  /** Before the tables are made. */
  before?: string;
  /** Answers that differ: role → column, and flag → answer. */
  own?: Named['columns'];
  given?: Named['flags'];
  /** After the rows are in: ten orders with a line each, of one to ten pieces. */
  rows: readonly string[];
}

type Choice = { value: string; note: string };

describe('what waybill init asks instead of guessing', function () {
  this.timeout(30_000);
  const dir = useTempDir();
  let count = 0;

  /** Runs `init --yes` on a shop, and gives what runs it again with more answers. */
  const shop = ({
    orders = 'total DECIMAL(12,2)',
    lines = 'price DECIMAL(12,2)',
    before = '',
    own = {},
    given = {},
    rows,
  }: Shop) => {
    const name = `shop${++count}`;
    const file = dir.file(`${name}.sqlite`);
    const erp = openSqlite(file);
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
    const place = ['--type', 'sqlite', '--file', file];
    const answers = answersFor({
      ...{ orders: 'orders', lines: 'order_lines', customers: 'customers', flags: given },
      columns: {
        ...{ 'order.number': 'order_no', 'order.created': 'created_at', 'order.status': 'status' },
        ...{ 'order.customer': 'customer_id', 'customer.code': 'customer_no', 'order.currency': 'currency' },
        ...{ 'line.qty': 'qty', 'line.price': 'price', 'order.total': 'total', ...own },
      },
    });
    let runs = 0;
    const run = async (flags: readonly string[]) => {
      const config = dir.file(`${name}-${++runs}`);
      const printed = await initJson(config, ...place, ...flags);
      return { ...printed, names: questionsOf(printed), config };
    };
    const ask = (...more: string[]) => run([...flagsFor(answers), ...more]);
    /** Without the answers to these. */
    const without = (...left: string[]) => run(flagsFor(answers, ...left));
    return Object.assign(ask, { without, flags: [...place, ...flagsFor(answers)], place });
  };
  const priced = ['UPDATE order_lines SET price = 10.25', 'UPDATE orders SET total = id * 10.25'];
  const inCents = {
    ...{ orders: 'total INTEGER', lines: 'price INTEGER' },
    rows: ['UPDATE order_lines SET price = 1999', 'UPDATE orders SET total = id * 1999'],
  };

  it('whether whole numbers are euros or cents, whatever the columns are called', async () => {
    const ask = shop(inCents);
    const asked = await ask();
    expect(asked.names).to.deep.equal(['money-unit']);
    expect(asked.open[0].text).to.equal(
      'price, total hold whole numbers. Is 1999 an amount of 1999.00 (major), or of 19.99 (minor)?',
    );
    const minor = await recordsBy((await ask('--money-unit', 'minor')).config);
    expect(minor.records.get('2')?.items).to.deep.equal([{ sku: 'A-1', qty: 2, price: 1999 }]);
    const major = await recordsBy((await ask('--money-unit', 'major')).config);
    expect(major.totals['2']).to.equal(2 * 199_900);
    const unused = shop({ rows: priced });
    expect((await init(dir.file('unit'), ...unused.flags, '--money-unit', 'minor')).stderr).to.equal(
      'waybill: --money-unit minor: the money is in no column of whole numbers. Leave it out.\n',
    );
  });

  /** What a person says on the terminal about the shop, with what is asked. */
  const talk = (): [asked: string, answer: string][] => [
    ['Which table holds the sales orders?', ''],
    ['An answer is needed. Which table', 'orders'],
    ['Orders (orders): order.number, order.created,', ''],
    ['An answer is needed. Which column of orders is the number', 'nummer'],
    ['orders has id, order_no', 'order_no'],
    ['is the date of an order', 'created_at'],
    ['changed last?', 'none'],
    ['From which created_at on', 'all'],
    ['holds the state', 'status'],
    ['Orders with which status may be sent?', 'open,done'],
    ['Which status means that an order is cancelled?', 'none'],
    ['nothing more happens to an order?', 'none'],
    ['is deleted in the ERP', 'nothing'],
    ['In which time zone', 'UTC'],
    ['Which table holds their lines?', 'order_lines'],
    ['Which column of order_lines is the SKU', 'sku'],
  ];
  const quotes = {
    ...{ orders: 'total INTEGER, kind VARCHAR(10)', lines: 'price INTEGER' },
    rows: [...inCents.rows, "UPDATE orders SET kind = CASE id WHEN 9 THEN 'quote' ELSE 'order' END"],
  };
  const rest: [asked: string, answer: string][] = [
    ['Customer (orders, order_lines): order.customer', 'customer_id'],
    ['Does one of them mark orders that must not be sent?', 'kind=bill'],
    ['no row has bill; there are order, quote.', 'kind=order'],
    ['Another one? [none]', ''],
    ['Which table holds the customers?', 'customers'],
    ['is the code by which', 'id'],
    ['is the name?', 'back'],
    ['is the code by which', 'customer_no'],
    ['is the name?', 'name'],
    ['Which other columns of customers are sent?', ''],
    ['Which column of order_lines is the quantity?', 'qty'],
    ['or the amount of the line?', 'line.price=price'],
    ['have to come to?', 'total'],
    ['or of 19.99 (minor)?', 'minor'],
    ['holds the currency', 'currency'],
    ['The orders of which currency are sent?', 'EUR'],
    ['A name for this installation', ''],
  ];

  it('on a terminal one by one, and keeps the answers for the next time until the settings are written', async () => {
    const ask = shop(quotes);
    const config = dir.file('asked');
    const first = await onTerminal(
      ['init', '--config', config, ...ask.place],
      [...talk(), ...rest, ['local.yaml? [Y/n]', 'n']],
    );
    expect([first.code, existsSync(join(config, 'local.yaml'))], first.shown).to.deep.equal([1, false]);
    const draft = join(config, 'init-draft.json');
    expect(statSync(draft).mode & 0o777).to.equal(0o600);
    expect(JSON.parse(readFileSync(draft, 'utf8')).answers).to.deep.include({
      ...{ 'orders-table': ['orders'], 'orders-with': ['kind=order'], 'customer.code': ['customer_no'] },
    });
    const other = await onTerminal(
      ['init', '--config', config, ...shop({ rows: priced }).place],
      [
        ['Go on with the answers of the last init? [Y/n]', ''],
        ['for another database. They are asked anew.', ''],
        ['An answer is needed. Which table holds the sales orders?', '\u0003'],
      ],
    );
    expect([other.code, existsSync(draft)], other.shown).to.deep.equal([1, true]);
    const second = await onTerminal(
      ['init', '--config', config],
      [
        ['Go on with the answers of the last init? [Y/n]', ''],
        ['local.yaml? [Y/n]', 'y'],
      ],
    );
    expect(second.code, second.shown).to.equal(0);
    expect(second.shown).to.contain('Of the first 9 orders 9 can be sent').and.contain('Look at it: waybill preview');
    expect(existsSync(draft)).to.equal(false);
    const { records, settings } = await recordsBy(config);
    expect(records.get('2')?.items).to.deep.equal([{ sku: 'A-1', qty: 2, price: 1999 }]);
    expect(settings.orders.pending).to.equal("status IN ('open', 'done') AND kind = 'order' AND currency = 'EUR'");
  });

  it('for net or gross, where the totals prove both', async () => {
    const ask = shop({
      orders: 'net_total DECIMAL(12,2), gross_total DECIMAL(12,2)',
      lines: 'net_price DECIMAL(12,2), gross_price DECIMAL(12,2)',
      own: { 'line.price': 'gross_price', 'order.total': 'gross_total' },
      rows: [
        'UPDATE order_lines SET net_price = 10.50, gross_price = 12.60',
        'UPDATE orders SET net_total = ROUND(id * 10.5, 2), gross_total = ROUND(id * 12.6, 2)',
      ],
    });
    const asked = await ask.without('column line.price');
    expect(asked.names).to.deep.equal(['column line.price']);
    expect(asked.open[0].choices.slice(0, 2)).to.deep.equal([
      { value: 'line.price=net_price', note: 'qty × net_price comes to net_total in 10 of 10 orders' },
      { value: 'line.price=gross_price', note: 'qty × gross_price comes to gross_total in 10 of 10 orders' },
    ]);
    const second = await ask.without('column order.total');
    expect(second.names).to.deep.equal(['column order.total']);
    expect(second.open[0].choices).to.deep.equal([
      { value: 'order.total=gross_total', note: '10 of 10 orders come to it' },
      { value: 'order.total=net_total', note: '0 of 10 orders come to it; the other 10 differ by 115.50 together' },
    ]);
    const { settled, config } = await ask();
    expect(settled).to.deep.include({
      ...{
        name: 'money',
        value: 'gross_price is the price for one',
        reason: '10 of 10 orders come to their gross_total',
      },
    });
    expect((await recordsBy(config)).totals['2']).to.equal(2520);
  });

  it('for a discount, and rounds what it leaves once, exactly, by the decimals of the currency', async () => {
    const shopIn = (currency: string, price: string) =>
      shop({
        ...{ orders: 'note VARCHAR(9)', lines: 'price DECIMAL(12,4), discount DECIMAL(5,2)' },
        own: { 'line.discount': 'discount', 'order.total': '' },
        given: { discount: 'percent', currency },
        rows: [`UPDATE order_lines SET price = ${price}, discount = 5`, `UPDATE orders SET currency = '${currency}'`],
      });
    const totalsIn = async (currency: string, price: string) =>
      (await recordsBy((await shopIn(currency, price)()).config)).totals;
    // In floating point 14.725 is a little less.
    expect((await totalsIn('EUR', '15.50'))['1']).to.equal(1473);
    expect((await totalsIn('KWD', '1.3'))['1']).to.equal(1235);
  });

  it('for the money of wide tables, of every column that may be the total', async () => {
    const many = (name: string) => Array.from({ length: 14 }, (_, at) => `${name}${at} DECIMAL(12,2)`).join(', ');
    const filled = (name: string) => Array.from({ length: 14 }, (_, at) => `${name}${at} = ${at}.5`).join(', ');
    const ask = shop({
      ...{ orders: `${many('fee')}, total DECIMAL(12,2)`, lines: `${many('rate')}, price DECIMAL(12,2)` },
      own: { 'line.discount': 'none' },
      given: { 'lines-with': 'none', 'orders-with': 'none' },
      rows: [`UPDATE orders SET ${filled('fee')}`, `UPDATE order_lines SET ${filled('rate')}`, ...priced],
    });
    const asked = await ask.without('column order.total');
    expect(asked.open[0].choices[0]).to.deep.equal({
      ...{ value: 'order.total=total', note: '10 of 10 orders come to it' },
    });
    const money = await ask.without('column line.qty', 'column line.price', 'column order.total');
    expect(money.names).to.include('column line.qty');
  });

  it('for the price, and takes nothing that comes to 0 for evidence', async () => {
    const ask = shop({
      ...{ orders: 'total DECIMAL(12,2), gone INTEGER', lines: 'gift INTEGER, price DECIMAL(12,2)' },
      own: { 'order.total': 'total' },
      given: { 'lines-with': 'none', 'orders-with': 'none' },
      rows: [
        ...['UPDATE orders SET gone = id = 10', 'UPDATE order_lines SET gift = order_id = 9, price = 10.25'],
        'UPDATE orders SET total = id * 10.25 + CASE WHEN id > 5 THEN 4.90 ELSE 0 END',
      ],
    });
    const asked = await ask.without('column line.price');
    expect(asked.open[0].choices[0]).to.deep.equal({
      ...{ value: 'line.price=price', note: 'qty × price comes to total in 5 of 10 orders' },
    });
  });

  it('for the discount beside a price that no total proves', async () => {
    const ask = shop({
      orders: 'remark TEXT',
      lines: 'price DECIMAL(12,2), list_price DECIMAL(12,2), discount DECIMAL(5,2), no_discount INTEGER',
      own: { 'order.total': '', 'line.discount': 'discount' },
      given: { discount: 'percent' },
      rows: ['UPDATE order_lines SET price = 10, list_price = 12, discount = 5, no_discount = 0'],
    });
    const asked = await ask.without('column line.price');
    expect(asked.open[0].choices[0]).to.deep.equal({
      value: 'line.price=price',
      note: 'no total to compare, 10 to 10',
    });
    const second = await ask.without('column line.discount');
    expect(second.names).to.deep.equal(['column line.discount']);
    expect(second.open[0].choices).to.deep.equal([
      { value: 'line.discount=list_price', note: '12 to 12' },
      { value: 'line.discount=discount', note: '5 to 5' },
    ]);
    const third = await ask.without('discount');
    expect(third.names).to.deep.equal(['discount']);
    const { config, settled } = await ask();
    const { settings, totals } = await recordsBy(config);
    expect([settings.orders.total, totals['2']]).to.deep.equal([undefined, 1900]);
    const none = settled.find(({ name }: { name: string }) => name === 'orders.total');
    expect(none.reason).to.match(/nothing checks the amounts/);
    const refused = await init(dir.file('half'), ...ask.flags, '--discount', 'half');
    expect(refused.stderr).to.equal('waybill: --discount half: write percent or fraction or none\n');
  });

  it('for the total, also where most orders come to it: it stays the check, and the others are named', async () => {
    const ask = shop({
      own: { 'line.discount': 'none' },
      rows: [
        'UPDATE order_lines SET price = 10.25',
        'UPDATE orders SET total = id * 10.25 + CASE WHEN id > 5 THEN 4.90 ELSE 0 END',
        'ALTER TABLE order_lines ADD COLUMN tax DECIMAL(5,2)',
        'UPDATE order_lines SET tax = 19',
      ],
    });
    const asked = await ask.without('column order.total');
    expect(asked.open[0].choices[0]).to.deep.equal({
      value: 'order.total=total',
      note: '5 of 10 orders come to it; the other 5 differ by 24.50 together, such as S-10 (lines 102.50, ERP 107.40), S-6 (lines 61.50, ERP 66.40), S-7 (lines 71.75, ERP 76.65)',
    });
    const { settled, config } = await ask();
    expect(settled).to.deep.include({
      ...{ name: 'money', value: 'price is the price for one' },
      reason:
        '5 of 10 orders come to their total; not S-10 (lines 102.50, ERP 107.40), S-6 (lines 61.50, ERP 66.40), S-7 (lines 71.75, ERP 76.65) and 2 more: those wait for a person',
    });
    const { settings, records, parked } = await recordsBy(config);
    expect([settings.orders.total, [...records.keys()], parked.size]).to.deep.equal([
      ...['total', ['1', '2', '3', '4', '5'], 5],
    ]);
    const none = await ask('--column', 'order.total=none');
    expect(none.settled).to.deep.include({ name: 'orders.total', value: 'none', reason: 'nothing checks the amounts' });
    expect((await recordsBy(none.config)).records.size).to.equal(10);
  });

  it('which orders, where not only the status tells them apart', async () => {
    const ask = shop({
      orders: 'total DECIMAL(12,2), doc_type VARCHAR(10), deleted_at DATETIME',
      given: { 'orders-with': ['doc_type=order', 'deleted_at=NULL'] },
      rows: [
        ...priced,
        "UPDATE orders SET doc_type = CASE WHEN id > 8 THEN 'quote' ELSE 'order' END",
        "UPDATE orders SET deleted_at = '2026-02-01 10:00:00' WHERE id = 1",
      ],
    });
    const asked = await ask.without('orders-with');
    expect(asked.names).to.deep.equal(['orders-with']);
    expect(asked.open[0].choices).to.deep.equal([
      { value: 'doc_type', note: 'order: 8, quote: 2' },
      { value: 'deleted_at', note: 'NULL: 9, NOT NULL: 1' },
    ]);
    const keys = ['2', '3', '4', '5', '6', '7', '8'];
    const { settings, totals } = await recordsBy((await ask()).config);
    expect(settings.orders.pending).to.equal(
      "status = 'open' AND doc_type = 'order' AND deleted_at IS NULL AND currency = 'EUR'",
    );
    expect(Object.keys(totals)).to.deep.equal(keys);
    const left = ['--orders-with', '--status'];
    const without = ask.flags.filter((text, at, all) => !left.includes(text) && !left.includes(all[at - 1] ?? ''));
    const written = await initJson(
      dir.file('written'),
      ...[...without, '--pending', "status = 'open' AND doc_type = 'order' AND deleted_at IS NULL"],
    );
    expect(written.written, JSON.stringify(written.open)).to.equal(true);
    expect(Object.keys((await recordsBy(dir.file('written'))).totals)).to.deep.equal(keys);
    const some = await initJson(dir.file('some'), ...without, '--status', 'open', '--orders-with', 'doc_type=order');
    expect(some.settled).to.deep.include({
      ...{ name: 'not used', value: 'deleted_at: NULL: 9, NOT NULL: 1' },
      reason: 'if it marks orders that must not be sent: --orders-with deleted_at=VALUES',
    });
    const said = async (flag: string) =>
      (await init(dir.file('with'), ...without, '--status', 'open', '--orders-with', flag)).stderr;
    expect(await said('doc_type=bill')).to.equal(
      'waybill: --orders-with doc_type=bill: no row has bill; there are order, quote\n',
    );
    expect(await said('doctype=order')).to.match(/^waybill: --orders-with doctype=order: orders has id, order_no, /);
    expect(await said('doc_type')).to.match(/: write COLUMN=VALUES, such as doc_type=order, or none\n$/);
  });

  it('what becomes of orders that are cancelled, done or deleted', async () => {
    const ask = shop({
      given: { cancelled: 'void', completed: 'done,paid', 'on-deleted': 'delete' },
      rows: [
        ...priced,
        "UPDATE orders SET status = 'void' WHERE id = 3",
        "UPDATE orders SET status = 'done' WHERE id = 4",
      ],
    });
    expect((await ask.without('cancelled', 'completed', 'on-deleted')).names).to.deep.equal([
      ...['cancelled', 'completed', 'on-deleted'],
    ]);
    expect((await init(dir.file('void'), ...ask.flags, '--status', 'open,void')).stderr).to.equal(
      'waybill: --cancelled void: orders with void may be sent, says --status\n',
    );
    const { settled, config } = await ask();
    const { orders } = (await recordsBy(config)).settings;
    expect([orders.cancelled, orders.onCancelled, orders.completed, orders.onDeleted]).to.deep.equal([
      { column: 'status', values: ['void'] },
      'nothing',
      { column: 'status', values: ['done', 'paid'] },
      'delete',
    ]);
    expect(settled).to.deep.include({ name: 'completed', value: 'paid', reason: 'no order has such a status yet' });
  });

  it('which currency, and sends no order in another one', async () => {
    const ask = shop({
      rows: [
        ...priced,
        "UPDATE orders SET currency = 'usd' WHERE id > 7",
        'UPDATE orders SET currency = NULL WHERE id = 1',
      ],
    });
    const asked = await ask.without('currency');
    expect(asked.names).to.deep.equal(['currency']);
    expect(asked.open[0].choices.map(({ value }: Choice) => value)).to.deep.equal(['EUR', 'usd', 'NULL']);
    const { config } = await ask('--currency', 'USD');
    expect(Object.keys((await recordsBy(config)).totals)).to.deep.equal(['8', '9', '10']);
  });

  it('the code of the currency that a key leads to, in whatever letters the ERP writes it', async () => {
    const ask = shop({
      orders: 'total DECIMAL(12,2), currency_id INTEGER REFERENCES currencies (id)',
      before:
        "CREATE TABLE currencies (id INTEGER PRIMARY KEY, cur_abbr CHAR(3)); INSERT INTO currencies VALUES (1, 'chf'), (2, 'usd')",
      own: { 'order.currency': 'currency_id' },
      given: { currency: 'CHF' },
      rows: [
        ...priced,
        'UPDATE orders SET currency_id = CASE WHEN id > 8 THEN 2 ELSE 1 END',
        'ALTER TABLE orders DROP COLUMN currency',
      ],
    });
    const asked = await ask.without('currency');
    expect(asked.open[0].choices.map(({ value }: Choice) => value)).to.deep.equal(['chf', 'usd']);
    const { settings, totals } = await recordsBy((await ask()).config);
    expect(settings.amounts.currency).to.equal('CHF');
    expect(settings.orders.pending).to.equal("status = 'open' AND currency = 'chf'");
    expect(Object.keys(totals)).to.have.lengthOf(8);
  });

  it('for the currency where no column holds one, and keeps every order', async () => {
    const ask = shop({
      own: { 'order.currency': '' },
      given: { currency: 'CHF' },
      rows: [...priced, 'UPDATE orders SET currency = NULL'],
    });
    expect((await ask.without('currency')).names).to.deep.equal(['currency']);
    expect(Object.keys((await recordsBy((await ask()).config)).totals)).to.have.lengthOf(10);
  });

  it('for the code of a customer, and offers none that two of them share or that is empty', async () => {
    const ask = shop({
      own: { 'customer.code': 'id', 'customer.name': 'name' },
      rows: [
        ...priced,
        "UPDATE customers SET customer_no = 'K1'",
        'ALTER TABLE customers ADD COLUMN pay_to_name TEXT',
        'ALTER TABLE customers ADD COLUMN address_id TEXT',
        "UPDATE customers SET address_id = 'addr_1'",
      ],
    });
    const { open } = await ask.without('column customer.code', 'column customer.name');
    expect(open.map(({ choices }: { choices: Choice[] }) => choices.map(({ value }) => value))).to.deep.equal([
      ['customer.code=id', 'customer.code=name'],
      ['customer.name=customer_no', 'customer.name=name'],
    ]);
    const refused = await init(dir.file('empty'), ...ask.flags, '--column', 'customer.street=pay_to_name');
    expect(refused.stderr).to.equal(
      'waybill: --column customer.street=pay_to_name: pay_to_name is empty in every row\n',
    );
    const { customers } = await recordsBy((await ask()).config);
    expect(customers.map((one) => (one as { customer_code: string }).customer_code).sort()).to.deep.equal(['1', '2']);
  });

  it('nothing of what is named and is not there: it says what is, and puts no text into SQL', async () => {
    const ask = shop({ rows: priced });
    for (const [flag, text] of [
      ['--column', 'line.price=preis'],
      ['--column', 'order.number=id; DROP TABLE orders'],
      ['--orders-table', 'orders; --'],
    ] as const)
      expect((await init(dir.file('named'), ...ask.flags, flag, text)).stderr, text).to.match(
        /: (order_lines has order_id|orders has id|the account sees no such table)/,
      );
    const { config } = await ask('--status', "open') OR ('1' = '1");
    expect((await recordsBy(config)).settings.orders.pending).to.equal(
      "(status = 'open'') OR (''1'' = ''1') AND currency = 'EUR'",
    );
  });

  it('who the customer is, of every key of the orders to any table', async () => {
    const ask = shop({
      before: "CREATE TABLE tenants (id INTEGER PRIMARY KEY, name VARCHAR(80)); INSERT INTO tenants VALUES (1, 'We')",
      orders: `total DECIMAL(12,2), tenant_id INTEGER REFERENCES tenants (id), agent_id INTEGER REFERENCES customers (id),
        payer INTEGER, payer_no INTEGER`,
      own: { 'order.customer': 'payer_no', 'order.total': 'total' },
      rows: [...priced, 'UPDATE orders SET tenant_id = 1, agent_id = 2, payer_no = 1'],
    });
    const asked = await ask.without('customers-table', 'column order.customer');
    expect(asked.names).to.deep.equal(['column order.customer', 'customers-table']);
    const { choices, text } = asked.open[0];
    expect(text).to.match(/^Which column of orders names its customer, the buyer\?/);
    expect(choices[0].value).to.equal('order.customer=customer_id');
    expect(choices).to.deep.include.members([
      { value: 'order.customer=customer_id', note: 'a key of customers, 2 different in 10 orders' },
      { value: 'order.customer=tenant_id', note: 'a key of tenants, 1 different in 10 orders' },
      { value: 'order.customer=agent_id', note: 'a key of customers, 1 different in 10 orders' },
      { value: 'order.customer=order_no', note: '10 different in 10 orders' },
      { value: 'order.customer=payer_no', note: '1 different in 10 orders' },
    ]);
    const loose = await ask.without('customers-table');
    expect(loose.names).to.deep.equal(['customers-table', 'orders-with']);
    expect(loose.open[0].choices.slice(0, 2)).to.deep.equal([
      { value: 'customers', note: '2 rows, 1 of 1 keys are there' },
      { value: 'tenants', note: '1 row, 1 of 1 keys are there' },
    ]);
    expect((await recordsBy((await ask('--orders-with', 'none')).config)).settings.orders.customerKey).to.deep.equal([
      'payer_no',
    ]);
  });

  it('where the ERP is', async () => {
    const { code, open } = await initJson(dir.file('nowhere'));
    expect([code, ...open.map(({ name }: { name: string }) => name)]).to.deep.equal([2, 'type', 'database', 'user']);
  });

  it('all at once: the token of the service, and what is open in any step', async () => {
    const ask = shop(inCents);
    const left = ['time-zone', 'start-from', 'currency', 'status', 'column line.sku', 'column customer.name'];
    const flags = [...ask.place, '--service-url', 'http://127.0.0.1:8094'];
    const given = ask.flags.slice(ask.place.length);
    const all = await initJson(
      dir.file('all'),
      ...flags,
      ...given.filter((text, at) => {
        const of = (flag: string, next: string) =>
          left.includes(flag === '--column' ? `column ${next.split('=')[0]}` : flag.slice(2));
        return !of(text, given[at + 1] ?? '') && !of(given[at - 1] ?? '', text);
      }),
    );
    expect([all.code, ...questionsOf(all)]).to.deep.equal([
      ...[
        2,
        'token-file',
        'start-from',
        'status',
        'time-zone',
        'column line.sku',
        'column customer.name',
        'money-unit',
      ],
    ]);
    expect(existsSync(dir.file('all'))).to.equal(false);
  });

  it('for the tables, where orders with lines and customers are not to be found', async () => {
    const erp = openSqlite(dir.file('other.sqlite'));
    erp.exec('CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT)');
    erp.close();
    const other = await initJson(dir.file('other'), '--type', 'sqlite', '--file', dir.file('other.sqlite'));
    expect([other.code, ...questionsOf(other)]).to.deep.equal([
      2,
      'orders-table',
      'time-zone',
      'lines-table',
      'customers-table',
    ]);
  });

  it('for tables that are called like nothing: those with the most rows, and those whose keys the orders hold, come first', async () => {
    const file = dir.file('many.sqlite');
    const erp = openSqlite(file);
    const rowsOf = (from: number, to: number) =>
      `WITH RECURSIVE n(i) AS (SELECT ${from} UNION ALL SELECT i + 1 FROM n WHERE i < ${to})`;
    erp.exec(`BEGIN; CREATE TABLE vbk (vid INTEGER PRIMARY KEY, partei INTEGER); CREATE TABLE prt (id INTEGER PRIMARY KEY, bez TEXT);
      ${rowsOf(1, 200)} INSERT INTO vbk SELECT i, 1 + i % 9 FROM n; ${rowsOf(1, 9)} INSERT INTO prt SELECT i, 'P' || i FROM n`);
    for (let n = 0; n < 300; n++)
      erp.exec(`CREATE TABLE mod_${n} (id INTEGER PRIMARY KEY); ${rowsOf(1, 20)} INSERT INTO mod_${n} SELECT i FROM n`);
    erp.exec('COMMIT');
    erp.close();
    const place = ['--type', 'sqlite', '--file', file];
    const asked = await initJson(dir.file('many'), ...place);
    expect(asked.open[0].text).to.equal('Which table holds the sales orders? (282 other tables are not listed.)');
    expect(asked.open[0].choices[0]).to.deep.equal({ value: 'vbk', note: '200 rows' });
    const buyer = await initJson(
      dir.file('many'),
      ...place,
      '--orders-table',
      'vbk',
      '--column',
      'order.customer=partei',
    );
    const customers = buyer.open.find(({ name }: { name: string }) => name === 'customers-table');
    expect(customers.choices[0]).to.deep.equal({ value: 'prt', note: '9 rows, 9 of 9 keys are there' });
  });
});
