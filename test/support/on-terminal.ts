import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));

/**
 * Runs a command of Waybill on a pseudo-terminal (`script` of util-linux, which every Debian has) and answers what it asks.
 * @param talk what stands on the screen, and what is typed then, in their order
 */
export async function onTerminal(
  command: readonly string[],
  talk: readonly (readonly [asked: string, answer: string])[],
): Promise<{ code: number | null; shown: string }> {
  const quoted = [process.execPath, main, ...command].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  const child = spawn('script', ['-qec', quoted, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  let shown = '';
  let read = 0;
  const open = [...talk];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
    const at = open[0] ? shown.indexOf(open[0][0], read) : -1;
    if (at < 0) return;
    const [asked = '', answer = ''] = open.shift() ?? [];
    read = at + asked.length;
    child.stdin.write(`${answer}\r`);
  });
  const [code] = await ended;
  return { code, shown };
}
