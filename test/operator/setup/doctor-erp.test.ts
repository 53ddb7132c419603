import { expect } from 'chai';
import { captureSettings } from '../../../src/config/sections/capture.js';
import type { Settings } from '../../../src/config/settings.js';
import { erpDatabase } from '../../../src/db/databases.js';
import { sql } from '../../../src/db/sql.js';
import { checkErp } from '../../../src/operator/setup/doctor/check-erp.js';
import type { Finding } from '../../../src/operator/setup/doctor/finding.js';
import { tell } from '../../../src/words/words.js';
import {
  type ErpLab,
  erpSource,
  type Mapping,
  orderRows,
  TABLES,
  useMariaDbLab,
  usePostgresLab,
  useSqliteLab,
} from '../../erp/erp-lab.js';

const DAY = '2026-11-02';

async function examine(lab: ErpLab, mapping: Mapping = {}, nowMs = Date.now): Promise<Finding[]> {
  const settings = { ...erpSource(lab, mapping), capture: captureSettings.parse({}) } as Settings;
  const database = await erpDatabase(settings.erp);
  try {
    return await checkErp(database, settings, nowMs);
  } finally {
    await database.close();
  }
}

const saying = (findings: readonly Finding[], words: string | RegExp) =>
  findings.filter(({ what }) => (typeof words === 'string' ? what.includes(words) : words.test(what)));

const codes = (facts: readonly ({ code: string } | undefined)[]) => facts.flatMap((fact) => fact?.code ?? []);

function doctorTests(lab: ErpLab): void {
  beforeEach(() => lab.run(...TABLES, ...orderRows(1, `${DAY} 10:00:00`), ...orderRows(2, `${DAY} 11:00:00`)));

  it('tells the version, and finds a healthy mapping healthy', async () => {
    const found = await examine(lab);
    expect(saying(found, 'charset')[0]?.severity).to.equal('ok');
    expect(saying(found, 'fits the database')[0]?.severity).to.equal('ok');
    expect(
      found.filter(({ part, severity }) => part === 'mapping' && severity !== 'ok' && severity !== 'note'),
    ).to.deep.equal([]);
  });

  it('names the index that the changes need, and the statement mends it', async () => {
    const whole = saying(await examine(lab), 'no index serves');
    expect(whole.map(({ what }) => what.split(':')[0]).sort()).to.deep.equal(['customers.query', 'orders.query']);
    for (const { todo } of whole) await lab.run(todo[0]?.replace(/;$/, '') ?? '');
    const after = await examine(lab);
    expect(saying(after, 'no index serves')).to.deep.equal([]);
    expect(saying(after, 'are read by indexes')).to.have.length(1);
  });

  it('names the index that the lines need, also under another name of the column', async () => {
    await lab.run('CREATE TABLE lines2 (nr INT, order_ref BIGINT, sku VARCHAR(40), qty INT, price DECIMAL(12,2))');
    await lab.run("INSERT INTO lines2 VALUES (1, 1, 'A', 1, 10.00), (2, 2, 'A', 1, 10.00)");
    const query = 'SELECT l.order_ref AS order_id, l.nr AS pos, l.sku, l.qty, l.price FROM lines2 l';
    const mapping = { orders: { lines: { query } as never } };
    const [found] = saying(await examine(lab, mapping), 'orders.lines.query: to read the lines');
    expect(found?.todo[0]).to.match(/^CREATE INDEX .*\bON .*lines2\W.*order_ref/);
    await lab.run(found?.todo[0]?.replace(/;$/, '') ?? '');
    expect(saying(await examine(lab, mapping), 'orders.lines.query')).to.deep.equal([]);
  });

  it('names the index on the table that stands behind a view', async () => {
    await lab.run('CREATE VIEW sales AS SELECT * FROM orders');
    const [found] = saying(await examine(lab, { orders: { query: 'SELECT * FROM sales' } }), 'orders.query: to read');
    expect(found?.todo[0]).to.match(/^CREATE INDEX \S+ ON .?orders.? \(.?updated_at.?, .?id.?\);$/);
    await lab.run('DROP VIEW sales');
  });

  it('says where an expression can use no index', async () => {
    const query =
      'SELECT id, order_no, customer_id, status, total, COALESCE(updated_at, created_at) AS updated_at FROM orders';
    const [found] = saying(await examine(lab, { orders: { query } }), 'orders.query: to read changed rows');
    expect(found?.todo[0]).to.contain('an expression uses no index');
  });

  it('finds a join that multiplies orders, with their keys', async () => {
    await lab.run('CREATE TABLE tags (order_id BIGINT, tag VARCHAR(10))', "INSERT INTO tags VALUES (2, 'a'), (2, 'b')");
    const query = 'SELECT o.* FROM orders o LEFT JOIN tags t ON t.order_id = o.id';
    const found = await examine(lab, { orders: { query } });
    const [twice] = saying(found, 'several rows for one key, such as 2:');
    expect(twice?.severity).to.equal('error');
    expect(saying(found, 'yields 1 more rows than orders has (2)')).to.have.length(1);
  });

  it('finds joins that lose orders and lines, and multiply lines', async () => {
    await lab.run('UPDATE orders SET customer_id = 99 WHERE id = 2', 'CREATE TABLE products (sku VARCHAR(40))');
    const orders = { query: 'SELECT o.* FROM orders o JOIN customers c ON c.id = o.customer_id' };
    const query = 'SELECT l.* FROM order_lines l JOIN products p ON p.sku = l.sku';
    const lines = { query } as never;
    const lost = await examine(lab, { orders: { ...orders, lines } });
    expect(saying(lost, 'orders.query leaves out 1 of the 2 rows of orders by a join')[0]?.severity).to.equal(
      'warning',
    );
    expect(saying(lost, 'orders.lines.query leaves out 2 of the 2 rows of order_lines')[0]?.severity).to.equal(
      'warning',
    );
    await lab.run("INSERT INTO products VALUES ('SKU-1'), ('SKU-1')");
    const more = await examine(lab, { orders: { lines } });
    expect(saying(more, 'orders.lines.query yields 2 more rows than order_lines has')[0]?.severity).to.equal('error');
  });

  it('counts rows without a time of change, and says what only a sweep finds', async () => {
    await lab.run('UPDATE orders SET updated_at = NULL WHERE id = 2');
    const found = await examine(lab);
    expect(saying(found, '1 rows of orders.query hold no updated_at')[0]?.severity).to.equal('warning');
    expect(saying(found, 'such as of a line, by a sweep, up to 60 min late')).to.have.length(1);
    const without = await examine(lab, { customers: { changedAt: undefined } });
    expect(saying(without, 'customers.changedAt is not set')[0]?.severity).to.equal('note');
  });

  it('counts orders that startFrom can not place', async () => {
    await lab.run('UPDATE orders SET created_at = NULL WHERE id = 2');
    const mapping = { orders: { startFrom: { column: 'created_at', from: '2026-01-01' } } };
    const [found] = saying(await examine(lab, mapping), 'orders.startFrom leaves out');
    expect(found?.what).to.equal('orders.startFrom leaves out 1 without a created_at: give it one in the ERP.');
    expect(found?.severity).to.equal('warning');
    await lab.run("UPDATE orders SET created_at = '2025-01-01' WHERE id = 2");
    expect(saying(await examine(lab, mapping), 'orders.startFrom leaves out')).to.deep.equal([]);
  });

  it('finds a change in the future, and a time zone that fits mends it', async () => {
    const inAWeek = new Date(Date.now() + 7 * 86_400_000).toISOString().slice(0, 19).replace('T', ' ');
    await lab.run(`UPDATE orders SET updated_at = '${inAWeek}' WHERE id = 2`);
    const found = (await examine(lab, { erp: { ...lab.settings(), timeZone: 'Etc/UTC' } })).map(
      ({ because }) => because,
    );
    expect(codes(found)).to.include('newest_change_ahead');
    // Written by a clock an hour ahead of what the settings say.
    const wall = new Date(Date.now() + 3_600_000).toISOString().slice(0, 19).replace('T', ' ');
    await lab.run(`UPDATE orders SET updated_at = '${wall}' WHERE id = 2`);
    const inZone = async (timeZone: string) =>
      codes((await examine(lab, { erp: { ...lab.settings(), timeZone } })).map(({ because }) => because));
    // A server in that zone shows why.
    expect(await inZone('Etc/UTC')).to.include.oneOf(['newest_change_ahead', 'time_zones_differ']);
    expect(await inZone('Etc/GMT-1')).not.to.include('newest_change_ahead');
  });

  it('finds states that sound like a cancellation, and a rule for them mends it', async () => {
    const found = await examine(lab);
    expect(codes(found.map(({ because }) => because))).to.include('no_end_of_orders');
    await lab.run("UPDATE orders SET status = 'storniert' WHERE id = 2");
    const because = (await examine(lab)).flatMap(({ because }) =>
      because?.code === 'no_cancellation_rule' ? tell(because) : [],
    );
    expect(because).to.deep.equal([
      'Nothing says which orders are cancelled, while status has "storniert" (1): an order that is cancelled after it was sent stays at the service.',
    ]);
    const mended = await examine(lab, {
      orders: {
        cancelled: { column: 'status', values: ['storniert'] },
        completed: { column: 'status', values: ['done'] },
      },
    });
    expect(codes(mended.map(({ because }) => because))).not.to.include.oneOf([
      'no_cancellation_rule',
      'no_end_of_orders',
    ]);
  });

  it('finds customers that share a code', async () => {
    expect(codes((await examine(lab)).map(({ because }) => because))).not.to.include('codes_shared');
    await lab.run("INSERT INTO customers SELECT 2, code, 'Another', updated_at FROM customers");
    const shared = (await examine(lab)).find(({ because }) => because?.code === 'codes_shared');
    expect(shared?.severity).to.equal('warning');
    expect(shared?.because && tell(shared.because)).to.match(/^1 customer code belongs .* "K1"/);
  });

  it('compares the clocks', async () => {
    const found = await examine(lab, {}, () => Date.now() - 120_000);
    expect(saying(found, /12\d s ahead of|119 s ahead of/)[0]?.severity).to.equal('warning');
  });

  it('goes on with the server where the mapping has faults, and names each', async () => {
    const found = await examine(lab, { orders: { number: 'nowhere', pending: 'no_column = 1' } });
    const [faults] = found.filter(({ severity }) => severity === 'error');
    expect(faults?.part).to.equal('mapping');
    expect(faults?.todo.join('\n')).to.contain('orders.number').and.contain('orders.pending');
    expect(saying(found, 'charset')).to.have.length(1);
  });
}

function accountTests(lab: ErpLab, change: (statement: string) => Promise<void>, database: () => string): void {
  it('warns of an account that can write, and the statements make one that can not', async () => {
    await lab.run(...TABLES, ...orderRows(1, `${DAY} 10:00:00`));
    const erp = lab.settings();
    const [warning] = saying(await examine(lab), 'can write to the ERP');
    expect(warning?.severity).to.equal('warning');
    const todo = warning?.todo ?? [];
    expect(todo.at(-1)).to.match(/^erp\.user: user_\w+_reader$/);
    const user = todo.at(-1)?.replace('erp.user: ', '') ?? '';
    try {
      for (const statement of todo.slice(0, -1)) await change(statement.replace(/;$/, ''));
      const reader = { host: '127.0.0.1' as const, port: 'port' in erp ? erp.port : 0, user, password: '...' };
      const found = await examine(lab, { erp: lab.settings({ user: { ...reader, drop: async () => undefined } }) });
      expect(saying(found, 'The account can read only')).to.have.length(1);
      expect(found.filter(({ severity }) => severity === 'error')).to.deep.equal([]);
    } finally {
      await change(lab.type === 'postgres' ? `DROP OWNED BY ${user}; DROP ROLE ${user}` : `DROP USER ${user}`);
    }
    expect(database()).to.not.equal('');
  });

  it('is the one finding where the server can not be reached', async () => {
    const erp = { ...lab.settings(), port: 1 } as Settings['erp'];
    const found = await examine(lab, { erp });
    expect(found.map(({ part, severity }) => `${part} ${severity}`)).to.deep.equal(['erp error']);
  });

  it('warns of amounts in floating point, and the cast mends it', async () => {
    await lab.run(
      ...TABLES,
      ...orderRows(1, `${DAY} 10:00:00`),
      'CREATE TABLE l2 (order_id BIGINT, pos INT, sku VARCHAR(9), qty INT, price DOUBLE PRECISION)',
    );
    const query = (price: string) => ({
      orders: { lines: { query: `SELECT order_id, pos, sku, qty, ${price} FROM l2` } as never },
    });
    const [found] = saying(await examine(lab, query('price')), 'which holds most amounts only nearly');
    expect(found?.severity).to.equal('warning');
    const cast = /CAST\(.* AS price/.exec(found?.todo[0] ?? '')?.[0] ?? '';
    expect(saying(await examine(lab, query(cast)), 'only nearly')).to.deep.equal([]);
  });
}

describe('what the doctor finds in an ERP (SQLite)', () => {
  const lab = useSqliteLab();
  doctorTests(lab);

  it('warns of amounts with a rest of floating point, and rounding in the query mends it', async () => {
    await lab.run(
      'CREATE TABLE l3 (order_id BIGINT, pos INT, sku VARCHAR(9), qty INT, price REAL)',
      "INSERT INTO l3 VALUES (1, 1, 'A', 1, 19.99), (2, 1, 'A', 1, 0.1 + 0.2)",
    );
    const query = (price: string) => ({
      orders: { lines: { query: `SELECT order_id, pos, sku, qty, ${price} FROM l3` } as never },
    });
    const [found] = saying(await examine(lab, query('price')), 'rest of floating point');
    expect(found?.what).to.equal(
      'orders.lines.query: 1 rows of column price hold an amount with a rest of floating point, such as 0.30000000000000004.',
    );
    const rounded = /ROUND\(.* AS price/.exec(found?.todo[0] ?? '')?.[0] ?? '';
    expect(saying(await examine(lab, query(rounded)), 'rest of')).to.deep.equal([]);
  });
});

describe('what the doctor finds in an ERP (MariaDB)', () => {
  const lab = useMariaDbLab();
  describe('with the usual tables', () => doctorTests(lab));
  const asRoot = async (statement: string) => {
    const root = await lab.mariaDb.server.connect();
    try {
      await root.query(statement);
    } finally {
      await root.end();
    }
  };
  accountTests(lab, asRoot, () => lab.mariaDb.database.database);

  it('names indexes over texts that can be made', async () => {
    const keys = 'a VARCHAR(500), b VARCHAR(400), c VARCHAR(255), updated_at DATETIME(6)';
    await lab.run(
      ...TABLES,
      `CREATE TABLE long_orders (${keys}, order_no VARCHAR(40), customer_id BIGINT, status VARCHAR(20), total DECIMAL(14,2)) CHARSET utf8mb4`,
      'CREATE TABLE long_lines (a TEXT, b LONGTEXT, c TINYTEXT, pos INT, sku VARCHAR(40), qty INT, price DECIMAL(12,2)) CHARSET utf8mb4',
      ...['A', 'B', 'C'].flatMap((key) => [
        `INSERT INTO long_orders VALUES ('${key}', '1', '1', '${DAY} 10:00:00', '${key}', 1, 'open', 10)`,
        `INSERT INTO long_lines VALUES ('${key}', '1', '1', 1, 'A', 1, 10)`,
      ]),
    );
    const key = ['a', 'b', 'c'];
    const lines = { query: 'SELECT * FROM long_lines', orderKey: key } as never;
    const mapping = { orders: { query: 'SELECT * FROM long_orders', key, lines } };
    const whole = saying(await examine(lab, mapping), 'no index serves').filter(({ what }) => /^orders/.test(what));
    const statements = whole.flatMap(({ todo }) => todo).sort();
    expect(statements.map((statement) => statement.replace(/^.*ON /, ''))).to.deep.equal([
      '`long_lines` (`a`(255), `b`(255), `c`(255));',
      '`long_orders` (`updated_at`, `a`(255), `b`(255));',
    ]);
    for (const statement of statements) await lab.run(statement.replace(/;$/, ''));
    expect(saying(await examine(lab, mapping), /^orders.*no index serves/)).to.deep.equal([]);
  });

  it('keeps tables of the same name in two databases apart', async () => {
    const { database } = lab.mariaDb;
    const other = `${database.database}_old`;
    await asRoot(`CREATE DATABASE ${other}`);
    try {
      await lab.run(...TABLES, ...TABLES.slice(0, 3).map((table) => table.replace('TABLE ', `TABLE ${other}.`)));
      await lab.run(...orderRows(1, `${DAY} 10:00:00`), `INSERT INTO ${other}.orders SELECT * FROM orders`);
      await lab.run(`UPDATE ${other}.orders SET id = 2`, `INSERT INTO ${other}.orders SELECT * FROM orders`);
      await asRoot(`GRANT SELECT ON ${other}.orders TO '${database.user}'@'127.0.0.1'`);
      const query = `SELECT o.* FROM ${other}.orders o LEFT JOIN customers c ON c.id = o.customer_id`;
      const found = await examine(lab, { orders: { query } });
      expect(found.filter(({ severity }) => severity === 'error')).to.deep.equal([]);
    } finally {
      await asRoot(`DROP DATABASE ${other}`);
    }
  });

  it('warns of what the account may with a role that is not its default, and leaves its session as it was', async () => {
    const { database } = lab.mariaDb;
    await lab.run(...TABLES, ...orderRows(1, `${DAY} 10:00:00`));
    const role = `role_${database.database}`;
    const user = await database.createUser(['SELECT ON orders', 'SELECT ON order_lines', 'SELECT ON customers']);
    const erp = lab.settings({ user });
    try {
      await asRoot(`CREATE ROLE ${role}`);
      await asRoot(`CREATE ROLE ${role}_inner`);
      await asRoot(`GRANT DELETE ON ${database.database}.orders TO ${role}_inner`);
      await asRoot(`GRANT ${role}_inner TO ${role}`);
      expect(saying(await examine(lab, { erp }), 'The account can read only')).to.have.length(1);
      await asRoot(`GRANT ${role} TO '${user.user}'@'127.0.0.1'`);
      const found = await examine(lab, { erp });
      const right = `role \`${role}\`: DELETE on ${database.database}.orders`;
      expect(saying(found, `can write to the ERP: ${right}.`)[0]?.severity).to.equal('warning');
      const erpDb = await erpDatabase(erp);
      const role_ = await erpDb.snapshot(async ({ dialect: { inspection }, query }) => {
        await inspection.rights?.(query);
        return (await query(sql`SELECT CURRENT_ROLE() AS name`, 'ask for the role')).rows[0]?.name;
      });
      await erpDb.close();
      expect(role_).to.equal(null);
    } finally {
      await user.drop();
      await asRoot(`DROP ROLE ${role}, ${role}_inner`);
    }
  });
});

describe('what the doctor finds in an ERP (PostgreSQL)', () => {
  const lab = usePostgresLab();
  describe('with the usual tables', () => doctorTests(lab));
  accountTests(
    lab,
    async (statement) => void (await lab.postgres.database.query(statement)),
    () => lab.postgres.database.database,
  );

  it('keeps tables of the same name in two schemas apart', async () => {
    const { database } = lab.postgres;
    await lab.run('CREATE SCHEMA archive', `GRANT USAGE ON SCHEMA archive TO ${database.user}`);
    try {
      for (const name of ['customers', 'orders', 'order_lines'])
        await lab.run(TABLES.find((table) => table.includes(`TABLE ${name} `))?.replace(name, `archive.${name}`) ?? '');
      await lab.run(...TABLES, ...orderRows(1, `${DAY} 10:00:00`), ...orderRows(2, `${DAY} 11:00:00`));
      const query = 'SELECT o.* FROM orders o LEFT JOIN customers c ON c.id = o.customer_id';
      const found = await examine(lab, { orders: { query } });
      expect(found.filter(({ severity }) => severity === 'error')).to.deep.equal([]);
      const advice = found.flatMap(({ todo }) => todo).join('\n');
      expect(advice).to.contain('CREATE INDEX').and.contain('GRANT SELECT').and.not.contain('archive');

      const old = await examine(lab, { orders: { query: 'SELECT o.* FROM archive.orders o' } });
      const [index] = saying(old, 'orders.query: to read changed rows');
      expect(index?.todo[0]).to.contain(' ON "archive"."orders" ("updated_at", "id");');
      expect(saying(old, 'can write')[0]?.todo.join('\n')).to.contain('"archive"."orders", "public"."customers"');
    } finally {
      await lab.run('DROP SCHEMA archive CASCADE');
    }
  });

  it('warns of a right on one column, in a schema, and of a role that is not inherited', async () => {
    await lab.run(...TABLES, ...orderRows(1, `${DAY} 10:00:00`));
    const { database } = lab.postgres;
    const user = await database.createUser(['SELECT ON orders, order_lines, customers']);
    const role = `role_${user.user}`;
    const mayWrite = async () => {
      const found = saying(await examine(lab, { erp: lab.settings({ user }) }), /^The account can/);
      expect(found).to.have.length(1);
      return found[0]?.what.replace(/^.*ERP: |\. Waybill.*$/g, '');
    };
    await database.query(`CREATE ROLE ${role}`);
    try {
      // As in PostgreSQL 14 and older: a right of everyone.
      await database.query('GRANT CREATE ON SCHEMA public TO PUBLIC');
      expect(await mayWrite()).to.equal('The account can read only.');
      await database.query('REVOKE CREATE ON SCHEMA public FROM PUBLIC');
      await database.query(`GRANT UPDATE (status) ON orders TO ${user.user}`);
      await database.query(`GRANT CREATE ON SCHEMA public TO ${user.user}`);
      expect(await mayWrite()).to.equal('UPDATE on public.orders; CREATE on schema public');
      await database.query(`REVOKE ALL ON orders FROM ${user.user}; REVOKE ALL ON SCHEMA public FROM ${user.user}`);
      await database.query(`GRANT SELECT ON orders TO ${user.user}; ALTER ROLE ${user.user} NOINHERIT`);
      await database.query(`GRANT DELETE ON orders TO ${role}; GRANT ${role} TO ${user.user}`);
      expect(await mayWrite()).to.equal(`role ${role}: DELETE on public.orders`);
    } finally {
      await database.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
      await user.drop();
    }
  });

  it('warns of row-level security that hides rows', async () => {
    await lab.run(...TABLES, ...orderRows(1, `${DAY} 10:00:00`), 'ALTER TABLE orders ENABLE ROW LEVEL SECURITY');
    const [found] = saying(await examine(lab), 'Row-level security is active');
    expect(found?.what).to.contain('public.orders');
    const { query } = lab.postgres.database;
    await query(found?.todo[0] ?? '');
    expect(saying(await examine(lab), 'Row-level security')).to.deep.equal([]);
    await query((found?.todo[0] ?? '').replace('BYPASSRLS', 'NOBYPASSRLS'));
  });
});
