import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse, stringify } from 'yaml';
import { endEvents, insertEvent } from '../../src/inbound/webhooks/webhook-rows.js';
import { addToTally } from '../../src/inbound/webhooks/webhook-status.js';
import { outside } from '../../src/model/outside.js';
import { standardSecret } from '../inbound/webhooks/sign.js';
import { onAnyStore } from './installation.js';

describe('waybill webhooks', () => {
  onAnyStore((installation) => {
    const { waybill, json } = installation;
    const enable = () => {
      const file = join(installation.configDir, 'local.yaml');
      writeFileSync(join(installation.configDir, 'secret'), standardSecret, { mode: 0o600 });
      const settings = parse(readFileSync(file, 'utf8'));
      writeFileSync(file, stringify({ ...settings, webhooks: { enabled: true, secretFiles: ['secret'] } }));
    };
    const receive = () =>
      installation.app.store.transaction('receive', async (tx) => {
        const about = { type: 'payment.succeeded', about: 'invoice' as const };
        await insertEvent(tx, { id: 'evt_1', ...about, subject: 'INV-1' }, 1_700_000_000_000);
        await insertEvent(tx, { id: 'evt_2', ...about, subject: 'INV-\u001b[2J' }, 1_700_000_001_000);
        await insertEvent(
          tx,
          { id: 'evt_3', type: 'order.status_changed', about: 'order', subject: 'ord_1' },
          1_700_000_002_000,
        );
        await endEvents(
          tx,
          [{ id: 'evt_1', receivedAt: 1_700_000_000_000 }],
          { code: 'invoice_unlisted', state: outside('paid') },
          1_700_000_003_000,
        );
        await addToTally(tx, new Map([['forged', 7]]), 1_700_000_004_000);
        await addToTally(
          tx,
          new Map([
            ['forged', 2],
            ['listening', 1],
          ]),
          1_700_000_005_000,
        );
      });

    it('says that nobody listens, and that nothing is kept', async () => {
      const { code, stdout } = await waybill('webhooks');
      expect(code).to.equal(0);
      expect(stdout).to.include('webhooks.enabled').and.to.include('No event is kept.');
      expect((await waybill('status')).stdout).not.to.include('Webhooks');
    });

    it('shows events with what came of them, the newest first, and what was refused', async () => {
      enable();
      await receive();
      const { stdout } = await waybill('webhooks');
      expect(stdout).to.match(/not signed by one of our secrets +│ 9 /);
      expect(stdout).to.match(/order\.status_changed[\s\S]*INV-[\s\S]*invoice INV-1 +│ done +│ no longer listed: paid/);
      expect(stdout).not.to.include('\u001b');
      expect((await waybill('webhooks', '--limit', '1')).stdout)
        .to.include('order.status_changed')
        .and.not.to.include('INV-1');
      const shown = await json('webhooks');
      expect(shown).to.include({ enabled: true, pending: 2, stopped: null });
      expect(shown.events.map(({ id, state }: { id: string; state: string }) => [id, state])).to.deep.equal([
        ['evt_3', 'pending'],
        ['evt_2', 'pending'],
        ['evt_1', 'done'],
      ]);
      expect(shown.events[0].receivedAt).to.match(/^2023-11-14T/);
      expect((await waybill('status')).stdout).to.match(/Webhooks +last event 2023-.*; 2 events wait to be read about/);
    });

    it('is warned of by status when pulls find what no event announced', async () => {
      enable();
      await receive();
      await installation.app.store.transaction('pulls', async (tx) => {
        for (const at of [1_700_000_006_000, 1_700_000_007_000, 1_700_000_008_000])
          await tx.run(
            "INSERT INTO invoice_pull (states, outcome, started_at, ended_at, unlisted) VALUES ('unpaid','proven',?,?,1)",
            [at, at],
          );
      });
      expect((await waybill('status', '--check')).stdout).to.include('webhooks seem to have stopped: 3 pulls found 3');
      expect((await waybill('webhooks')).stdout).to.include('webhooks seem to have stopped');
    });
  });
});
