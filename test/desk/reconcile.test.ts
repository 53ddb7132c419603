import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { parse } from 'csv-parse/sync';
import type { Desk } from '../../src/desk/desk.js';
import { reconcileAsked } from '../../src/operator/reconcile/start-run.js';
import { type Lab, onAnyLab, withServiceLease } from '../support/jobs/job-lab.js';
import { Browser, deskSettings, openDesk } from './desk-client.js';

onAnyLab('a comparison of both sides at the desk', (kit) => {
  let lab: Lab;
  let desk: Desk;
  let anna: Browser;
  let csrf: string;

  const start = async (orders: number, endpoints: object = { readOrder: {} }) => {
    lab = await kit.start({
      customers: 2,
      orders,
      settings: { ...(await deskSettings(kit.folder)), service: { endpoints } },
    });
    await lab.capture();
    await lab.deliver();
    desk = await openDesk(lab, ['secret-of-the-service']);
    anna = new Browser(desk.url);
    csrf = await anna.signIn('anna');
  };
  afterEach(() => desk.close());

  const preview = async (query: string) => {
    const { headers, status, body } = await anna.open(`act?${query}`);
    const path = (headers.location ?? '').slice(1);
    return status === 303 ? { status, path, body: (await anna.open(path)).body } : { status, path, body };
  };
  const carryOut = async (path: string, reason: string) => {
    const { headers } = await anna.post(path, { csrf, reason });
    return (await anna.open((headers.location ?? '').slice(1))).body;
  };
  /** The daemon's part when it is asked. */
  const daemonCompares = () =>
    withServiceLease(lab.context, (lease) =>
      reconcileAsked(lab.context, { reader: lab.reader, client: lab.client, lease }, new AbortController().signal),
    );
  const compare = async (query = 'action=reconcile&subject=orders') => {
    await carryOut((await preview(query)).path, 'month end');
    await daemonCompares();
  };
  const keysOn = (body: string) => [...body.matchAll(/href="\/order\/([^"]+)"/g)].map(([, key]) => key);
  const audited = async (outcome: string) =>
    kit.rows(`SELECT actor, detail FROM audit_log WHERE event='operator' AND outcome='${outcome}'`);

  it('is shown with its cost, begun by a person, gone through page by page, and filed', async () => {
    await start(60);
    expect((await anna.open('reconcile')).body)
      .to.contain('No orders were compared yet')
      .and.to.contain('Compare orders …');
    const { path, body } = await preview('action=reconcile&subject=orders');
    expect(body)
      .to.contain('asked for 60 orders one by one')
      .and.to.match(/\d+ s at the limit/);
    expect(await kit.rows('SELECT id FROM reconciliation')).to.deep.equal([]);
    expect(await carryOut(path, 'month end')).to.contain('The daemon was asked to compare');
    expect(await kit.rows('SELECT job FROM wake_up')).to.deep.equal([{ job: 'reconcile' }]);
    const [line] = await audited('ask_reconcile');
    expect(line?.actor).to.equal('anna (desk)');
    expect(JSON.parse(line?.detail ?? '{}')).to.include({ reason: 'month end', subject: 'orders' });
    expect((await anna.open('reconcile')).body)
      .to.contain('Being compared')
      .and.to.contain('at the limit are left');

    expect((await preview('action=reconcile&subject=orders')).body).to.contain('goes on where the last one is');
    expect((await preview('action=reconcile&subject=orders&month=2026-02')).body).to.contain('under way stops for it');

    for (const { order_id } of lab.sandbox.ledger().orders.slice(0, 55)) lab.sandbox.setOrder(order_id, { total: 7 });
    for (const { order_id } of lab.sandbox.ledger().orders.slice(55, 57)) lab.sandbox.removeOrder(order_id);
    await daemonCompares();
    await lab.context.store.transaction('a hostile text', (tx) =>
      tx.run(
        `UPDATE reconcile_finding SET fields='[{"field":"note","erp":"<script>alert(1)</script> secret-of-the-service","service":null}]'
          WHERE cause='changed'`,
      ),
    );
    const seen: (string | undefined)[] = [];
    for (let next: string | undefined = 'reconcile?subject=orders&cause=changed'; next !== undefined; ) {
      const page: string = (await anna.open(next)).body;
      expect(page).to.contain('✓ Compared').and.to.contain('&lt;script>').and.not.to.contain('<script>alert');
      expect(page).to.not.contain('secret-of-the-service');
      seen.push(...keysOn(page));
      next = /<a href="\/([^"]+)">Next page<\/a>/.exec(page)?.[1]?.replaceAll('&amp;', '&');
    }
    expect(seen).to.have.length(55);
    expect(new Set(seen).size).to.equal(55);
    // A credit note: a number also for a spreadsheet.
    await kit.rows(`UPDATE reconcile_finding SET erp_total='-500' WHERE source_key='${seen[0]}'`);
    const csv = (await anna.open('reconcile.csv?subject=orders&cause=changed')).body;
    const rows = parse(csv, { from_line: 2, relax_column_count: true }) as string[][];
    expect(rows.slice(0, -1).map((row) => row[3])).to.deep.equal(seen);
    expect(rows[0]?.[8]).to.equal('-500');

    const run = /reconcile\/report\.html\?run=(\d+)/.exec((await anna.open('reconcile')).body)?.[1];
    for (const inherited of ['__proto__', 'constructor', 'toString', 'hasOwnProperty'])
      expect((await anna.open(`reconcile/${inherited}?run=${run}`)).status).to.equal(404);
    const report = await anna.open(`reconcile/report.html?run=${run}`);
    expect(report.headers['content-disposition']).to.equal('attachment; filename="waybill-orders-all.html"');
    for (const file of ['differences', 'sums']) {
      const { body: text } = await anna.open(`reconcile/${file}.csv?run=${run}`);
      expect(report.body).to.contain(createHash('sha256').update(text).digest('hex'));
      expect(text).to.not.contain('secret-of-the-service');
    }
    expect((await anna.open(`reconcile/other?run=${run}`)).status).to.equal(404);

    const rita = new Browser(desk.url);
    await rita.signIn('rita');
    expect((await rita.open('reconcile')).body)
      .to.contain('✓ Compared')
      .and.not.to.contain('/act"');
    expect((await rita.open('act?action=reconcile&subject=orders')).status).to.equal(403);
  });

  it('is refused for orders that the service can not be asked for', async () => {
    await start(2, {});
    const { status, body } = await preview('action=reconcile&subject=orders');
    expect(status).to.equal(400);
    expect(body).to.contain('can not be compared: orders need service.endpoints.readOrder or lookUpOrder');
    expect((await preview('action=reconcile&subject=customers')).body).to.contain('asked for 2 customers');
  });

  it('is repaired as it was shown, or not at all', async () => {
    await start(6);
    const [gone, wrong] = lab.sandbox.ledger().orders;
    lab.sandbox.removeOrder(gone?.order_id ?? '');
    lab.sandbox.setOrder(wrong?.order_id ?? '', { total: 7 });
    await compare();
    const [{ id = '' } = {}] = await kit.rows('SELECT id FROM reconciliation');
    const query = `action=reconcile_repair&run=${id}`;
    const first = await preview(query);
    expect(first.body)
      .to.contain('gone since it was acknowledged')
      .and.to.match(/>2<\/span> records would be meant/);
    expect(keysOn(first.body)).to.have.length(2);
    const change = (sql: string) => lab.context.store.transaction('change', (tx) => tx.run(sql));
    await change(`UPDATE reconcile_finding SET erp_total='8' WHERE cause='changed'`);
    expect(await carryOut(first.path, 'month end')).to.contain('the list is another one by now');
    expect(await audited('repair')).to.deep.equal([]);

    const second = await preview(query);
    expect(await carryOut(second.path, 'month end')).to.contain('Given to the outbox');
    const [line] = await audited('repair');
    expect(line?.actor).to.equal('anna (desk)');
    expect(JSON.parse(line?.detail ?? '{}')).to.include({ reason: 'month end', count: 2 });
    expect(await kit.rows('SELECT job FROM wake_up')).to.deep.include({ job: 'capture' });
    // As the daemon does it: the next pass is a sweep.
    await lab.capture();
    await lab.deliver();
    await compare('action=reconcile&subject=orders&again=1');
    expect((await anna.open('reconcile')).body).to.contain('Both sides agree.');
    expect(lab.sandbox.counts()).to.include({ orders: 6, duplicateReferences: 0 });
    expect((await preview(query)).status, 'another comparison has replaced it').to.equal(303);
    await change('UPDATE reconciliation SET ended_at=1');
    expect((await preview(query)).body).to.contain('older than an hour');
  });

  it('takes nothing that makes no sense', async () => {
    await start(2);
    for (const query of ['', '&subject=all', '&subject=orders&month=2026-13', '&subject=invoices&month=2026-10'])
      expect((await preview(`action=reconcile${query}`)).status, query).to.equal(400);
    for (const query of ['', '&run=x', '&run=77'])
      expect((await preview(`action=reconcile_repair${query}`)).status, query).to.equal(400);
    expect((await preview('action=reconcile&subject=orders&month=2026-02')).body).to.contain('of 2026-02');
    expect((await anna.open('reconcile?subject=x&after=x&run=x&cause=x')).status).to.equal(200);
    expect((await anna.open('reconcile.csv?run=77')).status).to.equal(404);
  });
});
