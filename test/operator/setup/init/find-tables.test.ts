import { expect } from 'chai';
import type { CatalogueColumn, CatalogueKind, CatalogueTable } from '../../../../src/erp/catalogue.js';
import { columnsFor } from '../../../../src/operator/setup/init/find-columns.js';
import { linkBetween } from '../../../../src/operator/setup/init/find-links.js';
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

describe('the column that names the customer of an order, or the order of a line', () => {
  const partners = table('partners', 'id:int code:text name:text');
  const link = (columns: string, given?: string) => {
    const found = linkBetween('order.customer', table('orders', `id:int ${columns}`), partners, {
      ...(given && { 'order.customer': given }),
    });
    return found && [found.columns.join('+'), ...(found.unclear ?? [])];
  };

  it('is the one that is called so, in whatever order the database names its keys', () => {
    for (const other of ['agent_id', 'created_by', 'ship_to_customer_id', 'bill_to_id', 'sales_partner_id'])
      expect(link(`${other}:int>partners customer_id:int>partners`), other).to.deep.equal(['customer_id']);
    expect(link('vertreter_id:int>partners kunde_id:int>partners')).to.deep.equal(['kunde_id']);
    expect(link('partner_invoice_id:int>partners partner_id:int>partners')).to.deep.equal(['partner_id']);
  });

  it('is unclear where several may be meant, or the only declared key is that of somebody else', () => {
    expect(link('ship_to:int>partners bill_to:int>partners')?.slice(1)).to.deep.equal(['ship_to', 'bill_to']);
    expect(link('customer_id:int>partners partner_id:int>partners')?.slice(1)).to.have.lengthOf(2);
    expect(link('agent_id:int>partners customer_id:int')?.slice(1)).to.deep.equal(['agent_id', 'customer_id']);
    expect(link('created_by:int>partners')?.slice(1)).to.deep.equal(['created_by']);
    expect(link('partner_bill_id:int partner_ship_id:int')?.slice(1)).to.have.lengthOf(2);
  });

  it('is the one that a person names, declared or not', () => {
    expect(link('agent_id:int>partners customer_id:int>partners', 'Agent_ID')).to.deep.equal(['agent_id']);
    expect(link('agent_id:int>partners member:int', 'member')).to.deep.equal(['member']);
  });

  it('is not the order that another one replaces', () => {
    const lines = table('order_items', 'id:int replaces_order_id:int>orders order_id:int>orders qty:num');
    expect(linkBetween('line.order', lines, orders)).to.deep.equal({
      ...{ columns: ['order_id'], referenced: ['id'], isDeclared: true },
    });
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
