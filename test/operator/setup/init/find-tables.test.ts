import { expect } from 'chai';
import type { CatalogueColumn, CatalogueKind, CatalogueTable } from '../../../../src/erp/catalogue.js';
import { columnsFor } from '../../../../src/operator/setup/init/find-columns.js';
import { findTables } from '../../../../src/operator/setup/init/find-tables.js';
import { fold } from '../../../../src/operator/setup/init/words.js';

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

const found = (...tables: CatalogueTable[]) => {
  const [best] = findTables({ tables });
  return (
    best && [best.orders.name, best.lines.name, best.customers.name, best.lineLink.columns, best.customerLink.columns]
  );
};

const customers = table('customers', 'id:int name:text city:text');
const orders = table('orders', 'id:int customer_id:int>customers status:text created_at:time total:num');
const items = table('order_items', 'id:int order_id:int>orders sku:text qty:num price:num');

describe('the tables of orders, lines and customers', () => {
  it('are found by their declared keys, beside purchase orders, invoices and a history', () => {
    const suppliers = table('suppliers', 'id:int name:text city:text');
    const others = [
      table('purchase_orders', 'id:int supplier_id:int>suppliers status:text created_at:time total:num'),
      table('purchase_order_items', 'id:int order_id:int>purchase_orders sku:text qty:num price:num'),
      table('invoices', 'id:int customer_id:int>customers status:text created_at:time total:num'),
      table('invoice_lines', 'id:int invoice_id:int>invoices sku:text qty:num price:num'),
      table('orders_history', 'id:int customer_id:int>customers status:text created_at:time total:num'),
      table('stock_moves', 'id:int item_id:int>order_items qty:num'),
    ];
    expect(found(...others, suppliers, items, orders, customers)).to.deep.equal([
      ...['orders', 'order_items', 'customers'],
      ...[['order_id'], ['customer_id']],
    ]);
  });

  it('are found by the names of columns where no key is declared', () => {
    expect(
      found(
        table('tblCustomers', 'CustomerID:int CompanyName:text City:text'),
        table('tblOrders', 'OrderID:int CustomerID:int OrderDate:time Status:text'),
        table('tblOrderDetails', 'DetailID:int OrderID:int ProductCode:text Quantity:int UnitPrice:num'),
      ),
    ).to.deep.equal(['tblOrders', 'tblOrderDetails', 'tblCustomers', ['OrderID'], ['CustomerID']]);
    expect(
      found(
        table('kunden', 'id:int firma:text ort:text'),
        table('auftraege', 'id:int kunden_id:int datum:date status:text'),
        table('auftragspositionen', 'id:int auftraege_id:int artikelnr:text menge:num preis:num'),
      ),
    ).to.deep.equal(['auftraege', 'auftragspositionen', 'kunden', ['auftraege_id'], ['kunden_id']]);
  });

  it('are those with rows, where an old module left empty ones', () => {
    const empty = [
      table('sales_orders', 'id:int customer_id:int>customers status:text created_at:time total:num'),
      table('sales_order_lines', 'id:int order_id:int>sales_orders sku:text qty:num price:num'),
    ];
    const [best] = findTables({ tables: [...empty, customers, orders, items] }, {}, (one) => empty.includes(one));
    expect(best?.orders.name).to.equal('orders');
  });

  it('are not found where the links are missing', () => {
    expect(findTables({ tables: [customers, items] })).to.deep.equal([]);
    expect(findTables({ tables: [] })).to.deep.equal([]);
  });
});

describe('the columns of a role', () => {
  it('are those with the plainest name, of a fitting type', () => {
    const names = (columns: string, role: Parameters<typeof columnsFor>[1]) =>
      columnsFor(table('t', `pk:int ${columns}`), role).map(({ name }) => name);
    expect(names('delivered_qty:num qty:num quantity_note:text', 'line.qty')).to.deep.equal(['qty', 'delivered_qty']);
    expect(names('fk_price_list:int price:num unit_price_id:int', 'line.price')).to.deep.equal(['price']);
    expect(names('payment_status:text status:text', 'order.status')).to.deep.equal(['status', 'payment_status']);
    expect(names('updated_at:text geaendert_am:time', 'order.changedAt')).to.deep.equal(['geaendert_am']);
  });

  it('are compared without case, accents and separators', () => {
    expect(['Auftrags-Nr', 'AUFTRAGS_NR', 'auftragsnr'].map(fold)).to.deep.equal(Array(3).fill('auftragsnr'));
    expect(fold('Größe_Straße')).to.equal('grossestrasse');
  });
});
