import { dirname } from 'node:path';
import { expect } from 'chai';
import type { ChangePosition, ErpError, ErpPage, ReadOrder } from '../../src/erp/erp-reader.js';
import { type Mapping, openReader, orderRows, usePostgresLab } from '../erp/erp-lab.js';
import { problemsInWords } from '../erp/problems-in-words.js';
import { SpoilingProxy } from '../support/spoiling-proxy.js';
import { databaseContract, failureOf, isAway, parties } from './database-contract.js';

const DAY = '2026-01-01 10:00:00';

async function erpFailureOf(action: Promise<unknown>): Promise<ErpError> {
  return (await failureOf(action)) as ErpError;
}

describe('an ERP on PostgreSQL', () => {
  const lab = usePostgresLab();
  databaseContract(lab);

  const recordOf = async (mapping: Mapping) => {
    const [order] = (await openReader(lab, mapping).sweep('order', null, 10)).rows;
    return order?.content.mapped ? order.content.record : order?.content;
  };
  /** Every key of a table with one text column, read one row at a time. */
  const keysOf = async (reader: ReturnType<typeof openReader>): Promise<string[]> => {
    const found: string[] = [];
    for (let after: string[] | null = null; ; ) {
      const page: ErpPage<ReadOrder> = await reader.sweep('order', after, 1);
      found.push(...page.rows.map(({ sourceKey }) => sourceKey));
      after = page.last?.key ?? null;
      if (!page.more) return found;
    }
  };
  const bare = (query: string, key: string | string[]) => ({
    customers: { send: 'none' as const },
    orders: {
      ...{ query, key, changedAt: undefined, pending: undefined, number: undefined, total: undefined },
      fields: { customer_code: { constant: 'K' } },
    },
  });

  describe('times', () => {
    const placed = { placed: { column: 'created_at', type: 'datetime' as const } };

    it('with a zone are instants: the hour that happens twice stays two hours', async () => {
      await lab.run(
        'ALTER TABLE orders ALTER created_at TYPE TIMESTAMPTZ, ALTER updated_at TYPE TIMESTAMPTZ',
        "SET TimeZone = 'UTC'",
        ...orderRows(1, '2026-10-25 00:30:00'),
        ...orderRows(2, '2026-10-25 01:30:00.5'),
        ...orderRows(3, '2026-10-24 21:59:59.999999'),
      );
      const reader = openReader(lab, {
        orders: {
          fields: { ...placed, shown: 'created_at', day: { column: 'created_at', type: 'date' } },
          startFrom: { column: 'created_at', from: '2026-10-25' },
        },
      });
      const page = await reader.readChanged('order', { since: null }, 10);
      expect(page.rows.map(({ content }) => (content.mapped ? content.record : {}))).to.have.deep.nested.property(
        '[0].placed',
        '2026-10-25T02:30:00+02:00',
      );
      expect(page.rows[1]?.content).to.have.property('record').that.includes({
        placed: '2026-10-25T02:30:00.500000+01:00',
        shown: '2026-10-25 02:30:00.500000',
        day: '2026-10-25',
      });
      expect(page.last?.changedAt).to.equal('2026-10-25 01:30:00.500000');
      expect((await reader.readChanged('order', { after: page.last as ChangePosition }, 10)).rows).to.deep.equal([]);
      const since = await reader.readChanged('order', { since: '2026-10-25 01:30:00.500000' }, 10);
      expect(since.rows.map(({ sourceKey }) => sourceKey)).to.deep.equal(['2']);
      const now = Date.parse(`${(await reader.nowAsChangedAt('order'))?.replace(' ', 'T')}Z`);
      expect(Math.abs(now - Date.now())).to.be.below(60_000);
    });

    it('in an expression are those of erp.timeZone, whatever the zone of the server', async () => {
      await lab.run(
        ...orderRows(1, DAY),
        'ALTER TABLE orders ALTER created_at TYPE TIMESTAMPTZ',
        "SET TimeZone = 'UTC'",
        "UPDATE orders SET created_at = '2026-06-30 22:30:00'",
      );
      const query = 'SELECT o.*, o.created_at::date AS day FROM orders o';
      expect(await recordOf({ orders: { query, fields: { day: 'day' } } })).to.include({ day: '2026-07-01' });
    });

    it('beyond all others stand for no date, and the cursor waits for none of them', async () => {
      await lab.run(...orderRows(1, '-infinity'), ...orderRows(2, DAY), ...orderRows(3, 'infinity'));
      const reader = openReader(lab, { orders: { fields: { placed: { ...placed.placed, optional: true } } } });
      const found: string[] = [];
      for (let from: Parameters<typeof reader.readChanged>[1] = { since: null }; ; ) {
        const page: ErpPage<ReadOrder> = await reader.readChanged('order', from, 1);
        found.push(...page.rows.map(({ sourceKey }) => sourceKey));
        for (const { content, sourceKey } of page.rows)
          expect(content)
            .to.have.property('record')
            .and.satisfy((record: object) => 'placed' in record === (sourceKey === '2'));
        if (!page.more) break;
        from = { after: page.last as ChangePosition };
      }
      expect(found).to.deep.equal(['1', '2', '3']);
    });

    it('need a zone that the server knows', async () => {
      const { message, kind } = await erpFailureOf(
        openReader(lab, { erp: { ...lab.settings(), timeZone: 'Mars/Olympus' } }).check(),
      );
      expect(kind).to.equal('mapping');
      expect(message).to.include('Mars/Olympus').and.include('does not know erp.timeZone by this name');
    });
  });

  describe('keys', () => {
    it('with quotes and backslashes are data', async () => {
      await lab.run('CREATE TABLE odd (id TEXT PRIMARY KEY)');
      const keys = ["O'Brien", "x\\' OR 1=1 -- ", 'back\\slash', 'quo"te', '$1', '?', ':name'];
      for (const key of keys) await lab.postgres.database.query('INSERT INTO odd VALUES ($1)', [key]);
      const reader = openReader(lab, bare('SELECT id FROM odd', 'id'));
      expect(await keysOf(reader))
        .to.have.members(keys)
        .and.have.length(keys.length);
      expect((await reader.sweep('order', null, 10, { keys })).rows).to.have.length(keys.length);
    });

    it('of char(n) end where their text ends; of citext and numeric compare as the database does', async () => {
      await lab.run(
        'CREATE EXTENSION citext',
        'CREATE TABLE padded (id CHAR(10) PRIMARY KEY)',
        "INSERT INTO padded VALUES ('A-5'), ('B-5')",
        'CREATE TABLE loose (id CITEXT PRIMARY KEY)',
        "INSERT INTO loose VALUES ('a'), ('B'), ('c'), ('D')",
        'CREATE TABLE decimals (id NUMERIC(30,2) PRIMARY KEY)',
        'INSERT INTO decimals VALUES (2.00), (10.00), (12345678901234567890.01)',
      );
      const padded = openReader(lab, bare('SELECT id FROM padded', 'id'));
      expect(await keysOf(padded)).to.deep.equal(['A-5', 'B-5']);
      expect((await padded.presence('order', ['A-5', 'C-5'], true)).existing).to.deep.equal(new Set(['A-5']));
      const loose = openReader(lab, bare('SELECT id FROM loose', 'id'));
      expect(await keysOf(loose)).to.deep.equal(['a', 'B', 'c', 'D']);
      expect((await loose.equalKeys('order', ['A'])).get('A')).to.deep.equal(['a']);
      const decimals = openReader(lab, bare('SELECT id FROM decimals', 'id'));
      expect(await keysOf(decimals)).to.deep.equal(['2.00', '10.00', '12345678901234567890.01']);
    });

    it('of citext are refused where its schema is not searched: they would be sorted one way and compared another', async () => {
      await lab.run('CREATE SCHEMA ext', 'CREATE EXTENSION citext SCHEMA ext', 'CREATE TABLE loose (id ext.CITEXT)');
      const { message } = await failureOf(openReader(lab, bare('SELECT id FROM loose', 'id')).check());
      expect(message).to.include('orders.key: column "id" can not be used here: citext is outside the search_path');
    });

    it('that no row can have are absent, and no error', async () => {
      await lab.run(
        'CREATE TABLE ids (u UUID PRIMARY KEY, n INT, at TIMESTAMP)',
        `INSERT INTO ids VALUES ('8f14e45f-ceea-4e7b-9c1f-0a1b2c3d4e5f', 7, '${DAY}')`,
      );
      for (const [key, own] of [
        ['u', '8f14e45f-ceea-4e7b-9c1f-0a1b2c3d4e5f'],
        ['n', '7'],
        ['at', `${DAY}.000000`],
      ] as const) {
        const reader = openReader(lab, bare('SELECT * FROM ids', key));
        expect(await keysOf(reader)).to.deep.equal([own]);
        const asked = [own, 'no such', '7.5', '99999999999999999999', '2026-02-30'];
        expect((await reader.sweep('order', null, 10, { keys: asked })).rows.map((row) => row.sourceKey)).to.deep.equal(
          [own],
        );
      }
    });

    it('that can not be paged by are refused, with what to write', async () => {
      await lab.run(
        "CREATE TYPE state AS ENUM ('z', 'a')",
        'CREATE TABLE keys_ (d FLOAT8, f FLOAT4, b BYTEA, e state, i INTERVAL)',
      );
      const query = 'SELECT o.*, k.* FROM orders o CROSS JOIN keys_ k';
      const { message } = await failureOf(
        openReader(lab, { orders: { query, key: ['d', 'f', 'b', 'e', 'i'] } }).check(),
      );
      expect(message).to.include('column "d" can not be used here: a DOUBLE is not exact');
      expect(message).to.include('column "f" can not be used here: a FLOAT is not exact');
      expect(message).to.include('column "b" can not be used here: it holds bytes, not text; write encode(…, \'hex\')');
      expect(message).to.include('column "e" can not be used here: an ENUM');
      expect(message).to.include('column "i" can not be used here: a interval is not compared as a text; write CAST(…');
    });
  });

  describe('values', () => {
    it('are read as they stand: numeric, int8, bool, enum, uuid, bytes, and what is cast', async () => {
      await lab.run(
        ...orderRows(1, DAY),
        "CREATE TYPE priority AS ENUM ('low', 'high')",
        `CREATE TABLE extra (id INT, amount NUMERIC(20,6), big INT8, paid BOOL, prio priority, token UUID, memo BYTEA,
           weight FLOAT8, country CHAR(4), names JSONB, price MONEY)`,
        `INSERT INTO extra VALUES (1, 90071992547409.910000, 9007199254740993, true, 'high',
           '8f14e45f-ceea-4e7b-9c1f-0a1b2c3d4e5f', '\\x4772c3bcc39f65', 0.07, 'DE', '{"en_US": "Desk"}', 12.5)`,
      );
      const query = `SELECT o.*, e.amount, e.big, e.paid, e.prio, e.token, e.memo, e.weight, e.country,
        e.names->>'en_US' AS name, CAST(e.price AS numeric) AS price FROM orders o JOIN extra e ON e.id = o.id`;
      const fields = {
        amount: { column: 'amount', type: 'amount' as const },
        big: 'big',
        paid: { column: 'paid', type: 'boolean' as const },
        weight: { column: 'weight', type: 'amount' as const },
        cost: { column: 'price', type: 'amount' as const },
        ...{ paid_text: 'paid', prio: 'prio', token: 'token', memo: 'memo', country: 'country', name: 'name' },
      };
      expect(await recordOf({ orders: { query, fields } })).to.include({
        ...{ amount: 9007199254740991, big: '9007199254740993', paid: true, weight: 7, cost: 1250 },
        ...{
          paid_text: 'true',
          prio: 'high',
          token: '8f14e45f-ceea-4e7b-9c1f-0a1b2c3d4e5f',
          memo: 'Grüße',
          country: 'DE',
          name: 'Desk',
        },
      });
    });

    it('that are no single text, or no exact number, are refused with what to write', async () => {
      await lab.run(
        'CREATE TYPE place AS (street TEXT, city TEXT)',
        'CREATE TABLE extra (id INT, names JSONB, tags TEXT[], price MONEY, home place, weight FLOAT4)',
      );
      const query = 'SELECT o.*, e.names, e.tags, e.price, e.home, e.weight FROM orders o JOIN extra e ON e.id = o.id';
      const fields = {
        ...{ name: 'names', tags: 'tags', home: 'home' },
        price: { column: 'price', type: 'amount' as const },
        weight: { column: 'weight', type: 'amount' as const },
      };
      const { message, kind } = await erpFailureOf(openReader(lab, { orders: { query, fields } }).check());
      expect(kind).to.equal('mapping');
      for (const fault of [
        'orders.fields.name: column "names" is a jsonb, which holds more than one value; take one out in the query, such as name->>\'en_US\'',
        'orders.fields.tags: column "tags" is a list (text[]); write array_to_string(…',
        'orders.fields.home: column "home" is a whole row (place)',
        'orders.fields.price: column "price" is a money, written as the server likes; write CAST(… AS numeric)',
        'orders.fields.weight: column "weight" is a FLOAT, which is not exact; write CAST(… AS DECIMAL(20, 6))',
      ])
        expect(message).to.include(fault);
    });

    it('of a database without an encoding that are no text park their record', async () => {
      const { server } = lab.postgres;
      const root = await server.connect();
      await root.query("CREATE DATABASE ascii ENCODING 'SQL_ASCII' LOCALE 'C' LOCALE_PROVIDER libc TEMPLATE template0");
      const ascii = await server.connect('ascii');
      try {
        await ascii.query("SET client_encoding = 'SQL_ASCII'");
        await ascii.query(
          "CREATE TABLE names (id INT, name TEXT); INSERT INTO names VALUES (1, 'K' || E'\\xf6' || 'ln')",
        );
        await ascii.query('CREATE TABLE lines (id INT, sku TEXT)');
        await ascii.query('GRANT SELECT ON names, lines TO PUBLIC');
        const erp = { ...lab.settings(), database: 'ascii' } as ReturnType<typeof lab.settings>;
        const lines = { query: 'SELECT *, 1 AS qty, 1 AS price FROM lines', orderKey: 'id', sortBy: 'sku' };
        const { orders, customers } = bare('SELECT id, name FROM names', 'id');
        const fields = { ...orders.fields, name: 'name' };
        const [order] = (
          await openReader(lab, {
            erp,
            customers,
            orders: { ...orders, fields, lines: { ...lines, fields: lineFields } },
          }).sweep('order', null, 10)
        ).rows;
        expect(problemsInWords(order?.content as never)).to.include('name holds bytes that are not text');
      } finally {
        await ascii.end();
        await root.query('DROP DATABASE ascii WITH (FORCE)');
        await root.end();
      }
    });
  });
  const lineFields = { sku: 'sku', qty: 'qty', price: 'price' };

  describe('names and conditions', () => {
    it('with capitals, of another schema, and found by the search_path of the account', async () => {
      await lab.run(
        ...orderRows(1, DAY),
        'CREATE SCHEMA erp',
        'CREATE TABLE erp."Order" AS SELECT id, order_no AS "OrderNo", customer_id, status, total, updated_at FROM orders',
        'GRANT USAGE ON SCHEMA erp TO PUBLIC',
        'GRANT SELECT ON ALL TABLES IN SCHEMA erp TO PUBLIC',
      );
      const number = 'OrderNo';
      expect(await recordOf({ orders: { query: 'SELECT * FROM erp."Order"', number } })).to.include({ note: 'A-1' });
      const lost = await failureOf(openReader(lab, { orders: { query: 'SELECT * FROM "Order"', number } }).check());
      expect(lost.message)
        .to.include('orders.query: relation "Order" does not exist')
        .and.include('a table outside the search_path of the account its schema');
      const { user, database } = lab.postgres.database;
      await lab.run(`ALTER ROLE ${user} IN DATABASE ${database} SET search_path = public, erp`);
      try {
        expect(await recordOf({ orders: { query: 'SELECT * FROM "Order"', number } })).to.include({ note: 'A-1' });
      } finally {
        await lab.run(`ALTER ROLE ${user} IN DATABASE ${database} RESET search_path`);
      }
    });

    it('that come twice are refused where they are used: which one is meant is not known', async () => {
      await lab.run(...orderRows(1, DAY), "UPDATE customers SET name = 'Other'");
      const query = 'SELECT o.*, c.* FROM orders o JOIN customers c ON c.id = o.customer_id';
      const { message } = await failureOf(openReader(lab, { orders: { query } }).check());
      expect(message)
        .to.include('orders.key: column "id" comes twice in orders.query; give each of them a name of its own, with AS')
        .and.include('orders.changedAt: column "updated_at" comes twice');
    });

    it('that compare a column with another type are refused, each with the path of its setting', async () => {
      await lab.run(...orderRows(1, DAY));
      const { message } = await failureOf(
        openReader(lab, { customers: { pending: "id = 'one'" }, orders: { pending: 'status = 1' } }).check(),
      );
      expect(message).to.include('customers.pending: invalid input syntax for type bigint: "one"');
      expect(message)
        .to.include('orders.pending: operator does not exist: character varying = integer')
        .and.include('Compare a column with its own type');
    });

    it('that fail on a row are named when some rows show it, and say what to do where a later one does', async () => {
      await lab.run(...orderRows(1, DAY));
      const open = () =>
        openReader(lab, {
          customers: { query: 'SELECT c.*, substr(c.code, 2)::int AS n FROM customers c' },
          orders: { pending: "CASE WHEN status = 'odd' THEN note::int > 0 ELSE true END" },
        });
      const reader = open();
      await reader.check();
      await lab.run("UPDATE orders SET note = 'x', status = 'odd'");
      const error = await failureOf(reader.sweep('order', null, 1));
      expect(error).to.have.property('kind', 'query');
      expect(error.message).to.include('for type integer: "x"').and.include('One row can stop all of them');
      await lab.run("UPDATE orders SET note = '5'");
      expect((await reader.sweep('order', null, 1)).rows).to.have.length(1);
      await lab.run("UPDATE orders SET note = 'x'", "UPDATE customers SET code = 'K?'");
      const { message } = await failureOf(open().check());
      expect(message)
        .to.include('orders.pending: invalid input syntax for type integer: "x"')
        .and.include('customers.query: invalid input syntax for type integer: "?"');
    });
  });

  for (const [name, { open }] of Object.entries(parties))
    it(`outlives a server that sends ${name} what is no message, and asks it again`, async () => {
      const settings = lab.settings() as { host: string; port: number };
      const proxy = new SpoilingProxy({ host: settings.host, port: settings.port });
      const party = await open({ ...lab.settings(), host: '127.0.0.1', port: await proxy.open() } as never);
      try {
        await party.ask();
        proxy.spoils = true;
        expect(isAway(await failureOf(party.ask()))).to.equal(true);
        expect(isAway(await failureOf(party.ask()))).to.equal(true);
        proxy.spoils = false;
        await party.ask();
      } finally {
        await party.close();
        await proxy.close();
      }
    });

  it('tells a lock from a statement that takes too long', async () => {
    await lab.run('BEGIN', 'LOCK TABLE orders');
    try {
      const locked = await failureOf(
        openReader(lab, { erp: lab.settings({ queryTimeoutSeconds: 0.5 }) }).count('order'),
      );
      expect(locked).to.have.property('kind', 'unreachable');
      expect(locked.message).to.include('Another program holds a lock');
    } finally {
      await lab.run('ROLLBACK');
    }
  });

  it('needs what pg_hba.conf asks for, a socket that is there, and a connection that is left', async () => {
    const { password: _, ...silent } = lab.settings() as Extract<Mapping['erp'], { host: string }>;
    const words: [Mapping['erp'], RegExp][] = [
      [silent, /the server asks for a password, and none is set/],
      [{ ...silent, host: '/nowhere' }, /ENOENT.*there is no such socket/],
    ];
    for (const [erp, expected] of words) {
      const error = await failureOf(openReader(lab, { erp }).check());
      expect(error).to.have.property('kind', 'unreachable');
      expect(error.message).to.match(expected);
    }
    const { user } = lab.postgres.database;
    await lab.run(`ALTER ROLE ${user} CONNECTION LIMIT 0`);
    try {
      expect((await failureOf(openReader(lab).check())).message).to.match(/has no connection left for erp\.user/);
    } finally {
      await lab.run(`ALTER ROLE ${user} CONNECTION LIMIT -1`);
    }
  });

  it('is read by a local socket as well, which needs no secure connection', async () => {
    const host = dirname(lab.postgres.server.dataDir);
    expect(await openReader(lab, { erp: { ...lab.settings(), host } as Mapping['erp'] }).count('order')).to.equal(0);
  });
});
