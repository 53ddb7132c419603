import { writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { useTempDir } from '../../support/temp-dir.js';
import { useMariaDb, usePostgres } from '../../support/use-database.js';
import { answersFor, flagsFor, type Named } from './init-answers.js';
import { init, initJson, questionsOf, recordsBy } from './init-lab.js';

/** A shop on MariaDB, plain but for the columns that a test is about. */
interface Shop {
  /** Answers about columns, and others, that differ. */
  own?: Named['columns'];
  given?: Named['flags'];
  /** Columns of the orders beside id, customer_id, total. */
  orders: string;
  /** The values to which those of the orders are set. */
  set: string;
  lines?: string;
}

type Settled = { name: string };
type TestServer = Record<'database' | 'user' | 'password', string> & { port: number };

const columns = {
  ...{ 'order.number': 'id', 'order.created': 'created_at', 'order.status': 'status', 'order.customer': 'customer_id' },
  ...{ 'customer.code': 'customer_no', 'line.qty': 'qty', 'line.price': 'price', 'order.total': 'total' },
};
/** A person's answers about the shop, but for what a test is about. */
const answersOf = (own: Named['columns'] = {}, flags: Named['flags'] = {}) =>
  answersFor({
    ...{ orders: 'orders', lines: 'order_lines', customers: 'customers', columns: { ...columns, ...own } },
    flags: { currency: '', 'time-zone': '', 'start-from': '', status: '', ...flags },
  });

describe('what waybill init makes of columns that are not what their names say', function () {
  this.timeout(30_000);
  const dir = useTempDir();
  const erp = useMariaDb();
  let runs = 0;

  const serverOf = (type: string, { port, database, user, password }: TestServer) => {
    writeFileSync(dir.file(type), password, { mode: 0o600 });
    const server = ['--type', type, '--port', `${port}`, '--database', database, '--user', user];
    return [...server, '--password-file', dir.file(type), '--time-zone', 'UTC'];
  };
  const run = async (flags: readonly string[]) => {
    const config = dir.file(`config-${++runs}`);
    const printed = await initJson(config, ...flags);
    return { ...printed, names: questionsOf(printed), config };
  };

  /** Ten orders with a line each; gives what runs `init --yes` on them with more answers. */
  const shop = async ({
    orders,
    set,
    own,
    given,
    lines = 'pos INT DEFAULT 1, sku VARCHAR(20), PRIMARY KEY (order_id, pos)',
  }: Shop) => {
    const statements = [
      'DROP TABLE IF EXISTS order_lines, orders, customers',
      'CREATE TABLE customers (id INT PRIMARY KEY, customer_no VARCHAR(20), name VARCHAR(80))',
      "INSERT INTO customers VALUES (1, 'K1', 'Anna'), (2, 'K2', 'Bert')",
      `CREATE TABLE orders (id INT PRIMARY KEY, customer_id INT REFERENCES customers (id), total DECIMAL(12,2), ${orders})`,
      `CREATE TABLE order_lines (order_id INT REFERENCES orders (id), qty INT, price DECIMAL(12,2), ${lines})`,
      `INSERT INTO orders (id, customer_id, total) SELECT seq, 1 + seq % 2, seq * 10.25 FROM seq_1_to_10`,
      `UPDATE orders SET ${set}`,
      `INSERT INTO order_lines (order_id, sku, qty, price) SELECT id, 'A-1', id, 10.25 FROM orders`,
    ];
    for (const statement of statements) await erp.database.query(statement);
    const flags = (...left: string[]) => [
      ...serverOf('mysql', erp.database),
      ...flagsFor(answersOf(own, given), ...left),
    ];
    return Object.assign((...answers: string[]) => run([...flags(), ...answers]), { flags });
  };
  const inCurrency = { 'order.currency': 'currency' };
  const plain = 'status VARCHAR(10), created_at DATETIME';
  const plainSet = "status = 'open', created_at = '2026-01-01 10:00:00'";
  const sent = async (config: string) => [...(await recordsBy(config)).records.keys()];

  it('asks for the currency of an ENUM, offers the states of one, and sends no order in another currency', async () => {
    const ask = await shop({
      orders: "status ENUM('open', 'closed'), currency ENUM('EUR', 'USD'), created_at DATETIME",
      set: `${plainSet}, currency = IF(id > 8, 'USD', 'EUR')`,
      own: inCurrency,
    });
    const asked = await ask('--start-from', 'all');
    expect(asked.names).to.deep.equal(['status', 'currency']);
    expect(asked.open[0].choices).to.deep.equal([{ value: 'open', note: '10 orders' }]);
    expect(asked.open[1].choices.map(({ value }: { value: string }) => value)).to.deep.equal(['EUR', 'USD']);
    const { config } = await ask('--start-from', 'all', '--status', 'open', '--currency', 'USD');
    expect(await sent(config)).to.deep.equal(['9', '10']);
  });

  it('does the same with an ENUM of PostgreSQL, whatever its name is', async () => {
    const client = await postgres.server.connect(postgres.database.database);
    await client.query(`CREATE TYPE orders_number_enum AS ENUM ('open', 'closed'); CREATE TYPE int_currency AS ENUM ('EUR', 'USD');
      CREATE TABLE customers (id INT PRIMARY KEY, customer_no TEXT, name TEXT);
      CREATE TABLE orders (id INT PRIMARY KEY, customer_id INT REFERENCES customers, status orders_number_enum, currency int_currency,
        created_at TIMESTAMP, total NUMERIC(12,2));
      CREATE TABLE order_lines (order_id INT REFERENCES orders, pos INT, sku TEXT, qty INT, price NUMERIC(12,2), PRIMARY KEY (order_id, pos));
      INSERT INTO customers VALUES (1, 'K1', 'Anna');
      INSERT INTO orders SELECT n, 1, 'open', (CASE WHEN n > 8 THEN 'USD' ELSE 'EUR' END)::int_currency, '2026-01-01', n * 10.25
        FROM generate_series(1, 10) n;
      INSERT INTO order_lines SELECT id, 1, 'A-1', id, 10.25 FROM orders;
      GRANT SELECT ON customers, orders, order_lines TO "${postgres.database.user}"`);
    await client.end();
    const flags = [
      ...serverOf('postgres', postgres.database),
      '--start-from',
      'all',
      ...flagsFor(answersOf(inCurrency)),
    ];
    expect((await run(flags)).names).to.deep.equal(['status', 'currency']);
    expect(await sent((await run([...flags, '--status', 'open', '--currency', 'USD'])).config)).to.deep.equal([
      '9',
      '10',
    ]);
  });

  it('joins the currency to a condition with a comment or with || in it', async () => {
    const ask = await shop({
      orders: `${plain}, currency CHAR(3)`,
      set: `${plainSet}, currency = IF(id > 8, 'USD', 'EUR')`,
      own: inCurrency,
    });
    for (const pending of ["status = 'open' -- not removed", "status = 'open' || status = 'done'"]) {
      const { config } = await ask('--start-from', 'all', '--currency', 'EUR', '--pending', pending);
      expect(await sent(config), pending).to.deep.equal(['1', '2', '3', '4', '5', '6', '7', '8']);
    }
  });

  const startOf = async (config: string) => (await recordsBy(config)).settings.orders.startFrom;
  const open = ['--status', 'open', '--currency', 'EUR'];

  it('compares a date with what the column holds: with seconds and thousandths since 1970, and with 20260103', async () => {
    const seconds = (day: string) => `UNIX_TIMESTAMP('${day} 12:00:00')`;
    const columns = [
      ['created_at INT', seconds, { column: 'created_at', from: '2026-01-01' }],
      ['created_at BIGINT', (day: string) => `${seconds(day)} * 1000`, { column: 'created_at', from: '2026-01-01' }],
      ['order_date INT', (day: string) => day.replaceAll('-', ''), { column: 'order_date', from: 20260101 }],
      ['order_date CHAR(8)', (day: string) => `'${day.replaceAll('-', '')}'`, { column: 'order_date', from: 20260101 }],
      ['order_date CHAR(10)', (day: string) => `'${day}'`, { column: 'order_date', from: '2026-01-01' }],
    ] as const;
    for (const [column, write, start] of columns) {
      const ask = await shop({
        orders: `status VARCHAR(10), ${column}`,
        set: `status = 'open', ${start.column} = IF(id > 7, ${write('2026-02-05')}, ${write('2020-12-31')})`,
        ...{ own: { 'order.created': start.column }, given: { 'orders-with': '' } },
      });
      const { config } = await ask('--start-from', '2026-01-01', ...open);
      expect(await startOf(config), column).to.deep.equal(start);
      expect(await sent(config), column).to.deep.equal(['8', '9', '10']);
    }
  });

  it('asks for the first key where no column holds dates in their order, and refuses a date', async () => {
    const ask = await shop({
      orders: 'status VARCHAR(10), auftragsdatum VARCHAR(10)',
      set: "status = 'open', auftragsdatum = IF(id > 7, '05.02.2026', '31.12.2019')",
      own: { 'order.created': '' },
    });
    const answers = [...open, '--orders-with', 'none', '--column', 'order.created=none'];
    const asked = await ask(...answers);
    expect(asked.names).to.deep.equal(['start-from']);
    expect(asked.open[0].text).to.match(/^From which id on are orders sent, or all\?/);
    const refused = await init(dir.file('date'), ...ask.flags(), ...answers, '--start-from', '2026-01-01');
    expect([refused.code, refused.stderr]).to.deep.equal([
      2,
      'waybill: --start-from 2026-01-01: id holds no dates; write the first id that is sent, or all\n',
    ]);
    const { config } = await ask(...answers, '--start-from', '8');
    expect(await sent(config)).to.deep.equal(['8', '9', '10']);
    const named = [...open, '--start-from', 'all', '--orders-with', 'none', '--column', 'order.created=auftragsdatum'];
    expect((await init(dir.file('named'), ...ask.flags(), ...named)).stderr).to.match(
      /holds no dates that can be comp/,
    );
  });

  it('offers no column without dates for the date of an order, and shows how old the newest one is', async () => {
    const ask = await shop({
      orders: 'status VARCHAR(10), created VARCHAR(20), order_date DATE, changed DATETIME',
      set: "status = 'open', created = 'by hand', order_date = '2026-01-02', changed = UTC_TIMESTAMP() - INTERVAL 61 MINUTE",
      own: { 'order.created': '' },
    });
    const { open: asked } = await ask(...open, '--start-from', 'all');
    expect(asked[0].choices.map(({ value }: { value: string }) => value)).to.deep.equal([
      'order.created=order_date',
      'order.created=changed',
    ]);
    expect(asked[0].choices[1].note).to.match(/newest .*, 6[12] minutes ago in UTC$/);
  });

  it('refuses a day that there is not, and what is no currency', async () => {
    const ask = await shop({
      orders: `${plain}, currency CHAR(3)`,
      set: `${plainSet}, currency = 'EUR'`,
      own: inCurrency,
    });
    const said = async (...flags: string[]) => (await init(dir.file('x'), ...ask.flags(), ...flags)).stderr;
    expect(await said('--status', 'open', '--start-from', '2026-02-31')).to.equal(
      'waybill: --start-from 2026-02-31: write a date such as 2026-01-01, or all\n',
    );
    expect(await said('--status', 'open', '--start-from', 'all', '--currency', 'usd')).to.equal(
      'waybill: --currency usd: write the three letters of ISO 4217, such as EUR\n',
    );
  });

  it('asks for the currency wherever the values of a column look like currencies, whatever its name is', async () => {
    const set = (name: string) => `${plainSet}, ${name} = IF(id > 8, 'usd', 'eur')`;
    for (const name of ['ccy', 'money_kind']) {
      const ask = await shop({ orders: `${plain}, ${name} CHAR(3)`, set: set(name) });
      const answers = ['--status', 'open', '--start-from', 'all', '--orders-with', 'none'];
      expect((await ask(...answers)).names).to.deep.equal(['column order.currency']);
      const chosen = [
        '--status',
        'open',
        '--start-from',
        'all',
        '--column',
        `order.currency=${name}`,
        '--currency',
        'USD',
      ];
      expect(await sent((await ask(...chosen)).config), name).to.deep.equal(['9', '10']);
    }
    const ask = await shop({ orders: `${plain}, scope CHAR(3)`, set: `${plainSet}, scope = 'ALL'` });
    const none = ['--currency', 'EUR', '--column', 'order.currency=none', '--status', 'open', '--start-from', 'all'];
    expect(await sent((await ask(...none)).config)).to.have.length(10);
  });

  it('says under --yes how many lines without a SKU it leaves to `skip`', async () => {
    const ask = await shop({ orders: plain, set: plainSet });
    await erp.database.query(
      'INSERT INTO order_lines (order_id, pos, qty, price) VALUES (1, 2, 1, NULL), (2, 2, 1, 0)',
    );
    const { settled } = await ask(...open, '--start-from', 'all');
    expect(settled).to.deep.include({
      ...{ name: 'text-lines', value: 'skip', reason: '2 lines have no SKU, 0 of them a price' },
    });
  });

  it('says that no line has a SKU of its own, where no column is called so', async () => {
    const ask = await shop({ orders: plain, set: plainSet, own: { 'line.sku': '' } });
    await erp.database.query('ALTER TABLE order_lines CHANGE sku thing VARCHAR(20)');
    const answers = [...open, '--start-from', 'all', '--text-lines', 'TEXT'];
    expect((await ask(...answers)).names).to.deep.equal(['column line.sku']);
    const { settled } = await ask(...answers, '--column', 'line.sku=none');
    expect(settled.find(({ name }: { name: string }) => name === 'sku')).to.deep.equal({
      ...{ name: 'sku', value: 'none', reason: 'no line of order_lines has a SKU of its own' },
    });
    await erp.database.query('CREATE TABLE IF NOT EXISTS things (id INT PRIMARY KEY, ean VARCHAR(20))');
    expect((await init(dir.file('sku'), ...ask.flags(), ...answers, '--column', 'line.sku=ean')).stderr).to.equal(
      'waybill: --column line.sku=ean: no key of order_lines leads to a table with it. Name the column that does: COLUMN>TABLE.COLUMN. If the way is longer, add the join to orders.lines.query by hand.\n',
    );
    const named = await ask(...open, '--start-from', 'all', '--column', 'line.sku=thing');
    expect(named.settled.map(({ name }: { name: string }) => name)).not.to.include('sku');
    expect((await recordsBy(named.config)).records.get('3')?.items).to.deep.equal([
      { sku: 'A-1', qty: 3, price: 1025 },
    ]);
  });

  it('takes keys of several parts, starts at the number that a person names, and lets the kind tell orders apart', async () => {
    const parts = ['bel_art', 'bel_nr'];
    for (const [kind, nth] of [parts, ['company', 'seq_value'], [...parts].reverse()]) {
      const number = [kind, nth].find((name) => name === 'bel_nr' || name === 'seq_value') as string;
      const type = kind === number ? nth : kind;
      const ask = await shop({
        ...{ orders: plain, set: plainSet },
        own: { 'order.number': number, 'order.created': 'none' },
      });
      for (const statement of [
        'DROP TABLE order_lines, orders',
        `CREATE TABLE orders (${type} VARCHAR(4), ${number} INT, customer_id INT REFERENCES customers (id), status VARCHAR(10),
          total DECIMAL(12,2), PRIMARY KEY (${kind}, ${nth}))`,
        `INSERT INTO orders SELECT IF(seq < 8, 'AU', 'AN'), 100 + seq, 1, 'open', seq * 10.25 FROM seq_1_to_10`,
        `CREATE TABLE order_lines (${type} VARCHAR(4), ${number} INT, pos INT, sku VARCHAR(20), qty INT, price DECIMAL(12,2),
          PRIMARY KEY (${type}, ${number}, pos), FOREIGN KEY (${kind}, ${nth}) REFERENCES orders (${kind}, ${nth}))`,
        `INSERT INTO order_lines SELECT ${type}, ${number}, 1, 'A-1', ${number} - 100, 10.25 FROM orders`,
      ])
        await erp.database.query(statement);
      const asked = await ask('--currency', 'EUR');
      const start = asked.open.find(({ name }: { name: string }) => name === 'start-from');
      expect(start.text).to.contain(`From which ${number} on`);
      // The kind of a document may be what tells orders from offers.
      const which = ['--status', 'open', '--orders-with', `${type}=AU`];
      const said = await ask('--currency', 'EUR', '--start-from', 'all', '--status', 'open');
      const told = said.open.find(({ name }: { name: string }) => name === 'orders-with');
      expect(told.choices).to.deep.equal([{ value: type, note: 'AU: 7, AN: 3' }]);
      const { config } = await ask('--currency', 'EUR', '--start-from', 'all', ...which);
      const { settings, records } = await recordsBy(config);
      expect(settings.orders.number).to.equal(number);
      expect([...records.values()].map(({ note }) => note)).to.deep.equal(
        Array.from({ length: 7 }, (_, at) => `${101 + at}`),
      );
    }
  });

  it('asks for the marks of removed orders under any name, and of any type', async () => {
    const types = [
      ['INT', '0: 8, 1: 2', '0'],
      ['BIT(1)', '0: 8, 1: 2', '0'],
      ['BOOLEAN', '0: 8, 1: 2', '0'],
      ["ENUM('no', 'yes')", 'no: 8, yes: 2', 'no'],
      ['CHAR(1)', 'NULL: 8, X: 2', 'NULL'],
      ['DATETIME', 'NULL: 8, NOT NULL: 2', 'NULL'],
    ] as const;
    for (const [nth, [type, counts, kept]] of types.entries()) {
      const name = nth % 2 === 0 ? 'löschkz' : 'zustellart';
      const [rest, gone] = { C: ['NULL', "'X'"], D: ['NULL', "'2026-01-03'"], E: ["'no'", "'yes'"] }[type[0] ?? ''] ?? [
        '0',
        '1',
      ];
      const ask = await shop({
        orders: `${plain}, \`${name}\` ${type}, remark VARCHAR(20), channel CHAR(1)`,
        set: `${plainSet}, \`${name}\` = IF(id > 8, ${gone}, ${rest}), remark = id, channel = 'W'`,
      });
      const answers = [...open, '--start-from', 'all'];
      const asked = await ask(...answers);
      expect([...asked.names, asked.open[0].choices], type).to.deep.equal([
        'orders-with',
        [{ value: name, note: counts }],
      ]);
      const { config } = await ask(...answers, '--orders-with', `${name}=${kept}`);
      expect(await sent(config), type).to.have.length(8);
      const all = await ask(...answers, '--orders-with', 'none');
      expect(all.settled.filter(({ name }: Settled) => name === 'not used')).to.deep.equal([
        {
          ...{ name: 'not used', value: `${name}: ${counts}` },
          reason: `if it marks orders that must not be sent: --orders-with ${name}=VALUES`,
        },
      ]);
      expect(await sent(all.config), type).to.have.length(10);
    }
  });

  it('takes no column of texts for the quantity', async () => {
    const ask = await shop({ orders: plain, set: plainSet, own: { 'line.qty': '' } });
    await erp.database.query('ALTER TABLE order_lines CHANGE qty Menge VARCHAR(20)');
    const text = [...open, '--start-from', 'all', '--column', 'line.qty=Menge'];
    const { code, stderr } = await init(dir.file('menge'), ...ask.flags(), ...text);
    expect([code, stderr]).to.deep.equal([2, 'waybill: --column line.qty=Menge: it is no column of numbers\n']);
  });

  it('starts at the date of a document, and names the configuration in what is to be typed next', async () => {
    const ask = await shop({
      orders: 'status VARCHAR(10), bel_dat DATE',
      set: "status = 'open', bel_dat = '2026-01-02'",
      own: { 'order.created': 'bel_dat' },
    });
    const config = dir.file('next');
    const { stdout } = await init(config, ...ask.flags(), ...open, '--start-from', '2026-01-01');
    expect(await startOf(config)).to.deep.equal({ column: 'bel_dat', from: '2026-01-01' });
    expect(stdout).to.contain(`Look at it: waybill preview --config ${config}\n`);
  });

  it('yields no name twice: where the SKU is part of the key, and where a number is called like the currency', async () => {
    const ask = await shop({
      orders: `${plain}, currency INT, currency_code CHAR(3)`,
      set: `${plainSet}, currency = IF(id > 8, 2, 1), currency_code = 'EUR'`,
      lines: 'sku VARCHAR(20), PRIMARY KEY (order_id, sku)',
      own: { 'order.currency': 'currency_code' },
    });
    const { config } = await ask(...open, '--start-from', 'all', '--orders-with', 'currency=1');
    const { records, settings } = await recordsBy(config);
    expect(records.get('3')?.items).to.deep.equal([{ sku: 'A-1', qty: 3, price: 1025 }]);
    expect(settings.orders.pending).to.equal("status = 'open' AND currency = 1 AND currency_sent = 'EUR'");
  });

  const postgres = usePostgres();
});
