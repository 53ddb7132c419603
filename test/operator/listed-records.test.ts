import { expect } from 'chai';
import type { NamedRecords } from '../../src/operator/actions/action.js';
import type { ActionRequest } from '../../src/operator/actions/message-actions.js';
import { actOnMessages, planAction } from '../../src/operator/actions/message-actions.js';
import { checkClaims, type SaidClaim } from '../../src/operator/check-claims.js';
import { recover } from '../../src/operator/recover.js';
import { adoptFile } from '../../src/outbound/adoption/adopt-file.js';
import { editSampleLine } from '../support/change-sample-erp.js';
import { type Lab, type LabOptions, onAnyLab } from '../support/jobs/job-lab.js';
import { leftIn } from '../support/jobs/left-in.js';
import { each, holdAsLost, loseEverything } from '../support/jobs/lost-store.js';
import { expectAllAtService } from '../support/jobs/service-of.js';
import { withMethod } from '../support/jobs/with-method.js';
import { sandboxLookUps } from '../support/sandbox-look-ups.js';

onAnyLab('records that a recovery parked', (kit) => {
  const orders = 30;
  const loseStore = async (options: LabOptions = {}): Promise<Lab> => {
    const lab = await kit.start({ customers: 4, orders, ...options });
    await lab.capture({ sweep: true });
    await lab.deliver();
    lab.sandbox.forgetKeys();
    await loseEverything(kit);
    await holdAsLost(kit);
    await recover(lab.context, lab.reader, { fate: { to: 'parked' }, bindings: null, reason: 'a test' });
    return lab;
  };
  const ids = (lab: Lab) => new Map(lab.sandbox.ledger().orders.map((one) => [one.reference as string, one.order_id]));
  const say = async (lab: Lab, action: ActionRequest['action'], list?: NamedRecords, entity = 'order' as const) => {
    const request: ActionRequest = {
      action,
      filter: { entity },
      serviceId: null,
      unchecked: true,
      reason: 'a test',
      ...(list && { list }),
    };
    const plan = await planAction(lab.context, request);
    return { plan, done: (await actOnMessages(lab.context, request, plan.ids)).done };
  };
  const saysCustomersAreThere = async (lab: Lab) => {
    const request = { action: 'delivered', filter: { entity: 'customer' }, serviceId: null, reason: 'a test' } as const;
    const ask = (claims: readonly SaidClaim[]) => checkClaims(lab.context, () => lab.client, claims);
    const { ids, shown, checks } = await planAction(lab.context, request, { ask });
    expect((await actOnMessages(lab.context, request, ids, shown, checks)).done).to.equal(4);
  };
  const orderStates = () =>
    kit.rows(
      "SELECT state, COUNT(*) AS n FROM outbox_message WHERE entity='order' AND operation='create' GROUP BY state ORDER BY state",
    );
  const expectNothingTwice = async (lab: Lab) => {
    await lab.capture({ sweep: true });
    await lab.deliver();
    expect(lab.sandbox.counts()).to.include({ orders, customers: 4, duplicateReferences: 0 });
    await expectAllAtService(lab);
  };

  it('are all resolved by one list of their numbers, each with a line in the audit', async () => {
    const lab = await loseStore();
    await saysCustomersAreThere(lab);
    const { plan, done } = await say(lab, 'delivered', { idByKey: ids(lab), unusable: [] });
    expect([plan.matched, done, leftIn(plan)]).to.deep.equal([orders, orders, []]);
    expect(await orderStates()).to.deep.equal([{ state: 'delivered', n: orders }]);
    const lines = await kit.rows(
      "SELECT detail FROM audit_log WHERE event='operator' AND outcome='delivered' AND entity='order'",
    );
    expect(lines).to.have.length(orders);
    // The same list again finds nothing to do, and says so of each.
    const again = await say(lab, 'delivered', { idByKey: ids(lab), unusable: [] });
    expect(again.done).to.equal(0);
    expect([...again.plan.skipped.values()]).to.have.length(1);
    expect([...again.plan.skipped.values()][0]).to.deep.include({ why: { code: 'already_delivered' }, count: orders });
    await expectNothingTwice(lab);
  });

  it('are judged one by one: a line that can not be right is left, and the others are done', async () => {
    const lab = await loseStore();
    const [first, second, third, ...more] = [...ids(lab)] as [string, string][];
    if (!first || !second || !third) throw new Error('There are too few orders.');
    // The id of the first is bound already.
    await say(lab, 'delivered', { idByKey: new Map([first]), unusable: [] });
    const idByKey = new Map([[second[0], first[1]], ['SO-unknown', 'ord_x'], third, ...more.slice(0, 3)]);
    const { plan, done } = await say(lab, 'delivered', {
      idByKey,
      unusable: [{ key: 'line 9', problem: { code: 'line_columns', found: 3, needed: 2 } }],
    });
    expect(done).to.equal(4);
    expect(plan.matched).to.equal(7);
    const left = new Map(leftIn(plan).map(({ key, why }) => [key, why]));
    expect([...left.keys()]).to.have.members(['line 9', second[0], 'SO-unknown']);
    expect(left.get(second[0])).to.include({ code: 'service_id_taken', serviceId: first[1] });
    expect(left.get('SO-unknown')).to.deep.equal({ code: 'no_message' });
    const [open] = await kit.rows('SELECT state FROM outbox_message WHERE number=?', [second[0]]);
    expect(open).to.deep.equal({ state: 'parked' });
  });

  it('are never told apart by a number that two of them share, or by two lines for one', async () => {
    const lab = await loseStore();
    const [a, b, c] = await kit.rows(
      "SELECT id, source_key, number FROM outbox_message WHERE entity='order' ORDER BY id",
    );
    await kit.store.transaction('a shared number', (tx) =>
      tx.run('UPDATE outbox_message SET number=? WHERE id=?', [a?.number as string, b?.id as number]),
    );
    const idByKey = new Map([
      [a?.number as string, 'ord_1'],
      [c?.number as string, 'ord_2'],
      [c?.source_key as string, 'ord_3'],
    ]);
    const { plan, done } = await say(lab, 'delivered', { idByKey, unusable: [] });
    expect(done).to.equal(0);
    expect(leftIn(plan).map(({ why }) => why)).to.deep.equal([
      { code: 'ambiguous_name', records: 2 },
      { code: 'listed_twice' },
      { code: 'listed_twice' },
    ]);
  });

  it('are sent again where a list says that they are not there', async () => {
    const lab = await loseStore();
    await saysCustomersAreThere(lab);
    const all = ids(lab);
    const [missing] = all.keys();
    // Somebody removed it at the service.
    lab.sandbox.removeOrder(all.get(missing as string) as string);
    const { done } = await say(lab, 'not_delivered', { idByKey: new Map([[missing as string, null]]), unusable: [] });
    expect(done).to.equal(1);
    expect(await orderStates()).to.deep.equal([
      { state: 'parked', n: orders - 1 },
      { state: 'pending', n: 1 },
    ]);
    await lab.deliver();
    expect(lab.sandbox.counts()).to.include({ orders, duplicateReferences: 0 });
  });

  it('are adopted by a list, and every field of them is sent once more', async () => {
    const lab = await loseStore();
    await saysCustomersAreThere(lab);
    const keys = new Map(
      (await kit.rows("SELECT number, source_key FROM outbox_message WHERE entity='order'")).map((row) => [
        row.number,
        row.source_key,
      ]),
    );
    const lines = [...ids(lab)].map(([number, serviceId], i) => ({
      line: i + 1,
      sourceKey: keys.get(number) as string,
      serviceId,
    }));
    // An edit that the lost store may have sent, or not.
    await editSampleLine(lab.erp, Number(lines[0]?.sourceKey), 1, 7);
    const options = { entity: 'order', lines: () => each(lines), dryRun: false, reason: 'a test' } as const;
    // A busy store runs a read again, whole: what the first run counted must not count.
    const busy = withMethod(lab.context.store, 'read', async (action, work) => {
      await kit.store.read(action, work);
      return kit.store.read(action, work);
    });
    const shown = await adoptFile({ ...lab.context, store: busy }, lab.reader, { ...options, dryRun: true });
    expect(shown).to.include({ problemCount: 0, bound: orders, ours: orders, superseded: orders });
    const result = await adoptFile(lab.context, lab.reader, options);
    expect(result).to.include({ problemCount: 0, bound: orders, ours: orders, superseded: orders });
    expect(await orderStates()).to.deep.equal([{ state: 'superseded', n: orders }]);
    const unknown = await kit.rows("SELECT 1 AS one FROM binding WHERE entity='order' AND content_hash IS NULL");
    expect(unknown).to.have.length(orders);
    await expectNothingTwice(lab);
  });

  it('are adopted under the spelling of their key that is known, and stay the same records', async () => {
    const loosely = (column: string) => (kit.erpType === 'sqlite' ? `(${column} COLLATE NOCASE)` : column);
    const byNumber = {
      query: `SELECT ${loosely('o.order_no')} AS k, o.* FROM sales_orders o`,
      key: 'k',
      identity: ['order_no'],
      lines: {
        query: `SELECT ${loosely('o.order_no')} AS k, l.line_no, p.sku, l.qty, l.unit_price FROM sales_order_lines l
                  JOIN sales_orders o ON o.id=l.order_id JOIN products p ON p.id=l.product_id`,
        orderKey: 'k',
      },
    };
    const lab = await kit.start({ customers: 1, orders: 1, settings: { orders: byNumber } });
    await lab.capture();
    lab.sandbox.setFaults([{ kind: 'reset-after-commit', match: { method: 'POST', path: '/v1/orders' } }]);
    await lab.deliver({ retryHorizonMs: 0 });
    lab.sandbox.clearFaults();
    await kit.store.transaction('end the outage', (tx) => tx.run('DELETE FROM lane_pause'));
    const [order] = lab.sandbox.ledger().orders;
    const [{ source_key: sourceKey }] = await kit.rows("SELECT source_key FROM outbox_message WHERE entity='order'");
    await lab.changeErp('UPDATE sales_orders SET order_no=LOWER(order_no)');
    const lines = () => each([{ line: 1, sourceKey: sourceKey as string, serviceId: order?.order_id as string }]);
    const options = { entity: 'order', lines, dryRun: false, reason: 'a test' } as const;
    expect(await adoptFile(lab.context, lab.reader, options)).to.deep.include({ problems: [], bound: 1 });
    await lab.capture({ sweep: true });
    await lab.deliver();
    const open = "SELECT * FROM outbox_message WHERE state NOT IN ('delivered','superseded')";
    expect(await kit.rows(open)).to.deep.equal([]);
    expect(lab.sandbox.counts().orders).to.equal(1);
  });

  it('are all looked up when a person says so, and settled where that proves them', async () => {
    const lab = await loseStore();
    expect(leftIn((await say(lab, 'look_up')).plan)[0]?.why).to.deep.equal({ code: 'no_look_up', entity: 'order' });
    const asking = lab.another({ settings: { service: { endpoints: sandboxLookUps } } });
    const before = lab.sandbox.ledger().requests.filter(({ method }) => method === 'POST').length;
    await saysCustomersAreThere(asking);
    expect((await say(asking, 'look_up')).done).to.equal(orders);
    // The next delivery asks for the records that a stop leaves.
    const stop = new AbortController();
    const halfway = (delivered: number) => delivered >= orders / 2 && stop.abort();
    await asking.deliver({ signal: stop.signal, onProgress: ({ delivered }) => halfway(delivered.orders) });
    await asking.deliver();
    expect(await orderStates()).to.deep.equal([{ state: 'delivered', n: orders }]);
    const after = lab.sandbox.ledger().requests.filter(({ method }) => method === 'POST').length;
    expect(after, 'no create').to.equal(before);
    await expectNothingTwice(asking);
  });
});
