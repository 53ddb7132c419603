import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { useTempDir } from '../support/temp-dir.js';

const streams = JSON.stringify(new URL('../../src/cli/terminal/streams.js', import.meta.url));
const runner = JSON.stringify(new URL('../../src/cli/run.js', import.meta.url));

describe('what is printed into a file', () => {
  const dir = useTempDir();

  /** Runs a program whose stdout is a file that grows to 8 KiB and no further: a short write comes first, then an error. */
  const intoFullDisk = (program: string) => {
    const file = dir.file('printed');
    const handle = openSync(file, 'w');
    const limited = ['-c', 'ulimit -f 16; exec "$@"', 'sh', process.execPath, '--input-type=module', '-e', program];
    const { status, stderr } = spawnSync('sh', limited, { stdio: ['ignore', handle, 'pipe'], encoding: 'utf8' });
    closeSync(handle);
    return { code: status, stderr, written: readFileSync(file, 'utf8') };
  };

  it('is there whole, or the command fails and says why, also when only its end finds no room', () => {
    const print = (bytes: number) => `
      const { write } = await import(${streams});
      const { printError } = await import(${runner});
      process.on('uncaughtException', (error) => { printError(error); process.exit(1); });
      write('x'.repeat(${bytes}));`;
    expect(intoFullDisk(print(8_192))).to.deep.equal({ code: 0, stderr: '', written: 'x'.repeat(8_192) });
    const { code, stderr } = intoFullDisk(print(8_200));
    expect({ code, stderr }).to.deep.equal({
      code: 1,
      stderr: 'waybill: What this prints can not be written: it is larger than this process may write.\n',
    });
  });

  it('is what a daemon goes on without', () => {
    const { code, stderr } = intoFullDisk(`
      const { goOnWithoutRoom } = await import(${streams});
      goOnWithoutRoom();
      for (let i = 0; i < 3; i++) process.stdout.write('x'.repeat(5_000) + '\\n');
      await new Promise((done) => setImmediate(done));
      process.exitCode = process.stdout.writable ? 0 : 4;`);
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
  });

  it('ends no work when it is stderr, which is told beside it', () => {
    const program = `
      const { writeError } = await import(${streams});
      writeError('there is no room for this');
      await new Promise((done) => setImmediate(done));
      console.log('done');`;
    const full = openSync('/dev/full', 'w');
    const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', full],
      encoding: 'utf8',
    });
    closeSync(full);
    expect({ status, stdout }).to.deep.equal({ status: 0, stdout: 'done\n' });
  });
});
