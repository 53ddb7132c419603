import { expect } from 'chai';
import fc from 'fast-check';
import { confirmMessages } from '../../../src/operator/actions/held-changes.js';
import { rekeyRecord } from '../../../src/operator/actions/rekey-record.js';
import { findRecords } from '../../../src/operator/find-records.js';
import { readRecoveryState } from '../../../src/operator/recover.js';
import type { KnownRecord } from '../../../src/outbound/capture/known-records.js';
import type { ReadRow } from '../../../src/outbound/capture/plan-row.js';
import { decideReplacement, type Replacement } from '../../../src/outbound/capture/replaced-records.js';
import { messageStates } from '../../../src/outbound/outbox/message.js';
import { cancelSampleOrder, editSampleLine, insertSampleOrder } from '../../support/change-sample-erp.js';
import { explained } from '../../support/explained.js';
import { type Lab, onAnyLab } from '../../support/jobs/job-lab.js';
import { holdAsLost } from '../../support/jobs/lost-store.js';
import { say } from '../../support/jobs/say.js';

onAnyLab('an order that says which one it goes on for', (kit) => {
  const replacing = {
    cancelled: { column: 'status', values: ['cancelled'] },
    onCancelled: 'delete',
    onDeleted: 'delete',
    replaces: 'remark',
  };
  const start = async (orders: object = {}) => {
    const lab = await kit.start({ customers: 1, orders: 3, settings: { orders: { ...replacing, ...orders } } });
    await lab.changeErp('UPDATE sales_orders SET remark=NULL');
    await works(lab);
    const [bound] = await kit.rows(
      "SELECT source_key, service_id FROM binding WHERE entity='order' ORDER BY source_key",
    );
    return { lab, from: String(bound.source_key), serviceId: String(bound.service_id) };
  };
  const works = async (lab: Lab, sweep = true) => {
    const captured = await lab.capture({ sweep });
    await lab.deliver();
    return captured;
  };
  /** Enters an order that says it goes on for another one. */
  const replace = async (lab: Lab, from: string, status = 'confirmed') => {
    const { id } = await insertSampleOrder(lab.erp, { status, lines: [{ qty: 7 }] });
    await lab.changeErp('UPDATE sales_orders SET remark=? WHERE id=?', [from, id]);
    return String(id);
  };
  const amend = async (lab: Lab, from: string) => {
    await cancelSampleOrder(lab.erp, Number(from));
    return replace(lab, from);
  };
  const boundTo = async (serviceId: string) =>
    (await kit.rows('SELECT source_key FROM binding WHERE service_id=?', [serviceId])).map((row) => row.source_key);
  const held = () =>
    kit.rows(
      "SELECT source_key, reason_code, reason_data FROM outbox_message WHERE state='parked' AND park_class='held'",
    );
  const atService = (lab: Lab, serviceId: string) =>
    lab.sandbox.ledger().orders.find(({ order_id: id }) => id === serviceId)?.record.items;
  const story = async (lab: Lab, sourceKey: string) => {
    const { words } = await explained(lab.context, { entity: 'order', sourceKey, erpIdentity: '' }, () => 'then');
    return [words.where, ...words.why].join(' ');
  };

  it('is the same record of the service, changed: nothing is sent twice, and nothing removed', async () => {
    const { lab, from, serviceId } = await start();
    const to = await amend(lab, from);
    await works(lab, false);
    await works(lab);
    expect(await boundTo(serviceId)).to.deep.equal([to]);
    const { orders, deleted } = lab.sandbox.ledger();
    expect([orders.length, deleted]).to.deep.equal([3, []]);
    expect(atService(lab, serviceId)?.map(({ qty }) => qty)).to.deep.equal([7]);
    const audit = await kit.rows("SELECT source_key, outcome FROM audit_log WHERE event='replaced' ORDER BY id");
    expect(audit.map((line) => [line.source_key, line.outcome])).to.deep.equal([
      [from, 'move'],
      [to, 'move'],
    ]);
    expect(await story(lab, from)).to.include(`The ERP has ${to} in its place since then: it goes on under that key`);
    expect(await story(lab, to)).to.include(`The ERP has it in place of ${from}, since then`);
    expect(
      await kit.store.read('look', (tx) => findRecords(tx, from, { by: 'key', entity: 'order', sources: [] })),
    ).to.have.length(1);
    // An edit of it is an edit of that record.
    await editSampleLine(lab.erp, Number(to), 1, 9);
    await works(lab);
    expect(atService(lab, serviceId)?.map(({ qty }) => qty)).to.deep.equal([9]);
  });

  it('leaves its key to an order that is new, which uses no idempotency key again', async () => {
    const { lab, from, serviceId } = await start();
    await editSampleLine(lab.erp, Number(from), 1, 4);
    await works(lab);
    const to = await amend(lab, from);
    await works(lab);
    await lab.changeErp('DELETE FROM sales_order_lines WHERE order_id=?', [from]);
    await lab.changeErp('DELETE FROM sales_orders WHERE id=?', [from]);
    const { id } = await insertSampleOrder(lab.erp);
    await lab.changeErp('UPDATE sales_orders SET id=? WHERE id=?', [from, id]);
    await lab.changeErp('UPDATE sales_order_lines SET order_id=? WHERE order_id=?', [from, id]);
    await works(lab);
    await editSampleLine(lab.erp, Number(from), 1, 3);
    await editSampleLine(lab.erp, Number(to), 1, 8);
    await works(lab);
    expect(lab.sandbox.ledger().orders).to.have.length(4);
    expect(atService(lab, serviceId)?.map(({ qty }) => qty)).to.deep.equal([8]);
    const open = await kit.rows(
      "SELECT state, reason_code, reason_data FROM outbox_message WHERE state NOT IN ('delivered','superseded')",
    );
    expect(open).to.deep.equal([]);
  });

  it('is sent instead of one of which nothing was sent', async () => {
    const { lab } = await start();
    const { id } = await insertSampleOrder(lab.erp);
    await lab.capture({ sweep: true });
    const to = await amend(lab, String(id));
    await works(lab);
    expect(lab.sandbox.ledger().orders).to.have.length(4);
    expect(await kit.rows('SELECT state FROM outbox_message WHERE source_key=?', [String(id)])).to.deep.equal([
      { state: 'superseded' },
    ]);
    expect(await story(lab, to)).to.include('At the service');
  });

  it('goes on for one that may have reached the service, with its key and bytes', async () => {
    const { lab } = await start();
    const { id, orderNo } = await insertSampleOrder(lab.erp);
    lab.sandbox.setFaults([{ kind: 'reset-after-commit', match: { bodyIncludes: orderNo } }]);
    await lab.capture({ sweep: true });
    await lab.deliver({ retryHorizonMs: 0 });
    lab.sandbox.clearFaults();
    const [before] = await kit.rows('SELECT state, idempotency_key FROM outbox_message WHERE source_key=?', [`${id}`]);
    expect(before.state).to.equal('in_doubt');
    const to = await amend(lab, String(id));
    await works(lab);
    expect(lab.sandbox.ledger().orders).to.have.length(4);
    const [sent] = await kit.rows(
      "SELECT idempotency_key FROM outbox_message WHERE source_key=? AND operation='create'",
      [to],
    );
    expect(sent.idempotency_key).to.equal(before.idempotency_key);
    expect(
      lab.sandbox
        .ledger()
        .orders.at(-1)
        ?.record.items.map(({ qty }) => qty),
    ).to.deep.equal([7]);
  });

  it('is no new one where a person discarded what may have reached the service', async () => {
    const { lab } = await start();
    const { id, orderNo } = await insertSampleOrder(lab.erp);
    lab.sandbox.setFaults([{ kind: 'reset-after-commit', match: { bodyIncludes: orderNo } }]);
    await lab.capture({ sweep: true });
    await lab.deliver({ retryHorizonMs: 0 });
    lab.sandbox.clearFaults();
    // Past the lifetime of its key nothing proves whether it is there.
    lab.context.nowMs = () => Date.now() + 25 * 3_600_000;
    await lab.deliver();
    await say(kit, 'discard', { keys: [String(id)] });
    expect(await kit.rows('SELECT state FROM outbox_message WHERE source_key=?', [String(id)])).to.deep.equal([
      { state: 'discarded' },
    ]);
    await amend(lab, String(id));
    await works(lab);
    expect(lab.sandbox.ledger().orders).to.have.length(4);
  });

  it('is held while the ERP still has the other one, and goes on by itself when that is over', async () => {
    const { lab, from, serviceId } = await start();
    const to = await replace(lab, from);
    await works(lab);
    const [waiting, ...more] = await held();
    expect(more).to.deep.equal([]);
    expect(waiting.source_key).to.equal(to);
    expect(waiting.reason).to.include(`it replaces ${from}, says the ERP, which the ERP still has`);
    expect(waiting.reason).to.include(`waybill rekey orders ${from} ${to}`);
    expect(lab.sandbox.ledger().orders).to.have.length(3);
    await cancelSampleOrder(lab.erp, Number(from));
    await works(lab);
    expect(await held()).to.deep.equal([]);
    expect(await boundTo(serviceId)).to.deep.equal([to]);
    expect(lab.sandbox.ledger().deleted).to.deep.equal([]);
  });

  it('is found through one that was never read: replaced twice between two passes', async () => {
    const { lab, from, serviceId } = await start();
    const between = await amend(lab, from);
    const to = await amend(lab, between);
    await works(lab);
    expect(await boundTo(serviceId)).to.deep.equal([to]);
    expect(lab.sandbox.ledger().orders).to.have.length(3);
  });

  it('is held where two say it of one record, in one pass or later', async () => {
    const { lab, from } = await start();
    const first = await amend(lab, from);
    const second = await replace(lab, from);
    await works(lab);
    expect((await held()).map((row) => row.source_key)).to.have.members([first, second]);
    expect(lab.sandbox.ledger().orders).to.have.length(2);
    const other = (await kit.rows("SELECT source_key FROM binding WHERE entity='order' ORDER BY source_key"))[0];
    const taken = await amend(lab, String(other.source_key));
    await works(lab);
    const late = await replace(lab, String(other.source_key));
    await works(lab);
    const [reason] = (await held()).filter((row) => row.source_key === late).map((row) => row.reason);
    expect(reason).to.include(`and so does ${taken}`);
  });

  it('is settled by the commands that its reason names: one goes on, the other is one of its own', async () => {
    const { lab, from, serviceId } = await start({ onCancelled: 'nothing', onDeleted: 'nothing' });
    const first = await amend(lab, from);
    const second = await replace(lab, from);
    await works(lab);
    expect(await held()).to.have.length(2);
    const keys = { entity: 'order', from, to: second, reason: 'a person looked', dryRun: false } as const;
    expect(await rekeyRecord(lab.context, lab.reader, keys)).to.include({ serviceId });
    const [{ id }] = await kit.rows("SELECT id FROM outbox_message WHERE park_class='held' AND state='parked'");
    await kit.store.transaction('let it go', (tx) =>
      confirmMessages(
        tx,
        [Number(id)],
        { records: [{ entity: 'order', sourceKey: first }] },
        { confirmation: 'send', reason: 'a person looked' },
        Date.now(),
      ),
    );
    await works(lab);
    await works(lab);
    expect(await boundTo(serviceId)).to.deep.equal([second]);
    expect(lab.sandbox.ledger().orders).to.have.length(4);
    expect(await held()).to.deep.equal([]);
  });

  it('is a new one where the service was told before that the other is over', async () => {
    const { lab, from, serviceId } = await start();
    await cancelSampleOrder(lab.erp, Number(from));
    await works(lab);
    await replace(lab, from);
    await works(lab);
    const { orders, deleted } = lab.sandbox.ledger();
    expect([orders.length, orders.some(({ order_id: id }) => id === serviceId)]).to.deep.equal([3, false]);
    expect(deleted).to.have.length(1);
  });

  it('is a new one where the service was told so by a patch, and keeps the other as it is', async () => {
    const { lab, from, serviceId } = await start({ onCancelled: { patch: { remark: 'cancelled' } } });
    await cancelSampleOrder(lab.erp, Number(from));
    await works(lab);
    const to = await replace(lab, from);
    await works(lab);
    expect(await boundTo(serviceId)).to.deep.equal([from]);
    expect(lab.sandbox.ledger().orders).to.have.length(4);
    expect(await story(lab, to)).to.include('At the service');
  });

  it('is sent once its row can be sent, after the unsent one that it replaces was closed', async () => {
    const { lab } = await start();
    const { id } = await insertSampleOrder(lab.erp);
    await lab.capture({ sweep: true });
    const to = await amend(lab, String(id));
    await lab.changeErp('UPDATE sales_order_lines SET qty=-1 WHERE order_id=?', [to]);
    await works(lab);
    expect(lab.sandbox.ledger().orders).to.have.length(3);
    await editSampleLine(lab.erp, Number(to), 1, 2);
    await works(lab);
    expect(lab.sandbox.ledger().orders).to.have.length(4);
    expect(await held()).to.deep.equal([]);
  });

  it('is what a person says: one of its own stays one', async () => {
    const { lab, from, serviceId } = await start({ onCancelled: 'nothing', onDeleted: 'nothing' });
    const to = await replace(lab, from);
    await works(lab);
    const [{ id }] = await kit.rows("SELECT id FROM outbox_message WHERE park_class='held'");
    await kit.store.transaction('let it go', (tx) =>
      confirmMessages(
        tx,
        [Number(id)],
        { records: [{ entity: 'order', sourceKey: to }] },
        { confirmation: 'send', reason: 'a person looked' },
        Date.now(),
      ),
    );
    await cancelSampleOrder(lab.erp, Number(from));
    await works(lab);
    expect(lab.sandbox.ledger().orders).to.have.length(4);
    expect(await boundTo(serviceId)).to.deep.equal([from]);
    await works(lab);
    expect(await story(lab, from)).to.include(`The ERP has ${to} in its place`);
  });

  it('is shown by a dry run as the change that it is', async () => {
    const { lab, from } = await start();
    const to = await amend(lab, from);
    const touched: string[] = [];
    await lab.capture({
      dryRun: true,
      onTouched: (records) => {
        for (const { sourceKey, operation } of records) touched.push(`${operation} ${sourceKey}`);
      },
    });
    expect(touched).to.deep.equal([`update ${to}`]);
    expect(await kit.rows('SELECT * FROM replaced_record')).to.deep.equal([]);
  });

  it('is held while a lost store is recovered, which may have sent what seems unsent', async () => {
    const { lab } = await start();
    const { id } = await insertSampleOrder(lab.erp);
    await lab.capture({ sweep: true });
    await holdAsLost(kit);
    const to = await amend(lab, String(id));
    await lab.capture({ sweep: true });
    const [waiting] = await held();
    expect(waiting).to.have.property('source_key', to);
    expect(waiting.reason).to.include('which a lost store may have sent');
    expect(await kit.rows('SELECT state FROM outbox_message WHERE source_key=?', [String(id)])).to.deep.equal([
      { state: 'pending' },
    ]);
  });

  it('keeps a lost store from sending creates again under keys that it can not make', async () => {
    const { lab } = await start();
    expect(await readRecoveryState(lab.context)).to.include({ isRekeyed: true });
  });
});

onAnyLab('a customer that was merged', (kit) => {
  const start = async (onDeleted = 'nothing') => {
    const query =
      'SELECT c.id, c.customer_no, c.name, c.email, c.street, c.postcode, c.city, c.country, c.updated_at, ' +
      '(SELECT MAX(m.old_id) FROM merged m WHERE m.new_id = c.id) AS merged_from FROM customers c';
    const lab = await kit.start({
      customers: 2,
      orders: 6,
      settings: { customers: { query, replaces: 'merged_from', onDeleted } },
    });
    await lab.changeErp('CREATE TABLE IF NOT EXISTS merged (old_id INTEGER, new_id INTEGER)');
    await lab.changeErp('DELETE FROM merged');
    await works(lab);
    return lab;
  };
  const works = async (lab: Lab) => {
    await lab.capture({ sweep: true });
    await lab.deliver();
  };
  const bindings = () =>
    kit.rows("SELECT source_key, service_id FROM binding WHERE entity='customer' ORDER BY source_key");

  it('into a known one stays a record of its own, and its orders move to the other', async () => {
    const lab = await start();
    const before = await bindings();
    const [{ source_key: kept, service_id: code }, { source_key: gone }] = before as [
      Record<string, string>,
      Record<string, string>,
    ];
    await lab.changeErp('UPDATE sales_orders SET customer_id=? WHERE customer_id=?', [kept ?? '', gone ?? '']);
    await lab.changeErp('DELETE FROM customers WHERE id=?', [gone ?? '']);
    await lab.changeErp('INSERT INTO merged VALUES (?,?)', [gone ?? '', kept ?? '']);
    await works(lab);
    await works(lab);
    expect(await bindings()).to.deep.equal(before);
    const { orders, customers } = lab.sandbox.ledger();
    expect(customers).to.have.length(2);
    expect(new Set(orders.map(({ record }) => record.customer_code))).to.deep.equal(new Set([code]));
    const audit = await kit.rows("SELECT source_key, outcome FROM audit_log WHERE event='replaced' ORDER BY id");
    expect(
      audit.map((line) => [line.source_key, line.outcome]),
      'said once',
    ).to.deep.equal([
      [gone, 'merge'],
      [kept, 'merge'],
    ]);
    const about = { entity: 'customer', sourceKey: gone ?? '', erpIdentity: '' } as const;
    const { words } = await explained(lab.context, about, () => 'then');
    expect(words.why.join()).to.include(`The ERP has ${kept} in its place since then: it stays a record of its own`);
  });

  it('into a new one with its code goes on as that, with its orders', async () => {
    const lab = await start('delete');
    const [{ source_key: from, service_id: code }] = (await bindings()) as [Record<string, string>];
    await lab.changeErp('UPDATE customers SET id=? WHERE id=?', ['777', from ?? '']);
    await lab.changeErp('UPDATE sales_orders SET customer_id=? WHERE customer_id=?', ['777', from ?? '']);
    await lab.changeErp('INSERT INTO merged VALUES (?,?)', [from ?? '', '777']);
    await works(lab);
    await works(lab);
    expect((await bindings()).map((row) => row.source_key))
      .to.include('777')
      .and.not.include(from);
    const { customers, deleted, orders } = lab.sandbox.ledger();
    expect([customers.length, deleted, orders.length]).to.deep.equal([2, [], 6]);
    expect(customers.map((one) => one.customer_code)).to.include(code);
    const open = await kit.rows(
      "SELECT state, reason_code, reason_data FROM outbox_message WHERE state NOT IN ('delivered','superseded')",
    );
    expect(open).to.deep.equal([]);
  });

  it('into a new one under another code is another customer at the service', async () => {
    const lab = await start();
    const before = await bindings();
    const [{ source_key: from }] = before as [Record<string, string>];
    await lab.changeErp("UPDATE customers SET id=777, customer_no='K-NEW' WHERE id=?", [from ?? '']);
    await lab.changeErp('UPDATE sales_orders SET customer_id=? WHERE customer_id=?', ['777', from ?? '']);
    await lab.changeErp('INSERT INTO merged VALUES (?,?)', [from ?? '', '777']);
    await works(lab);
    await works(lab);
    expect(await bindings()).to.deep.include.members([...before, { source_key: '777', service_id: 'K-NEW' }]);
    const open = await kit.rows(
      "SELECT state, reason_code, reason_data FROM outbox_message WHERE state NOT IN ('delivered','superseded')",
    );
    expect(open).to.deep.equal([]);
    expect(lab.sandbox.ledger().orders).to.have.length(6);
  });
});

describe('what becomes of a record that another one replaces', () => {
  const newest = fc.record({
    id: fc.constant(1),
    revision: fc.integer({ min: 1, max: 9 }),
    operation: fc.constantFrom('create' as const, 'update' as const, 'delete' as const),
    generation: fc.constant(0),
    state: fc.constantFrom(...messageStates),
    parkClass: fc.constantFrom(null, 'unmapped' as const, 'refused' as const, 'held' as const),
    contentHash: fc.constant('h'),
    wasSent: fc.constantFrom(0 as const, 1 as const),
    firstSentAt: fc.constant(null),
    foundAt: fc.constant(null),
    mappingFingerprint: fc.constant('m'),
    identity: fc.constant(null),
    reason: fc.constant(null),
    number: fc.constant(null),
    idempotencyKey: fc.constant(null),
    removal: fc.constantFrom(null, 'cancelled' as const, 'deleted' as const),
  });
  const binding = fc.constant({
    revision: 1,
    generation: 0,
    contentHash: 'h',
    mappingFingerprint: 'm',
    identity: null,
  });
  const record: fc.Arbitrary<KnownRecord> = fc.record({
    newest: fc.option(newest),
    binding: fc.option(binding),
    closed: fc.option(fc.constant({ revision: 1, generation: 0 })),
    unproven: fc.constantFrom(undefined, 'sending' as const, 'sent' as const),
  }) as never;
  const claim = fc.record({
    row: fc.constant({ entity: 'order', sourceKey: 'N', content: { mapped: false } } as ReadRow),
    from: fc.constant('O'),
    spelled: fc.option(fc.constant('o')),
    isOver: fc.boolean(),
    rival: fc.option(fc.constant('R')),
  }) as fc.Arbitrary<Replacement>;

  it('is never two records made one, nor one moved that is on its way, still there, or told to be over', () => {
    fc.assert(
      fc.property(claim, record, record, (one, own, named) => {
        const { to } = decideReplacement(one, own, named);
        const isSure = one.isOver && one.rival === null && one.spelled === null;
        if (to === 'move' || to === 'withdraw') {
          expect([isSure, own.binding, own.closed, named.unproven === 'sending']).to.deep.equal([
            true,
            null,
            null,
            false,
          ]);
          expect(own.newest?.wasSent ?? 0, 'own').to.equal(0);
        }
        if (to === 'withdraw') expect([named.binding, named.unproven]).to.deep.equal([null, undefined]);
        // A record that may be at the service is never made a second time without a word.
        const isRemoved = named.newest?.removal || named.newest?.operation === 'delete';
        const isFresh = own.newest === null && own.binding === null && own.closed === null;
        if (isFresh && !isRemoved && (named.binding !== null || named.unproven !== undefined))
          expect(to).to.be.oneOf(['move', 'hold']);
      }),
    );
  });
});
