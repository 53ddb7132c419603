import { expect } from 'chai';
import fc from 'fast-check';
import { alertChanges } from '../../../src/daemon/watch-alerts.js';
import { listHeldInvoices } from '../../../src/inbound/invoices/list-invoices.js';
import { unprovenSince } from '../../../src/inbound/invoices/pull-record.js';
import { confirmDrop, dropHold } from '../../../src/inbound/invoices/safety-limit.js';
import { endPulled } from '../../../src/inbound/webhooks/read-announced.js';
import { insertEvent } from '../../../src/inbound/webhooks/webhook-rows.js';
import { openAlerts } from '../../../src/store/alerts.js';
import { tell } from '../../../src/words/words.js';
import { alertsInWords } from '../../support/alerts.js';
import { type LabOptions, onAnyLab, withServiceLease } from '../../support/jobs/job-lab.js';
import { toldRows } from '../../support/told-rows.js';

describe('dropHold', () => {
  const limits = { maxDrops: 10, maxDropShare: 0.5 };

  it('holds what is more than maxDrops and more than maxDropShare, and says how many', () => {
    expect(dropHold({ leaving: 10, listed: 10 }, limits)).to.equal(null);
    expect(dropHold({ leaving: 11, listed: 22 }, limits)).to.equal(null);
    const held = dropHold({ leaving: 11, listed: 21 }, limits);
    expect(held && tell(held)).to.equal(
      '11 of 21 listed invoices would leave the list at once, more than invoices.maxDrops (10) and invoices.maxDropShare (0.5) allow',
    );
    expect(dropHold({ leaving: 29, listed: 100 }, { maxDrops: 0, maxDropShare: 0.29 })).to.equal(null);
  });

  it('holds nothing where nothing leaves, or a share of 1 is allowed', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.nat(), fc.double({ min: 0, max: 1, noNaN: true }), (a, b, maxDrops, share) => {
        const drop = { leaving: Math.min(a, b), listed: Math.max(a, b) };
        expect(dropHold(drop, { maxDrops, maxDropShare: 1 })).to.equal(null);
        expect(dropHold({ ...drop, leaving: 0 }, { maxDrops, maxDropShare: share })).to.equal(null);
      }),
    );
  });
});

onAnyLab('a drop of many invoices at once', (kit) => {
  const number = (amount: number) => `INV-${String(amount).padStart(6, '0')}`;
  const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1);

  /** A service with 30 unpaid invoices, all of them on our list. */
  const start = async (settings: NonNullable<LabOptions['settings']> = {}) => {
    const lab = await kit.start({ customers: 1, orders: 1, settings });
    lab.sandbox.addInvoices(upTo(30).map((amount) => ({ amount, customer_code: `K${amount % 3}` })));
    await lab.pull();
    const show = (body?: object) =>
      lab.sandbox.setFaults(
        body ? [{ kind: 'status', status: 200, body, match: { method: 'GET', path: '/v2/invoices' } } as never] : [],
      );
    const pay = (...amounts: number[]) => {
      for (const amount of amounts) lab.sandbox.payInvoice(number(amount));
    };
    return { lab, pay, show, showNothing: () => show({ data: [], total: 0 }), showAll: () => show() };
  };
  const listed = async () =>
    (await kit.rows('SELECT amount FROM invoice WHERE unlisted_at IS NULL ORDER BY amount')).map((row) => row.amount);
  const held = () => kit.store.read('look', (tx) => listHeldInvoices(tx, 100));
  const alerts = () => alertsInWords(kit, "open_cause='held.invoices'");

  it('ends the events that asked for a pull: the next one is that of the schedule, not another one for them', async () => {
    const { lab, showNothing } = await start();
    showNothing();
    await kit.store.transaction('an event', (tx) =>
      insertEvent(tx, { id: 'e1', type: 'invoice.paid', about: 'invoice', subject: null }, Date.now() - 1),
    );
    const since = Date.now();
    expect((await lab.pull()).outcome).to.equal('held');
    expect(await withServiceLease(lab.context, (lease) => endPulled(lab.context, lease, since))).to.equal(true);
    const [event] = toldRows(await kit.rows('SELECT state, outcome_code, outcome_data FROM webhook_event'));
    expect(event).to.deep.include({ state: 'done' });
    expect(event?.outcome).to.match(/^the list was pulled \(pull \d+\), and the safety limit holds it$/);
  });

  it('waits for a person: the list stays whole, with an alert that says how many and which, until the service shows it again', async () => {
    const { lab, showNothing, showAll } = await start();
    showNothing();
    lab.sandbox.addInvoices([{ amount: 31 }]);
    for (let nth = 0; nth < 2; nth++)
      expect(await lab.pull()).to.deep.include({ outcome: 'held', unlisted: 0, leaving: 30 });
    expect(await listed()).to.deep.equal(upTo(30));
    const [alert, ...others] = await alerts();
    expect(others).to.deep.equal([]);
    expect(alert?.message).to.match(/^30 of 30 listed invoices would leave the list at once, .*maxDropShare/);
    expect(alert?.message).to.include(`${number(1)}, ${number(2)}, ${number(3)}, …`);
    expect(alert?.message).to.include('`waybill confirm invoices`');
    const outcomes = (await kit.rows('SELECT outcome FROM invoice_pull ORDER BY id')).map(({ outcome }) => outcome);
    expect(outcomes).to.deep.equal(['proven', 'held', 'held']);
    const changes = await kit.store.read('look', async (tx) =>
      alertChanges(tx, lab.settings, Date.now(), await openAlerts(tx)),
    );
    expect(changes?.end ?? []).to.not.include('held.invoices');
    expect(await kit.store.read('look', unprovenSince)).to.be.a('number');
    showAll();
    expect(await lab.pull()).to.deep.include({ outcome: 'proven', unlisted: 0, added: 1, leaving: 0 });
    expect(await listed()).to.deep.equal(upTo(31));
    expect(await alerts()).to.deep.equal([]);
    expect((await held()).count).to.equal(0);
  });

  it('swaps in nothing of a list that is held, neither what is new nor what changed', async () => {
    const { lab, showAll } = await start();
    const other = { invoice_no: 'OTHER-1', customer_code: 'K1', amount: 7, due_date: '2026-12-01', status: 'unpaid' };
    const data = [other, { ...other, invoice_no: number(1), amount: 99 }, { ...other, invoice_no: 'BAD', amount: 'x' }];
    lab.sandbox.setFaults([
      {
        kind: 'status',
        status: 200,
        body: { data, total: 3 },
        match: { method: 'GET', path: '/v2/invoices' },
      } as never,
    ]);
    expect(await lab.pull()).to.deep.include({ outcome: 'held', leaving: 29, added: 0, changed: 0 });
    expect(await listed()).to.deep.equal(upTo(30));
    expect(await kit.rows('SELECT row_key FROM invoice_malformed')).to.deep.equal([]);
    // An invoice that it met has not left.
    expect((await held()).rows.map(({ invoice_no }) => invoice_no)).to.not.include(number(1));
    showAll();
  });

  it('goes when a person confirms it, exactly as it was shown: what is met again stays, and what is missing since is judged anew', async () => {
    const { lab, pay } = await start();
    lab.sandbox.removeInvoice(number(5));
    pay(...upTo(20).filter((amount) => amount !== 5));
    expect(await lab.pull()).to.deep.include({ outcome: 'held', leaving: 20 });
    const shown = (await held()).rows.map(({ invoice_no }) => invoice_no);
    expect(shown).to.deep.equal(upTo(20).map(number));
    lab.sandbox.addInvoices([{ invoice_no: number(5), amount: 5 }]);
    pay(...upTo(30).slice(20, 29));
    expect(await lab.pull()).to.deep.include({ outcome: 'held', leaving: 28 });
    lab.context.store.writeBackKinds = new Set(['invoices']);
    expect(await confirmDrop(lab.context, shown, 'paid by direct debit')).to.equal(19);
    lab.context.store.writeBackKinds = new Set();
    expect(await kit.rows("SELECT id FROM write_back_due WHERE kind='invoices'")).to.have.length(19);
    expect(await listed()).to.deep.equal([5, ...upTo(30).slice(20)]);
    expect(await alerts()).to.have.length(1);
    const [line] = await kit.rows("SELECT outcome, detail FROM audit_log WHERE event='operator'");
    expect([line.outcome, JSON.parse(line.detail)]).to.deep.equal([
      'confirm_drop',
      { reason: 'paid by direct debit', invoices: 19 },
    ]);
    // Nine of eleven are no more than maxDrops, but they were held.
    const kept = await lab.pull();
    expect(kept).to.deep.include({ outcome: 'unproven', unlisted: 0, leaving: 9 });
    expect(kept.reason).to.deep.equal({ code: 'invoices_wait_for_person', count: 9 });
    expect((await alerts())[0]?.message).to.match(/^9 invoices that were held are missing still, and stay listed: INV/);
    const since = (await held()).rows.map(({ invoice_no }) => invoice_no);
    expect(await confirmDrop(lab.context, since, 'paid as well')).to.equal(9);
    expect(await lab.pull()).to.deep.include({ outcome: 'proven', unlisted: 0 });
    expect(await listed()).to.deep.equal([5, 30]);
    expect(await alerts()).to.deep.equal([]);
  });

  it('shrinks by itself where the service says of each invoice that it is paid, and not where it knows none of them', async () => {
    const readInvoice = { path: '/v2/invoices/{invoice_no}' };
    const settings = { service: { endpoints: { readInvoice } }, invoices: { readsPerPull: 10 } };
    const { lab, pay } = await start(settings);
    pay(...upTo(30));
    expect(await lab.pull()).to.deep.include({ outcome: 'held', unlisted: 10, leaving: 20 });
    expect(await lab.pull()).to.deep.include({ outcome: 'unproven', unlisted: 10, leaving: 10 });
    expect(await lab.pull()).to.deep.include({ outcome: 'proven', unlisted: 10, leaving: 0 });
    expect(await alerts()).to.deep.equal([]);

    lab.sandbox.addInvoices(upTo(30).map((amount) => ({ amount: amount + 100 })));
    await lab.pull();
    for (const row of await kit.rows('SELECT invoice_no FROM invoice WHERE unlisted_at IS NULL'))
      lab.sandbox.removeInvoice(row.invoice_no);
    for (let nth = 0; nth < 3; nth++)
      expect(await lab.pull()).to.deep.include({ outcome: 'held', unlisted: 0, leaving: 30 });
  });

  it('stays held through a pull that proves nothing, but for what that one meets', async () => {
    const { lab, showAll, showNothing } = await start({ invoices: { maxPasses: 2 } });
    showNothing();
    await lab.pull();
    showAll();
    lab.sandbox.removeInvoice(number(1));
    let next = 50;
    const busy = { onProgress: () => void lab.sandbox.addInvoices([{ amount: next++ }]) };
    expect(await lab.pull(busy)).to.deep.include({ outcome: 'unproven', unlisted: 0 });
    expect((await held()).rows.map(({ invoice_no }) => invoice_no)).to.deep.equal([number(1)]);
    expect(await alerts()).to.have.length(1);
    expect(await lab.pull()).to.deep.include({ outcome: 'unproven', unlisted: 0, leaving: 1 });
  });

  it('keeps what is missing still while the service shows its invoices again bit by bit, and swaps in the rest', async () => {
    const { lab, show } = await start();
    const invoice = (invoice_no: string, amount: number) => {
      return { invoice_no, amount, customer_code: 'K1', due_date: '2026-12-01', status: 'unpaid' };
    };
    show({ data: [], total: 0 });
    expect(await lab.pull()).to.deep.include({ outcome: 'held', leaving: 30 });
    for (const count of [15, 22, 27]) {
      const data = [...upTo(count).map((amount) => invoice(number(amount), amount)), invoice('NEW', 1)];
      show({ data, total: count + 1 });
      expect(await lab.pull()).to.deep.include({ outcome: 'unproven', unlisted: 0, leaving: 30 - count });
      expect((await listed()).filter((amount) => amount > 1)).to.deep.equal(upTo(30).slice(1));
    }
    expect(await kit.rows("SELECT amount FROM invoice WHERE invoice_no='NEW'")).to.deep.equal([{ amount: 1 }]);
    show();
    expect(await lab.pull()).to.deep.include({ outcome: 'proven', leaving: 0 });
    expect(await alerts()).to.deep.equal([]);
  });
});
