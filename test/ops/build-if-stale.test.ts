import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { projectRoot } from '../support/project-root.js';
import { useTempDir } from '../support/temp-dir.js';

describe('npm run waybill', () => {
  const dir = useTempDir();
  const at = (...path: string[]) => join(dir.path, ...path);
  const { scripts } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  /** Runs what runs before the command, with a compiler that only says that it ran. @returns whether it did */
  const compiles = (verdict: 'works' | 'fails' = 'works') => {
    writeFileSync(at('bin', 'tsc'), `#!/bin/sh\ntouch compiled; ${verdict === 'works' ? 'true' : 'false'}\n`, {
      mode: 0o755,
    });
    const env = { ...process.env, PATH: `${at('bin')}:${process.env.PATH}` };
    let failed = false;
    try {
      execFileSync('sh', ['-c', scripts.prewaybill as string], { cwd: dir.path, env, stdio: 'pipe' });
    } catch {
      failed = true;
    }
    expect(failed).to.equal(verdict === 'fails');
    const did = existsSync(at('compiled'));
    if (did) execFileSync('rm', [at('compiled')]);
    return did;
  };

  it('compiles where nothing is compiled yet or a source is newer, and else not', function () {
    this.timeout(60_000);
    for (const folder of ['.ci', 'src/cli', 'bin']) mkdirSync(at(folder), { recursive: true });
    copyFileSync(join(projectRoot, '.ci/build-if-stale'), at('.ci/build-if-stale'));
    writeFileSync(at('package.json'), JSON.stringify({ name: 'tried', scripts: { build: scripts.build } }));
    const past = new Date(Date.now() - 60_000);
    for (const file of ['src/cli/run.ts', 'tsconfig.json', 'package-lock.json']) {
      writeFileSync(at(file), '');
      utimesSync(at(file), past, past);
    }
    expect(compiles('fails'), 'nothing is there').to.equal(true);
    expect(compiles(), 'it failed before').to.equal(true);
    expect(compiles(), 'it is fresh').to.equal(false);
    const soon = new Date(Date.now() + 5_000);
    utimesSync(at('src/cli/run.ts'), soon, soon);
    expect(compiles(), 'a source is newer').to.equal(true);
  });
});
