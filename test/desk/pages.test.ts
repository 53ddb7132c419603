import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { checkStatus } from '../../src/daemon/check-status.js';
import { readStatus, type Status } from '../../src/daemon/read-status.js';
import { describeStatus } from '../../src/daemon/status-lines.js';
import type { Desk } from '../../src/desk/desk.js';
import { tightest } from '../../src/desk/monitoring/metrics.js';
import { legacy } from '../../src/model/facts/fact.js';
import { timeFormatter } from '../../src/operator/format.js';
import { messageStates } from '../../src/outbound/outbox/message.js';
import { insertMessages, type NewMessage } from '../../src/outbound/outbox/new-messages.js';
import { pauseLane } from '../../src/store/lane-pauses.js';
import { describeHead } from '../../src/telling/describe-head.js';
import { everyAttempt } from '../support/every-attempt.js';
import { explained } from '../support/explained.js';
import { type Lab, onSqliteLabAnd } from '../support/jobs/job-lab.js';
import { ask, Browser, deskSettings, openDesk, tokens } from './desk-client.js';

const script = '<script>alert(1)</script><img src=x onerror=alert(1)>';

/** As a page writes a text. */
const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

onSqliteLabAnd('postgres', 'the pages of the desk', (kit) => {
  let lab: Lab;
  let desk: Desk;
  let browser: Browser;

  beforeEach(async () => {
    lab = await kit.start({ customers: 3, orders: 6, settings: await deskSettings(kit.folder) });
    desk = await openDesk(lab, ['secret-of-the-service']);
    browser = new Browser(desk.url);
    await browser.signIn('rita');
  });
  afterEach(() => desk.close());

  /** A parked message with these texts. */
  async function park(sourceKey: string, reason: string, more: Partial<NewMessage> = {}): Promise<void> {
    const message: NewMessage = {
      entity: 'order',
      sourceKey,
      revision: 1,
      operation: 'create',
      generation: 0,
      number: null,
      customerKey: null,
      contentHash: 'h',
      mappingFingerprint: 'm',
      record: JSON.stringify({ items: [{ sku: 'A', qty: 2, price: 9_007_199_254_740_991 }] }),
      idempotencyKey: null,
      parked: { parkClass: 'refused', reason: legacy(reason) },
      ...more,
    };
    await lab.context.store.transaction('park', (tx) => insertMessages(tx, [message], Date.now()));
  }

  it('say whether it flows, and end where a person is needed', async () => {
    const empty = (await browser.open()).body;
    expect(empty).to.contain('Nothing waits.').and.to.contain('No record waits for a person.');
    expect(empty).to.contain('sandbox').and.to.contain(lab.settings.installation);
    await lab.capture();
    await lab.deliver();
    await park('77', 'HTTP 422: sku unknown');
    const { body } = await browser.open();
    expect(body).to.match(/href="\/needs-a-person"/);
    expect(body).to.contain('✓').and.to.contain('1 parked (1 refused)');
  });

  it('show the figures of waybill status, in its words', async () => {
    await lab.capture();
    await lab.deliver();
    await lab.pull();
    for (const key of ['77', '78']) await park(key, 'HTTP 422: sku unknown');
    await park('79', 'a hold', { parked: { parkClass: 'held', reason: legacy('a hold') } });
    const { context, settings } = lab;
    const nowMs = context.nowMs();
    const status = await context.store.read('read the status', (tx) =>
      readStatus(tx, settings, lab.reader.identity(), nowMs),
    );
    const withoutAges = (text: string) => text.replace(/ \(\d+ \w+ ago\)/g, '');
    const body = withoutAges((await browser.open()).body);
    const rows = describeStatus(status, { settings, nowMs, time: timeFormatter(settings.erp.timeZone) });
    for (const [, ...texts] of rows)
      for (const text of texts) if (text) expect(body).to.contain(escaped(withoutAges(text)));
    const cells = [...body.matchAll(/<td class="number"><span class="number">(\d+)<\/span>/g)].map(([, n]) =>
      Number(n),
    );
    const counts = messageStates.flatMap((state) =>
      (['customer', 'order'] as const).map(
        (entity) => status.outbox.byState.find((one) => one.state === state && one.entity === entity)?.count ?? 0,
      ),
    );
    expect(cells).to.deep.equal(counts);
    expect(Math.max(...counts)).to.be.greaterThan(0);
  });

  it('find a record by its number, key and id at the service, and an invoice by its number', async () => {
    await lab.capture();
    await lab.deliver();
    await lab.pull();
    const [order] = await lab.context.store.read('one', (tx) =>
      tx.rows(
        "SELECT m.source_key, m.number, b.service_id FROM outbox_message m JOIN binding b ON b.source_key=m.source_key AND b.entity=m.entity WHERE m.entity='order' ORDER BY m.id LIMIT 1",
      ),
    );
    for (const text of [order.number, order.serviceId])
      expect((await browser.open(`?q=${text}`)).headers.location, text).to.equal(`/order/${order.sourceKey}`);
    const code = 'C-4711';
    await park('9', 'no name', { entity: 'customer', identity: JSON.stringify({ customer_code: code }), record: null });
    expect((await browser.open(`?q=${code}`)).headers.location, 'a customer that was never sent').to.equal(
      '/customer/9',
    );
    // The key of an order may be that of a customer too: then both are listed.
    const byKey = await browser.open(`?q=${order.sourceKey}`);
    expect(byKey.headers.location ?? byKey.body).to.contain(`/order/${order.sourceKey}`);
    const { body } = await browser.open('?q=nothing-has-this-name');
    expect(body).to.contain('Nothing is known by');
  });

  it('tell a record’s story with the facts and the words of explain', async () => {
    await lab.capture();
    await lab.deliver();
    await park('88', 'HTTP 422: the customer’s address is missing', { number: 'SO-88' });
    const time = timeFormatter(lab.settings.erp.timeZone);
    const name = { entity: 'order', sourceKey: '88', erpIdentity: lab.reader.identity() } as const;
    const explanation = await explained(lab.context, name, time);
    const { body, status } = await browser.open('order/88');
    expect(status).to.equal(200);
    const { words } = explanation;
    for (const text of [words.where, ...words.why, ...words.todo.map((one) => one.text)])
      expect(body).to.contain(escaped(text));
    for (const [, ...texts] of describeHead(explanation, words, lab.settings, time).rows)
      for (const text of texts) expect(body).to.contain(escaped(text));
    expect(words.todo.length).to.be.greaterThan(0);
  });

  it('say that a change waits for the end of the scan that found it, and offer no retry', async () => {
    await lab.capture();
    await lab.deliver();
    const [{ source_key: key }] = await kit.rows(
      "SELECT MIN(source_key) AS source_key FROM binding WHERE entity='order'",
    );
    await park(key, '', { operation: 'update', revision: 2, parked: null, waitsForScan: true });
    const { body: record } = await browser.open(`order/${key}`);
    expect(record).to.contain('It waits for the end of the scan that found it').and.to.contain('waybill sync capture');
    expect(record).not.to.match(/Invalid|Next try|outbox retry/);
    const { body: outbox } = await browser.open('outbox?state=pending');
    expect(outbox).to.contain('when its scan ends').and.not.to.contain('Invalid');
  });

  it('set the ERP’s values beside what the service acknowledged, and read the row when they are asked to', async () => {
    await lab.capture();
    await lab.deliver();
    const [{ sourceKey }] = await lab.context.store.read('one', (tx) =>
      tx.rows("SELECT source_key FROM binding WHERE entity='order' ORDER BY source_key LIMIT 1"),
    );
    const before = (await browser.open(`order/${sourceKey}`)).body;
    const shown = /<pre class="body">(.*?)<\/pre>/s.exec(before)?.[1] ?? '';
    const bytes = shown.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&amp;', '&');
    const got = lab.sandbox.ledger().requests.map(({ body_sha256: hash }) => hash);
    expect(got, 'the bytes that the service got').to.include(createHash('sha256').update(bytes).digest('hex'));
    expect(before).to.contain('Nothing differs.').and.to.contain('items.1.sku').and.to.contain('>yes: acknowledged as');
    await lab.changeErp('UPDATE sales_order_lines SET qty=qty+7 WHERE order_id=?', [sourceKey]);
    expect((await browser.open(`order/${sourceKey}`)).body, 'as captured').to.contain('Nothing differs.');
    const now = (await browser.open(`order/${sourceKey}?erp=now`)).body;
    expect(now)
      .to.match(/\d of them differs? ?/)
      .and.to.contain('≠ differs')
      .and.to.contain('items.1.qty');
    expect(now).to.contain('The ERP was read just now.');
    await lab.changeErp('DELETE FROM sales_order_lines WHERE order_id=?', [sourceKey]);
    await lab.changeErp('DELETE FROM sales_orders WHERE id=?', [sourceKey]);
    const gone = (await browser.open(`order/${sourceKey}?erp=now`)).body;
    expect(gone).to.contain('The ERP has no row with this key any more').and.to.contain('when it was captured last');
  });

  it('name the trace of each attempt, as explain and the log do', async () => {
    const traced = lab.another({ settings: { service: { traceparent: true } } });
    await lab.capture();
    await traced.deliver();
    const rows = await kit.rows("SELECT trace_id, source_key FROM outbox_message WHERE entity='order'");
    expect(new Set(rows.map((row) => row.trace_id)).size).to.equal(6);
    const { trace_id: traceId, source_key: key } = rows[0];
    expect((await browser.open(`order/${key}`)).body).to.contain(`; trace ${traceId}`);
    expect(traced.log.join('')).to.contain(`"traceId":"${traceId}"`);
  });

  it('have a permanent link for each key, whatever is in it, and say of an unknown one why it may be', async () => {
    const key = 'a/b?c#d%2f é';
    await park(key, 'x');
    expect((await browser.open(`order/${encodeURIComponent(key)}`)).status).to.equal(200);
    const unknown = await browser.open('order/4711');
    expect(unknown.status).to.equal(404);
    expect(unknown.body).to.contain('Possible reasons').and.to.contain('capture has not come to the end of the ERP');
  });

  it('run nothing that stands in a text from outside, and show what hides or turns it', async () => {
    const hostile = `${script}\u202e\u001b[2J secret-of-the-service ${'x'.repeat(300)}`;
    await park('"><script>', hostile, {
      number: `${script}\u202e`,
      record: JSON.stringify({ note: hostile, [script]: 1 }),
    });
    await park('javascript:alert(1)', script, { entity: 'customer' });
    const pages = [
      '',
      'needs-a-person',
      `order/${encodeURIComponent('"><script>')}`,
      `?q=${encodeURIComponent(script)}`,
    ];
    for (const path of pages) {
      const { body } = await browser.open(path);
      const own = /<script src="\/(desk|uplot|charts)\.js" defer><\/script>/g;
      expect(body.replaceAll(own, ''), path).not.to.match(/<script|<img/i);
      expect(body, path).not.to.contain('secret-of-the-service');
      // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be there
      expect(body, path).not.to.match(/[\u0000-\u0009\u000b-\u001f\u202a-\u202e\u2066-\u2069]/);
    }
    expect((await browser.open('needs-a-person')).body).to.contain('[secret]');
    expect((await browser.open(pages[2] as string)).body).to.contain('\\u202e');
  });

  it('group what waits for a person by its cause, with exact sums', async () => {
    for (const key of ['1001', '1002', '1003']) await park(key, `HTTP 422: order ${key} names an unknown sku`);
    await park('c1', 'no name', {
      entity: 'customer',
      parked: { parkClass: 'unmapped', reason: legacy('no name') },
      record: null,
    });
    const { body } = await browser.open('needs-a-person');
    expect(body).to.contain('HTTP #: order # names an unknown sku');
    // 3 × 2 × 90 071 992 547 409.91: more than a number of JavaScript holds.
    expect(body).to.contain('540 431 955 284 459.46 EUR');
    expect(body).to.contain('/order/1001').and.to.contain('/customer/c1').and.to.contain('no orders');
  });

  it('carry each pause at their head, with what ends it', async () => {
    const reason = 'migration <b>';
    const pause = {
      lane: 'deliver',
      cause: 'operator',
      until_at: null,
      reason: legacy(reason),
      actor: 'anna',
      since_at: Date.now(),
    } as const;
    await lab.context.store.transaction('pause', (tx) => pauseLane(tx, pause));
    for (const key of ['1', '2']) await park(key, 'x', { parked: undefined });
    for (const path of ['', 'needs-a-person', 'order/1', '?q=1x']) {
      const { body } = await browser.open(path);
      expect(body, path).to.contain('Delivery is paused (operator)').and.to.contain('migration &lt;b>');
      expect(body, path).to.contain('waybill resume deliver --reason');
      expect(body, path).to.contain('2 messages wait behind it, and go out when it ends, within the limit.');
    }
  });

  it('keep the theme that a person chose', async () => {
    const csrf = /name="csrf" value="([\w-]+)"/.exec((await browser.open()).body)?.[1] ?? '';
    const answer = await browser.post('theme', { csrf, theme: 'dark', back: '/needs-a-person' });
    expect(answer.headers.location).to.equal('/needs-a-person');
    expect((await browser.open()).body).to.contain('data-theme="dark"');
  });

  it('tell monitors that the process lives, whether it is ready and why not, and its figures', async () => {
    expect((await ask(`${desk.url}healthz`)).body).to.equal('ok\n');
    const unready = await ask(`${desk.url}readyz`);
    expect([unready.status, unready.body]).to.deep.equal([503, 'not ready: no deliverer\n']);
    await lab.capture();
    const read = async () =>
      (await ask(`${desk.url}metrics`, { headers: { authorization: `Bearer ${tokens.read}` } })).body;
    expect(await read()).to.match(/^waybill_backlog_messages\{state="pending",entity="order"\} [1-9]/m);
    await lab.deliver();
    const figures = await read();
    const value = (name: string) => Number(new RegExp(`^${name} ([\\d.e+-]+)$`, 'm').exec(figures)?.[1]);
    expect(value('waybill_backlog_messages\\{state="pending",entity="order"\\}')).to.equal(0);
    const [sent] = await lab.context.store.read('count', (tx) =>
      tx.rows(`SELECT COUNT(*) AS n FROM ${everyAttempt} WHERE verdict='delivered'`),
    );
    const counted = [...figures.matchAll(/^waybill_attempts_total\{verdict="delivered",purpose="\w+"\} (\d+)$/gm)];
    expect(counted.reduce((sum, [, n]) => sum + Number(n), 0)).to.equal(sent.n);
    expect(figures).to.match(/^waybill_request_duration_seconds_count\{purpose="\w+"\} [1-9]/m);
    expect(value('process_resident_memory_bytes')).to.be.greaterThan(10_000_000);
    expect(value('waybill_requests_last_minute')).to.be.greaterThan(0);
    const again = await read();
    expect([...again.matchAll(/^waybill_attempts_total.*$/gm)].map(String), 'each is counted once').to.deep.equal(
      [...figures.matchAll(/^waybill_attempts_total.*$/gm)].map(String),
    );
  });
});

describe('the tightest limit', () => {
  it('is the one that allows the fewest requests over its whole window', () => {
    expect(tightest([])).to.equal(null);
    expect(
      tightest([
        { requests: 10, perSeconds: 1 },
        { requests: 8_640, perSeconds: 86_400 },
      ]),
    ).to.equal(6);
  });
});

describe('the line that says how it is', () => {
  it('gives no count for the whole where counting has stopped', () => {
    const outbox = { byState: [], parked: [{ parkClass: 'refused', count: 10_000 }], stranded: null };
    const status = { outbox, lease: { holder: 'daemon' }, nodes: [], pauses: [], alerts: [] } as unknown as Status;
    expect(checkStatus(status).text).to.equal('10000 parked (10000 refused)');
    expect(checkStatus(status, 10_000).text).to.equal('10000+ parked');
  });
});
