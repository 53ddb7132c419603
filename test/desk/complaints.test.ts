import { expect } from 'chai';
import type { Desk } from '../../src/desk/desk.js';
import { onAnyStore } from '../store/stores.js';
import { forged } from '../support/forged.js';
import { type Lab, useLab } from '../support/jobs/job-lab.js';
import { Browser, deskSettings, openDesk } from './desk-client.js';
import { park } from './parked-message.js';

/** Complaints by users of other programs. Bulk actions, readers who act and paths behind a proxy have tests beside these. */
onAnyStore('the desk, unlike others,', (kit) => {
  if (kit.dialect !== 'sqlite') return;
  const labs = useLab(kit);
  let lab: Lab;
  let desk: Desk;
  let anna: Browser;

  beforeEach(async () => {
    lab = await labs.start({ customers: 2, orders: 4, settings: await deskSettings(kit.folder) });
    desk = await openDesk(lab, ['secret-of-the-service']);
    anna = new Browser(desk.url);
    await anna.signIn('anna');
  });
  afterEach(() => desk.close());

  const change = (sql: string) => lab.context.store.transaction('change rows', (tx) => tx.run(sql));

  it('shows no tick for what has not succeeded yet (airbyte#3723)', async () => {
    await lab.capture();
    const tick = /✓<\/span> <strong>Fine|data-state="delivered"[^>]*><span aria-hidden="true">✓/;
    // The overview while a daemon delivers; its table names each state.
    const overview = async () => {
      await change(
        `INSERT INTO lease (name, epoch, holder, expires_at) VALUES ('service', 9, 'd', ${Date.now() + 60_000})`,
      );
      const { body } = await anna.open();
      await change("DELETE FROM lease WHERE name='service'");
      return body.replace(/<section><h2>Outbox.*?<\/section>/s, '');
    };
    expect(await overview())
      .to.contain('Nothing delivered yet')
      .and.not.to.match(tick);
    const { body } = await anna.open('outbox');
    expect(body).to.contain('○').and.not.to.match(tick);
    await lab.deliver();
    expect((await anna.open('outbox')).body).to.match(tick);
    await change("DELETE FROM lease WHERE name='service'");
    expect(await overview()).to.match(tick);
  });

  it('says of each record on its page what its list says (temporal ui#2826)', async () => {
    await lab.capture();
    await lab.deliver();
    await park(lab, '77', 'HTTP 422: unknown sku');
    await change(`UPDATE outbox_message SET ${forged.in_doubt} WHERE id=(SELECT MIN(id) FROM outbox_message)`);
    const { body } = await anna.open('outbox');
    const rows = [...body.matchAll(/<tr><td><a href="\/([^"]+)">.*?data-state="(\w+)"/gs)];
    expect(rows.length).to.be.greaterThan(4);
    for (const [, path = '', state] of rows)
      expect(/data-state="(\w+)"/.exec((await anna.open(path)).body)?.[1], path).to.equal(state);
  });

  it('rounds no number, however long (riverui#593)', async () => {
    const long = '90071992547409931';
    await park(lab, long, 'x', {
      record: JSON.stringify({ items: [{ sku: 'A', qty: 3, price: 9_007_199_254_740_991 }] }),
    });
    await change(`UPDATE outbox_message SET ${forged.delivered}, service_id='${long}7'`);
    expect((await anna.open(`?q=${long}`)).headers.location).to.equal(`/order/${long}`);
    for (const path of [`order/${long}`, 'outbox']) expect((await anna.open(path)).body, path).to.contain(long);
    expect((await anna.open(`order/${long}`)).body).to.contain(`${long}7`);
    expect((await anna.open('outbox.csv')).body)
      .to.contain(`${long},`)
      .and.to.contain(`${long}7`);
  });

  it('never sends what it shows: a text that was made harmless names no record (bull-board#1031)', async () => {
    await park(lab, 'k\u202e1', 'says secret-of-the-service \u202e');
    await park(lab, 'k\\u202e1', 'says [secret] \\u202e');
    const { body } = await anna.open(`order/${encodeURIComponent('k\u202e1')}`);
    const encoded = /name="record" value="([^"]+)"/.exec(body)?.[1] ?? '';
    expect(decodeURIComponent(encoded)).to.equal('k\u202e1');
    const query = new URLSearchParams({ action: 'discard', entity: 'order', record: encoded });
    const { headers } = await anna.open(`act?${query}`);
    const path = (headers.location ?? '').slice(1);
    const csrf = /name="csrf" value="([\w-]+)"/.exec((await anna.open(path)).body)?.[1] ?? '';
    await anna.post(path, { csrf, reason: 'a test' });
    expect(await kit.rows('SELECT source_key, state FROM outbox_message ORDER BY id')).to.deep.equal([
      { source_key: 'k\u202e1', state: 'discarded' },
      { source_key: 'k\\u202e1', state: 'parked' },
    ]);
  });
});
