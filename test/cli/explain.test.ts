import { expect } from 'chai';
import { appendAudit } from '../../src/audit/audit-log.js';
import { legacy } from '../../src/model/facts/fact.js';
import { createKey } from '../../src/outbound/outbox/idempotency-key.js';
import { factRow } from '../../src/store/fact-columns.js';
import { pauseLane } from '../../src/store/lane-pauses.js';
import { insertRows } from '../../src/store/rows.js';
import { forged } from '../support/forged.js';
import { answers, onAnyStore, tokenCanary } from './installation.js';

describe('waybill explain', () => {
  onAnyStore((installation) => {
    const explain = async (...argv: string[]) => {
      const printed = await installation.waybill('explain', ...argv);
      return { ...printed, lines: printed.stdout.split('\n') };
    };

    it('tells an order’s story from capture to acknowledgement', async () => {
      await installation.capture(
        { entity: 'customer', sourceKey: '1' },
        { entity: 'order', sourceKey: '4711', number: 'SO-2026-7', customerKey: '1' },
      );
      await installation.deliver((request) => answers.created(request.entity === 'order' ? 'ord_93' : 'K1'));

      const { code, stdout, stderr } = await explain('order', '4711');
      expect(stderr).to.equal('');
      expect(code).to.equal(0);
      expect(stdout).to.match(/^Order SO-2026-7 \(key 4711 in the ERP\)\n/);
      expect(stdout).to.match(
        /Where: +At the service, acknowledged as ord_93 on \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0[12]:00\./,
      );
      expect(stdout).to.contain('Binding:  ord_93 at the service, revision 1, acknowledged');
      const story = stdout.slice(stdout.indexOf('What happened'));
      const key = createKey('test-office', 'order', '4711', 0);
      const told = [
        `captured: create, revision 1, changed in the ERP at 2026-11-03 09:15:00 +01:00, key ${key}, body sha256 `,
        "attempt 1: HTTP 201 in 34 ms: acknowledged; the service's request id: req_1",
        'delivered as ord_93; the service says "confirmed"; by ',
      ].map((text) => story.indexOf(text));
      expect(told).to.not.include(-1);
      expect(told).to.deep.equal(told.toSorted((a, b) => a - b));
      expect(stdout).not.to.contain('What you can do');
    });

    it('says that a change waits for the end of the scan that found it, and advises no retry', async () => {
      const customer = { entity: 'customer', sourceKey: '1' } as const;
      await installation.capture(customer);
      await installation.deliver(() => answers.created('K1'));
      await installation.capture(
        { ...customer, operation: 'update', revision: 2, record: { customer_code: '1' }, waitsForScan: true },
        { entity: 'order', sourceKey: '4711', customerKey: '1' },
      );
      const { stdout } = await explain('customer', '1');
      expect(stdout)
        .to.match(/Where: +Waiting to be sent \(a change to K1\)\./)
        .and.to.contain('It waits for the end of the scan that found it')
        .and.to.contain('waybill sync capture')
        .and.not.to.match(/Invalid|retry/);
      const listed = await installation.waybill('outbox');
      expect(listed.stdout).to.contain('when its scan ends').and.not.to.contain('Invalid');
      const { messages } = await installation.json('outbox', '--entity', 'customer', '--state', 'pending');
      expect(messages[0]).to.include({ nextAttemptAt: null, waitsFor: 'scan' });
      const retried = await installation.waybill('outbox', 'retry', '--key', '1', '--reason', 'x', '--yes');
      expect(retried.code).to.not.equal(0);
      expect(retried.stdout).to.contain('the scan that found it has not ended');
    });

    it('says that a record was removed, or withdrawn before it was sent', async () => {
      const change = (sql: string) => installation.app.store.transaction('arrange a test', (tx) => tx.run(sql));
      await installation.capture({ entity: 'order', sourceKey: '4711' });
      await change(
        `UPDATE outbox_message SET ${forged.superseded}, reason_code='legacy', reason_data='{"text":{"outside":"Cancelled before it was sent."}}'`,
      );
      const withdrawn = await explain('order', '4711');
      expect(withdrawn.stdout)
        .to.match(/Where: +Not sent, and not to be sent\./)
        .and.to.contain('Why:      Cancelled before it was sent.')
        .and.to.match(/^Is it there: \w/m);
      await change(`UPDATE outbox_message SET operation='delete', ${forged.delivered}, service_id='ord_93'`);
      const removed = await explain('order', '4711');
      expect(removed.stdout)
        .to.match(/Where: +Removed from the service, where it was ord_93\./)
        .and.to.contain('Binding:  none any more');
    });

    it('finds an order by the number that people know, and by the service’s id', async () => {
      await installation.capture({ entity: 'order', sourceKey: '4711', number: 'SO-2026-7' });
      await installation.deliver(() => answers.created('ord_93'));
      for (const key of ['4711', 'SO-2026-7', 'ord_93'])
        expect((await explain('order', key)).stdout).to.match(/^Order SO-2026-7 \(key 4711 in the ERP\)/);
      expect((await explain('order', 'so-2026-7')).code).to.equal(1);
    });

    it('lists several matches and lets one say which', async () => {
      await installation.capture(
        { entity: 'order', sourceKey: '7', number: '8' },
        { entity: 'order', sourceKey: '8', number: '9' },
      );
      const both = await explain('order', '8');
      expect(both.code).to.equal(2);
      expect(both.stdout)
        .to.contain('8 is ambiguous: it names 2 records')
        .and.to.match(/│ order +│ 7 +│ 8 +│/);
      expect((await explain('order', '8', '--by', 'key')).stdout).to.match(/^Order 9 \(key 8 /);
      expect((await explain('order', '8', '--by', 'number')).stdout).to.match(/^Order 8 \(key 7 /);
    });

    it('says what was looked up, and why a record may be unknown', async () => {
      const { code, stdout } = await explain('order', '4711');
      expect(code).to.equal(1);
      expect(stdout).to.contain(
        "Waybill knows nothing of order 4711. Looked up as: the ERP's key of an order, an order number",
      );
      expect(stdout).to.contain('It is older than orders.startFrom (created_at from 2026-01-01)');
      expect(stdout).to.contain('Its created_at is empty, so that orders.startFrom leaves it out');
      expect(stdout).to.contain('capture has not run on this store');
      expect(await installation.json('explain', 'order', '4711')).to.include({
        found: 0,
        entity: 'order',
        key: '4711',
      });
    });

    it('does not say that capture has not run where it has read some orders', async () => {
      await installation.capture({ entity: 'order', sourceKey: '1' });
      expect((await explain('order', '4711')).stdout).to.contain('capture has not come to the end of the ERP');
    });

    it('writes a key as one word of the shell in the commands that it names', async () => {
      const key = "7'; reboot $(id)";
      const word = `'7'\\''; reboot $(id)'`;
      expect((await explain('order', key)).stdout).to.contain(`waybill preview --key ${word}\n`);
      await installation.capture({ entity: 'order', sourceKey: key, unmapped: 'no lines' });
      const line = { event: 'parked' as const, actor: 'test', entity: 'order' as const, sourceKey: key };
      await installation.app.store.transaction('arrange a test', (tx) =>
        appendAudit(
          tx,
          Array.from({ length: 501 }, () => line),
          Date.now(),
        ),
      );
      const { stdout } = await explain('order', key);
      expect(stdout).to.contain(`waybill audit --entity order --key ${word} --csv`);
      expect(stdout).to.contain(`waybill outbox discard --entity order --key ${word} `);
    });

    it('says that an order waits for its customer, and why that one is parked', async () => {
      await installation.capture(
        { entity: 'customer', sourceKey: '1', unmapped: 'customers.name is empty' },
        { entity: 'order', sourceKey: '4711', customerKey: '1' },
      );
      const { stdout } = await explain('order', '4711');
      expect(stdout).to.contain('Where:    Waiting to be sent.');
      expect(stdout).to.contain('It waits for its customer 1, which is parked (unmapped');
      expect(stdout).to.contain('customers.name is empty');
      expect(stdout).to.contain('waybill explain customer 1');
      expect(stdout).to.contain('Binding:  none');
    });

    it('says which pause an order waits for, and how it ends', async () => {
      await installation.capture({ entity: 'order', sourceKey: '4711' });
      await installation.waybill('pause', 'deliver', '--reason', 'stocktaking');
      const { stdout } = await explain('order', '4711');
      expect(stdout).to.match(/Delivery is paused \(operator\) since .*, until somebody resumes it: stocktaking/);
      expect(stdout).to.contain('waybill resume deliver');
    });

    it('says when the next try of a message in doubt is, and what the last one said', async () => {
      await installation.capture({ entity: 'order', sourceKey: '4711' });
      await installation.deliver(() => answers.timeout());
      const { stdout } = await explain('order', '4711');
      expect(stdout).to.contain('Where:    May have reached the service: attempt 1 ended without proof.');
      expect(stdout).to.match(/Next try at .*; the last one said: no complete answer within the deadline/);
      expect(stdout).to.contain('attempt 1: in 10000 ms: no proof either way, it may have taken effect');
      expect(stdout).to.contain('waybill outbox retry --entity order --key 4711 --reason');
    });

    it('promises no resend under a key whose age is not known, because the clock ran ahead', async () => {
      const change = (sql: string, ...values: number[]) =>
        installation.app.store.transaction('arrange a test', (tx) => tx.run(sql, values));
      await installation.capture({ entity: 'order', sourceKey: '4711' });
      await installation.deliver(() => answers.timeout());
      await change('UPDATE outbox_message SET was_sent=1, first_sent_at=?', Date.now() + 72 * 3_600_000);
      const inDoubt = (await explain('order', '4711')).stdout;
      expect(inDoubt).to.contain('not sent again').and.not.to.contain('The same key and bytes are sent again');
      expect(inDoubt).not.to.contain('outbox retry');

      await change(`UPDATE outbox_message SET ${forged.parked}, park_class='unproven'`);
      const parked = (await explain('order', '4711')).stdout;
      expect(parked).to.contain('outbox resolve').and.not.to.contain('the service remembers its key');
      expect(parked).not.to.contain('outbox retry');
      // The same, sent a moment ago by a clock that is right.
      await change('UPDATE outbox_message SET was_sent=1, first_sent_at=?', Date.now() - 1000);
      expect((await explain('order', '4711')).stdout)
        .to.contain('the service remembers its key')
        .and.contain('outbox retry');
    });

    it('says why a message is parked, and gives the commands for each way out', async () => {
      await installation.capture(
        { entity: 'order', sourceKey: '10', number: 'SO-10' },
        { entity: 'order', sourceKey: '11' },
      );
      await installation.deliver((request) =>
        request.body.includes('SO-10') ? answers.keyReused() : answers.refused('unknown sku'),
      );
      const conflict = (await explain('order', '10')).stdout;
      expect(conflict)
        .to.contain('Parked: it waits for a person (conflict')
        .and.to.contain('HTTP 422: idempotency key reused');
      expect(conflict)
        .to.contain('--key 10 --reason "…" --delivered --service-id ID')
        .and.to.contain('--not-delivered');
      expect(conflict).not.to.contain('outbox retry');
      const refused = (await explain('order', '11')).stdout;
      expect(refused).to.contain('attempt 1: HTTP 400 in 34 ms: refused, this try took no effect');
      expect(refused)
        .to.contain('outbox retry --entity order --key 11')
        .and.to.contain('outbox discard --entity order --key 11');
      expect(refused).not.to.contain('outbox resolve');
    });

    it('offers no resolve for a record whose key was another record’s before', async () => {
      await installation.capture({ entity: 'order', sourceKey: '10' });
      await installation.deliver(() => answers.created('ord_93'));
      await installation.capture({ entity: 'order', sourceKey: '10', operation: 'update', revision: 2 });
      await installation.app.store.transaction('arrange a test', (tx) =>
        tx.run(
          `UPDATE outbox_message SET ${forged.parked}, park_class='conflict', reason_code='legacy', reason_data='{"text":{"outside":"another record"}}' WHERE revision=2`,
        ),
      );
      const { stdout } = await explain('order', '10');
      expect(stdout)
        .to.contain('may overwrite ord_93 at the service')
        .and.to.contain('waybill confirm orders --key 10 --reason "…"')
        .and.to.contain('outbox discard --entity order --key 10');
      expect(stdout).not.to.contain('outbox resolve');
    });

    it('says that a change waits for a record that was never acknowledged', async () => {
      await installation.capture({ entity: 'order', sourceKey: '4711' });
      await installation.deliver(() => answers.keyReused());
      await installation.capture({
        entity: 'order',
        sourceKey: '4711',
        operation: 'update',
        revision: 2,
        record: { note: 'b' },
      });
      const { stdout } = await explain('order', '4711');
      expect(stdout).to.contain('the record itself was never acknowledged: revision 1 is parked (conflict');
      expect(stdout).to.contain('outbox resolve --entity order --key 4711');
    });

    it('says that an order waits for its lines', async () => {
      const fact = { code: 'lines_total_differs', found: '5', expected: '9', currency: 'EUR', scale: 0 } as const;
      await installation.app.store.transaction('wait', (tx) =>
        insertRows(tx, 'unsettled', [
          {
            source_key: '4711',
            first_seen_at: Date.now(),
            content_hash: 'x'.repeat(64),
            ...factRow('reason', fact),
          },
        ]),
      );
      const { code, stdout } = await explain('order', '4711');
      expect(code).to.equal(0);
      expect(stdout)
        .to.contain('not in the outbox yet')
        .and.to.contain('the lines add up to 5 EUR, the order says 9 EUR');
    });

    it('tells who did what to a record, and why', async () => {
      await installation.capture({ entity: 'order', sourceKey: '4711' });
      await installation.waybill('outbox', 'discard', '--key', '4711', '--reason', 'a test order', '--yes');
      const { stdout } = await explain('order', '4711');
      expect(stdout).to.contain('Discarded by an operator');
      expect(stdout).to.match(/operator discarded it: .*\(outbox discard\)@.*\n +reason: a test order/);
    });

    it('gives programs the same story with times as ISO 8601', async () => {
      await installation.capture({ entity: 'order', sourceKey: '4711', number: 'SO-1' });
      await installation.deliver(() => answers.created('ord_93'));
      const story = await installation.json('explain', 'order', '4711');
      expect(story).to.deep.include({
        entity: 'order',
        sourceKey: '4711',
        number: 'SO-1',
        why: [],
        todo: [],
        unsettled: null,
      });
      expect(story.binding).to.include({ serviceId: 'ord_93', revision: 1 });
      expect(story.attempts).to.have.length(1);
      expect(story.attempts[0]).to.include({ number: 1, status: 201, verdict: 'delivered', requestId: 'req_1' });
      expect(story.attempts[0].startedAt).to.match(/^\d{4}-.*T.*[+-]\d\d:\d\d$/);
      expect(story.audit.map((line: { event: string }) => line.event)).to.deep.equal(['captured', 'delivered']);
    });

    it('tells of a request after its attempt was pruned', async () => {
      await installation.capture({ entity: 'order', sourceKey: '4711' });
      await installation.deliver(() => answers.refused('unknown sku'));
      await installation.app.store.transaction('prune', (tx) => tx.run('DELETE FROM attempt', []));
      const { stdout } = await explain('order', '4711');
      expect(stdout).to.match(
        /attempt 1: HTTP 400: refused, this try took no effect\n.*reason: HTTP 400: unknown sku\n/,
      );
    });

    it('prints no secret that found its way into the store, and nothing that a terminal would obey', async () => {
      await installation.capture({ entity: 'order', sourceKey: '4711' });
      await installation.deliver(() => answers.refused(`your token ${tokenCanary} \u001b[31mis red\u202e`));
      await installation.app.store.transaction('pause', (tx) =>
        pauseLane(tx, {
          lane: 'deliver',
          cause: 'misconfigured',
          until_at: null,
          reason: legacy(`Bearer ${tokenCanary}`),
          actor: 'x',
          since_at: 1,
        }),
      );
      for (const argv of [
        ['explain', 'order', '4711'],
        ['outbox'],
        ['outbox', '--group-by', 'reason'],
        ['status'],
        ['status', '--check'],
        ['audit'],
        ['audit', '--csv'],
      ]) {
        const { stdout } = await installation.waybill(...argv);
        expect(stdout, argv.join(' ')).not.to.contain(tokenCanary);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
        expect(stdout, argv.join(' ')).not.to.match(/[\u001b\u202e]/);
      }
      for (const argv of [['explain', 'order', '4711'], ['outbox'], ['status'], ['audit']])
        await installation.json(...argv);
    });
  });
});
