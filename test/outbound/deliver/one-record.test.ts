import { expect } from 'chai';
import { prepareReadBack, readOrdersBack } from '../../../src/inbound/orders/read-back.js';
import { editSampleLine, insertSampleOrder } from '../../support/change-sample-erp.js';
import { onAnyLab, withServiceLease } from '../../support/jobs/job-lab.js';
import { messageOf, pausesOf, statesOf } from '../../support/jobs/service-of.js';

/** What a service may answer to each try of one record, and how that ends. */
const answers = [
  { how: '429', fault: { status: 429, headers: { 'Retry-After': '5' } }, parkClass: 'refused' },
  { how: '429 without a time', fault: { status: 429 }, parkClass: 'refused' },
  { how: '503 with Retry-After', fault: { status: 503, headers: { 'Retry-After': '5' } }, parkClass: 'unproven' },
  {
    how: '409 in progress',
    fault: { status: 409, body: { error: { code: 'request_in_progress', message: 'still at it' } } },
    parkClass: 'unproven',
  },
  { how: '202 without a body', fault: { status: 202, body: '' }, parkClass: 'unproven' },
  { how: '202 with a job', fault: { status: 202, body: { job: 'J-1' } }, parkClass: 'unproven' },
  { how: '500', fault: { status: 500 }, parkClass: 'unproven' },
];

const minuteMs = 60_000;

onAnyLab('one record that the service never takes', (kit) => {
  for (const { how, fault, parkClass } of answers)
    it(`is answered ${how} each time: the others pass, and it waits for a person with that reason`, async () => {
      const lab = await kit.start({
        customers: 1,
        orders: 20,
        settings: {
          delivery: { backoffBaseSeconds: 2, backoffMaxSeconds: 900 },
          service: { idempotency: { lifetimeHours: 720 } },
        },
      });
      let passedMs = 0;
      lab.context.nowMs = () => Date.now() + passedMs;
      await lab.capture();
      const [poison] = await kit.rows("SELECT number FROM outbox_message WHERE entity='order' ORDER BY id");
      lab.sandbox.setFaults([{ kind: 'status', ...fault, match: { bodyIncludes: `"${poison.number}"` } }]);
      // A new order every quarter of an hour, as long as the back-off of the settings at most.
      const orders = 26;
      for (let made = 0; made < orders; made++) {
        await lab.deliver({ retryHorizonMs: 50 });
        passedMs += 15 * minuteMs;
        await insertSampleOrder(lab.erp, { lines: [{ qty: 1 }] });
        await lab.capture({ sweep: true });
      }
      await lab.deliver({ retryHorizonMs: 50 });

      expect(await statesOf(kit)).to.deep.equal({ delivered: 20 + orders, parked: 1 });
      const parked = await messageOf(kit, poison.number);
      expect(parked).to.include({ state: 'parked', park_class: parkClass });
      expect(parked.reason).to.contain(`HTTP ${fault.status}`);
      expect(await pausesOf(kit)).to.deep.equal([]);
      const pauses = await kit.rows("SELECT outcome FROM audit_log WHERE event='pause'");
      expect(pauses.length, 'at first nothing tells whether the service means all of them').to.be.at.most(4);
      const waits = await kit.rows(
        "SELECT started_at-captured_at AS ms FROM outbox_message WHERE entity='order' AND state='delivered' ORDER BY ms",
      );
      expect(waits.at(-1)?.ms, 'how long another one waited').to.be.below(16 * minuteMs);
    });

  it('has no order any more and answers its change with 204: nothing is paused, and the order is read and found to be gone', async () => {
    const lab = await kit.start({
      customers: 1,
      orders: 3,
      settings: {
        service: { endpoints: { readOrder: {} }, limits: [{ requests: 500, perSeconds: 0.1 }] },
        orders: { readBack: { enabled: true, maxShare: 0.5 } },
        delivery: { outageAfterFailures: 3 },
      },
    });
    const readBack = () =>
      withServiceLease(lab.context, async (lease) => {
        await prepareReadBack(lab.context, lease);
        return readOrdersBack(lab.context, lab.client, lease);
      });
    await lab.capture();
    await lab.deliver();
    await readBack();
    expect((await readBack()).read, 'all were read already').to.equal(0);
    const [order] = await kit.rows("SELECT source_key, service_id FROM binding WHERE entity='order'");
    const path = `/v1/orders/${order.service_id}`;
    lab.sandbox.setFaults([
      { kind: 'status', status: 204, body: '', match: { method: 'PATCH', path } },
      {
        kind: 'status',
        status: 404,
        body: { error: { code: 'not_found', message: 'gone' } },
        match: { method: 'GET', path },
      },
    ]);
    await editSampleLine(lab.erp, Number(order.source_key), 1, 77);
    await lab.capture({ sweep: true });
    const { stopped } = await lab.deliver({ retryHorizonMs: 10_000 });
    expect(stopped).to.equal(null);
    expect(await kit.rows("SELECT outcome FROM audit_log WHERE event='pause'")).to.deep.equal([]);
    const [parked] = await kit.rows(
      "SELECT operation, park_class, reason_code, reason_data FROM outbox_message WHERE state='parked'",
    );
    expect(parked).to.include({ operation: 'update', park_class: 'unproven' });
    expect(parked.reason).to.contain('HTTP 204, but service.endpoints.updateOrder.successStatus is 200');
    expect(await readBack()).to.include({ gone: 1 });
  });
});
