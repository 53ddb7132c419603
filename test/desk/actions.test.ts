import { expect } from 'chai';
import type { Desk } from '../../src/desk/desk.js';
import { legacy } from '../../src/model/facts/fact.js';
import { readHolds } from '../../src/store/job-runs.js';
import { forged } from '../support/forged.js';
import { type Lab, onAnyLab } from '../support/jobs/job-lab.js';
import { type Answer, Browser, deskSettings, openDesk } from './desk-client.js';
import { park as parkIn } from './parked-message.js';

const unknownSku = (key: string) => `HTTP 422: order ${key} names an unknown sku`;

onAnyLab('actions at the desk', (kit) => {
  let lab: Lab;
  let desk: Desk;
  let anna: Browser;
  let csrf: string;

  beforeEach(async () => {
    lab = await kit.start({ customers: 2, orders: 3, settings: await deskSettings(kit.folder) });
    desk = await openDesk(lab);
    anna = new Browser(desk.url);
    csrf = await anna.signIn('anna');
  });
  afterEach(() => desk.close());

  const park = (...given: Parameters<typeof parkIn> extends [unknown, ...infer Rest] ? Rest : never) =>
    parkIn(lab, ...given);
  const change = (sql: string) => lab.context.store.transaction('change a row', (tx) => tx.run(sql));
  const statesOf = async () => {
    const rows = await kit.rows('SELECT source_key, state FROM outbox_message ORDER BY id');
    return Object.fromEntries(rows.map((row) => [row.source_key, row.state]));
  };
  const holds = async () => (await lab.context.store.read('read the holds', readHolds)).length;
  const audit = () =>
    kit.rows("SELECT outcome, source_key, actor, detail FROM audit_log WHERE event='operator' ORDER BY id");

  /** Follows the form of this action on a page. @returns its preview, and the path of the preview */
  async function preview(page: string, action: string, more = ''): Promise<{ path: string; body: string }> {
    const { body } = await anna.open(page);
    const form = [...body.matchAll(/<form method="get" action="\/act".*?<\/form>/gs)]
      .map(([text]) => text)
      .find((text) => text.includes(`name="action" value="${action}"`));
    const fields = [...(form ?? '').matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [
      name ?? '',
      (value ?? '').replaceAll('&quot;', '"').replaceAll('&amp;', '&'),
    ]);
    const { headers } = await anna.open(`act?${new URLSearchParams(fields)}${more}`);
    const path = (headers.location ?? '').slice(1);
    return { path, body: (await anna.open(path)).body };
  }
  async function carryOut(path: string, reason = 'the sku was added', more = {}): Promise<Answer> {
    const answer = await anna.post(path, { csrf, reason, ...more });
    expect(answer.status, answer.body).to.equal(303);
    return anna.open((answer.headers.location ?? '').slice(1));
  }

  it('show a group first, with count, money, a sample and what is left alone, and do nothing until they are confirmed', async () => {
    for (const key of ['1001', '1002']) await park(key, unknownSku(key));
    // Written like the others, but for the numbers.
    await park('1003', unknownSku('of ours'));
    const { body, path } = await preview('needs-a-person', 'retry');
    expect(body).to.contain('Nothing is done yet').and.to.contain('42.00 EUR');
    expect(body).to.contain('/order/1001').and.to.contain('/order/1002').and.not.to.contain('/order/1003');
    expect((await statesOf())['1001']).to.equal('parked');
    expect((await anna.post(path, { csrf, reason: ' ' })).headers.location).to.contain('reason=missing');
    expect((await statesOf())['1001']).to.equal('parked');
    expect((await carryOut(path)).body)
      .to.contain('Will be tried again now')
      .and.to.contain('the sku was added');
    expect(await statesOf()).to.include({ '1001': 'pending', '1002': 'pending', '1003': 'parked' });
    const lines = await audit();
    expect(lines.map((line) => [line.outcome, line.source_key, line.actor])).to.deep.equal([
      ['retry', '1001', 'anna (desk)'],
      ['retry', '1002', 'anna (desk)'],
    ]);
    expect(JSON.parse(lines[0]?.detail ?? '{}')).to.include({ reason: 'the sku was added', from: 'parked' });
  });

  it('touch exactly what was shown, once, and name what has changed since', async () => {
    for (const key of ['1', '2', '3']) await park(key, unknownSku(key));
    const { path } = await preview('needs-a-person', 'discard');
    // One of these is gone, one says something else, and one came later.
    await change(`UPDATE outbox_message SET ${forged.superseded}, closed_at=1 WHERE source_key='1'`);
    await change(
      `UPDATE outbox_message SET reason_code='legacy', reason_data='{"text":{"outside":"HTTP 422: it is too old"}}' WHERE source_key='2'`,
    );
    await park('4', unknownSku('4'));
    const { body } = await carryOut(path);
    expect(await statesOf()).to.deep.equal({ 1: 'superseded', 2: 'parked', 3: 'discarded', 4: 'parked' });
    expect(body).to.match(/Discarded: <span class="number">1<\/span> of <span class="number">3<\/span>/);
    expect(body).to.contain('it has changed since it was shown').and.to.contain('/order/1').and.to.contain('/order/2');
    expect(body).not.to.contain('/order/4');
    await change(
      `UPDATE outbox_message SET ${forged.parked}, closed_at=NULL, reason_code='legacy', reason_data='{"text":{"outside":"${unknownSku('3')}"}}' WHERE source_key='3'`,
    );
    await carryOut(path);
    expect((await statesOf())['3'], 'the same form does it once').to.equal('parked');
    expect(await audit()).to.have.length(1);
  });

  it('act on a filter of the outbox as it is, not on more', async () => {
    for (const key of ['1', '2']) await park(key, unknownSku(key));
    await park('3', 'HTTP 422: too old');
    await park('c', unknownSku('c'), { entity: 'customer', record: '{}' });
    const { path, body } = await preview('outbox?state=parked&entity=order&reason=unknown', 'discard');
    expect(body).to.contain('/order/1').and.not.to.contain('/order/3').and.not.to.contain('/customer/c');
    await carryOut(path);
    expect(await statesOf()).to.deep.equal({ 1: 'discarded', 2: 'discarded', 3: 'parked', c: 'parked' });
    expect((await anna.open('act?action=discard')).status, 'no filter at all').to.equal(400);
  });

  it('are refused for a name that two records have; the pages show both, marked', async () => {
    await park('90011', unknownSku('90011'), { number: '90012' });
    await park('90012', unknownSku('90012'), { number: 'A-90012' });
    const refused = await anna.open('act?action=discard&state=parked&key=90012');
    expect(refused.status).to.equal(400);
    expect(refused.body).to.contain('90012 names 2 records').and.to.contain('Open the record that you mean');
    for (const page of ['outbox?key=90012', '?q=90012']) {
      const { body } = await anna.open(page);
      expect(body).to.contain('is ambiguous: 2 records have this name').and.not.to.contain('action="/act"');
      expect(body).to.contain('/order/90011').and.to.contain('/order/90012');
    }
    const { path } = await preview('outbox?state=parked&key=A-90012', 'discard');
    await carryOut(path);
    expect(await statesOf()).to.deep.equal({ 90011: 'parked', 90012: 'discarded' });
  });

  it('say of a record what can be done and what cannot, and resolve what may exist with the id that a person found', async () => {
    await park('a/b"&<\u202e', 'no answer', {
      idempotencyKey: 'k',
      parked: { parkClass: 'unproven', reason: legacy('no answer') },
    });
    const page = `order/${encodeURIComponent('a/b"&<\u202e')}`;
    const { body } = await anna.open(page);
    expect(body).to.contain('It is at the service').and.to.contain('Its id at the service');
    expect(body).to.contain('the service may have forgotten its key');
    const { path, body: asked } = await preview(page, 'delivered', '&serviceId=ord_9');
    // The settings do not say how the service is asked for an order: that it is there takes a second word.
    expect(asked)
      .to.contain('Nothing shows that this record is')
      .and.to.contain('service.endpoints.readOrder')
      .and.to.contain('name="unchecked"');
    // An address can't say it for the person.
    const { body: insisted } = await preview(page, 'delivered', '&serviceId=ord_9&unchecked=1');
    expect(insisted).to.contain('name="unchecked"').and.to.contain('service.endpoints.readOrder');
    const without = await anna.post(path, { csrf, reason: 'found by its note' });
    expect(without.headers.location).to.match(/unchecked=missing$/);
    expect(await kit.rows('SELECT service_id FROM binding')).to.deep.equal([]);
    await carryOut(path, 'found by its note', { unchecked: '1' });
    expect(await kit.rows('SELECT state, service_id FROM outbox_message')).to.deep.equal([
      { state: 'delivered', service_id: 'ord_9' },
    ]);
    const [bound] = await kit.rows('SELECT service_id, said_by, said_check FROM binding');
    expect(bound).to.include({ service_id: 'ord_9', said_check: 'unread' });
    expect(bound.said_by).to.match(/^anna \(desk\)/);
    const after = (await anna.open(page)).body;
    expect(after).to.contain('recorded as there, as ord_9, by anna (desk)').and.to.contain('not checked');
    expect(after).not.to.contain('acknowledged as ord_9').and.not.to.contain('Nothing differs');
  });

  it('erase a customer’s personal data once nothing of it waits, on record with the person', async () => {
    await park('c 1', 'no name of Erika Muster', { entity: 'customer', record: '{"name":"Erika Muster"}' });
    const waits = await preview('customer/c%201', 'forget');
    expect(waits.body).to.contain('a message of it is parked').and.to.contain('There is nothing to do.');
    await change(`UPDATE outbox_message SET ${forged.discarded}`);
    const { path, body } = await preview('customer/c%201', 'forget');
    expect(body).to.contain('Of customer c 1: 1 bodies');
    expect((await carryOut(path, 'asked to be forgotten')).body).to.contain('1</span> of <span');
    expect(await kit.rows('SELECT record FROM message_body')).to.deep.equal([]);
    expect(await kit.rows("SELECT outcome, actor FROM audit_log WHERE event='forget'")).to.satisfy(
      ([line]: { outcome: string; actor: string }[]) =>
        line?.outcome === 'operator' && line.actor.startsWith('anna (desk)'),
    );
    expect((await anna.open('customer/c%201')).body).not.to.contain('Erika');
    const rita = new Browser(desk.url);
    await rita.signIn('rita');
    expect((await rita.open('customer/c%201')).body).not.to.contain('value="forget"');
  });

  it('show of what is on hold the values that would change', async () => {
    await park('7', 'a hold', {
      operation: 'update',
      record: '{"number":"SO-7","items":[{"sku":"A","qty":1,"price":127500}]}',
      parked: { parkClass: 'held', reason: legacy('a hold') },
    });
    await change(`INSERT INTO binding (entity, source_key, service_id, revision, generation, content_hash, mapping_fingerprint,
      acknowledged, acknowledged_at, folded_key) VALUES ('order','7','o-7',1,0,'h','m',
      '{"number":"SO-7","items":[{"sku":"A","qty":1,"price":1275}]}',1,'7')`);
    const { body } = await preview('needs-a-person', 'held_send');
    expect(body)
      .to.contain('items.1.price: 1275 → 127500')
      .and.to.contain('changes items')
      .and.not.to.contain('sku: A');
  });

  it('take invoices off the list that a hold keeps there, but none that a pull has met since', async () => {
    for (const nth of [1, 2, 3])
      await change(
        `INSERT INTO invoice (invoice_no, amount, due_date, status, first_listed_at, last_listed_at, drop_held_at)
          VALUES ('INV-${nth}', ${nth}00, '2026-01-0${nth}', 'unpaid', 1, 1, 5)`,
      );
    const { path, body } = await preview('invoices?list=held', 'held_invoices');
    expect(body).to.contain('3</span> invoices').and.to.contain('6.00 EUR').and.to.contain('INV-2');
    await change("UPDATE invoice SET drop_held_at=NULL WHERE invoice_no='INV-2'");
    const done = await carryOut(path, 'paid in cash');
    expect(done.body)
      .to.contain('2</span> of <span')
      .and.to.match(/INV-2.*a pull has met it since/s);
    const listed = await kit.rows('SELECT invoice_no FROM invoice WHERE unlisted_at IS NULL');
    expect(listed).to.deep.equal([{ invoice_no: 'INV-2' }]);
    expect((await audit()).map((line) => line.outcome)).to.deep.equal(['confirm_drop']);
    const rita = new Browser(desk.url);
    await rita.signIn('rita');
    await change("UPDATE invoice SET drop_held_at=5 WHERE invoice_no='INV-2'");
    expect((await rita.open('invoices?list=held')).body)
      .to.contain('INV-2')
      .and.not.to.contain('held_invoices');
  });

  it('release ten of what is on hold first, and the others with the hold', async () => {
    for (let key = 1; key <= 12; key++)
      await park(String(key), 'a hold: 12 of 12 changed', {
        parked: { parkClass: 'held', reason: legacy('a hold: 12 of 12') },
      });
    await change(
      "INSERT INTO capture_cursor (name, brake_code, brake_data) VALUES ('order', 'source_drained', '{\"before\":40}')",
    );
    const few = await preview('needs-a-person', 'held_send', '&first=1');
    expect(few.body).to.contain('<span class="number">10</span> changes');
    await carryOut(few.path, 'to look');
    expect(await kit.rows("SELECT COUNT(*) AS n FROM outbox_message WHERE state='pending'")).to.deep.equal([{ n: 10 }]);
    expect(await holds(), 'the others are held still').to.equal(1);
    const rest = await preview('order/11', 'held_adopt');
    expect(rest.body, 'a create has no baseline')
      .to.contain('there is nothing to adopt')
      .and.to.contain('There is nothing to do.');
    const all = await preview('needs-a-person', 'held_discard');
    await carryOut(all.path, 'they are test orders');
    expect(await holds()).to.equal(0);
    expect(await kit.rows("SELECT COUNT(*) AS n FROM outbox_message WHERE state='discarded'")).to.deep.equal([
      { n: 2 },
    ]);
    expect((await audit()).map((line) => line.outcome)).to.deep.equal([
      ...Array(10).fill('confirm_send'),
      ...Array(2).fill('confirm_discard'),
      'end_hold',
    ]);
  });

  it('belong to the person who was shown them, and to people who may act', async () => {
    await park('1', unknownSku('1'));
    const { path } = await preview('needs-a-person', 'discard');
    const rita = new Browser(desk.url);
    const token = await rita.signIn('rita');
    for (const page of ['needs-a-person', 'order/1', 'outbox?state=parked'])
      expect((await rita.open(page)).body, page).not.to.contain('/act"');
    expect((await rita.open('act?action=discard&entity=order&record=1')).status).to.equal(403);
    expect((await rita.open(path)).status).to.equal(403);
    expect((await rita.post(path, { csrf: token, reason: 'x' })).status).to.equal(403);
    const other = new Browser(desk.url, { authorization: 'Bearer token-that-acts-0123456789' });
    expect((await other.open(path)).status, 'another person').to.equal(404);
    expect((await anna.post(path, { csrf: 'forged', reason: 'x' })).status).to.equal(403);
    expect((await statesOf())['1']).to.equal('parked');
  });
});
