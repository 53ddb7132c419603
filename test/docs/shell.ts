import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

/** A shell that stays open, so that `cd` and variables hold from line to line. */
export class Shell {
  readonly #child: ChildProcess;
  #output = '';
  #heard: () => void = () => undefined;

  constructor(cwd: string, env: NodeJS.ProcessEnv) {
    this.#child = spawn('sh', [], { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output += text;
        this.#heard();
      });
  }

  async types(line: string): Promise<{ code: number; output: string }> {
    this.#output = '';
    this.#child.stdin?.write(`{ ${line}\n} </dev/null; printf '\\001%s\\n' $?\n`);
    for (;;) {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: it stands in no output
      const found = /\u0001(\d+)\n/.exec(this.#output);
      if (found) return { code: Number(found[1]), output: this.#output.replace(found[0], '') };
      await new Promise<void>((resolve) => {
        this.#heard = resolve;
      });
    }
  }

  /** Types a line that leaves something running, and waits until that has said so. */
  async starts(line: string, saying: string): Promise<{ code: number; output: string }> {
    const typed = await this.types(line);
    while (!`${typed.output}${this.#output}`.includes(saying))
      await new Promise<void>((resolve) => {
        this.#heard = resolve;
      });
    return typed;
  }

  async close(): Promise<void> {
    this.#child.stdin?.end();
    await once(this.#child, 'close');
  }
}
