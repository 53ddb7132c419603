import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { ask } from '../desk/desk-client.js';
import { useTempDir } from '../support/temp-dir.js';
import { canary } from './installation.js';
import { startPullLab } from './pull-lab.js';

describe('A daemon with a desk', function () {
  this.timeout(300_000);
  const temp = useTempDir();

  it('serves it with the token that `waybill desk token` made, says that it is ready, and ends at SIGTERM', async () => {
    const usersFile = temp.file('desk-users');
    writeFileSync(usersFile, '', { mode: 0o600 });
    const lab = await startPullLab(temp.path, 10, { desk: { enabled: true, port: 0, usersFile } });
    const made = await lab.waybill.run('desk', 'token', 'monitor', '--role', 'read');
    const token = /this once: ([\w-]{43})/.exec(made.stderr)?.[1] ?? '';
    expect(made.stdout)
      .to.match(/^monitor:read:sha256\$[\w-]{43}\n$/)
      .and.not.to.contain(token);
    writeFileSync(usersFile, made.stdout);
    const daemon = lab.waybill.daemon();
    try {
      await daemon.line(({ message }) => message === 'The desk is open');
      const { url } = daemon.lines.find(({ message }) => message === 'The desk is open') as unknown as { url: string };
      await daemon.line(({ message }) => message === 'Delivering from here');
      expect((await ask(`${url}readyz`)).body).to.equal('ready\n');
      const headers = { authorization: `Bearer ${token}` };
      for (const path of ['', 'needs-a-person', 'metrics', '?q=nothing']) {
        const { status, body } = await ask(url + path, { headers });
        expect(status, path).to.equal(200);
        for (const secret of [...Object.values(canary), token]) expect(body, path).not.to.contain(secret);
      }
      daemon.kill('SIGTERM');
      expect(await daemon.ended).to.equal(0);
      expect(daemon.output()).not.to.contain(token);
    } finally {
      daemon.kill('SIGKILL');
      await daemon.ended;
      await lab.close();
    }
  });

  it('delivers without it where its port is taken, and says so', async () => {
    const usersFile = temp.file('desk-users');
    writeFileSync(usersFile, 'paul:read:proxy\n', { mode: 0o600 });
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const folder = temp.file('second');
    mkdirSync(folder);
    const lab = await startPullLab(folder, 10, { desk: { enabled: true, port, usersFile } });
    const daemon = lab.waybill.daemon();
    try {
      await daemon.line(({ message }) => message === 'The desk could not be opened');
      await daemon.line(({ message }) => message === 'Delivering from here');
    } finally {
      daemon.kill('SIGKILL');
      await daemon.ended;
      await lab.close();
      other.close();
    }
  });
});
