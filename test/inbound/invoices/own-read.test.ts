import { expect } from 'chai';
import { type OwnReadTerms, readOwnInvoice } from '../../../src/inbound/invoices/own-read.js';

describe("an invoice's own read", () => {
  const endpoint = { path: '/v2/invoices/{invoice_no}', successStatus: 200, absentStatus: 404 };
  const known = { invoiceNo: 'A', customerCode: 'K1', status: 'unpaid', isOffList: false };
  const body = { invoice_no: 'A', amount: 5, due_date: '2026-12-01', status: 'unpaid' };
  const terms = (of: OwnReadTerms['endpoint'], states: string[]): OwnReadTerms => ({
    endpoint: of,
    states,
    settledStates: ['paid', 'cancelled'],
    currency: 'EUR',
  });
  const read = (status: number, value: unknown, field?: string) =>
    readOwnInvoice(terms({ ...endpoint, ...(field ? { field } : {}) }, ['unpaid', 'overdue']), known, status, value);

  it('says that money is due still, as it is now', () => {
    expect(read(200, body)).to.deep.equal({ due: { ...body, customer_code: 'K1' } });
    expect(read(200, { ...body, status: 'overdue', customer_code: 'K9' })).to.deep.equal({
      due: { ...body, status: 'overdue', customer_code: 'K9' },
    });
  });

  it('says that it has left, in the words of the service, or that there is none', () => {
    expect(read(200, { invoice_no: 'A', status: 'paid' })).to.deep.equal({ left: 'paid' });
    expect(read(200, { invoice_no: 'A', status: 'cancelled', amount: 1.5 })).to.deep.equal({ left: 'cancelled' });
    expect(read(404, { error: { code: 'not_found' } })).to.deep.equal({ left: null });
  });

  it('takes the state with which it is listed for one that is due, though nobody names it, unless it has left the list', () => {
    for (const [isOffList, expected] of [
      [false, { due: { ...body, status: 'reminded', customer_code: 'K1' } }],
      [true, { left: 'reminded' }],
    ] as const) {
      const listed = { ...known, status: 'reminded', isOffList };
      const said = readOwnInvoice(terms(endpoint, ['open']), listed, 200, { ...body, status: 'reminded' });
      expect(said).to.deep.equal(expected);
    }
    expect(readOwnInvoice(terms(endpoint, ['unpaid']), { ...known, isOffList: true }, 200, body)).to.have.property(
      'due',
    );
  });

  it('takes no invoice off by a state that nobody named, and compares states without case', () => {
    for (const status of ['partially_paid', 'reminded', 'Zahlungsplan', ' paid', 'unpaid_'])
      expect(read(200, { ...body, status })).to.have.nested.property('odd.code', 'state_not_named');
    for (const status of ['Unpaid', 'OVERDUE']) expect(read(200, { ...body, status })).to.have.property('due');
    for (const status of ['Paid', 'CANCELLED']) expect(read(200, { ...body, status })).to.deep.equal({ left: status });
  });

  it('is absent only when JSON says so, not a page of a gateway', () => {
    // A page for people is no JSON.
    for (const value of [undefined, null, 'gone', []]) expect(read(404, value)).to.have.property('odd');
  });

  it('proves nothing when it is about something else, or makes no sense', () => {
    for (const value of [
      undefined,
      {},
      { ...body, invoice_no: 'B' },
      { ...body, amount: 1.5 },
      { ...body, status: '' },
    ])
      expect(read(200, value)).to.have.property('odd');
  });

  it('is found where the service puts it', () => {
    expect(read(200, { data: { invoice: body } }, 'data.invoice')).to.have.property('due');
    expect(read(200, body, 'data.invoice')).to.have.property('odd');
  });
});
