import { expect } from 'chai';
import { readRecoveryState, recover } from '../../../src/operator/recover.js';
import { withoutFirstKeys } from '../../../src/outbound/recovery/first-keys.js';
import type { UnboundFate } from '../../../src/outbound/recovery/recover-messages.js';
import { cancelSampleOrder, insertSampleOrder, wallTimeNow } from '../../support/change-sample-erp.js';
import { type Lab, type LabOptions, onSqliteLabAnd } from '../../support/jobs/job-lab.js';
import { copyStore, holdAsLost, loseEverything } from '../../support/jobs/lost-store.js';
import { say } from '../../support/jobs/say.js';
import { expectAllAtService } from '../../support/jobs/service-of.js';
import { sandboxLookUps } from '../../support/sandbox-look-ups.js';

onSqliteLabAnd('postgres', 'a recovery from the service of a record that has a later key', (kit) => {
  const settings = {
    orders: { cancelled: { column: 'status', values: ['cancelled'] }, onCancelled: 'delete' },
    service: { idempotency: { lifetimeHours: 24 } },
  };
  const withLookUps = { ...settings, service: { ...settings.service, endpoints: sandboxLookUps } };
  const send = async (lab: Lab) => {
    await lab.capture({ sweep: true });
    await lab.deliver();
  };
  const start = async (given: LabOptions['settings'] = settings) => {
    const lab = await kit.start({ customers: 1, orders: 1, settings: given });
    await send(lab);
    const { id } = await insertSampleOrder(lab.erp, {});
    return { lab, key: String(id) };
  };
  const count = () => kit.rows("SELECT value FROM store_info WHERE name='beside_first_key'");
  const orderOf = async (key: string) => {
    const sql =
      "SELECT * FROM outbox_message WHERE entity='order' AND operation='create' AND source_key=? ORDER BY revision DESC";
    return (await kit.rows(sql, [key]))[0];
  };
  /** Its first request had no effect, as a person found, or had one that nobody saw; it is sent again under the second key. */
  const sendTwice = async (lab: Lab, key: string, kind: 'reset-before' | 'reset-after-commit') => {
    lab.sandbox.setFaults([{ kind, match: { method: 'POST', path: '/v1/orders' } }]);
    await lab.capture({ sweep: true });
    await lab.deliver({ retryHorizonMs: 0 });
    lab.sandbox.clearFaults();
    await kit.store.transaction('end the outage', (tx) => tx.run('DELETE FROM lane_pause'));
    await say(kit, 'not_delivered', { keys: [key], entity: 'order' });
    await lab.deliver();
    expect(await orderOf(key)).to.include({ state: 'delivered', generation: 1 });
  };
  const removeAndReturn = async (lab: Lab, key: string) => {
    await send(lab);
    await cancelSampleOrder(lab.erp, Number(key));
    await send(lab);
    const values = [wallTimeNow(), key];
    await lab.changeErp("UPDATE sales_orders SET status='confirmed', updated_at=? WHERE id=?", values);
    await send(lab);
    expect(await orderOf(key)).to.include({ state: 'delivered', generation: 1 });
  };
  const fromService: UnboundFate = { to: 'in_doubt', sentSince: Date.now() - 3_600_000 };
  const recoverWith = (lab: Lab, fate: UnboundFate) =>
    recover(lab.context, lab.reader, { fate, bindings: null, reason: 'a test' });

  for (const [losing, more] of [
    ['is lost', {}],
    ['is lost with its witness', { kind: 'stated', witness: null }],
    ['is lost, with the witness of an earlier version', { witness: { incarnation: 'the lost one', auditId: 1 } }],
  ] as const)
    for (const [how, makeLater] of Object.entries({
      'sent again because nothing arrived': (lab: Lab, key: string) => sendTwice(lab, key, 'reset-before'),
      'sent again although it had arrived': (lab: Lab, key: string) => sendTwice(lab, key, 'reset-after-commit'),
      'removed and wanted again': removeAndReturn,
    })) {
      it(`makes no second order of one that was ${how}, where the store ${losing}`, async () => {
        const { lab, key } = await start();
        await makeLater(lab, key);
        await loseEverything(kit);
        await holdAsLost(kit, more);
        const before = lab.sandbox.counts().orders;
        expect(await recoverWith(lab, fromService)).to.include({ to: 'parked' });
        await lab.deliver();
        expect(lab.sandbox.counts().orders).to.equal(before);
        const order = await orderOf(key);
        expect(order).to.include({ state: 'parked', park_class: 'unproven', waits_for: 'person' });
        expect(order).to.include({ reason_code: 'perhaps_beside_first_key' });
        // The remedy that it names.
        const { reference } = (
          await lab.readErp(`SELECT order_no AS reference FROM sales_orders WHERE id=${key}`)
        )[0] as {
          reference: string;
        };
        const found = lab.sandbox
          .ledger()
          .orders.filter((one) => one.reference === reference)
          .at(-1);
        await say(kit, 'delivered', { keys: [key], entity: 'order' }, found?.order_id ?? null);
        await send(lab);
        expect(lab.sandbox.counts().orders).to.equal(before);
      });
    }

  it('asks for it where the service can be asked, and binds the one order that is there', async () => {
    const { lab, key } = await start(withLookUps);
    await removeAndReturn(lab, key);
    await loseEverything(kit);
    await holdAsLost(kit);
    const before = lab.sandbox.counts().orders;
    expect(await recoverWith(lab, fromService)).to.include({ to: 'in_doubt' });
    await lab.deliver();
    await send(lab);
    expect(lab.sandbox.counts().orders).to.equal(before);
    expect(await orderOf(key)).to.include({ state: 'delivered' });
    await expectAllAtService(lab);
  });

  it('waits for a person where the service shows two', async () => {
    const { lab, key } = await start(withLookUps);
    await sendTwice(lab, key, 'reset-after-commit');
    await loseEverything(kit);
    await holdAsLost(kit);
    const before = lab.sandbox.counts().orders;
    await recoverWith(lab, fromService);
    await lab.deliver();
    expect(lab.sandbox.counts().orders).to.equal(before);
    expect(await orderOf(key)).to.include({ state: 'parked', reason_code: 'found_several' });
  });

  for (const fate of [fromService, { to: 'parked' } as const])
    it(`does not send what a copy has in doubt under a key that its successor left, ${fate.to}`, async () => {
      const { lab, key } = await start();
      lab.sandbox.setFaults([{ kind: 'reset-before', match: { method: 'POST', path: '/v1/orders' } }]);
      await lab.capture({ sweep: true });
      await lab.deliver({ retryHorizonMs: 0 });
      lab.sandbox.clearFaults();
      await kit.store.transaction('end the outage', (tx) => tx.run('DELETE FROM lane_pause'));
      const restore = await copyStore(kit);
      await say(kit, 'not_delivered', { keys: [key], entity: 'order' });
      await lab.deliver();
      expect(lab.sandbox.counts().orders).to.equal(2);
      await restore();
      await holdAsLost(kit, { kind: 'older', copyAt: Date.now() });
      await recoverWith(lab, fate);
      await lab.deliver();
      await lab.deliver();
      expect(lab.sandbox.counts().orders).to.equal(2);
      expect(await orderOf(key)).to.include({ state: 'parked', park_class: 'unproven' });
    });

  it('sends it under its first key on the word of a person, which is on the audit', async () => {
    const { lab } = await start();
    await send(lab);
    await loseEverything(kit);
    await holdAsLost(kit, { kind: 'stated', witness: null });
    expect(await recoverWith(lab, { ...fromService, firstKeys: true })).to.include({ to: 'in_doubt' });
    await lab.deliver();
    expect(lab.sandbox.counts()).to.include({ orders: 2, duplicateReferences: 0 });
    const [line] = await kit.rows("SELECT detail FROM audit_log WHERE outcome='recover'");
    expect(JSON.parse(line.detail)).to.include({ firstKeys: true });
    expect(await count(), 'the successor knows no more').to.deep.equal([]);
  });

  it('counts what came to the service by another key, and what others may have made', async () => {
    const { lab, key } = await start();
    expect(await count()).to.deep.equal([{ value: '0' }]);
    await removeAndReturn(lab, key);
    expect(await count()).to.deep.equal([{ value: '1' }]);
    const { id } = await insertSampleOrder(lab.erp, {});
    lab.sandbox.setFaults([{ kind: 'reset-after-commit', match: { method: 'POST', path: '/v1/orders' } }]);
    await lab.capture({ sweep: true });
    await lab.deliver({ retryHorizonMs: 0 });
    lab.sandbox.clearFaults();
    await say(kit, 'delivered', { keys: [String(id)], entity: 'order' }, 'ord_of_others');
    expect(await count()).to.deep.equal([{ value: '2' }]);
  });

  it('believes a witness that counted as many as its copy', async () => {
    const { lab, key } = await start();
    await removeAndReturn(lab, key);
    const [{ value: incarnation }] = (await kit.rows("SELECT value FROM store_info WHERE name='incarnation'")) as [
      { value: string },
    ];
    const proven = async (witness: object | null) => {
      const hold = { kind: 'older', reason: 'older', since: 1, copyAt: 1, witness };
      await kit.store.transaction('hold', (tx) =>
        tx
          .run("DELETE FROM store_info WHERE name='recovery'")
          .then(() => tx.run("INSERT INTO store_info (name, value) VALUES ('recovery', ?)", [JSON.stringify(hold)])),
      );
      return (await readRecoveryState(lab.context)).areFirstKeysProven;
    };
    expect(await proven({ incarnation, auditId: 9, besideFirstKey: 1 })).to.equal(true);
    expect(await proven({ incarnation, auditId: 9, besideFirstKey: 2 })).to.equal(false);
    expect(await proven({ incarnation: 'its successor', auditId: 9, besideFirstKey: 1 })).to.equal(false);
    expect(await proven({ incarnation, auditId: 9 })).to.equal(false);
    expect(await proven(null)).to.equal(false);
  });
});

describe('the fate of creates that may have another key', () => {
  const fate: UnboundFate = { to: 'in_doubt', sentSince: 1 };

  it('is a look-up or a person, unless the first keys are proven or a person vouches for them', () => {
    expect(withoutFirstKeys(fate, true, true)).to.equal(fate);
    expect(withoutFirstKeys(fate, false, true)).to.deep.equal({ to: 'in_doubt', sentSince: null, lookUp: true });
    expect(withoutFirstKeys(fate, false, false)).to.deep.equal({ to: 'parked', besideFirstKey: true });
    const vouched = { ...fate, firstKeys: true };
    expect(withoutFirstKeys(vouched, false, false)).to.equal(vouched);
  });
});
