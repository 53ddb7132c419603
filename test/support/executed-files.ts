import { type Profiler, Session } from 'node:inspector';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { projectRoot } from './project-root.js';

const compiled = join(projectRoot, 'dist/src/');

/** Tells which files of src run: those of which at least one function was called, as the engine counts it. */
export class ExecutedFiles {
  readonly #session = new Session();

  constructor() {
    this.#session.connect();
    this.#session.post('Profiler.enable');
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  }

  /** Forgets what ran so far. */
  reset(): void {
    this.take();
  }

  /** Paths in src, e.g. `outbound/deliver/deliver.ts`, of what ran since the last call; stand-ins are left out. */
  take(): string[] {
    let covered: Profiler.ScriptCoverage[] = [];
    // An in-process session answers before post() returns.
    this.#session.post('Profiler.takePreciseCoverage', (error, { result }) => {
      if (error) throw error;
      covered = result;
    });
    return covered
      .flatMap(({ url, functions }) => {
        const file = url.startsWith('file:') ? fileURLToPath(url) : '';
        // The module itself is a function without a name, which runs when it is loaded.
        const ran = functions.some(
          ({ functionName, ranges: [range] }) =>
            range && range.count > 0 && (functionName !== '' || range.startOffset > 0) && !isField(functionName),
        );
        return file.startsWith(compiled) && ran ? [file.slice(compiled.length).replace(/\.js$/, '.ts')] : [];
      })
      .filter((file) => !file.startsWith('lab/'))
      .sort();
  }

  end(): void {
    this.#session.post('Profiler.stopPreciseCoverage');
    this.#session.disconnect();
  }
}

function isField(functionName: string): boolean {
  return functionName === '<instance_members_initializer>' || functionName === '<static_initializer>';
}
