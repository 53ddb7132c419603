import { expect } from 'chai';
import { type InvoicePage, readInvoicePage } from '../../src/invoices/invoice-page.js';

describe('a page of invoices', () => {
  const good = { invoice_no: 'INV-1', customer_code: 'K1', amount: 1999, due_date: '2026-12-01', status: 'unpaid' };
  const read = (data: unknown[], total: unknown = data.length) => readInvoicePage({ data, total });

  it('yields its invoices and the total, with fields that nobody knows left out', () => {
    const { customer_code: _, ...credit } = { ...good, invoice_no: 'INV-2', amount: -500 };
    expect(read([good, { ...credit, more: 1 }], 7)).to.deep.equal({
      invoices: [good, credit],
      malformed: [],
      rows: 2,
      total: 7,
    });
  });

  for (const [what, broken, reason] of [
    ['no number', { ...good, invoice_no: undefined }, /invoice_no/],
    ['an empty number', { ...good, invoice_no: '' }, /invoice_no/],
    ['an amount as text', { ...good, amount: '1999' }, /amount/],
    ['a fraction of a cent', { ...good, amount: 19.99 }, /amount/],
    ['an amount that is not exact', { ...good, amount: 2 ** 53 }, /amount/],
    ['a date that does not exist', { ...good, due_date: '2026-02-30' }, /due_date/],
    ['a date with a time', { ...good, due_date: '2026-12-01T00:00:00Z' }, /due_date/],
    ['no status', { ...good, status: null }, /status/],
    ['nothing in it', null, /the invoice/],
    ['a text in its place', 'INV-9', /the invoice/],
  ] as const) {
    it(`sets an invoice aside that has ${what}, and keeps its neighbours`, () => {
      const page = read([broken, good], 2) as InvoicePage;
      expect(page.invoices).to.deep.equal([good]);
      expect(page.rows).to.equal(2);
      expect(page.malformed).to.have.length(1);
      expect(page.malformed[0]?.reason).to.match(reason);
      const number = (broken as { invoice_no?: string } | null)?.invoice_no;
      expect(page.malformed[0]?.invoiceNo ?? undefined).to.equal(typeof broken === 'object' ? number : undefined);
    });
  }

  it('is none without a list or a total that makes sense', () => {
    for (const value of [undefined, null, 'text', [], {}, { data: [] }, { total: 1 }])
      expect(readInvoicePage(value)).to.be.a('string');
    for (const total of ['7', -1, 1.5, null]) expect(read([good], total)).to.match(/^total: /);
    expect(readInvoicePage({ data: {}, total: 0 })).to.match(/^data: /);
  });
});
