import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { parse } from 'yaml';
import {
  type Preview,
  type PreviewOptions,
  previewRecords,
} from '../../../src/operator/setup/preview/preview-records.js';
import type { ShownOrder } from '../../../src/operator/setup/preview/show-order.js';
import { tellWhole } from '../../../src/words/words.js';
import { useStore } from '../../store/stores.js';
import { cancelSampleOrder, editSampleLine, insertSampleOrder } from '../../support/change-sample-erp.js';
import { everyAttempt } from '../../support/every-attempt.js';
import { type Lab, type LabKit, onAnyLab, useLab } from '../../support/jobs/job-lab.js';

const follows = { cancelled: { column: 'status', values: ['cancelled'] }, onCancelled: 'delete' };
const flaws = {
  ordersWithoutLines: 2,
  fractionalQuantities: 1,
  negativeQuantities: 1,
  pricesWithThreeDecimals: 1,
  missingCustomers: 1,
  totalMismatches: 1,
};

async function preview(lab: Lab, options: PreviewOptions = {}): Promise<Preview & { shown: ShownOrder[] }> {
  const shown: ShownOrder[] = [];
  const found = await previewRecords(lab.context, lab.reader, {
    ...options,
    onOrder: (order) => void shown.push(order),
  });
  return { ...found, shown };
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const left = ({ funnel }: Preview) => funnel && [funnel.rows, ...funnel.steps.map((step) => step.left)];

function previewTests(kit: LabKit): void {
  const eligible = async (lab: Lab) =>
    (
      await lab.readErp(
        "SELECT id FROM sales_orders WHERE status='confirmed' AND currency='EUR' AND created_at>='2026-01-01' ORDER BY id",
      )
    ).map(({ id }) => Number(id));

  it('shows the keys and bytes that the first attempts carry, and stores nothing', async () => {
    const lab = await kit.start({ customers: 3, orders: 6, settings: { capture: { pageSize: 4 } } });
    const { shown, orders, customers, causes } = await preview(lab);
    expect(orders).to.include({ read: 6, create: 6, update: 0, unchanged: 0, parked: 0 });
    expect(customers).to.deep.equal({ create: 3, update: 0, parked: 0 });
    expect(causes).to.deep.equal([]);
    expect(await kit.rows('SELECT * FROM outbox_message')).to.deep.equal([]);
    expect(await kit.rows('SELECT * FROM capture_cursor')).to.deep.equal([]);
    expect(lab.sandbox.counts().requests).to.equal(0);

    await lab.capture();
    await lab.deliver();
    const attempts = await kit.rows(`SELECT idempotency_key AS k, body_hash AS h FROM ${everyAttempt}`);
    const sent = new Map(attempts.map(({ k, h }) => [String(k), String(h)]));
    for (const { customer, ...order } of shown)
      for (const one of [order, customer])
        expect(sent.get(one?.idempotencyKey ?? ''), JSON.stringify(one)).to.equal(sha256(one?.body ?? ''));
    const [first] = shown;
    expect(first?.row.order_no).to.equal(first?.number);
    expect(first?.lines[0]).to.include.keys('sku', 'qty', 'unit_price');
    expect(first?.totals?.lines).to.equal(first?.totals?.header);
    expect((await preview(lab)).orders).to.include({ create: 0, update: 0, unchanged: 6 });
  });

  it('shows an update with its method and bytes, and what would be removed', async () => {
    const lab = await kit.start({ customers: 2, orders: 5, settings: { orders: follows } });
    await lab.capture();
    await lab.deliver();
    const [edited, cancelled] = (await eligible(lab)) as [number, number];
    await editSampleLine(lab.erp, edited, 1, 7);
    await lab.changeErp("UPDATE customers SET name='Another name'");
    await cancelSampleOrder(lab.erp, cancelled);
    const { shown, orders, removed } = await preview(lab);
    expect(orders).to.include({ read: 4, create: 0, update: 1, unchanged: 3 });
    expect(removed).to.deep.equal({ customers: 0, orders: 1 });
    const update = shown.find(({ outcome }) => outcome === 'update');
    expect(update).to.include({ key: `${edited}`, method: 'PATCH' });
    await lab.capture({ sweep: true });
    await lab.deliver();
    expect(JSON.parse(update?.customer?.body ?? '')).to.deep.equal({ name: 'Another name' });
    const attempts = await kit.rows(`SELECT body_hash AS h FROM ${everyAttempt} WHERE purpose='update'`);
    const sent = attempts.map(({ h }) => h);
    expect(sent)
      .to.include(sha256(update?.body ?? ''))
      .and.include(sha256(update?.customer?.body ?? ''));
  });

  it('counts what each condition takes, and names those that a given key does not meet', async () => {
    const lab = await kit.start({ customers: 2, orders: 8, bad: { ordersWithoutLines: 2 } });
    const counts = async (where = '1=1') =>
      Number((await lab.readErp(`SELECT COUNT(*) AS n FROM sales_orders WHERE ${where}`))[0]?.n);
    const found = await preview(lab);
    const started = "created_at >= '2026-01-01'";
    const pending = `${started} AND status='confirmed' AND currency='EUR'`;
    expect(left(found)).to.deep.equal([
      await counts(),
      await counts(started),
      await counts(pending),
      await counts(pending),
    ]);
    expect(found.funnel?.steps.map(({ setting }) => setting)).to.deep.equal([
      'orders.startFrom',
      'orders.pending',
      'orders.key',
    ]);
    expect(found.orders).to.include({ read: 10, withoutLines: 2, create: 8, parked: 2 });

    const [old] = await lab.readErp(`SELECT id FROM sales_orders WHERE NOT ${started} AND status='confirmed'`);
    const [draft] = await lab.readErp(`SELECT id FROM sales_orders WHERE ${started} AND status='draft'`);
    const [sendable] = await eligible(lab);
    const keys = [old?.id, draft?.id, sendable, 999_999].map(String);
    const asked = await preview(lab, { keys });
    expect(
      asked.ineligible.map((one) => [one.sourceKey, ...one.unmet.map(({ setting }) => setting)]),
    ).to.have.deep.members([
      [`${old?.id}`, 'orders.startFrom'],
      [`${draft?.id}`, 'orders.pending'],
    ]);
    expect(asked.ineligible.find(({ sourceKey }) => sourceKey === `${draft?.id}`)?.row.status).to.equal('draft');
    expect(asked.unknownKeys).to.deep.equal(['999999']);
    expect(asked.shown.map(({ key }) => key)).to.deep.equal([`${sendable}`]);
  });

  it('reads no more than the limit, also where nothing is new', async () => {
    const lab = await kit.start({ customers: 2, orders: 30 });
    const first = await preview(lab, { limit: 3 });
    expect(first.orders).to.include({ read: 3, create: 3 });
    expect(first.shown).to.have.length(3);
    expect(first.stopped).to.equal(null);
    await lab.capture();
    let pages = 0;
    const sweep: typeof lab.reader.sweep = (entity, ...rest) => {
      if (entity === 'order') pages++;
      return lab.reader.sweep(entity, ...rest);
    };
    const { orders, shown } = await preview({ ...lab, reader: { ...lab.reader, sweep } }, { limit: 3 });
    // The pass ends before the second page is looked at.
    expect(pages).to.be.at.most(2);
    expect(shown.map(({ customer }) => customer?.outcome)).to.deep.equal(Array(3).fill('unchanged'));
    expect(orders).to.include({ read: 3, unchanged: 3 });
    expect(shown).to.have.length(3);
    expect((await preview(lab, { shown: 1 })).shown).to.have.length(1);
    expect((await preview(lab, { shown: 1 })).orders.read).to.equal(30);
  });

  it('adds the amounts up beside those of the ERP', async () => {
    const lab = await kit.start({ customers: 2, orders: 8, bad: { totalMismatches: 2 } });
    const { totals, shown } = await preview(lab);
    const [sum] = await lab.readErp(
      "SELECT CAST(SUM(ROUND(total*100)) AS CHAR(20)) AS n FROM sales_orders WHERE created_at >= '2026-01-01' AND status='confirmed' AND currency='EUR'",
    );
    const [own] = totals;
    expect(totals).to.have.length(1);
    expect(own).to.include({ currency: 'EUR', orders: 8 });
    expect(own?.compared).to.include({ orders: 10, differing: 2, erp: String(Number(sum?.n)) });
    const expected = [...(await lab.expectedOrders()).values()] as { items: { qty: number; price: number }[] }[];
    const lines = expected.flatMap(({ items }) => items).reduce((total, { qty, price }) => total + qty * price, 0);
    expect(own?.compared.lines).to.equal(`${lines}`);
    const kept = shown.filter(({ parked }) => parked !== null).map((order) => Number(order.totals?.lines));
    expect(kept).to.have.length(2);
    expect(own?.amount).to.equal(`${lines - kept.reduce((a, b) => a + b)}`);
  });

  it('adds each currency up by itself', async () => {
    const lab = await kit.start({ customers: 2, orders: 8 });
    const [jpy] = (await eligible(lab)) as [number];
    await lab.changeErp("UPDATE sales_orders SET currency='KWD' WHERE id=?", [jpy]);
    const several = lab.another({
      settings: {
        invoices: { enabled: false },
        orders: {
          currency: { column: 'currency', field: 'currency' },
          pending: "status = 'confirmed' AND currency IN ('EUR', 'KWD')",
        },
        amounts: { currencies: ['KWD'] },
      },
    });
    const { totals, shown } = await preview(several);
    const dinars = shown.find(({ key }) => key === `${jpy}`);
    expect(dinars?.currency).to.equal('KWD');
    expect(totals.map(({ currency, orders }) => [currency, orders])).to.have.deep.members([
      ['EUR', 7],
      ['KWD', 1],
    ]);
    expect(totals.find(({ currency }) => currency === 'KWD')?.amount).to.equal(dinars?.totals?.lines);
  });

  it('groups what keeps records back, also when an earlier pass has parked it, and its advice works', async () => {
    const pending = "status = 'confirmed' -- what sales have confirmed\n  AND currency = 'EUR'";
    const lab = await kit.start({ customers: 3, orders: 6, bad: flaws, settings: { orders: { pending } } });
    const { causes, orders } = await preview(lab);
    const counted = (all: Preview['causes']) => all.map(({ records }) => records).sort();
    expect(counted(causes)).to.deep.equal([1, 1, 1, 1, 1, 2]);
    expect(orders).to.include({ create: 6, parked: 7 });
    await lab.capture();
    const again = await preview(lab);
    expect(again.orders).to.include({ unchanged: 6, parked: 7 });
    expect(counted(again.causes)).to.deep.equal(counted(causes));

    const remedyOf = (words: string, at = 0) =>
      causes.find(({ cause }) => tellWhole(cause).includes(words))?.remedies[at] ?? `no remedy for ${words}`;
    const without = async (words: string, settings: object) => {
      const { causes: found } = await preview(lab.another({ settings: settings as never }));
      expect(
        found.filter(({ cause }) => tellWhole(cause).includes(words)),
        words,
      ).to.deep.equal([]);
      expect(found, words).to.have.length.below(causes.length);
    };
    const pendingFor = (words: string) => ({ orders: { pending: remedyOf(words).replace('orders.pending: ', '') } });
    // The terminal makes one line of it.
    expect(remedyOf('it has no lines')).to.contain("(status = 'confirmed' AND currency = 'EUR') AND EXISTS");
    await without('it has no lines', pendingFor('it has no lines'));
    await without('positive quantity', pendingFor('positive quantity'));
    expect(remedyOf('decimals', 1)).to.match(
      /^or orders\.lines\.unit: {factor: 1}, with orders\.lines\.rounding: {sku/,
    );
    expect(remedyOf('decimals', 2)).to.match(/^then amounts\.rounding: half-up/);
    await without('decimals', {
      orders: { lines: { unit: { factor: 1 }, rounding: { sku: 'ROUNDING' } } },
      amounts: { rounding: 'half-up' },
    });
    expect(remedyOf('not a whole number')).to.match(/^orders\.lines\.unit: {factor: 1000}/);
    await without('not a whole number', {
      orders: { lines: { unit: { factor: 1000 }, rounding: { sku: 'ROUNDING' } } },
    });
    expect(remedyOf('add up to')).to.contain('orders.total');
    await without('add up to', { orders: { total: undefined } });
    expect(remedyOf('is not in customers.query')).to.contain('customers.query');
  });

  it('advises nothing for prices with many decimals that changes what the lines come to', async () => {
    const lab = await kit.start({ customers: 2, orders: 2, settings: { orders: { total: undefined } } });
    const [exact, rounded] = (await eligible(lab)) as [number, number];
    await lab.changeErp('DELETE FROM sales_order_lines WHERE order_id IN (?, ?) AND line_no > 1', [exact, rounded]);
    const price = "UPDATE sales_order_lines SET unit_price='0.0049', qty=? WHERE order_id=?";
    await lab.changeErp(price, [1000, exact]);
    await lab.changeErp(price, [15, rounded]);
    const [found] = (await preview(lab)).causes;
    expect(found).to.include({ records: 2 });
    const [amount, unit = '', then = ''] = found?.remedies ?? [];

    // As it is written: the setting up to its words, then the one beside it.
    const settingIn = (text: string, name: string) => parse(new RegExp(`${name}: ({.*?})`).exec(text)?.[1] ?? 'null');
    const lines = { unit: settingIn(unit, 'orders.lines.unit'), rounding: settingIn(unit, 'orders.lines.rounding') };
    const first = await preview(lab.another({ settings: { orders: { total: undefined, lines } } }));
    // 1000 × 0.0049 is 4.90, and 15 × 0.0049 is 0.0735.
    const sumsOf = ({ totals }: Preview) => totals.map((one) => [one.orders, one.amount]);
    expect(sumsOf(first)).to.deep.equal([[1, '490']]);
    expect(first.causes.map(({ remedies }) => remedies)).to.deep.equal([['amounts.rounding: half-up (or half-even)']]);
    const rounding = /amounts\.rounding: (\S+)/.exec(then)?.[1];
    const all = await preview(
      lab.another({ settings: { orders: { total: undefined, lines }, amounts: { rounding } } }),
    );
    expect(all.causes).to.deep.equal([]);
    expect(sumsOf(all)).to.deep.equal([[2, '497']]);

    expect(amount).to.match(/^orders\.lines\.amount: the column .* with orders\.lines\.rounding: {sku: ROUNDING}/);
    const query = `SELECT l.order_id, l.line_no, p.sku, l.qty, l.unit_price, ROUND(l.qty * l.unit_price, 2) AS line_amount
      FROM sales_order_lines l JOIN products p ON p.id = l.product_id`;
    const stated = { query, amount: 'line_amount', rounding: lines.rounding };
    const own = await preview(lab.another({ settings: { orders: { total: undefined, lines: stated } } }));
    expect(own.causes).to.deep.equal([]);
    expect(sumsOf(own)).to.deep.equal([[2, '497']]);
  });
}

onAnyLab('a preview', previewTests);

describe('a preview (an ERP on PostgreSQL)', () => {
  const kit = useLab(useStore('sqlite'), 'postgres');
  previewTests(kit);

  it('advises what its types can be compared with', async () => {
    const lab = await kit.start({ customers: 2, orders: 3 });
    const [noNumber, undated] = (await preview(lab)).shown.map(({ key }) => key);
    const query = `SELECT o.*, CASE WHEN id=${noNumber} THEN CAST('NaN' AS NUMERIC) ELSE 1.5 END AS weight,
      CASE WHEN id=${undated} THEN NULL ELSE order_date END AS due_at FROM sales_orders o`;
    const weight = { column: 'weight', type: 'amount', optional: true };
    const fields = { weight, due: { column: 'due_at', type: 'date' } };
    const { orders, causes } = await preview(lab.another({ settings: { orders: { query, fields } } }));
    expect(orders).to.include({ create: 1, parked: 2 });
    const adviceFor = (words: string) =>
      causes
        .find(({ cause }) => tellWhole(cause).includes(words))
        ?.remedies.find((one) => /NULLIF|pending/.test(one)) ?? '';
    const mended = /NULLIF\(.*?\)/.exec(adviceFor('is not a number'))?.[0];
    const taken = {
      query: `SELECT q.*, ${mended} AS mended FROM (${query}) q`,
      pending: adviceFor('due_at is empty').replace('or orders.pending: ', ''),
      fields: { ...fields, weight: { ...weight, column: 'mended' } },
    };
    const after = await preview(lab.another({ settings: { orders: taken } }));
    expect(after.orders).to.include({ create: 2, parked: 0 });
    expect(after.shown.map(({ key }) => key))
      .to.include(noNumber)
      .and.not.include(undated);
  });
});

describe('a preview of a record that is new while it is read', () => {
  const kit = useLab(useStore('sqlite'));
  it('says that an order would wait for its lines', async () => {
    const lab = await kit.start({ settings: { orders: { settleSeconds: 3600 } } });
    const half = await insertSampleOrder(lab.erp, { customerId: 2 });
    await lab.changeErp('UPDATE sales_orders SET total=? WHERE id=?', ['25.00', half.id]);
    const { shown, orders } = await preview(lab, { keys: [`${half.id}`] });
    expect(orders.waiting).to.equal(1);
    expect(shown[0]?.waits).to.include({ expected: '2500' });
  });
});
