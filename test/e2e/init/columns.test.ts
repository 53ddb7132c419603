import { writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { useTempDir } from '../../support/temp-dir.js';
import { useMariaDb } from '../../support/use-mariadb.js';
import { usePostgres } from '../../support/use-postgres.js';
import { initJson, recordsBy } from './init-lab.js';

/** A shop on MariaDB, plain but for the columns that a test is about. */
interface Shop {
  /** Columns of the orders beside id, customer_id, total. */
  orders: string;
  /** What those of the orders are set to. */
  set: string;
  lines?: string;
}

type TestServer = Record<'database' | 'user' | 'password', string> & { port: number };

describe('what waybill init makes of columns that are not what their names say', function () {
  this.timeout(30_000);
  const dir = useTempDir();
  const erp = useMariaDb();
  let runs = 0;

  const flagsOf = (type: string, { port, database, user, password }: TestServer) => {
    writeFileSync(dir.file(type), password, { mode: 0o600 });
    const server = ['--type', type, '--port', `${port}`, '--database', database, '--user', user];
    return [...server, '--password-file', dir.file(type), '--time-zone', 'UTC'];
  };
  const run = async (flags: readonly string[]) => {
    const config = dir.file(`config-${++runs}`);
    const printed = await initJson(config, ...flags);
    return { ...printed, names: (printed.open ?? []).map((one: { name: string }) => one.name), config };
  };

  /** Ten orders with a line each; gives what runs `init --yes` on them with more answers. */
  const shop = async ({ orders, set, lines = 'pos INT DEFAULT 1, sku VARCHAR(20), PRIMARY KEY (order_id, pos)' }: Shop) => {
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
    return (...answers: string[]) => run([...flagsOf('mysql', erp.database), ...answers]);
  };
  const plain = 'status VARCHAR(10), created_at DATETIME';
  const plainSet = "status = 'open', created_at = '2026-01-01 10:00:00'";
  const sent = async (config: string) => [...(await recordsBy(config)).records.keys()];

  it('asks for the currency of an ENUM, offers the states of one, and sends no order in another currency', async () => {
    const ask = await shop({
      orders: "status ENUM('open', 'closed'), currency ENUM('EUR', 'USD'), created_at DATETIME",
      set: `${plainSet}, currency = IF(id > 8, 'USD', 'EUR')`,
    });
    const asked = await ask('--start-from', 'all');
    expect(asked.names).to.deep.equal(['currency', 'status']);
    expect(asked.open[0].choices.map(({ value }: { value: string }) => value)).to.deep.equal(['EUR', 'USD']);
    expect(asked.open[1].choices).to.deep.equal([{ value: 'open', note: '10 orders' }]);
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
    const flags = [...flagsOf('postgres', postgres.database), '--start-from', 'all'];
    expect((await run(flags)).names).to.deep.equal(['currency', 'status']);
    expect(await sent((await run([...flags, '--status', 'open', '--currency', 'USD'])).config)).to.deep.equal([
      '9',
      '10',
    ]);
  });

  it('joins the currency to a condition with a comment or with || in it', async () => {
    const ask = await shop({
      orders: `${plain}, currency CHAR(3)`,
      set: `${plainSet}, currency = IF(id > 8, 'USD', 'EUR')`,
    });
    for (const pending of ["status = 'open' -- not removed", "status = 'open' || status = 'done'"]) {
      const { config } = await ask('--start-from', 'all', '--currency', 'EUR', '--pending', pending);
      expect(await sent(config), pending).to.deep.equal(['1', '2', '3', '4', '5', '6', '7', '8']);
    }
  });

  const postgres = usePostgres();
});
