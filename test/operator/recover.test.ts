import { expect } from 'chai';
import { legacy } from '../../src/model/facts/fact.js';
import type { OrderRecord } from '../../src/model/record.js';
import { confirmMessages } from '../../src/operator/actions/held-changes.js';
import { planAction } from '../../src/operator/actions/message-actions.js';
import { RecoveryRefused, recover } from '../../src/operator/recover.js';
import { capture } from '../../src/outbound/capture/capture.js';
import type { CapturePageResult } from '../../src/outbound/capture/capture-page.js';
import type { BindingRow } from '../../src/outbound/outbox/exported-bindings.js';
import { createKey } from '../../src/outbound/outbox/idempotency-key.js';
import { presumeSent } from '../../src/outbound/recovery/recover-messages.js';
import { pauseLane } from '../../src/store/lane-pauses.js';
import type { Store, Tx } from '../../src/store/store.js';
import { underWay } from '../store/stores.js';
import { cancelSampleOrder, editSampleLine, insertSampleOrder, wallTimeNow } from '../support/change-sample-erp.js';
import { forged } from '../support/forged.js';
import { askAsAnother } from '../support/jobs/ask-as-another.js';
import { type Lab, type LabKit, onSqliteLabAnd } from '../support/jobs/job-lab.js';
import { exportOf, exportRows, holdAsLost, loseEverything } from '../support/jobs/lost-store.js';
import { say } from '../support/jobs/say.js';
import { expectAllAtService, statesOf } from '../support/jobs/service-of.js';
import { withMethod } from '../support/jobs/with-method.js';
import { sandboxLookUps } from '../support/sandbox-look-ups.js';
import { refusalOf } from '../support/told.js';
import { waitFor } from '../support/wait-for.js';

onSqliteLabAnd('mysql', 'a store that was lost', (kit) => {
  const settings = { orders: { cancelled: { column: 'status', values: ['cancelled'] }, onCancelled: 'delete' } };

  const hold = () => holdAsLost(kit);
  const empty = () => loseEverything(kit);
  const findAtService = (key: string, serviceId: string | null) =>
    say(kit, 'delivered', { keys: [key], entity: 'order' }, serviceId);
  const removed = async (): Promise<{ lab: Lab; id: number }> => {
    const lab = await kit.start({ customers: 2, orders: 3, settings });
    const { id } = await insertSampleOrder(lab.erp, {});
    await lab.capture({ sweep: true });
    await lab.deliver();
    await cancelSampleOrder(lab.erp, id);
    await lab.capture({ sweep: true });
    await lab.deliver();
    await expectAllAtService(lab);
    return { lab, id };
  };

  for (const capturedBefore of [false, true]) {
    it(`knows of an export what was removed, ${capturedBefore ? 'also when its row was captured as new before' : 'before it captures its row anew'}`, async () => {
      const { lab, id } = await removed();
      const rows = await exportRows(kit);
      await empty();
      await lab.changeErp("UPDATE sales_orders SET status='confirmed', updated_at=? WHERE id=?", [wallTimeNow(), id]);
      if (capturedBefore) await lab.capture({ sweep: true });
      await hold();
      const fate = { to: 'in_doubt', sentSince: Date.now() } as const;
      const result = await recover(lab.context, lab.reader, { fate, bindings: exportOf(rows), reason: 'a test' });
      expect(result).to.deep.include({ unbound: 1, unproven: 0 });
      expect(result.bindings).to.include({ imported: 5, removed: 1 });

      const [message] = await kit.rows(
        "SELECT * FROM outbox_message WHERE operation='create' AND state<>'superseded' AND entity='order' AND source_key=?",
        [String(id)],
      );
      expect(message).to.include({ operation: 'create', state: 'in_doubt', generation: 1 });
      expect(message.idempotency_key).to.equal(createKey('test-office', 'order', String(id), 1));
      await lab.deliver();
      await expectAllAtService(lab);
    });
  }

  it('knows of an export also what was captured under another spelling of its key', async () => {
    const loosely = (column: string) => (kit.erpType === 'sqlite' ? `(${column} COLLATE NOCASE)` : column);
    const [customer, order] = [loosely('c.customer_no'), loosely('o.order_no')];
    const fields = { customer_code: 'id', name: 'name', country: 'country' };
    const byText = {
      customers: { query: `SELECT ${customer} AS ck, c.* FROM customers c`, key: 'ck', fields },
      orders: {
        query: `SELECT ${order} AS ok, ${customer} AS ck, o.* FROM sales_orders o JOIN customers c ON c.id=o.customer_id`,
        key: 'ok',
        customerKey: 'ck',
        lines: {
          query: `SELECT ${order} AS ok, l.line_no, p.sku, l.qty, l.unit_price FROM sales_order_lines l
                    JOIN sales_orders o ON o.id=l.order_id JOIN products p ON p.id=l.product_id`,
          orderKey: 'ok',
        },
      },
    };
    const lab = await kit.start({ customers: 2, orders: 4, settings: byText });
    await lab.capture({ sweep: true });
    await lab.deliver();
    const rows = await exportRows(kit);
    await empty();
    await lab.changeErp('UPDATE sales_orders SET order_no=LOWER(order_no)');
    await lab.changeErp('UPDATE customers SET customer_no=LOWER(customer_no)');
    await insertSampleOrder(lab.erp);
    await lab.capture({ sweep: true });
    await hold();
    const fate = { to: 'in_doubt', sentSince: Date.now() } as const;
    await recover(lab.context, lab.reader, { fate, bindings: exportOf(rows), reason: 'a test' });
    await lab.deliver();
    const { orders, customers, duplicates } = lab.sandbox.ledger();
    expect([orders.length, customers.length, duplicates]).to.deep.equal([5, 2, []]);
    const open = "SELECT * FROM outbox_message WHERE state NOT IN ('delivered','superseded')";
    expect(await kit.rows(open)).to.deep.equal([]);
  });

  it('closes also what a pass is writing as new in that moment', async () => {
    const lab = await kit.start({ customers: 1, orders: 2 });
    await lab.capture({ sweep: true });
    await lab.deliver();
    const rows = await exportRows(kit);
    await empty();
    await hold();
    const { store, hasRead } = inMidPage(kit, `SELECT 1 FROM binding HAVING COUNT(*)=${rows.length}`);
    let pass: Promise<unknown> | undefined;
    async function* exported() {
      yield* rows;
      pass = capture({ ...lab.context, actor: 'daemon', store }, lab.reader, { sweep: true });
      await hasRead;
    }
    const fate = { to: 'parked' } as const;
    const { bindings } = await recover(lab.context, lab.reader, {
      fate,
      bindings: { lineage: null, rekeyedAt: null, rows: exported() },
      reason: 'a test',
    });
    await pass;
    expect(bindings).to.include({ imported: rows.length, closed: rows.length });
    const open = "SELECT id FROM outbox_message WHERE operation='create' AND state<>'superseded'";
    expect(await kit.rows(open)).to.deep.equal([]);
  });

  it('says what to do, as no bug of ours, where capture is paused', async () => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    await hold();
    await kit.store.transaction('pause', (tx) =>
      pauseLane(tx, {
        lane: 'capture',
        cause: 'operator',
        until_at: null,
        reason: legacy('month end'),
        actor: 'A',
        since_at: 1,
      }),
    );
    const options = { fate: { to: 'parked' }, bindings: null, reason: 'a test' } as const;
    const refused = await recover(lab.context, lab.reader, options).catch((error: Error) => error);
    expect(refused).to.be.instanceOf(RecoveryRefused).with.property('name', 'RecoveryRefused');
    expect(refusalOf(refused as Error))
      .to.include('month end')
      .and.include('waybill resume capture');
  });

  it('judges also what a pass is writing in the moment of its end', async () => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    await lab.capture({ sweep: true });
    const [{ source_key: key }] = await kit.rows("SELECT source_key FROM outbox_message WHERE entity='order'");
    await hold();
    const { store: slow, hasRead } = inMidPage(kit, "SELECT 1 FROM store_info WHERE name='recovered_to'");
    let pass: Promise<unknown> | undefined;
    const store = withMethod(kit.store, 'transaction', async (action, work) => {
      if (action === 'end the recovery') {
        await editSampleLine(lab.erp, Number(key), 1, 9);
        pass = capture({ ...lab.context, actor: 'daemon', store: slow }, lab.reader, { sweep: true });
        await hasRead;
      }
      return kit.store.transaction(action, work);
    });
    const fate = { to: 'parked' } as const;
    await recover({ ...lab.context, store }, lab.reader, { fate, bindings: null, reason: 'a test' });
    await pass;
    expect(await statesOf(kit)).to.deep.equal({ parked: 2, superseded: 1 });
  });

  if (kit.dialect !== 'sqlite')
    it('judges also what a person lets go, in whatever moment of its end', async () => {
      const lab = await kit.start({ customers: 1, orders: 1 });
      const neighbour = await kit.connect();
      // There are so many that the judgements lock only the rows that they judge.
      await kit.store.transaction('as after a while', (tx) =>
        tx.run(`INSERT INTO outbox_message (entity, source_key, revision, operation, generation, content_hash, mapping_fingerprint,
                  state, captured_at, folded_key)
                SELECT 'order', seq, 0, 'create', 0, '', '', 'superseded', 0, seq FROM ${kit.dialect === 'mysql' ? 'seq_1000_to_3000' : 'generate_series(1000, 3000) AS s (seq)'}`),
      );
      await kit.rows(kit.dialect === 'mysql' ? 'ANALYZE TABLE outbox_message' : 'ANALYZE outbox_message');
      let statements = 1;
      for (let before = 0; before < statements; before++) {
        await kit.store.transaction('once more', (tx) =>
          tx.run("DELETE FROM outbox_message WHERE state<>'superseded'"),
        );
        await lab.capture({ sweep: true });
        const [{ id }] = await kit.rows("SELECT id FROM outbox_message WHERE entity='order' AND state='pending'");
        await kit.store.transaction('as a hold left it', (tx) =>
          tx.run(
            `UPDATE outbox_message SET ${forged.parked}, park_class='held', reason_code='legacy', reason_data='{"text":{"outside":"a reason"}}' WHERE id=?`,
            [id],
          ),
        );
        await hold();
        let said: Promise<unknown> | undefined;
        const letGo = async () => {
          said ??= neighbour.transaction('let it go', (tx) =>
            confirmMessages(tx, [Number(id)], {}, { confirmation: 'send', reason: 'a person looked' }, Date.now()),
          );
          await Promise.race([
            said,
            waitFor('the person waits', () => neighbour.read('who waits', (tx) => isConfirming(kit, tx))),
          ]);
        };
        const store = withMethod(kit.store, 'transaction', (action, work) =>
          kit.store.transaction(action, (tx) => {
            if (action !== 'end the recovery') return work(tx);
            statements = 0;
            return work(withHook(tx, async () => (statements++ === before ? letGo() : undefined)));
          }),
        );
        const fate = { to: 'in_doubt', sentSince: Date.now() } as const;
        await recover({ ...lab.context, store }, lab.reader, { fate, bindings: null, reason: 'a test' });
        await said;
        const [order] = await kit.rows('SELECT state, park_class, was_sent FROM outbox_message WHERE id=?', [id]);
        expect(Number(order.was_sent), `before statement ${before}`).to.equal(1);
        expect(`${order.state} ${order.park_class}`).to.be.oneOf(['in_doubt null', 'parked unproven']);
      }
      expect(statements).to.be.greaterThan(10);
    });

  describe('and that two recover at the same time', () => {
    const fate = { to: 'parked' } as const;
    /** A second recovery that comes to this transaction when the first has ended: what it says, and what it has changed. */
    const second = async (lab: Lab, rows: BindingRow[], action: string, meanwhile: () => Promise<unknown>) => {
      let afterFirst: Promise<unknown> | undefined;
      const store = withMethod(kit.store, 'transaction', async (asked, work) => {
        if (asked === action && !afterFirst) {
          // It takes an older export, so that the second would have something to add.
          await recover(lab.context, lab.reader, { fate, bindings: exportOf(rows.slice(0, -1)), reason: 'the first' });
          await meanwhile();
          afterFirst = wholeStore();
          await afterFirst;
        }
        return kit.store.transaction(asked, work);
      });
      const options = { fate, bindings: exportOf(rows), reason: 'the second' };
      const said = await recover({ ...lab.context, store }, lab.reader, options).then(() => 'nothing', refusalOf);
      expect(await wholeStore()).to.deep.equal(await afterFirst);
      return said;
    };
    const wholeStore = async () => {
      const tables = ['outbox_message', 'binding', 'closed_binding', 'audit_log', 'store_info', 'capture_cursor'];
      return Promise.all(tables.map(async (table) => [table, await kit.rows(`SELECT * FROM ${table} ORDER BY 1, 2`)]));
    };
    const lost = async () => {
      const lab = await kit.start({ customers: 1, orders: 2 });
      await lab.capture({ sweep: true });
      await lab.deliver();
      const rows = (await exportRows(kit)) as BindingRow[];
      await empty();
      await hold();
      return { lab, rows };
    };

    for (const action of ['import bindings', 'doubt older bindings', 'end the recovery'])
      it(`changes nothing with the second when the first has ended before it could ${action}, and says so`, async () => {
        const { lab, rows } = await lost();
        const said = await second(lab, rows, action, async () => {
          await insertSampleOrder(lab.erp, {});
          await lab.capture({ sweep: true });
        });
        expect(said).to.match(/Another `waybill recover` came to its end.*delivery goes on.*waybill audit/);
        await lab.deliver();
        await expectAllAtService(lab);
      });

    it('changes nothing with the second when another loss is found after the first', async () => {
      const { lab, rows } = await lost();
      const said = await second(lab, rows, 'end the recovery', () => holdAsLost(kit, { since: Date.now() }));
      expect(said).to.match(/delivery is held anew because the store is empty.*waybill recover --dry-run/);
    });
  });

  it('takes a binding for closed when the export is newer than the copy that was restored', async () => {
    const { lab, id } = await removed();
    const rows = await exportRows(kit);
    await kit.store.transaction('an older copy', async (tx) => {
      await tx.run('DELETE FROM closed_binding');
      await tx.run("UPDATE binding SET source_key=?, revision=1 WHERE entity='order' AND source_key='1'", [String(id)]);
    });
    await hold();
    const fate = { to: 'parked' } as const;
    const result = await recover(lab.context, lab.reader, { fate, bindings: exportOf(rows), reason: 'a test' });
    expect(result.bindings.removed).to.equal(1);
    expect(await kit.rows("SELECT 1 FROM binding WHERE entity='order' AND source_key=?", [String(id)])).to.deep.equal(
      [],
    );
  });

  it('leaves closed what the copy knows to be removed when the export is older', async () => {
    const { lab, id } = await removed();
    const [closed] = await kit.rows('SELECT * FROM closed_binding');
    const [other] = (await exportRows(kit)).filter((row) => !('closed_at' in row) && row.entity === 'order');
    const older = { ...other, source_key: String(id), service_id: closed?.service_id, revision: 1 } as BindingRow;
    await hold();
    const fate = { to: 'parked' } as const;
    const result = await recover(lab.context, lab.reader, { fate, bindings: exportOf([older]), reason: 'a test' });
    expect(result.bindings).to.include({ imported: 0, older: 1 });
    expect(await kit.rows("SELECT 1 FROM binding WHERE entity='order' AND source_key=?", [String(id)])).to.deep.equal(
      [],
    );
  });

  it('sends no create that was held or refused, because somebody may have let it go since', async () => {
    const lab = await kit.start({ customers: 1, orders: 4 });
    await lab.capture();
    await kit.store.transaction('as holds and the service left them', async (tx) => {
      for (const [key, parkClass] of [
        ['1', 'held'],
        ['2', 'refused'],
      ])
        await tx.run(
          `UPDATE outbox_message SET ${forged.parked}, park_class=?, reason_code='legacy', reason_data='{"text":{"outside":"a reason"}}' WHERE entity='order' AND source_key=?`,
          [parkClass as string, key as string],
        );
    });
    await hold();
    const fate = { to: 'in_doubt', sentSince: Date.now() } as const;
    const result = await recover(lab.context, lab.reader, { fate, bindings: null, reason: 'a test' });
    expect(result).to.deep.include({ unbound: 3, unproven: 2 });
    await lab.deliver();
    expect((await statesOf(kit)).parked).to.equal(2);
    expect(lab.sandbox.counts()).to.include({ customers: 1, orders: 2 });
    expect(await kit.rows("SELECT DISTINCT park_class FROM outbox_message WHERE state='parked'")).to.deep.equal([
      { park_class: 'unproven' },
    ]);
    const audited = await kit.rows("SELECT source_key FROM audit_log WHERE event='parked' AND outcome='unproven'");
    expect(audited.map(({ source_key: key }) => key).sort()).to.deep.equal(['1', '2']);
  });

  it('takes no word that a create is not at the service, while the lost store may have sent it a moment ago', async () => {
    const lab = await kit.start({ customers: 1, orders: 3, settings: { service: { maxProcessingSeconds: 300 } } });
    await lab.capture();
    const parked = ['held', 'refused', 'unproven'];
    for (const [nth, parkClass] of parked.entries())
      await kit.store.transaction('as an older copy knows them', (tx) =>
        tx.run(
          `UPDATE outbox_message SET ${forged.parked}, park_class=?, reason_code='legacy', reason_data='{"text":{"outside":"a reason"}}', ended_at=1, ended_boot_id='an older start',
                  ended_boot_ms=1 WHERE entity='order' AND source_key=?`,
          [parkClass, String(nth + 1)],
        ),
      );
    await hold();
    await recover(lab.context, lab.reader, { fate: { to: 'parked' }, bindings: null, reason: 'a test' });
    const request = {
      action: 'not_delivered',
      filter: { entity: 'order' },
      serviceId: null,
      reason: 'a test',
    } as const;
    const { ids, skipped } = await planAction(lab.context, request);
    expect(ids).to.deep.equal([]);
    expect([...skipped.values()].map(({ why, count }) => [why.code, count])).to.deep.equal([['still_working', 3]]);
  });

  it('finds what was cancelled meanwhile, also when the power goes right after the recovery', async () => {
    const lab = await kit.start({
      customers: 1,
      orders: 3,
      settings: { ...settings, capture: { overlapSeconds: 0 } },
    });
    await lab.capture({ sweep: true });
    await lab.deliver();
    await hold();
    await cancelSampleOrder(lab.erp, 2);
    await lab.capture();
    // Something newer, so that the cursor is past it.
    await editSampleLine(lab.erp, 1, 1, 55);
    await lab.capture();
    let passes = 0;
    const reader = withMethod(lab.reader, 'nowAsChangedAt', (entity) =>
      ++passes > 2 ? Promise.reject(new Error('the power is gone')) : lab.reader.nowAsChangedAt(entity),
    );
    const recovery = recover(lab.context, reader, { fate: { to: 'parked' }, bindings: null, reason: 'a test' });
    expect(await recovery.catch((error: Error) => error.message)).to.equal('the power is gone');
    await lab.capture();
    await lab.deliver();
    await expectAllAtService(lab);
  });

  it('compares what a person found at the service with the ERP at the next pass, also when no sweep is due', async () => {
    const lab = await kit.start({ customers: 1, orders: 2, settings: { capture: { overlapSeconds: 0 } } });
    await lab.capture();
    await lab.deliver();
    await empty();
    const [there] = lab.sandbox.ledger().orders;
    const [row] = await lab.readErp(`SELECT id FROM sales_orders WHERE order_no='${there?.reference}'`);
    const key = String(row?.id);
    // Before anything that the cursor still looks at.
    await editSampleLine(lab.erp, Number(key), 1, 77);
    await lab.capture({ sweep: true });
    await hold();
    await recover(lab.context, lab.reader, { fate: { to: 'parked' }, bindings: null, reason: 'a test' });
    await findAtService(key, there?.order_id ?? null);
    expect((await lab.capture()).captured.orders).to.equal(1);
    expect((await lab.capture()).captured.orders).to.equal(0);
  });

  for (const lookUp of [false, true])
    it(`believes no field of what ${lookUp ? 'a look-up' : 'a person'} found, also where the row is as it was when the copy was made`, async () => {
      const service = lookUp ? { endpoints: sandboxLookUps } : {};
      const fields = { remark: { column: 'remark', optional: true } };
      const sandbox = { extraOrderFields: ['remark'] };
      const lab = await kit.start({ customers: 1, orders: 1, sandbox, settings: { service, orders: { fields } } });
      await lab.changeErp('UPDATE sales_orders SET remark=NULL');
      await lab.capture();
      await lab.deliver({ scope: { only: new Map([['customer', new Set(['1'])]]) } });
      const [order] = await kit.rows(
        "SELECT m.source_key, m.idempotency_key, b.record FROM outbox_message m JOIN message_body b ON b.message_id=m.id WHERE m.entity='order'",
      );
      await kit.store.transaction('as after the copy', (tx) => presumeSent(tx, Date.now()));
      // Sent by the store that was lost, when the row said something else for a while, at the same price.
      const record = JSON.parse(order.record) as OrderRecord;
      const items = record.items.map((item) => ({ ...item, sku: 'SKU-0099' }));
      const meanwhile = { ...record, items, remark: 'by phone' };
      await askAsAnother(lab, 'POST', '/v1/orders', order.idempotency_key, meanwhile);
      await hold();
      const fate = lookUp ? ({ to: 'in_doubt', sentSince: null, lookUp } as const) : ({ to: 'parked' } as const);
      await recover(lab.context, lab.reader, { fate, bindings: null, reason: 'a test' });
      if (lookUp) await lab.deliver();
      else await findAtService(order.source_key, lab.sandbox.ledger().orders[0]?.order_id ?? null);
      await lab.capture();
      await lab.deliver();
      await expectAllAtService(lab);
      expect(lab.sandbox.counts().orders).to.equal(1);
    });

  it('believes no field of a refused order that the lost store sent again, and keeps when it was sent first', async () => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    await lab.capture();
    lab.sandbox.setFaults([{ kind: 'status', status: 422, match: { path: '/v1/orders' } }]);
    await lab.deliver();
    lab.sandbox.clearFaults();
    const [before] = await kit.rows(
      `SELECT m.id, m.source_key, m.idempotency_key, m.was_sent, m.first_sent_at, m.park_class, b.record
         FROM outbox_message m JOIN message_body b ON b.message_id=m.id WHERE m.entity='order'`,
    );
    expect(before.park_class).to.equal('refused');
    const created = await askAsAnother(lab, 'POST', '/v1/orders', before.idempotency_key, JSON.parse(before.record));
    const items = [{ sku: 'SKU-0001', qty: 9, price: 100 }];
    await askAsAnother(lab, 'PATCH', `/v1/orders/${created.order_id}`, 'of-the-lost-store', { items });
    await hold();
    await recover(lab.context, lab.reader, { fate: { to: 'parked' }, bindings: null, reason: 'a test' });
    expect(
      await kit.rows(`SELECT park_class, was_sent, first_sent_at FROM outbox_message WHERE id=${before.id}`),
    ).to.deep.equal([{ park_class: 'unproven', was_sent: before.was_sent, first_sent_at: before.first_sent_at }]);
    await findAtService(before.source_key, created.order_id ?? null);
    await lab.capture();
    await lab.deliver();
    await expectAllAtService(lab);
  });

  it('counts the lifetime of a key from the first moment in which it may have been sent', async () => {
    const lab = await kit.start({ customers: 1, orders: 3 });
    await lab.capture();
    const since = Date.now() - 60_000;
    const ids = (await kit.rows('SELECT id FROM outbox_message ORDER BY id')).map(({ id }) => Number(id));
    await kit.store.transaction('as a service leaves it that had no time', async (tx) => {
      for (const [index, atMs] of [null, since - 5_000, since + 5_000].entries())
        await tx.run('UPDATE outbox_message SET was_sent=?, first_sent_at=? WHERE id=?', [
          atMs === null ? 0 : 1,
          atMs,
          ids[index] as number,
        ]);
      await tx.run(`UPDATE outbox_message SET ${forged.parked}, park_class='unmapped' WHERE id=?`, [ids[3] as number]);
    });
    await hold();
    const fate = { to: 'in_doubt', sentSince: since } as const;
    await recover(lab.context, lab.reader, { fate, bindings: null, reason: 'a test' });
    const rows = await kit.rows("SELECT state, first_sent_at FROM outbox_message WHERE operation='create' ORDER BY id");
    expect(rows.map(({ state, first_sent_at: at }) => [state, Number(at)])).to.deep.equal([
      ['in_doubt', since],
      ['in_doubt', since - 5_000],
      ['in_doubt', since],
      ['parked', since],
    ]);
  });

  it('takes no repeated answer for proof of what the service holds', async () => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    await lab.capture();
    // Sent, and in doubt when the copy was made; then the lost store had its answer, and sent a change.
    lab.sandbox.setFaults([{ kind: 'reset-after-commit', match: { method: 'POST', path: '/v1/orders' } }]);
    await lab.deliver({ retryHorizonMs: 0 });
    lab.sandbox.clearFaults();
    expect(await kit.rows("SELECT state FROM outbox_message WHERE entity='order'")).to.deep.equal([
      { state: 'in_doubt' },
    ]);
    const [order] = lab.sandbox.ledger().orders;
    const items = [{ sku: 'SKU-0001', qty: 9, price: 100 }];
    await askAsAnother(lab, 'PATCH', `/v1/orders/${order?.order_id}`, 'of-the-lost-store', { items });
    await hold();
    const fate = { to: 'in_doubt', sentSince: Date.now() - 1_000 } as const;
    await recover(lab.context, lab.reader, { fate, bindings: null, reason: 'a test' });
    await lab.deliver();
    await expectAllAtService(lab);
  });
});

/**
 * For a pass that stands still with what it read unwritten, until somebody waits for it or has got past it.
 * @param isPast finds a row when somebody has
 */
function inMidPage(kit: LabKit, isPast: string): { store: Store; hasRead: Promise<void> } {
  let read = () => {};
  const hasRead = new Promise<void>((resolve) => {
    read = resolve;
  });
  const isWaiting = underWay(kit, 'SELECT%FROM lease%FOR UPDATE');
  const store = withMethod(kit.store, 'transaction', (action, work) =>
    kit.store.transaction(action, async (tx) => {
      const result = await work(tx);
      if (action !== 'write what was captured' || (result as CapturePageResult).touched.length === 0) return result;
      read();
      // One after the other is all that SQLite can do.
      if (kit.dialect === 'sqlite') return result;
      const other = await kit.connect();
      const finds = async (sql: string) => (await other.read('look', (look) => look.select(sql))).length > 0;
      await waitFor('the recovery waits, or does not', async () => (await finds(isWaiting)) || finds(isPast));
      return result;
    }),
  );
  return { store, hasRead };
}

async function isConfirming(kit: LabKit, tx: Tx): Promise<boolean> {
  return (await tx.select(underWay(kit, 'SELECT%m.mapping_fingerprint%FOR UPDATE'))).length > 0;
}

/** The same transaction, with something that happens before each of its statements. */
function withHook(tx: Tx, before: () => Promise<unknown>): Tx {
  const then =
    <In extends unknown[], Out>(statement: (...parameters: In) => Promise<Out>) =>
    async (...parameters: In) => {
      await before();
      return statement(...parameters);
    };
  return {
    ...tx,
    rows: then(tx.rows) as Tx['rows'],
    select: then(tx.select) as Tx['select'],
    run: then(tx.run),
    insertNew: then(tx.insertNew),
    insertReturningId: then(tx.insertReturningId),
  };
}
