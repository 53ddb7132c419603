import { expect } from 'chai';
import { webhookSettings } from '../../../src/config/sections/webhooks.js';
import { AnnouncedTurns, announcedReads } from '../../../src/inbound/webhooks/read-announced.js';
import { ForgeryWatch } from '../../../src/inbound/webhooks/receive-webhooks.js';
import { RecentIds, readWebhookEvent } from '../../../src/inbound/webhooks/webhook-handler.js';
import type { StoredEvent } from '../../../src/inbound/webhooks/webhook-rows.js';
import { webhooksSeemStopped } from '../../../src/inbound/webhooks/webhook-status.js';

describe('whether webhooks seem to have stopped', () => {
  const pulls = (...found: number[]) => found.map((unlisted, i) => ({ startedAt: 1_000 + i * 100, unlisted }));

  it('is said when three pulls found what no event announced', () => {
    const stopped = { code: 'webhooks_stopped', pulls: 3, invoices: 8 };
    expect(webhooksSeemStopped(pulls(1, 0, 2, 5), 900, 500)).to.deep.equal(stopped);
    expect(webhooksSeemStopped(pulls(1, 2, 5), null, 500)).to.deep.equal(stopped);
  });

  it('is not said of two, of pulls that found nothing, or of pulls before the last event', () => {
    expect(webhooksSeemStopped(pulls(1, 2), null, 500)).to.equal(null);
    expect(webhooksSeemStopped(pulls(1, 0, 0, 0, 2), null, 500)).to.equal(null);
    expect(webhooksSeemStopped(pulls(1, 1, 1, 1), 1_150, 500)).to.equal(null);
  });

  it('is not said of a time in which nobody listened', () => {
    expect(webhooksSeemStopped(pulls(1, 1, 1, 1), null, null)).to.equal(null);
    expect(webhooksSeemStopped(pulls(1, 1, 1, 1), null, 1_150)).to.equal(null);
  });
});

describe('a flood of forged webhooks', () => {
  it('is one alert, which is over after an hour of peace', () => {
    const watch = new ForgeryWatch();
    expect(watch.see(19, 0)).to.equal(null);
    expect(watch.see(1, 10_000)).to.equal('begun');
    for (let at = 20_000; at < 600_000; at += 10_000) expect(watch.see(5_000, at)).to.equal(null);
    expect(watch.see(0, 4_100_000)).to.equal(null);
    expect(watch.see(0, 4_200_000)).to.equal('over');
    expect(watch.see(0, 9_000_000)).to.equal(null);
    expect(watch.see(20, 9_000_001)).to.equal('begun');
  });

  it('is none when few come, spread over time', () => {
    const watch = new ForgeryWatch();
    for (let at = 0; at < 3_600_000; at += 70_000) expect(watch.see(10, at)).to.equal(null);
  });

  it('that an earlier process told is over as well', () => {
    const watch = new ForgeryWatch();
    expect(watch.see(0, 1_000)).to.equal(null);
    expect(watch.see(0, 3_601_000)).to.equal('over');
  });
});

describe('the turns to read what was announced', () => {
  it('come at the start, at an event, and again when something had to wait', () => {
    const turns = new AnnouncedTurns();
    expect([turns.take(0), turns.take(0)]).to.deep.equal([true, false]);
    turns.announce();
    expect(turns.take(1)).to.equal(true);
    turns.waitFor(1_000);
    expect([turns.take(5_999), turns.take(6_000), turns.take(6_000)]).to.deep.equal([false, true, false]);
  });

  it('bring one pull in half a minute, and then the next one', () => {
    const turns = new AnnouncedTurns();
    turns.take(0);
    expect([turns.takePull(0), turns.takePull(10_000)]).to.deep.equal([true, false]);
    expect([turns.take(29_999), turns.take(30_000)]).to.deep.equal([false, true]);
    expect(turns.takePull(30_000)).to.equal(true);
  });
});

describe('what events ask to be read', () => {
  const event = (id: string, about: 'invoice' | 'order', subject: string | null) =>
    ({ id, about, subject, type: 't', state: 'pending' }) as StoredEvent;
  const all = { invoices: true, ownRead: true, orders: true };

  it('is each record once', () => {
    const reads = announcedReads(
      [event('a', 'invoice', '1'), event('b', 'invoice', '1'), event('c', 'order', '1'), event('d', 'invoice', '2')],
      all,
    );
    expect([...reads.invoices].map(([no, events]) => [no, events.map(({ id }) => id)])).to.deep.equal([
      ['1', ['a', 'b']],
      ['2', ['d']],
    ]);
    expect([...reads.orders.keys()]).to.deep.equal(['1']);
    expect(reads.needPull).to.deep.equal([]);
  });

  it('is the whole list where an invoice can not be read alone, is not named, or its number is no part of an address', () => {
    expect(announcedReads([event('a', 'invoice', '1')], { ...all, ownRead: false }).needPull).to.deep.equal(['a']);
    expect(announcedReads([event('a', 'invoice', null), event('b', 'invoice', '..')], all).needPull).to.deep.equal([
      'a',
      'b',
    ]);
  });

  it('is nothing where invoices or orders are not read, or no order is named', () => {
    const ended = (events: StoredEvent[], can: object) => [
      ...announcedReads(events, { ...all, ...can }).endAtOnce.keys(),
    ];
    expect(ended([event('a', 'invoice', '1')], { invoices: false })[0]).to.include('invoices_not_read');
    expect(ended([event('a', 'order', '1')], { orders: false })[0]).to.include('orders_not_read');
    expect(ended([event('a', 'order', null), event('b', 'order', '.')], {})[0]).to.include('event_names_no_order');
  });
});

describe('the body of an event', () => {
  const read = (text: string | Buffer, more: object = {}, id: string | null = 'evt_1') =>
    readWebhookEvent(
      Buffer.from(text),
      id,
      () => ({ id: 'by-content', isNameless: true }),
      webhookSettings.parse(more),
    );

  it('says its type and what it is about', () => {
    expect(read('{"type":"payment.succeeded","data":{"invoice_no":"I1"}}')).to.deep.equal({
      id: 'evt_1',
      type: 'payment.succeeded',
      about: 'invoice',
      subject: 'I1',
    });
    expect(read('{"type":"order.status_changed","data":{"order_id":17}}')).to.include({
      about: 'order',
      subject: '17',
    });
    expect(read('{"type":"stock.arrived","data":{"invoice_no":"I1"}}')).to.deep.equal({ unread: 'stock.arrived' });
  });

  it('is read where the settings say', () => {
    const more = {
      events: { paymentSucceeded: ['PAID', 'SETTLED'], orderStatusChanged: ['MOVED'] },
      fields: { id: 'meta.id', type: 'meta.kind', invoiceNo: 'inv', orderId: 'ord' },
    };
    expect(read('{"meta":{"kind":"SETTLED","id":"x9"},"inv":"I2"}', more, null)).to.deep.equal({
      id: 'x9',
      type: 'SETTLED',
      about: 'invoice',
      subject: 'I2',
    });
    expect(read('{"meta":{"kind":"MOVED"},"ord":"O2"}', more, null)).to.include({ id: 'by-content', subject: 'O2' });
  });

  it('is none when it is no JSON, no UTF-8, or has no type', () => {
    for (const text of ['', 'x', 'null', '[]', '{}', '{"type":7.5}', '{"type":""}', `{"type":"${'x'.repeat(256)}"}`])
      expect(read(text), text).to.equal(null);
    expect(read(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]))).to.equal(null);
    expect(read('{"constructor":{}}', { fields: { type: 'constructor.name' } })).to.equal(null);
  });
});

describe('the ids that are remembered', () => {
  it('are the last ones, and never more', () => {
    const ids = new RecentIds(3);
    for (const id of ['a', 'b', 'c', 'd']) ids.add(id);
    expect(['a', 'b', 'c', 'd'].map((id) => ids.has(id))).to.deep.equal([false, true, true, true]);
  });
});
