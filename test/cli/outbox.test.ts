import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { listedBy } from '../../src/desk/filters.js';
import { toHtml } from '../../src/desk/pages/layout.js';
import { Outbox } from '../../src/desk/pages/outbox.js';
import { browseMessages } from '../../src/operator/lists/browse.js';
import { createKey } from '../../src/outbound/outbox/idempotency-key.js';
import { forged } from '../support/forged.js';
import { toldRows } from '../support/told.js';
import { answers, onAnyStore } from './installation.js';

describe('waybill outbox', () => {
  onAnyStore((installation) => {
    const { waybill, json } = installation;
    const row = (sourceKey: string) =>
      installation.app.store.read('look', async (tx) => {
        const [found] = await tx.select('SELECT * FROM outbox_message WHERE source_key=? ORDER BY revision DESC', [
          sourceKey,
        ]);
        return toldRows([found], '*')[0];
      });
    const audited = () =>
      installation.app.store.read('look', (tx) =>
        tx.select("SELECT * FROM audit_log WHERE event='operator' ORDER BY id"),
      );
    const change = (sql: string) => installation.app.store.transaction('arrange a test', (tx) => tx.run(sql));

    /** Order 1 refused, 2 in conflict, 3 in doubt, 4 unmapped, 5 delivered, 6 never sent. */
    const fill = async () => {
      await installation.capture(
        ...['1', '2', '3', '5'].map((sourceKey) => ({
          entity: 'order' as const,
          sourceKey,
          number: `SO-${sourceKey}`,
        })),
        { entity: 'order', sourceKey: '4', unmapped: 'Order 4: line 17 has no sku' },
      );
      await installation.deliver(({ body }) => {
        if (body.includes('SO-1')) return answers.refused('unknown sku 4711');
        if (body.includes('SO-2')) return answers.keyReused();
        if (body.includes('SO-3')) return answers.timeout();
        return answers.created('ord_5');
      });
      await installation.capture({ entity: 'order', sourceKey: '6', number: 'SO-6', customerKey: '1' });
    };

    describe('list', () => {
      it('shows what waits, newest first, and not what arrived', async () => {
        await fill();
        const { code, stdout } = await waybill('outbox');
        expect(code).to.equal(0);
        const keys = [...stdout.matchAll(/│ order +│ (\d) /g)].map((match) => match[1]);
        expect(keys).to.have.members(['1', '2', '3', '4', '6']);
        expect(keys[0]).to.equal('6');
        expect(stdout)
          .to.contain('parked (refused)')
          .and.to.contain('HTTP 400: unknown sku 4711')
          .and.to.contain('5 in all.');
      });

      it('filters by state, class, key, number, entity and reason', async () => {
        await fill();
        await installation.capture({ entity: 'customer', sourceKey: '1', unmapped: 'no name, 100% wrong' });
        const keysOf = async (...filter: string[]) =>
          (await json('outbox', ...filter)).messages.map((m: { sourceKey: string }) => m.sourceKey).sort();
        expect(await keysOf('--state', 'in_doubt')).to.deep.equal(['3']);
        expect(await keysOf('--state', 'delivered')).to.deep.equal(['5']);
        expect(await keysOf('--class', 'conflict')).to.deep.equal(['2']);
        expect(await keysOf('--key', 'SO-6', '--key', '5')).to.deep.equal(['5', '6']);
        expect(await keysOf('--entity', 'customer')).to.deep.equal(['1']);
        expect(await keysOf('--reason-like', 'UNKNOWN sku')).to.deep.equal(['1']);
        expect(await keysOf('--reason-like', '100% w')).to.deep.equal(['1']);
        expect(await keysOf('--reason-like', '1__%')).to.deep.equal([]);
        expect(await json('outbox', '--limit', '2')).to.deep.include({ count: 6 });
      });

      it('has the filters of the page of the desk, and finds the same by each', async () => {
        await fill();
        await installation.capture({ entity: 'customer', sourceKey: '1', unmapped: 'no name, 100% wrong' });
        // The rows that the page shows; a filter that it has and the command has not would stand here without an
        // option.
        const options: Record<string, string> = {
          state: '--state',
          entity: '--entity',
          class: '--class',
          key: '--key',
          reason: '--reason-like',
        };
        const page = { rows: [], next: null, count: 0 };
        const props = { base: '/', query: new URLSearchParams(), page, action: null, ambiguous: [], timeZone: 'UTC' };
        const shown = [...toHtml(Outbox(props), []).matchAll(/<(?:select|input)[^>]* name="(\w+)"/g)];
        expect(shown.map(([, name]) => name)).to.deep.equal(Object.keys(options));

        for (const asked of [
          { state: 'parked' },
          { state: 'delivered', entity: 'order' },
          { class: 'unmapped' },
          { key: 'SO-1' },
          { key: '1' },
          { key: '1', entity: 'customer' },
          { state: 'parked', reason: '100% w' },
          { state: 'in_doubt', class: 'refused' },
        ] as Record<string, string>[]) {
          const typed = Object.entries(asked).flatMap(([name, value]) => [options[name] as string, value]);
          const ids = (await json('outbox', ...typed)).messages.map(({ id }: { id: number }) => id);
          const { store, settings } = installation.app;
          const browsed = await store.read('look', async (tx) => {
            const { filter } = await listedBy(tx, new URLSearchParams(asked), settings);
            return browseMessages(tx, filter, null, 50);
          });
          const name = JSON.stringify(asked);
          expect(ids, name).to.deep.equal(browsed.rows.map(({ id }) => id));
          expect(ids.length, name).to.equal(browsed.count);
        }
      });

      it('counts by reason, one reason however its numbers read', async () => {
        await installation.capture(
          { entity: 'order', sourceKey: '1', unmapped: 'Order 1: line 17 has no sku' },
          { entity: 'order', sourceKey: '2', unmapped: 'Order 23456: line 3 has no sku' },
          { entity: 'order', sourceKey: '3', unmapped: 'Order 3: price' },
        );
        const groups = await json('outbox', '--group-by', 'reason');
        expect(
          groups.map(({ group, count, parkClass }: Record<string, unknown>) => [group, count, parkClass]),
        ).to.deep.equal([
          ['Order #: line # has no sku', 2, 'unmapped'],
          ['Order #: price', 1, 'unmapped'],
        ]);
        expect((await json('outbox', '--group-by', 'state'))[0]).to.include({ group: 'parked', count: 3 });
        expect((await json('outbox', '--group-by', 'entity'))[0]).to.include({ group: 'order', count: 3 });
      });

      it('counts by reason, one reason however keys of hexadecimal digits read', async () => {
        await installation.capture(
          { entity: 'order', sourceKey: '1', unmapped: 'its customer 018F3A9C0E7D is not there' },
          { entity: 'order', sourceKey: '2', unmapped: 'its customer FEDCBA98-76AB is not there' },
        );
        const groups = await json('outbox', '--group-by', 'reason');
        expect(groups.map(({ group, count }: Record<string, unknown>) => [group, count])).to.deep.equal([
          ['its customer # is not there', 2],
        ]);
      });

      it('refuses a state that does not exist', async () => {
        const { code, stderr } = await waybill('outbox', '--state', 'broken');
        expect(code).to.equal(2);
        expect(stderr).to.contain('in_doubt');
      });
    });

    describe('retry', () => {
      it('makes a refused message due again with the same key and bytes, and says who and why', async () => {
        await fill();
        const before = await row('1');
        const { code, stdout } = await waybill('outbox', 'retry', '--key', 'SO-1', '--reason', 'sku added', '--yes');
        expect(code).to.equal(0);
        expect(stdout).to.contain('1 message match').and.to.contain('Will be tried again now: 1 message.');
        const after = await row('1');
        expect(after).to.include({
          state: 'pending',
          park_class: null,
          reason: null,
          first_sent_at: null,
          failures: 0,
        });
        for (const column of ['idempotency_key', 'body_hash', 'generation', 'attempts'])
          expect(after[column], column).to.equal(before[column]);
        const [line] = await audited();
        expect(line).to.include({ outcome: 'retry', source_key: '1', message_id: before.id });
        expect(line.actor).to.contain('(outbox retry)@');
        expect(JSON.parse(line.detail)).to.include({
          reason: 'sku added',
          from: 'parked',
          parkClass: 'refused',
          to: 'pending',
        });

        await installation.deliver(() => answers.created('ord_1'));
        expect(await row('1')).to.include({ state: 'delivered', attempts: 2 });
      });

      it('leaves alone what a retry could double, and says what to do instead', async () => {
        await fill();
        const { code, stdout } = await waybill('outbox', 'retry', '--state', 'parked', '--reason', 'x', '--yes');
        expect(code).to.equal(3);
        expect(stdout).to.contain('3 messages match').and.to.contain('Will be tried again now: 1 message.');
        expect(stdout).to.contain('outbox resolve').and.to.contain('correct it there');
        expect(await row('2')).to.include({ state: 'parked', park_class: 'conflict' });
        expect(await row('4')).to.include({ state: 'parked', park_class: 'unmapped' });
        expect(await audited()).to.have.length(1);
      });

      it('does not wait for the next try of what is in doubt', async () => {
        await fill();
        await change("UPDATE outbox_message SET next_attempt_at=next_attempt_at+3600000 WHERE state='in_doubt'");
        const before = await row('3');
        expect((await waybill('outbox', 'retry', '--key', '3', '--reason', 'now', '--yes')).code).to.equal(0);
        const after = await row('3');
        expect(after.next_attempt_at).to.be.at.most(Date.now());
        for (const column of ['state', 'idempotency_key', 'first_sent_at', 'failures', 'reason'])
          expect(after[column], column).to.equal(before[column]);
      });

      it('resends an unproven create with its key only while the service knows it', async () => {
        await fill();
        await change(`UPDATE outbox_message SET ${forged.parked}, park_class='unproven' WHERE source_key='3'`);
        expect((await waybill('outbox', 'retry', '--key', '3', '--reason', 'x', '--yes')).code).to.equal(0);
        expect(await row('3')).to.include({ state: 'in_doubt', park_class: null });
        await change(
          `UPDATE outbox_message SET ${forged.parked}, park_class='unproven', was_sent=1, first_sent_at=NULL WHERE source_key='3'`,
        );
        const { code, stdout } = await waybill('outbox', 'retry', '--key', '3', '--reason', 'x', '--yes');
        expect(code).to.equal(1);
        expect(stdout).to.contain('forgotten its key');
        expect(await row('3')).to.include({ state: 'parked', park_class: 'unproven' });
      });

      it('changes nothing without a confirmation', async () => {
        await fill();
        const { code, stdout, stderr } = await waybill('outbox', 'retry', '--class', 'refused', '--reason', 'x');
        expect(code).to.equal(2);
        expect(stdout).to.contain('1 message match');
        expect(stderr).to.contain('--yes');
        expect(await row('1')).to.include({ state: 'parked' });
        expect(await audited()).to.be.empty;
      });

      it('wants a filter, and takes one that stands before its name', async () => {
        await fill();
        expect((await waybill('outbox', 'retry', '--reason', 'x', '--yes')).code).to.equal(2);
        expect((await waybill('outbox', 'retry', '--key', '1', '--yes')).stderr).to.contain('--reason');
        await waybill('outbox', '--key', '2', 'retry', '--state', 'parked', '--reason', 'x', '--yes');
        expect(await row('1')).to.include({ state: 'parked' });
      });

      it('refuses --limit instead of ignoring it', async () => {
        await fill();
        for (const argv of [
          ['retry', '--limit', '1'],
          ['--limit', '1', 'retry'],
        ])
          expect((await waybill('outbox', ...argv, '--key', '1', '--reason', 'x', '--yes')).code).to.equal(2);
        expect(await row('1')).to.include({ state: 'parked' });
      });

      it('acts on every match, not only on those it lists', async () => {
        await installation.capture(
          ...Array.from({ length: 450 }, (_, i) => ({ entity: 'order' as const, sourceKey: String(i) })),
        );
        await change(
          `UPDATE outbox_message SET ${forged.parked}, park_class='refused', reason_code='legacy', reason_data='{"text":{"outside":"HTTP 400"}}'`,
        );
        const done = await json('outbox', 'retry', '--reason-like', 'HTTP 400', '--reason', 'mended', '--yes');
        expect(done).to.deep.equal({ action: 'retry', matched: 450, done: 450, left: [] });
        expect(await json('outbox', '--state', 'pending')).to.include({ count: 450 });
        expect(await audited()).to.have.length(450);
      });

      it('says when nothing matches', async () => {
        const { code, stdout } = await waybill('outbox', 'retry', '--key', 'nope', '--reason', 'x', '--yes');
        expect([code, stdout]).to.deep.equal([1, 'No message matches.\n']);
      });
    });

    describe('discard', () => {
      it('closes what was never sent and what is parked, and keeps the park class for capture', async () => {
        await fill();
        const { code } = await waybill('outbox', 'discard', '--entity', 'order', '--reason', 'test data', '--yes');
        expect(code).to.equal(3);
        for (const [key, parkClass] of [
          ['1', 'refused'],
          ['2', 'conflict'],
          ['4', 'unmapped'],
          ['6', null],
        ])
          expect(await row(key as string)).to.include({
            state: 'discarded',
            park_class: parkClass,
            reason: 'test data',
          });
        expect(await row('3')).to.include({ state: 'in_doubt' });
        expect(await row('5')).to.include({ state: 'delivered' });
        expect((await audited()).map((line) => line.source_key).sort()).to.deep.equal(['1', '2', '4', '6']);
      });
    });

    describe('a name that fits two orders', () => {
      /** The key of one is the number of the other; only the first exists at the service. */
      const park = async () => {
        await installation.capture(
          { entity: 'order', sourceKey: '90011', number: '90012' },
          { entity: 'order', sourceKey: '90012', number: 'A-90012' },
          { entity: 'customer', sourceKey: '7', unmapped: 'no name' },
          { entity: 'order', sourceKey: '7', unmapped: 'no lines' },
        );
        await installation.deliver(() => answers.keyReused());
      };
      const states = async () =>
        (await json('outbox', '--state', 'parked')).messages.map((m: { sourceKey: string }) => m.sourceKey).sort();

      for (const action of [
        ['resolve', '--not-delivered'],
        ['resolve', '--delivered', '--service-id', 'ord_1'],
        ['discard'],
        ['retry'],
      ])
        it(`is refused, also with --yes: ${action.join(' ')}`, async () => {
          await park();
          const refused = await waybill('outbox', ...action, '--key', '90012', '--reason', 'a test', '--yes');
          expect(refused.code).to.equal(2);
          expect(refused.stderr)
            .to.contain('order 90012 (number A-90012), by its key; order 90011 (number 90012), by its number')
            .and.to.contain('--by key, or --by number');
          const twice = await waybill('outbox', ...action, '--key', '7', '--reason', 'a test', '--yes');
          expect(twice.code).to.equal(2);
          expect(twice.stderr).to.contain('customer 7, by its key; order 7, by its key').and.to.contain('--entity');
          expect(await states()).to.deep.equal(['7', '7', '90011', '90012']);
          expect(await audited()).to.deep.equal([]);
        });

      it('is exact with --by, and shown whole by the list and the audit', async () => {
        await park();
        const listed = await waybill('outbox', '--key', '90012');
        expect(listed.stdout).to.contain('A-90012').and.to.contain('90011');
        expect(listed.stderr).to.contain('ambiguous: 90012 names 2 records').and.to.contain('All are shown');
        expect((await waybill('audit', '--key', '90012')).stderr).to.contain('ambiguous: 90012 names 2 records');
        const byKey = ['--key', '90012', '--by', 'key', '--reason', 'a test', '--yes'];
        expect((await waybill('outbox', 'discard', ...byKey)).code).to.equal(0);
        expect(await states()).to.deep.equal(['7', '7', '90011']);
        const byNumber = ['--key', '90012', '--by', 'number', '--reason', 'a test', '--yes'];
        expect((await waybill('outbox', 'discard', ...byNumber)).code).to.equal(0);
        expect(await states()).to.deep.equal(['7', '7']);
      });

      it('is refused by confirm, sync, resync and forget as well', async () => {
        await park();
        await installation.capture(
          { entity: 'customer', sourceKey: '8', identity: '{"customer_code":"9"}' },
          { entity: 'customer', sourceKey: '9', identity: '{"customer_code":"K9"}' },
        );
        for (const typed of [
          ['confirm', '--key', '90012', '--reason', 'a test', '--yes'],
          ['confirm', '--key', '7', '--reason', 'a test', '--yes'],
          ['sync', '--key', '90012', '--dry-run'],
          ['resync', 'orders', '--key', '90012', '--force'],
          ['forget', 'customer', '9', '--reason', 'a test', '--yes'],
        ]) {
          const refused = await waybill(...typed);
          expect(refused.code, typed.join(' ')).to.equal(2);
          expect(refused.stderr, typed.join(' ')).to.contain('names 2 records').and.to.contain('Nothing was done');
        }
      });
    });

    describe('resolve', () => {
      it('records what a person found: the binding is written, and what waited for it goes on', async () => {
        await installation.capture(
          { entity: 'customer', sourceKey: '1' },
          { entity: 'order', sourceKey: '9', customerKey: '1' },
        );
        await installation.deliver(() => answers.keyReused());
        expect(
          (
            await waybill(
              'outbox',
              'resolve',
              '--class',
              'conflict',
              '--delivered',
              '--unchecked',
              '--reason',
              'it is there',
              '--yes',
            )
          ).code,
        ).to.equal(0);
        expect(await row('1')).to.include({ state: 'delivered', service_id: 'K1', park_class: null });
        await installation.deliver(({ entity }) => answers.created(entity === 'order' ? 'ord_9' : 'wrong'));
        expect(await row('9')).to.include({ state: 'delivered', service_id: 'ord_9' });
        const story = await json('explain', 'customer', '1');
        expect(story.binding).to.include({ serviceId: 'K1', revision: 1 });
      });

      it('needs the service’s id of an order, and one order for it', async () => {
        await fill();
        const without = await waybill('outbox', 'resolve', '--key', '3', '--delivered', '--reason', 'x', '--yes');
        expect(without.code).to.equal(1);
        expect(without.stdout).to.contain('--service-id');
        const two = await waybill(
          'outbox',
          'resolve',
          '--key',
          '2',
          '--key',
          '3',
          '--delivered',
          '--unchecked',
          '--service-id',
          'o',
          '--reason',
          'x',
          '--yes',
        );
        expect(two.code, two.stdout + two.stderr).to.equal(2);
        const one = await waybill(
          'outbox',
          'resolve',
          '--key',
          '3',
          '--delivered',
          '--unchecked',
          '--service-id',
          'ord_3',
          '--reason',
          'x',
          '--yes',
        );
        expect(one.code).to.equal(0);
        expect(await row('3')).to.include({ state: 'delivered', service_id: 'ord_3' });
        expect(await row('2')).to.include({ state: 'parked' });
      });

      it('sends again under a new key what a person vouches does not exist, in doubt or in conflict', async () => {
        await fill();
        await waybill(
          'outbox',
          'resolve',
          '--key',
          '2',
          '--key',
          '3',
          '--not-delivered',
          '--reason',
          'looked',
          '--yes',
        );
        for (const key of ['2', '3'])
          expect(await row(key)).to.include({
            state: 'pending',
            first_sent_at: null,
            generation: 1,
            idempotency_key: createKey('test-office', 'order', key, 1),
          });
        expect((await audited()).map((line) => line.outcome)).to.deep.equal(['not_delivered', 'not_delivered']);
      });

      it('takes a list of keys or numbers with their ids, and names each line that it leaves', async () => {
        await fill();
        const file = join(installation.configDir, 'ids.csv');
        writeFileSync(file, 'key;id\nSO-2;ord_2\n3;ord_3\nSO-1;ord_1\nSO-9;ord_9\n6;ord_6\nSO-6;ord_6\n8\n');
        const args = [
          'outbox',
          'resolve',
          '--entity',
          'order',
          '--delivered',
          '--unchecked',
          '--file',
          file,
          '--reason',
          'looked',
          '--yes',
        ];
        const { code, stdout } = await waybill(...args);
        expect(code).to.equal(3);
        expect(stdout).to.contain('7 records are listed; can be resolved: 2 messages.');
        expect(stdout).to.contain('Recorded as delivered: 2 messages.');
        for (const [key, why] of [
          ['SO-1', 'nothing of it is in doubt'],
          ['SO-9', 'no message matches'],
          ['6', 'the id ord_6 stands in the lines 6, 7'],
          ['SO-6', 'the id ord_6 stands in the lines 6, 7'],
          ['line 8', 'it has 1 columns'],
        ])
          expect(stdout).to.contain(`Left alone: ${key}: ${why}`);
        expect(await row('2')).to.include({ state: 'delivered', service_id: 'ord_2' });
        expect(await row('3')).to.include({ state: 'delivered', service_id: 'ord_3' });
        expect((await audited()).map((line) => line.source_key).sort()).to.deep.equal(['2', '3']);
        const { left } = await json(...args);
        expect(left).to.have.length(7);
      });

      it('takes a list of keys alone where nothing is there', async () => {
        await fill();
        const file = join(installation.configDir, 'keys.csv');
        writeFileSync(file, 'SO-3\n');
        const args = ['--entity', 'order', '--not-delivered', '--file', file, '--reason', 'not there', '--yes'];
        expect((await waybill('outbox', 'resolve', ...args)).code).to.equal(0);
        expect(await row('3')).to.include({ state: 'pending', first_sent_at: null });
      });

      it('wants a list to say of which entity it is, and to be the only word about keys and ids', async () => {
        const refusal = async (...args: string[]) => {
          const { code, stderr } = await waybill(
            'outbox',
            'resolve',
            '--delivered',
            '--file',
            'x.csv',
            '--reason',
            'x',
            ...args,
          );
          expect(code).to.equal(2);
          return stderr;
        };
        expect(await refusal()).to.contain('--file needs --entity');
        expect(await refusal('--entity', 'order', '--key', '4')).to.contain('leave out --key');
        expect(await refusal('--entity', 'order')).to.contain('There is no file x.csv');
      });

      it('says that the settings do not tell how the service is asked', async () => {
        await fill();
        const { code, stdout } = await waybill(
          'outbox',
          'resolve',
          '--look-up',
          '--key',
          '3',
          '--reason',
          'x',
          '--yes',
        );
        expect(code).to.equal(1);
        expect(stdout).to.contain('service.endpoints.lookUpOrder');
        expect(await row('3')).to.include({ state: 'in_doubt' });
      });

      it('wants to know what was found', async () => {
        for (const found of [[], ['--delivered', '--not-delivered'], ['--not-delivered', '--service-id', 'x']])
          expect((await waybill('outbox', 'resolve', '--key', '3', '--reason', 'x', ...found)).code).to.equal(2);
      });

      it('never binds an older revision over a newer one', async () => {
        await installation.capture({ entity: 'order', sourceKey: '1' });
        await installation.deliver(() => answers.created('ord_1'));
        await installation.capture({
          entity: 'order',
          sourceKey: '1',
          operation: 'update',
          revision: 2,
          record: { note: 'b' },
        });
        await installation.deliver(() => answers.keyReused());
        await installation.capture({
          entity: 'order',
          sourceKey: '1',
          operation: 'update',
          revision: 3,
          record: { note: 'c' },
        });
        await installation.deliver(() => answers.created('ord_1'));
        const refused = await waybill(
          'outbox',
          'resolve',
          '--class',
          'conflict',
          '--not-delivered',
          '--reason',
          'x',
          '--yes',
        );
        expect(refused.stdout).to.contain('a newer revision of the record');
        await waybill(
          'outbox',
          'resolve',
          '--class',
          'conflict',
          '--delivered',
          '--unchecked',
          '--reason',
          'x',
          '--yes',
        );
        const story = await json('explain', 'order', '1');
        expect(story.binding).to.include({ serviceId: 'ord_1', revision: 3 });
        expect(story.messages.map((m: { state: string }) => m.state)).to.deep.equal([
          'delivered',
          'delivered',
          'delivered',
        ]);
      });
    });
  });
});
