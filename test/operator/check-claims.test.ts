import { expect } from 'chai';
import type { Fact } from '../../src/model/facts/fact.js';
import { legacy } from '../../src/model/facts/fact.js';
import { type ActionPlan, actOnMessages, planAction } from '../../src/operator/actions/message-actions.js';
import { answerQuestions, checkClaims, judgeClaim, type SaidClaim } from '../../src/operator/check-claims.js';
import { ServiceLease } from '../../src/outbound/deliver/service-lease.js';
import { tell } from '../../src/words/words.js';
import { editSampleLine } from '../support/change-sample-erp.js';
import { forged } from '../support/forged.js';
import { type Lab, onAnyLab } from '../support/jobs/job-lab.js';
import { leftIn } from '../support/jobs/left-in.js';
import { waitFor } from '../support/wait-for.js';

describe('a claim that a record is at the service', () => {
  const record = { customer_code: 'K1', note: 'A-1', items: [{ sku: 'A', qty: 2, price: 100 }] };
  const ours = { record, number: 'A-1', total: 200n };
  const judge = (fields: Record<string, unknown>, total: bigint | null = null, own: Partial<typeof ours> = {}) =>
    judgeClaim({ ...ours, ...own }, { kind: 'shown', fields, total } as Parameters<typeof judgeClaim>[1]);

  it('is the same record where something that names it agrees, and nothing differs', () => {
    expect(judge({ note: 'A-1', status: 'received' }, 200n)).to.deep.include({ kind: 'same', reason: null });
    expect(judge({ customer_code: 'K1' })).to.deep.include({ kind: 'same' });
  });

  it('is another record where number, customer, total or a line differs, with both sides', () => {
    expect(judge({ note: 'PHONE-77', customer_code: 'K2' }, 100n)).to.deep.equal({
      kind: 'differs',
      reason: { code: 'claim_differs', fields: ['customer_code', 'note', 'total'] },
      sides: [
        { what: 'number', ours: 'A-1', service: 'PHONE-77' },
        { what: 'customer', ours: 'K1', service: 'K2' },
        { what: 'total', ours: '200', service: '100' },
      ],
    });
    expect(judge({ note: 'A-1' }, 199n).kind).to.equal('differs');
    expect(judge({ ...record, items: [{ sku: 'B', qty: 2, price: 100 }] }, 200n).reason).to.deep.equal({
      code: 'claim_differs',
      fields: ['items'],
    });
  });

  it('is shown by neither a total alone, nor by an answer that tells nothing', () => {
    expect(judge({ status: 'received' }, 200n)).to.deep.include({ kind: 'unread' });
    expect(judge({}, null, { record: null as never }).kind).to.equal('unread');
    expect(judgeClaim(ours, { kind: 'absent' }).kind).to.equal('absent');
    expect(judgeClaim(ours, { kind: 'unread', reason: legacy('HTTP 500') })).to.deep.include({
      kind: 'unread',
      reason: legacy('HTTP 500'),
    });
  });
});

onAnyLab('what a person says is at the service', (kit) => {
  /** Two orders of others at the service, and one of ours that arrived without an answer. */
  const start = async (endpoints: object = { readOrder: {} }) => {
    const lab = await kit.start({ customers: 2, orders: 3, settings: { service: { endpoints } } });
    await lab.capture();
    const [first] = await kit.rows("SELECT id, number FROM outbox_message WHERE entity='order' ORDER BY id");
    await lab.deliver();
    const made = lab.sandbox.ledger().orders;
    const own = made.find((one) => one.reference === first.number)?.order_id as string;
    const stranger = made.find((one) => one.reference !== first.number)?.order_id as string;
    await kit.store.transaction('lose the answers', async (tx) => {
      await tx.run("DELETE FROM binding WHERE entity='order'");
      await tx.run("DELETE FROM outbox_message WHERE entity='order' AND id<>?", [first.id]);
      await tx.run(`UPDATE outbox_message SET ${forged.parked}, park_class='unproven', service_id=NULL WHERE id=?`, [
        first.id,
      ]);
    });
    return { lab, id: Number(first.id), number: first.number as string, own, stranger };
  };
  const say = async (lab: Lab, serviceId: string, unchecked = false) => {
    const request = {
      action: 'delivered',
      filter: { entity: 'order' },
      serviceId,
      unchecked,
      reason: 'a test',
    } as const;
    const ask = (claims: readonly SaidClaim[]) => checkClaims(lab.context, () => lab.client, claims);
    const plan = await planAction(lab.context, request, unchecked ? {} : { ask });
    // Whoever passes by what was shown is refused as well.
    const ids = plan.ids.length > 0 ? plan.ids : [...plan.checks.keys()];
    return { plan, acted: await actOnMessages(lab.context, request, ids, undefined, plan.checks) };
  };
  const said = (plan: ActionPlan) => tell(leftIn(plan)[0]?.why as Fact);
  const bound = () => kit.rows("SELECT service_id, said_by, said_check FROM binding WHERE entity='order'");

  it('is asked for by the key of the create, also where the claim is about a change', async () => {
    const lookUpOrder = {
      path: '/v1/orders',
      query: { idempotency_key: '{idempotency_key}' },
      list: 'data',
      id: 'order_id',
      match: { note: '{note}' },
      total: 'total',
    };
    const settings = { service: { endpoints: { lookUpOrder } } };
    const lab = await kit.start({ customers: 1, orders: 1, settings });
    await lab.capture();
    await lab.deliver();
    const serviceId = lab.sandbox.ledger().orders[0]?.order_id as string;
    const [{ source_key: key }] = await kit.rows("SELECT source_key FROM binding WHERE entity='order'");
    await editSampleLine(lab.erp, Number(key), 1, 77);
    await lab.capture({ sweep: true });
    await kit.store.transaction('lose the answer', (tx) =>
      tx.run(
        `UPDATE outbox_message SET ${forged.parked}, park_class='unproven', idempotency_key='of-the-change'
          WHERE operation='update'`,
      ),
    );
    const [{ id }] = await kit.rows("SELECT id FROM outbox_message WHERE operation='update'");
    const claims = [{ messageId: Number(id), entity: 'order' as const, serviceId }];
    const checks = await checkClaims(lab.context, () => lab.client, claims);
    // The change has not arrived, but the order is there.
    expect(checks.get(Number(id))).to.deep.include({
      kind: 'differs',
      reason: { code: 'claim_differs', fields: ['items', 'total'] },
    });
  });

  it('is asked for first: another record under the id is shown beside ours, and not bound', async () => {
    const { lab, number, stranger } = await start();
    const { plan, acted } = await say(lab, stranger);
    expect(plan.ids).to.deep.equal([]);
    expect(said(plan))
      .to.contain(`${stranger} at the service is another record`)
      .and.to.contain(`(ours ${number})`)
      .and.to.contain('total');
    expect(acted.done).to.equal(0);
    expect(acted.left[0]?.why).to.include({ code: 'unproven_claim', serviceId: stranger });
    expect(await bound()).to.deep.equal([]);
    const nobody = await say(lab, 'nonsense');
    expect(said(nobody.plan)).to.contain('the service has no such record');
    expect(await bound()).to.deep.equal([]);
    const asked = await kit.rows("SELECT verdict FROM attempt WHERE purpose='read_order'");
    expect(asked, 'each request is on record').to.have.length(2);
  });

  it('is bound where the service shows the same record, as the word of the person and not as acknowledged', async () => {
    const { lab, own } = await start();
    const { acted } = await say(lab, own);
    expect(acted.done).to.equal(1);
    expect(await bound()).to.deep.equal([{ service_id: own, said_by: lab.context.actor, said_check: 'same' }]);
    const [line] = await kit.rows("SELECT detail FROM audit_log WHERE event='operator'");
    expect(JSON.parse(line.detail)).to.include({ serviceId: own, said: true, check: 'same' });
    // The service acknowledges the next change: then it is its word.
    const [{ source_key: key }] = await kit.rows("SELECT source_key FROM binding WHERE entity='order'");
    await editSampleLine(lab.erp, Number(key), 1, 77);
    await lab.capture({ sweep: true });
    await kit.store.transaction('keep to ours', (tx) =>
      tx.run("DELETE FROM outbox_message WHERE entity='order' AND operation='create' AND state='pending'"),
    );
    await lab.deliver();
    expect(await bound()).to.deep.equal([{ service_id: own, said_by: null, said_check: null }]);
  });

  it('is bound to what the service does not show only by a second word, which stays on record', async () => {
    const { lab, stranger } = await start();
    expect((await say(lab, stranger, true)).acted.done).to.equal(1);
    expect(await bound()).to.deep.equal([{ service_id: stranger, said_by: lab.context.actor, said_check: 'unasked' }]);
    const [line] = await kit.rows("SELECT detail FROM audit_log WHERE event='operator'");
    expect(JSON.parse(line.detail)).to.include({ said: true, check: 'unasked' });
  });

  it('takes a second word where the settings do not say how the service is asked', async () => {
    const { lab, own } = await start({});
    const { plan, acted } = await say(lab, own);
    expect(said(plan)).to.contain('service.endpoints.readOrder');
    expect(acted.done).to.equal(0);
    expect(await bound()).to.deep.equal([]);
  });

  it('is asked for by the daemon where one runs', async () => {
    const { lab, id, own, stranger } = await start();
    const lease = (await ServiceLease.acquire(lab.context)) as ServiceLease;
    try {
      const claims = [
        { messageId: id, entity: 'order', serviceId: own },
        { messageId: id + 1_000, entity: 'order', serviceId: stranger },
      ] as const;
      const asked = checkClaims({ ...lab.context, actor: 'somebody else' }, () => lab.client, [claims[0]]);
      await waitFor('the question', async () => (await kit.rows('SELECT id FROM service_question')).length > 0);
      expect(await kit.rows('SELECT job FROM wake_up')).to.deep.equal([{ job: 'questions' }]);
      const never = new AbortController().signal;
      expect(await answerQuestions(lab.context, { client: lab.client, lease }, never)).to.equal(1);
      expect((await asked).get(id)).to.include({ kind: 'same' });
      expect(await kit.rows('SELECT id FROM service_question'), 'nothing stays behind').to.deep.equal([]);
    } finally {
      await lease.release();
    }
  });
});
