import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import { parse, stringify } from 'yaml';
import { legacy } from '../../src/model/facts/fact.js';
import { shellWord } from '../../src/model/shell-word.js';
import { listPauses, pauseLane } from '../../src/store/lane-pauses.js';
import { onAnyStore } from './installation.js';

/** Commands that mean the store of the daemon. */
const onTheStore = [
  ['pause', 'deliver', '--reason', 'x'],
  ['resume', '--reason', 'x'],
  ['outbox'],
  ['outbox', 'discard', '--key', '1', '--entity', 'order', '--reason', 'x', '--yes'],
  ['explain', 'order', '1'],
  ['audit'],
  ['confirm', '--dry-run'],
  ['reconcile', 'customers'],
  ['rekey', 'orders', '--dry-run'],
  ['forget', 'customer', '1', '--reason', 'x', '--yes'],
  ['invoices'],
  ['bindings', 'export', '-'],
  ['backup', '-'],
  ['erp', 'write-again'],
];

describe('waybill pause and resume', () => {
  onAnyStore((installation) => {
    const { waybill } = installation;
    const lanes = async () =>
      (await installation.app.store.read('look', listPauses)).map(({ lane }) => lane).sort((a, b) => (a < b ? -1 : 1));

    it('names the pauses that it ended, and no others', async () => {
      const paused = await waybill('pause', 'pull', '--reason', 'stocktaking');
      const resume = `waybill resume pull --config ${shellWord(installation.configDir)} --reason "…"`;
      expect(paused.stdout).to.equal(`Paused: pull. Go on with: ${resume}\n`);
      expect((await waybill('resume', '--reason', 'over')).stdout).to.equal('Ended 1 pause: pull.\n');
      await installation.app.store.transaction('pause', async (tx) => {
        const pause = { until_at: null, reason: legacy('x'), actor: 'anna', since_at: 1 };
        await pauseLane(tx, { ...pause, lane: 'capture.berlin', cause: 'operator' });
        await pauseLane(tx, { ...pause, lane: 'service', cause: 'outage' });
        await pauseLane(tx, { ...pause, lane: 'service', cause: 'credential' });
      });
      const { stdout } = await waybill('resume', '--reason', 'over');
      expect(stdout).to.match(/^Ended 3 pauses: /);
      expect(stdout.slice('Ended 3 pauses: '.length, -2).split(', ')).to.have.members([
        'capture --source berlin',
        'service',
      ]);
      expect((await waybill('resume', '--reason', 'over')).stdout).to.equal('Nothing was paused.\n');
    });

    it('takes no blank reason, and pauses and resumes nothing then', async () => {
      await waybill('pause', 'deliver', '--reason', 'stocktaking');
      for (const argv of [
        ['pause', '--reason', ''],
        ['resume', '--reason', '  '],
      ]) {
        const { code, stderr } = await waybill(...argv);
        expect(code).to.equal(2);
        expect(stderr).to.contain('--reason is empty');
        expect(await lanes()).to.deep.equal(['deliver']);
      }
    });

    it('makes no store where there is none: the daemon would go on with its own', async () => {
      const file = join(installation.configDir, 'local.yaml');
      const elsewhere = 'no-such-folder/elsewhere.sqlite';
      const settings = parse(readFileSync(file, 'utf8'));
      writeFileSync(file, stringify({ ...settings, store: { type: 'sqlite', file: elsewhere } }));
      const status = await waybill('status');
      expect(status.stderr).to.contain(`There is no store ${resolve(elsewhere)} yet`);
      for (const argv of onTheStore) {
        const { code, stdout, stderr } = await waybill(...argv);
        expect({ code, stdout, stderr }, argv.join(' ')).to.deep.equal({ ...status, stdout: '' });
        expect(existsSync(elsewhere), argv.join(' ')).to.equal(false);
      }
    });
  });
});
