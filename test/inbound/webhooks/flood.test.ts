import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { readAnnounced } from '../../../src/inbound/webhooks/read-announced.js';
import { webhookHandler } from '../../../src/inbound/webhooks/receive-webhooks.js';
import type { WebhookRequest } from '../../../src/inbound/webhooks/verify.js';
import { seededRandom } from '../../../src/lab/seeded-random.js';
import { KnownSecrets } from '../../../src/model/secret.js';
import { useStore } from '../../store/stores.js';
import { useLab, withServiceLease } from '../../support/jobs/job-lab.js';
import { otherSecret, paidEvent, standardRequest, standardSecret } from './sign.js';

/** WAYBILL_WEBHOOKS=200000 for the long form. */
const requests = Number(process.env.WAYBILL_WEBHOOKS ?? 5_000);
const validShare = 0.005;

describe('a flood of webhooks', () => {
  const kit = useLab(useStore('sqlite'));

  it(`of ${requests}, of which under 1 % are valid: one effect for each valid id, none for the rest`, async function () {
    this.timeout(60_000 + requests * 5);
    const secretFile = join(kit.folder, 'webhook-secret');
    writeFileSync(secretFile, standardSecret, { mode: 0o600 });
    const lab = await kit.start({
      settings: {
        webhooks: { enabled: true, secretFiles: [secretFile], maxBodyBytes: 4_096 },
        service: { endpoints: { readInvoice: { path: '/v2/invoices/{invoice_no}' } } },
      },
    });
    const random = seededRandom(7);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
    const handler = webhookHandler(lab.context, { knownSecrets: new KnownSecrets(), onEvent: () => undefined });
    const statuses = new Map<number, number>();
    const valid: WebhookRequest[] = [];
    let repeated = 0;

    const forgeries: ((invoice: string, i: number) => WebhookRequest)[] = [
      (invoice, i) => standardRequest(paidEvent(invoice), { id: `f${i}`, secret: otherSecret }),
      (invoice, i) => standardRequest(paidEvent(invoice), { id: `s${i}`, atMs: Date.now() - 400_000 }),
      (invoice, i) => standardRequest(paidEvent(invoice), { id: `e${i}`, headers: { 'content-encoding': 'gzip' } }),
      (invoice, i) => standardRequest(paidEvent(invoice), { id: `t${i}`, headers: { 'content-type': 'text/html' } }),
      (invoice, i) => standardRequest(paidEvent(`${invoice}${' '.repeat(5_000)}`), { id: `l${i}` }),
      (invoice, i) => ({ ...standardRequest(paidEvent(invoice), { id: `p${i}` }), url: '/admin' }),
      (invoice, i) => ({ ...standardRequest(paidEvent(invoice), { id: `m${i}` }), method: 'PUT' }),
      (_invoice, i) => standardRequest('{"type":', { id: `j${i}` }),
      // A body, an id or a time of another event under a signature that was good.
      (invoice) => ({ ...(pick(valid) ?? standardRequest('{}')), body: Buffer.from(paidEvent(`${invoice}X`)) }),
      (invoice, i) => {
        const good = pick(valid) ?? standardRequest(paidEvent(invoice));
        return { ...good, headers: { ...good.headers, 'webhook-id': `h${i}` } };
      },
    ];
    const invoices: string[] = [];
    for (let i = 0; i < requests; i++) {
      const invoice = `INV-${i}`;
      const dice = random();
      let request: WebhookRequest;
      if (dice < validShare) {
        request = standardRequest(paidEvent(invoice), { id: `evt_${i}` });
        valid.push(request);
        invoices.push(invoice);
        lab.sandbox.addInvoices([{ invoice_no: invoice, amount: 100 }]);
      } else if (dice < 0.3 && valid.length > 0) {
        request = pick(valid);
        repeated++;
      } else request = pick(forgeries)(invoice, i);
      const status = await handler.handle(request);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (i % 1_000 === 0) await turn();
    }
    expect(valid.length).to.be.within(1, requests / 100);

    const counts = handler.takeCounts();
    expect(counts.get('stored')).to.equal(valid.length);
    expect(counts.get('repeated')).to.equal(repeated);
    expect(statuses.get(204)).to.equal(valid.length + repeated);
    expect([...statuses.keys()].sort()).to.deep.equal([204, 400, 401, 404, 405, 413, 415]);
    expect(await kit.rows('SELECT event_id FROM webhook_event')).to.have.length(valid.length);
    expect(lab.sandbox.ledger().requests).to.deep.equal([]);

    await withServiceLease(lab.context, async (lease) => {
      while ((await readAnnounced(lab.context, lab.client, lease)).read > 0);
    });
    const asked = lab.sandbox.ledger().requests.map(({ path }) => path.split('/').at(-1));
    expect(asked.toSorted()).to.deep.equal(invoices.toSorted());
    expect(await kit.rows("SELECT event_id FROM webhook_event WHERE state<>'done'")).to.deep.equal([]);
    const known = await kit.rows('SELECT invoice_no FROM invoice');
    expect(known.map(({ invoice_no }) => invoice_no).toSorted()).to.deep.equal(invoices.toSorted());
  });

  it('that are signed keeps of each event what it is about, and of other types nothing but their number', async () => {
    const secretFile = join(kit.folder, 'webhook-secret');
    writeFileSync(secretFile, standardSecret, { mode: 0o600 });
    const lab = await kit.start({ settings: { webhooks: { enabled: true, secretFiles: [secretFile] } } });
    const handler = webhookHandler(lab.context, { knownSecrets: new KnownSecrets(), onEvent: () => undefined });
    const storedBytes = async () => {
      const [{ bytes }] = await kit.rows(
        'SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()',
      );
      return Number(bytes);
    };
    const before = await storedBytes();
    const padding = 'Ada Lovelace '.repeat(4_000);
    for (let i = 0; i < 100; i++) {
      const other = JSON.stringify({ type: `made.up.${i}`, data: { padding } });
      expect(await handler.handle(standardRequest(other, { id: `o${i}` }))).to.equal(204);
      const paid = JSON.stringify({ type: 'payment.succeeded', data: { invoice_no: `I-${i}`, padding } });
      expect(await handler.handle(standardRequest(paid, { id: `p${i}` }))).to.equal(204);
    }
    expect([...handler.takeCounts()]).to.have.deep.members([
      ['unread', 100],
      ['stored', 100],
    ]);
    const events = await kit.rows('SELECT * FROM webhook_event');
    expect(events).to.have.length(100);
    expect(JSON.stringify(events)).to.not.contain('Lovelace');
    // Ten megabytes came.
    expect((await storedBytes()) - before).to.be.below(200_000);
    // A person finds a type that the settings misspell, and a sender can not fill the log.
    const told = lab.log.filter((line) => line.includes('made.up.'));
    expect(told).to.have.length(20);
    expect(told[0]).to.contain('webhooks.events');
  });
});
