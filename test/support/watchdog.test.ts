import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { useTempDir } from './temp-dir.js';

/** Starts a watchdog and guarded processes that hold this program's stdout open, then waits to be killed. One was ended before. */
const PROGRAM = `
  import { spawn } from 'node:child_process';
  import { startWatchdog } from ${JSON.stringify(import.meta.resolve('./watchdog.js'))};
  const watchdog = startWatchdog(process.argv[1]);
  const guarded = Array.from({ length: 3 }, () => spawn('sleep', ['600'], { stdio: 'inherit' }));
  for (const { pid } of guarded) watchdog.guard(pid);
  guarded[1].kill();
  guarded[1].once('exit', () => {
    watchdog.forget(guarded[1].pid);
    process.stdout.write('guarded');
  });
  setInterval(() => {}, 1_000);
`;

describe('the watchdog', () => {
  const tempDir = useTempDir();

  it('kills the guarded processes and removes the folder when its owner dies by kill -9', async () => {
    const folder = tempDir.file('data');
    mkdirSync(folder);
    const owner = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM, folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [ready] = await once(owner.stdout, 'data');
    expect(String(ready)).to.equal('guarded');

    owner.kill('SIGKILL');

    // The pipe closes only when its last holders, the guarded processes, are gone.
    await once(owner.stdout, 'close');
    while (existsSync(folder)) await sleep(10);
  }).timeout(10_000);
});
