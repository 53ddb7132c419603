import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import fc from 'fast-check';
import { readSealedLines, writeSealedLines } from '../../src/store/sealed-lines.js';
import { FileError, writeWholeFile } from '../../src/store/whole-file.js';
import { projectRoot } from '../support/project-root.js';
import { useTempDir } from '../support/temp-dir.js';

const run = promisify(execFile);

describe('a file that Waybill writes for people', () => {
  const dir = useTempDir();
  let number = 0;
  /** In a folder of its own. */
  const newFile = () => {
    const folder = dir.file(`folder-${++number}`);
    mkdirSync(folder);
    return { file: join(folder, 'copy'), left: () => readdirSync(folder) };
  };
  const errorOf = (work: Promise<unknown>): Promise<Error> =>
    work.then(
      () => expect.fail('it worked'),
      (error: Error) => error,
    );
  const readAll = async (file: string) => {
    const values: unknown[] = [];
    for await (const value of readSealedLines(file)) values.push(value);
    return values;
  };

  it('is whole or not there at all when there is no room for it', async () => {
    const { file, left } = newFile();
    const writer = `
      import { writeSealedLines } from ${JSON.stringify(new URL('../../src/store/sealed-lines.js', import.meta.url))};
      await writeSealedLines(${JSON.stringify(file)}, async (write) => {
        for (let i = 0; i < 10; i++) await write([{ text: 'x'.repeat(5_000) }]);
      }).catch(({ name, message, cause }) => console.log(JSON.stringify({ name, message, code: cause.code })));`;
    // The limit of the shell ends a file as a full disk does: first a short write, then an error.
    const limited = ['-c', 'ulimit -f 40; exec "$@"', 'sh', process.execPath, '--input-type=module', '-e', writer];
    const { stdout } = await run('sh', limited);
    expect(JSON.parse(stdout)).to.deep.equal({
      name: 'FileError',
      message: `${file} can not be written: it is larger than this process may write. No part of it was left there.`,
      code: 'EFBIG',
    });
    expect(left()).to.deep.equal([]);
  });

  it('is nobody else’s business, and leaves no draft behind', async () => {
    const { file, left } = newFile();
    await writeSealedLines(file, (write) => write([{ a: 1 }]));
    expect(statSync(file).mode & 0o777).to.equal(0o600);
    expect(left()).to.deep.equal(['copy']);
    const failed = await errorOf(
      writeSealedLines(`${file}-2`, async (write) => {
        await write([{ a: 1 }]);
        throw new Error('the store is away');
      }),
    );
    expect(failed.message).to.equal('the store is away');
    expect(left()).to.deep.equal(['copy']);
  });

  it('never replaces another one, not even one that came while it was written', async () => {
    const { file, left } = newFile();
    const error = await errorOf(writeWholeFile(file, async () => writeFileSync(file, 'precious')));
    expect(error).to.be.instanceOf(FileError).and.to.include({ isWrongUsage: true });
    expect(error.message).to.equal(`${file} exists already. Name a new file.`);
    expect(readFileSync(file, 'utf8')).to.equal('precious');
    expect(left()).to.deep.equal(['copy']);
    let isFilled = false;
    await errorOf(
      writeWholeFile(file, async () => {
        isFilled = true;
      }),
    );
    expect(isFilled, 'asked before the work').to.equal(false);
  });

  it('says in words why it can not be written', async () => {
    const { file } = newFile();
    const error = await errorOf(writeSealedLines(join(file, 'nowhere', 'copy'), (write) => write([])));
    expect(error.message).to.contain('there is no such folder');
    expect(existsSync(file)).to.equal(false);
  });

  it('comes back as it was, whatever its texts hold', async () => {
    const { file } = newFile();
    await fc.assert(
      fc.asyncProperty(fc.array(fc.record({ text: fc.string({ unit: 'binary' }) })), async (values) => {
        const given = [{ text: 'a\u2028b\u2029c\r\nd\u0085e' }, ...values];
        const own = `${file}-${++number}`;
        await writeSealedLines(own, (write) => write(given));
        expect(await readAll(own)).to.deep.equal(JSON.parse(JSON.stringify(given)));
      }),
      { numRuns: 50 },
    );
  });

  it('is taken over whole or not at all: no cut and no change passes', async () => {
    const { file } = newFile();
    await writeSealedLines(file, (write) => write([{ a: 1 }, { b: 'ü' }, { end: { lines: 1, sha256: 'x' } }]));
    const bytes = readFileSync(file);
    const damaged = `${file}-damaged`;
    const expectRefused = async (content: Buffer, what: string) => {
      writeFileSync(damaged, content);
      const taken: unknown[] = [];
      const error = await errorOf(
        (async () => {
          for await (const value of readSealedLines(damaged)) taken.push(value);
        })(),
      );
      expect(error, what).to.be.instanceOf(FileError).and.to.include({ isWrongUsage: true });
      expect(error.message, what).to.contain('Nothing of it was taken over.');
      expect(taken, what).to.deep.equal([]);
    };
    // Without the very last byte, the end of the last line, nothing is missing.
    for (let length = 0; length < bytes.length - 1; length++)
      await expectRefused(bytes.subarray(0, length), `cut after ${length} bytes`);
    const sealStart = bytes.lastIndexOf('\n', -2) + 1;
    for (let at = 0; at < sealStart; at++) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] as number) ^ 1;
      await expectRefused(changed, `byte ${at} changed`);
    }
    await expectRefused(Buffer.concat([bytes, bytes]), 'twice');
    await expectRefused(Buffer.concat([bytes, Buffer.from('{"a":2}\n')]), 'with a line more');
    const error = await errorOf(readAll(`${file}-none`));
    expect(error.message).to.equal(`There is no file ${file}-none.`);
  });

  it('is written by one function alone', () => {
    const writes =
      /\b(?:writeFile|appendFile|createWriteStream|copyFile|writeFileSync|appendFileSync|renameSync|openSync)\(|\bopen\([^)]*'[wa]x?\+?'|\bhandle\.write\(/;
    /** The store itself, its marks, stdout where the shell made it a file, and what `npm run docs` writes in a checkout. */
    const others = [
      'store/whole-file.ts',
      'db/sqlite/sqlite-store.ts',
      'outbound/deliver/send-marks.ts',
      'cli/terminal/streams.ts',
      'config/settings-reference.ts',
    ];
    const sources = readdirSync(join(projectRoot, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => file.split(sep).join('/'));
    const wrong = sources.filter((file) => {
      const text = readFileSync(join(projectRoot, 'src', file), 'utf8').replaceAll('handle.writeFile(', '');
      return !others.includes(file) && writes.test(text);
    });
    expect(wrong, 'these write files: use writeWholeFile').to.deep.equal([]);
    for (const call of ["await open(file, 'wx', 0o600)", 'createWriteStream(file)', 'await handle.write(text)'])
      expect(call).to.match(writes);
  });
});
