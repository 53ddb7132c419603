import { readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { openSqlite } from '../../support/sqlite-file.js';
import { useTempDir } from '../../support/temp-dir.js';
import { useMariaDb, usePostgres } from '../../support/use-database.js';
import { answersFor, flagsFor } from './init-answers.js';
import { init, initJson, questionsOf, recordsBy } from './init-lab.js';
import { camelCase, german, terse, terseChoices } from './unknown-schemas.js';

type Choice = { value: string };

describe('waybill init on a schema that it does not know', function () {
  this.timeout(60_000);

  describe('with German names, on MariaDB', () => {
    const dir = useTempDir();
    const erp = useMariaDb();
    let flags: string[] = [];
    before(async () => {
      for (const statement of german) await erp.database.query(statement);
      const { port, database, user, password } = erp.database;
      writeFileSync(dir.file('password'), password, { mode: 0o600 });
      flags = ['--type', 'mysql', '--port', `${port}`, '--database', database, '--user', user];
      flags.push('--password-file', dir.file('password'), '--time-zone', 'Europe/Berlin');
    });

    const columns = {
      ...{ 'order.number': 'auftragsnummer', 'order.created': 'angelegt_am', 'order.changedAt': 'geaendert_am' },
      ...{ 'order.status': 'status', 'order.customer': 'kunde_id', 'customer.code': 'kundennummer' },
      ...{ 'customer.name': 'firma', 'line.sku': 'artikel_id>artikel.artikelnummer', 'line.qty': 'menge' },
      ...{ 'line.price': 'einzelpreis', 'line.discount': 'rabatt_prozent', 'order.total': 'nettobetrag' },
      ...{ 'order.currency': 'waehrung' },
    };
    const fields = [
      'email=email',
      'street=strasse',
      'postcode=plz',
      'city=ort',
      'country=land',
      'changedAt=geaendert_am',
    ];
    const answers = answersFor({
      ...{ orders: 'auftrag', lines: 'auftragsposition', customers: 'kunde', columns },
      flags: {
        ...{ status: 'freigegeben', cancelled: 'storniert', discount: 'percent', 'lines-with': 'none' },
        ...{ 'customer-fields': fields, 'time-zone': '', 'start-from': '2026-01-01' },
      },
    });

    it('names all that only a person knows, with the values and how many orders have them, and writes nothing', async () => {
      const first = await initJson(dir.file('open'), ...flags);
      expect([first.code, first.written]).to.deep.equal([2, false]);
      expect(questionsOf(first)).to.deep.equal(['orders-table', 'lines-table', 'customers-table']);
      expect(first.open[0].choices.map(({ value }: Choice) => value)).to.include.members(['auftrag', 'bestellung']);
      const tables = ['orders-table', 'lines-table', 'customers-table'].flatMap((name) => answers[name] ?? []);
      const second = await initJson(dir.file('open'), ...flags, ...tables);
      expect(questionsOf(second)).to.deep.equal([
        ...['column order.number', 'column order.created', 'column order.changedAt', 'column order.status'],
        ...['on-deleted', 'column line.sku', 'column order.customer', 'column line.qty', 'column line.price'],
      ]);
      const left = ['column line.discount', 'discount', 'status', 'cancelled', 'currency', 'start-from'];
      const third = await initJson(dir.file('open'), ...flags, ...flagsFor(answers, ...left));
      expect(questionsOf(third)).to.deep.equal([
        'start-from',
        'status',
        'cancelled',
        'column line.discount',
        'currency',
      ]);
      const [start, status, , discount, currency] = third.open;
      expect(status.choices).to.deep.equal([
        { value: 'freigegeben', note: '10 orders' },
        { value: 'offen', note: '5 orders' },
        { value: 'storniert', note: '5 orders' },
      ]);
      expect(start.choices).to.deep.equal([{ value: '2026', note: '20 orders' }]);
      expect(currency.choices).to.deep.equal([{ value: 'EUR', note: '20 orders in any state' }]);
      expect(discount.choices).to.deep.include({
        value: 'line.discount=rabatt_prozent',
        note: '0.00 to 7.00, menge × einzelpreis, less rabatt_prozent as a percent, comes to nettobetrag in 20 of 20 orders',
      });
      const last = await initJson(dir.file('open'), ...flags, ...flagsFor(answers, 'discount'));
      expect(questionsOf(last)).to.deep.equal(['discount']);
      expect(last.open[0].choices[0].note).to.equal(
        '7 takes off 7 %, menge × einzelpreis, less rabatt_prozent as a percent, comes to nettobetrag in 20 of 20 orders',
      );
    });

    it('takes every amount as the person says, and exactly', async () => {
      const config = dir.file('config');
      const { code, settled, grants, shown, totals: money } = await initJson(config, ...flags, ...flagsFor(answers));
      expect(code).to.equal(0);
      expect(settled).to.deep.include({
        name: 'money',
        value: 'einzelpreis is the price for one, less rabatt_prozent as a percentage',
        reason: '20 of 20 orders come to their nettobetrag',
      });
      expect(grants.join('\n'))
        .to.match(/`auftrag`.*`auftragsposition`/s)
        .and.not.to.contain('bestellung');
      expect(JSON.parse(shown[0].body)).to.deep.equal({
        ...{ customer_code: 'K-1002', note: 'AB-1001', items: [{ sku: 'A-100', qty: 10, price: 10 }] },
      });
      expect([shown.length, shown[0].method, shown[0].row.nettobetrag]).to.deep.equal([3, 'POST', '1.00']);
      expect(money[0].compared).to.include({ orders: 10, differing: 0 });
      const { records, parked, totals, customers } = await recordsBy(config);
      const rows = await erp.database.query("SELECT auftrag_id, nettobetrag FROM auftrag WHERE status = 'freigegeben'");
      expect(parked.size).to.equal(0);
      expect(totals).to.deep.equal(
        Object.fromEntries(rows.map((row) => [row.auftrag_id, Math.round(Number(row.nettobetrag) * 100)])),
      );
      expect(records.get('6')).to.deep.equal({
        ...{ customer_code: 'K-1001', note: 'AB-1006' },
        items: [
          { sku: 'A-100', qty: 60, price: 10 },
          { sku: 'A-200', qty: 1, price: 3116 },
        ],
      });
      expect(customers).to.deep.include({
        ...{ customer_code: 'K-1001', name: 'Müller & Söhne', email: 'info@example.test' },
        ...{ street: 'Hauptstraße 1', postcode: '10115', city: 'Berlin', country: 'DE' },
      });
    });

    it('writes over no configuration, and asks nothing before it says so', async () => {
      writeFileSync(dir.file('local.json'), '{}');
      const { code, stderr } = await init(dir.path, ...flags, ...flagsFor(answers));
      expect(code).to.equal(2);
      expect(stderr).to.match(/local\.json exists already, and init writes over no configuration/);
      expect(readFileSync(dir.file('local.json'), 'utf8')).to.equal('{}');
    });

    it('refuses an answer that the data contradicts, and takes a state that no order has yet', async () => {
      const wrong = await init(dir.file('wrong'), ...flags, ...flagsFor(answers, 'currency'), '--currency', 'USD');
      expect([wrong.code, wrong.stderr]).to.deep.equal([
        2,
        'waybill: --currency USD: no order has USD; there are EUR\n',
      ]);
      const states = ['--status', 'freigegeben,geliefert'];
      const young = await initJson(dir.file('young'), ...flags, ...flagsFor(answers, 'status'), ...states);
      expect(young.settled).to.deep.include({
        ...{ name: 'status', value: 'geliefert', reason: 'no order has such a status yet' },
      });
      expect((await recordsBy(dir.file('young'))).settings.orders.pending).to.equal(
        "status IN ('freigegeben', 'geliefert') AND currency = 'EUR'",
      );
    });
  });

  it('reads schemas and names in capital letters on PostgreSQL, asks for the currency that no column holds, and needs no more rights than it prints', async () => {
    const answers = answersFor({
      ...{ orders: 'Sales.SalesOrderHeader', lines: 'Sales.SalesOrderDetail', customers: 'Sales.Customer' },
      columns: {
        ...{ 'order.number': 'SalesOrderNumber', 'order.created': 'OrderDate', 'order.changedAt': 'ModifiedDate' },
        ...{ 'order.status': 'Status', 'order.customer': 'CustomerID', 'customer.code': 'AccountNumber' },
        ...{ 'customer.name': 'CustomerName', 'customer.city': 'City', 'line.sku': 'ProductNumber' },
        ...{ 'line.qty': 'OrderQty', 'line.amount': 'LineTotal', 'order.total': 'SubTotal' },
      },
      flags: {
        status: '5',
        cancelled: '6',
        currency: 'USD',
        'time-zone': '',
        'start-from': '2026-01-01',
        'lines-with': 'none',
      },
    });
    const asked = await initJson(dir.file('open'), ...postgresFlags, ...flagsFor(answers, 'currency', 'start-from'));
    expect(asked.code).to.equal(2);
    expect(questionsOf(asked)).to.deep.equal(['start-from', 'currency']);
    const config = dir.file('postgres');
    const done = await initJson(config, ...postgresFlags, ...flagsFor(answers));
    expect(done.code, JSON.stringify(done)).to.equal(0);
    const root = await postgres.server.connect(postgres.database.database);
    const { user } = postgres.database;
    await root.query(`REVOKE ALL ON ALL TABLES IN SCHEMA "Sales", "Purchasing" FROM "${user}"`);
    await root.query(`REVOKE ALL ON SCHEMA "Sales", "Purchasing" FROM "${user}"`);
    for (const grant of done.grants) await root.query(grant);
    await root.end();
    const { records, parked, totals, customers } = await recordsBy(config);
    expect(parked.size).to.equal(0);
    const client = await postgres.server.connect(postgres.database.database);
    try {
      const { rows } = await client.query(
        `SELECT "SalesOrderID" AS id, ("SubTotal" * 100)::int AS cents FROM "Sales"."SalesOrderHeader" WHERE "Status" = 5`,
      );
      expect(totals).to.deep.equal(Object.fromEntries(rows.map(({ id, cents }) => [id, cents])));
    } finally {
      await client.end();
    }
    expect(records.get('3')).to.deep.equal({
      ...{ customer_code: 'AW0002', note: 'SO43003' },
      items: [
        { sku: 'BK-R93R', qty: 2, price: 95000 },
        { sku: 'HL-U509', qty: 3, price: 1999 },
      ],
    });
    expect(customers).to.deep.include({ customer_code: 'AW0002', name: 'Metro Sports', city: 'Dallas' });
    expect(done.grants.join('\n')).to.match(/GRANT USAGE ON SCHEMA "Sales".*GRANT SELECT ON "Sales"."Customer"/s);
  });

  it('reads terse names without any declared key in SQLite, with dates that are numbers', async () => {
    const erp = openSqlite(dir.file('erp.sqlite'));
    for (const statement of terse) erp.exec(statement);
    const flags = ['--type', 'sqlite', '--file', dir.file('erp.sqlite'), '--time-zone', 'Europe/Berlin'];
    const config = dir.file('sqlite');
    const done = await initJson(config, ...flags, ...terseChoices, '--status', 'F', '--start-from', '2026-01-03');
    expect(done.code, JSON.stringify(done)).to.equal(0);
    const { records, parked, totals, customers } = await recordsBy(config);
    expect(parked.size).to.equal(0);
    const rows = erp.prepare("SELECT AUFNR, NETTO FROM AUFK WHERE STAT = 'F' AND DAT >= 20260103").all();
    erp.close();
    expect(totals).to.deep.equal(
      Object.fromEntries(
        (rows as { AUFNR: number; NETTO: number }[]).map((row) => [row.AUFNR, Math.round(row.NETTO * 100)]),
      ),
    );
    expect(records.get('503')).to.deep.equal({
      ...{ customer_code: '10002', note: '503' },
      items: [
        { sku: 'S-1', qty: 3, price: 110 },
        { sku: 'K-2', qty: 2, price: 1999 },
      ],
    });
    expect(customers).to.deep.include({ customer_code: '10002', name: 'OMA ERNA' });
  });

  const dir = useTempDir();
  const postgres = usePostgres();
  let postgresFlags: string[] = [];
  before(async () => {
    const client = await postgres.server.connect(postgres.database.database);
    for (const statement of camelCase) await client.query(statement);
    const { port, database, user, password } = postgres.database;
    for (const schema of ['Sales', 'Purchasing'])
      await client.query(
        `GRANT USAGE ON SCHEMA "${schema}" TO "${user}"; GRANT SELECT ON ALL TABLES IN SCHEMA "${schema}" TO "${user}"`,
      );
    await client.end();
    writeFileSync(dir.file('password'), password, { mode: 0o600 });
    postgresFlags = ['--type', 'postgres', '--port', `${port}`, '--database', database, '--user', user];
    postgresFlags.push('--password-file', dir.file('password'), '--time-zone', 'UTC');
  });
});
