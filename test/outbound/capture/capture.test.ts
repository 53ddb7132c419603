import { expect } from 'chai';
import type { RowDataPacket } from 'mysql2/promise';
import type { ErpReader } from '../../../src/erp/erp-reader.js';
import { compareChangedAt } from '../../../src/erp/time/time-form.js';
import { legacy } from '../../../src/model/facts/fact.js';
import { readCursor, sweepAtNextPass } from '../../../src/store/job-runs.js';
import { pauseLane, resumeLane } from '../../../src/store/lane-pauses.js';
import { Lease, LeaseLost } from '../../../src/store/lease.js';
import { oneOfEachBadRow } from '../../lab/sample-erp/one-of-each-bad-row.js';
import { useStore } from '../../store/stores.js';
import { editSampleLine, insertSampleOrder, wallTimeNow } from '../../support/change-sample-erp.js';
import { type Lab, type LabKit, onSqliteLabAnd, useLab } from '../../support/jobs/job-lab.js';
import { told } from '../../support/told.js';

const minute = 60_000;

/** The wall time of the ERP so many milliseconds ago. */
const ago = (ms: number) => wallTimeNow(new Date(Date.now() - ms));

/** The reader, with something that happens before its nth page of orders. */
function interrupted(reader: ErpReader, nth: number, act: () => Promise<void>): ErpReader {
  let pages = 0;
  return new Proxy(reader, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown;
      if (typeof value !== 'function') return value;
      if (name !== 'sweep') return value.bind(target);
      return async (...parameters: unknown[]) => {
        if (parameters[0] === 'order' && ++pages === nth) await act();
        return value.apply(target, parameters);
      };
    },
  });
}

async function everything(kit: LabKit): Promise<unknown> {
  const tables = ['outbox_message', 'message_body', 'binding', 'audit_log', 'unsettled', 'capture_cursor'];
  const rows = await Promise.all(tables.map((table) => kit.rows(`SELECT * FROM ${table} ORDER BY 1,2`)));
  return Object.fromEntries(tables.map((table, i) => [table, rows[i]]));
}

const messagesOf = (kit: LabKit, key: number | string, entity = 'order') =>
  kit.rows(
    'SELECT revision, operation, generation, state, park_class, reason_code, reason_data, idempotency_key FROM outbox_message WHERE entity=? AND source_key=? ORDER BY revision',
    [entity, String(key)],
  );

const cursorOf = async (kit: LabKit) => kit.store.read('look', (tx) => readCursor(tx, 'order'));

onSqliteLabAnd('mysql', 'capture', (kit) => {
  it('writes every eligible order and its customers, page by page, with keys, frozen bodies and audit lines', async () => {
    const lab = await kit.start({ customers: 5, orders: 23, settings: { capture: { pageSize: 7 } } });
    const result = await lab.capture();
    expect(result.captured).to.deep.equal({ customers: 5, orders: 23 });
    expect(result).to.deep.include({ parked: 0, waiting: 0, stopped: null, busy: false });

    const rows = await kit.rows(
      `SELECT m.*, b.record FROM outbox_message m JOIN message_body b ON b.message_id=m.id ORDER BY m.id`,
    );
    expect(rows).to.have.length(28);
    expect(new Set(rows.map((row) => row.idempotency_key)).size).to.equal(28);
    for (const row of rows) {
      expect(row).to.deep.include({ state: 'pending', revision: 1, operation: 'create', generation: 0, attempts: 0 });
      expect(row.body_hash).to.equal(row.content_hash);
    }
    const orders = rows.filter((row) => row.entity === 'order');
    const expected = await lab.expectedOrders();
    expect(new Map(orders.map((row) => [row.number, JSON.parse(row.record)]))).to.deep.equal(expected);
    const audited = await kit.rows("SELECT message_id FROM audit_log WHERE event='captured' ORDER BY message_id");
    expect(audited.map((row) => row.message_id)).to.deep.equal(rows.map((row) => row.id));
  });

  it('writes nothing when nothing changed, neither by the cursor nor by a sweep', async () => {
    const lab = await kit.start();
    await lab.capture();
    const before = await everything(kit);
    const byCursor = await lab.capture();
    const bySweep = await lab.capture({ sweep: true });
    expect(byCursor.captured).to.deep.equal({ customers: 0, orders: 0 });
    expect(bySweep.captured).to.deep.equal({ customers: 0, orders: 0 });
    expect(bySweep.read.orders).to.equal(12);
    const after = await everything(kit);
    // A sweep is written down, and nothing else.
    expect({ ...(after as object), capture_cursor: null }).to.deep.equal({
      ...(before as object),
      capture_cursor: null,
    });
  });

  it('finds a new order by the cursor, without reading the old ones again', async () => {
    const lab = await kit.start();
    await lab.capture();
    const { id } = await insertSampleOrder(lab.erp, { lines: [{ qty: 2 }, { qty: 3 }] });
    const result = await lab.capture();
    expect(result.captured.orders).to.equal(1);
    expect(result.read.orders).to.equal(1);
    expect(await messagesOf(kit, id)).to.have.length(1);
  });

  it('finds an edited line by the sweep when the ERP does not move the order’s time of change', async () => {
    const lab = await kit.start();
    await lab.capture();
    await editSampleLine(lab.erp, 2, 1, 77);
    expect((await lab.capture()).captured.orders).to.equal(0);
    expect((await lab.capture({ sweep: true })).captured.orders).to.equal(1);
    expect(await messagesOf(kit, 2)).to.have.length(2);
    expect((await messagesOf(kit, 2)).map((row) => row.state)).to.deep.equal(['superseded', 'pending']);
  });

  it('sweeps by itself when the time has come', async () => {
    const lab = await kit.start({ settings: { capture: { sweepMinutes: 30 } } });
    await lab.capture();
    await editSampleLine(lab.erp, 2, 1, 77);
    lab.context.nowMs = () => Date.now() + 29 * minute;
    expect((await lab.capture()).captured.orders).to.equal(0);
    lab.context.nowMs = () => Date.now() + 30 * minute;
    expect((await lab.capture()).captured.orders).to.equal(1);
  });

  it('finds a row that came in late: by the overlap, or else by the sweep', async () => {
    const lab = await kit.start({ settings: { capture: { overlapSeconds: 600 } } });
    await lab.capture();
    await insertSampleOrder(lab.erp, { time: ago(5 * minute) });
    expect((await lab.capture()).captured.orders).to.equal(1);
    await insertSampleOrder(lab.erp, { time: ago(15 * minute) });
    expect((await lab.capture()).captured.orders).to.equal(0);
    expect((await lab.capture({ sweep: true })).captured.orders).to.equal(1);
  });

  it('never moves the cursor past the ERP’s own clock, so that a row from the future hides nothing', async () => {
    const lab = await kit.start({ settings: { capture: { overlapSeconds: 0 } } });
    await lab.capture();
    const future = ago(-60 * minute);
    const { id } = await insertSampleOrder(lab.erp, { time: future });
    expect((await lab.capture()).captured.orders).to.equal(1);
    expect(await messagesOf(kit, id)).to.have.length(1);
    const { changedAt } = await cursorOf(kit);
    expect(compareChangedAt(changedAt as string, future)).to.be.below(0);
    await insertSampleOrder(lab.erp);
    expect((await lab.capture()).captured.orders).to.equal(1);
  });

  it('moves the cursor to the last change it read', async () => {
    const lab = await kit.start({ settings: { capture: { pageSize: 1 } } });
    await lab.capture();
    const time = wallTimeNow();
    await insertSampleOrder(lab.erp, { time });
    await lab.capture();
    expect(compareChangedAt((await cursorOf(kit)).changedAt as string, time)).to.equal(0);
  });

  it('follows known customers, and lets those alone that nobody ordered for', async () => {
    const lab = await kit.start({ customers: 3, orders: 6 });
    await lab.capture();
    await lab.changeErp('UPDATE customers SET name=?, updated_at=? WHERE id IN (2,4)', ['New name', wallTimeNow()]);
    expect((await lab.capture()).captured).to.deep.equal({ customers: 1, orders: 0 });
    expect(await messagesOf(kit, 2, 'customer')).to.have.length(2);
    expect(await messagesOf(kit, 4, 'customer')).to.deep.equal([]);
  });

  it('takes every customer with send: all, and none with send: none', async () => {
    const lab = await kit.start({ customers: 3, orders: 6, settings: { customers: { send: 'all' } } });
    expect((await lab.capture()).captured).to.deep.equal({ customers: 5, orders: 6 });
    const none = lab.another({
      settings: { customers: { send: 'none' }, orders: { fields: { customer_code: 'customer_id' } } },
    });
    await kit.store.transaction('begin anew', (tx) => tx.run('DELETE FROM outbox_message'));
    expect((await none.capture({ sweep: true })).captured).to.deep.equal({ customers: 0, orders: 6 });
    const waiting = await kit.rows('SELECT COUNT(*) AS n FROM outbox_message WHERE customer_key IS NOT NULL');
    expect(waiting).to.deep.equal([{ n: 0 }]);
  });

  describe('an order whose lines are not all there', () => {
    const settled = { orders: { settleSeconds: 3600 } };

    it('waits for them, and goes out whole', async () => {
      const lab = await kit.start({ settings: settled });
      await lab.capture();
      const { id } = await insertSampleOrder(lab.erp, { lines: [{ qty: 1 }, { qty: 2 }] });
      await lab.changeErp('DELETE FROM sales_order_lines WHERE order_id=? AND line_no=2', [id]);
      const first = await lab.capture();
      expect(first).to.deep.include({ waiting: 1, parked: 0 });
      expect(await messagesOf(kit, id)).to.deep.equal([]);
      expect((await lab.capture()).waiting).to.equal(1);

      await lab.changeErp('INSERT INTO sales_order_lines VALUES (?,?,2,1,?,?)', [900_000, id, '2.000', '19.99']);
      expect(await lab.capture()).to.deep.include({ waiting: 0, parked: 0 });
      const [message] = await kit.rows(
        "SELECT b.record FROM outbox_message m JOIN message_body b ON b.message_id=m.id WHERE m.entity='order' AND m.source_key=?",
        [String(id)],
      );
      expect(JSON.parse(message.record).items).to.have.length(2);
      expect(await kit.rows('SELECT * FROM unsettled')).to.deep.equal([]);
    });

    it('waits for its first line, and for a value of its own, instead of being parked at once', async () => {
      const lab = await kit.start({ settings: settled });
      await lab.capture();
      const { id } = await insertSampleOrder(lab.erp, { lines: [{ qty: 2, priceCents: 1000 }] });
      await lab.changeErp('DELETE FROM sales_order_lines WHERE order_id=?', [id]);
      expect(await lab.capture()).to.deep.include({ waiting: 1, parked: 0 });
      await lab.changeErp('INSERT INTO sales_order_lines VALUES (?,?,1,NULL,?,?)', [900_000, id, '2.000', '10.00']);
      expect(await lab.capture()).to.deep.include({ waiting: 1, parked: 0 });
      expect(await messagesOf(kit, id)).to.deep.equal([]);
      await lab.changeErp('UPDATE sales_order_lines SET product_id=1 WHERE order_id=?', [id]);
      expect(await lab.capture()).to.deep.include({ waiting: 0, parked: 0 });
      expect((await messagesOf(kit, id)).map(({ state }) => state)).to.deep.equal(['pending']);
    });

    it('is parked for what is wrong with it when time does not help, once', async () => {
      const lab = await kit.start({ settings: settled });
      await lab.capture();
      const { id } = await insertSampleOrder(lab.erp);
      await lab.changeErp('DELETE FROM sales_order_lines WHERE order_id=?', [id]);
      expect(await lab.capture()).to.deep.include({ waiting: 1, parked: 0 });
      lab.context.nowMs = () => Date.now() + 61 * minute;
      expect(await lab.capture()).to.deep.include({ waiting: 0, parked: 1 });
      expect(await lab.capture({ sweep: true })).to.deep.include({ waiting: 0, parked: 0 });
      expect(await kit.rows('SELECT * FROM unsettled')).to.deep.equal([]);
    });

    it('is parked with both figures when time does not help, once, and tried again when somebody corrects it', async () => {
      const lab = await kit.start({ settings: settled });
      await lab.capture();
      const { id } = await insertSampleOrder(lab.erp, { lines: [{ qty: 2, priceCents: 1000 }] });
      await lab.changeErp('UPDATE sales_orders SET total=? WHERE id=?', ['25.00', id]);
      expect((await lab.capture()).waiting).to.equal(1);
      // Behind the overlap by now: it is found by its name.
      lab.context.nowMs = () => Date.now() + 61 * minute;
      expect(await lab.capture()).to.deep.include({ waiting: 0, parked: 1 });
      const [parked] = await messagesOf(kit, id);
      expect(parked).to.deep.include({ state: 'parked', park_class: 'unmapped', idempotency_key: null });
      expect(parked.reason).to.contain('20.00').and.to.contain('25.00');

      const before = await everything(kit);
      expect(await lab.capture({ sweep: true })).to.deep.include({ waiting: 0, parked: 0 });
      expect(((await everything(kit)) as { outbox_message: unknown }).outbox_message).to.deep.equal(
        (before as { outbox_message: unknown }).outbox_message,
      );

      await lab.changeErp('UPDATE sales_orders SET total=? WHERE id=?', ['20.00', id]);
      await lab.capture({ sweep: true });
      const messages = await messagesOf(kit, id);
      expect(messages.map((row) => row.state)).to.deep.equal(['superseded', 'pending']);
      expect(messages[1]).to.deep.include({ operation: 'create', generation: 0 });
    });

    it('waits by the clock alone where there is no total', async () => {
      const lab = await kit.start({ settings: { orders: { settleSeconds: 3600, total: undefined } } });
      await lab.capture();
      const { id } = await insertSampleOrder(lab.erp);
      expect((await lab.capture()).waiting).to.equal(1);
      lab.context.nowMs = () => Date.now() + 61 * minute;
      expect((await lab.capture()).captured.orders).to.equal(1);
      expect(await messagesOf(kit, id)).to.have.length(1);
    });

    it('waits as long where the clock on the wall is set', async () => {
      const lab = await kit.start({ settings: { orders: { settleSeconds: 3600, total: undefined } } });
      let passedMs = 0;
      lab.context.clock = {
        ...lab.context.clock,
        sinceBoot: () => ({ bootId: 'lab', bootMs: Date.now() + passedMs }),
      };
      await lab.capture();
      const { id } = await insertSampleOrder(lab.erp);
      expect((await lab.capture()).waiting).to.equal(1);
      lab.context.nowMs = () => Date.now() + 61 * minute;
      expect((await lab.capture()).waiting).to.equal(1);
      expect(await messagesOf(kit, id)).to.deep.equal([]);
      passedMs = 61 * minute;
      expect((await lab.capture()).captured.orders).to.equal(1);
    });

    it('is forgotten when it is no longer eligible', async () => {
      const lab = await kit.start({ settings: settled });
      await lab.capture();
      const { id } = await insertSampleOrder(lab.erp);
      await lab.changeErp('UPDATE sales_orders SET total=? WHERE id=?', ['1.00', id]);
      expect((await lab.capture()).waiting).to.equal(1);
      await lab.changeErp("UPDATE sales_orders SET status='cancelled' WHERE id=?", [id]);
      expect((await lab.capture()).waiting).to.equal(0);
      expect(await kit.rows('SELECT * FROM unsettled')).to.deep.equal([]);
    });
  });

  it('parks what can not be sent, with the reason, and its neighbours go on', async () => {
    const lab = await kit.start({
      bad: oneOfEachBadRow,
      settings: { capture: { pageSize: 5 } },
    });
    const result = await lab.capture();
    expect(result).to.deep.include({ parked: 6, stopped: null });
    expect(result.captured.orders).to.equal(18);
    expect(await kit.rows("SELECT COUNT(*) AS n FROM outbox_message WHERE state='pending'")).to.deep.equal([{ n: 16 }]);
    const reasons: [keyof typeof lab.made.bad, RegExp][] = [
      ['ordersWithoutLines', /no lines/],
      ['fractionalQuantities', /1\.5/],
      ['negativeQuantities', /-2.*not a positive quantity/],
      ['pricesWithThreeDecimals', /decimals/],
      ['missingCustomers', /customer 9000001 is not in customers\.query/],
      ['totalMismatches', /the lines add up to \d+\.\d\d EUR, the order says \d+\.\d\d EUR\. Correct/],
    ];
    for (const [flaw, reason] of reasons) {
      const [message] = await messagesOf(kit, lab.made.bad[flaw][0] as number);
      expect(message, flaw).to.deep.include({ state: 'parked', park_class: 'unmapped', idempotency_key: null });
      expect(message.reason, flaw).to.match(reason);
    }
    const audited = await kit.rows("SELECT COUNT(*) AS n FROM audit_log WHERE event='parked' AND outcome='unmapped'");
    expect(audited).to.deep.equal([{ n: 6 }]);

    const again = await lab.capture({ sweep: true });
    // The customers are met as well.
    expect(again).to.deep.include({ parked: 0, unchanged: 18 + 4 });
  });

  it('tries a row again that was corrected, and one whose customer came later', async () => {
    const lab = await kit.start({ bad: { negativeQuantities: 1, missingCustomers: 1 } });
    await lab.capture();
    const [negative] = lab.made.bad.negativeQuantities as [number];
    const [orphan] = lab.made.bad.missingCustomers as [number];
    await editSampleLine(lab.erp, negative, 1, 3);
    await lab.changeErp(
      `INSERT INTO customers SELECT 9000001, 'K-LATE', name, email, street, postcode, city, country, created_at, updated_at FROM customers WHERE id=1`,
    );
    const result = await lab.capture({ sweep: true });
    expect(result.captured).to.deep.equal({ customers: 1, orders: 2 });
    for (const key of [negative, orphan]) {
      const messages = await messagesOf(kit, key);
      expect(messages.map(({ state, generation }) => ({ state, generation }))).to.deep.equal([
        { state: 'superseded', generation: 0 },
        { state: 'pending', generation: 0 },
      ]);
      expect(messages[1].idempotency_key).to.be.a('string');
    }
  });

  it('reads everything once more when somebody asked for that while it did, whether that one was asked for or due', async () => {
    const lab = await kit.start({ settings: { capture: { pageSize: 5 } } });
    const ask = () => kit.store.transaction('ask for a sweep', (tx) => sweepAtNextPass(tx, 'order'));
    await lab.capture();
    const [order] = await lab.readErp("SELECT MIN(id) AS id FROM sales_orders WHERE status='confirmed'");
    const id = Number(order?.id);
    for (const first of ['asked for', 'due']) {
      if (first === 'asked for') await ask();
      const reader = lab.reader;
      // On the page that it has gone past, and no time of change tells of it.
      lab.reader = interrupted(reader, 2, async () => {
        await editSampleLine(lab.erp, id, 1, first === 'due' ? 8 : 9);
        await ask();
      });
      await lab.capture({ sweep: first === 'due' });
      lab.reader = reader;
      expect((await cursorOf(kit)).sweptAt, first).to.equal(null);
      expect((await lab.capture()).captured.orders, first).to.equal(1);
      expect((await cursorOf(kit)).sweptAt, first).to.be.a('number');
    }
  });

  it('stops after as many orders as it was told, with their customers, and moves no cursor', async () => {
    const lab = await kit.start();
    const first = await lab.capture({ limit: 5 });
    expect(first.captured.orders).to.equal(5);
    expect(first.captured.customers).to.be.within(1, 4);
    expect(first.touched.filter((record) => record.entity === 'order')).to.have.length(5);
    const wanted = await kit.rows(
      `SELECT COUNT(*) AS n FROM outbox_message o WHERE o.entity='order' AND NOT EXISTS
         (SELECT 1 FROM outbox_message c WHERE c.entity='customer' AND c.source_key=o.customer_key)`,
    );
    expect(wanted).to.deep.equal([{ n: 0 }]);
    expect(await cursorOf(kit)).to.deep.equal({ changedAt: null, sweptAt: null });
    expect((await lab.capture({ limit: 5 })).captured.orders).to.equal(5);
    expect((await lab.capture()).captured.orders).to.equal(2);
  });

  it('reads only what a filter names, and moves no cursor', async () => {
    const lab = await kit.start();
    const eligible = await lab.readErp(
      "SELECT id, order_date FROM sales_orders WHERE status='confirmed' AND created_at>='2026-01-01' ORDER BY id",
    );
    const keys = eligible.slice(0, 2).map((row) => String(row.id));
    const byKey = await lab.capture({ filter: { entity: 'order', keys: [...keys, '999999'] } });
    expect(byKey.captured.orders).to.equal(2);
    expect(byKey.touched.filter((record) => record.entity === 'order').map((record) => record.sourceKey)).to.deep.equal(
      keys,
    );
    const nothing = await lab.capture({ filter: { entity: 'order', from: '2025-01-01', to: '2026-01-01' } });
    expect(nothing.read.orders).to.equal(0);
    const rest = await lab.capture({ filter: { entity: 'order', from: '2026-01-01', to: '2027-01-01' } });
    expect(rest.captured.orders).to.equal(10);
    expect(await cursorOf(kit)).to.deep.equal({ changedAt: null, sweptAt: null });
  });

  it('decides everything in a dry run, and writes nothing, not even beside a capture that runs', async () => {
    const lab = await kit.start({ bad: { negativeQuantities: 1 } });
    const before = await everything(kit);
    const taken = await Lease.acquire(kit.store, 'capture', 'somebody', minute);
    const result = await lab.capture({ dryRun: true });
    expect(result.captured).to.deep.equal({ customers: 4, orders: 13 });
    expect(result).to.deep.include({ parked: 1, stopped: null });
    expect(result.touched.length).to.be.greaterThan(0);
    expect(await everything(kit)).to.deep.equal(before);
    expect(taken.held).to.equal(true);
  });

  it('runs one at a time', async () => {
    const lab = await kit.start();
    const answer = await Lease.acquire(kit.store, 'capture', 'somebody', minute);
    const refused = await lab.capture();
    expect(refused.busy).to.equal(true);
    expect(told(refused.stopped?.reason)).to.contain('somebody is capturing');
    if (answer.held) await answer.lease.release();
    expect((await lab.capture()).captured.orders).to.equal(12);
  });

  it('stops before its next page when somebody pauses it, and goes on where it was', async () => {
    const lab = await kit.start({ settings: { capture: { pageSize: 4 } } });
    const neighbour = await kit.connect();
    lab.reader = interrupted(lab.reader, 2, () =>
      neighbour.transaction('pause', (tx) =>
        pauseLane(tx, {
          lane: 'capture',
          cause: 'operator',
          until_at: null,
          reason: legacy('the ERP is being updated'),
          actor: 'an operator',
          since_at: Date.now(),
        }),
      ),
    );
    const result = await lab.capture();
    expect(result.captured.orders).to.equal(4);
    expect(told(result.stopped?.reason)).to.contain('the ERP is being updated');
    expect(await cursorOf(kit)).to.deep.equal({ changedAt: null, sweptAt: null });
    await kit.store.transaction('resume', (tx) => resumeLane(tx, 'capture'));
    expect((await lab.capture()).captured.orders).to.equal(8);
  });

  it('stops before its next page when it is told to', async () => {
    const lab = await kit.start({ settings: { capture: { pageSize: 4 } } });
    const stopping = new AbortController();
    lab.reader = interrupted(lab.reader, 2, async () => stopping.abort());
    const result = await lab.capture({ signal: stopping.signal });
    expect(result.captured.orders).to.equal(4);
    expect(told(result.stopped?.reason)).to.equal('stopping');
  });

  describe('that lost its lease', () => {
    const loseLease = async () => {
      await kit.store.transaction('let time pass', (tx) =>
        tx.run("UPDATE lease SET expires_at=1 WHERE name='capture'"),
      );
      const answer = await Lease.acquire(kit.store, 'capture', 'the successor', minute);
      expect(answer.held).to.equal(true);
    };
    const failureOf = (work: Promise<unknown>) =>
      work.then(
        () => null,
        (error: unknown) => error,
      );

    it('writes no further page', async () => {
      const lab = await kit.start({ settings: { capture: { pageSize: 4 } } });
      lab.reader = interrupted(lab.reader, 2, loseLease);
      expect(await failureOf(lab.capture())).to.be.instanceOf(LeaseLost);
      expect(await kit.rows("SELECT COUNT(*) AS n FROM outbox_message WHERE entity='order'")).to.deep.equal([{ n: 4 }]);
    });

    it('moves no cursor, and takes nothing from its successor', async () => {
      const lab = await kit.start({ settings: { capture: { pageSize: 12 } } });
      await lab.capture({ limit: 12 });
      // Nothing is left to write, but the end of the sweep.
      const reader = lab.reader;
      lab.reader = new Proxy(reader, {
        get(target, name) {
          const value = Reflect.get(target, name) as unknown;
          if (typeof value !== 'function') return value;
          if (name !== 'sweep') return value.bind(target);
          return async (...parameters: unknown[]) => {
            if (parameters[0] !== 'order') return value.apply(target, parameters);
            await loseLease();
            return { rows: [], customers: [], last: null, more: false };
          };
        },
      });
      expect(await failureOf(lab.capture())).to.be.instanceOf(LeaseLost);
      expect(await cursorOf(kit)).to.deep.equal({ changedAt: null, sweptAt: null });
      expect(await kit.rows("SELECT holder FROM lease WHERE name='capture'")).to.deep.equal([
        { holder: 'the successor' },
      ]);
    });
  });

  describe('with force', () => {
    const forced = async (lab: Lab, keys: string[]) => lab.capture({ filter: { entity: 'order', keys }, force: true });

    it('sends a delivered create once more with the same key and bytes, and leaves alone what is on its way', async () => {
      const lab = await kit.start();
      await lab.capture();
      const keys = (await kit.rows("SELECT source_key FROM outbox_message WHERE entity='order' ORDER BY id")).map(
        (row) => row.source_key as string,
      );
      const underWay = await forced(lab, keys.slice(0, 1));
      expect(underWay.skipped).to.have.length(1);
      expect(underWay.skipped[0]?.reason).to.deep.equal({ code: 'on_its_way' });

      await lab.deliver();
      const result = await forced(lab, keys);
      expect(result.captured.orders).to.equal(12);
      const [first, second] = await messagesOf(kit, keys[0] as string);
      expect(second).to.deep.include({ operation: 'create', state: 'pending', idempotency_key: first.idempotency_key });
      await lab.deliver();
      expect(lab.sandbox.counts()).to.deep.include({ orders: 12, duplicateReferences: 0, replayed: 12 });
    });

    it('writes an edit that follows at once as an update: the key belongs to the first bytes', async () => {
      const lab = await kit.start();
      await lab.capture();
      await lab.deliver();
      await forced(lab, ['2']);
      await editSampleLine(lab.erp, 2, 1, 55);
      await lab.capture({ sweep: true });
      expect((await messagesOf(kit, 2)).map(({ operation, state }) => `${operation} ${state}`)).to.deep.equal([
        'create delivered',
        'create pending',
        'update pending',
      ]);
      expect(await lab.deliver()).to.deep.include({ parked: 0 });
      const order = lab.sandbox.ledger().orders.find(({ reference }) => reference === 'A-2026-000002');
      expect(order?.record.items[0]?.qty).to.equal(55);
    });

    it('sends nothing when the service forgot the key while the message was waiting', async () => {
      const lab = await kit.start();
      await lab.capture();
      await lab.deliver();
      await forced(lab, ['2']);
      lab.sandbox.forgetKeys();
      lab.context.nowMs = () => Date.now() + 25 * 60 * minute;
      await lab.deliver();
      expect(lab.sandbox.counts()).to.deep.include({ orders: 12, duplicateReferences: 0 });
      expect((await messagesOf(kit, 2)).map((row) => row.state)).to.deep.equal(['delivered', 'superseded']);
    });
  });
});

describe('capture from a MariaDB ERP', () => {
  const kit = useLab(useStore('mysql'));

  it('finds an order whose transaction was committed after the cursor had passed it', async () => {
    const lab = await kit.start();
    await lab.capture();
    if (lab.erp.type !== 'mysql') throw new Error('This test is about MariaDB.');
    const { connection } = lab.erp;
    await connection.query('START TRANSACTION');
    const time = wallTimeNow();
    await connection.query(
      "INSERT INTO sales_orders VALUES (5000,'A-LATE',1,'confirmed','2026-06-01','EUR','19.99',NULL,?,?)",
      [time, time],
    );
    await connection.query("INSERT INTO sales_order_lines VALUES (5000,5000,1,1,'1.000','19.99')");
    // Meanwhile somebody else's order is committed, and the cursor moves on.
    const [[current]] = await connection.query<RowDataPacket[]>('SELECT DATABASE() AS name');
    const other = await kit.mariaDb.server.connect(current?.name);
    try {
      await insertSampleOrder({ type: 'mysql', connection: other });
      expect((await lab.capture()).captured.orders).to.equal(1);
    } finally {
      await other.end();
    }
    expect(compareChangedAt((await cursorOf(kit)).changedAt as string, time)).to.be.at.least(0);
    await connection.query('COMMIT');
    expect((await lab.capture()).captured.orders).to.equal(1);
    expect(await messagesOf(kit, 5000)).to.have.length(1);
  });
});
