import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Connection } from 'mysql2/promise';
import { amountsSettings } from '../../../src/config/sections/amounts.js';
import { customersSettings } from '../../../src/config/sections/customers.js';
import { erpSettings } from '../../../src/config/sections/erp.js';
import { ordersSettings } from '../../../src/config/sections/orders.js';
import type { Settings } from '../../../src/config/settings.js';
import type { ErpPage, ErpReader, ReadCustomer, ReadOrder } from '../../../src/erp/erp-reader.js';
import {
  createSampleErp,
  type SampleErpTarget,
  sampleErpMapping,
} from '../../../src/lab/sample-erp/create-sample-erp.js';
import { makeSampleRows } from '../../../src/lab/sample-erp/sample-rows.js';
import { Secret } from '../../../src/model/secret.js';
import { problemsInWords } from '../../erp/problems-in-words.js';
import { cancelSampleOrder, editSampleLine, insertSampleOrder, wallTimeNow } from '../../support/change-sample-erp.js';
import { erpReaderOf } from '../../support/erp-reader.js';
import { useMariaDb, usePostgres } from '../../support/use-database.js';
import { oneOfEachBadRow } from './one-of-each-bad-row.js';

function readSample(erp: Settings['erp']): ErpReader {
  return erpReaderOf({
    erp,
    customers: customersSettings.parse(sampleErpMapping.customers),
    orders: ordersSettings.parse(sampleErpMapping.orders),
    amounts: amountsSettings.parse(sampleErpMapping.amounts),
  });
}

async function readAll(reader: ErpReader): Promise<{ orders: ReadOrder[]; customers: Map<string, ReadCustomer> }> {
  const orders: ReadOrder[] = [];
  const customers = new Map<string, ReadCustomer>();
  let after: string[] | null = null;
  for (;;) {
    const page: ErpPage<ReadOrder> = await reader.sweep('order', after, 500);
    orders.push(...page.rows);
    for (const customer of page.customers) customers.set(customer.sourceKey, customer);
    if (!page.more) return { orders, customers };
    after = page.last?.key ?? null;
  }
}

/** The promises of the sample, in every database. */
function sampleErpContract(lab: { target(): SampleErpTarget; erp(): Settings['erp'] }): void {
  let reader: ErpReader;
  beforeEach(() => {
    reader = readSample(lab.erp());
  });
  afterEach(() => reader.close());

  it('holds exactly the eligible orders and referenced customers that were asked for, all of them right', async () => {
    const summary = await createSampleErp({ target: lab.target(), customers: 25, orders: 200 });
    await reader.check();
    const { orders, customers } = await readAll(reader);
    expect(orders).to.have.length(200);
    expect(customers.size).to.equal(25);
    for (const row of [...orders, ...customers.values()]) expect(row.content.mapped, row.sourceKey).to.equal(true);
    for (const { totals } of orders) expect(totals?.lines).to.equal(totals?.header);
    expect(await reader.count('order')).to.equal(200);
    expect(await reader.count('customer')).to.equal(25);
    expect((await reader.countExcludedByStartFrom()).older).to.be.above(0);
    expect(summary.orders).to.deep.equal({ eligible: 200, ineligible: 20 });
    expect((await reader.sweep('customer', null, 100)).rows.length - 25)
      .to.equal(summary.customers.withoutOrders)
      .and.above(0);
  });

  it('holds bad rows on request, each seen for what it is', async () => {
    const { bad } = await createSampleErp({ target: lab.target(), customers: 5, orders: 20, bad: oneOfEachBadRow });
    const { orders } = await readAll(reader);
    expect(orders).to.have.length(26);
    const wrong = orders.filter(({ content, totals }) => !content.mapped || totals?.lines !== totals?.header);
    const ids = Object.values(bad).flat().map(String);
    expect(wrong.map(({ sourceKey }) => sourceKey)).to.have.members(ids);
    const reason = (name: keyof typeof oneOfEachBadRow): unknown => {
      const row = orders.find(({ sourceKey }) => sourceKey === String(bad[name][0]));
      if (row === undefined) return undefined;
      return row.content.mapped ? row.totals : problemsInWords(row.content);
    };
    expect(reason('ordersWithoutLines')).to.include('it has no lines');
    expect(reason('fractionalQuantities')).to.match(/qty 1\.50* is not a whole number/);
    expect(reason('negativeQuantities')).to.match(/qty -2(\.0+)? is not a positive quantity/);
    expect(reason('pricesWithThreeDecimals')).to.include('more than 2 decimals');
    expect(reason('missingCustomers')).to.include('is not in customers.query');
    expect(reason('totalMismatches')).to.have.all.keys('lines', 'header');
  });

  it('takes a new order, an edited line that moves no time, and a cancellation', async () => {
    const target = lab.target();
    await createSampleErp({ target, customers: 2, orders: 3 });
    const before = wallTimeNow();
    const { id, orderNo } = await insertSampleOrder(target, {
      customerId: 2,
      lines: [{ qty: 3 }, { productId: 2, priceCents: 5 }],
    });
    const find = async () => (await reader.sweep('order', null, 1, { keys: [`${id}`] })).rows[0];
    const inserted = await find();
    expect(inserted?.number).to.equal(orderNo);
    expect(inserted?.totals).to.deep.equal({ lines: '6002', header: '6002' });
    expect((await reader.readChanged('order', { since: before }, 10)).rows).to.have.length(1);
    expect(inserted?.ageSeconds).to.be.within(-1, 10);
    await editSampleLine(target, id, 1, 4);
    const edited = await find();
    expect(edited?.totals).to.deep.equal({ lines: '8001', header: '8001' });
    expect(edited?.changedAt).to.equal(inserted?.changedAt);
    await cancelSampleOrder(target, id);
    expect(await find()).to.equal(undefined);
  });
}

describe('the sample ERP', () => {
  it('is the same for the same seed, and another for another', () => {
    const rows = (seed: number) => makeSampleRows(seed, { customers: 5, orders: 20, bad: oneOfEachBadRow });
    expect(rows(1)).to.deep.equal(rows(1));
    expect(rows(1)).not.to.deep.equal(rows(2));
  });

  it('has names with umlauts, apostrophes and entities, and orders of the very same time', () => {
    const { customers, orders } = makeSampleRows(1, { customers: 50, orders: 200, bad: {} });
    const names = customers.map((row) => row[2]).join('\n');
    for (const text of ['ü', "'", '&amp;', '"', 'Ł']) expect(names).to.include(text);
    const times = orders.map((row) => row[9]);
    expect(new Set(times).size).to.be.below(times.length);
  });

  it('can not name more customers than it has orders', () => {
    expect(() => makeSampleRows(1, { customers: 3, orders: 2, bad: {} })).to.throw(RangeError);
  });

  describe('in SQLite', () => {
    let folder = '';
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'waybill-sample-'));
    });
    afterEach(() => rm(folder, { recursive: true }));
    const file = (): string => join(folder, 'erp.sqlite');
    sampleErpContract({
      target: () => ({ type: 'sqlite', file: file() }),
      erp: () => erpSettings.parse({ ...sampleErpMapping.erp, type: 'sqlite', file: file() }),
    });
  });

  describe('in MariaDB', () => {
    const mariaDb = useMariaDb();
    let connection: Connection;
    beforeEach(async () => {
      connection = await mariaDb.server.connect(mariaDb.database.database);
    });
    afterEach(async () => {
      await connection.query('DROP TABLE customers, products, sales_orders, sales_order_lines');
      await connection.end();
    });
    sampleErpContract({
      target: () => ({ type: 'mysql', connection }),
      erp: () => {
        const { host, port, user, password, database } = mariaDb.database;
        const account = { host, port, user, database, password: new Secret(password) };
        return erpSettings.parse({ ...sampleErpMapping.erp, type: 'mysql', ...account });
      },
    });
  });

  describe('in PostgreSQL', () => {
    const postgres = usePostgres();
    let client: Awaited<ReturnType<typeof postgres.server.connect>>;
    beforeEach(async () => {
      const { server, database } = postgres;
      client = await server.connect(database.database);
      await client.query(`ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO ${database.user}`);
    });
    afterEach(async () => {
      await client.query('DROP TABLE customers, products, sales_orders, sales_order_lines');
      await client.end();
    });
    sampleErpContract({
      target: () => ({ type: 'postgres', client }),
      erp: () => {
        const { host, port, user, password, database } = postgres.database;
        const account = { host, port, user, database, password: new Secret(password) };
        return erpSettings.parse({ ...sampleErpMapping.erp, type: 'postgres', ...account });
      },
    });
  });
});
