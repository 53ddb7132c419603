import { expect } from 'chai';
import {
  type Fate,
  planResync,
  type ResyncPlan,
  secondsAtLimits,
} from '../../../src/operator/reconcile/plan-resync.js';
import { forged } from '../../support/forged.js';
import { type Lab, onSqliteLabAnd } from '../../support/jobs/job-lab.js';

describe('how long requests take at the limits', () => {
  it('is what the narrowest limit allows', () => {
    expect(secondsAtLimits(100, [])).to.equal(null);
    expect(secondsAtLimits(100, [{ requests: 10, perSeconds: 1 }])).to.equal(10);
    expect(
      secondsAtLimits(100, [
        { requests: 10, perSeconds: 1 },
        { requests: 50, perSeconds: 86_400 },
      ]),
    ).to.equal(172_800);
  });
});

onSqliteLabAnd('mysql', 'the plan of a resync', (kit) => {
  /** Gives orders their fates, so many each, and says which key has which. */
  async function arrange(lab: Lab, each: number): Promise<ReadonlyMap<string, Fate>> {
    const rows = await kit.rows("SELECT source_key FROM binding WHERE entity='order' ORDER BY source_key");
    const keys = rows.map(({ source_key }) => source_key as string);
    const fates = new Map<string, Fate>();
    const list = (some: readonly string[]) => some.map((key) => `'${key}'`).join(',');
    const take = async (fate: Fate, work: (some: readonly string[]) => Promise<unknown>) => {
      const some = keys.splice(0, each);
      await work(some);
      for (const key of some) fates.set(key, fate);
    };
    const set = (columns: string) => (some: readonly string[]) =>
      kit.rows(`UPDATE outbox_message SET ${columns} WHERE entity='order' AND source_key IN (${list(some)})`);
    await take('changed', async (some) => {
      const ids = some.map(Number).join(',');
      await lab.changeErp(`UPDATE sales_order_lines SET unit_price=unit_price+1 WHERE order_id IN (${ids})`);
      const lines = 'SELECT ROUND(SUM(l.qty*l.unit_price),2) FROM sales_order_lines l WHERE l.order_id=sales_orders.id';
      await lab.changeErp(`UPDATE sales_orders SET total=(${lines}) WHERE id IN (${ids})`);
    });
    await take('inDoubt', set("state='in_doubt', next_attempt_at=9000000000000, delivered_at=NULL"));
    await take(
      'parked',
      set(`${forged.parked}, park_class='unproven', reason_code='legacy', reason_data='{"text":{"outside":"why"}}'`),
    );
    await take(
      'held',
      set(
        `${forged.parked}, park_class='held', operation='update', reason_code='legacy', reason_data='{"text":{"outside":"why"}}'`,
      ),
    );
    await take('new', async (some) => {
      for (const table of ['binding', 'outbox_message'])
        await kit.rows(`DELETE FROM ${table} WHERE entity='order' AND source_key IN (${list(some)})`);
    });
    for (const key of keys) fates.set(key, 'identical');
    return fates;
  }

  /** The orders after a resync, as the store has them. */
  async function became(lab: Lab, before: ReadonlyMap<string, number>): Promise<Pick<ResyncPlan, 'new' | 'changed'>> {
    await lab.capture({ filter: { entity: 'order' } });
    const rows = await kit.rows(
      "SELECT source_key, operation, revision, id FROM outbox_message WHERE entity='order' ORDER BY id",
    );
    const written = rows.filter(
      ({ id, source_key }) => (id as number) > (before.get(source_key as string) ?? before.get('') ?? 0),
    );
    const of = (operation: string) => written.filter((row) => row.operation === operation).length;
    return { new: of('create'), changed: of('update') };
  }

  /** The service acknowledged all that is captured, without having been asked. */
  const acknowledged = async () => {
    const same = 'entity, source_key, revision, generation, content_hash, mapping_fingerprint, identity, folded_key';
    await kit.rows(
      `INSERT INTO binding (${same}, service_id, acknowledged, acknowledged_at)
       SELECT ${same}, 'id-' || m.id, b.record, 1 FROM outbox_message m JOIN message_body b ON b.message_id=m.id`,
    );
    await kit.rows(`UPDATE outbox_message SET ${forged.delivered}, was_sent=1, first_sent_at=NULL`);
  };

  const compare = async (lab: Lab, each: number, orders: number) => {
    await arrange(lab, each);
    const plan = await planResync(lab.context, lab.reader, { entity: 'order' });
    const identical = orders - 5 * each;
    const expected = { new: each, changed: each, inDoubt: each, parked: each, held: each, identical };
    expect(plan).to.deep.include({ ...expected, underWay: 0, waiting: 0, stopped: null });
    expect(plan.fields).to.deep.equal([{ field: 'items', count: each }]);
    const [last] = await kit.rows('SELECT MAX(id) AS id FROM outbox_message');
    expect(await became(lab, new Map([['', last?.id as number]]))).to.deep.equal({ new: each, changed: each });
    // Nothing else has moved.
    const states = await kit.rows(
      "SELECT state, COUNT(*) AS n FROM outbox_message WHERE entity='order' AND state IN ('in_doubt','parked') GROUP BY state ORDER BY state",
    );
    expect(states.map(({ state, n }) => [state, n])).to.deep.equal([
      ['in_doubt', each],
      ['parked', 2 * each],
    ]);
    return plan;
  };

  it('says of each record what then happens', async () => {
    const lab = await kit.start({ customers: 3, orders: 24, settings: { capture: { maxUpdates: 1_000 } } });
    await lab.capture();
    await lab.deliver();
    const plan = await compare(lab, 3, 24);
    // A message in doubt is still to be sent.
    expect(plan.requests).to.equal(3 + 3 + 3);
  });

  if (kit.dialect === 'sqlite')
    it('is right for 10,000 orders with 100 of each kind', async function () {
      this.timeout(240_000);
      const settings = {
        capture: { maxUpdates: 1_000, pageSize: 1_000 },
        service: { limits: [{ requests: 100_000, perSeconds: 0.1 }] },
      };
      const lab = await kit.start({ customers: 50, orders: 10_000, settings });
      await lab.capture();
      await acknowledged();
      await compare(lab, 100, 10_000);
    });
});
