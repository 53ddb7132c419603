import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { useTempDir } from '../support/temp-dir.js';

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
});
