import { readFileSync, rmSync } from 'node:fs';
import { writeSealedLines } from '../../src/store/sealed-lines.js';

/** Changes the lines of a sealed file, and seals it anew, as if Waybill had written it so. */
export async function rewriteSealed(file: string, change: (lines: string) => string): Promise<void> {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n').slice(0, -1).join('\n');
  rmSync(file);
  await writeSealedLines(file, (write) =>
    write(
      change(lines)
        .split('\n')
        .map((line) => JSON.parse(line) as object),
    ),
  );
}
