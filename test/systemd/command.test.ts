import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { writeGivenFile } from '../../src/cli/given-file.js';
import type { Settings } from '../../src/config/settings.js';
import { createSampleErp } from '../../src/lab/sample-erp/create-sample-erp.js';
import { FileError } from '../../src/store/whole-file.js';
import { Installation } from '../e2e/installation.js';
import { projectRoot } from '../support/project-root.js';
import { openSqlite } from '../support/sqlite-file.js';
import { useTempDir } from '../support/temp-dir.js';

/** `systemd/waybill` as it is installed, but for the places of program, settings and state, and for the change of account. */
describe('the command beside the service', function () {
  this.timeout(120_000);
  const dir = useTempDir();
  let caller = '';
  let state = '';

  before(async () => {
    await createSampleErp({ target: { type: 'sqlite', file: dir.file('erp.sqlite') }, customers: 2, orders: 3 });
    const { configDir } = new Installation({
      folder: dir.path,
      serviceUrl: 'http://127.0.0.1:1',
      erp: { type: 'sqlite', file: dir.file('erp.sqlite') },
      store: { type: 'sqlite' },
      settings: { store: { type: 'sqlite' } },
    });
    writeFileSync(join(configDir, 'service-token'), 'a-token', { mode: 0o600 });
    state = dir.file('state');
    caller = dir.file('caller');
    for (const folder of [state, caller, dir.file('bin')]) mkdirSync(folder, { mode: 0o700 });
    const program = join(projectRoot, 'dist/src/main.js');
    const script = readFileSync(join(projectRoot, 'systemd/waybill'), 'utf8')
      .replaceAll('/opt/waybill/dist/src/main.js', program)
      .replaceAll('/etc/waybill', configDir)
      .replaceAll('/var/lib/waybill', state);
    const install = (name: string, content: string) => {
      writeFileSync(dir.file(`bin/${name}`), content);
      chmodSync(dir.file(`bin/${name}`), 0o755);
    };
    install('waybill', script);
    install('node', `#!/bin/sh\necho "$HOME" >"${dir.file('home')}"\nexec "${process.execPath}" "$@"\n`);
    // The account of the service; the tests may run as root.
    install('id', '#!/bin/sh\necho 999\n');
    expect((await waybill(['migrate'])).code).to.equal(0);
  });

  /** Runs the command in the caller's folder. @param stdout a file that the caller's shell has opened */
  const waybill = async (args: string[], stdout: number | 'pipe' = 'pipe', env: NodeJS.ProcessEnv = {}) => {
    const child = spawn(dir.file('bin/waybill'), args, {
      cwd: caller,
      env: { PATH: `${dir.file('bin')}:${process.env.PATH}`, HOME: dir.path, ...env },
      stdio: ['ignore', stdout, 'pipe'],
    });
    const printed = child.stdout ? text(child.stdout) : Promise.resolve('');
    const [[code], out, err] = await Promise.all([
      once(child, 'close'),
      printed,
      text(child.stderr as NodeJS.ReadableStream),
    ]);
    return { code, out, err };
  };

  it("runs no code that the caller's environment names", async () => {
    const marker = dir.file('loaded');
    const code = join(caller, 'code.cjs');
    writeFileSync(code, `require('node:fs').writeFileSync(${JSON.stringify(marker)}, '')`);
    const { code: exitCode } = await waybill(['status'], 'pipe', {
      NODE_OPTIONS: `--require ${code}`,
      NODE_PATH: caller,
    });
    expect(exitCode).to.equal(0);
    expect(existsSync(marker)).to.equal(false);
    // Node looks for modules that are missing in $HOME/.node_modules.
    expect(readFileSync(dir.file('home'), 'utf8').trim()).to.equal(state);
  });

  it('writes a copy where the caller stands, and reads lists from there', async () => {
    const backup = await waybill(['backup', 'copy.sqlite']);
    expect(backup).to.deep.include({ code: 0, err: '' });
    expect(statSync(join(caller, 'copy.sqlite')).mode & 0o777).to.equal(0o600);
    expect(await waybill(['bindings', 'export', 'bindings.jsonl'])).to.deep.include({ code: 0, err: '' });
    writeFileSync(join(caller, 'ids.csv'), 'source key;service id\n1;K10001\n');
    const adopt = await waybill(['adopt', 'customers', '--file', 'ids.csv', '--dry-run']);
    expect(adopt).to.deep.include({ code: 0, err: '' });
    // Nothing but the store and its witness.
    expect(readdirSync(state).filter((name) => !/^waybill\.sqlite|^witness$/.test(name))).to.deep.equal([]);
  });

  it('writes through the caller’s shell with `-`, and leaves nothing beside the store', async () => {
    for (const args of [
      ['backup', '-'],
      ['bindings', 'export', '-'],
    ]) {
      const target = join(caller, `through-the-shell-${args[0]}`);
      const handle = openSync(target, 'w');
      expect(await waybill(args, handle)).to.deep.include({ code: 0, err: '' });
      closeSync(handle);
    }
    const copy = openSqlite(join(caller, 'through-the-shell-backup'));
    expect(copy.prepare('PRAGMA integrity_check').get()).to.deep.equal({ integrity_check: 'ok' });
    copy.close();
    const lines = readFileSync(join(caller, 'through-the-shell-bindings'), 'utf8').trim().split('\n');
    expect(JSON.parse(lines[0] ?? '')).to.include({ waybill: 'bindings' });
    expect(readdirSync(state).some((name) => name.startsWith('scratch-'))).to.equal(false);
  });

  it('leaves a copy beside the store only when it is killed, until the next one, which touches nobody else’s', async () => {
    const scratch = () => readdirSync(state).filter((name) => name.startsWith('scratch-'));
    // Nobody reads: the copy stands in the pipe.
    const child = spawn(dir.file('bin/waybill'), ['backup', '-'], {
      cwd: caller,
      env: { PATH: `${dir.file('bin')}:${process.env.PATH}`, HOME: dir.path },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await once(child.stdout as NodeJS.ReadableStream, 'readable');
    child.kill('SIGKILL');
    await once(child, 'exit');
    child.stdout?.destroy();
    expect(scratch()).to.have.lengthOf(1);
    const ofOthers = `scratch-${process.pid}-x`;
    mkdirSync(join(state, ofOthers));
    const handle = openSync('/dev/null', 'w');
    expect(await waybill(['backup', '-'], handle)).to.deep.include({ code: 0, err: '' });
    closeSync(handle);
    expect(scratch()).to.deep.equal([ofOthers]);
    rmSync(join(state, ofOthers), { recursive: true });
  });

  it('reads what the caller’s shell has opened, and leaves nothing beside the store', async () => {
    const source = join(caller, 'long.jsonl');
    writeFileSync(source, 'a line\n'.repeat(100_000));
    const settings = JSON.stringify({ store: { type: 'sqlite', file: join(state, 'waybill.sqlite') } });
    const module = JSON.stringify(new URL('../../src/cli/given-file.js', import.meta.url));
    const code = `import { readFile } from 'node:fs/promises'; import { readGivenFile } from ${module};
      process.stdout.write(await readGivenFile('-', ${settings}, (file) => readFile(file, 'utf8')));`;
    const stdin = openSync(source, 'r');
    const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: [stdin, 'pipe', 'inherit'] });
    expect(await text(child.stdout as NodeJS.ReadableStream)).to.equal(readFileSync(source, 'utf8'));
    closeSync(stdin);
    expect(readdirSync(state).some((name) => name.startsWith('scratch-'))).to.equal(false);
  });

  it('says how to write where the account of the service may not', async () => {
    const cause = Object.assign(new Error('EACCES'), { code: 'EACCES' });
    const forbidden = () => Promise.reject(new FileError('/root/copy can not be written.', { cause }));
    const refused = await writeGivenFile('/root/copy', {} as Settings, forbidden).catch((error: Error) => error);
    expect((refused as Error).message).to.contain('`- > /root/copy`');
  });

  it('fails when the caller’s disk is full', async () => {
    const full = openSync('/dev/full', 'w');
    const { code, err } = await waybill(['backup', '-'], full);
    closeSync(full);
    expect(code).to.equal(1);
    expect(err)
      .to.contain('can not be written: the disk is full')
      .and.to.match(/^waybill: /);
  });

  it('fails when the program that reads the copy has ended', async () => {
    const child = spawn(dir.file('bin/waybill'), ['backup', '-'], {
      cwd: caller,
      env: { PATH: `${dir.file('bin')}:${process.env.PATH}`, HOME: dir.path },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.destroy();
    const ended = once(child, 'exit');
    expect(await text(child.stderr)).to.equal(
      'waybill: What this prints can not be written: the program that reads it has ended.\n',
    );
    expect(await ended).to.deep.equal([1, null]);
    expect(readdirSync(state).some((name) => name.startsWith('scratch-'))).to.equal(false);
  });
});
