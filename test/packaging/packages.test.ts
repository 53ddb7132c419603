import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { projectRoot } from '../support/project-root.js';
import { useTempDir } from '../support/temp-dir.js';

/** `npm run package:try` builds the packages and tries them in a clean Debian; this is what can be seen without that. */
describe('the packages', () => {
  const dir = useTempDir();
  const debian = join(projectRoot, 'packaging/debian');

  it('hold every module of the program, and nothing of the installation that they are built in', function () {
    this.timeout(180_000);
    const [packed] = JSON.parse(
      execFileSync('npm', ['pack', '--dry-run', '--json', '--silent'], { cwd: projectRoot, encoding: 'utf8' }),
    ) as [{ files: { path: string }[] }];
    const files = packed.files.map(({ path }) => path);
    const sources = readdirSync(join(projectRoot, 'src'), { recursive: true, encoding: 'utf8' });
    const modules = sources.flatMap((file) =>
      /\.tsx?$/.test(file) ? [`dist/src/${file.replace(/\.tsx?$/, '.js')}`] : [],
    );
    expect(files).to.include.members([
      ...modules,
      'systemd/waybill',
      'systemd/waybill.service',
      'docs/install.md',
      'LICENSE',
    ]);
    const others = files.filter((file) => !/^(dist\/src\/.*\.js|docs\/[\w/.-]+|systemd\/[\w.]+)$/.test(file));
    expect(others.sort()).to.deep.equal(
      [
        'CHANGELOG.md',
        'LICENSE',
        'README.md',
        'package.json',
        ...['default', 'example/local', 'example-odoo/local'].map((name) => `config/${name}.yaml`),
      ].sort(),
    );
  });

  it('have scripts that a shell can read', () => {
    const scripts = ['preinst', 'postinst', 'prerm', 'postrm'].map((name) => join(debian, name));
    for (const script of [...scripts, join(projectRoot, 'packaging/try-inside')])
      expect(spawnSync('sh', ['-n', script], { encoding: 'utf8' })).to.include({ status: 0, stderr: '' });
    for (const script of ['package', 'try-package', 'release'])
      expect(spawnSync('bash', ['-n', join(projectRoot, '.ci', script)], { encoding: 'utf8' })).to.include({
        status: 0,
      });
  });

  interface Installation {
    isConfigured?: boolean;
    /** The exit code of `waybill backup`. */
    backup?: number;
    /** Files in /var/lib/waybill. */
    state?: readonly string[];
  }

  /** Runs preinst for an upgrade of an installation whose store has this schema; the package's is 200. */
  function upgrade(schema: number, { isConfigured = true, backup = 0, state = ['waybill.sqlite'] }: Installation = {}) {
    const place = mkdtempSync(dir.file('upgrade-'));
    for (const folder of ['usr/lib/waybill', 'usr/bin', 'etc/waybill', 'var/lib/waybill'])
      mkdirSync(join(place, folder), { recursive: true });
    for (const file of state) writeFileSync(join(place, 'var/lib/waybill', file), '');
    writeFileSync(join(place, 'usr/lib/waybill/schema'), `${schema}\n`);
    if (isConfigured) writeFileSync(join(place, 'etc/waybill/local.yaml'), '');
    writeFileSync(
      join(place, 'usr/bin/waybill'),
      `#!/bin/sh\necho "$1" >"$2"; echo 'It says why.' >&2; exit ${backup}\n`,
    );
    chmodSync(join(place, 'usr/bin/waybill'), 0o755);
    const script = inPlace('preinst', place).replace('@VERSION@', '2.0.0').replace('@SCHEMA@', '200');
    const { status, stderr } = spawnSync('sh', ['-s', 'upgrade', '1.0.0'], { input: script, encoding: 'utf8' });
    const copies = readdirSync(join(place, 'var/lib/waybill')).filter((file) => !state.includes(file));
    return { status, stderr, copies };
  }

  function inPlace(script: string, place: string): string {
    return readFileSync(join(debian, script), 'utf8').replaceAll(/(?<=[ "(])\/(usr|etc|var|run)\//g, `${place}/$1/`);
  }

  it('refuse to go back behind the schema of the store', () => {
    const { status, stderr, copies } = upgrade(300);
    expect(status).to.equal(1);
    expect(stderr).to.match(/^Waybill 2\.0\.0 can not take the place of 1\.0\.0, which has changed the store/);
    expect(copies).to.deep.equal([]);
  });

  it('copy the store before its schema changes, each time anew, and do not go on without the copy', () => {
    const old = 'waybill.1.0.0.copy';
    for (const state of [
      ['waybill.sqlite'],
      ['waybill.sqlite', old],
      ['waybill.sqlite', 'waybill.1.0.0.2026-01-01T000000.copy'],
    ]) {
      const { status, copies } = upgrade(100, { state });
      expect(status).to.equal(0);
      expect(copies).to.have.lengthOf(1);
      expect(copies[0]).to.match(/^waybill\.1\.0\.0\.\d{4}-\d\d-\d\dT\d{6}\.copy$/);
    }
    expect(upgrade(200)).to.deep.include({ status: 0, copies: [] });
    expect(upgrade(100, { isConfigured: false })).to.deep.include({ status: 0, copies: [] });
    // A store on a server has nothing here but its witness.
    for (const state of [['waybill.sqlite'], ['witness']]) {
      const failed = upgrade(100, { backup: 1, state });
      expect(failed).to.deep.include({ status: 1, copies: [] });
      expect(failed.stderr).to.match(/It says why\.\nThe store could not be copied/);
    }
  });

  it('upgrade an installation that has never run, whatever is missing in its settings', () => {
    for (const backup of [1, 2]) expect(upgrade(100, { backup, state: [] })).to.deep.include({ status: 0, copies: [] });
  });

  it('remove at a purge only what a person said of each kind of data', () => {
    const kinds: Record<string, readonly string[]> = {
      'purge-data': ['var/lib/waybill', 'var/lib/waybill-witness'],
      'purge-settings': ['etc/waybill'],
    };
    const folders = Object.values(kinds).flat();
    for (const yes of [[], ['purge-data'], ['purge-settings'], ['purge-data', 'purge-settings']] as const) {
      const place = mkdtempSync(dir.file('purge-'));
      for (const folder of folders) mkdirSync(join(place, folder), { recursive: true });
      mkdirSync(join(place, 'usr/share/debconf'), { recursive: true });
      const answers = yes.map((kind) => `waybill/${kind}) RET=true ;;`).join(' ');
      const debconf = `db_input() { :; }; db_go() { :; }; db_purge() { :; }; db_get() { RET=false; case $1 in ${answers} *) ;; esac; }\n`;
      writeFileSync(join(place, 'usr/share/debconf/confmodule'), debconf);
      const { status, stderr } = spawnSync('sh', ['-s', 'purge'], {
        input: inPlace('postrm', place),
        encoding: 'utf8',
      });
      expect(status, stderr).to.equal(0);
      const kept = folders.filter((folder) => existsSync(join(place, folder)));
      expect(kept).to.deep.equal(folders.filter((folder) => !yes.some((kind) => kinds[kind]?.includes(folder))));
      for (const folder of kept) expect(stderr).to.contain(join(place, folder));
    }
  });

  it('become a release by one command, of which nothing is left where it fails', function () {
    this.timeout(60_000);
    const place = dir.file('release');
    mkdirSync(join(place, '.ci'), { recursive: true });
    cpSync(join(projectRoot, '.ci/release'), join(place, '.ci/release'));
    const script = (name: string, text: string) => {
      writeFileSync(join(place, '.ci', name), `#!/bin/sh\n${text}\n`);
      chmodSync(join(place, '.ci', name), 0o755);
    };
    script('run', 'exit 9');
    script('package', 'mkdir "$1"; node -p "require(\\"./package.json\\").version" >"$1/built"; [ ! -e refuse ]');
    writeFileSync(join(place, 'package.json'), '{ "name": "x", "version": "0.1.0" }\n');
    writeFileSync(join(place, '.gitignore'), 'release/\nrefuse\n');
    writeFileSync(
      join(place, 'CHANGELOG.md'),
      '# Changelog\n\n## [0.2.0] - unreleased\n\n- News.\n\n## [0.1.0] - 2026-11-24\n\n- All.\n',
    );
    const env = {
      ...process.env,
      GIT_AUTHOR_NAME: 'x',
      GIT_AUTHOR_EMAIL: 'x@example.com',
      GIT_COMMITTER_NAME: 'x',
      GIT_COMMITTER_EMAIL: 'x@example.com',
    };
    const git = (...words: string[]) => execFileSync('git', words, { cwd: place, env, encoding: 'utf8' }).trim();
    git('init', '--quiet');
    git('add', '--all');
    git('commit', '--quiet', '--message', 'All');
    const before = git('rev-parse', 'HEAD');
    const release = (...words: string[]) => spawnSync('.ci/release', words, { cwd: place, env, encoding: 'utf8' });

    expect(release('0.3.0').stderr).to.contain('CHANGELOG.md needs a section "## [0.3.0] - unreleased"');
    expect(release('next').status).to.equal(2);
    expect(release('0.2.0').status, 'the checks fail').to.equal(9);
    writeFileSync(join(place, 'refuse'), '');
    expect(release('0.2.0', '--checked').status, 'the packages fail').to.equal(1);
    expect(git('rev-parse', 'HEAD')).to.equal(before);
    expect(git('status', '--porcelain') + git('tag')).to.equal('');

    execFileSync('rm', [join(place, 'refuse')]);
    const done = release('0.2.0', '--checked');
    expect(done, done.stderr).to.include({ status: 0 });
    expect(readFileSync(join(place, 'release/built'), 'utf8')).to.equal('0.2.0\n');
    expect(readFileSync(join(place, 'CHANGELOG.md'), 'utf8')).to.match(/^## \[0\.2\.0\] - \d{4}-\d\d-\d\d$/m);
    expect(git('tag')).to.equal('v0.2.0');
    expect(git('show', '--no-patch', '--format=%s', 'v0.2.0^{commit}')).to.equal('Release 0.2.0');
    expect(release('0.2.0', '--checked').stderr).to.contain('v0.2.0 is released already');
  });
});
