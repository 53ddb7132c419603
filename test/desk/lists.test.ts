import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import type { Desk } from '../../src/desk/desk.js';
import { settingRows } from '../../src/desk/pages/settings.js';
import { listInvoices } from '../../src/inbound/invoices/list-invoices.js';
import { confirmDrop } from '../../src/inbound/invoices/safety-limit.js';
import { readAnnounced } from '../../src/inbound/webhooks/read-announced.js';
import { insertEvent } from '../../src/inbound/webhooks/webhook-rows.js';
import { outside } from '../../src/model/outside.js';
import { Secret } from '../../src/model/secret.js';
import { newestFirst } from '../../src/operator/lists/browse.js';
import { factColumns } from '../../src/store/fact-columns.js';
import { type Lab, onSqliteLabAnd, withServiceLease } from '../support/jobs/job-lab.js';
import { withMethod } from '../support/jobs/with-method.js';
import { Browser, deskSettings, openDesk } from './desk-client.js';
import { park } from './parked-message.js';

onSqliteLabAnd('mysql', 'lists at the desk', (kit) => {
  let lab: Lab;
  let desk: Desk;
  let rita: Browser;

  beforeEach(async () => {
    lab = await kit.start({ customers: 3, orders: 6, settings: await deskSettings(kit.folder) });
    desk = await openDesk(lab, ['secret-of-the-service']);
    rita = new Browser(desk.url);
    await rita.signIn('rita');
  });
  afterEach(() => desk.close());

  const run = (sql: string) => lab.context.store.transaction('change rows', (tx) => tx.run(sql));
  const keysOn = (body: string) => [...body.matchAll(/href="\/(?:order|customer)\/([^"]+)"/g)].map(([, key]) => key);
  const linkTo = (body: string, name: string) =>
    new RegExp(`<a href="/([^"]+)">${name}</a>`).exec(body)?.[1]?.replaceAll('&amp;', '&');
  /** The rows of a CSV without its head, and its last line. */
  const csvOf = (text: string) => {
    const control = text.trimEnd().slice(text.trimEnd().lastIndexOf('\n') + 1);
    const before = text.slice(0, text.lastIndexOf(control));
    expect(control).to.contain(createHash('sha256').update(before).digest('hex'));
    return { rows: parse(before, { from_line: 2 }) as string[][], control: control.split(',') };
  };
  /** Orders that were delivered long ago. */
  async function deliverMany(count: number): Promise<void> {
    const values = Array.from(
      { length: count },
      (_, nth) =>
        `('order','x${nth}',1,'create',0,'x${nth}','h','m','delivered',${nth},${nth},${nth === 3 ? `'legacy','{"text":{"outside":"rare words"}}'` : 'NULL,NULL'})`,
    );
    for (let from = 0; from < values.length; from += 500)
      await run(
        `INSERT INTO outbox_message (entity, source_key, revision, operation, generation, folded_key, content_hash, mapping_fingerprint,
           state, captured_at, closed_at, reason_code, reason_data) VALUES ${values.slice(from, from + 500).join(',')}`,
      );
  }

  it('page through the outbox by its filter, each message once, and send just that as CSV', async () => {
    await deliverMany(120);
    await lab.capture();
    const seen: (string | undefined)[] = [];
    for (let path: string | undefined = 'outbox?state=delivered&entity=order'; path !== undefined; ) {
      const { body } = await rita.open(path);
      seen.push(...keysOn(body));
      if (seen.length <= 50) expect(body).to.contain('<span class="number">120</span> messages match');
      path = linkTo(body, 'Next page');
    }
    expect(seen).to.deep.equal(Array.from({ length: 120 }, (_, nth) => `x${119 - nth}`));
    const first = await rita.open('outbox?state=delivered&entity=order&reason=');
    const csv = await rita.open(linkTo(first.body, 'All of it as CSV') ?? '');
    expect(csv.headers['content-disposition']).to.contain('waybill-outbox.csv');
    const { rows, control } = csvOf(csv.body);
    expect(rows.map((row) => row[2])).to.deep.equal(seen);
    expect(control[1]).to.equal('rows 120');
    expect(keysOn((await rita.open('outbox?reason=RARE%20words')).body)).to.deep.equal(['x3']);
  });

  it('show the invoices with the count and the sum of waybill invoices, and their control sum in the CSV', async () => {
    await lab.capture();
    await lab.deliver();
    await lab.pull();
    const { count, sum } = await lab.context.store.read('read', (tx) => listInvoices(tx, 1));
    expect(count).to.be.greaterThan(0);
    const { body } = await rita.open('invoices');
    const months = [...body.matchAll(/<td>\d{4}-\d\d<\/td><td class="number">(\d+)<\/td>/g)].map(([, n]) => Number(n));
    expect(
      months.reduce((all, one) => all + one, 0),
      'by month',
    ).to.equal(count);
    expect(body).to.contain(`<span class="number">${count}</span> invoices`).and.to.contain('Last pull');
    const { rows, control } = csvOf((await rita.open('invoices.csv')).body);
    expect(rows).to.have.length(count);
    expect(control.slice(1, 3)).to.deep.equal([`rows ${count}`, `sum ${sum}`]);
    await run('UPDATE invoice SET amount=-5, unlisted_at=NULL');
    expect((await rita.open('invoices?list=credit')).body).to.contain('-0.05');
    expect(csvOf((await rita.open('invoices.csv?list=credit')).body).rows[0]?.[2]).to.equal('-5');
  });

  it('page through the invoices that are no longer listed, the last to leave first, and say how many there are', async () => {
    const values = Array.from(
      { length: 120 },
      (_, nth) =>
        `('gone-${String(nth).padStart(3, '0')}',100,'2026-12-01','unpaid',1,1,${1_000 - Math.trunc(nth / 60)})`,
    );
    await run(
      `INSERT INTO invoice (invoice_no, amount, due_date, status, first_listed_at, last_listed_at, unlisted_at) VALUES ${values.join(',')}`,
    );
    const seen: (string | undefined)[] = [];
    for (let path: string | undefined = 'invoices?list=left'; path !== undefined; ) {
      const { body } = await rita.open(path);
      expect(body).to.contain('No longer listed (<span class="number">120</span>)');
      seen.push(...[...body.matchAll(/>gone-(\d{3})/g)].map(([, nth]) => nth));
      path = linkTo(body, 'Next page');
    }
    expect(seen).to.deep.equal(Array.from({ length: 120 }, (_, nth) => String(nth).padStart(3, '0')));
    expect((await rita.open('invoices?list=left&after=x&key-after=y')).body).to.contain('gone-000');
  });

  for (const [how, change] of [
    ['a pull', async () => expect((await lab.pull()).unlisted).to.equal(1)],
    [
      'what a webhook announced',
      () =>
        withServiceLease(lab.context, async (lease) => {
          await kit.store.transaction('an event', (tx) =>
            insertEvent(tx, { id: 'e1', type: 't', about: 'invoice', subject: 'INV-0' }, Date.now()),
          );
          expect((await readAnnounced(lab.context, lab.client, lease)).read).to.equal(1);
        }),
    ],
    [
      'a person who takes held ones off',
      async () => {
        await run("UPDATE invoice SET drop_held_at=1 WHERE invoice_no='INV-0'");
        expect(await confirmDrop(lab.context, ['INV-0'], 'paid')).to.equal(1);
      },
    ],
  ] as const)
    it(`seal no CSV of invoices that ${how} changed while it was read`, async () => {
      lab = lab.another({
        settings: { service: { endpoints: { readInvoice: { path: '/v2/invoices/{invoice_no}' } } } },
      });
      lab.sandbox.addInvoices(
        Array.from({ length: 1_200 }, (_, nth) => ({ invoice_no: `INV-${nth}`, amount: 100, due_date: '2026-12-01' })),
      );
      await lab.pull();
      let reads = 0;
      const changes = { isDue: true };
      const read: typeof lab.context.store.read = async (action, work) => {
        if (action === 'read the invoices' && ++reads === 2 && changes.isDue) {
          lab.sandbox.payInvoice('INV-0');
          await change();
        }
        return lab.context.store.read(action, work);
      };
      const store = withMethod(lab.context.store, 'read', read as never);
      const other = await openDesk({ ...lab, context: { ...lab.context, store } });
      try {
        const reader = new Browser(other.url);
        await reader.signIn('rita');
        const torn = (await reader.open('invoices.csv')).body.trimEnd().split('\n');
        expect(torn.at(-1)).to.match(/^not whole,The list of invoices changed while it was read\. .*download it again/);
        expect(torn.join()).not.to.contain('sha256');
        changes.isDue = false;
        expect(csvOf((await reader.open('invoices.csv')).body).rows).to.have.length(1_199);
      } finally {
        await other.close();
      }
    });

  it('mask what is about people, unless a person asks for it, and put that on record', async () => {
    const reason = 'HTTP 422: Erika Muster (erika@example.com, +49 151 234 5678) has no address in Musterstadt';
    const record = JSON.stringify({ customer_code: 'C-77', name: 'Erika Muster', address: { city: 'Musterstadt' } });
    await park(lab, '77', reason, { entity: 'customer', record });
    await park(lab, '78', 'HTTP 422: Erika Muster is blocked since 2026-11-24', { customerKey: '77' });
    const lists = ['outbox', 'outbox.csv', 'needs-a-person'];
    for (const path of lists) {
      const { body } = await rita.open(path);
      expect(body, path)
        .to.contain('HTTP')
        .and.to.contain('•••')
        .and.not.to.match(/Erika|example\.com|5678|Musterstadt/);
    }
    expect((await rita.open('outbox')).body, 'what is no person').to.contain('since 2026-11-24');
    const asked = () => kit.rows("SELECT actor, detail FROM audit_log WHERE outcome='personal_data' ORDER BY id");
    expect(await asked()).to.deep.equal([]);
    for (const path of lists) expect((await rita.open(`${path}?personal=1`)).body, path).to.contain('Erika Muster');
    const lines = await asked();
    expect(lines.map(({ detail }) => JSON.parse(detail).page)).to.deep.equal(lists.map((path) => `/${path}`));
    for (const { actor } of lines) expect(actor).to.match(/^rita \(desk\)/);
    // The form of a group holds its reason: none is there while the reason is masked.
    const anna = new Browser(desk.url);
    await anna.signIn('anna');
    expect((await anna.open('needs-a-person')).body).not.to.match(/Erika/i);
    expect((await anna.open('needs-a-person?personal=1')).body).to.contain('name="cause"');
  });

  it('page through the audit, the newest line first, of one event, one record or all', async () => {
    await lab.capture();
    await lab.deliver();
    const ids = (await kit.rows('SELECT id FROM audit_log ORDER BY id DESC')).map(({ id }) => String(id));
    const { rows } = csvOf((await rita.open('audit.csv')).body);
    // A reader's page views are not on record; signing in was.
    expect(rows.map((row) => row[0])).to.deep.equal(ids);
    const [order] = await kit.rows("SELECT source_key, number FROM outbox_message WHERE entity='order' ORDER BY id");
    const ofOrder = csvOf((await rita.open(`audit.csv?key=${order?.number}&entity=order`)).body).rows;
    expect(new Set(ofOrder.map((row) => row[5]))).to.deep.equal(new Set([order?.source_key]));
    const events = csvOf((await rita.open('audit.csv?event=captured')).body).rows;
    expect(new Set(events.map((row) => row[2]))).to.deep.equal(new Set(['captured']));
    expect((await rita.open('audit?event=captured')).body)
      .to.contain('captured')
      .and.to.contain('/order/');
  });

  it('let no cell run in a spreadsheet, and no secret into a file', async () => {
    await deliverMany(1);
    const { code, data } = factColumns({
      code: 'legacy',
      text: outside('=HYPERLINK("http://evil") secret-of-the-service'),
    });
    await kit.store.transaction('plant it', (tx) =>
      tx.run('UPDATE outbox_message SET reason_code=?, reason_data=?', [code, data]),
    );
    const { rows } = csvOf((await rita.open('outbox.csv')).body);
    expect(rows[0]?.[8]).to.equal(`'=HYPERLINK("http://evil") [secret]`);
  });

  it('list events of webhooks page by page, and say where none are listened for', async () => {
    expect((await rita.open('webhooks')).body)
      .to.contain('does not listen')
      .and.to.contain('No event is kept.');
    const values = Array.from(
      { length: 70 },
      (_, nth) => `('e${nth}','invoice.paid','invoice','i${nth}','done',${nth % 7})`,
    );
    await run(
      `INSERT INTO webhook_event (event_id, type, about, subject, state, received_at) VALUES ${values.join(',')}`,
    );
    const first = (await rita.open('webhooks')).body;
    const second = (await rita.open(linkTo(first, 'Next page') ?? '')).body;
    const seen = [first, second].flatMap((body) => [...body.matchAll(/invoice (i\d+)/g)].map(([, id]) => id));
    expect(new Set(seen).size).to.equal(70);
    expect(seen).to.have.length(70);
    expect(linkTo(second, 'Next page')).to.equal(undefined);
  });
});

describe('what a page of the newest holds', () => {
  it('is every row that matches, once, however the ids lie, and looks through few ids at a time', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.integer({ min: 1, max: 400_000 }), { maxLength: 60 }),
        fc.integer({ min: 1, max: 20 }),
        async (ids, limit) => {
          const sorted = [...ids].sort((a, b) => b - a);
          const bounds = { first: sorted.at(-1) ?? null, last: sorted[0] ?? null };
          const seen: number[] = [];
          let before: number | null = null;
          do {
            let looked = 0;
            const page: { rows: { id: number }[]; next: number | null } = await newestFirst(
              bounds,
              before,
              limit,
              async ({ from, below }, most) => {
                looked += below - from;
                return sorted
                  .filter((id) => id >= from && id < below)
                  .slice(0, most)
                  .map((id) => ({ id }));
              },
            );
            expect(looked).to.be.at.most(100_000);
            expect(page.rows.length).to.be.at.most(limit);
            seen.push(...page.rows.map(({ id }) => id));
            before = page.next;
          } while (before !== null);
          expect(seen).to.deep.equal(sorted);
        },
      ),
    );
  });
});

describe('the page of the settings', () => {
  it('says where each setting was given, and of a secret only that there is one', () => {
    const settings = {
      service: { token: new Secret('hush'), limits: [{ requests: 1 }] },
      desk: { port: 1, none: undefined },
    };
    const from: Record<string, string> = { 'service.tokenFile': 'local.yaml:3', 'desk.port': 'WAYBILL_DESK_PORT' };
    const rows = settingRows(settings, (path) => from[path.join('.')]);
    expect(rows).to.deep.equal([
      { path: 'desk.port', value: '1', from: 'WAYBILL_DESK_PORT' },
      { path: 'service.limits', value: '[{"requests":1}]', from: 'default' },
      { path: 'service.token', value: '(secret)', from: 'the file that local.yaml:3 names' },
    ]);
  });
});
