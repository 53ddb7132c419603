import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { followClock } from '../../../../src/outbound/deliver/clock-trace.js';
import { deliver } from '../../../../src/outbound/deliver/deliver.js';
import { ServiceLease } from '../../../../src/outbound/deliver/service-lease.js';
import { takeOver } from '../../../../src/outbound/deliver/take-over.js';
import { onServers } from '../../../store/stores.js';
import { forged } from '../../../support/forged.js';
import { type Lab, useLab } from '../../../support/jobs/job-lab.js';
import { withMethod } from '../../../support/jobs/with-method.js';

const hourMs = 3_600_000;

onServers('a clock that nodes share, two hours fast, that is set right', (store) => {
  const kit = useLab(store, 'sqlite');

  /** Nodes on one machine, whose clock is as wrong as `clock` says. */
  const nodesOf = async (...names: string[]) => {
    const first = await kit.start({
      customers: 1,
      orders: 1,
      settings: { delivery: { outageAfterFailures: 1, probeSeconds: 30 } },
    });
    const clock = { wrongMs: 2 * hourMs };
    const labs: Lab[] = [];
    for (const name of names) {
      const lab = first.another({ actor: name, store: await kit.connect() });
      lab.context.settings = { ...lab.settings, cluster: { ...lab.settings.cluster, enabled: true, node: name } };
      lab.context.nowMs = () => Date.now() + clock.wrongMs;
      lab.context.clock = { ...lab.context.clock, sinceBoot: () => ({ bootId: 'one', bootMs: Date.now() }) };
      labs.push(lab);
    }
    await (labs[0] as Lab).capture({ sweep: true });
    return { clock, nodes: labs as [Lab, Lab, Lab] };
  };
  const follow = (lab: Lab) => lab.context.store.transaction('follow the clock', (tx) => followClock(tx, lab.context));
  const orders = (columns: string) => kit.rows(`SELECT ${columns} FROM outbox_message WHERE entity='order'`);
  const hoursSinceSent = async () =>
    Math.round(((Date.now() - Number((await orders('first_sent_at AS at'))[0]?.at)) / hourMs) * 10) / 10;

  it('is followed once by all on one machine, also by one that joins, and by each machine', async () => {
    const { clock, nodes } = await nodesOf('A', 'B', 'elsewhere', 'new');
    const [a, b, elsewhere, joining] = nodes as unknown as Lab[] as [Lab, Lab, Lab, Lab];
    elsewhere.context.clock = { ...a.context.clock, sinceBoot: () => ({ bootId: 'two', bootMs: Date.now() }) };
    const sentAt = a.context.nowMs();
    await kit.store.transaction('as if it was sent', (tx) =>
      tx.run(`UPDATE outbox_message SET ${forged.in_doubt}, was_sent=1, first_sent_at=? WHERE entity='order'`, [
        sentAt,
      ]),
    );
    for (const one of [a, b, elsewhere]) expect(await follow(one)).to.equal(false);
    clock.wrongMs = 0;
    expect(await follow(joining)).to.equal(true);
    for (const one of [a, b, joining]) expect(await follow(one)).to.equal(false);
    expect(await hoursSinceSent()).to.equal(0);
    expect(await follow(elsewhere)).to.equal(true);
    for (const one of [a, elsewhere]) expect(await follow(one)).to.equal(false);
    expect(await hoursSinceSent()).to.equal(2);
  });

  it('makes no key look younger, and no pause longer, of what another node puts on record in that moment', async () => {
    const { clock, nodes } = await nodesOf('A', 'B');
    const [a, b] = nodes;
    for (const one of nodes) await follow(one);
    b.sandbox.setFaults([{ kind: 'reset-after-commit', match: { method: 'POST', path: '/v1/orders' } }]);
    const stop = new AbortController();
    let followed: Promise<boolean> | null = null;
    b.context.store = withMethod(b.context.store, 'transaction', (action, work) =>
      kit.store.transaction(action, async (tx) => {
        const result = await work(tx);
        const [order] = await tx.rows<{ state: string }>("SELECT state FROM outbox_message WHERE entity='order'");
        if (followed === null && order?.state === 'in_doubt') {
          clock.wrongMs = 0;
          followed = follow(a);
          // It has to wait for this transaction, or has missed what it writes.
          await Promise.race([followed, sleep(300)]);
          stop.abort();
        }
        return result;
      }),
    );
    const lease = await ServiceLease.acquire(b.context, undefined, 'node');
    if (!(lease instanceof ServiceLease)) throw new Error(lease.holder);
    const options = { untilDrained: false, scope: { only: null }, retryHorizonMs: 0, trial: false, erp: b.reader };
    await deliver(b.context, b.client, lease, { ...options, signal: stop.signal });
    await lease.release();
    expect(await followed).to.equal(true);
    expect(await orders('state')).to.deep.equal([{ state: 'in_doubt' }]);
    expect(await hoursSinceSent()).to.equal(0);
    const [outage] = await kit.rows("SELECT until_at AS until FROM lane_pause WHERE cause='outage'");
    expect(Number(outage?.until) - Date.now()).to.be.within(0, 31_000);
  });

  it('makes no key look younger of what a node was sending that ended before it', async () => {
    const { clock, nodes } = await nodesOf('A', 'B');
    const [a, b] = nodes;
    for (const one of nodes) await follow(one);
    await kit.store.transaction('claim, and end', (tx) =>
      tx.run(
        `UPDATE outbox_message SET ${forged.sending}, claim_epoch=7, attempts=1, claimed_at=? WHERE entity='order'`,
        [b.context.nowMs()],
      ),
    );
    clock.wrongMs = 0;
    expect(await follow(a)).to.equal(true);
    await kit.store.transaction('take over', (tx) => takeOver(tx, a.context, 8, []));
    expect(await orders('state, was_sent, first_sent_at AS at')).to.deep.equal([
      { state: 'in_doubt', was_sent: 1, at: null },
    ]);
  });
});
