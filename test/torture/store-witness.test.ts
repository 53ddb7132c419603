import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { onAnyLab } from '../support/jobs/job-lab.js';
import { statesOf } from '../support/jobs/service-of.js';
import { drawPlan } from './draw-plan.js';
import { type Doctored, soundHistory } from './sound-history.js';
import { witnessSql } from './store-witness.js';
import { readLife } from './take-history.js';
import { commitMs, waitsWhenTold } from './waits-when-told.js';

onAnyLab('the witness in a store', (kit) => {
  it('notes what was sent while the service had said when to come back, and what waited for that', async () => {
    for (const statement of witnessSql(kit.dialect)) await kit.rows(statement);
    const lab = await kit.start({ customers: 1, orders: 4 });
    await lab.capture({ sweep: true });
    const slowDown = {
      kind: 'status' as const,
      status: 429,
      headers: { 'retry-after': '1' },
      body: { error: { code: 'too_many_requests', message: 'torture seconds' } },
      times: 1,
    };
    const lived = async (): Promise<Doctored> => {
      const rows = (sql: string) => kit.rows(sql) as Promise<never[]>;
      const store = { rows, change: async () => undefined, everything: async () => '', close: () => undefined };
      const life = await readLife({ store, plan: drawPlan(1, 'sqlite'), clock: null, clocksApart: new Map() });
      return { ...soundHistory(), ...life };
    };
    lab.sandbox.setFaults([slowDown]);
    await lab.deliver();
    const { delivered } = await statesOf(kit);
    expect(delivered).to.be.above(1);
    const heeded = await lived();
    // Requests that the gate held back were not sent: their number depends on the progress of the claim.
    const sent = heeded.events.filter(({ what, text }) => what === 'attempt-settled' && text !== 'not_sent');
    expect(sent).to.have.length((delivered as number) + 1);
    expect(waitsWhenTold(heeded)).to.deep.equal([]);

    lab.sandbox.setFaults([slowDown]);
    await lab.changeErp("UPDATE customers SET name='Another'");
    await lab.capture({ sweep: true });
    await lab.deliver({ retryHorizonMs: 10 });
    // A message that is claimed right after the answer is not judged.
    await sleep(commitMs + 50);
    await kit.rows('DELETE FROM lane_pause');
    await kit.rows("UPDATE outbox_message SET next_attempt_at=1 WHERE state='pending'");
    await lab.deliver();
    expect(waitsWhenTold(await lived())).to.have.length(1);
  });
});
