import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { ask } from '../desk/desk-client.js';
import { useTempDir } from '../support/temp-dir.js';
import { waitFor } from '../support/wait-for.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));

describe('waybill demo', () => {
  const dir = useTempDir();

  it('says what to do where it may make no folder', () => {
    const env = { ...process.env, TMPDIR: '/nope' };
    const { status, stdout, stderr } = spawnSync(process.execPath, [main, 'demo'], { env, encoding: 'utf8' });
    expect([status, stdout]).to.deep.equal([2, '']);
    expect(stderr).to.match(/^waybill: The demo can make no folder in \/nope: ENOENT.* TMPDIR=\/tmp\n$/);
  });

  for (const [name, signals] of [
    ['says so and ends what is under way', 1],
    ['ends at once at the second signal', 2],
  ] as const)
    it(`leaves nothing behind when it is stopped: ${name}`, async () => {
      const env = { ...process.env, TMPDIR: dir.path };
      const child = spawn(process.execPath, [main, 'demo', '--limit', '5'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
      const ended = once(child, 'close');
      let [said, signalled] = ['', 0];
      child.stdout.on('data', (text) => {
        said += text;
        if (said.includes('A service on') && signalled === 0) signalled += Number(child.kill('SIGINT'));
      });
      child.stderr.on('data', (text) => {
        said += text;
        if (said.includes('stopping') && signalled < signals) signalled += Number(child.kill('SIGINT'));
      });
      expect((await ended)[0], said).to.equal(signals === 1 ? 1 : 130);
      expect(said).to.contain('stopping: what is under way ends first');
      expect(readdirSync(dir.path).filter((folder) => folder.startsWith('waybill-demo-'))).to.deep.equal([]);
    });

  it('--desk serves the desk of an installation that goes on, with what needs a person, and leaves nothing behind', async () => {
    const env = { ...process.env, TMPDIR: dir.path };
    const argv = [main, 'demo', '--desk', '--json', '--orders', '70', '--limit', '100'];
    const child = spawn(process.execPath, argv, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const ended = once(child, 'close');
    let [said, complained] = ['', ''];
    child.stderr.on('data', (text) => {
      complained += text;
    });
    try {
      for await (const text of child.stdout) {
        said += text;
        if (said.includes('}')) break;
      }
      const { url, user, password } = JSON.parse(said);
      const form = { name: user, password };
      const origin = { origin: new URL(url).origin };
      const signed = await ask(`${url}sign-in`, { method: 'POST', headers: origin, form });
      expect([signed.status, complained]).to.deep.equal([303, '']);
      const cookie = String(signed.headers['set-cookie']?.[0]?.split(';')[0]);
      const page = async (path: string) => (await ask(url + path, { headers: { cookie } })).body;
      const orders = () => page('outbox?state=delivered&entity=order');
      await waitFor('a refused order', async () => (await page('needs-a-person')).includes('unknown sku'));
      await waitFor('delivered orders', async () => /A-2026-0000\d\d/.test(await orders()));
      for (const incident of ['the lines add up to', 'it has no lines', 'is not in customers.query'])
        expect(await page('needs-a-person')).to.contain(incident);
    } finally {
      child.kill('SIGINT');
    }
    expect((await ended)[0], complained).to.equal(0);
    expect(readdirSync(dir.path).filter((folder) => folder.startsWith('waybill-demo-'))).to.deep.equal([]);
  });
});
