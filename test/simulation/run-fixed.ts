import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { projectRoot } from '../support/project-root.js';

/*
 * The histories that CI tells: the same seeds in each run, one worker a core. A history with a finding ends the run with exit
 * code 1, its story, and the command that tells it again.
 */

const histories = Number(process.argv[2] ?? 650);
const workers = Math.min(8, availableParallelism());

interface Line {
  seed?: number;
  wrong?: string[];
  story?: string[];
  steps?: number;
}

const lines: Line[] = [];
const begunAt = performance.now();
const codes = await Promise.all(
  Array.from({ length: workers }, (_, nth) => {
    const count = Math.ceil((histories - nth) / workers);
    const argv = ['--json', '--seed', String(1 + nth), '--stride', String(workers), '--histories', String(count)];
    // Most of what a history makes is garbage when it is over.
    const worker = spawn(
      process.execPath,
      ['--max-semi-space-size=64', join(projectRoot, 'dist/test/simulation/main.js'), ...argv],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    createInterface({ input: worker.stdout }).on('line', (line) => lines.push(JSON.parse(line) as Line));
    return new Promise<number | null>((resolve) => worker.on('close', resolve));
  }),
);

const found = lines.flatMap(({ seed, wrong = [], story = [] }) => (seed === undefined ? [] : [{ seed, wrong, story }]));
for (const { seed, wrong, story } of found.toSorted((a, b) => a.seed - b.seed)) {
  console.log(`\nseed ${seed}: ${wrong.join('\n  ')}`);
  for (const line of story) console.log(`  ${line}`);
  console.log(`  Again: npm run simulate -- --seed ${seed} --histories 1`);
}
const steps = lines.reduce((sum, { seed, steps = 0 }) => (seed === undefined ? sum + steps : sum), 0);
const seconds = (performance.now() - begunAt) / 1000;
console.log(
  `\nThe simulated world: ${histories} histories, ${steps} steps, ${found.length} with a finding, ${Math.round(seconds)} s, ${Math.round(steps / seconds)} steps/s.`,
);
process.exitCode = codes.every((code) => code === 0) ? 0 : 1;
