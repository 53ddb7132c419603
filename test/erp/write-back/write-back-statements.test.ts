import { expect } from 'chai';
import fc from 'fast-check';
import { erpSettings } from '../../../src/config/sections/erp.js';
import { type WriteBackTarget, writeBackSettings } from '../../../src/config/sections/write-back.js';
import { mysqlDialect } from '../../../src/db/mysql/mysql-erp.js';
import { postgresDialect } from '../../../src/db/postgres/postgres-erp.js';
import { sqliteDialect } from '../../../src/db/sqlite/sqlite-erp.js';
import { writeBackStatements } from '../../../src/erp/write-back/erp-writer.js';
import { sideTables } from '../../../src/erp/write-back/side-tables.js';
import { parseNamedParameters } from '../../../src/model/named-parameters.js';
import { type WriteBackChange, writeBackColumns, writeBackKinds } from '../../../src/model/write-back.js';

const table: WriteBackTarget = { enabled: true, table: 'waybill_x' };
const now = '2026-11-21 10:00:00';
const change = fc.record({
  key: fc.string({ maxLength: 20 }),
  keyParts: fc.constant([]),
  row: fc.option(fc.dictionary(fc.constantFrom('status', 'amount', 'parked_reason'), fc.option(fc.string()))),
});

describe('statements of the write-back', () => {
  it('have a place for each value, and every change once, in statements of a bounded size', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...writeBackKinds),
        fc.constantFrom(mysqlDialect, sqliteDialect, postgresDialect),
        fc.array(change, { maxLength: 450 }),
        (kind, dialect, changes) => {
          const statements = writeBackStatements({ kind, settings: table, dialect }, changes, now);
          const width = writeBackColumns[kind].length + 1;
          for (const { sql, values } of statements) {
            const places = sql.match(/\?|\$\d+/g) ?? [];
            expect(places).to.deep.equal(values.map((_, at) => dialect.placeholder(at + 1)));
            expect(values.length).to.be.at.most(200 * width);
          }
          // Key, columns and the time of the write. A column that a change leaves out is not among those of its statement.
          const written = statements.flatMap(({ sql, values }) => {
            const columns = /^INSERT INTO \S+ \((.*?)\) VALUES/.exec(sql)?.[1]?.split(',') ?? [];
            const rows = columns.length === 0 ? 0 : values.length / columns.length;
            return Array.from({ length: rows }, (_, at) => {
              const row = values.slice(at * columns.length, (at + 1) * columns.length);
              const named = columns.slice(1, -1).map((column, nth) => [column, row[nth + 1]]);
              return { key: row[0], row: Object.fromEntries(named), at: row.at(-1) };
            });
          });
          const columns: readonly string[] = writeBackColumns[kind].slice(1);
          const wanted = changes.flatMap(({ key, row }) => {
            const known = Object.entries(row ?? {}).filter(([column]) => columns.includes(column));
            return row === null ? [] : [{ key, row: Object.fromEntries(known), at: now }];
          });
          expect(written).to.have.deep.members(wanted);
          const deleted = statements.filter(({ sql }) => sql.startsWith('DELETE')).flatMap(({ values }) => values);
          expect(deleted).to.deep.equal(changes.filter(({ row }) => row === null).map(({ key }) => key));
        },
      ),
      { numRuns: 200 },
    );
  });

  const own: WriteBackTarget = {
    ...table,
    upsert: "UPDATE o SET a=:service_order_id, b=':x' WHERE k1=:key_1 AND k2=:key_2",
    gone: 'DELETE FROM o WHERE k=:order_key',
  };
  const of = (given: Partial<WriteBackChange>): WriteBackChange => ({
    key: 'a/b',
    keyParts: ['a', 'b'],
    row: { service_order_id: 'ord_1' },
    ...given,
  });

  it('fill the named parameters of one of your own, with the parts of a composite key', () => {
    const orders = (settings: WriteBackTarget) => ({ kind: 'orders' as const, settings, dialect: mysqlDialect });
    const update = "UPDATE o SET a=?, b=':x' WHERE k1=? AND k2=?";
    expect(writeBackStatements(orders(own), [of({}), of({ row: null })], now)).to.deep.equal([
      { sql: update, values: ['ord_1', 'a', 'b'] },
      { sql: 'DELETE FROM o WHERE k=?', values: ['a/b'] },
    ]);
    const inPostgres = writeBackStatements({ kind: 'orders', settings: own, dialect: postgresDialect }, [of({})], now);
    expect(inPostgres[0]?.sql).to.equal("UPDATE o SET a=$1, b=':x' WHERE k1=$2 AND k2=$3");
    const { gone: _gone, ...withoutGone } = own;
    expect(writeBackStatements(orders(withoutGone), [of({ row: null })], now)).to.deep.equal([
      { sql: update, values: [null, 'a', 'b'] },
    ]);
  });

  it('run `gone` for an invoice that is no longer listed, with all that is known of it', () => {
    const settings = { ...table, upsert: 'UPDATE i SET s=:status', gone: 'UPDATE i SET s=NULL WHERE n=:invoice_no' };
    const row = { status: 'unpaid', no_longer_listed_at: null };
    const left = { ...row, no_longer_listed_at: now };
    const [listed, gone] = [row, left].map((one) =>
      writeBackStatements(
        { kind: 'invoices', settings, dialect: sqliteDialect },
        [{ key: 'I', keyParts: [], row: one }],
        now,
      ),
    );
    expect(listed).to.deep.equal([{ sql: 'UPDATE i SET s=?', values: ['unpaid'] }]);
    expect(gone).to.deep.equal([{ sql: 'UPDATE i SET s=NULL WHERE n=?', values: ['I'] }]);
  });
});

describe('named parameters', () => {
  const quiet = fc.constantFrom("':a'", '":b"', '`:c`', '-- :d\n', '/* :e */', ' x::int ', ' 1 = 1 ', "'it''s :f'");
  const name = fc.constantFrom('order_key', 'status', 'a1', '_x');

  it('are found where they stand, and never in quotes, comments or casts', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            quiet,
            name.map((one) => ({ name: one })),
          ),
          { maxLength: 12 },
        ),
        (parts) => {
          const statement = parts.map((part) => (typeof part === 'string' ? part : ` :${part.name} `)).join('');
          const { pieces, names } = parseNamedParameters(statement, false);
          expect(names).to.deep.equal(parts.flatMap((part) => (typeof part === 'string' ? [] : [part.name])));
          expect(pieces.flatMap((piece, index) => [piece, names[index] ? `:${names[index]}` : '']).join('')).to.equal(
            statement,
          );
        },
      ),
    );
  });

  it('know what a backslash means in MySQL', () => {
    const statement = String.raw`SET a='it\'s :x', b=:y`;
    expect(parseNamedParameters(statement, true).names).to.deep.equal(['y']);
    expect(parseNamedParameters(String.raw`SET a='\', b=:y`, false).names).to.deep.equal(['y']);
  });

  it('know the quotes of PostgreSQL', () => {
    const statement = String.raw`SET a=E'it\'s :x', b=$$it's :x$$, c=$t$ $$ :x $t$, d=m.e$1 || e'\\', e=:y`;
    expect(parseNamedParameters(statement, false).names).to.deep.equal(['y']);
  });
});

describe('side tables', () => {
  it('are printed for what is used, with the grants for them and nothing else', () => {
    const writeBack = writeBackSettings.parse({
      enabled: true,
      customers: { enabled: false },
      orders: { table: 'wb_orders' },
      invoices: { upsert: 'UPDATE x SET y=:status' },
    });
    const base = { timeZone: 'Europe/Berlin' };
    const mysql = erpSettings.parse({ ...base, type: 'mysql', database: 'erp', user: 'reader' });
    const { tables, grants, byStatement } = sideTables({ erp: mysql, writeBack }, mysqlDialect, "o'writer", '%');
    expect(tables).to.have.length(1);
    expect(tables[0]).to.match(
      /^CREATE TABLE IF NOT EXISTS `erp`\.`wb_orders` \(\n {2}order_key VARCHAR\(255\) \/\*!80017 .* NOT NULL PRIMARY KEY,/,
    );
    expect(grants).to.deep.equal(["GRANT SELECT, INSERT, UPDATE, DELETE ON `erp`.`wb_orders` TO 'o''writer'@'%';"]);
    expect(byStatement).to.deep.equal(['invoices']);
    const postgres = sideTables(
      { erp: erpSettings.parse({ ...mysql, type: 'postgres' }), writeBack },
      postgresDialect,
      'writer',
      '%',
    );
    expect(postgres.tables[0]).to.match(
      /^CREATE TABLE IF NOT EXISTS "wb_orders" \(\n {2}order_key VARCHAR\(255\) COLLATE "C" NOT NULL/,
    );
    expect(postgres.grants).to.deep.equal(['GRANT SELECT, INSERT, UPDATE, DELETE ON "wb_orders" TO "writer";']);
    const sqlite = erpSettings.parse({ ...base, type: 'sqlite', file: 'erp.sqlite' });
    expect(sideTables({ erp: sqlite, writeBack }, sqliteDialect, 'writer', '%').grants).to.deep.equal([]);
  });
});
