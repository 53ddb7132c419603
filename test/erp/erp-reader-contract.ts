import { expect } from 'chai';
import fc from 'fast-check';
import {
  type ChangedFrom,
  type ChangePosition,
  ErpError,
  type ErpPage,
  type ErpReader,
  type ReadOrder,
} from '../../src/erp/erp-reader.js';
import { shiftChangedAt } from '../../src/erp/time/time-form.js';
import { type ErpLab, erpSource, type Mapping, openReader, orderRows, spyOn, TABLES } from './erp-lab.js';
import { problemsInWords } from './problems-in-words.js';

const DAY = '2026-01-01';
const PRINTABLE = fc.constantFrom('a', 'A', 'ä', 'Ä', 'b', 'B', ' ', '/', '%', "'", 'ß', 's', '0', '1');

/** The message for people about a row that can't become a record; empty if it can. */
function whyNot(row: ReadOrder | undefined): string {
  return row === undefined || row.content.mapped ? '' : problemsInWords(row.content);
}

/** Everything a sweep yields, page by page. */
async function sweepAll(reader: ErpReader, limit: number): Promise<ReadOrder[]> {
  const rows: ReadOrder[] = [];
  let after: string[] | null = null;
  for (;;) {
    const page: ErpPage<ReadOrder> = await reader.sweep('order', after, limit);
    rows.push(...page.rows);
    if (!page.more) return rows;
    after = page.last?.key ?? null;
  }
}

/** Everything a pass over the changes yields, page by page. */
async function changesAll(reader: ErpReader, limit: number, since: string | null = null): Promise<ReadOrder[]> {
  const rows: ReadOrder[] = [];
  let from: ChangedFrom = { since };
  for (;;) {
    const page: ErpPage<ReadOrder> = await reader.readChanged('order', from, limit);
    rows.push(...page.rows);
    if (!page.more || page.last === null) return rows;
    from = { after: page.last };
  }
}

const keysOf = (rows: readonly { sourceKey: string }[]): string[] => rows.map(({ sourceKey }) => sourceKey);

async function failure(action: Promise<unknown>): Promise<ErpError> {
  try {
    await action;
  } catch (error) {
    if (error instanceof ErpError) return error;
    throw error;
  }
  throw new Error('it did not fail');
}

/** The promises of a reader, whatever database it reads. Called inside a describe block. */
export function erpReaderContract(lab: ErpLab): void {
  beforeEach(() => lab.run(...TABLES));

  const open = (mapping: Mapping = {}) => openReader(lab, mapping);

  describe('telling what is eligible', () => {
    it('counts what is left after each condition, and names those that a row does not meet', async () => {
      for (const id of [1, 2, 3, 4]) await lab.run(...orderRows(id, `${DAY} 10:00:00`));
      await lab.run("UPDATE orders SET status='draft' WHERE id IN (1, 2)", "UPDATE orders SET note='gone' WHERE id=3");
      const reader = open({
        orders: {
          startFrom: { column: 'id', from: 2 },
          cancelled: { column: 'note', values: ['gone'] },
          pending: "status = 'open' -- as a person wrote it",
        },
      });
      expect(await reader.funnel('order')).to.deep.equal({
        query: 'orders.query',
        rows: 4,
        steps: [
          { setting: 'orders.startFrom', demand: 'id from 2 on', left: 3 },
          { setting: 'orders.pending', demand: "status = 'open' -- as a person wrote it", left: 2 },
          { setting: 'orders.cancelled', demand: 'note is none of gone', left: 1 },
          { setting: 'orders.key', demand: 'id is not empty', left: 1 },
        ],
      });
      expect(await reader.count('order')).to.equal(1);
      const standing = await reader.standing('order', ['1', '3', '4', '5']);
      const unmet = standing.map((one) => [one.sourceKey, ...one.unmet.map(({ setting }) => setting)]);
      expect(unmet).to.have.deep.members([
        ['1', 'orders.startFrom', 'orders.pending'],
        ['3', 'orders.cancelled'],
        ['4'],
      ]);
      expect(standing[0]?.row)
        .to.have.all.keys(Object.keys(standing[1]?.row ?? {}))
        .and.not.include.keys('waybill_step_0');
    });

    it('counts an empty table, and customers that are not sent as none', async () => {
      expect((await open().funnel('order'))?.rows).to.equal(0);
      const reader = open({ customers: { send: 'none' }, orders: { fields: { customer_code: 'customer_id' } } });
      expect(await reader.funnel('customer')).to.equal(null);
    });
  });

  describe('reading changes', () => {
    it('yields an order with its lines, customer, number and totals, exactly', async () => {
      await lab.run(
        `INSERT INTO orders VALUES (9007199254740993, 'A-1', 1, 'open', 30.03, 'x', '${DAY}', '${DAY} 10:00:00.123456')`,
        "INSERT INTO order_lines VALUES (9007199254740993, 2, 'B', 1, 10.0100)",
        "INSERT INTO order_lines VALUES (9007199254740993, 1, 'A', 2.000, 10.0100)",
      );
      const page = await open().readChanged('order', { since: null }, 10);
      expect(page.last).to.deep.equal({ changedAt: `${DAY} 10:00:00.123456`, key: ['9007199254740993'] });
      expect(page.more).to.equal(false);
      const [order] = page.rows as [ReadOrder];
      const shown = await open().sweep('order', null, 10, { forPeople: true });
      const [{ row, lineRows, day, ...rest }] = shown.rows as [ReadOrder];
      expect({ ...rest, ageSeconds: 0 }).to.deep.equal({ ...order, ageSeconds: 0 });
      expect(day).to.equal(DAY);
      expect(row).to.include({ id: '9007199254740993', status: 'open', note: 'x' });
      expect(lineRows?.map(({ pos, sku }) => [pos, sku])).to.deep.equal([
        ['1', 'A'],
        ['2', 'B'],
      ]);
      expect({ ...order, ageSeconds: 0 }).to.deep.equal({
        entity: 'order',
        sourceKey: '9007199254740993',
        changedAt: `${DAY} 10:00:00.123456`,
        changedAtMs: Date.parse(`${DAY}T09:00:00.123Z`),
        ageSeconds: 0,
        number: 'A-1',
        identity: '{"order_no":"A-1"}',
        customerKey: '1',
        content: {
          mapped: true,
          record: {
            customer_code: 'K1',
            items: [
              { sku: 'A', qty: 2, price: 1001 },
              { sku: 'B', qty: 1, price: 1001 },
            ],
            note: 'A-1',
          },
        },
        totals: { lines: '3003', header: '3003' },
      });
      expect(page.customers).to.have.length(1);
      expect(page.customers[0]?.content).to.deep.equal({
        mapped: true,
        record: { customer_code: 'K1', name: 'Müller & Söhne' },
      });
    });

    it('goes on strictly after a position, whose microseconds and key are exact', async () => {
      const times = ['10:00:00.000001', '10:00:00.000002', '10:00:00.000002', '10:00:00.000003'];
      for (const [index, time] of times.entries()) await lab.run(...orderRows(index + 1, `${DAY} ${time}`));
      const reader = open();
      const page = await reader.readChanged('order', { since: null }, 2);
      expect(keysOf(page.rows)).to.deep.equal(['1', '2']);
      expect(page.more).to.equal(true);
      const next = await reader.readChanged('order', { after: page.last as ChangePosition }, 2);
      expect(keysOf(next.rows)).to.deep.equal(['3', '4']);
      expect(next.more).to.equal(false);
      const since = await reader.readChanged('order', { since: `${DAY} 10:00:00.000002` }, 10);
      expect(keysOf(since.rows)).to.deep.equal(['2', '3', '4']);
    });

    it('leaves rows without a time of change to sweeps', async () => {
      await lab.run(...orderRows(1, `${DAY} 10:00:00`), ...orderRows(2, `${DAY} 10:00:00`));
      await lab.run('UPDATE orders SET updated_at = NULL WHERE id = 2');
      const reader = open();
      expect(keysOf(await changesAll(reader, 10))).to.deep.equal(['1']);
      const swept = await sweepAll(reader, 10);
      expect(keysOf(swept)).to.deep.equal(['1', '2']);
      expect(swept[1]?.changedAt).to.equal(null);
      expect(swept[1]?.ageSeconds).to.equal(null);
    });

    it('yields nothing where no column of change is mapped', async () => {
      await lab.run(...orderRows(1, `${DAY} 10:00:00`));
      const reader = open({ orders: { changedAt: undefined } });
      expect(await reader.readChanged('order', { since: null }, 10)).to.have.property('last', null);
      expect(await reader.nowAsChangedAt('order')).to.equal(null);
      expect(keysOf(await sweepAll(reader, 10))).to.deep.equal(['1']);
    });

    it('finds a row that was committed late by the overlap, and by the sweep', async () => {
      await lab.run(...orderRows(2, `${DAY} 10:05:00.000000`));
      const reader = open();
      const cursor = (await reader.readChanged('order', { since: null }, 10)).last as ChangePosition;
      await lab.run(...orderRows(1, `${DAY} 10:04:00.000000`));
      expect((await reader.readChanged('order', { after: cursor }, 10)).rows).to.deep.equal([]);
      expect(keysOf(await changesAll(reader, 10, shiftChangedAt(cursor.changedAt, -600)))).to.deep.equal(['1', '2']);
      expect(keysOf(await sweepAll(reader, 10))).to.deep.equal(['1', '2']);
    });

    it('shows a line that was edited without moving the time of change in the sweep', async () => {
      await lab.run(...orderRows(1, `${DAY} 10:00:00`));
      const reader = open();
      await lab.run('UPDATE order_lines SET qty = 3 WHERE order_id = 1');
      const [order] = await sweepAll(reader, 10);
      expect(order?.totals).to.deep.equal({ lines: '3000', header: '1000' });
    });

    it('yields every order once and in order, whatever the page size, also where times are equal', async () => {
      const ids = Array.from({ length: 40 }, (_, index) => index + 1);
      for (const id of ids) await lab.run(...orderRows(id, `${DAY} 10:00:0${(id * 7) % 3}`));
      const reader = open();
      const whole = keysOf(await changesAll(reader, 1000));
      expect(whole).to.have.members(ids.map(String));
      const runs = lab.type === 'sqlite' ? 20 : 8;
      const sizes = fc.integer({ min: 1, max: 50 });
      const check = fc.asyncProperty(sizes, async (limit) => {
        expect(keysOf(await changesAll(reader, limit))).to.deep.equal(whole);
        expect(keysOf(await sweepAll(reader, limit))).to.deep.equal(ids.map(String));
      });
      await fc.assert(check, { numRuns: runs });
    });
  });

  describe('keys', () => {
    it('of text are paged in the database’s own order: none is lost, none read twice, none for ever', async () => {
      const reader = open({
        customers: { send: 'none' },
        orders: { ...TEXT_KEYS, fields: { customer_code: { constant: 'K' } } },
      });
      const keys = fc.uniqueArray(fc.string({ unit: PRINTABLE, minLength: 1, maxLength: 3 }), {
        minLength: 1,
        maxLength: 25,
      });
      const check = fc.asyncProperty(keys, fc.integer({ min: 1, max: 6 }), async (texts, limit) => {
        await lab.run('DROP TABLE IF EXISTS text_orders', TEXT_ORDERS[lab.type]);
        const rows = texts.map((text, index) => `('${text.replaceAll("'", "''")}', '${DAY} 10:00:0${index % 2}')`);
        await lab.run(`INSERT INTO text_orders VALUES ${rows.join(', ')}`);
        expect(keysOf(await sweepAll(reader, limit)))
          .to.have.members(texts)
          .and.have.length(texts.length);
        expect(keysOf(await changesAll(reader, limit)))
          .to.have.members(texts)
          .and.have.length(texts.length);
      });
      await fc.assert(check, { numRuns: lab.type === 'sqlite' ? 60 : 25 });
    });

    it('that the database holds equal match lines and customers, however they are spelled', async () => {
      await lab.run(
        ...TEXT_ERP[lab.type],
        `INSERT INTO t_customers VALUES ('Kd-1', 'K1')`,
        `INSERT INTO t_orders VALUES ('ANGRY', 'KD-1', '${DAY}'), ('calm', 'kd-1', '${DAY}'), ('other', 'KD-2', '${DAY}')`,
        `INSERT INTO t_lines VALUES ('angry', 1, 'A'), ('ANGRY', 2, 'B'), ('Calm', 1, 'C'), ('OTHER', 1, 'D')`,
      );
      const page = await open(TEXT_ERP_MAPPING).sweep('order', null, 10);
      const items = page.rows.map(({ sourceKey, customerKey, content }) => ({
        sourceKey,
        customerKey,
        skus: content.mapped ? content.record.items.map(({ sku }) => sku).sort() : problemsInWords(content),
      }));
      expect(items).to.deep.equal([
        { sourceKey: 'ANGRY', customerKey: 'Kd-1', skus: ['A', 'B'] },
        { sourceKey: 'calm', customerKey: 'Kd-1', skus: ['C'] },
        {
          sourceKey: 'other',
          customerKey: 'KD-2',
          skus: 'its customer KD-2 is not in customers.query. Correct the order in the ERP, or the query.',
        },
      ]);
      expect(keysOf(page.customers)).to.deep.equal(['Kd-1']);
    });

    it('name one customer also where an order spells it as it is, and the next one does not', async () => {
      await lab.run(
        ...TEXT_ERP[lab.type],
        `INSERT INTO t_customers VALUES ('Kd-1', 'K1'), ('Kd-3', 'K3')`,
        `INSERT INTO t_orders VALUES ('a', 'Kd-1', '${DAY}'), ('b', 'kd-1', '${DAY}'), ('c', 'KD-1', '${DAY}')`,
        `INSERT INTO t_lines VALUES ('a', 1, 'A'), ('b', 1, 'B'), ('c', 1, 'C')`,
      );
      const reader = open(TEXT_ERP_MAPPING);
      const named = (await reader.sweep('order', null, 10)).rows.map(({ customerKey, content }) => [
        customerKey,
        content.mapped,
      ]);
      expect(named).to.deep.equal(Array(3).fill(['Kd-1', true]));
    });

    it('are compared by the database only where a text is left that it may call equal to another', async () => {
      await lab.run(
        ...TEXT_ERP[lab.type],
        `INSERT INTO t_customers VALUES ('Kd-1', 'K1')`,
        `INSERT INTO t_orders VALUES ('a', 'Kd-1', '${DAY}'), ('b', 'KD-2', '${DAY}')`,
      );
      let asked: string[] = [];
      const reader = openReader(lab, TEXT_ERP_MAPPING, (database) => {
        const spied = spyOn(database);
        asked = spied.asked;
        return spied.database;
      });
      const comparisonsOf = async (...keys: string[]) => {
        asked.length = 0;
        await reader.sweep('order', null, 10, { keys });
        return asked.filter((doing) => doing === 'match orders with customers').length;
      };
      expect(await comparisonsOf('a')).to.equal(0);
      expect(await comparisonsOf('b')).to.equal(0);
      expect(await comparisonsOf('a', 'b')).to.equal(1);
    });

    it('of several columns work everywhere', async () => {
      await lab.run(
        'CREATE TABLE docs (type INT, no VARCHAR(20), cust_type INT, cust_no INT, at DATETIME(6), PRIMARY KEY (type, no))',
        'CREATE TABLE doc_lines (type INT, no VARCHAR(20), pos INT)',
        'CREATE TABLE partners (type INT, no INT, code VARCHAR(10))',
        "INSERT INTO partners VALUES (1, 7, 'P7'), (2, 7, 'Q7')",
        `INSERT INTO docs VALUES (30, '1', 1, 7, '${DAY}'), (30, 'a/b', 2, 7, '${DAY}'), (31, '1', 1, 8, '${DAY}'), (31, '2', 1, NULL, '${DAY}')`,
        "INSERT INTO doc_lines VALUES (30, '1', 1), (30, 'a/b', 1), (30, 'a/b', 2), (31, '1', 1), (31, '2', 1)",
      );
      const reader = open({
        customers: {
          query: 'SELECT * FROM partners',
          key: ['type', 'no'],
          changedAt: undefined,
          fields: { customer_code: 'code' },
        },
        orders: {
          query: 'SELECT * FROM docs',
          key: ['type', 'no'],
          changedAt: 'at',
          pending: undefined,
          customerKey: ['cust_type', 'cust_no'],
          number: undefined,
          total: undefined,
          lines: {
            query: "SELECT type, no, pos, 'S' AS sku, 1 AS qty, '1.00' AS price FROM doc_lines",
            orderKey: ['type', 'no'],
            sortBy: 'pos',
            fields: { sku: 'sku', qty: 'qty', price: 'price' },
          },
        },
      });
      const rows = await sweepAll(reader, 1);
      expect(keysOf(rows)).to.deep.equal(['30/1', '30/a%2Fb', '31/1', '31/2']);
      expect(keysOf(await changesAll(reader, 2))).to.deep.equal(keysOf(rows));
      expect(rows.map(({ customerKey }) => customerKey)).to.deep.equal(['1/7', '2/7', '1/8', null]);
      expect(rows[1]?.content).to.have.nested.property('record.customer_code', 'Q7');
      expect(rows[1]?.content).to.have.nested.property('record.items').with.length(2);
      expect(whyNot(rows[3])).to.include('cust_type, cust_no is empty');
      expect(keysOf((await reader.sweep('order', null, 9, { keys: ['30/a%2Fb'] })).rows)).to.deep.equal(['30/a%2Fb']);
      expect((await failure(reader.sweep('order', null, 9, { keys: ['30'] }))).message).to.include(
        'write it as type/no',
      );
      expect(await reader.count('customer')).to.equal(2);
    });

    it('that a query yields twice are shown, not sent', async () => {
      await lab.run(
        ...orderRows(1, `${DAY} 10:00:00`),
        ...orderRows(2, `${DAY} 10:00:00`),
        ...orderRows(3, `${DAY} 10:00:00`),
      );
      const query = 'SELECT o.* FROM orders o UNION ALL SELECT o.* FROM orders o WHERE o.id = 2';
      for (const limit of [1, 2, 3, 10]) {
        const rows = await sweepAll(open({ orders: { query } }), limit);
        expect(rows.map(({ content }) => content.mapped)).to.deep.equal([true, false, true]);
        expect(whyNot(rows[1])).to.include('orders.query yields 2 rows with this key');
      }
    });

    it('that are NULL are counted and passed over; the other rows are read', async () => {
      for (const id of [1, 2, 3]) await lab.run(...orderRows(id, `${DAY} 10:00:00`));
      const query = 'SELECT CASE WHEN o.id = 2 THEN NULL ELSE o.id END AS maybe_id, o.* FROM orders o';
      const reader = open({ orders: { query, key: 'maybe_id' } });
      for (const limit of [1, 2, 10]) expect(keysOf(await sweepAll(reader, limit))).to.deep.equal(['1', '3']);
      expect(keysOf(await changesAll(reader, 10))).to.deep.equal(['1', '3']);
      expect(await reader.countWithoutKey('order')).to.equal(1);
    });
  });

  describe('what may be sent', () => {
    it('is what is pending', async () => {
      await lab.run(...orderRows(1, `${DAY} 10:00:00`), ...orderRows(2, `${DAY} 10:00:00`));
      await lab.run("UPDATE orders SET status = 'draft' WHERE id = 1");
      const reader = open();
      expect(keysOf(await sweepAll(reader, 10))).to.deep.equal(['2']);
      expect(await reader.count('order')).to.equal(1);
    });

    it('begins with startFrom; editing an older order never makes it eligible', async () => {
      await lab.run(
        ...orderRows(1, `${DAY} 10:00:00`, { createdAt: '2025-12-31 23:59:59.999999' }),
        ...orderRows(2, `${DAY} 10:00:00`, { createdAt: `${DAY} 00:00:00.000000` }),
      );
      const byDate = open({ orders: { startFrom: { column: 'created_at', from: DAY } } });
      await lab.run(`UPDATE orders SET updated_at = '2026-06-01 00:00:00' WHERE id = 1`);
      expect(keysOf(await changesAll(byDate, 10))).to.deep.equal(['2']);
      expect(keysOf(await sweepAll(byDate, 10))).to.deep.equal(['2']);
      expect(await byDate.countExcludedByStartFrom()).to.deep.equal({ older: 1, withoutStart: 0 });
      expect(await byDate.count('order')).to.equal(1);
      const byKey = open({ orders: { startFrom: { column: 'id', from: 2 } } });
      expect(keysOf(await sweepAll(byKey, 10))).to.deep.equal(['2']);
      expect(await open().countExcludedByStartFrom()).to.deep.equal({ older: 0, withoutStart: 0 });
    });

    it('tells orders without a value in the column of startFrom from older ones', async () => {
      const rows = [1, 2, 3, 4, 5].map((id) => orderRows(id, `${DAY} 10:00:00`, { createdAt: `2025-12-3${id % 2}` }));
      await lab.run(
        ...rows.flat(),
        'UPDATE orders SET created_at = NULL WHERE id IN (3, 4)',
        "UPDATE orders SET status = 'done' WHERE id = 4",
        `UPDATE orders SET created_at = '${DAY} 10:00:00' WHERE id = 5`,
      );
      const reader = open({ orders: { startFrom: { column: 'created_at', from: DAY } } });
      expect(await reader.countExcludedByStartFrom()).to.deep.equal({ older: 2, withoutStart: 1 });
      const [undated] = await reader.standing('order', ['3']);
      expect(undated?.unmet).to.deep.equal([
        { setting: 'orders.startFrom', demand: 'created_at is empty; give it a value in the ERP' },
      ]);
    });

    it('says of a startFrom that its column can not hold that it is not a date, instead of comparing it', async () => {
      const columns = {
        'a date and time': 'created_at',
        'a date': 'day',
        'a text': 'written',
        'a count of seconds': 'epoch',
      };
      await lab.run(
        ...orderRows(1, `${DAY} 10:00:00`),
        ...orderRows(2, '2026-06-01 10:00:00'),
        'CREATE TABLE days (id BIGINT, day DATE, written VARCHAR(10), epoch BIGINT)',
        `INSERT INTO days VALUES (1, '${DAY}', '${DAY}', 1767225600), (2, '2026-06-01', '2026-06-01', 1780272000)`,
      );
      const query = 'SELECT o.*, d.day, d.written, d.epoch FROM orders o JOIN days d ON d.id = o.id';
      for (const [what, column] of Object.entries(columns)) {
        for (const from of ['01.03.2026', '2026-3-1', '2026/03/01', '2026-02-30', 'March']) {
          const reader = open({ orders: { query, startFrom: { column, from } } });
          for (const ask of [() => reader.check(), () => reader.sweep('order', null, 10)]) {
            const { kind, message } = await failure(ask());
            expect([kind, message], what).to.deep.equal([
              'mapping',
              `orders.startFrom.from: "${from}" is not a date; write YYYY-MM-DD`,
            ]);
          }
        }
        const reader = open({ orders: { query, startFrom: { column, from: '2026-03-01' } } });
        expect(keysOf(await sweepAll(reader, 10)), what).to.deep.equal(['2']);
      }
      const byId = open({ orders: { startFrom: { column: 'id', from: '01.03.2026' } } });
      expect((await failure(byId.check())).message).to.include('is no number, but column "id" holds numbers');
    });

    it('begins with a number or a text where the column of startFrom holds no times', async () => {
      await lab.run(...orderRows(1, `${DAY} 10:00:00`), ...orderRows(2, `${DAY} 10:00:00`));
      // Ten digits, as seconds since 1970 have.
      const query = 'SELECT o.*, 1767225600 + o.id AS serial FROM orders o';
      for (const startFrom of [
        { column: 'order_no', from: 'A-2' },
        { column: 'serial', from: 1_767_225_602 },
      ])
        expect(keysOf(await sweepAll(open({ orders: { query, startFrom } }), 10))).to.deep.equal(['2']);
    });

    it('is chosen by date, half-open, and by key', async () => {
      for (const [index, day] of ['2026-01-31 23:59:59', '2026-02-01 00:00:00', '2026-03-01 00:00:00'].entries()) {
        await lab.run(...orderRows(index + 1, '2026-05-01 00:00:00', { createdAt: `${day}.000000` }));
      }
      const reader = open({ orders: { startFrom: { column: 'created_at', from: '2026-01-01' } } });
      const keys = async (filter: object) => keysOf((await reader.sweep('order', null, 10, filter)).rows);
      expect(await keys({ from: '2026-02-01', to: '2026-03-01' })).to.deep.equal(['2']);
      expect(await keys({ to: '2026-02-01' })).to.deep.equal(['1']);
      expect(await keys({ keys: ['3', '1', '77', 'abc'] })).to.deep.equal(['1', '3']);
      // MySQL by itself takes the text 'abc' for the number 0.
      await lab.run(...orderRows(0, '2026-04-01 00:00:00'));
      expect(await keys({ keys: ['abc'] })).to.deep.equal([]);
      expect(await keys({ keys: ['0'] })).to.deep.equal(['0']);
      expect(await reader.count('order', { from: '2026-02-01', to: '2026-04-01' })).to.equal(2);
      // Without startFrom, the time of change is what there is.
      expect(
        keysOf((await open().sweep('order', null, 10, { from: '2026-05-01', to: '2026-05-02' })).rows),
      ).to.have.length(3);
      expect((await failure(reader.sweep('order', null, 10, { from: 'spring' }))).message).to.include(
        '"spring" is not a date',
      );
    });

    it('of customers is what customers.pending says', async () => {
      await lab.run(...orderRows(1, `${DAY} 10:00:00`), "INSERT INTO customers VALUES (2, 'K2', 'Two', '2026-01-02')");
      const reader = open({ customers: { pending: 'id = 2' } });
      const page = await reader.sweep('order', null, 10);
      expect(page.customers).to.deep.equal([]);
      expect(whyNot(page.rows[0])).to.include('or customers.pending leaves it out');
      expect(keysOf((await reader.sweep('customer', null, 10)).rows)).to.deep.equal(['2']);
    });
  });

  describe('customers', () => {
    beforeEach(() =>
      lab.run(
        "INSERT INTO customers VALUES (2, 'K2', '', '2026-01-02 08:00:00'), (3, NULL, 'Three', '2026-01-03 08:00:00')",
        ...orderRows(1, `${DAY} 10:00:00`),
        ...orderRows(2, `${DAY} 10:00:00`, { customerId: 2 }),
        ...orderRows(3, `${DAY} 10:00:00`, { customerId: 3 }),
        ...orderRows(4, `${DAY} 10:00:00`, { customerId: 99 }),
      ),
    );

    it('of a page come with it, those that can not be sent as well, and their orders go on where the code is known', async () => {
      const page = await open().sweep('order', null, 10);
      expect(page.customers.map(({ sourceKey, content }) => [sourceKey, content.mapped])).to.deep.equal([
        ['1', true],
        ['2', false],
        ['3', false],
      ]);
      expect(
        page.rows.map(({ content }) => (content.mapped ? content.record.customer_code : problemsInWords(content))),
      ).to.deep.equal([
        'K1',
        'K2',
        'its customer 3 can not be sent: code is empty. Correct it in the ERP.',
        'its customer 99 is not in customers.query. Correct the order in the ERP, or the query.',
      ]);
    });

    it('change and are swept by themselves', async () => {
      const reader = open();
      const changed = await reader.readChanged('customer', { since: '2026-01-02' }, 1);
      expect(keysOf(changed.rows)).to.deep.equal(['2']);
      const next = await reader.readChanged('customer', { after: changed.last as ChangePosition }, 10);
      expect(keysOf(next.rows)).to.deep.equal(['3']);
      expect(keysOf((await reader.sweep('customer', ['1'], 10)).rows)).to.deep.equal(['2', '3']);
    });

    it('are counted as they are sent', async () => {
      await lab.run("INSERT INTO customers VALUES (4, 'K4', 'nobody orders', '2026-01-04')");
      expect(await open().count('customer')).to.equal(3);
      expect(await open({ customers: { send: 'all' } }).count('customer')).to.equal(4);
      const none = open({ customers: { send: 'none' }, orders: { fields: { customer_code: 'order_no' } } });
      expect(await none.count('customer')).to.equal(0);
      expect((await none.sweep('customer', null, 10)).rows).to.deep.equal([]);
      const page = await none.sweep('order', null, 10);
      expect(page.customers).to.deep.equal([]);
      expect(page.rows[0]).to.include({ customerKey: null });
      expect(page.rows[0]?.content).to.have.nested.property('record.customer_code', 'A-1');
    });
  });

  it('reads header, lines and customers in one snapshot', async () => {
    await lab.run(...orderRows(1, `${DAY} 10:00:00`));
    const reader = openReader(
      lab,
      {},
      (database) =>
        spyOn(database, async (doing) => {
          if (!doing.startsWith('read rows by key')) return;
          await lab.run(
            'UPDATE order_lines SET qty = 5 WHERE order_id = 1',
            'UPDATE orders SET total = 50 WHERE id = 1',
            "INSERT INTO order_lines VALUES (1, 2, 'NEW', 1, 1)",
            "UPDATE customers SET code = 'NEW' WHERE id = 1",
          );
        }).database,
    );
    const [order] = (await reader.sweep('order', null, 10)).rows;
    expect(order?.totals).to.deep.equal({ lines: '1000', header: '1000' });
    expect(order?.content).to.have.nested.property('record.customer_code', 'K1');
  });

  it('asks for lines and customers once a page, not once an order', async () => {
    for (let id = 1; id <= 50; id += 1) await lab.run(...orderRows(id, `${DAY} 10:00:00`));
    const asked: string[][] = [];
    for (const limit of [1, 50]) {
      let spy: string[] = [];
      const reader = openReader(lab, {}, (database) => {
        const spied = spyOn(database);
        spy = spied.asked;
        return spied.database;
      });
      await reader.sweep('order', null, limit);
      asked.push(spy.filter((doing) => doing !== 'read the clock' && !doing.startsWith('check ')));
    }
    expect(asked[1]).to.deep.equal(asked[0]);
    expect(asked[1]).to.have.length(3);
  });

  it('sorts lines that share their sort value the same way every time', async () => {
    await lab.run(...orderRows(1, `${DAY} 10:00:00`), 'CREATE TABLE loose (order_id INT, pos INT, sku VARCHAR(9))');
    await lab.run("INSERT INTO loose VALUES (1, 0, 'C'), (1, 0, 'A'), (1, 1, 'B'), (1, 0, 'D')");
    const lines = {
      query: 'SELECT order_id, pos, sku, 1 AS qty, 1 AS price FROM loose',
      orderKey: 'order_id',
      sortBy: 'pos',
      fields: { sku: 'sku', qty: 'qty', price: 'price' },
    };
    const [order] = await sweepAll(open({ orders: { lines } }), 10);
    const skus = order?.content.mapped ? order.content.record.items.map(({ sku }) => sku) : [];
    expect(skus).to.deep.equal(['A', 'C', 'D', 'B']);
  });

  it('reads tables with spaces or a leading digit in their names, and queries that end with a semicolon or a comment', async () => {
    await lab.run(...orderRows(1, `${DAY} 10:00:00`));
    const quote = (name: string) => (lab.type === 'mysql' ? `\`${name}\`` : `"${name}"`);
    const [quoted, numbered] = [quote('tabSales Order'), quote('0_sales_orders')];
    for (const table of [quoted, numbered]) await lab.run(`CREATE TABLE ${table} AS SELECT * FROM orders`);
    expect(keysOf(await sweepAll(open({ orders: { query: `SELECT * FROM ${numbered}` } }), 10))).to.deep.equal(['1']);
    const query = `SELECT o.*, 'what?' AS question FROM ${quoted} o ; \n`;
    const commented = "status = 'open' -- only open ones";
    const reader = open({ orders: { query, pending: commented, fields: { asked: 'question' } } });
    await reader.check();
    const [order] = await changesAll(reader, 10);
    expect(order?.content).to.have.nested.property('record.asked', 'what?');
    const withComment = open({ orders: { query: 'SELECT * FROM orders -- all of them' } });
    expect(keysOf(await sweepAll(withComment, 10))).to.deep.equal(['1']);
  });

  it('knows the ERP’s clock in the form of the change cursor, and how old a row is', async () => {
    await lab.run(...orderRows(1, `${DAY} 10:00:00.000000`));
    const reader = open();
    const now = (await reader.nowAsChangedAt('order')) as string;
    expect(now).to.match(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}$/);
    await lab.run(`UPDATE orders SET updated_at = '${shiftChangedAt(now, -5)}'`);
    const [order] = await sweepAll(reader, 10);
    expect(order?.ageSeconds).to.be.within(5, 60);
    await lab.run(`UPDATE orders SET updated_at = '${shiftChangedAt(now, 3600)}'`);
    expect((await sweepAll(reader, 10))[0]?.ageSeconds).to.be.below(-3500);
  });

  it('follows integers as change cursor: epochs have an age, versions have none', async () => {
    await lab.run(...orderRows(1, `${DAY} 10:00:00`), ...orderRows(2, `${DAY} 10:00:00`));
    const epoch = open({ orders: { query: 'SELECT o.*, 1767225600 + o.id AS v FROM orders o', changedAt: 'v' } });
    expect(keysOf(await changesAll(epoch, 1))).to.deep.equal(['1', '2']);
    expect(keysOf(await changesAll(epoch, 1, '1767225602'))).to.deep.equal(['2']);
    expect(await epoch.nowAsChangedAt('order')).to.match(/^\d{10}$/);
    expect((await sweepAll(epoch, 10))[0]?.ageSeconds).to.be.a('number');
    const version = open({ orders: { query: 'SELECT o.*, 8 + o.id AS v FROM orders o', changedAt: 'v' } });
    expect((await changesAll(version, 1)).map(({ changedAt }) => changedAt)).to.deep.equal(['9', '10']);
    expect(await version.nowAsChangedAt('order')).to.equal(null);
    expect((await sweepAll(version, 10))[0]?.ageSeconds).to.equal(null);
  });

  it('takes BLOBs as text where they are text, and shows them where they are not', async () => {
    await lab.run(
      ...orderRows(1, `${DAY} 10:00:00`),
      ...orderRows(2, `${DAY} 10:00:00`),
      'CREATE TABLE memo (id INT, memo BLOB)',
    );
    await lab.run("INSERT INTO memo VALUES (1, X'4772C3BCC39F65'), (2, X'47FC')");
    const query = 'SELECT o.*, m.memo FROM orders o JOIN memo m ON m.id = o.id';
    const rows = await sweepAll(open({ orders: { query, fields: { remark: 'memo' } } }), 10);
    expect(rows[0]?.content).to.have.nested.property('record.remark', 'Grüße');
    expect(whyNot(rows[1])).to.include('memo holds bytes that are not text');
  });

  describe('check', () => {
    it('is content with a mapping that fits, and with empty tables', async () => {
      await open().check();
      await open({ orders: { startFrom: { column: 'created_at', from: DAY } } }).check();
    });

    it('finds columns whatever the case they are written in', async () => {
      await lab.run(...orderRows(1, `${DAY} 10:00:00`));
      const reader = open({ orders: { key: 'ID', number: 'Order_No' } });
      await reader.check();
      expect((await sweepAll(reader, 10))[0]).to.include({ sourceKey: '1', number: 'A-1' });
    });

    it('shapes texts, falls back to another column, and maps codes, amounts and text lines as the settings say', async () => {
      await lab.run(
        ...orderRows(1, `${DAY} 10:00:00`),
        "UPDATE orders SET note = ' <p>R&amp;D</p> '",
        "UPDATE customers SET code = '', name = 'COD'",
        'INSERT INTO order_lines VALUES (1, 2, NULL, 0, 0)',
      );
      const reader = open({
        customers: { fields: { customer_code: ['code', 'id'], terms: { column: 'name', when: { COD: 'cash' } } } },
        orders: {
          fields: { note: { column: 'note', html: 'strip', trim: true, case: 'lower', maxLength: 2, cut: '…' } },
          lines: { ...erpSource(lab).orders.lines, text: 'skip', amount: 'price', fields: { sku: 'sku', qty: 'qty' } },
        },
      });
      await reader.check();
      const { rows, customers } = await reader.sweep('order', null, 10);
      expect(rows[0]?.content).to.have.nested.property('record.note', 'r…');
      const items = [{ sku: 'SKU-1', qty: 1, price: 1000 }];
      expect(rows[0]?.content).to.have.nested.property('record.items').that.deep.equals(items);
      expect(rows[0]?.content).to.have.nested.property('record.customer_code', '1');
      expect(customers[0]?.content).to.have.deep.property('record', { customer_code: '1', terms: 'cash' });
    });

    it('reads the amounts of each order in its own currency', async () => {
      await lab.run(
        ...orderRows(1, `${DAY} 10:00:00`),
        ...orderRows(2, `${DAY} 10:00:00`),
        ...orderRows(3, `${DAY} 10:00:00`),
      );
      const query = "SELECT o.*, CASE id WHEN 1 THEN 'JPY' WHEN 2 THEN 'KWD' ELSE 'USD' END AS cur FROM orders o";
      const amounts = { currency: 'EUR', currencies: ['JPY', 'KWD'], rounding: 'refuse' as const };
      const reader = open({ orders: { query, currency: { column: 'CUR', field: 'currency' } }, amounts });
      await reader.check();
      const rows = await sweepAll(reader, 10);
      const sent = rows.map(({ content }) => (content.mapped ? content.record : problemsInWords(content)));
      expect(sent[0]).to.deep.include({ currency: 'JPY', items: [{ sku: 'SKU-1', qty: 1, price: 10 }] });
      expect(sent[1]).to.deep.include({ currency: 'KWD', items: [{ sku: 'SKU-1', qty: 1, price: 10_000 }] });
      expect(sent[2]).to.include('cur "USD" is not among the currencies of the settings (EUR, JPY, KWD)');
      expect(rows.map((row) => row.totals)).to.deep.equal([
        { lines: '10', header: '10' },
        { lines: '10000', header: '10000' },
        null,
      ]);
    });

    it('takes a discount off, and sends a quantity with decimals in the unit of the service', async () => {
      await lab.run(...orderRows(1, `${DAY} 10:00:00`), 'UPDATE order_lines SET qty = 2.5, price = 33.5');
      const lines = (change: object) =>
        open({
          orders: {
            lines: {
              ...erpSource(lab).orders.lines,
              query: "SELECT l.*, 'kg' AS uom, CAST(7 AS DECIMAL(6,3)) AS less FROM order_lines l",
              discount: { column: 'LESS', type: 'percent' },
              unit: { column: 'uom', factors: { kg: 1000 } },
              rounding: { sku: 'R' },
              ...change,
            },
          },
          amounts: { currency: 'EUR', rounding: 'half-up' },
        });
      const [read] = await sweepAll(lines({}), 10);
      const items = [
        { sku: 'SKU-1', qty: 2500, price: 3 },
        { sku: 'R', qty: 1, price: 289 },
      ];
      expect(read?.content).to.have.nested.property('record.items').that.deep.equals(items);
      const wrong = { discount: { column: 'rebate', type: 'percent' }, unit: { column: 'unit', factors: {} } };
      const { message } = await failure(lines(wrong).check());
      expect(message).to.include('orders.lines.discount: column "rebate" is not in orders.lines.query');
      expect(message).to.include('orders.lines.unit.column: column "unit" is not in orders.lines.query');
    });

    it('tells all faults at once, each with the path of its setting', async () => {
      const reader = open({
        customers: { query: 'SELECT * FROM nowhere' },
        orders: {
          key: 'oid',
          pending: 'stat = 1',
          number: 'ordernum',
          fields: { note: 'remark', shop: {} },
          lines: { query: 'SELECT * FROM order_lines', orderKey: 'order_id', sortBy: 'pos', fields: { sku: 'sku' } },
        },
        amounts: { currency: 'XYZ', rounding: 'refuse' },
      });
      const error = await failure(reader.check());
      expect(error.kind).to.equal('query');
      const has = 'it has: id, order_no, customer_id, status, total, note, created_at, updated_at';
      const lines = error.message.split('\n').map((line) => line.trim());
      expect(lines[0]).to.match(/^\d settings do not fit the ERP database /);
      expect(lines).to.include(`orders.key: column "oid" is not in orders.query; ${has}`);
      expect(lines).to.include(`orders.number: column "ordernum" is not in orders.query; ${has}`);
      expect(lines).to.include(`orders.fields.note: column "remark" is not in orders.query; ${has}`);
      expect(lines).to.include('orders.fields.shop: needs either a column or a constant');
      expect(lines).to.include('orders.lines.fields.qty: is missing; name the column that holds it');
      expect(lines).to.include('orders.lines.fields.price: is missing; name the column that holds it');
      expect(lines.some((line) => line.startsWith('customers.query: ') && line.includes('nowhere'))).to.equal(true);
      expect(lines.some((line) => line.startsWith('orders.pending: ') && line.includes('stat'))).to.equal(true);
      expect(lines.some((line) => line.startsWith('amounts.currency: XYZ'))).to.equal(true);
    });

    it('tells of mapping faults alone as such, and before anything is read', async () => {
      const reader = open({ orders: { number: 'ordernum' } });
      expect((await failure(reader.check())).kind).to.equal('mapping');
      expect((await failure(reader.sweep('order', null, 10))).message).to.include('orders.number: column "ordernum"');
      const condition = await failure(open({ orders: { pending: 'stat = 1' } }).check());
      expect(condition.kind).to.equal('mapping');
      expect(condition.message).to.match(/orders\.pending: .*stat/);
    });

    it('names a customer that orders need and no setting gives', async () => {
      const { message } = await failure(open({ customers: { send: 'none' } }).check());
      expect(message).to.include('orders.fields.customer_code: is missing');
      const without = await failure(open({ orders: { customerKey: undefined } }).check());
      expect(without.message).to.include('orders.customerKey: is missing');
      const twice = await failure(open({ orders: { customerKey: ['customer_id', 'id'] } }).check());
      expect(twice.message).to.include('orders.customerKey: has 2 columns, customers.key has 1');
    });
  });

  it('notices when a table has lost a column, and reads on when it is back', async () => {
    await lab.run(...orderRows(1, `${DAY} 10:00:00`));
    const reader = open({ orders: { fields: { remark: { column: 'note', optional: true } } } });
    await reader.sweep('order', null, 10);
    await lab.run('ALTER TABLE orders RENAME COLUMN note TO remark');
    await failure(reader.sweep('order', null, 10));
    expect((await failure(reader.sweep('order', null, 10))).message).to.include(
      'orders.fields.remark: column "note" is not in',
    );
    await lab.run('ALTER TABLE orders RENAME COLUMN remark TO note');
    expect(keysOf((await reader.sweep('order', null, 10)).rows)).to.deep.equal(['1']);
  });

  const retype = {
    sqlite: null,
    mysql: 'ALTER TABLE orders MODIFY created_at TIMESTAMP(6) NULL',
    postgres: 'ALTER TABLE orders ALTER created_at TYPE TIMESTAMPTZ(6)',
  }[lab.type];
  if (retype !== null)
    it('notices when a column has got a type that is read in another way, and reads on by that', async () => {
      const zone = lab.type === 'mysql' ? "SET time_zone = '+01:00'" : "SET TimeZone = 'Europe/Berlin'";
      await lab.run(zone, ...orderRows(1, `${DAY} 10:00:00`));
      const reader = open({ orders: { fields: { placed: { column: 'created_at', type: 'datetime' } } } });
      const placed = async () => {
        const [order] = (await reader.sweep('order', null, 10)).rows;
        return order?.content.mapped && order.content.record.placed;
      };
      expect(await placed()).to.equal(`${DAY}T10:00:00+01:00`);
      await lab.run(retype);
      expect((await failure(placed())).message).to.include('no longer yields the column "created_at" as it was');
      expect(await placed()).to.equal(`${DAY}T10:00:00+01:00`);
    });

  it('reads no value from another column that has got the same name', async () => {
    await lab.run(...orderRows(1, `${DAY} 10:00:00`), 'CREATE TABLE extra (of_order BIGINT, memo VARCHAR(40))');
    await lab.run("INSERT INTO extra VALUES (1, 'none')");
    const reader = open({ orders: { query: 'SELECT o.*, e.* FROM orders o JOIN extra e ON e.of_order = o.id' } });
    const number = async () => (await reader.sweep('order', null, 10)).rows[0]?.number;
    expect(await number()).to.equal('A-1');
    await lab.run("ALTER TABLE extra ADD order_no VARCHAR(40) DEFAULT 'another'");
    // SQLite gives the second one a name of its own.
    if (lab.type === 'sqlite') expect(await number()).to.equal('A-1');
    else
      expect((await failure(number())).message).to.match(
        /order_no" as it was: it comes twice now|Duplicate column name/,
      );
  });

  const inexact = {
    sqlite: null,
    mysql: { cast: 'CAST(price AS FLOAT)', alter: 'ALTER TABLE order_lines MODIFY price FLOAT' },
    postgres: { cast: 'CAST(price AS REAL)', alter: 'ALTER TABLE order_lines ALTER price TYPE REAL' },
  }[lab.type];
  if (inexact !== null) {
    it('reads no amounts from a view once it yields them in floating point', async () => {
      const view = (price: string) => [
        'DROP VIEW IF EXISTS shown_lines',
        `CREATE VIEW shown_lines AS SELECT order_id, pos, sku, qty, ${price} AS price FROM order_lines`,
      ];
      await lab.run(...view('price'), ...orderRows(1, `${DAY} 10:00:00`));
      await lab.run('UPDATE order_lines SET price = 12345.67');
      const lines = { query: 'SELECT * FROM shown_lines' } as never;
      const reader = open({ orders: { lines, total: undefined } });
      const prices = async () =>
        (await reader.sweep('order', null, 10)).rows.map(({ content }) =>
          content.mapped ? content.record.items[0]?.price : problemsInWords(content),
        );
      expect(await prices()).to.deep.equal([1_234_567]);
      await lab.run(...view(inexact.cast));
      expect((await failure(prices())).message).to.match(/"price" as it was: it is a FLOAT now\. The next read/);
      expect((await failure(prices())).message).to.include('orders.lines.fields.price: column "price" is a FLOAT');
      await lab.run(...view('price'));
      expect(await prices()).to.deep.equal([1_234_567]);
    });

    it('reads no amounts from a column that somebody has made inexact', async () => {
      await lab.run(...orderRows(1, `${DAY} 10:00:00`));
      const reader = open();
      await reader.readChanged('order', { since: null }, 10);
      await lab.run(inexact.alter);
      const error = await failure(reader.readChanged('order', { since: null }, 10));
      expect(error.message).to.include('orders.lines.query no longer yields the column "price" as it was');
    });

    it('asks for no key by a column that has become inexact', async () => {
      await lab.run(...orderRows(1, `${DAY} 10:00:00`));
      const reader = open();
      expect((await reader.sourceEnd('order')).key).to.equal('1');
      const type = lab.type === 'mysql' ? 'MODIFY id DOUBLE NOT NULL' : 'ALTER id TYPE DOUBLE PRECISION';
      await lab.run(`ALTER TABLE orders ${type}`);
      const error = await failure(reader.sourceEnd('order'));
      expect(error.message).to.include('no longer yields the column "id" as it was');
    });
  }

  it('reads on where a query sorts, groups, joins or unites, with the columns that it was planned with', async () => {
    await lab.run(...orderRows(1, `${DAY} 10:00:00`), ...orderRows(2, `${DAY} 10:00:01`));
    const columns = 'id, order_no, customer_id, status, total, created_at, updated_at';
    for (const query of [
      `SELECT ${columns}, CAST(total AS DECIMAL(10, 1)) AS extra FROM orders UNION SELECT ${columns}, total * 1.5 FROM orders WHERE id < 0`,
      `SELECT DISTINCT ${columns}, COALESCE(note, 'none') AS extra FROM orders`,
      `SELECT ${columns}, COUNT(*) AS extra FROM orders GROUP BY ${columns}`,
      `SELECT o.*, (SELECT MAX(l.price / 3) FROM order_lines l WHERE l.order_id = o.id) AS extra FROM orders o LEFT JOIN customers c ON c.id = o.customer_id`,
    ]) {
      const reader = open({ orders: { query, fields: { extra: { column: 'extra', optional: true } } } });
      const swept = await reader.sweep('order', null, 1);
      const changed = await reader.readChanged('order', { since: null }, 10);
      expect(
        [...swept.rows, ...changed.rows].map(({ sourceKey }) => sourceKey),
        query,
      ).to.deep.equal(['1', '1', '2']);
      expect(
        changed.rows.every(({ content }) => content.mapped),
        query,
      ).to.equal(true);
    }
  });

  it('shows an order whose number holds bytes that are not text to a person', async () => {
    await lab.run(
      ...orderRows(1, `${DAY} 10:00:00`),
      'ALTER TABLE orders ADD code BLOB',
      "UPDATE orders SET code = X'C42D35'",
    );
    const [order] = (await open({ orders: { number: 'code' } }).sweep('order', null, 10)).rows;
    expect(order).to.have.property('number', null);
    expect(order?.content).to.deep.include({ mapped: false });
    expect(whyNot(order)).to.include('code holds bytes that are not text');
    await lab.run("UPDATE orders SET code = X'41'");
    const [mended] = (await open({ orders: { number: 'code' } }).sweep('order', null, 10)).rows;
    expect(mended).to.have.property('number', 'A');
    expect(mended?.content).to.have.property('record').that.includes({ note: 'A' });
  });

  it('finds rows by the number of an order or the code of a customer, whether they may be sent or not', async () => {
    await lab.run(
      ...[1, 2, 3].flatMap((id) => orderRows(id, `${DAY} 10:00:00`)),
      "UPDATE orders SET order_no='A-1', status='draft' WHERE id=2",
      "UPDATE orders SET order_no='a-1' WHERE id=3",
      "INSERT INTO customers VALUES (2, ' k1 ', 'Another', '2026-01-01 08:00:00.000000')",
    );
    const reader = open({
      orders: { pending: "status = 'open'" },
      customers: { fields: { customer_code: { column: 'code', trim: true, case: 'upper' }, name: 'name' } },
    });
    const names = new Map([
      ['1', 'A-1'],
      ['9', 'A-1'],
      ['8', 'A-8'],
    ]);
    const found = await reader.namesakes('order', names);
    expect([...found].map(([key, rows]) => [key, keysOf(rows)])).to.deep.equal([
      ['1', ['2']],
      ['9', ['1', '2']],
      ['8', []],
    ]);
    expect(JSON.parse(found.get('1')?.[0]?.identity ?? '')).to.include({ order_no: 'A-1' });
    expect(await reader.namesakes('customer', new Map([['1', 'K1']]))).to.deep.equal(
      new Map([['1', [{ sourceKey: '2', identity: '{"customer_code":"K1"}' }]]]),
    );
  });

  it('names the database it reads, but no account', () => {
    const { erp } = erpSource(lab);
    const identity = open().identity();
    expect(identity).to.match(
      lab.type === 'sqlite' ? /^sqlite:\/.*erp\.sqlite$/ : /^(mysql|postgres):\/\/127\.0\.0\.1:\d+\/waybill_/,
    );
    expect(identity.split(':')[0]).to.equal(lab.type);
    if (erp.type !== 'sqlite') expect(identity).not.to.include(erp.user);
  });
}

const TEXT_ORDERS = {
  sqlite: 'CREATE TABLE text_orders (id TEXT COLLATE NOCASE, at DATETIME)',
  mysql: 'CREATE TABLE text_orders (id VARCHAR(20) COLLATE utf8mb4_general_ci, at DATETIME(6))',
  postgres: 'CREATE TABLE text_orders (id VARCHAR(20) COLLATE ci, at DATETIME(6))',
};
const TEXT_KEYS = {
  query: 'SELECT * FROM text_orders',
  key: 'id',
  changedAt: 'at',
  pending: undefined,
  customerKey: undefined,
  number: undefined,
  total: undefined,
};

const ci = {
  sqlite: 'TEXT COLLATE NOCASE',
  mysql: 'VARCHAR(20) COLLATE utf8mb4_general_ci',
  postgres: 'VARCHAR(20) COLLATE ci',
};
const textErp = (type: ErpLab['type']): string[] => [
  `CREATE TABLE t_customers (id ${ci[type]} PRIMARY KEY, code VARCHAR(9))`,
  `CREATE TABLE t_orders (id ${ci[type]} PRIMARY KEY, customer ${ci[type]}, at DATETIME)`,
  `CREATE TABLE t_lines (order_id ${ci[type]}, pos INT, sku VARCHAR(9))`,
];
const TEXT_ERP = { sqlite: textErp('sqlite'), mysql: textErp('mysql'), postgres: textErp('postgres') };
const TEXT_ERP_MAPPING: Mapping = {
  customers: { query: 'SELECT * FROM t_customers', key: 'id', changedAt: undefined, fields: { customer_code: 'code' } },
  orders: {
    query: 'SELECT * FROM t_orders',
    key: 'id',
    changedAt: 'at',
    pending: undefined,
    customerKey: 'customer',
    number: undefined,
    total: undefined,
    lines: {
      query: 'SELECT order_id, pos, sku, 1 AS qty, 1 AS price FROM t_lines',
      orderKey: 'order_id',
      sortBy: 'pos',
      fields: { sku: 'sku', qty: 'qty', price: 'price' },
    },
  },
};
