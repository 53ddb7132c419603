import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { FileError, writeWholeFile } from './whole-file.js';

/** The last line of the file: how many lines stand before it, and the SHA-256 of their bytes. */
interface Seal {
  end: { lines: number; sha256: string };
}

/** Writes values as JSON lines into a new file, whole or not at all, and a last line that proves it. */
export async function writeSealedLines<T>(
  file: string,
  fill: (write: (values: readonly object[]) => Promise<void>) => Promise<T>,
): Promise<T> {
  return writeWholeFile(file, async (handle) => {
    const hash = createHash('sha256');
    let lines = 0;
    const result = await fill(async (values) => {
      const text = values.map((value) => `${JSON.stringify(value)}\n`).join('');
      hash.update(text);
      lines += values.length;
      await handle.writeFile(text);
    });
    const seal: Seal = { end: { lines, sha256: hash.digest('hex') } };
    await handle.writeFile(`${JSON.stringify(seal)}\n`);
    return result;
  });
}

/**
 * Reads such a file. All of it is checked before the first value comes out, so that nothing of a damaged file is taken over.
 * @throws FileError when a part is missing or was changed
 */
export async function* readSealedLines(file: string): AsyncGenerator<unknown> {
  let left = await checkSeal(file);
  for await (const line of linesOf(file)) {
    if (left-- === 0) return;
    yield JSON.parse(line.toString('utf8'));
  }
}

/** @returns how many lines stand before the last one */
async function checkSeal(file: string): Promise<number> {
  const hash = createHash('sha256');
  let lines = 0;
  let last: Buffer | null = null;
  for await (const line of linesOf(file)) {
    if (last !== null) {
      hash.update(last).update('\n');
      lines++;
    }
    last = line;
  }
  const end = sealOf(last);
  if (end === null)
    throw unbelievable(`${file} was cut off, or an older Waybill wrote it: its last line does not say how long it is`);
  if (end.lines !== lines)
    throw unbelievable(`${file} has ${lines} lines before its last one, and had ${end.lines} when it was written`);
  if (end.sha256 !== hash.digest('hex'))
    throw unbelievable(`${file} was changed after it was written: its SHA-256 is another one`);
  return lines;
}

function unbelievable(what: string): FileError {
  return new FileError(`${what}. Nothing of it was taken over. Copy the file again, or take another one.`, {
    isWrongUsage: true,
  });
}

function sealOf(line: Buffer | null): Seal['end'] | null {
  try {
    return (JSON.parse(line?.toString('utf8') ?? '') as Partial<Seal>).end ?? null;
  } catch {
    return null;
  }
}

/** Not by `node:readline`: it also ends a line at U+2028, which JSON leaves as it is within a text. */
async function* linesOf(file: string): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  try {
    for await (const part of createReadStream(file)) {
      rest = Buffer.concat([rest, part as Buffer]);
      for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
        yield rest.subarray(0, end);
        rest = rest.subarray(end + 1);
      }
    }
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new FileError(code === 'ENOENT' ? `There is no file ${file}.` : `${file} can not be read: ${message}.`, {
      cause,
      isWrongUsage: true,
    });
  }
  if (rest.length > 0) yield rest;
}
