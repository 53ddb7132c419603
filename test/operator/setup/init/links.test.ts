import { expect } from 'chai';
import type { CatalogueColumn, CatalogueKind, CatalogueTable } from '../../../../src/erp/catalogue.js';
import { declaredLinks, linksBy } from '../../../../src/operator/setup/init/links.js';

const kinds: Record<string, CatalogueKind> = { int: 'number', num: 'number', text: 'text', time: 'time', date: 'date' };

/** `id:int name:text`; the first column is the primary key, `customer_id:int>customers` a declared key. */
function table(name: string, columns: string): CatalogueTable {
  const parsed = columns.split(' ').map((text) => {
    const [, column = '', type = '', target = ''] = /^(\w+):(\w+)>?(.*)$/.exec(text) ?? [];
    return { column, type, target };
  });
  return {
    ...{ schema: null, isInPath: true, name, isView: false, approximateRows: 10, indexes: [] },
    columns: parsed.map(
      ({ column, type }): CatalogueColumn => ({
        ...{ name: column, type, kind: kinds[type] ?? 'other', isInteger: type === 'int' },
        ...{ isFloat: false, nullable: true },
      }),
    ),
    primaryKey: [parsed[0]?.column ?? ''],
    foreignKeys: parsed
      .filter(({ target }) => target !== '')
      .map(({ column, target }) => ({ columns: [column], table: target, referenced: ['id'] })),
  };
}

const orders = table('orders', 'id:int customer_id:int>customers agent_id:int>customers kind:text');
const customers = table('customers', 'id:int code:text');

describe('the ways in which a column leads to a table', () => {
  const ways = (column: string, to = customers, from = orders) =>
    linksBy(column, from, to).map(({ columns, referenced }) => [columns, referenced]);

  it('are its declared key alone, if it has one', () => {
    const unique = { ...customers, indexes: [{ columns: ['number'], isUnique: true }] };
    expect(ways('agent_id', unique)).to.deep.equal([[['agent_id'], ['id']]]);
    expect(declaredLinks(orders, customers)).to.have.lengthOf(2);
  });

  it('are the keys of its kind, if none is declared: a person says which', () => {
    const loose = table('orders', 'id:int member:int name:text');
    const two = {
      ...table('customers', 'id:int number:int code:text'),
      indexes: [
        { columns: ['number'], isUnique: true },
        { columns: ['code'], isUnique: true },
      ],
    };
    expect(ways('member', two, loose)).to.deep.equal([
      [['member'], ['id']],
      [['member'], ['number']],
    ]);
    expect(ways('name', two, loose)).to.deep.equal([[['name'], ['code']]]);
    expect(ways('name', table('stock', 'id:int'), loose)).to.deep.equal([]);
  });

  it('are the columns of the same names, if the key has several', () => {
    const company = { ...table('customers', 'company:int no:int'), primaryKey: ['company', 'no'] };
    const from = table('orders', 'id:int Company:int No:int other:int');
    expect(ways('No', company, from)).to.deep.equal([
      [
        ['Company', 'No'],
        ['company', 'no'],
      ],
    ]);
    expect(ways('other', company, from)).to.deep.equal([]);
  });
});
