import { expect } from 'chai';
import type { ErpPage, ReadOrder } from '../../../src/erp/erp-reader.js';
import type { Fact } from '../../../src/model/facts/fact.js';
import { settingsOf } from '../../../src/model/record.js';
import { pauseJobs, resumeLanes } from '../../../src/operator/actions/pause-jobs.js';
import { checkKeys, keepKeys, whyNotSame } from '../../../src/operator/actions/rekey.js';
import type { Lab, LabKit } from '../../support/jobs/job-lab.js';
import { onSqliteLabAnd } from '../../support/jobs/job-lab.js';
import { makeNamedSource, type NamedSource, sourceSettings } from '../../support/jobs/named-source.js';
import { told } from '../../support/told.js';

interface TwoSources {
  /** The same without the second source. */
  first: Lab;
  lab: Lab;
  berlin: NamedSource;
}

async function startTwo(kit: LabKit, settings: { orders?: object; capture?: object } = {}): Promise<TwoSources> {
  const first = await kit.start({ customers: 2, orders: 3 });
  const berlin = await makeNamedSource(kit, 'berlin');
  return {
    first,
    lab: first.another({ settings: { ...settings, sources: sourceSettings({ berlin }, settings.orders) } }),
    berlin,
  };
}

const readerOf = ({ reader }: Lab, source: string) => reader.bySource?.get(source) ?? reader;
const contextOf = ({ context }: Lab, source: string) => ({
  ...context,
  settings: settingsOf(context.settings, source),
});

onSqliteLabAnd('postgres', 'two sources', (kit) => {
  const keysOf = async (entity: string) =>
    (await kit.rows(`SELECT source_key, source FROM outbox_message WHERE entity='${entity}' ORDER BY source, id`)).map(
      (row) => [row.source, row.source_key],
    );

  it('have a key space each: equal keys and numbers are two records, each delivered once', async () => {
    const { lab } = await startTwo(kit);
    const { captured, failed, stopped } = await lab.capture();
    expect([captured, failed, stopped]).to.deep.equal([{ customers: 4, orders: 6 }, [], null]);
    const orders = await keysOf('order');
    expect(orders.map(([source]) => source)).to.deep.equal(['', '', '', 'berlin', 'berlin', 'berlin']);
    const own = orders.slice(0, 3).map(([, key]) => key);
    expect(orders.slice(3).map(([, key]) => key)).to.deep.equal(own.map((key) => `berlin~${key}`));
    const { delivered } = await lab.deliver();
    expect(delivered).to.deep.equal({ customers: 4, orders: 6 });
    // Both call their orders by the same numbers.
    expect(lab.sandbox.counts()).to.include({ orders: 6, duplicateReferences: 3 });
    expect((await lab.capture({ sweep: true })).captured).to.deep.equal({ customers: 0, orders: 0 });
  });

  it('have a cursor each, and a hold each: what happens to one says nothing of the other', async () => {
    const { lab, berlin } = await startTwo(kit, { orders: { onDeleted: 'delete' }, capture: { maxRemovals: 1 } });
    await lab.capture();
    await lab.deliver();
    const names = (await kit.rows('SELECT name FROM capture_cursor ORDER BY name')).map(({ name }) => name);
    expect(names).to.deep.equal(['customer', 'customer.berlin', 'order', 'order.berlin']);
    berlin.change('DELETE FROM sales_order_lines; DELETE FROM sales_orders');
    const emptied = await lab.capture({ sweep: true });
    expect(emptied.removed).to.deep.equal({ customers: 0, orders: 0 });
    const holds = await kit.rows('SELECT name, brake_code FROM capture_cursor WHERE brake_code IS NOT NULL');
    expect(holds).to.deep.equal([{ name: 'order.berlin', brake_code: 'source_empty' }]);
    await lab.changeErp("UPDATE sales_orders SET remark='changed', updated_at='2026-11-20 10:00:00' WHERE id=2");
    expect((await lab.capture({ sweep: true })).held).to.equal(0);
  });

  it('are read one without the other: where one is away, the others are captured, and it is named', async () => {
    const { lab } = await startTwo(kit);
    const own = lab.reader.bySource?.get('berlin');
    Object.assign(own as object, { sourceEnd: () => Promise.reject(new Error('gone fishing')) });
    const { captured, failed } = await lab.capture();
    expect(captured).to.deep.equal({ customers: 2, orders: 3 });
    expect(told(failed)).to.deep.equal([{ source: 'berlin', reason: 'gone fishing' }]);
    expect((await lab.capture({ source: '' })).failed).to.deep.equal([]);
  });

  it('are one reader for what asks about all: pages go on from one to the next, and keys find their source', async () => {
    const { lab } = await startTwo(kit);
    const met: string[] = [];
    let after: string[] | null = null;
    for (let pages = 0; pages < 20; pages++) {
      const page: ErpPage<ReadOrder> = await lab.reader.sweep('order', after, 2);
      met.push(...page.rows.map(({ sourceKey }) => sourceKey));
      if (!page.more || !page.last) break;
      after = page.last.key;
    }
    await lab.capture();
    expect(met).to.have.members((await keysOf('order')).map(([, key]) => key));
    expect(await lab.reader.count('order')).to.equal(met.length);
    const own = met[0] as string;
    const asked = [own, `berlin~${own}`, 'berlin~999', '999', 'kiel~1'];
    const { existing } = await lab.reader.presence('order', asked, true);
    // A record that can't be asked for is not known to be absent.
    expect([...(existing ?? [])]).to.have.members([own, `berlin~${own}`, 'kiel~1']);
    const [standing] = await lab.reader.standing('order', [`berlin~${own}`]);
    expect(standing).to.include({ sourceKey: `berlin~${own}` });
    expect(await lab.reader.count('order', { keys: [own, `berlin~${own}`] })).to.equal(2);
  });

  /** Berlin's customers have the codes of the first source's. */
  const sameCodes = 'UPDATE customers SET customer_no=SUBSTR(customer_no, 8)';
  const customers = () =>
    kit.rows(
      "SELECT source_key, state, reason_code, reason_data FROM outbox_message WHERE entity='customer' AND source='berlin' ORDER BY id",
    );
  const waiting = () => kit.rows("SELECT source_key FROM outbox_message WHERE state NOT IN ('delivered','superseded')");

  it('that have one customer under one code send it once, and the orders of both', async () => {
    const { lab, berlin } = await startTwo(kit);
    berlin.change(sameCodes);
    for (const source of ['', 'berlin']) {
      await lab.capture({ source });
      await lab.deliver();
    }
    expect(await customers()).to.deep.equal([]);
    const made = lab.sandbox
      .ledger()
      .requests.filter(({ method, path }) => method === 'POST' && path === '/v1/customers');
    expect(made).to.have.length(2);
    expect(lab.sandbox.counts()).to.include({ customers: 2, orders: 6 });
    // An edit in Berlin is none of the customer's.
    berlin.change("UPDATE customers SET name='As Berlin calls it', updated_at='2026-12-01 10:00:00'");
    await lab.capture({ sweep: true });
    await lab.deliver();
    expect([await customers(), await waiting()]).to.deep.equal([[], []]);
    expect(lab.sandbox.counts()).to.include({ customers: 2, orders: 6 });
  });

  it('that sent one customer at the same time: the second is closed, and its orders go on as those of the first', async () => {
    const { lab, berlin } = await startTwo(kit);
    berlin.change(sameCodes);
    await lab.capture();
    await lab.deliver();
    // The sources take turns, and either may be the first at the service.
    const all = () =>
      kit.rows(
        "SELECT source_key, state, reason_code, reason_data FROM outbox_message WHERE entity='customer' ORDER BY id",
      );
    const second = (await all()).filter(({ state }) => state !== 'delivered');
    expect(second).to.have.length(2);
    for (const { reason } of second) expect(reason).to.contain('two customers would have one code');
    expect(lab.sandbox.counts()).to.include({ customers: 2, orders: 3 });
    await lab.capture({ sweep: true });
    await lab.deliver();
    const closed = (await all()).filter(({ state }) => state !== 'delivered');
    expect(closed.map(({ source_key, state }) => [source_key, state])).to.deep.equal(
      second.map(({ source_key }) => [source_key, 'superseded']),
    );
    for (const { reason } of closed)
      expect(reason).to.match(/the one with the key (berlin~)?[12], which another source sends/);
    expect(await waiting()).to.deep.equal([]);
    expect(lab.sandbox.counts()).to.include({ customers: 2, orders: 6 });
  });

  it('that have one customer no longer: with a code of its own, the second is sent, and its orders follow it', async () => {
    const { lab, berlin } = await startTwo(kit);
    berlin.change(sameCodes);
    await lab.capture({ source: '' });
    await lab.deliver();
    await lab.capture({ source: 'berlin' });
    berlin.change("UPDATE customers SET customer_no='B-' || customer_no, updated_at='2026-12-01 10:00:00'");
    await lab.capture({ sweep: true });
    await lab.deliver();
    expect(await waiting()).to.deep.equal([]);
    const codes = lab.sandbox.ledger().orders.map(({ record }) => String(record.customer_code).startsWith('B-'));
    expect(codes.filter((isOwn) => isOwn)).to.have.length(3);
    expect(lab.sandbox.counts()).to.include({ customers: 4, orders: 6 });
  });

  it('are paused one by one, or all', async () => {
    const { lab } = await startTwo(kit);
    await pauseJobs(lab.context, ['capture.berlin'], 'stocktaking');
    const half = await lab.capture();
    expect(half.captured.orders).to.equal(3);
    expect([told(half.stopped?.reason), half.paused]).to.deep.equal(['capture is paused: stocktaking', true]);
    await resumeLanes(lab.context, ['capture'], 'it is over');
    expect((await lab.capture()).captured.orders).to.equal(3);
    await pauseJobs(lab.context, ['capture'], 'all');
    expect((await lab.capture({ source: 'berlin', sweep: true })).paused).to.equal(true);
  });

  it('lose a record each, and one that is away keeps only its own removal waiting', async () => {
    const { lab, berlin } = await startTwo(kit, { orders: { onDeleted: 'delete' } });
    await lab.capture();
    await lab.deliver();
    const [, , , [, key] = []] = await keysOf('order');
    const id = String(key).slice('berlin~'.length);
    berlin.change(`DELETE FROM sales_order_lines WHERE order_id=${id}; DELETE FROM sales_orders WHERE id=${id}`);
    await lab.changeErp(`DELETE FROM sales_order_lines WHERE order_id=${id}`);
    await lab.changeErp(`DELETE FROM sales_orders WHERE id=${id}`);
    for (let sweeps = 0; sweeps < 2; sweeps++) await lab.capture({ sweep: true });
    const own = lab.reader.bySource?.get('berlin');
    Object.assign(own as object, { presence: () => Promise.reject(new Error('gone fishing')) });
    await lab.deliver();
    const removals = await kit.rows(
      "SELECT source_key, state FROM outbox_message WHERE operation='delete' ORDER BY source_key",
    );
    expect(removals).to.deep.equal([
      { source_key: id, state: 'delivered' },
      { source_key: `berlin~${id}`, state: 'pending' },
    ]);
  });

  it('are read by name, and by key', async () => {
    const { lab } = await startTwo(kit);
    expect((await lab.capture({ source: 'berlin' })).captured).to.deep.equal({ customers: 2, orders: 3 });
    const [, [, key] = []] = await keysOf('order');
    const named = await lab.capture({ force: true, filter: { entity: 'order', keys: [String(key)] } });
    expect(named.read.orders).to.equal(1);
    const elsewhere = await lab.capture({ filter: { entity: 'order', keys: ['hamburg~1'] } });
    expect(elsewhere.read.orders).to.equal(0);
  });

  it('of which one gets another name send nothing under it, and go on under the old one', async () => {
    const { first, lab, berlin } = await startTwo(kit);
    await lab.capture();
    await lab.deliver();
    const before = lab.sandbox.counts();
    const messages = await kit.rows('SELECT id FROM outbox_message');
    const renamed = first.another({ settings: { sources: sourceSettings({ bln: berlin }) } });
    for (const options of [{ sweep: true }, { dryRun: true }]) {
      const { failed, captured } = await renamed.capture(options);
      expect(captured).to.deep.equal({ customers: 0, orders: 0 });
      expect(failed.map(({ source }) => source)).to.deep.equal(['bln']);
      expect(told(failed[0]?.reason))
        .to.include('the keys of customers of source bln were those of source berlin (id in sqlite:')
        .and.include('every customer would go out a second time. Put the name berlin back')
        .and.include('`waybill rekey customers --same --source bln`, then `waybill rekey orders --same --source bln`');
    }
    await renamed.deliver();
    expect(lab.sandbox.counts()).to.deep.equal(before);
    expect(await kit.rows('SELECT id FROM outbox_message')).to.deep.equal(messages);
    for (const entity of ['customer', 'order'] as const) {
      const check = await checkKeys(contextOf(renamed, 'bln'), readerOf(renamed, 'bln'), entity);
      expect(whyNotSame(check)).to.include({ code: 'known_from_other_name', name: 'berlin', count: check.same });
      expect(check.same).to.be.within(2, 3);
    }
    // Also a source beside it that keeps its name is no other name of it.
    const { failed, captured } = await lab.capture({ sweep: true });
    expect([failed, captured]).to.deep.equal([[], { customers: 0, orders: 0 }]);
  });

  it('of which one with a new name reads other records send them once a person says so', async () => {
    const { first, lab, berlin } = await startTwo(kit);
    await lab.capture();
    await lab.deliver();
    const others = ['id=id+100', 'order_id=order_id+100', 'id=id+100, customer_id=customer_id+100'];
    for (const [at, table] of ['customers', 'sales_order_lines', 'sales_orders'].entries())
      berlin.change(`UPDATE ${table} SET ${others[at]}`);
    berlin.change(
      "UPDATE customers SET customer_no='x' || customer_no; UPDATE sales_orders SET order_no='x' || order_no",
    );
    const other = first.another({ settings: { sources: sourceSettings({ bln: berlin }) } });
    expect((await other.capture()).failed).to.have.length(1);
    for (const entity of ['customer', 'order'] as const) {
      const context = contextOf(other, 'bln');
      const check = await checkKeys(context, readerOf(other, 'bln'), entity);
      expect(whyNotSame(check)).to.equal(null);
      await keepKeys(context, readerOf(other, 'bln').identity(), entity, check.change as Fact, 'another branch');
    }
    const { failed, captured } = await other.capture();
    expect([failed, captured]).to.deep.equal([[], { customers: 2, orders: 3 }]);
  });
});
