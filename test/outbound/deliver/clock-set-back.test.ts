import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import {
  dueRefusals,
  isWaitOver,
  refusalRetryMs,
  saveWritten,
} from '../../../src/inbound/write-back/write-back-state.js';
import { legacy } from '../../../src/model/facts/fact.js';
import { Claims } from '../../../src/outbound/deliver/claims.js';
import { followClock } from '../../../src/outbound/deliver/clock-trace.js';
import { deliver } from '../../../src/outbound/deliver/deliver.js';
import { DeliveryTally } from '../../../src/outbound/deliver/delivery-tally.js';
import { recallAnswers, recallRequests } from '../../../src/outbound/deliver/lane-keeper.js';
import { noteEnds } from '../../../src/outbound/outbox/transitions.js';
import { readClock } from '../../../src/store/clock.js';
import { insertSampleOrder } from '../../support/change-sample-erp.js';
import { type Lab, onAnyLab, withServiceLease } from '../../support/jobs/job-lab.js';
import { expectAllAtService } from '../../support/jobs/service-of.js';
import { withMethod } from '../../support/jobs/with-method.js';
import { sandboxLookUps } from '../../support/sandbox-look-ups.js';

const hourMs = 3_600_000;

onAnyLab('a clock that ran ahead and is set right', (kit) => {
  /** The steps while the clock shows a time of three days from now. */
  const threeDaysAhead = async (lab: Lab, work: () => Promise<unknown>) => {
    lab.context.nowMs = () => Date.now() + 72 * hourMs;
    await work();
    lab.context.nowMs = Date.now;
  };
  const lostAnswer = { kind: 'reset-after-commit', match: { method: 'POST', path: '/v1/orders' } } as const;
  const orders = (columns: string) => kit.rows(`SELECT ${columns} FROM outbox_message WHERE entity='order'`);

  it('is no proof that the service remembers a key: what is in doubt waits for a person', async () => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    lab.sandbox.setFaults([lostAnswer]);
    await threeDaysAhead(lab, async () => {
      await lab.capture({ sweep: true });
      await lab.deliver({ retryHorizonMs: 0 });
    });
    expect(await orders('state')).to.deep.equal([{ state: 'in_doubt' }]);
    lab.sandbox.clearFaults();
    lab.sandbox.forgetKeys();

    expect((await lab.deliver()).parked).to.equal(1);
    expect(await orders('state, park_class')).to.deep.equal([{ state: 'parked', park_class: 'unproven' }]);
    // Not when the time has come that it was sent at, either.
    await threeDaysAhead(lab, () => lab.deliver());
    expect(lab.sandbox.counts()).to.include({ orders: 1, duplicateReferences: 0 });
    expect(lab.log.join('\n')).to.contain('The clock was set back');
  });

  it('is looked up instead, where the service can be asked', async () => {
    const lab = await kit.start({
      customers: 1,
      orders: 1,
      settings: { service: { endpoints: sandboxLookUps } },
    });
    lab.sandbox.setFaults([lostAnswer]);
    await threeDaysAhead(lab, async () => {
      await lab.capture({ sweep: true });
      await lab.deliver({ retryHorizonMs: 0 });
    });
    lab.sandbox.clearFaults();
    lab.sandbox.forgetKeys();
    await lab.deliver();
    expect(await orders('state')).to.deep.equal([{ state: 'delivered' }]);
    expect(lab.sandbox.counts()).to.include({ orders: 1, duplicateReferences: 0 });
  });

  it('does not make an order wait for its lines any longer', async () => {
    const lab = await kit.start({ settings: { orders: { settleSeconds: 3600, total: undefined } } });
    await lab.capture();
    await insertSampleOrder(lab.erp);
    await threeDaysAhead(lab, async () => expect((await lab.capture()).waiting).to.equal(1));
    expect((await lab.capture()).waiting).to.equal(1);
    lab.context.nowMs = () => Date.now() + 1.1 * hourMs;
    expect((await lab.capture()).captured.orders).to.equal(1);
  });

  it('does not put off rows that the ERP refused', async () => {
    await kit.start({ customers: 1, orders: 1 });
    const now = Date.now();
    const row = (recordKey: string, nextTryAt: number) => ({
      recordKey,
      contentHash: '0',
      refusal: legacy('no'),
      nextTryAt,
    });
    const due = await kit.store.transaction('refused rows', async (tx) => {
      const rows = [row('ahead', now + 72 * hourMs), row('waits', now + refusalRetryMs), row('due', now)];
      await saveWritten(tx, 'orders', rows);
      return dueRefusals(tx, 'orders', now, 10);
    });
    expect(due).to.deep.equal(['due', 'ahead']);
    expect(isWaitOver(now + 72 * hourMs, now, refusalRetryMs)).to.equal(true);
    expect(isWaitOver(now + refusalRetryMs, now, refusalRetryMs)).to.equal(false);
  });

  it('is not waited for: what was captured goes out, and the next pass sweeps', async () => {
    const lab = await kit.start({ customers: 2, orders: 3 });
    await threeDaysAhead(lab, () => lab.capture({ sweep: true }));
    await lab.deliver();
    await expectAllAtService(lab);

    await lab.capture();
    const swept = await kit.rows('SELECT swept_at FROM capture_cursor');
    expect(swept).to.have.length(2);
    for (const { swept_at } of swept) expect(Number(swept_at)).to.be.within(1, Date.now());
  });
});

onAnyLab('a clock that is set while the machine runs', (kit) => {
  /** Real hours since the beginning, and by how many the clock on the wall is wrong. */
  const setClock = (lab: Lab, time: { hours: number; wrong: number }) => {
    lab.context.nowMs = () => Date.now() + (time.hours + time.wrong) * hourMs;
    const { clock } = lab.context;
    const sinceBoot = () => ({ bootId: 'one', bootMs: Date.now() + time.hours * hourMs });
    lab.context.clock = { ...clock, sinceBoot };
  };
  const resume = () => kit.store.transaction('end pauses', (tx) => tx.run('DELETE FROM lane_pause'));

  it('is followed once more when the store lost what following it wrote', async () => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    const time = { hours: 0, wrong: 0 };
    setClock(lab, time);
    await withServiceLease(lab.context, async (lease) => {
      const failing = withMethod(lease, 'write', async (action, work) => {
        await lease.write(action, work);
        throw new Error('the commit was lost');
      });
      const claims = new Claims(lab.context, failing, new DeliveryTally(lab.context.log), lab.reader);
      time.wrong = 1;
      expect(claims.isClockSet).to.equal(true);
      await claims.parkForgotten().catch((error: Error) => expect(error.message).to.equal('the commit was lost'));
      expect(claims.isClockSet).to.equal(true);
    });
  });

  for (const isUnderWay of [false, true])
    it(`makes no key look older, either, when it is set back ${isUnderWay ? 'while a request is under way' : 'before a request leaves'}`, async () => {
      const lab = await kit.start({
        customers: 1,
        orders: 1,
        settings: { service: { idempotency: { lifetimeHours: 1 } } },
      });
      const time = { hours: 0, wrong: 2 };
      setClock(lab, time);
      await lab.capture({ sweep: true });
      lab.sandbox.setFaults([{ kind: 'reset-after-commit', match: { method: 'POST', path: '/v1/orders' }, times: 1 }]);
      const client = withMethod(lab.client, 'send', async (message) => {
        if (!isUnderWay && message.entity === 'order') time.wrong = 0;
        const sent = await lab.client.send(message);
        if (!isUnderWay || message.entity === 'customer') return sent;
        time.wrong = 0;
        // As the claim of another message does.
        await kit.store.transaction('follow the clock', (tx) => followClock(tx, lab.context));
        return sent;
      });
      const options = { untilDrained: true, scope: { only: null }, retryHorizonMs: 20_000, trial: false };
      await withServiceLease(lab.context, (lease) =>
        deliver(lab.context, client, lease, { ...options, erp: lab.reader }),
      );
      expect(
        await kit.rows("SELECT state, flag_code, flag_data, park_class FROM outbox_message WHERE entity='order'"),
      ).to.deep.equal([{ state: 'delivered', flag: null, park_class: null }]);
      expect(await kit.rows("SELECT purpose FROM attempt WHERE verdict='in_doubt'")).to.have.length(1);
      expect(lab.sandbox.counts()).to.include({ orders: 1, duplicateReferences: 0 });
    });

  for (const wrong of [-3, 3])
    it(`moves the end of a last request as far as it is set ${wrong < 0 ? 'back' : 'forward'}, by what it shows, and nothing else of it`, async () => {
      const lab = await kit.start({ customers: 1, orders: 1 });
      const time = { hours: 0, wrong: 0 };
      setClock(lab, time);
      await lab.capture({ sweep: true });
      await kit.store.transaction('follow the clock', (tx) => followClock(tx, lab.context));
      const ids = (await kit.rows('SELECT id FROM outbox_message')).map(({ id }) => id);
      const before = readClock(lab.context);
      await kit.store.transaction('note', (tx) => noteEnds(tx, ids, before));
      time.wrong = wrong;
      await kit.store.transaction('follow the clock', (tx) => followClock(tx, lab.context));
      const [row] = await kit.rows('SELECT ended_at, ended_boot_id, ended_boot_ms FROM outbox_message');
      expect(row).to.include({ ended_boot_id: 'one', ended_boot_ms: before.bootMs });
      expect(row.ended_at - before.wallMs).to.be.closeTo(wrong * hourMs, 60_000);
    });

  it('makes no key look younger that another node has moved back while a request is under way', async () => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    const sentAt = async () =>
      Number((await kit.rows("SELECT first_sent_at AS at FROM outbox_message WHERE entity='order'"))[0]?.at);
    lab.sandbox.setFaults([{ kind: 'reset-after-commit', match: { method: 'POST', path: '/v1/orders' } }]);
    await lab.capture({ sweep: true });
    await lab.deliver({ retryHorizonMs: 0 });
    const before = await sentAt();
    let sends = 0;
    const client = withMethod(lab.client, 'send', async (message) => {
      sends++;
      await kit.store.transaction('follow the clock of another node', (tx) =>
        tx.run("UPDATE outbox_message SET first_sent_at=first_sent_at-? WHERE entity='order'", [2 * hourMs]),
      );
      return lab.client.send(message);
    });
    await resume();
    await kit.store.transaction('make it due', (tx) =>
      tx.run('UPDATE outbox_message SET next_attempt_at=0 WHERE next_attempt_at IS NOT NULL'),
    );
    const options = { untilDrained: true, scope: { only: null }, retryHorizonMs: 0, trial: false };
    await withServiceLease(lab.context, (lease) =>
      deliver(lab.context, client, lease, { ...options, erp: lab.reader }),
    );
    expect(sends).to.be.greaterThan(0);
    expect(await sentAt()).to.equal(before - sends * 2 * hourMs);
  });

  it('makes no key look younger: the clock was two hours fast at the first send', async () => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    const time = { hours: 0, wrong: 2 };
    setClock(lab, time);
    const fault = (kind: 'reset-after-commit' | 'reset-before') =>
      lab.sandbox.setFaults([{ kind, match: { method: 'POST', path: '/v1/orders' } }]);
    fault('reset-after-commit');
    await lab.capture({ sweep: true });
    await lab.deliver({ retryHorizonMs: 0 });
    fault('reset-before');
    Object.assign(time, { hours: 23, wrong: 0 });
    await resume();
    await lab.deliver({ retryHorizonMs: 0 });
    const state = () => kit.rows("SELECT state, park_class FROM outbox_message WHERE entity='order'");
    expect(await state(), 'after 23 h the service remembers the key').to.deep.equal([
      { state: 'in_doubt', park_class: null },
    ]);
    lab.sandbox.clearFaults();
    lab.sandbox.forgetKeys();
    time.hours = 25;
    await resume();
    await lab.deliver();
    expect(await state()).to.deep.equal([{ state: 'parked', park_class: 'unproven' }]);
    expect(lab.sandbox.counts()).to.include({ orders: 1, duplicateReferences: 0 });
  });

  for (const [who, isRunning] of [
    ['a process that begins', false],
    ['a process that waits for it already', true],
  ] as const)
    it(`does not make ${who} wait for a service that was out of reach while it was two hours fast`, async () => {
      const delivery = { outageAfterFailures: 1, probeSeconds: 4 };
      const lab = await kit.start({ customers: 1, orders: 1, settings: { delivery } });
      const time = { hours: 0, wrong: 2 };
      setClock(lab, time);
      lab.sandbox.setFaults([{ kind: 'reset-before' }]);
      await lab.capture({ sweep: true });
      await lab.deliver({ retryHorizonMs: 0 });
      expect(await kit.rows('SELECT cause FROM lane_pause')).to.deep.equal([{ cause: 'outage' }]);
      lab.sandbox.clearFaults();
      const setRight = () => {
        time.wrong = 0;
      };
      if (isRunning) setTimeout(setRight, 1_500);
      else setRight();
      const delivered = lab.deliver({ retryHorizonMs: isRunning ? 3 * hourMs : 60_000 });
      await Promise.race([delivered, sleep(15_000, undefined, { ref: false })]);
      expect(await kit.rows('SELECT state FROM outbox_message')).to.deep.equal(Array(2).fill({ state: 'delivered' }));
    });

  it('makes no key look younger that was claimed while the clock was two hours fast', async () => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    const time = { hours: 0, wrong: 2 };
    setClock(lab, time);
    lab.sandbox.setFaults([{ kind: 'reset-after-commit', match: { method: 'POST', path: '/v1/orders' } }]);
    await lab.capture({ sweep: true });
    await lab.deliver({ retryHorizonMs: 0 });
    lab.sandbox.clearFaults();
    lab.sandbox.forgetKeys();
    time.hours = 23;
    await resume();
    // The process is frozen when it has claimed the order, and the clock is set right meanwhile.
    const { store } = lab.context;
    const { transaction } = store;
    store.transaction = async (action, work) => {
      const result = await transaction.call(store, action, work);
      if (action === 'claim messages') Object.assign(time, { hours: 25, wrong: 0 });
      return result as never;
    };
    await lab.deliver({ retryHorizonMs: 0 });
    store.transaction = transaction;
    await resume();
    await lab.deliver();
    expect(await kit.rows("SELECT state, park_class FROM outbox_message WHERE entity='order'")).to.deep.equal([
      { state: 'parked', park_class: 'unproven' },
    ]);
    expect(lab.sandbox.counts()).to.include({ orders: 1, duplicateReferences: 0 });
  });

  /** A process that begins at this time and delivers what the limits allow. */
  const pass = (lab: Lab) =>
    withServiceLease(lab.context, (lease) => recallRequests(lab.context, lab.client.rateLimiter, lease)).then(() =>
      lab.deliver({ retryHorizonMs: 0 }),
    );
  const burst = { requests: 1000, perSeconds: 0.1 };

  it('holds no limit used up for as long as the clock was fast', async () => {
    const limits = [burst, { requests: 7, perSeconds: 3600 }];
    const lab = await kit.start({ customers: 2, orders: 14, settings: { service: { limits } } });
    setClock(lab, { hours: 0, wrong: 72 });
    await lab.capture({ sweep: true });
    await pass(lab);
    const sent = () => lab.sandbox.counts().requests;
    expect(sent()).to.equal(7);
    for (const [hours, requests] of [
      [0, 7],
      [1.1, 14],
    ] as const) {
      const next = lab.another({ actor: `after-${hours}` });
      setClock(next, { hours, wrong: 0 });
      await resume();
      await pass(next);
      expect(sent(), `${hours} h after it was set right`).to.equal(requests);
    }
  });

  for (const [title, wrongs] of [
    ['forward and right again', [24, 0]],
    ['back and right again', [-24, 0]],
    ['forward and back twice', [24, 0, 24, 0]],
    ['forward, far back and right again', [1, -47, 0]],
  ] as const)
    it(`counts deliveries for a window, and not much longer, when it is set ${title}`, async () => {
      const limits = [burst, { requests: 7, perSeconds: 6 * 3600 }];
      const lab = await kit.start({ customers: 2, orders: 14, settings: { service: { limits } } });
      const time = { hours: 0, wrong: 0 };
      setClock(lab, time);
      await lab.capture({ sweep: true });
      await pass(lab);
      for (const wrong of wrongs) {
        Object.assign(time, { hours: time.hours + 0.1, wrong });
        await kit.store.transaction('follow the clock', (tx) => followClock(tx, lab.context));
      }
      const counted = () => kit.store.read('count', (tx) => recallAnswers(tx, lab.context));
      time.hours = 5.9;
      expect(await counted()).to.have.length(7);
      time.hours = 6.6;
      expect(await counted()).to.deep.equal([]);
    });

  for (const isUnderWay of [false, true])
    it(`does not free a limit of a day when it was slow${isUnderWay ? ', and is set while a request is under way' : ''}`, async () => {
      const limits = [burst, { requests: 7, perSeconds: 86_400 }];
      const lab = await kit.start({ customers: 2, orders: 14, settings: { service: { limits } } });
      const time = { hours: 0, wrong: -25 };
      setClock(lab, time);
      await lab.capture({ sweep: true });
      const { send } = lab.client;
      lab.client.send = async (message) => {
        const sent = await send.call(lab.client, message);
        if (isUnderWay) time.wrong = 0;
        return sent;
      };
      await pass(lab);
      expect(lab.sandbox.counts().requests).to.equal(7);
      const next = lab.another({ actor: 'after' });
      setClock(next, { hours: 0, wrong: 0 });
      await resume();
      await pass(next);
      expect(lab.sandbox.counts().requests).to.equal(7);
    });
});
