import { expect } from 'chai';
import { erpDatabase } from '../../src/db/databases.js';
import type { ErpSnapshot } from '../../src/db/erp-database.js';
import { rawSql } from '../../src/db/sql.js';
import { type Catalogue, countRows, countValues, nameOf, readCatalogue, tableSql } from '../../src/erp/catalogue.js';
import { type ErpLab, useMariaDbLab, usePostgresLab, useSqliteLab } from '../erp/erp-lab.js';

const TABLES = [
  'CREATE TABLE customer (id INT PRIMARY KEY, code VARCHAR(40) NOT NULL UNIQUE, name VARCHAR(100), active BOOLEAN)',
  `CREATE TABLE "Sales Order" (trans_type SMALLINT NOT NULL, order_no INT NOT NULL, customer_id INT REFERENCES customer (id),
     status VARCHAR(20), total DECIMAL(12,2), weight DOUBLE PRECISION, ordered_on DATE, created_at DATETIME,
     PRIMARY KEY (trans_type, order_no), FOREIGN KEY (customer_id) REFERENCES customer (id))`,
  'CREATE INDEX by_status ON "Sales Order" (status, created_at)',
  `CREATE TABLE line (id INT PRIMARY KEY, trans_type SMALLINT, order_no INT, qty DECIMAL(12,3),
     FOREIGN KEY (trans_type, order_no) REFERENCES "Sales Order" (trans_type, order_no))`,
  `CREATE VIEW open_orders AS SELECT order_no, total FROM "Sales Order" WHERE status = 'open'`,
  "INSERT INTO customer VALUES (1, 'K1', 'Anna', TRUE), (2, 'K2', NULL, FALSE)",
  `INSERT INTO "Sales Order" VALUES (30, 1, 1, 'open', 10.50, 0.5, '2026-01-01', '2026-01-01 08:00:00'),
     (30, 2, 1, 'open', 20.00, 0.5, '2026-01-02', '2026-01-02 08:00:00'), (32, 1, 2, NULL, 1.00, 1, NULL, NULL)`,
];

function catalogueContract(lab: ErpLab, write: (statement: string) => string = (statement) => statement): void {
  beforeEach(() => lab.run(...TABLES.map(write)));

  const ask = async <T>(read: (snapshot: ErpSnapshot) => Promise<T>): Promise<T> => {
    const database = await erpDatabase(lab.settings());
    try {
      return await database.snapshot(read);
    } finally {
      await database.close();
    }
  };
  const tableIn = ({ tables }: Catalogue, name: string) => {
    const found = tables.find((table) => nameOf(table) === name);
    if (found === undefined) throw new Error(`there is no ${name} among ${tables.map(nameOf)}`);
    return found;
  };

  it('yields tables and views with their columns, in the order of the database', async () => {
    const catalogue = await ask(readCatalogue);
    expect(catalogue.tables.map((table) => [nameOf(table), table.isView])).to.have.deep.members([
      ['Sales Order', false],
      ['customer', false],
      ['line', false],
      ['open_orders', true],
    ]);
    const { columns } = tableIn(catalogue, 'Sales Order');
    expect(columns.map(({ name, kind }) => [name, kind])).to.deep.equal([
      ['trans_type', 'number'],
      ['order_no', 'number'],
      ['customer_id', 'number'],
      ['status', 'text'],
      ['total', 'number'],
      ['weight', 'number'],
      ['ordered_on', 'date'],
      ['created_at', 'time'],
    ]);
    expect(columns.filter(({ isInteger }) => isInteger).map(({ name }) => name)).to.deep.equal([
      'trans_type',
      'order_no',
      'customer_id',
    ]);
    expect(columns.filter(({ isFloat }) => isFloat).map(({ name }) => name)).to.deep.equal(['weight']);
    expect(columns.find(({ name }) => name === 'status')?.nullable).to.equal(true);
    expect(columns.find(({ name }) => name === 'order_no')?.nullable).to.equal(false);
    expect(columns.find(({ name }) => name === 'total')?.type).to.match(/(decimal|numeric)\(12,2\)/i);
    expect(tableIn(catalogue, 'open_orders').columns.map(({ name }) => name)).to.deep.equal(['order_no', 'total']);
  });

  it('yields keys, indexes and foreign keys, of several columns too', async () => {
    const catalogue = await ask(readCatalogue);
    const order = tableIn(catalogue, 'Sales Order');
    expect(order.primaryKey).to.deep.equal(['trans_type', 'order_no']);
    expect(order.indexes).to.deep.include.members([
      { columns: ['trans_type', 'order_no'], isUnique: true },
      { columns: ['status', 'created_at'], isUnique: false },
    ]);
    expect(order.foreignKeys).to.deep.include({ columns: ['customer_id'], table: 'customer', referenced: ['id'] });
    expect(tableIn(catalogue, 'customer').indexes).to.deep.include({ columns: ['code'], isUnique: true });
    expect(tableIn(catalogue, 'line').foreignKeys).to.deep.equal([
      { columns: ['trans_type', 'order_no'], table: 'Sales Order', referenced: ['trans_type', 'order_no'] },
    ]);
    expect(tableIn(catalogue, 'open_orders').primaryKey).to.deep.equal([]);
  });

  it('counts rows and values', async () => {
    await ask(async (snapshot) => {
      const catalogue = await readCatalogue(snapshot);
      const order = tableIn(catalogue, 'Sales Order');
      expect(await countRows(snapshot, order)).to.equal(3);
      expect(await countRows(snapshot, order, 2)).to.equal(2);
      expect(await countValues(snapshot, rawSql(tableSql(snapshot.dialect, order)), rawSql('status'))).to.deep.equal([
        { value: 'open', count: 2 },
        { value: null, count: 1 },
      ]);
    });
  });
}

describe('the catalogue of an ERP', () => {
  /** The kinds of the columns of a table `kinds`: name → kind, with a mark where it is an integer. */
  const kindsIn = async (lab: ErpLab) => {
    const database = await erpDatabase(lab.settings());
    try {
      const { tables } = await database.snapshot(readCatalogue);
      const columns = tables.find(({ name }) => name === 'kinds')?.columns ?? [];
      return Object.fromEntries(columns.map(({ name, kind, isInteger }) => [name, isInteger ? 'integer' : kind]));
    } finally {
      await database.close();
    }
  };

  describe('in SQLite', () => {
    const lab = useSqliteLab();
    catalogueContract(lab);

    it('tells kinds by any word for a type', async () => {
      await lab.run(`CREATE TABLE kinds (a UNSIGNED BIG INT, b BIG INT, c INT8, d VARYING CHARACTER(10), e NUMBER(10,2),
        f POINT, g DOUBLE PRECISION, h, i "PRINTED NAME")`);
      expect(await kindsIn(lab)).to.deep.equal({
        ...{ a: 'integer', b: 'integer', c: 'integer', d: 'text', e: 'number' },
        ...{ f: 'other', g: 'number', h: 'text', i: 'text' },
      });
    });
  });

  describe('on MariaDB', () => {
    const lab = useMariaDbLab();
    catalogueContract(lab, (text) => text.replaceAll('"', '`'));

    it('takes an ENUM for a text, whatever its words are', async () => {
      await lab.run(`CREATE TABLE kinds (a ENUM('EUR','USD'), b ENUM('json','point','int'), c SET('blob(1)','x'), d POINT,
        e INT UNSIGNED, f YEAR, g BIT(1), h DECIMAL(10,2) UNSIGNED, i BIGINT(20) UNSIGNED ZEROFILL, j LONGTEXT)`);
      expect(await kindsIn(lab)).to.deep.equal({
        ...{ a: 'text', b: 'text', c: 'text', d: 'other', e: 'integer' },
        ...{ f: 'integer', g: 'number', h: 'number', i: 'integer', j: 'text' },
      });
    });
  });

  describe('on PostgreSQL', () => {
    const lab = usePostgresLab();
    catalogueContract(lab);

    it('takes an ENUM for a text and a domain for what it is made of, whatever they are called', async () => {
      await lab.run(
        "CREATE TYPE orders_number_enum AS ENUM ('a')",
        "CREATE TYPE interval_type AS ENUM ('a')",
        'CREATE DOMAIN amount AS NUMERIC(12,2)',
        'CREATE DOMAIN int_word AS VARCHAR(10)',
        'CREATE DOMAIN state AS orders_number_enum',
        'CREATE TABLE kinds (a orders_number_enum, b interval_type, c amount, d int_word, e state, f INTERVAL, g INT[], h int4range)',
      );
      expect(await kindsIn(lab)).to.deep.equal({
        ...{ a: 'text', b: 'text', c: 'number', d: 'text', e: 'text', f: 'other', g: 'other', h: 'other' },
      });
    });

    it('names a schema where a statement has to, and shows a partitioned table once', async () => {
      await lab.run(
        'CREATE SCHEMA "Sales"',
        'CREATE TABLE "Sales"."Order" (id INT, ordered_on DATE NOT NULL) PARTITION BY RANGE (ordered_on)',
        `CREATE TABLE "Sales"."Order 2026" PARTITION OF "Sales"."Order" FOR VALUES FROM ('2026-01-01') TO ('2027-01-01')`,
        `INSERT INTO "Sales"."Order" VALUES (1, '2026-05-01')`,
        `GRANT USAGE ON SCHEMA "Sales" TO ${lab.postgres.database.user}`,
        `GRANT SELECT ON "Sales"."Order" TO ${lab.postgres.database.user}`,
      );
      const database = await erpDatabase(lab.settings());
      try {
        await database.snapshot(async (snapshot) => {
          const { tables } = await readCatalogue(snapshot);
          const found = tables.filter(({ schema }) => schema === 'Sales');
          expect(found.map(nameOf)).to.deep.equal(['Sales.Order']);
          expect(await Promise.all(found.map((table) => countRows(snapshot, table)))).to.deep.equal([1]);
        });
      } finally {
        await database.close();
      }
    });
  });
});
