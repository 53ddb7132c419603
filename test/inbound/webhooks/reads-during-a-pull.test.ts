import { expect } from 'chai';
import { type PullOptions, pull } from '../../../src/inbound/invoices/pull.js';
import { readAnnounced } from '../../../src/inbound/webhooks/read-announced.js';
import { insertEvent } from '../../../src/inbound/webhooks/webhook-rows.js';
import { type Lab, onAnyLab, withServiceLease } from '../../support/jobs/job-lab.js';
import { withMethod } from '../../support/jobs/with-method.js';
import { toldRows } from '../../support/told-rows.js';

onAnyLab('an invoice that is read because of an event while a pull is under way', (kit) => {
  const start = (invoices: object = {}) =>
    kit.start({
      customers: 1,
      orders: 1,
      sandbox: { maxPageSize: 1 },
      settings: {
        invoices,
        service: {
          endpoints: { readInvoice: { path: '/v2/invoices/{invoice_no}' } },
          limits: [{ requests: 1_000, perSeconds: 0.1 }],
        },
      },
    });
  let events = 0;

  /** Pulls, and does something between two of its transactions, before the nth one of that name. */
  async function pullWith(
    lab: Lab,
    [action, nth]: [string, number],
    act: (announce: (invoiceNo: string) => Promise<void>) => Promise<void>,
    options: PullOptions = {},
  ) {
    const { store } = lab.context;
    let met = 0;
    const transaction: typeof store.transaction = async (name, work) => {
      if (name === action && ++met === nth) await act(announce);
      return store.transaction(name, work);
    };
    const watched = { ...lab.context, store: withMethod(store, 'transaction', transaction) };
    let announce: (invoiceNo: string) => Promise<void>;
    return withServiceLease(watched, (lease) => {
      announce = async (subject: string) => {
        await store.transaction('an event', (tx) =>
          insertEvent(tx, { id: `e${++events}`, type: 't', about: 'invoice', subject }, Date.now()),
        );
        expect((await readAnnounced(lab.context, lab.client, lease)).read).to.equal(1);
      };
      return pull(watched, lab.client, lease, options);
    });
  }
  const intend = 'put an attempt on record';
  const listed = async () =>
    (await kit.rows('SELECT invoice_no FROM invoice WHERE unlisted_at IS NULL ORDER BY invoice_no')).map(
      (row) => row.invoice_no,
    );

  for (const [where, at] of [
    ['before its page is read', [intend, 2]],
    ['between two readings', [intend, 4]],
    ['after the last page', ['end a pull', 1]],
  ] as const)
    it(`and has left, ${where}, is not listed by that pull, though nobody knew it before`, async () => {
      const lab = await start({ maxPasses: 2 });
      lab.sandbox.addInvoices(['I-1', 'I-2'].map((invoice_no) => ({ invoice_no, amount: 100 })));
      const old = { data: [{ invoice_no: 'I-2', amount: 100, due_date: '2026-12-01', status: 'unpaid' }], total: 2 };
      await pullWith(lab, [...at], async (announce) => {
        lab.sandbox.payInvoice('I-2');
        await announce('I-2');
        // A page that was made before and comes afterwards.
        lab.sandbox.setFaults([
          { kind: 'status', status: 200, body: old, times: 1, match: { path: { regex: 'page=2' } } },
        ]);
      });
      expect(await kit.rows('SELECT invoice_no FROM invoice')).to.deep.equal([{ invoice_no: 'I-1' }]);
    });

  it('and is paid afterwards, leaves by the proof, or by the question of that pull', async () => {
    for (const readsPerPull of [50, 0]) {
      const lab = await start({ readsPerPull });
      lab.sandbox.addInvoices([{ invoice_no: 'I-1', amount: 100 }]);
      await lab.pull();
      const result = await pullWith(lab, [intend, 1], async (announce) => {
        await announce('I-1');
        lab.sandbox.payInvoice('I-1');
        lab.sandbox.addInvoices([{ invoice_no: 'I-2', amount: 100 }]);
      });
      expect(result).to.deep.include({ outcome: 'proven', unlisted: 1, asked: readsPerPull === 0 ? 0 : 1 });
      expect(await listed()).to.deep.equal(['I-2']);
      await kit.store.transaction('begin anew', (tx) => tx.run('DELETE FROM invoice'));
      await lab.sandbox.close();
    }
  });

  it('and came after the moment that the pull proves, stays', async () => {
    const lab = await start();
    lab.sandbox.addInvoices(['I-1', 'I-2'].map((invoice_no) => ({ invoice_no, amount: 100 })));
    const result = await pullWith(lab, [intend, 4], async (announce) => {
      lab.sandbox.addInvoices([{ invoice_no: 'I-3', amount: 100 }]);
      await announce('I-3');
    });
    expect(result.outcome).to.equal('proven');
    expect(await listed()).to.deep.equal(['I-1', 'I-2', 'I-3']);
  });

  it('and is taken off by the pull, is said to be paid when the service says so later', async () => {
    const lab = await start({ readsPerPull: 0 });
    lab.sandbox.addInvoices([{ invoice_no: 'I-1', amount: 100 }]);
    await lab.pull();
    lab.sandbox.payInvoice('I-1');
    await lab.pull();
    const left = () => kit.rows('SELECT left_status, last_listed_at>unlisted_at AS later FROM invoice');
    expect((await left())[0].left_status).to.equal(null);
    await pullWith(lab, [intend, 1], (announce) => announce('I-1'));
    expect(await left()).to.deep.equal([{ left_status: 'paid', later: 1 }]);
    expect(toldRows(await kit.rows('SELECT outcome_code, outcome_data FROM webhook_event'))[0]?.outcome).to.equal(
      'it had left already: paid',
    );
  });
});
