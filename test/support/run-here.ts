import { run } from '../../src/cli/run.js';
import { capturingOutput, type Printed } from '../cli/installation.js';

let last: Promise<unknown> = Promise.resolve();

/** The parts of its process that a command uses. */
interface Place {
  /** Variables laid over those of this process. */
  env: Record<string, string | undefined>;
  cwd?: string;
}

/**
 * Runs `waybill …` in this process: a process of its own takes half a second of CPU to start. One command at a time, because they
 * share environment, folder and output.
 */
export function runHere(argv: readonly string[], place: Place): Promise<Printed> {
  const printed = last.then(() => inPlace(place, () => capturingOutput(() => run(['node', 'waybill', ...argv]))));
  last = printed.catch(() => undefined);
  return printed;
}

async function inPlace<T>({ env, cwd = process.cwd() }: Place, work: () => Promise<T>): Promise<T> {
  const before = { env: { ...process.env }, cwd: process.cwd(), exit: process.listeners('exit') };
  Object.assign(process.env, env);
  process.chdir(cwd);
  try {
    return await work();
  } finally {
    process.chdir(before.cwd);
    // The end of its process would have been the end of these.
    for (const listener of process.listeners('exit'))
      if (!before.exit.includes(listener)) process.off('exit', listener);
    for (const name of Object.keys(env)) delete process.env[name];
    Object.assign(process.env, before.env);
  }
}
