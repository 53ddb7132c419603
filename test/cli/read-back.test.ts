import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse, stringify } from 'yaml';
import { openApp } from '../../src/app.js';
import { lookAfterAlerts } from '../../src/daemon/tell-alerts.js';
import { readOrder } from '../../src/inbound/orders/read-order.js';
import type { ReadAnswer } from '../../src/model/verdict.js';
import { ServiceLease } from '../../src/outbound/deliver/service-lease.js';
import type { ReadQuestion, Sent, ServiceClient } from '../../src/service/service-client.js';
import { answers, onAnyStore } from './installation.js';

describe('what was read back', () => {
  onAnyStore((installation) => {
    /** Reads order 4711 back; the service is played by these answers, one after the other. */
    async function readBack(...said: [number, object][]): Promise<void> {
      const file = join(installation.configDir, 'local.yaml');
      const settings = parse(readFileSync(file, 'utf8'));
      settings.service.endpoints = { readOrder: {} };
      settings.orders.readBack = { enabled: true, finalStates: ['completed'] };
      writeFileSync(file, stringify(settings));
      const app = await openApp({ configDir: installation.configDir, role: 'test', log: 'stderr' });
      const lease = await ServiceLease.acquire(app.context);
      if (!(lease instanceof ServiceLease)) throw new Error(`${lease.holder} has the lease`);
      for (const [status, body] of said) {
        const read = async (question: ReadQuestion<unknown>): Promise<Sent<ReadAnswer<unknown>>> => {
          const value = question.read(status, body, JSON.stringify(body));
          const verdict = { kind: 'read', value } as const;
          return { verdict, startedAtMs: Date.now(), durationMs: 1, status, requestId: null, excerpt: null };
        };
        const client = { read } as unknown as ServiceClient;
        await readOrder(app.context, client, lease, { orderId: 'ord_93' });
      }
      await lookAfterAlerts(app.context, lease.lease, async () => undefined, new AbortController().signal);
      await lease.release();
      await app.close();
    }
    beforeEach(async () => {
      await installation.capture({ entity: 'order', sourceKey: '4711' });
      await installation.deliver(() => answers.created('ord_93'));
    });
    const show = async () => {
      const { code, stdout, stderr } = await installation.waybill('explain', 'order', '4711');
      expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
      return stdout;
    };
    const shown = (status: string, total: number): [number, object] => [200, { order_id: 'ord_93', status, total }];

    it('is shown by explain: status, total, when, and each change; and by status', async () => {
      expect(await show()).to.not.contain('Service:');
      await readBack();
      expect(await show()).to.contain('Service:  not read back yet');
      expect((await installation.waybill('status')).stdout).to.match(/Read back +0 of 1 orders\n/);
      await readBack(shown('confirmed', 2500), shown('completed', 250_000));

      const text = await show();
      const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0[12]:00`;
      expect(text).to.match(
        new RegExp(
          `Service:  "completed", total 2 500\\.00 EUR, read ${time}; final, so Waybill does not read it any more\n`,
        ),
      );
      expect(text).to.contain('to be looked at: The service has a total of 250000, and the lines add up to 2500');
      const story = text.slice(text.indexOf('What happened'));
      const told = [
        'read back: confirmed; by ',
        'read back: confirmed became completed; by ',
        'read back: The service has a total',
      ];
      expect(told.map((one) => story.includes(one))).to.deep.equal([true, true, true]);

      const { binding } = await installation.json('explain', 'order', '4711');
      expect(binding.atService).to.include({ status: 'completed', total: 250_000, isFinal: true, goneAt: null });
      expect(binding.atService.readAt).to.match(/^\d{4}-\d\d-\d\dT/);
      const status = await installation.json('status');
      expect(status.readBack).to.include({ orders: 1, read: 1, final: 1, gone: 0, flagged: 1, oldestReadAt: null });
      expect((await installation.waybill('status')).stdout).to.match(
        /Read back +1 of 1 orders; 1 are final; 1 with another total \(waybill audit/,
      );
    });

    it('says that an order is not at the service any more, and what it was before', async () => {
      await readBack(shown('confirmed', 2500), [404, {}]);
      expect(await show()).to.match(
        /Service: {2}not at the service any more since .*, looked for .*; before that "confirmed", total 25\.00 EUR\. Nothing is created again\./,
      );
      expect((await installation.json('explain', 'order', '4711')).binding.atService.goneAt).to.be.a('string');
      const { stdout } = await installation.waybill('status');
      expect(stdout).to.match(/Read back .*the oldest reading of the others: .*1 not at the service any more/);
      expect(stdout).to.match(
        /Alerts +orders\.gone since .*A delivered order is no longer at the service \(key 4711\)/,
      );
      const audit = await installation.waybill('audit', '--event', 'read_back', '--outcome', 'gone');
      expect(audit.stdout).to.contain('4711');
    });
  });
});
