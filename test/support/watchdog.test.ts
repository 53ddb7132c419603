import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { useTempDir } from './temp-dir.js';

/** Starts a watchdog and a guarded process that holds this program's stdout open, then waits to be killed. */
const PROGRAM = `
  import { spawn } from 'node:child_process';
  import { startWatchdog } from ${JSON.stringify(import.meta.resolve('./watchdog.js'))};
  const watchdog = startWatchdog(process.argv[1]);
  watchdog.guard(spawn('sleep', ['600'], { stdio: 'inherit' }).pid);
  process.stdout.write('guarded');
  setInterval(() => {}, 1_000);
`;

describe('the watchdog', () => {
  const tempDir = useTempDir();

  it('kills the guarded process and removes the folder when its owner dies by kill -9', async () => {
    const folder = tempDir.file('data');
    mkdirSync(folder);
    const owner = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM, folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [ready] = await once(owner.stdout, 'data');
    expect(String(ready)).to.equal('guarded');

    owner.kill('SIGKILL');

    // The pipe closes only when its last holder, the guarded process, is gone.
    await once(owner.stdout, 'close');
    while (existsSync(folder)) await sleep(10);
  }).timeout(10_000);
});
