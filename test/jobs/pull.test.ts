import { expect } from 'chai';
import type { PullOptions } from '../../src/jobs/pull.js';
import { pauseLane } from '../../src/store/lane-pauses.js';
import { acquireLease, LeaseLost } from '../../src/store/lease.js';
import { waitFor } from '../support/wait-for.js';
import { type Lab, type LabOptions, onBothLabs } from './job-lab.js';
import { pausesOf } from './service-of.js';

onBothLabs('pull', (kit) => {
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
  const lastPull = async () => (await kit.rows('SELECT * FROM invoice_pull ORDER BY id DESC LIMIT 1'))[0];
  /** Something that happens at the service after the nth page. */
  const afterPage = (nth: number, act: () => void): PullOptions => {
    let pages = 0;
    return { onProgress: () => (++pages === nth ? act() : undefined) };
  };

  it('reads every page, however small the service makes them, and writes down what it read', async () => {
    const lab = await start(23, { sandbox: { maxPageSize: 5 } });
    const result = await lab.pull();
    expect(result).to.deep.include({
      outcome: 'complete',
      pages: 5,
      unpaid: 23,
      added: 23,
      malformed: 0,
      reason: null,
    });
    expect(await listed()).to.deep.equal(Array.from({ length: 23 }, (_, i) => i + 1));
    expect(await lastPull()).to.deep.include({
      outcome: 'complete',
      pages: 5,
      listed: 23,
      service_total: 23,
      added: 23,
    });
    const attempts = await kit.rows('SELECT purpose, status, verdict FROM attempt');
    expect(attempts).to.have.length(5);
    expect(attempts[0]).to.deep.equal({ purpose: 'list_invoices', status: 200, verdict: 'read' });
    expect((await kit.rows("SELECT outcome FROM audit_log WHERE event='pull'"))[0]).to.deep.equal({
      outcome: 'complete',
    });
    expect(lab.sandbox.ledger().requests.map(({ path }) => path)).to.deep.equal(
      [1, 2, 3, 4, 5].map((page) => `/v2/invoices?status=unpaid&limit=100&page=${page}`),
    );

    const again = await lab.pull();
    expect(again).to.deep.include({ outcome: 'complete', added: 0, changed: 0, unlisted: 0 });
  });

  it('takes an empty list for what it is', async () => {
    const lab = await start(3);
    await lab.pull();
    for (const { invoice_no: no } of await kit.rows('SELECT invoice_no FROM invoice')) lab.sandbox.payInvoice(no);
    expect(await lab.pull()).to.deep.include({ outcome: 'complete', pages: 1, unpaid: 0, unlisted: 3 });
    expect(await listed()).to.deep.equal([]);
    expect(await kit.rows('SELECT COUNT(*) AS n FROM invoice WHERE unlisted_at IS NOT NULL')).to.deep.equal([{ n: 3 }]);
  });

  it('sets a malformed invoice aside and takes the others, credit notes among them', async () => {
    const lab = await start(4, { sandbox: { maxPageSize: 2 } });
    lab.sandbox.addInvoices([{ amount: 1.5 }, { amount: -700 }, { amount: 5, due_date: 'soon' }]);
    expect(await lab.pull()).to.deep.include({ outcome: 'incomplete', unpaid: 5, malformed: 2, pages: 4 });
    expect(await listed()).to.deep.equal([1, 2, 3, 4, -700]);
  });

  it('begins anew when the list changes between two pages', async () => {
    const lab = await start(6, { sandbox: { maxPageSize: 2 } });
    const paid = () => lab.sandbox.payInvoice('INV-000001');
    expect(await lab.pull(afterPage(1, paid))).to.deep.include({ outcome: 'complete', unpaid: 5, pages: 3 });
    expect(await listed()).to.deep.equal([2, 3, 4, 5, 6]);
  });

  it('fails and keeps the old list when the list never holds still', async () => {
    const lab = await start(6, { sandbox: { maxPageSize: 2 } });
    await lab.pull();
    const result = await lab.pull({ onProgress: () => void lab.sandbox.addInvoices([{ amount: 99 }]) });
    expect(result.outcome).to.equal('failed');
    expect(result.reason).to.match(/the list changed while it was read: its total was \d+ and is \d+ on page 2/);
    expect(await listed()).to.deep.equal([1, 2, 3, 4, 5, 6]);
    expect((await lastPull()).outcome).to.equal('failed');
  });

  it('fails and keeps the old list when a page is empty before all were seen', async () => {
    const lab = await start(3);
    await lab.pull();
    lab.sandbox.setFaults([
      { kind: 'status', status: 200, body: { data: [], total: 3 }, match: { path: '/v2/invoices' } },
    ]);
    const result = await lab.pull();
    expect(result).to.deep.include({ outcome: 'failed' });
    expect(result.reason).to.contain('page 1 is empty after 0 of 3 invoices');
    expect(await listed()).to.deep.equal([1, 2, 3]);
  });

  it('asks again for a page that fails once, and puts each request on record', async () => {
    const lab = await start(4, { sandbox: { maxPageSize: 2 } });
    lab.sandbox.setFaults([{ kind: 'status', status: 503, times: 1, match: { path: { regex: 'page=2' } } }]);
    expect(await lab.pull()).to.deep.include({ outcome: 'complete', unpaid: 4 });
    const attempts = await kit.rows('SELECT number, verdict FROM attempt ORDER BY id');
    expect(attempts).to.deep.equal([
      { number: 1, verdict: 'read' },
      { number: 2, verdict: 'in_doubt' },
      { number: 3, verdict: 'read' },
    ]);
  });

  it('pauses for as long as a service says that is asked too often', async () => {
    const lab = await start(4, { sandbox: { maxPageSize: 2 } });
    lab.sandbox.setFaults([{ kind: 'status', status: 429, headers: { 'retry-after': '1' }, times: 1 }]);
    expect(await lab.pull()).to.deep.include({ outcome: 'complete', unpaid: 4 });
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
      expect(result.reason).to.match(reason);
      expect(lab.sandbox.counts().requests).to.equal(2);
      expect((await pausesOf(kit)).map(({ lane, cause }) => `${lane} ${cause}`)).to.deep.equal(pauses);
      expect(await listed()).to.deep.equal([1, 2, 3]);
    });
  }

  it('stops before its next page at an operator’s pause', async () => {
    const lab = await start(6, { sandbox: { maxPageSize: 2, delayAfterMs: 30 } });
    const operator = await kit.neighbour();
    const running = lab.pull();
    await waitFor('the first page', () => lab.sandbox.counts().requests > 0);
    await operator.transaction('pause', (tx) =>
      pauseLane(tx, { lane: 'pull', cause: 'operator', until_at: null, reason: 'year end', actor: 'x', since_at: 1 }),
    );
    const requests = lab.sandbox.counts().requests;
    const result = await running;
    expect(result).to.deep.include({ outcome: 'failed' });
    expect(result.reason).to.contain('year end');
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
    const neighbour = await kit.neighbour();
    const running = lab.pull().then(
      () => null,
      (error: unknown) => error,
    );
    await waitFor('the first page', () => lab.sandbox.counts().requests > 0);
    await neighbour.transaction('let time pass', (tx) => tx.run("UPDATE lease SET expires_at=1 WHERE name='service'"));
    expect((await acquireLease(neighbour, 'service', 'the successor', 60_000)).held).to.equal(true);
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
        expect((await acquireLease(store, 'service', 'the successor', 60_000)).held).to.equal(true);
      }
      return store.transaction(action, work);
    };
    lab.context.store = new Proxy(store, {
      get: (target, name) => {
        if (name === 'transaction') return transaction;
        const value = Reflect.get(target, name) as unknown;
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const failure = await lab.pull().then(
      () => null,
      (error: unknown) => error,
    );
    expect(failure).to.be.instanceOf(LeaseLost);
    expect(await kit.rows('SELECT * FROM invoice')).to.deep.equal([]);
  });

  it('does not shorten a pause that a send was told of while a page was under way, where its own answer names no time', async () => {
    const lab = await start(6);
    lab.sandbox.setFaults([{ kind: 'status', status: 429, headers: { 'retry-after': '0' } }]);
    const { store } = lab.context;
    const hours = 4 * 3_600_000;
    const until = Date.now() + hours;
    const transaction: typeof store.transaction = (action, work) =>
      store.transaction(action, async (tx) => {
        if (action === 'put a page on record')
          await pauseLane(tx, {
            lane: 'service',
            cause: 'throttled',
            until_at: until,
            reason: 'four hours',
            actor: 'a send',
            since_at: 1,
          });
        return work(tx);
      });
    lab.context.store = new Proxy(store, {
      get: (target, name) => {
        if (name === 'transaction') return transaction;
        const value = Reflect.get(target, name) as unknown;
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    expect((await lab.pull()).outcome).to.equal('failed');
    expect((await pausesOf(kit)).map(({ until_at }) => Number(until_at))).to.deep.equal([until]);
  });
});
