import { writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { standardSecret } from '../inbound/webhooks/sign.js';
import { useTempDir } from '../support/temp-dir.js';
import { eventually } from './installation.js';
import { startPullLab } from './pull-lab.js';

describe('A daemon that listens for webhooks', function () {
  this.timeout(300_000);
  const temp = useTempDir();

  it('takes an invoice off the list soon after the service announced its payment, and prints no secret', async () => {
    const secretFile = temp.file('webhook-secret');
    writeFileSync(secretFile, standardSecret, { mode: 0o600 });
    const lab = await startPullLab(temp.path, 10, {
      webhooks: { enabled: true, port: 0, secretFiles: [secretFile] },
    });
    lab.sandbox.addInvoices([
      { invoice_no: 'INV-A', amount: 100 },
      { invoice_no: 'INV-B', amount: 100 },
    ]);
    await lab.waybill.run('sync', 'pull');
    const daemon = lab.waybill.daemon();
    try {
      await daemon.line(({ message }) => message === 'Listening for webhooks');
      await daemon.line(({ message }) => message === 'Delivering from here');
      const { port } = daemon.lines.find(({ message }) => message === 'Listening for webhooks') as unknown as {
        port: number;
      };
      lab.sandbox.change({ webhooks: { url: `http://127.0.0.1:${port}/webhooks`, secret: standardSecret } });
      expect(lab.listed()).to.include('INV-A');
      lab.sandbox.payInvoice('INV-A');
      await eventually('the paid invoice leaves', () => !lab.listed().includes('INV-A'));
      expect(lab.listed()).to.include('INV-B');
      const { stdout } = await lab.waybill.run('webhooks', '--json');
      expect(JSON.parse(stdout).events).to.have.length(1);
      daemon.kill('SIGTERM');
      expect(await daemon.ended).to.equal(0);
      expect(daemon.output()).not.to.include(standardSecret);
    } finally {
      daemon.kill('SIGKILL');
      await daemon.ended;
      await lab.close();
    }
  });
});
