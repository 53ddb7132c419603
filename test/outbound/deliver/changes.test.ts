import { expect } from 'chai';
import { createKey } from '../../../src/outbound/outbox/idempotency-key.js';
import { editSampleLine, insertSampleOrder } from '../../support/change-sample-erp.js';
import { askAsAnother } from '../../support/jobs/ask-as-another.js';
import { type Lab, onAnyLab } from '../../support/jobs/job-lab.js';
import { say } from '../../support/jobs/say.js';
import { expectAllAtService, expectOneBodyPerKey } from '../../support/jobs/service-of.js';
import { waitFor } from '../../support/wait-for.js';

onAnyLab('an order that is edited', (kit) => {
  const messagesOf = (key: number) =>
    kit.rows(
      "SELECT id, revision, operation, generation, state, park_class, idempotency_key FROM outbox_message WHERE entity='order' AND source_key=? ORDER BY revision",
      [String(key)],
    );
  const shapeOf = async (key: number) => (await messagesOf(key)).map(({ operation, state }) => `${operation} ${state}`);
  const edit = async (lab: Lab, id: number, qty: number) => {
    await editSampleLine(lab.erp, id, 1, qty);
    await lab.capture({ sweep: true });
  };
  const requestsFor = (lab: Lab, method: string) =>
    lab.sandbox
      .ledger()
      .requests.filter((request) => request.method === method && request.path.startsWith('/v1/orders'));
  const oneOrder = async (options: Parameters<typeof kit.start>[0] = {}) => {
    const lab = await kit.start({ customers: 1, orders: 1, ...options });
    const { id, orderNo } = await insertSampleOrder(lab.erp, { lines: [{ qty: 1 }, { qty: 2 }] });
    await lab.capture();
    return { lab, id, orderNo };
  };

  /** Returns a function; the service's words about orders are heard after it is called. */
  const holdAnswers = ({ client }: Lab) => {
    const send = client.send.bind(client);
    let hear = () => {};
    const mayHear = new Promise<void>((resolve) => (hear = resolve));
    client.send = async (message) => {
      const sent = await send(message);
      if (message.entity === 'order') await mayHear;
      return sent;
    };
    return () => hear();
  };

  const shorten = async (lab: Lab, id: number) => {
    await lab.changeErp('DELETE FROM sales_order_lines WHERE order_id=? AND line_no=2', [id]);
    await lab.changeErp('UPDATE sales_orders SET total=? WHERE id=?', ['19.99', id]);
    await lab.capture({ sweep: true });
  };

  it('before it was sent goes out once, as it is now', async () => {
    const { lab, id } = await oneOrder();
    await edit(lab, id, 5);
    await edit(lab, id, 6);
    expect(await shapeOf(id)).to.deep.equal(['create superseded', 'create superseded', 'create pending']);
    await lab.deliver();
    await expectAllAtService(lab);
    expect(requestsFor(lab, 'POST')).to.have.length(2);
    expect(requestsFor(lab, 'PATCH')).to.have.length(0);
    expectOneBodyPerKey(lab);
  });

  it('after it was delivered is changed with the fields that differ', async () => {
    const { lab, id, orderNo } = await oneOrder();
    await lab.deliver();
    await edit(lab, id, 5);
    expect(await lab.deliver()).to.deep.include({ delivered: { customers: 0, orders: 1 } });
    await expectAllAtService(lab);
    expect(await shapeOf(id)).to.deep.equal(['create delivered', 'update delivered']);
    const [body] = await kit.rows(
      "SELECT b.body FROM outbox_message m JOIN message_body b ON b.message_id=m.id WHERE m.number=? AND m.operation='update'",
      [orderNo],
    );
    expect(Object.keys(JSON.parse(body.body))).to.deep.equal(['items']);
  });

  it('is replaced whole where the service takes a PUT', async () => {
    const { lab, id } = await oneOrder({ settings: { service: { endpoints: { updateOrder: { method: 'PUT' } } } } });
    await lab.deliver();
    await edit(lab, id, 5);
    await lab.deliver();
    await expectAllAtService(lab);
    expect(requestsFor(lab, 'PATCH')).to.have.length(0);
    expect(requestsFor(lab, 'PUT')).to.have.length(1);
    const [row] = await kit.rows(
      "SELECT b.body, b.record, m.method FROM outbox_message m JOIN message_body b ON b.message_id=m.id WHERE m.operation='update'",
    );
    expect(row.body).to.equal(row.record);
    expect(row.method).to.equal('PUT');
  });

  it('keeps the method that its bytes were composed for, whatever the settings say at the next try', async () => {
    const { lab, id } = await oneOrder();
    await lab.deliver();
    await edit(lab, id, 5);
    lab.sandbox.setFaults([{ kind: 'status', status: 500, match: { method: 'PATCH' } }]);
    await lab.deliver({ retryHorizonMs: 0 });
    lab.sandbox.clearFaults();
    const changed = lab.another({ settings: { service: { endpoints: { updateOrder: { method: 'PUT' } } } } });
    await changed.deliver();
    await expectAllAtService(lab);
    expect(requestsFor(lab, 'PUT')).to.have.length(0);
    expectOneBodyPerKey(lab);
  });

  it('from A to B to A to B ends at B, whether each is delivered or only the last', async () => {
    for (const eachDelivered of [true, false]) {
      const { lab, id } = await oneOrder();
      await lab.deliver();
      for (const qty of [7, 1, 7]) {
        await edit(lab, id, qty);
        if (eachDelivered) await lab.deliver();
      }
      await lab.deliver();
      await expectAllAtService(lab);
      expect(requestsFor(lab, 'PATCH')).to.have.length(eachDelivered ? 3 : 1);
      expect((await lab.deliver()).attempts).to.equal(0);
      await kit.store.transaction('begin anew', async (tx) => {
        for (const table of ['outbox_message', 'binding', 'capture_cursor']) await tx.run(`DELETE FROM ${table}`);
      });
    }
  });

  it('from A to B and back to A before anything was sent says nothing to the service', async () => {
    const { lab, id } = await oneOrder();
    await lab.deliver();
    await edit(lab, id, 7);
    await edit(lab, id, 1);
    expect((await lab.deliver()).attempts).to.equal(0);
    expect(await shapeOf(id)).to.deep.equal(['create delivered', 'update superseded', 'update superseded']);
    const [binding] = await kit.rows("SELECT revision FROM binding WHERE entity='order' AND source_key=?", [
      String(id),
    ]);
    expect(binding.revision).to.equal(3);
  });

  it('while its create is under way is created first and then changed', async () => {
    const { lab, id, orderNo } = await oneOrder();
    const hear = holdAnswers(lab);
    const running = lab.deliver();
    await waitFor('the create to be under way', () => lab.sandbox.ledger().orders.some((o) => o.reference === orderNo));
    await edit(lab, id, 9);
    expect(await shapeOf(id)).to.deep.equal(['create sending', 'update pending']);
    hear();
    await running;
    await expectAllAtService(lab);
    expect(requestsFor(lab, 'PATCH')).to.have.length(1);
    expectOneBodyPerKey(lab);
  });

  it('while its create is in doubt waits until that is known', async () => {
    const { lab, id, orderNo } = await oneOrder();
    lab.sandbox.setFaults([{ kind: 'reset-after-commit', match: { bodyIncludes: orderNo } }]);
    await lab.deliver({ retryHorizonMs: 0 });
    await edit(lab, id, 9);
    expect(await shapeOf(id)).to.deep.equal(['create in_doubt', 'update pending']);
    lab.sandbox.clearFaults();
    await lab.deliver();
    await expectAllAtService(lab);
    expect(lab.sandbox.ledger().orders.filter(({ reference }) => reference === orderNo)).to.have.length(1);
    expectOneBodyPerKey(lab);
  });

  it('after its update was cut off is brought to its newest form', async () => {
    const { lab, id } = await oneOrder();
    await lab.deliver();
    await edit(lab, id, 5);
    lab.sandbox.setFaults([{ kind: 'reset-after-commit', match: { method: 'PATCH' }, times: 1 }]);
    await lab.deliver({ retryHorizonMs: 0 });
    await edit(lab, id, 6);
    await lab.deliver();
    await expectAllAtService(lab);
    expectOneBodyPerKey(lab);
  });

  describe('after the service refused it', () => {
    // Two lines are more than this service takes.
    const strict = { sandbox: { maxItems: 1 } };
    const clearOfOthers = (lab: Lab) =>
      lab.changeErp("UPDATE sales_orders SET status='draft' WHERE order_no LIKE 'A-2026-00000%' AND id<2");

    it('is tried again with the same key on a service that forgets refusals', async () => {
      const { lab, id } = await oneOrder(strict);
      await clearOfOthers(lab);
      expect((await lab.deliver()).parked).to.be.at.least(1);
      expect((await messagesOf(id))[0]).to.deep.include({ state: 'parked', park_class: 'refused' });
      await lab.capture({ sweep: true });
      expect(await shapeOf(id), 'nothing happens while it is not corrected').to.deep.equal(['create parked']);
      await shorten(lab, id);
      await lab.deliver();
      const messages = await messagesOf(id);
      expect(messages.map(({ state }) => state)).to.deep.equal(['superseded', 'delivered']);
      expect(messages[1].idempotency_key).to.equal(createKey('test-office', 'order', String(id), 0));
    });

    it('is tried again with a new key on a service that replays refusals', async () => {
      const { lab, id } = await oneOrder({
        sandbox: { maxItems: 1, replayRefusals: true },
        settings: { service: { idempotency: { replaysRefusals: true } } },
      });
      await lab.deliver();
      await shorten(lab, id);
      await lab.deliver();
      const messages = await messagesOf(id);
      expect(messages.map(({ state, generation }) => `${state} ${generation}`)).to.deep.equal([
        'superseded 0',
        'delivered 1',
      ]);
      expect(messages[1].idempotency_key).to.equal(createKey('test-office', 'order', String(id), 1));
    });

    it('takes the place of the create when the correction came in while that was under way', async () => {
      const { lab, id, orderNo } = await oneOrder(strict);
      const hear = holdAnswers(lab);
      const running = lab.deliver();
      await waitFor('the request', () => requestsFor(lab, 'POST').length === 2);
      await shorten(lab, id);
      expect(await shapeOf(id)).to.deep.equal(['create sending', 'update pending']);
      hear();
      await running;
      expect(await shapeOf(id)).to.deep.equal(['create superseded', 'create delivered']);
      const order = lab.sandbox.ledger().orders.find(({ reference }) => reference === orderNo);
      expect(order?.record.items).to.have.length(1);
      const told = await kit.rows("SELECT COUNT(*) AS n FROM audit_log WHERE event='superseded'");
      expect(told[0].n).to.equal(1);
    });
  });

  /** Somebody else was there first, with an older state of the order and under its key. */
  const sentByAnother = async () => {
    const { lab, id, orderNo } = await oneOrder();
    await lab.deliver({ scope: { only: new Map([['customer', new Set(['1', '2'])]]) } });
    const [order] = await messagesOf(id);
    const [sent] = await kit.rows(
      'SELECT b.body, b.record FROM message_body b JOIN outbox_message m ON m.id=b.message_id WHERE m.id=?',
      [order.id],
    );
    const older = { ...JSON.parse(sent?.body ?? sent?.record), items: [{ sku: 'SKU-0001', qty: 9, price: 100 }] };
    const { order_id: serviceId = null } = await askAsAnother(lab, 'POST', '/v1/orders', order.idempotency_key, older);
    return { lab, id, orderNo, order, serviceId };
  };

  it('waits with its change while something else stands under its key at the service, and makes no second one', async () => {
    const { lab, id, orderNo } = await sentByAnother();
    await lab.deliver();
    await shorten(lab, id);
    await lab.deliver();
    expect(await shapeOf(id)).to.deep.equal(['create parked', 'update pending']);
    const there = lab.sandbox.ledger().orders.filter(({ reference }) => reference === orderNo);
    expect(there.map(({ record }) => record.items[0]?.qty)).to.deep.equal([9]);
  });

  it('is brought to its newest form when a person says which record stands behind a conflict', async () => {
    const { lab, id, orderNo, serviceId } = await sentByAnother();
    await lab.deliver();
    expect(await shapeOf(id)).to.deep.equal(['create parked']);
    await say(kit, 'delivered', { entity: 'order', keys: [String(id)] }, serviceId);
    await lab.capture();
    await lab.deliver();
    expect(await shapeOf(id)).to.deep.equal(['create delivered', 'update delivered']);
    expect(lab.sandbox.ledger().orders.filter(({ reference }) => reference === orderNo)).to.have.length(1);
    await expectAllAtService(lab);
  });

  it('changes the customer too, when that is what was edited', async () => {
    const { lab } = await oneOrder();
    await lab.deliver();
    await lab.changeErp("UPDATE customers SET name='New & Sons', email=NULL WHERE id=1");
    await lab.capture({ sweep: true });
    expect(await lab.deliver()).to.deep.include({ delivered: { customers: 1, orders: 0 } });
    const [customer] = lab.sandbox.ledger().customers;
    expect(customer?.record.name).to.equal('New & Sons');
    expect(customer?.record).to.not.have.property('email');
  });
});
