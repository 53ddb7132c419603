import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { projectRoot } from '../support/project-root.js';
import { useTempDir } from '../support/temp-dir.js';

const { scripts } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};

describe('npm run waybill', () => {
  const dir = useTempDir();
  const at = (...path: string[]) => join(dir.path, ...path);
  const put = (text: string, mode: number, ...path: string[]) => {
    mkdirSync(dirname(at(...path)), { recursive: true });
    writeFileSync(at(...path), text, { mode });
  };
  /** The stand-in for the SQLite that was built for Node 20. */
  const built = 'node_modules/better-sqlite3/build/Release/better_sqlite3.node';

  beforeEach(() => {
    rmSync(dir.path, { recursive: true });
    mkdirSync(at('.ci'), { recursive: true });
    for (const script of ['build-if-stale', 'build-sqlite'])
      copyFileSync(join(projectRoot, '.ci', script), at('.ci', script));
    // Stands in for npm: runs the scripts that build as they are, and otherwise writes down what it was asked for.
    const runs = ['build', 'compile'].map((name) => `"run --silent ${name}") sh -c '${scripts[name]}' ;;`);
    put(`#!/bin/sh\ncase "$*" in ${runs.join(' ')} *) echo "$@" >>asked ;; esac\n`, 0o755, 'bin/npm');
    put('', 0o644, built);
  });

  /** Does what is done before a command. */
  const prepare = () => {
    const env = { ...process.env, PATH: `${at('bin')}:${process.env.PATH}` };
    execFileSync('sh', ['.ci/build-if-stale'], { cwd: dir.path, env, stdio: 'pipe' });
  };
  /** With a compiler that only says that it ran. @returns whether it did */
  const compiles = (verdict: 'works' | 'fails' = 'works') => {
    put(`#!/bin/sh\ntouch compiled; ${verdict === 'works' ? 'true' : 'false'}\n`, 0o755, 'bin/tsc');
    let failed = false;
    try {
      prepare();
    } catch {
      failed = true;
    }
    expect(failed).to.equal(verdict === 'fails');
    const did = existsSync(at('compiled'));
    rmSync(at('compiled'), { force: true });
    return did;
  };

  it('is prepared like every command of a checkout', () => {
    for (const name of ['start', 'demo', 'resync', 'audit', 'sandbox', 'waybill'])
      expect(scripts[name], name).to.match(/^sh \.ci\/build-if-stale && node dist\/src\/main\.js\b/);
    for (const name of ['docs', 'test', 'torture', 'torture:proof', 'bench'])
      expect(scripts[name], name).to.match(/^npm run --silent build && /);
  });

  it('compiles where nothing is compiled yet or a source is newer, and else not', () => {
    const past = new Date(Date.now() - 60_000);
    for (const file of ['src/cli/run.ts', 'tsconfig.json', 'package-lock.json']) {
      put('', 0o644, file);
      utimesSync(at(file), past, past);
    }
    expect(compiles('fails'), 'nothing is there').to.equal(true);
    expect(compiles(), 'it failed before').to.equal(true);
    expect(compiles(), 'it is fresh').to.equal(false);
    const soon = new Date(Date.now() + 5_000);
    utimesSync(at('src/cli/run.ts'), soon, soon);
    expect(compiles(), 'a source is newer').to.equal(true);
  });

  it('builds SQLite where only Node 20 could be meant and none is built, also when nothing is to be compiled', () => {
    for (const file of ['src/run.ts', 'tsconfig.json', 'package-lock.json']) put('', 0o644, file);
    expect(compiles()).to.equal(true);
    const asked = () => (existsSync(at('asked')) ? readFileSync(at('asked'), 'utf8') : '');
    expect(asked(), 'it is built').to.equal('');
    rmSync(at(built));
    mkdirSync(at('node_modules/better-sqlite3-13'));
    prepare();
    expect(asked(), 'one is ready').to.equal('');
    rmSync(at('node_modules/better-sqlite3-13'), { recursive: true });
    prepare();
    expect(asked()).to.equal('rebuild --ignore-scripts=false better-sqlite3\n');
  });
});
