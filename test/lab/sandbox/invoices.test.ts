import { expect } from 'chai';
import { type Sandbox, startSandbox } from '../../../src/lab/sandbox/start-sandbox.js';
import { addCustomer, anOrder, ask } from './ask.js';

describe('sandbox: invoices', () => {
  let sandbox: Sandbox;
  const nowMs = Date.UTC(2026, 0, 5);

  afterEach(() => sandbox.close());

  const list = async (query: string) => (await ask(sandbox, 'GET', `/v2/invoices${query}`)).json;

  it('makes one from each order', async () => {
    sandbox = await startSandbox({ nowMs: () => nowMs, paidShare: 0 });
    await addCustomer(sandbox);
    await ask(sandbox, 'POST', '/v1/orders', { key: 'k', body: anOrder('N1') });
    const invoice = {
      invoice_no: 'INV-000001',
      customer_code: 'C1',
      amount: 1300,
      due_date: '2026-02-04',
      status: 'unpaid',
    };
    expect(await list('')).to.eql({ data: [invoice], page: 1, total: 1 });
    expect((await ask(sandbox, 'GET', '/v2/invoices/INV-000001')).json).to.eql(invoice);
    expect((await ask(sandbox, 'GET', '/v2/invoices/INV-9')).status).to.equal(404);
  });

  it('is born paid in the set share, the same ones each time', async () => {
    const paid: string[][] = [];
    for (let run = 0; run < 2; run++) {
      sandbox = await startSandbox();
      await addCustomer(sandbox);
      for (let i = 0; i < 200; i++) await ask(sandbox, 'POST', '/v1/orders', { key: `k${i}`, body: anOrder(`N${i}`) });
      paid.push(
        (await list('?status=paid&limit=100')).data.map((invoice: { invoice_no: string }) => invoice.invoice_no),
      );
      await sandbox.close();
    }
    expect(paid[0]).to.eql(paid[1]);
    expect(paid[0]?.length).to.be.within(30, 70);
  });

  it('filters by status and customer and pages with a total', async () => {
    sandbox = await startSandbox({ maxPageSize: 20 });
    sandbox.addInvoices(
      Array.from({ length: 50 }, (_, i) => ({
        amount: i,
        customer_code: `C${i % 2}`,
        status: i % 5 === 0 ? 'paid' : 'unpaid',
      })),
    );
    const first = await list('?status=unpaid&limit=1000&page=1');
    expect(first.data).to.have.length(20);
    expect(first).to.include({ page: 1, total: 40 });
    const second = await list('?status=unpaid&limit=1000&page=2');
    expect(second.data).to.have.length(20);
    const numbers = new Set([...first.data, ...second.data].map((invoice) => invoice.invoice_no));
    expect(numbers.size).to.equal(40);
    expect(await list('?status=unpaid&page=3&limit=20')).to.eql({ data: [], page: 3, total: 40 });
    expect((await list('?status=unpaid&customer_code=C1')).total).to.equal(20);
    expect((await list('?customer_code=C1&limit=5')).data).to.have.length(5);
    expect((await list('?status=overdue')).total).to.equal(0);
  });

  it('counts pages from 0 where it is so set', async () => {
    sandbox = await startSandbox({ firstPage: 0 });
    sandbox.addInvoices([{ amount: 1 }, { amount: 2 }, { amount: 3 }]);
    expect((await list('?limit=2')).page).to.equal(0);
    expect((await list('?limit=2&page=1')).data.map((invoice: { amount: number }) => invoice.amount)).to.eql([3]);
  });

  it('refuses parameters that make no sense', async () => {
    sandbox = await startSandbox();
    for (const query of ['?page=0', '?limit=0', '?limit=-1', '?limit=x', '?page=1.5', '?size=3']) {
      expect((await ask(sandbox, 'GET', `/v2/invoices${query}`)).status, query).to.equal(400);
    }
  });

  it('is paid, changed, added and taken off from outside', async () => {
    sandbox = await startSandbox();
    // biome-ignore lint/suspicious/noExplicitAny: one helper for answers of several shapes
    const post = async (path: string, body?: unknown): Promise<{ status: number; json: any }> => {
      const response = await fetch(`${sandbox.url}/_invoices${path}`, {
        method: 'POST',
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, json: await response.json() };
    };
    const added = await post('', [{ amount: 5 }, { amount: -7, invoice_no: 'CR-1', due_date: '2026-03-01' }]);
    expect(added.status).to.equal(201);
    expect(added.json[1]).to.eql({ invoice_no: 'CR-1', amount: -7, due_date: '2026-03-01', status: 'unpaid' });
    expect((await post('/CR-1/pay')).json.status).to.equal('paid');
    expect((await post('/INV-000001/status', { status: 'overdue' })).json.status).to.equal('overdue');
    expect((await list('?status=unpaid')).total).to.equal(0);
    expect((await list('?status=overdue')).total).to.equal(1);
    // Paid and then not: it takes its old place in the list again.
    sandbox.setInvoiceStatus('INV-000001', 'paid');
    expect((await list('?status=paid')).data[0].invoice_no).to.equal('INV-000001');
    expect((await fetch(`${sandbox.url}/_invoices/CR-1`, { method: 'DELETE' })).status).to.equal(204);
    expect((await list('')).total).to.equal(1);
    expect((await post('/CR-1/pay')).status).to.equal(400);
    expect((await post('', { amount: 1.5 })).status).to.equal(400);
  });

  it('pages through 100,000 and takes payments among them', async () => {
    sandbox = await startSandbox({ invoicePerOrder: false });
    sandbox.addInvoices(Array.from({ length: 100_000 }, (_, i) => ({ amount: i, customer_code: `C${i % 1000}` })));
    for (let page = 1; page <= 1000; page += 10) await list(`?status=unpaid&limit=100&page=${page}`);
    for (let i = 1; i <= 2000; i++) sandbox.payInvoice(`INV-${String(i * 7).padStart(6, '0')}`);
    expect((await list('?status=unpaid')).total).to.equal(98_000);
    expect((await list('?status=paid&customer_code=C6')).total).to.equal(2);
  });
});
