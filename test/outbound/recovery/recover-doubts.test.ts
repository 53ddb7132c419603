import { join } from 'node:path';
import { expect } from 'chai';
import { foldKey } from '../../../src/model/record.js';
import { recover } from '../../../src/operator/recover.js';
import type { BindingRow } from '../../../src/outbound/outbox/exported-bindings.js';
import { checkWitness, readWitness, renewWitness } from '../../../src/outbound/recovery/store-witness.js';
import { readStoreInfo, writeStoreInfo } from '../../../src/store/store-info.js';
import { editSampleLine } from '../../support/change-sample-erp.js';
import { forged } from '../../support/forged.js';
import { type Lab, type LabOptions, onAnyLab } from '../../support/jobs/job-lab.js';
import { copyStore, exportOf, exportRows, holdAsLost, loseEverything } from '../../support/jobs/lost-store.js';
import { expectAllAtService, statesOf } from '../../support/jobs/service-of.js';

const parked = { to: 'parked' } as const;

onAnyLab('what a recovered store believes', (kit) => {
  /** Everything is at the service, and one order is looked at. */
  const start = async (options: LabOptions = {}): Promise<{ lab: Lab; id: number; quantity: number }> => {
    const lab = await kit.start({ customers: 1, orders: 4, ...options });
    await lab.capture({ sweep: true });
    await lab.deliver();
    const [order] = await kit.rows("SELECT source_key FROM binding WHERE entity='order' ORDER BY source_key LIMIT 1");
    const id = Number(order.source_key);
    const [line] = await lab.readErp(`SELECT qty FROM sales_order_lines WHERE order_id=${id} AND line_no=1`);
    return { lab, id, quantity: Number(line?.qty) };
  };
  const send = async (lab: Lab) => {
    await lab.capture({ sweep: true });
    await lab.deliver();
  };
  const patches = (lab: Lab) => lab.sandbox.ledger().requests.filter(({ method }) => method === 'PATCH').length;
  const orderOf = async (id: number) => {
    const sql = "SELECT * FROM outbox_message WHERE entity='order' AND source_key=? ORDER BY revision";
    return (await kit.rows(sql, [String(id)])).at(-1);
  };

  // The acknowledgement of the old bytes is the service's old answer, or brings the old values back.
  for (const service of ['replays', 'has forgotten'])
    it(`no acknowledgement of an update that a copy was sending, from a service that ${service} it`, async () => {
      const sandbox = service === 'replays' ? {} : { keyLifetimeMs: 1 };
      const { lab } = await start({ sandbox });
      const [{ city }] = (await lab.readErp('SELECT city FROM customers WHERE id=1')) as [{ city: string }];
      const change = (name: string, place: string) =>
        lab.changeErp('UPDATE customers SET name=?, city=? WHERE id=1', [name, place]);
      await change('B', city);
      lab.sandbox.setFaults([{ kind: 'reset-after-commit', match: { method: 'PATCH' } }]);
      await lab.capture({ sweep: true });
      await lab.deliver({ retryHorizonMs: 0 });
      expect(await statesOf(kit)).to.include({ in_doubt: 1 });
      lab.sandbox.setFaults([]);
      const restore = await copyStore(kit);
      const copyAt = Date.now();

      await kit.store.transaction('at once', (tx) =>
        tx.run('UPDATE outbox_message SET next_attempt_at=0 WHERE next_attempt_at IS NOT NULL'),
      );
      await lab.deliver();
      await change('C', 'Elsewhere');
      await send(lab);
      await change('B', city);
      await restore();
      await holdAsLost(kit, { kind: 'older', copyAt });
      const fate = { to: 'in_doubt', sentSince: copyAt } as const;
      await recover(lab.context, lab.reader, { fate, bindings: null, reason: 'a test' });
      await lab.deliver();
      await send(lab);
      expect(lab.sandbox.ledger().customers[0]?.record).to.include({ name: 'B', city });
    });

  for (const capturedBefore of [false, true])
    it(`no binding of an old export${capturedBefore ? ', also when its row was captured as new before' : ''}`, async () => {
      const { lab, id, quantity } = await start();
      const rows = await exportRows(kit);
      await editSampleLine(lab.erp, id, 1, 52);
      await send(lab);
      // No changed-at tells of it, as in many an ERP.
      await editSampleLine(lab.erp, id, 1, quantity);
      await loseEverything(kit);
      if (capturedBefore) await lab.capture({ sweep: true });
      await holdAsLost(kit);
      const result = await recover(lab.context, lab.reader, {
        fate: parked,
        bindings: exportOf(rows),
        reason: 'a test',
      });
      expect(result).to.include({ doubtedBindings: rows.length, unbound: 0 });
      await lab.deliver();
      await expectAllAtService(lab);
      const backlog = await kit.rows("SELECT DISTINCT is_backlog FROM outbox_message WHERE operation='update'");
      expect(backlog).to.deep.equal([{ is_backlog: 1 }]);
      // And that is all.
      const sent = patches(lab);
      await send(lab);
      expect(patches(lab)).to.equal(sent);
    });

  it('no folded key of an export: an older version may have folded it another way', async () => {
    const { lab } = await start();
    const rows = (await exportRows(kit)).map((row) => ({ ...row, folded_key: 'AS IT WAS' }));
    await loseEverything(kit);
    await holdAsLost(kit);
    await recover(lab.context, lab.reader, { fate: parked, bindings: exportOf(rows), reason: 'x' });
    const folded = await kit.rows('SELECT source_key, folded_key FROM binding');
    expect(folded).to.have.length(5);
    for (const row of folded) expect(row.folded_key).to.equal(foldKey(row.source_key));
  });

  it('no binding of a copy, whatever the ERP says has changed', async () => {
    const { lab, id, quantity } = await start();
    const restore = await copyStore(kit);
    const copyAt = Date.now();
    await editSampleLine(lab.erp, id, 1, 52);
    await send(lab);
    await editSampleLine(lab.erp, id, 1, quantity);
    await restore();
    await holdAsLost(kit, { kind: 'older', copyAt });
    await recover(lab.context, lab.reader, { fate: parked, bindings: null, reason: 'a test' });
    await lab.deliver();
    await expectAllAtService(lab);
  });

  describe('of creates that an export shows to be no news', () => {
    const recaptured = async (options: LabOptions, change: (lab: Lab, id: number) => Promise<unknown>) => {
      const { lab, id } = await start(options);
      const rows = (await exportRows(kit)) as BindingRow[];
      await loseEverything(kit);
      await change(lab, id);
      await lab.capture({ sweep: true });
      await holdAsLost(kit);
      return { lab, id, rows };
    };
    const recoverFrom = (lab: Lab, rows: readonly BindingRow[]) =>
      recover(lab.context, lab.reader, { fate: parked, bindings: exportOf(rows), reason: 'a test' });

    it('counts the updates for capture.maxUpdates', async () => {
      const settings = { capture: { maxUpdates: 0 } };
      const { lab, id, rows } = await recaptured({ settings }, (erp, order) => editSampleLine(erp.erp, order, 1, 88));
      expect((await recoverFrom(lab, rows)).bindings.closed).to.equal(rows.length);
      expect(await orderOf(id)).to.include({ operation: 'update', state: 'parked', park_class: 'held' });
      await lab.deliver();
      expect(patches(lab)).to.equal(0);
    });

    it('holds what another mapping makes of them', async () => {
      const { lab, id, rows } = await recaptured({}, (erp, order) => editSampleLine(erp.erp, order, 1, 88));
      await recoverFrom(
        lab,
        rows.map((row) => ({ ...row, mapping_fingerprint: 'another' })),
      );
      expect(await orderOf(id)).to.include({ state: 'parked', park_class: 'held' });
      expect((await orderOf(id)).reason).to.contain('the mapping changed');
      await lab.deliver();
      expect(patches(lab)).to.equal(0);
    });

    it('never overwrites the record of a key that was given again', async () => {
      const { lab, id, rows } = await recaptured({}, (erp, order) =>
        erp.changeErp("UPDATE sales_orders SET order_no='NEW' WHERE id=?", [order]),
      );
      await recoverFrom(lab, rows);
      expect(await orderOf(id)).to.include({ state: 'parked', park_class: 'conflict' });
    });

    it('sends none again that was on hold', async () => {
      const { lab, id, rows } = await recaptured({}, async () => {});
      await kit.store.transaction('as a hold left it', (tx) =>
        tx.run(`UPDATE outbox_message SET ${forged.parked}, park_class='held' WHERE entity='order' AND source_key=?`, [
          String(id),
        ]),
      );
      const { bindings, unproven } = await recoverFrom(lab, rows);
      expect({ closed: bindings.closed, unproven }).to.deep.equal({ closed: rows.length, unproven: 0 });
      expect(await orderOf(id)).to.include({ operation: 'update', state: 'pending' });
    });
  });

  it('that it is an older copy, also of a store from before an earlier recovery', async () => {
    const { lab, id } = await start();
    const file = join(kit.folder, 'lineage', 'witness.json');
    const incarnation = await kit.store.read('read', (tx) => readStoreInfo(tx, 'incarnation'));
    await editSampleLine(lab.erp, id, 1, 51);
    await holdAsLost(kit);
    await recover(lab.context, lab.reader, { fate: parked, bindings: null, reason: 'a test' });
    expect((await renewWitness(kit.store, [file], Date.now()))?.predecessors).to.include(incarnation);
    expect(await readWitness(file)).to.deep.include({ predecessors: [incarnation, 'the lost one'] });

    await kit.store.transaction('as the copy was', async (tx) => {
      await writeStoreInfo(tx, 'incarnation', incarnation as string);
      await writeStoreInfo(tx, 'predecessors', '[]');
      await tx.run(`UPDATE outbox_message SET operation='create', ${forged.pending} WHERE operation='update'`);
      await tx.run("DELETE FROM binding WHERE entity='order' AND source_key=?", [String(id)]);
    });
    const hold = await checkWitness(kit.store, [file], Date.now());
    expect(hold?.kind).to.equal('older');
    expect(hold?.copyAt).to.be.a('number');
    const [create] = await kit.rows(
      "SELECT first_sent_at FROM outbox_message WHERE operation='create' AND state='pending' AND source_key=? AND entity='order'",
      [String(id)],
    );
    expect(Number(create.first_sent_at)).to.equal(hold?.copyAt);
  });
});
