import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { projectRoot } from '../support/project-root.js';
import { useTempDir } from '../support/temp-dir.js';

describe('npm run test:one', () => {
  const dir = useTempDir();

  before(() => {
    for (const folder of ['.ci', 'bin']) mkdirSync(dir.file(folder));
    copyFileSync(join(projectRoot, '.ci/test-one'), dir.file('.ci/test-one'));
    for (const program of ['npm', 'node']) {
      writeFileSync(dir.file(`bin/${program}`), `#!/bin/sh\necho ${program} "$@"\n`);
      chmodSync(dir.file(`bin/${program}`), 0o755);
    }
  });

  const testOne = (...args: string[]) => {
    const env = { PATH: `${dir.file('bin')}:${process.env.PATH}` };
    const { status, stdout } = spawnSync(dir.file('.ci/test-one'), args, { env, encoding: 'utf8' });
    return { status, ran: stdout.replaceAll(`${dir.path}/`, '').trim().split('\n') };
  };

  const builds = 'npm run --silent build';
  const mocha = 'node node_modules/mocha/bin/mocha.js';
  for (const named of ['test/a/b.test.ts', './test/a/b.test.ts', 'HERE/test/a/b.test.ts', 'dist/test/a/b.test.js'])
    it(`builds, and runs ${named}`, () => {
      const { ran } = testOne(named.replace('HERE', dir.path));
      expect(ran).to.deep.equal([builds, `${mocha} dist/test/a/b.test.js`]);
    });

  it('hands everything else to mocha', () => {
    const { ran } = testOne('test/a.test.ts', '--grep', 'two words', 'test/b.test.ts');
    expect(ran[1]).to.equal(`${mocha} dist/test/a.test.js --grep two words dist/test/b.test.js`);
  });

  it('runs nothing without a file', () => {
    expect(testOne('--grep', 'x')).to.deep.equal({ status: 2, ran: [''] });
  });
});
