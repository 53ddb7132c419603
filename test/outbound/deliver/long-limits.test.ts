import { expect } from 'chai';
import { pull } from '../../../src/inbound/invoices/pull.js';
import { sync } from '../../../src/operator/sync.js';
import { deliver } from '../../../src/outbound/deliver/deliver.js';
import { claimTarget } from '../../../src/outbound/deliver/lane-keeper.js';
import { answeredSince } from '../../../src/outbound/deliver/past-requests.js';
import { ServiceLease } from '../../../src/outbound/deliver/service-lease.js';
import { resumeLane } from '../../../src/store/lane-pauses.js';
import { insertRows } from '../../../src/store/rows.js';
import type { Tx } from '../../../src/store/store.js';
import { type Lab, onAnyLab, withServiceLease } from '../../support/jobs/job-lab.js';
import { statesOf } from '../../support/jobs/service-of.js';
import { told } from '../../support/told.js';
import { waitFor } from '../../support/wait-for.js';

onAnyLab('a limit with a long window', (kit) => {
  const pass = (lab: Lab) =>
    sync(lab.context, { reader: lab.reader, client: () => lab.client }, { stages: ['capture', 'deliver'] });
  const settings = {
    service: {
      limits: [
        { requests: 1_000, perSeconds: 1 },
        { requests: 7, perSeconds: 86_400 },
      ],
    },
  };

  it('counts across processes, pauses the lane until it allows more, and costs no message an attempt', async () => {
    const lab = await kit.start({ customers: 2, orders: 20, settings });
    const first = await pass(lab);
    expect(lab.sandbox.counts().requests).to.equal(7);
    expect(told(first.deliver?.stopped)).to.equal('service is paused (limit): 7 requests in 86400 s are used up');
    const [pause] = await kit.rows('SELECT lane, cause, until_at, since_at FROM lane_pause');
    expect(pause).to.include({ lane: 'service', cause: 'limit' });
    expect(Number(pause.until_at) - Number(pause.since_at)).to.be.within(86_000_000, 86_411_000);
    const states = await statesOf(kit);
    expect(states).to.have.all.keys('delivered', 'pending');
    expect(states.delivered).to.equal(7);

    // Another process, which knows nothing but what is on record; and an operator who is impatient.
    const another = lab.another({ actor: 'another' });
    await kit.store.transaction('resume', (tx) => resumeLane(tx, 'service'));
    const second = await pass(another);
    expect(told(second.deliver?.stopped)).to.contain('service is paused (limit)');
    expect(lab.sandbox.counts().requests).to.equal(7);
    // It may have run on another machine, whose clock is some seconds ahead.
    const [anew] = await kit.rows('SELECT until_at FROM lane_pause');
    expect(Number(anew.until_at) - Number(pause.until_at)).to.be.within(9_000, 11_000);
    expect(await kit.rows("SELECT id FROM outbox_message WHERE state='pending' AND failures>0")).to.deep.equal([]);
  });

  it('is no pause any more when the settings allow more, and still one when they allow less', async () => {
    const lab = await kit.start({ customers: 2, orders: 20, settings });
    const daily = (requests: number) =>
      lab.another({ settings: { service: { limits: [{ requests, perSeconds: 86_400 }] } } });
    await pass(lab);
    expect(told((await pass(daily(5))).deliver?.stopped)).to.contain('5 requests in 86400 s are used up');
    expect(lab.sandbox.counts().requests).to.equal(7);
    expect((await pass(daily(1_000))).deliver?.stopped).to.equal(null);
    expect(await statesOf(kit)).to.have.all.keys('delivered');
    expect(await kit.rows('SELECT cause FROM lane_pause')).to.deep.equal([]);
  });

  it('counts whatever was asked by whichever command: pulls, single orders, and a daemon after them', async () => {
    const lab = await kit.start({ customers: 2, orders: 20, settings });
    expect((await lab.pull()).outcome).to.equal('proven');
    const pulled = lab.sandbox.counts().requests;
    expect(pulled).to.be.within(1, 3);
    const trial = lab.another({ actor: 'trial' });
    await sync(
      trial.context,
      { reader: trial.reader, client: () => trial.client },
      { stages: ['capture', 'deliver'], limit: 1, trial: true },
    );
    expect(lab.sandbox.counts().requests).to.equal(pulled + 2);
    const last = lab.another({ actor: 'daemon' });
    expect(told((await pass(last)).deliver?.stopped)).to.contain('service is paused (limit)');
    expect(lab.sandbox.counts().requests).to.equal(7);
    await kit.store.transaction('resume', (tx) => resumeLane(tx, 'service'));
    const impatient = lab.another({ actor: 'impatient' });
    const parts = { reader: impatient.reader, client: () => impatient.client };
    expect((await sync(impatient.context, parts, { stages: ['pull'] })).pull?.outcome).to.not.equal('proven');
    expect(lab.sandbox.counts().requests).to.equal(7);
  });

  it('is not used up by what a killed process had claimed and not sent', async () => {
    const daily = { requests: 120, perSeconds: 86_400 };
    const limits = [{ requests: 1_000, perSeconds: 0.1 }, daily];
    const lab = await kit.start({ customers: 2, orders: 140, settings: { service: { limits } } });
    await lab.capture();
    const seen = () => lab.sandbox.counts().requests;
    for (const killed of ['one', 'two', 'three']) {
      const { context, client, reader } = lab.another({ actor: killed });
      const lease = (await ServiceLease.acquire(context)) as ServiceLease;
      const before = seen();
      const delivery = deliver(context, client, lease, {
        untilDrained: true,
        scope: { only: null },
        retryHorizonMs: 20_000,
        trial: false,
        erp: reader,
      });
      await waitFor('some requests', () => seen() >= before + 10);
      // Like a kill: nothing more leaves, and no outcome is put on record any more.
      lease.markLost();
      await delivery;
      await kit.store.transaction('end', (tx) =>
        tx.run("UPDATE lease SET holder=NULL, expires_at=NULL WHERE name='service'"),
      );
    }
    const { deliver: result } = await pass(lab.another({ actor: 'last' }));
    expect(told(result?.stopped)).to.contain('120 requests in 86400 s are used up');
    // Two are claimed at once, and each kill counts them as sent.
    expect(seen()).to.be.within(120 - 3 * 2, 120);
    expect(claimTarget({ concurrency: 8, limits }, 500, 128)).to.equal(2);
  });

  it('is not used up by an outage in which no request finds a connection', async () => {
    const lab = await kit.start({ customers: 2, orders: 20, settings });
    const astray = lab.another({ settings: { service: { baseUrl: 'http://127.0.0.1:1' } } });
    await lab.capture();
    await astray.deliver({ retryHorizonMs: 1_500 });
    expect((await kit.rows("SELECT id FROM attempt WHERE verdict='unavailable'")).length).to.be.at.least(5);
    expect(astray.client.rateLimiter.usedUp).to.equal(null);
    await kit.store.transaction('resume', (tx) => resumeLane(tx, 'service'));
    await kit.store.transaction('due', (tx) =>
      tx.run('UPDATE outbox_message SET next_attempt_at=0 WHERE next_attempt_at IS NOT NULL'),
    );
    await pass(lab.another({ actor: 'later' }));
    expect(lab.sandbox.counts().requests).to.equal(7);
  });

  it('counts a request from its answer on: from its duration, or as late as it can have left and been answered', async () => {
    const at = 1_000_000;
    await kit.store.transaction('write attempts', (tx) =>
      insertRows(
        tx,
        'attempt',
        [
          { started_at: at + 5_000, duration_ms: 700, verdict: 'delivered' },
          { started_at: at + 6_000, duration_ms: null, verdict: null },
          { started_at: null, duration_ms: null, verdict: null },
          { started_at: null, duration_ms: null, verdict: 'not_sent', requests: 0 },
          // No connection; and twice, because a 401 came first.
          { started_at: at + 7_000, duration_ms: 20, verdict: 'unavailable', requests: 0 },
          { started_at: at + 8_000, duration_ms: 20, verdict: 'delivered', requests: 2 },
        ].map((times) => ({ purpose: 'create', number: 1, epoch: 1, intended_at: at, requests: null, ...times })),
      ),
    );
    const asked = { waitMs: 13_000, deadlineMs: 10_000, nowMs: at, corrections: [], except: new Set<number>() };
    const answered = (sinceMs: number) => kit.store.read('look', (tx) => answeredSince(tx, { ...asked, sinceMs }));
    expect(await answered(at)).to.deep.equal([at + 5_700, at + 8_020, at + 8_020, at + 16_000, at + 23_000]);
    expect(await answered(at + 16_000)).to.deep.equal([at + 23_000]);
    // Messages that are claimed and have no attempt yet, unless they are counted elsewhere.
    await kit.rows(
      `INSERT INTO outbox_message (entity, source_key, revision, operation, generation, content_hash, mapping_fingerprint, state,
          next_attempt_at, captured_at, folded_key, claim_epoch, claimed_at, attempts)
        VALUES ('order', '1', 1, 'create', 0, '0', '0', 'sending', 0, 0, '1', 4, ${at - 1}, 1)`,
    );
    expect(await answered(at + 16_000)).to.deep.equal([at + 22_999, at + 23_000]);
    const except = (tx: Tx) => answeredSince(tx, { ...asked, sinceMs: at + 16_000, except: new Set([4]) });
    expect(await kit.store.read('look', except)).to.deep.equal([at + 23_000]);
    // A delivery is one on its message, by when it was settled; what a person or a look-up settled was no request.
    await kit.rows('DELETE FROM attempt');
    await kit.rows(
      `INSERT INTO outbox_message (entity, source_key, revision, operation, generation, content_hash, mapping_fingerprint, state,
          delivered_at, captured_at, closed_at, folded_key, claim_epoch, claimed_at, attempts, is_backlog, requests, started_at, source)
        VALUES ('order', '2', 1, 'create', 0, '0', '0', 'delivered', ${at - 10}, 0, ${at - 10}, '2', 5, ${at - 20}, 1, 0, 1, ${at - 15}, ''),
               ('customer', '3', 1, 'create', 0, '0', '0', 'delivered', ${at - 10}, 0, ${at - 10}, '3', 5, ${at - 20}, 2, 1, 2, ${at - 15}, ''),
               ('order', '4', 1, 'create', 0, '0', '0', 'delivered', ${at - 90}, 0, ${at - 90}, '4', 5, ${at - 99}, 1, 0, 1, ${at - 95}, ''),
               ('order', '5', 1, 'create', 0, '0', '0', 'delivered', NULL, 0, ${at - 10}, '5', 5, ${at - 20}, 1, 0, NULL, NULL, ''),
               ('order', 'berlin~6', 1, 'create', 0, '0', '0', 'delivered', ${at - 40}, 0, ${at - 40}, '6', 6, ${at - 50}, 1, 0, 1, ${at - 45}, 'berlin')`,
    );
    const recall = (since: number, epochs = [4]) =>
      kit.store.read('look', (tx) => answeredSince(tx, { ...asked, sinceMs: since, except: new Set(epochs) }));
    expect(await recall(at - 50), 'of a source without a cursor as well').to.deep.equal([
      at - 40,
      at - 10,
      at - 10,
      at - 10,
    ]);
    expect(await recall(at - 91)).to.deep.equal([at - 90, at - 40, at - 10, at - 10, at - 10]);
    expect(await recall(at - 30, [4, 5])).to.deep.equal([]);
  });
});

onAnyLab('the requests under way at once', (kit) => {
  it('are no more than the cap, over all lanes of a process', async () => {
    const settings = { service: { concurrency: 2 } };
    const lab = await kit.start({ customers: 2, orders: 30, settings, sandbox: { delayMs: 15 } });
    await lab.capture();
    await withServiceLease(lab.context, async (lease) => {
      const delivery = deliver(lab.context, lab.client, lease, {
        untilDrained: true,
        scope: { only: null },
        retryHorizonMs: 20_000,
        trial: false,
        erp: lab.reader,
      });
      await pull(lab.context, lab.client, lease);
      await pull(lab.context, lab.client, lease);
      await delivery;
    });
    const spans = lab.sandbox
      .ledger()
      .requests.map(({ received_at_ms: from, answered_at_ms: to }) => ({ from, to: to as number }));
    const lanes = new Set(lab.sandbox.ledger().requests.map(({ method }) => method));
    expect([...lanes]).to.have.members(['POST', 'GET']);
    for (const { from } of spans)
      expect(spans.filter((one) => one.from < from && one.to > from).length, 'others under way').to.be.at.most(1);
  });
});
