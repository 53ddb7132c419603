import { expect } from 'chai';
import { readOrdersBack } from '../../../src/inbound/orders/read-back.js';
import { readOrder } from '../../../src/inbound/orders/read-order.js';
import { wantedRows, writeBackForm } from '../../../src/inbound/write-back/wanted-rows.js';
import { sync } from '../../../src/operator/sync.js';
import { deliver } from '../../../src/outbound/deliver/deliver.js';
import type { ServiceLease } from '../../../src/outbound/deliver/service-lease.js';
import { BindingHolders } from '../../../src/outbound/outbox/binding-holders.js';
import { bindRecords, type NewBinding } from '../../../src/outbound/outbox/bindings.js';
import { editSampleLine } from '../../support/change-sample-erp.js';
import { forged } from '../../support/forged.js';
import { type Lab, onAnyLab, withServiceLease } from '../../support/jobs/job-lab.js';
import { withMethod } from '../../support/jobs/with-method.js';

onAnyLab('what the service said last of an order', (kit) => {
  const start = async () => {
    const lab = await kit.start({
      customers: 1,
      orders: 1,
      settings: {
        service: { endpoints: { readOrder: {} }, limits: [{ requests: 500, perSeconds: 0.1 }] },
        orders: { readBack: { enabled: true, finalStates: ['completed'], maxShare: 0.5 } },
      },
    });
    await lab.capture();
    await lab.deliver();
    const [bound] = await kit.rows("SELECT source_key, service_id FROM binding WHERE entity='order'");
    const { source_key: sourceKey, service_id: orderId } = bound as { source_key: string; service_id: string };
    const setOrder = (values: { status?: string; total?: number }) => lab.sandbox.setOrder(orderId, values);
    const read = () => withServiceLease(lab.context, (lease) => readOrder(lab.context, lab.client, lease, { orderId }));
    const edit = async (price: number) => {
      await editSampleLine(lab.erp, Number(sourceKey), 1, price);
      await lab.capture({ sweep: true });
    };
    const atService = () => {
      const order = lab.sandbox.ledger().orders.find(({ order_id }) => order_id === orderId);
      return { status: order?.status, total: order?.total };
    };
    return { lab, sourceKey, orderId, setOrder, read, edit, atService };
  };
  /** The texts that the ERP gets. */
  const told = async ({ settings }: Lab, sourceKey: string) => {
    const form = writeBackForm(settings);
    const rows = await kit.store.read('look', (tx) => wantedRows(tx, 'orders', [sourceKey], form));
    const { service_status: status, service_total: total } = rows.get(sourceKey) ?? {};
    return { status, total: total == null ? null : Math.round(Number(total) * 100) };
  };

  for (const status of ['confirmed', 'completed'])
    it(`is an acknowledgement that came after it was read as ${status}, and a reading after that`, async () => {
      const { lab, sourceKey, setOrder, read, edit, atService } = await start();
      expect(await told(lab, sourceKey)).to.deep.equal(atService());
      setOrder({ status });
      await read();
      await edit(77);
      await lab.deliver();
      expect(await told(lab, sourceKey)).to.deep.equal(atService());
      // The state as it was read is not final any more, so it is read again without a restart.
      await kit.rows("UPDATE binding SET read_asked_at=NULL WHERE entity='order'");
      setOrder({ status: 'shipped' });
      expect(await withServiceLease(lab.context, (lease) => readOrdersBack(lab.context, lab.client, lease))).to.include(
        {
          read: 1,
        },
      );
      expect(await told(lab, sourceKey)).to.deep.equal(atService());
    });

  it('is not a total from before an acknowledgement that names none', async () => {
    const { lab, sourceKey, read, edit, atService } = await start();
    await read();
    await edit(77);
    const wordless = { kind: 'invalid-json-shape', body: {}, match: { method: 'PATCH' }, times: 1 } as const;
    lab.sandbox.setFaults([wordless]);
    await lab.deliver();
    expect(await told(lab, sourceKey)).to.deep.equal({ status: atService().status, total: null });
  });

  it('is not what a resend of its create replays', async () => {
    const { lab, sourceKey, setOrder, read, atService } = await start();
    setOrder({ status: 'shipped', total: 4711 });
    await read();
    const partners = { reader: lab.reader, client: () => lab.client };
    const forced = { stages: ['capture', 'deliver'] as const, filter: { entity: 'order' as const }, force: true };
    expect((await sync(lab.context, partners, forced)).deliver?.delivered.orders).to.equal(1);
    expect(await told(lab, sourceKey)).to.deep.equal(atService());
  });

  it('is not a reading during which an update was acknowledged or is being sent; it is asked for again', async () => {
    const { lab, sourceKey, orderId, edit, atService } = await start();
    /** Reads the order; something happens between the service's answer and its record. */
    const readWhile = (happens: (lease: ServiceLease) => Promise<unknown>) =>
      withServiceLease(lab.context, async (lease) => {
        const client = withMethod(lab.client, 'read', async (...asked) => {
          const answer = await lab.client.read(...asked);
          await happens(lease);
          return answer as never;
        });
        return readOrder(lab.context, client, lease, { orderId });
      });
    const notRead = { kind: 'not_read', isRefused: false, isItsOwn: true };
    await edit(77);
    const deliverWith = (lease: ServiceLease) =>
      deliver(lab.context, lab.client, lease, {
        untilDrained: true,
        scope: { only: null },
        retryHorizonMs: 20_000,
        trial: false,
        erp: lab.reader,
      });
    expect(await readWhile(deliverWith)).to.deep.include(notRead);
    expect(await told(lab, sourceKey)).to.deep.equal(atService());

    lab.sandbox.setOrder(orderId, { status: 'shipped' });
    const sending = () => kit.rows(`UPDATE outbox_message SET ${forged.sending} WHERE entity='order' AND revision=2`);
    expect(await readWhile(sending)).to.deep.include(notRead);
    expect((await told(lab, sourceKey)).status).to.equal('confirmed');
    await kit.rows(`UPDATE outbox_message SET ${forged.delivered} WHERE entity='order' AND revision=2`);
    expect(await readWhile(async () => undefined)).to.include({ kind: 'read', status: 'shipped' });
    expect(await told(lab, sourceKey)).to.deep.equal(atService());
  });

  it('stays with the id where a writer of the binding knows nothing newer, and a total left out is not known any more', async () => {
    const bind = (serviceId: string, words: NewBinding['words'], renamedFrom: string | null = null) =>
      kit.store.transaction('bind', async (tx) => {
        const name = { entity: 'order' as const, sourceKey: '1', serviceId, renamedFrom };
        const rest = { revision: 1, generation: 0, contentHash: 'h', mappingFingerprint: 'm' };
        const binding = { ...name, ...rest, identity: null, acknowledged: null, words, said: null };
        await bindRecords(tx, [binding], await BindingHolders.of(tx, [name]), 1);
        const row = 'SELECT service_status AS status, service_total AS total FROM binding';
        return (await tx.select(row))[0];
      });
    const said = { status: 'confirmed', total: 100 };
    expect(await bind('ord_1', said)).to.deep.equal(said);
    expect(await bind('ord_1', null), 'adopted').to.deep.equal(said);
    expect(await bind('ord_1', { status: null, total: null }), 'resolved').to.deep.equal({ ...said, total: null });
    expect(await bind('ord_1', { status: null, total: 7 }), 'looked up').to.deep.equal({ ...said, total: 7 });
    expect(await bind('ord_2', null, 'ord_1'), 'another id').to.deep.equal({ status: null, total: null });
  });
});
