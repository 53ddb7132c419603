import { expect } from 'chai';
import { type InvoicePage, readInvoicePage } from '../../../src/inbound/invoices/invoice-page.js';
import { outside } from '../../../src/model/outside.js';
import { Unusable } from '../../../src/model/verdict.js';
import { tell } from '../../../src/words/words.js';

describe('a page of invoices', () => {
  const fields = { invoices: 'data', total: 'total', page: 'page' };
  const good = { invoice_no: 'INV-1', customer_code: 'K1', amount: 1999, due_date: '2026-12-01', status: 'unpaid' };
  const read = (data: unknown[], total: unknown = data.length, customer: string | null = null) =>
    readInvoicePage({ data, total }, { fields, currency: 'EUR', customer });
  const readAs = (value: unknown, names: typeof fields) =>
    readInvoicePage(value, { fields: names, currency: 'EUR', customer: null });
  const problemOf = (page: InvoicePage | Unusable) => (page instanceof Unusable ? tell(page.problem) : null);
  const rowsOf = (page: InvoicePage | Unusable) => (page as InvoicePage).rows;

  it('yields its invoices and the total, with fields that nobody knows left out', () => {
    const { customer_code: _, ...credit } = { ...good, invoice_no: 'INV-2', amount: -500 };
    const page = read([good, { ...credit, more: 1 }], 7);
    expect(page).to.deep.include({ total: 7, page: null, doubt: null, namesNext: false });
    expect(rowsOf(page).map((row) => 'invoice' in row && row.invoice)).to.deep.equal([good, credit]);
  });

  it('is read by the names that the service gives to its fields', () => {
    const other = { invoices: 'result.items', total: 'meta.count', page: 'meta.page' };
    const body = { result: { items: [good] }, meta: { count: 9, page: 3 } };
    expect(readAs(body, other)).to.deep.include({ total: 9, page: 3 });
    expect(readAs(body, fields)).to.deep.equal(new Unusable({ code: 'page_without_list', place: 'data' }));
  });

  for (const [what, broken, reason] of [
    ['no number', { ...good, invoice_no: undefined }, /invoice_no/],
    ['an empty number', { ...good, invoice_no: '' }, /invoice_no/],
    ['a number longer than a store takes', { ...good, invoice_no: 'N'.repeat(256) }, /invoice_no/],
    ['a NUL in its number', { ...good, invoice_no: 'INV\0' }, /invoice_no/],
    ['bytes in its number that were no UTF-8', { ...good, invoice_no: 'INV\ufffd' }, /invoice_no/],
    ['half of a character in its number', { ...good, invoice_no: 'INV\ud800' }, /invoice_no/],
    ['a NUL in its customer', { ...good, customer_code: 'K\0' }, /customer_code/],
    ['an amount as text', { ...good, amount: '1999' }, /amount/],
    ['an amount that is not exact', { ...good, amount: 2 ** 53 }, /amount/],
    ['a date that does not exist', { ...good, due_date: '2026-02-30' }, /due_date/],
    ['a date with a time', { ...good, due_date: '2026-12-01T00:00:00Z' }, /due_date/],
    ['no status', { ...good, status: null }, /status/],
    ['nothing in it', null, /the invoice/],
    ['a text in its place', 'INV-9', /the invoice/],
  ] as const) {
    it(`sets an invoice aside that has ${what}, and keeps its neighbours`, () => {
      const [odd, fine] = rowsOf(read([broken, { ...good, invoice_no: 'INV-7' }], 2));
      expect(fine).to.deep.include({ invoice: { ...good, invoice_no: 'INV-7' } });
      expect(odd && 'malformed' in odd && tell(odd.malformed)).to.match(reason);
      const number = (broken as { invoice_no?: string } | null)?.invoice_no;
      const isUsable = typeof number === 'string' && /^[ -~]{1,255}$/.test(number);
      expect(odd).to.have.property('invoiceNo', isUsable ? number : null);
      expect(odd?.key.startsWith(isUsable ? '=' : '?')).to.equal(true);
    });
  }

  for (const [title, amount] of [
    ['a fraction', 15.5],
    ['a whole amount that is written as a decimal', '1200.0'],
    ['an exponent', '12e2'],
    ['a decimal as text', '-19.99'],
  ] as const)
    it(`can't be read with ${title} among its amounts: the whole ones are not in the smallest unit either`, () => {
      for (const customer of [null, 'K1'])
        expect(problemOf(read([good, { ...good, invoice_no: 'INV-3', amount }], 2, customer)))
          .to.be.a('string')
          .that.includes(`the amount of INV-3 is ${amount}.`)
          .and.includes('invoices.enabled: false');
      expect(problemOf(read([{ amount, invoice_no: 'INV\0' }], 1))).to.match(/^the amount is /);
    });

  it('knows an invoice without a number again by what it holds, and counts two alike on a page as two', () => {
    const keys = (rows: unknown[]) => rowsOf(read(rows)).map(({ key }) => key);
    const odd = { amount: 5 };
    expect(keys([odd, null, odd])).to.deep.equal(keys([odd, null, odd]));
    expect(new Set(keys([odd, null, odd])).size).to.equal(3);
    expect(keys([odd])[0]).to.not.equal(keys([{ amount: 6 }])[0]);
  });

  it('knows a row again by all that an invoice keeps but its state, so that one number may stand for two', () => {
    const keyOf = (more: object) => rowsOf(read([{ ...good, ...more }]))[0]?.key;
    for (const same of [{}, { status: 'overdue' }, { more: 1 }, { currency: 'eur' }])
      expect(keyOf(same)).to.equal(keyOf({}));
    const others = [{ customer_code: 'K2' }, { customer_code: null }, { amount: -1999 }, { amount: 2000 }];
    for (const other of [...others, { due_date: '2026-12-02' }, { invoice_no: 'INV-2' }])
      expect(keyOf(other)).to.not.equal(keyOf({}));
  });

  it('sets aside a row that names another currency than ours, whatever its form', () => {
    for (const currency of ['USD', 'jpy', '', 978, { code: 'EUR' }]) {
      const [row] = rowsOf(read([{ ...good, currency }]));
      expect(row && 'malformed' in row && tell(row.malformed)).to.match(/^currency: .*, and amounts\.currency is EUR$/);
    }
    for (const currency of ['EUR', 'eur', ' EUR ', null])
      expect(rowsOf(read([{ ...good, currency }]))[0]).to.have.property('invoice');
  });

  it('takes no invoice of another customer than the one that was asked for', () => {
    const { customer_code: _, ...silent } = { ...good, invoice_no: 'INV-2' };
    const page = read([good, silent, { ...good, invoice_no: 'INV-3', customer_code: 'K2' }], 3, 'K1');
    expect(page)
      .to.have.property('doubt')
      .that.deep.equals({ code: 'strangers_on_page', customer: outside('K2') });
    const [own, without, other] = rowsOf(page);
    expect(own).to.deep.include({ invoice: good });
    expect(without).to.deep.include({ invoice: { ...silent, customer_code: 'K1' } });
    expect(other).to.deep.include({
      invoiceNo: 'INV-3',
      malformed: { code: 'invoice_of_other_customer', customer: 'K2', asked: 'K1' },
    });
  });

  it('is empty where the service writes null, or no list, beside a total of 0', () => {
    for (const value of [
      { data: null, total: 0 },
      { total: 0, page: 1 },
    ])
      expect(readAs(value, fields)).to.deep.include({ rows: [], total: 0 });
    for (const value of [{ data: null, total: 1 }, { total: 1 }, { data: null }, { data: 'none', total: 0 }])
      expect(readAs(value, fields)).to.be.instanceOf(Unusable);
  });

  it('says that another one follows wherever services do', () => {
    const namesNext = (more: object) => (readAs({ data: [good], total: 1, ...more }, fields) as InvoicePage).namesNext;
    for (const more of [
      { next: 'abc' },
      { has_more: true },
      { '@odata.nextLink': 'https://service/x' },
      { _links: { next: { href: '/x' } } },
      { links: { next: '/x' } },
      { meta: { next_page: 2 } },
      { pagination: { next_cursor: 'x' } },
    ])
      expect(namesNext(more), JSON.stringify(more)).to.equal(true);
    for (const more of [
      {},
      { next: null },
      { has_more: false },
      { links: { next: '' } },
      { _links: { self: '/x' } },
      { meta: 5 },
    ])
      expect(namesNext(more), JSON.stringify(more)).to.equal(false);
  });

  it('is none without a list or a total that makes sense', () => {
    for (const value of [undefined, null, 'text', [], {}, { data: [] }, { total: 1 }])
      expect(readAs(value, fields)).to.be.instanceOf(Unusable);
    for (const total of ['7', -1, 1.5, null])
      expect(read([good], total)).to.deep.equal(new Unusable({ code: 'page_without_total', place: 'total' }));
    expect(readAs({ data: {}, total: 0 }, fields)).to.deep.equal(
      new Unusable({ code: 'page_without_list', place: 'data' }),
    );
  });
});
