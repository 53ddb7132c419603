import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { type PullOptions, pull } from '../../../src/inbound/invoices/pull.js';
import type { FaultInput } from '../../../src/lab/sandbox/fault-plan.js';
import { legacy } from '../../../src/model/facts/fact.js';
import { pauseLane } from '../../../src/store/lane-pauses.js';
import { Lease, LeaseLost } from '../../../src/store/lease.js';
import { type Lab, type LabOptions, onAnyLab, withServiceLease } from '../../support/jobs/job-lab.js';
import { pausesOf } from '../../support/jobs/service-of.js';
import { withMethod } from '../../support/jobs/with-method.js';
import { said, toldRows } from '../../support/told-rows.js';
import { waitFor } from '../../support/wait-for.js';

onAnyLab('pull', (kit) => {
  /** A service with so many unpaid invoices and a few paid ones. */
  const start = async (unpaid: number, options: LabOptions = {}) => {
    const lab = await kit.start({ customers: 1, orders: 1, ...options });
    lab.sandbox.addInvoices(Array.from({ length: unpaid }, (_, i) => ({ amount: i + 1, customer_code: `K${i % 3}` })));
    lab.sandbox.addInvoices([{ amount: 1, status: 'paid' }]);
    return lab;
  };
  const listed = async () =>
    (await kit.rows('SELECT invoice_no, amount FROM invoice WHERE unlisted_at IS NULL ORDER BY invoice_no')).map(
      (row) => row.amount,
    );
  const lastPull = async () => toldRows(await kit.rows('SELECT * FROM invoice_pull ORDER BY id DESC LIMIT 1'))[0] ?? {};
  /** Something that happens at the service after the nth page. */
  const afterPage = (nth: number, act: () => void): PullOptions => {
    let pages = 0;
    return { onProgress: () => (++pages === nth ? act() : undefined) };
  };

  const paths = (lab: Lab) => lab.sandbox.ledger().requests.map(({ path }) => path);

  it('reads every page, however small the service makes them, until two readings agree, and writes down what it read', async () => {
    const lab = await start(23, { sandbox: { maxPageSize: 5 } });
    const result = await lab.pull();
    const counts = { outcome: 'proven', pages: 10, passes: 2, added: 23, malformed: 0, reason: null, missed: 0 };
    expect(result).to.deep.include({ ...counts, unpaid: 23 });
    expect(await listed()).to.deep.equal(Array.from({ length: 23 }, (_, i) => i + 1));
    expect(await lastPull()).to.deep.include({ ...counts, listed: 23, service_total: 23, progress: null });
    const attempts = await kit.rows('SELECT purpose, status, verdict FROM attempt');
    expect(attempts).to.have.length(10);
    expect(attempts[0]).to.deep.equal({ purpose: 'list_invoices', status: 200, verdict: 'read' });
    // Nothing would find it there that has to be forgotten.
    expect(await kit.rows('SELECT excerpt FROM attempt WHERE excerpt IS NOT NULL')).to.deep.equal([]);
    expect((await kit.rows("SELECT outcome FROM audit_log WHERE event='pull'"))[0]).to.deep.equal({
      outcome: 'proven',
    });
    // The second reading asks for what the service gives.
    expect(paths(lab)).to.deep.equal([
      ...[1, 2, 3, 4, 5].map((page) => `/v2/invoices?status=unpaid&limit=100&page=${page}`),
      ...[1, 2, 3, 4, 5].map((page) => `/v2/invoices?status=unpaid&limit=5&page=${page}`),
    ]);

    const again = await lab.pull();
    expect(again).to.deep.include({ outcome: 'proven', added: 0, changed: 0, unlisted: 0 });
  });

  it('takes an empty list for what it is, once it was empty twice', async () => {
    const lab = await start(3);
    await lab.pull();
    // Somebody builds the service's index anew.
    lab.sandbox.setFaults([
      { kind: 'status', status: 200, body: { data: [], total: 0 }, match: { path: '/v2/invoices' }, times: 1 },
    ]);
    expect(await lab.pull()).to.deep.include({ outcome: 'proven', passes: 3, unpaid: 3, unlisted: 0 });
    for (const { invoice_no: no } of await kit.rows('SELECT invoice_no FROM invoice')) lab.sandbox.payInvoice(no);
    expect(await lab.pull()).to.deep.include({ outcome: 'proven', pages: 2, unpaid: 0, unlisted: 3 });
    expect(await listed()).to.deep.equal([]);
    expect(await kit.rows('SELECT COUNT(*) AS n FROM invoice WHERE unlisted_at IS NOT NULL')).to.deep.equal([{ n: 3 }]);
  });

  it('sets a malformed invoice aside and proves the list all the same, credit notes among it', async () => {
    const lab = await start(4, { sandbox: { maxPageSize: 2 } });
    lab.sandbox.addInvoices([{ amount: 2 ** 53 }, { amount: -700 }, { amount: 5, due_date: 'soon' }]);
    expect(await lab.pull()).to.deep.include({ outcome: 'proven', unpaid: 5, malformed: 2, pages: 8 });
    expect(await listed()).to.deep.equal([1, 2, 3, 4, -700]);
    const set = toldRows(
      await kit.rows('SELECT invoice_no, reason_code, reason_data FROM invoice_malformed ORDER BY invoice_no'),
    );
    expect(set.map(({ reason }) => String(reason).split(':')[0])).to.deep.equal(['amount', 'due_date']);
  });

  it('reads on when the list changes between two pages', async () => {
    const lab = await start(6, { sandbox: { maxPageSize: 2 } });
    const paid = () => lab.sandbox.payInvoice('INV-000001');
    expect(await lab.pull(afterPage(1, paid))).to.deep.include({ outcome: 'proven', unpaid: 5, passes: 3 });
    expect(await listed()).to.deep.equal([2, 3, 4, 5, 6]);
  });

  it('is not deceived when one is paid and one is added, so that the total stays the same', async () => {
    const lab = await start(6, { sandbox: { maxPageSize: 2 } });
    const swapped = () => {
      lab.sandbox.payInvoice('INV-000001');
      lab.sandbox.addInvoices([{ amount: 77 }]);
    };
    expect(await lab.pull(afterPage(1, swapped))).to.deep.include({ outcome: 'proven', unpaid: 6 });
    expect(await listed()).to.deep.equal([2, 3, 4, 5, 6, 77]);
  });

  it('ends on a list that never holds still, takes what it met, and takes off nothing', async () => {
    const lab = await start(6, { sandbox: { maxPageSize: 2 }, settings: { invoices: { maxPasses: 3 } } });
    await lab.pull();
    lab.sandbox.payInvoice('INV-000002');
    const result = await lab.pull({ onProgress: () => void lab.sandbox.addInvoices([{ amount: 99 }]) });
    expect(result).to.deep.include({ outcome: 'unproven', passes: 3, unlisted: 0, missed: 1 });
    expect(said(result.reason)).to.match(/the list changed in each of 3 readings: in the last one .*/);
    expect((await listed()).slice(0, 6)).to.deep.equal([1, 2, 3, 4, 5, 6]);
    expect((await lastPull()).outcome).to.equal('unproven');
  });

  const ownRead = { service: { endpoints: { readInvoice: { path: '/v2/invoices/{invoice_no}' } } } };

  it('takes off what has left by its own read where nothing is proven, and keeps the words of the service', async () => {
    const lab = await start(6, { sandbox: { maxPageSize: 2 }, settings: ownRead });
    await lab.pull();
    lab.sandbox.payInvoice('INV-000002');
    lab.sandbox.removeInvoice('INV-000004');
    const result = await lab.pull({ onProgress: () => void lab.sandbox.addInvoices([{ amount: 99 }]) });
    expect(result).to.deep.include({ outcome: 'unproven', unlisted: 2, missed: 0, asked: 2 });
    expect((await listed()).slice(0, 4)).to.deep.equal([1, 3, 5, 6]);
    expect(
      await kit.rows('SELECT invoice_no, left_status FROM invoice WHERE unlisted_at IS NOT NULL ORDER BY invoice_no'),
    ).to.deep.equal([
      { invoice_no: 'INV-000002', left_status: 'paid' },
      { invoice_no: 'INV-000004', left_status: null },
    ]);
  });

  it('asks for so many a pull and remembers the rest, so that all that left are gone within three pulls', async () => {
    const lab = await start(9, { settings: { ...ownRead, invoices: { readsPerPull: 3 } } });
    await lab.pull();
    for (let i = 1; i <= 8; i++) lab.sandbox.payInvoice(`INV-00000${i}`);
    const busy = { onProgress: () => void lab.sandbox.addInvoices([{ amount: 99 }]) };
    for (const missed of [5, 2, 0])
      expect(await lab.pull(busy)).to.deep.include({ outcome: 'unproven', unlisted: missed === 0 ? 2 : 3, missed });
  });

  it('asks of a proven list what became of those that left, and believes an invoice that says it is due', async () => {
    const lab = await start(4, { settings: ownRead });
    await lab.pull();
    lab.sandbox.payInvoice('INV-000001');
    lab.sandbox.setFaults([
      { kind: 'status', status: 500, match: { path: '/v2/invoices/INV-000001' } },
      { kind: 'status', status: 400, match: { path: '/v2/invoices/INV-000002' } },
    ]);
    // It cannot be asked: the proof takes it off, and "paid" nobody said.
    expect(await lab.pull()).to.deep.include({ outcome: 'proven', unlisted: 1, asked: 0 });
    lab.sandbox.payInvoice('INV-000002');
    lab.sandbox.payInvoice('INV-000003');
    expect(await lab.pull()).to.deep.include({ outcome: 'proven', unlisted: 2, asked: 2 });
    const left = await kit.rows('SELECT left_status FROM invoice WHERE unlisted_at IS NOT NULL ORDER BY invoice_no');
    expect(left.map(({ left_status }) => left_status)).to.deep.equal([null, null, 'paid']);
  });

  const shortPage: FaultInput = {
    kind: 'status',
    status: 200,
    body: { data: [{ invoice_no: 'INV-000003', amount: 3, due_date: '2026-12-01', status: 'unpaid' }], total: 3 },
    match: { path: { regex: 'status=unpaid' } },
  };

  it('asks for what is missed only in a way that an answer of the service itself can take an invoice off', async () => {
    const lab = await start(3, { settings: ownRead });
    await lab.pull();
    lab.sandbox.setFaults([
      {
        kind: 'status',
        status: 404,
        headers: { 'content-type': 'text/html' },
        body: '<html>404 Not Found</html>',
        match: { path: '/v2/invoices/INV-000001' },
      },
      shortPage,
    ]);
    lab.sandbox.removeInvoice('INV-000002');
    expect(await lab.pull()).to.deep.include({ outcome: 'unproven', asked: 2, unlisted: 1, missed: 1 });
    expect(await listed()).to.deep.equal([1, 3]);
  });

  it('believes absence of a number with a slash only where a listed one with a slash is found', async () => {
    const lab = await start(3, { settings: ownRead });
    lab.sandbox.addInvoices([
      { invoice_no: '2026/001', amount: 50 },
      { invoice_no: '2026/002', amount: 60 },
    ]);
    await lab.pull();
    const router: FaultInput = {
      ...{ kind: 'status', status: 404, body: { message: 'Not Found' } },
      match: { path: { regex: '^/v2/invoices/2026%2F' } },
    };
    const without: FaultInput = {
      ...{ kind: 'status', status: 200, match: { path: { regex: '/v2/invoices[?]' } } },
      body: { data: [{ invoice_no: 'INV-000001', amount: 1, due_date: '2026-12-01', status: 'unpaid' }], total: 5 },
    };
    lab.sandbox.removeInvoice('INV-000002');
    lab.sandbox.setFaults([router, without]);
    // A plain number is controlled by a plain one; nothing met has a slash.
    await lab.pull();
    expect(await listed())
      .to.include.members([50, 60])
      .and.not.include(2);
  });

  it('believes of no address that there is no such invoice, where what stands on the list is not found either', async () => {
    const lab = await start(3, { settings: ownRead });
    await lab.pull();
    const elsewhere: FaultInput = {
      kind: 'status',
      status: 404,
      body: { message: 'no such page' },
      match: { path: { regex: '^/v2/invoices/' } },
    };
    lab.sandbox.setFaults([elsewhere, shortPage]);
    expect(await lab.pull()).to.deep.include({ outcome: 'unproven', asked: 2, unlisted: 0, missed: 2 });
    expect(await listed()).to.deep.equal([1, 2, 3]);
    expect(await kit.rows("SELECT cause FROM alert WHERE cause='read_invoice.forbidden'")).to.have.length(1);
    // Nothing stands on the list that could be found by its number.
    lab.sandbox.setFaults([elsewhere, { ...shortPage, body: { data: [], total: 3 } }]);
    expect(await lab.pull()).to.deep.include({ outcome: 'unproven', unlisted: 0, missed: 3 });
    expect(await listed()).to.deep.equal([1, 2, 3]);
  });

  it('takes off a state that nobody named when the list that showed it is proven without it', async () => {
    const lab = await start(1, { settings: ownRead });
    const invoice = { invoice_no: 'R', amount: 60, due_date: '2026-12-01', status: 'Reminded' };
    lab.sandbox.addInvoices([invoice]);
    const shown = { kind: 'status', status: 200, body: { data: [invoice], total: 1 } } as const;
    lab.sandbox.setFaults([{ ...shown, match: { path: { regex: 'status=unpaid' } } }]);
    await lab.pull();
    expect(await listed()).to.deep.equal([60]);
    lab.sandbox.clearFaults();
    expect(await lab.pull()).to.deep.include({ outcome: 'proven', unlisted: 1, asked: 1 });
    expect(await listed()).to.deep.equal([1]);
  });

  it('pulls the list of each state that means money is due, and keeps and reports one that nobody named', async () => {
    const lab = await start(3, {
      sandbox: { maxPageSize: 2 },
      settings: { invoices: { states: ['unpaid', 'overdue'] } },
    });
    lab.sandbox.addInvoices([
      { amount: 50, status: 'overdue' },
      { amount: 60, status: 'reminded' },
    ]);
    expect(await lab.pull()).to.deep.include({ outcome: 'proven', unpaid: 4 });
    expect(await listed()).to.deep.equal([1, 2, 3, 50]);
    lab.sandbox.setInvoiceStatus('INV-000001', 'overdue');
    expect(await lab.pull()).to.deep.include({ outcome: 'proven', unpaid: 4, changed: 1, unlisted: 0 });
    lab.sandbox.setFaults([
      {
        kind: 'status',
        status: 200,
        body: {
          data: [{ invoice_no: 'INV-000005', amount: 60, due_date: '2026-12-01', status: 'Reminded' }],
          total: 1,
        },
        match: { path: { regex: 'status=overdue' } },
      },
    ]);
    await lab.pull();
    await lab.pull();
    expect(lab.log.filter((line) => line.includes('Reminded'))).to.have.length(1);
    expect(await kit.rows("SELECT outcome FROM audit_log WHERE outcome='new_state'")).to.have.length(1);
    expect((await kit.rows("SELECT status FROM invoice WHERE invoice_no='INV-000005'"))[0]).to.deep.equal({
      status: 'Reminded',
    });
  });

  it('follows the names that the service gives to parameters and fields, and counts pages from 0', async () => {
    const lab = await start(5, {
      sandbox: { maxPageSize: 2, firstPage: 0 },
      settings: { invoices: { pageSize: 2, paging: { firstPage: 0, query: { customer_code: 'K1' } } } },
    });
    expect(await lab.pull()).to.deep.include({ outcome: 'proven', unpaid: 2, pages: 4 });
    // The page is full, so each reading looks behind it.
    const reading = [0, 1].map((page) => `/v2/invoices?customer_code=K1&status=unpaid&limit=2&page=${page}`);
    expect(paths(lab)).to.deep.equal([...reading, ...reading]);
    const renamed = lab.another({
      settings: {
        invoices: {
          paging: {
            page: 'p',
            limit: 'size',
            status: 'state',
            query: {},
            fields: { invoices: 'items', total: 'n.all', page: 'n.page' },
          },
        },
      },
    });
    lab.sandbox.setFaults([{ kind: 'status', status: 200, body: { items: [], n: { all: 0 } } }]);
    expect(await renamed.pull()).to.deep.include({ outcome: 'proven', unpaid: 0, unlisted: 2 });
    expect(paths(lab).at(-1)).to.equal('/v2/invoices?customer_code=K1&state=unpaid&size=2&p=0');
  });

  it('proves nothing when the service counts its pages in another way than the settings say', async () => {
    const lab = await start(5, { sandbox: { maxPageSize: 2, firstPage: 0 } });
    const { reason, ...result } = await lab.pull();
    expect(result).to.deep.include({ outcome: 'unproven', unpaid: 3, unlisted: 0 });
    expect(said(reason)).to.match(
      /^3 of 5 were met.* the pages do not cover the list. Check invoices\.paging\.firstPage/,
    );
  });

  it('names the settings when the service does not know the parameter for the page, and repeats its first one', async () => {
    const lab = await start(5);
    const due = { due_date: '2026-12-01', status: 'unpaid', amount: 1 };
    const first = { data: ['A', 'B'].map((no) => ({ invoice_no: no, ...due })), total: 5 };
    lab.sandbox.setFaults([{ kind: 'status', status: 200, body: first, match: { path: '/v2/invoices' } }]);
    const { reason, outcome } = await lab.pull();
    expect(outcome).to.equal('unproven');
    expect(said(reason)).to.match(/^2 of 5 were met.* a later page repeated an earlier one.*invoices\.paging\.page/);
  });

  describe('of each customer by itself', () => {
    const invoice = (no: string, customer: string) => ({ invoice_no: no, customer_code: customer, amount: 100 });
    const page = (...invoices: object[]) => ({
      data: invoices.map((one) => ({ due_date: '2026-12-01', status: 'unpaid', ...one })),
      page: 1,
      total: invoices.length,
    });
    const startWith = async (...codes: string[]) => {
      const service = { limits: [{ requests: 1_000, perSeconds: 0.1 }] };
      const invoices = { scope: 'per-customer' };
      const lab = await kit.start({ customers: 1, orders: 1, settings: { invoices, service } });
      for (const code of codes)
        await kit.store.transaction('bind', (tx) =>
          tx.run(
            `INSERT INTO binding (entity, source_key, folded_key, service_id, revision, generation, content_hash, mapping_fingerprint, acknowledged_at)
             VALUES ('customer', ?, '', ?, 1, 0, '', '', 1)`,
            [code, code],
          ),
        );
      return lab;
    };
    const numbers = async () =>
      (await kit.rows('SELECT invoice_no FROM invoice WHERE unlisted_at IS NULL ORDER BY invoice_no')).map(
        (row) => row.invoice_no,
      );

    it('leaves out one that the service does not have, and says so', async () => {
      const lab = await startWith('K0', 'K2');
      lab.sandbox.addInvoices([invoice('A', 'K0'), invoice('B', 'K2')]);
      expect((await lab.pull()).outcome).to.equal('proven');
      lab.sandbox.setFaults([{ kind: 'status', status: 404, match: { path: { regex: 'customer_code=K0' } } }]);
      lab.sandbox.payInvoice('B');
      const result = await lab.pull();
      expect(result).to.deep.include({ outcome: 'unproven', unlisted: 1, missed: 1 });
      expect(said(result.reason)).to.match(/^customer K0: page 1 of unpaid could not be read: HTTP 404/);
      expect(await numbers()).to.deep.equal(['A']);
    });

    it('asks also for one whose binding is gone, as long as invoices of it are listed', async () => {
      const lab = await startWith('K0', 'K2');
      lab.sandbox.addInvoices([invoice('A', 'K0'), invoice('B', 'K2'), invoice('C', 'K0')]);
      await lab.pull();
      await kit.store.transaction('unbind', (tx) => tx.run("DELETE FROM binding WHERE service_id='K0'"));
      lab.sandbox.payInvoice('A');
      expect(await lab.pull()).to.deep.include({ outcome: 'proven', unlisted: 1, missed: 0 });
      await kit.store.transaction('unbind', (tx) => tx.run('DELETE FROM binding'));
      lab.sandbox.payInvoice('C');
      expect(await lab.pull()).to.deep.include({ outcome: 'proven', unlisted: 1, missed: 0 });
      expect(await numbers()).to.deep.equal(['B']);
    });

    it('is not proven where invoices are listed that belong to nobody', async () => {
      const lab = await startWith('K0');
      lab.sandbox.addInvoices([invoice('A', 'K0')]);
      await lab.pull();
      await kit.store.transaction('forget whose', (tx) => tx.run('UPDATE invoice SET customer_code=NULL'));
      lab.sandbox.payInvoice('A');
      const result = await lab.pull();
      expect(result).to.deep.include({ outcome: 'unproven', missed: 1 });
      expect(said(result.reason)).to.equal('1 listed invoices belong to no customer whose list was proven');
      expect((await lastPull()).outcome).to.equal('unproven');
    });

    it('sets aside what has one number for two customers, and keeps the others of both', async () => {
      const lab = await startWith('K1', 'K2');
      const show = (code: string, ...invoices: object[]) => ({
        ...{ kind: 'status', status: 200, match: { path: { regex: `customer_code=${code}` } } },
        body: page(...invoices),
      });
      const show2 = show('K2', { ...invoice('1', 'K2'), amount: 7 }, invoice('C', 'K2'));
      lab.sandbox.setFaults([show('K1', invoice('1', 'K1'), invoice('B', 'K1')), show2] as FaultInput[]);
      for (let nth = 0; nth < 2; nth++)
        expect(await lab.pull()).to.deep.include({ outcome: 'proven', unpaid: 2, malformed: 2 });
      expect(await numbers()).to.deep.equal(['B', 'C']);
      const aside = toldRows(
        await kit.rows('SELECT list_customer, invoice_no, reason_code, reason_data FROM invoice_malformed ORDER BY 1'),
      );
      expect(aside).to.deep.equal([
        {
          list_customer: 'K1',
          invoice_no: '1',
          reason: 'invoice_no: the service lists invoices of K1 and K2 with this number',
        },
        {
          list_customer: 'K2',
          invoice_no: '1',
          reason: 'invoice_no: the service lists invoices of K1 and K2 with this number',
        },
      ]);
      lab.sandbox.setFaults([show('K1'), show2] as FaultInput[]);
      expect(await lab.pull()).to.deep.include({ outcome: 'proven', unpaid: 2, malformed: 0, unlisted: 1 });
      expect(await numbers()).to.deep.equal(['1', 'C']);
    });

    it('keeps an invoice that also stands on the list of another, which proves nothing', async () => {
      const lab = await startWith('AK1', 'K1');
      lab.sandbox.setFaults([
        {
          kind: 'status',
          status: 200,
          body: page(invoice('A', 'AK1')),
          match: { path: { regex: 'customer_code=AK1' } },
        },
        {
          kind: 'status',
          status: 200,
          body: page(invoice('A', 'AK1'), invoice('K', 'K1')),
          match: { path: { regex: 'customer_code=K1' } },
        },
      ]);
      const result = await lab.pull();
      expect(result).to.deep.include({
        outcome: 'unproven',
        added: 2,
      });
      expect(said(result.reason)).to.equal('customer K1: the service also gave invoices of AK1');
      expect(await numbers()).to.deep.equal(['A', 'K']);
    });
  });

  it('asks for the invoices of each customer that was delivered, and takes off only what is theirs', async () => {
    const lab = await start(9, { sandbox: { maxPageSize: 2 }, settings: { invoices: { scope: 'per-customer' } } });
    expect(await lab.pull()).to.deep.include({ outcome: 'proven', unpaid: 0, pages: 0 });
    const bind = (key: string, code: string) =>
      kit.store.transaction('bind', (tx) =>
        tx.run(
          `INSERT INTO binding (entity, source_key, folded_key, service_id, revision, generation, content_hash, mapping_fingerprint, acknowledged_at)
           VALUES ('customer', ?, '', ?, 1, 0, '', '', 1)`,
          [key, code],
        ),
      );
    await bind('1', 'K2');
    await bind('2', 'K0');
    await bind('3', 'K7');
    expect(await lab.pull()).to.deep.include({ outcome: 'proven', unpaid: 6, pages: 10, passes: 2 });
    expect(await listed()).to.deep.equal([1, 3, 4, 6, 7, 9]);
    const renamed = lab.another({ settings: { invoices: { paging: { customer: 'account' } } } });
    expect((await renamed.pull()).outcome).to.equal('failed');
    expect(paths(lab).slice(-3).join()).to.match(/account=K0.*account=K2.*account=K7/);
    lab.sandbox.payInvoice('INV-000001');
    lab.sandbox.payInvoice('INV-000003');
    const mostly: PullOptions = {
      onProgress: () => {
        if (paths(lab).at(-1)?.includes('customer_code=K2'))
          lab.sandbox.addInvoices([{ amount: 5, customer_code: 'K2' }]);
      },
    };
    const result = await lab.pull(mostly);
    expect(result).to.deep.include({ outcome: 'unproven', unlisted: 1, missed: 1 });
    expect(said(result.reason)).to.match(/^customer K2: /);
    expect((await listed()).slice(0, 5)).to.deep.equal([3, 4, 6, 7, 9]);
  });

  it('goes on at its page after it was cut short, and begins anew when too much time has passed or it asks for something else', async () => {
    const lab = await start(6, { sandbox: { maxPageSize: 2 } });
    const cut = async () => {
      lab.sandbox.setFaults([{ kind: 'status', status: 400, match: { path: { regex: 'page=3' } } }]);
      expect((await lab.pull()).outcome).to.equal('failed');
      lab.sandbox.clearFaults();
    };
    await cut();
    const asked = paths(lab).length;
    const id = (await lastPull()).id;
    // Four pages a reading: the third is full, and the fourth is empty.
    expect(await lab.pull()).to.deep.include({ outcome: 'proven', pages: 8 });
    expect(paths(lab).length - asked).to.equal(6);
    expect((await lastPull()).id).to.equal(id);

    await cut();
    const other = lab.another({ settings: { invoices: { paging: { query: { customer_code: 'K1' } } } } });
    expect(await other.pull()).to.deep.include({ outcome: 'proven', unpaid: 2 });
    await cut();
    await kit.store.transaction('let time pass', (tx) =>
      tx.run('UPDATE invoice_pull SET progress_at=progress_at-900001'),
    );
    expect(await lab.pull()).to.deep.include({ outcome: 'proven', pages: 8 });
  });

  it('is not read by two at once: the second one of a process begins when the first has ended', async () => {
    const lab = await start(5, { sandbox: { maxPageSize: 2 } });
    await withServiceLease(lab.context, async (lease) => {
      const begin = (options: PullOptions) => pull(lab.context, lab.client, lease, options);
      let second: ReturnType<typeof begin> | undefined;
      const first = await begin({
        onProgress: () => {
          second ??= begin({});
        },
      });
      expect(first).to.deep.include({ outcome: 'proven', pages: 6, passes: 2 });
      expect(paths(lab)).to.have.length(6);
      expect(await second).to.deep.include({ outcome: 'proven', pages: 6, passes: 2 });
    });
    expect(await kit.rows('SELECT outcome, pages FROM invoice_pull')).to.deep.equal([
      { outcome: 'proven', pages: 6 },
      { outcome: 'proven', pages: 6 },
    ]);
  });

  it('proves nothing, and leaves the list as it is, where another process has gone on with it', async () => {
    const lab = await start(6, { sandbox: { maxPageSize: 2 } });
    await lab.pull();
    lab.sandbox.payInvoice('INV-000001');
    const elsewhere = afterPage(2, () => {
      changed = kit.store.transaction('go on', (tx) =>
        tx.run("UPDATE invoice_pull SET progress='{}' WHERE outcome='running'"),
      );
    });
    let changed: Promise<unknown> | undefined;
    const slowly = withMethod(lab.client, 'read', async (...asked: Parameters<typeof lab.client.read>) => {
      await changed;
      return lab.client.read(...asked) as never;
    });
    const error = await withServiceLease(lab.context, (lease) => pull(lab.context, slowly, lease, elsewhere)).catch(
      (reason: Error) => reason,
    );
    expect(error).to.match(/Another process has gone on with pull \d+: what was read here counts for nothing/);
    expect(await listed()).to.have.length(6);
  });

  it('proves a list that grew to many times its size while the pull was cut short', async () => {
    const lab = await start(10, { settings: { invoices: { pageSize: 2 } } });
    lab.sandbox.setFaults([{ kind: 'status', status: 400, match: { path: { regex: 'page=3' } } }]);
    expect((await lab.pull()).outcome).to.equal('failed');
    lab.sandbox.clearFaults();
    lab.sandbox.addInvoices(Array.from({ length: 50 }, (_, i) => ({ amount: 100 + i })));
    expect(await lab.pull()).to.deep.include({ outcome: 'proven', unpaid: 60, reason: null });
  });

  it('asks again for a page that fails twice within two seconds, not after the time between two probes', async () => {
    const settings = { delivery: { probeSeconds: 5 } };
    const lab = await start(4, { sandbox: { maxPageSize: 2 }, settings });
    lab.sandbox.setFaults([{ kind: 'status', status: 502, times: 2, match: { path: { regex: 'page=2' } } }]);
    const slept: number[] = [];
    const clock = { ...lab.context.clock, sleep: async (ms: number) => void slept.push(ms) };
    const { outcome } = await withServiceLease(lab.context, (lease) =>
      pull({ ...lab.context, clock }, lab.client, lease),
    );
    expect(outcome).to.equal('proven');
    expect(slept).to.have.length(2);
    expect(slept[0]).to.be.within(125, 250);
    expect(slept[1]).to.be.within(500, 1_000);
  });

  it('takes a page that the service does not know for the end of the list', async () => {
    const lab = await start(4, { sandbox: { maxPageSize: 2 } });
    lab.sandbox.setFaults([{ kind: 'status', status: 404, match: { path: { regex: 'page=2' } }, times: 1 }]);
    expect(await lab.pull()).to.deep.include({ outcome: 'proven', unpaid: 4, passes: 3 });
  });

  it('asks again for a page that fails once, and puts each request on record', async () => {
    const lab = await start(4, { sandbox: { maxPageSize: 2 } });
    lab.sandbox.setFaults([{ kind: 'status', status: 503, times: 1, match: { path: { regex: 'page=2' } } }]);
    expect(await lab.pull()).to.deep.include({ outcome: 'proven', unpaid: 4 });
    const attempts = await kit.rows('SELECT number, verdict FROM attempt ORDER BY id LIMIT 3');
    expect(attempts).to.deep.equal([
      { number: 1, verdict: 'read' },
      { number: 2, verdict: 'in_doubt' },
      { number: 3, verdict: 'read' },
    ]);
  });

  it('asks again within a minute, however seldom a service that is down is probed', async () => {
    const lab = await start(2, { settings: { delivery: { probeSeconds: 90 } } });
    lab.sandbox.setFaults([{ kind: 'status', status: 500, times: 3, match: { path: { regex: 'invoices' } } }]);
    const waits: number[] = [];
    const sleep = async (ms: number) => void waits.push(ms);
    const hasty = { ...lab.context, clock: { ...lab.context.clock, sleep } };
    await withServiceLease(hasty, async (lease) => {
      expect(await pull(hasty, lab.client, lease)).to.deep.include({ outcome: 'proven', unpaid: 2 });
    });
    expect(waits).to.have.length(3);
    expect(waits[2]).to.equal(60_000);
  });

  it('says of a request whose outcome the store did not take that nobody knows it, with the next one', async () => {
    const lab = await start(4, { sandbox: { maxPageSize: 2 } });
    const { store } = lab.context;
    let tried = 0;
    const transaction: typeof store.transaction = (action, work) =>
      action === 'put outcomes on record' && ++tried === 2
        ? Promise.reject(new Error('Connection lost: The server closed the connection.'))
        : store.transaction(action, work);
    const failing = { ...lab.context, store: withMethod(store, 'transaction', transaction) };
    await withServiceLease(failing, async (lease) => {
      const failure = await pull(failing, lab.client, lease).catch((error: Error) => error.message);
      expect(failure).to.contain('Connection lost');
      expect(await pull(failing, lab.client, lease)).to.deep.include({ outcome: 'proven', unpaid: 4 });
      const attempts = await kit.rows('SELECT verdict FROM attempt ORDER BY id LIMIT 3');
      expect(attempts.map(({ verdict }) => verdict)).to.deep.equal(['read', 'unknown', 'read']);
    });
  });

  it('pauses for as long as a service says that is asked too often', async () => {
    const lab = await start(4, { sandbox: { maxPageSize: 2 } });
    lab.sandbox.setFaults([{ kind: 'status', status: 429, headers: { 'retry-after': '1' }, times: 1 }]);
    expect(await lab.pull()).to.deep.include({ outcome: 'proven', unpaid: 4 });
    const [first, second] = lab.sandbox.ledger().requests;
    expect((second?.received_at_ms ?? 0) - (first?.answered_at_ms ?? 0)).to.be.at.least(950);

    lab.sandbox.setFaults([{ kind: 'status', status: 429, headers: { 'retry-after': '3600' } }]);
    expect((await lab.pull()).outcome).to.equal('failed');
    expect((await pausesOf(kit)).map(({ lane, cause }) => `${lane} ${cause}`)).to.deep.equal(['service throttled']);
    const requests = lab.sandbox.counts().requests;
    expect((await lab.pull()).outcome).to.equal('held');
    expect(lab.sandbox.counts().requests).to.equal(requests);
  });

  const refusals: [string, (lab: Lab) => void, RegExp, string[]][] = [
    [
      'the credential is not accepted',
      (lab) => lab.sandbox.change({ token: 'other' }),
      /HTTP 401/,
      ['service credential'],
    ],
    ['the service forbids it', (lab) => lab.sandbox.change({ forbidden: true }), /HTTP 403/, ['pull misconfigured']],
    [
      'the service refuses the request',
      (lab) => lab.sandbox.setFaults([{ kind: 'status', status: 400, body: { error: { message: 'no such filter' } } }]),
      /no such filter/,
      [],
    ],
  ];
  for (const [title, change, reason, pauses] of refusals) {
    it(`fails at once and keeps the old list when ${title}`, async () => {
      const lab = await start(3);
      await lab.pull();
      change(lab);
      const result = await lab.pull();
      expect(result.outcome).to.equal('failed');
      expect(said(result.reason)).to.match(reason);
      expect(lab.sandbox.counts().requests).to.equal(3);
      expect((await pausesOf(kit)).map(({ lane, cause }) => `${lane} ${cause}`)).to.deep.equal(pauses);
      expect(await listed()).to.deep.equal([1, 2, 3]);
    });
  }

  it('stops before its next page at an operator’s pause', async () => {
    const lab = await start(6, { sandbox: { maxPageSize: 2, delayAfterMs: 30 } });
    const operator = await kit.connect();
    const running = lab.pull();
    await waitFor('the first page', () => lab.sandbox.counts().requests > 0);
    await operator.transaction('pause', (tx) =>
      pauseLane(tx, {
        lane: 'pull',
        cause: 'operator',
        until_at: null,
        reason: legacy('year end'),
        actor: 'x',
        since_at: 1,
      }),
    );
    const requests = lab.sandbox.counts().requests;
    const result = await running;
    expect(result).to.deep.include({ outcome: 'failed' });
    expect(said(result.reason)).to.contain('year end');
    expect(lab.sandbox.counts().requests).to.be.at.most(requests + 1);
  });

  it('ends soon when it is told to, also while it waits to ask again', async () => {
    const lab = await start(2);
    lab.sandbox.setFaults([{ kind: 'status', status: 429, headers: { 'retry-after': '40' } }]);
    const stopping = new AbortController();
    const running = lab.pull({ signal: stopping.signal });
    await waitFor('the pause', async () => (await pausesOf(kit)).length > 0);
    const startedAt = performance.now();
    stopping.abort();
    expect((await running).outcome).to.equal('failed');
    expect(performance.now() - startedAt).to.be.below(10_000);
  });

  it('writes nothing when its lease went to another process', async () => {
    const lab = await start(6, { sandbox: { maxPageSize: 2, delayAfterMs: 50 } });
    const neighbour = await kit.connect();
    const running = lab.pull().then(
      () => null,
      (error: unknown) => error,
    );
    await waitFor('the first page', () => lab.sandbox.counts().requests > 0);
    await neighbour.transaction('let time pass', (tx) => tx.run("UPDATE lease SET expires_at=1 WHERE name='service'"));
    expect((await Lease.acquire(neighbour, 'service', 'the successor', 60_000)).held).to.equal(true);
    expect(await running).to.be.instanceOf(LeaseLost);
    expect(await kit.rows('SELECT * FROM invoice')).to.deep.equal([]);
    expect((await lastPull()).outcome).to.equal('running');
  });

  it('does not swap the list when its lease went to another process after the last page', async () => {
    const lab = await start(6);
    const { store } = lab.context;
    const transaction: typeof store.transaction = async (action, work) => {
      if (action === 'end a pull') {
        await store.transaction('let time pass', (tx) => tx.run("UPDATE lease SET expires_at=1 WHERE name='service'"));
        expect((await Lease.acquire(store, 'service', 'the successor', 60_000)).held).to.equal(true);
      }
      return store.transaction(action, work);
    };
    lab.context.store = withMethod(store, 'transaction', transaction);
    const failure = await lab.pull().then(
      () => null,
      (error: unknown) => error,
    );
    expect(failure).to.be.instanceOf(LeaseLost);
    expect(await kit.rows('SELECT * FROM invoice')).to.deep.equal([]);
  });

  for (const seconds of ['0', '1'])
    it(`does not shorten a pause that a send was told of while a page was under way, where its own answer names ${seconds} s`, async () => {
      const lab = await start(6);
      lab.sandbox.setFaults([{ kind: 'status', status: 429, headers: { 'retry-after': seconds } }]);
      const { store } = lab.context;
      const hours = 4 * 3_600_000;
      const until = Date.now() + hours;
      const transaction: typeof store.transaction = (action, work) =>
        store.transaction(action, async (tx) => {
          if (action === 'put outcomes on record')
            await pauseLane(tx, {
              lane: 'service',
              cause: 'throttled',
              until_at: until,
              reason: legacy('four hours'),
              actor: 'a send',
              since_at: Date.now(),
            });
          return work(tx);
        });
      lab.context.store = withMethod(store, 'transaction', transaction);
      expect((await lab.pull()).outcome).to.equal('failed');
      expect((await pausesOf(kit)).map(({ until_at }) => Number(until_at))).to.deep.equal([until]);
    });

  /** A service that gives such a page to each request for one. */
  const pulledFrom = async (page: (nth: number, asked: number) => string | number, settings: object) => {
    let pages = 0;
    const server = http.createServer(({ url }, response) => {
      const given = page(++pages, Number(new URL(url ?? '', 'http://service').searchParams.get('page')));
      response.writeHead(typeof given === 'number' ? given : 200, { 'Content-Type': 'application/json' });
      response.end(typeof given === 'number' ? '{"message":"no such page"}' : given);
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    try {
      const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const lab = (await kit.start({ customers: 1, orders: 1 })).another({
        settings: { ...settings, service: { baseUrl } },
      });
      return { result: await lab.pull(), pages };
    } finally {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    }
  };
  const invoiceOf = (number: number) => ({
    invoice_no: `I-${number}`,
    amount: 1,
    due_date: '2026-12-01',
    status: 'unpaid',
  });

  for (const [what, totalOn, met] of [
    ['says', () => 9e15, 3],
    ['comes to say on its pages', (nth: number) => nth * 20, 9],
  ] as const)
    it(`ends where the service ${what} a total that no list can have, and says which setting bounds it`, async () => {
      const { result, pages } = await pulledFrom(
        (nth) => JSON.stringify({ data: [0, 1, 2].map((i) => invoiceOf(nth * 3 + i)), total: totalOn(nth) }),
        { invoices: { maxListed: 50 } },
      );
      expect(result).to.include({ outcome: 'unproven', pages, unpaid: met });
      expect(said(result.reason)).to.contain('room for 50').and.to.contain('invoices.maxListed');
      expect(pages).to.equal(met / 3);
      expect(await kit.rows('SELECT COUNT(*) AS n FROM invoice_staging')).to.deep.equal([{ n: 0 }]);
    });

  for (const [what, totalOf] of [
    ['that of one page', (rows: number) => rows],
    ['capped', () => 4],
  ] as const)
    it(`takes all that it meets, proves nothing and names the setting where the total is ${what}`, async () => {
      const list = [0, 1, 2, 3, 4, 5, 6].map(invoiceOf);
      const { result } = await pulledFrom(
        (_, asked) => {
          const data = list.slice((asked - 1) * 2, asked * 2);
          return JSON.stringify({ data, total: totalOf(data.length) });
        },
        { invoices: { pageSize: 2 } },
      );
      expect(result).to.include({ outcome: 'unproven', passes: 2, unpaid: 7 });
      expect(said(result.reason)).to.contain(
        'the total is smaller than the list. Check that invoices.paging.fields.total',
      );
    });

  const full = [0, 1, 2, 3].map(invoiceOf);
  for (const [what, behind] of [
    ['is empty', { data: [], total: 4 }],
    ['is empty and says 0', { data: [], total: 0 }],
    ['is empty and says no total', { data: [], total: null }],
    ['is not there', 404],
    ['has no content', 204],
    ['has null for a list', { data: null, total: 4 }],
    ['has no list', { page: 3, total: 4 }],
    ['repeats the last one', { data: full.slice(2), total: 4 }],
    ['is the last one, and says so', { data: full.slice(2), total: 4, page: 2 }],
  ] as const)
    it(`proves a list whose last page is full and the page behind it ${what}, at one request more for each reading`, async () => {
      const { result, pages } = await pulledFrom(
        (_, asked) => {
          if (asked > 2) return typeof behind === 'number' ? behind : JSON.stringify(behind);
          return JSON.stringify({ data: full.slice((asked - 1) * 2, asked * 2), total: 4, page: asked });
        },
        { invoices: { pageSize: 2 } },
      );
      expect(result).to.include({ outcome: 'proven', unpaid: 4, reason: null });
      expect(pages).to.equal(6);
    });

  for (const [what, none] of [
    ['null', { data: null, total: 0 }],
    ['no list', { page: 1, total: 0 }],
  ] as const)
    it(`takes a list for empty where the service writes ${what} beside a total of 0`, async () => {
      const lab = await start(3);
      await lab.pull();
      lab.sandbox.setFaults([
        { kind: 'status', status: 200, body: none, match: { path: { regex: '/v2/invoices[?]' } } },
      ]);
      expect(await lab.pull()).to.deep.include({ outcome: 'proven', unpaid: 0, unlisted: 3 });
    });

  it('reads on where a page that counts only its own rows names a next one, and names the setting', async () => {
    const list = [0, 1, 2, 3, 4, 5, 6].map(invoiceOf);
    const { result } = await pulledFrom(
      (_, asked) => {
        const data = list.slice((asked - 1) * 3, asked * 3);
        return JSON.stringify({ data, total: data.length, has_more: asked < 3 });
      },
      { invoices: { pageSize: 100 } },
    );
    expect(result).to.include({ outcome: 'unproven', unpaid: 7 });
    expect(said(result.reason)).to.contain('the total is smaller than the list');
  });

  it('proves nothing by the first page of a service that knows cursors alone', async () => {
    const { result } = await pulledFrom(() => JSON.stringify({ data: [0, 1].map(invoiceOf), total: 2, next: 'abc' }), {
      invoices: { pageSize: 100 },
    });
    expect(result).to.include({ outcome: 'unproven', unpaid: 2 });
    expect(said(result.reason)).to.match(
      /^page \d says that another one follows, and asking for it brought nothing new/,
    );
  });

  it('takes what it met and proves nothing where the page behind a full last one is refused', async () => {
    const { result, pages } = await pulledFrom(
      (_, asked) =>
        asked > 2 ? 400 : JSON.stringify({ data: full.slice((asked - 1) * 2, asked * 2), total: 4, page: asked }),
      { invoices: { pageSize: 2 } },
    );
    expect(result).to.include({ outcome: 'unproven', unpaid: 4, passes: 2 });
    expect(said(result.reason)).to.match(
      /^page 3 of unpaid could not be read: HTTP 400.*only a page without invoices, or a 404/,
    );
    expect(pages).to.equal(6);
  });

  it('fails with its reason at a page that is nested too deep to be walked through', async () => {
    const nested = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    const { result } = await pulledFrom(() => `{"data":[{"a":${nested}}],"total":1}`, {});
    expect(result.outcome).to.equal('failed');
    expect(said(result.reason)).to.contain('page 1 of unpaid could not be read').and.to.contain('nested too deep');
  });

  it('puts no secret on record that whoever gives tokens echoes', async () => {
    const clientSecret = 'canary+/&="secret';
    const server = http.createServer((request, response) => {
      let asked = '';
      request.on('data', (chunk) => {
        asked += chunk;
      });
      request.on('end', () => {
        const said = new URLSearchParams(asked).get('client_secret');
        response.writeHead(401, { 'Content-Type': 'application/json' });
        response.end(JSON.stringify({ error: 'invalid_client', error_description: `${asked} (${said})` }));
      });
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    try {
      const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const credential = {
        kind: 'oauth',
        tokenUrl: `${baseUrl}/token`,
        clientId: 'waybill',
        clientSecret,
        authentication: 'post',
      };
      const lab = (await kit.start({ customers: 1, orders: 1 })).another({
        settings: { service: { baseUrl, token: undefined, credential } },
      });
      expect((await lab.pull()).outcome).to.equal('failed');
      expect((await pausesOf(kit)).map(({ cause }) => cause)).to.deep.equal(['credential']);
      for (const table of ['lane_pause', 'attempt', 'audit_log', 'invoice_pull'])
        expect(JSON.stringify(await kit.rows(`SELECT * FROM ${table}`)), table).to.not.include('canary');
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});
