import { expect } from 'chai';
import fc from 'fast-check';
import { parse } from 'yaml';
import { mysqlDialect } from '../../../../src/db/mysql/mysql-erp.js';
import { sqliteDialect } from '../../../../src/db/sqlite/sqlite-erp.js';
import {
  allConditions,
  closedOff,
  composeYaml,
  isOneOf,
} from '../../../../src/operator/setup/init/compose-settings.js';
import { openSqlite } from '../../../support/sqlite-file.js';

const hostile = fc.string({
  unit: fc.constantFrom(
    'a',
    'Ä',
    "'",
    '"',
    '\\',
    '\n',
    '\r',
    '\u2028',
    '#',
    ':',
    '-',
    ' ',
    '{',
    '%',
    '&',
    '*',
    '`',
    ';',
  ),
});

describe('the file that waybill init writes', () => {
  it('says the same settings again, whatever names and comments there are in the ERP', () => {
    fc.assert(
      fc.property(hostile, hostile, hostile, fc.array(hostile, { maxLength: 3 }), (query, column, comment, lines) => {
        const settings = {
          installation: 'x-1',
          erp: { type: 'mysql', user: column },
          orders: {
            query: `SELECT ${query}\nFROM x`,
            pending: query,
            key: [column, query],
            fields: { [`f${column}`]: { column } },
          },
        };
        const comments = { 'orders.query': comment, erp: comment, 'orders.key': query };
        expect(parse(composeYaml(settings, { comments }, lines, lines))).to.deep.equal(settings);
      }),
    );
  });

  it('keeps the lines of a query, and tells what each setting is', () => {
    const text = composeYaml(
      { installation: 'x-1', orders: { query: 'SELECT a\nFROM b', pending: "s = 'x'" } },
      { comments: { 'orders.pending': 's: x is open.' } },
      ['Written by a test.'],
      ['GRANT x'],
    );
    expect(text).to.equal(`# Written by a test.

# The name of this installation. Every idempotency key is made from it: never change it, never use it twice.
installation: x-1
orders:
  query: |-
    SELECT a
    FROM b
  # Which orders may be sent.
  # s: x is open.
  pending: s = 'x'

# GRANT x
`);
  });

  it('does not tell to round prices, which changes what lines come to', () => {
    const text = composeYaml({ amounts: { currency: 'EUR' } }, { comments: {} }, [], []);
    expect(text.replaceAll('\n# ', ' '))
      .to.match(/^ 19\.99 is sent as 1999 .* `rounding` would round prices too/m)
      .and.not.contain('half-up');
  });
});

describe('a condition of waybill init', () => {
  it('finds exactly the rows with these values, whatever they are', () => {
    const database = openSqlite(':memory:');
    database.exec('CREATE TABLE t (v TEXT)');
    fc.assert(
      fc.property(
        fc.uniqueArray(
          hostile.filter((text) => text !== 'NULL'),
          { minLength: 2, maxLength: 6 },
        ),
        fc.boolean(),
        (values, isNull) => {
          database.exec('DELETE FROM t');
          for (const value of [...values, null]) database.prepare('INSERT INTO t VALUES (?)').run(value);
          const wanted = [...values.slice(0, values.length / 2), ...(isNull ? [null] : [])];
          const condition = isOneOf(
            sqliteDialect,
            'v',
            wanted.map((one) => one ?? 'NULL'),
            false,
          );
          const rows = database
            .prepare(`SELECT v FROM t WHERE 1 = 1 AND ${allConditions([condition, null])}`)
            .all() as { v: string | null }[];
          expect(rows.map(({ v }) => v)).to.have.members(wanted);
        },
      ),
    );
    database.close();
  });

  it('escapes what MySQL would read otherwise, and quotes a name with capital letters', () => {
    expect(isOneOf(mysqlDialect, 'Status', ["a\\'b"], false)).to.equal("`Status` = 'a\\\\''b'");
    expect(isOneOf(mysqlDialect, 'status', ['1', '-2'], true)).to.equal('status IN (1, -2)');
  });

  it('takes nothing that is no number for one, and quotes names that a statement reads otherwise', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(isOneOf(mysqlDialect, 'v', [text], true)).to.equal(isOneOf(mysqlDialect, 'v', [text], false));
      }),
    );
    expect(isOneOf(sqliteDialect, 'company', ['1 OR 1 = 1'], true)).to.equal("company = '1 OR 1 = 1'");
    expect(isOneOf(sqliteDialect, 'group', ['a'], false, 'l.')).to.equal('l."group" = \'a\'');
    expect(isOneOf(sqliteDialect, 'removed', ['NOT NULL'], false)).to.equal('removed IS NOT NULL');
  });

  it('holds together with others', () => {
    expect(allConditions(['a = 1 OR b = 2', 'c = 3', null])).to.equal('(a = 1 OR b = 2) AND c = 3');
    expect(allConditions(['(a = 1 OR a IS NULL)', 'c = 3'])).to.equal('(a = 1 OR a IS NULL) AND c = 3');
    expect(allConditions([null])).to.equal(null);
  });

  it('of a person keeps to itself: its comment, its operators and its semicolon end with it', () => {
    expect(allConditions([closedOff('a = 1 -- not b'), 'c = 3'])).to.equal('(a = 1 -- not b\n) AND c = 3');
    expect(allConditions([closedOff('a = 1 || b = 2;'), 'c = 3'])).to.equal('(a = 1 || b = 2) AND c = 3');
  });
});
