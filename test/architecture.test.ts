import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, sep } from 'node:path';
import { expect } from 'chai';
import { projectRoot } from './support/project-root.js';
import { sourceImports } from './support/source-imports.js';

const STAGES = ['erp', 'outbox', 'delivery', 'invoices', 'audit', 'webhooks'];

/** Types of the settings may be named anywhere above `model`; the settings themselves are handed down, not fetched. */
const TYPES_OF_SETTINGS = 'config (types only)';
const BELOW_STAGES = ['store', 'model', TYPES_OF_SETTINGS];
const BELOW_APP = ['jobs', ...STAGES, 'ops', 'store', 'config', 'model'];

/**
 * Which folder (or file) of src may import which. Arrows point one way, and stages don't import each other: what two
 * of them share belongs into `store` or `model`, and what joins them into `jobs`.
 */
const ALLOWED: Record<string, readonly string[]> = {
  main: ['cli', 'model'],
  cli: ['app', ...BELOW_APP],
  app: BELOW_APP,
  jobs: [...STAGES, ...BELOW_STAGES],
  ...Object.fromEntries(STAGES.map((stage) => [stage, BELOW_STAGES])),
  ops: BELOW_STAGES,
  store: ['model', TYPES_OF_SETTINGS],
  config: ['model'],
  model: [],
  // Stand-ins share no code with what they stand in for, so that they can't agree with a bug.
  sandbox: ['model'],
  'sample-erp': ['model'],
};

/** Only these commands may start a stand-in; the rest of the command line is for real work. */
const STAND_INS = ['sandbox', 'sample-erp'];
const STAND_IN_COMMAND = /^cli\/(sandbox|demo|sample-erp)\b/;

/** `cli/demo.ts` belongs to `cli`, and `app.ts` to `app`. */
function partOf(file: string): string {
  return (file.split('/')[0] ?? '').replace(/\.(ts|js)$/, '');
}

/** What is wrong with the imports of `file` (its path in src), a line for each. */
function violations(file: string, source: string): string[] {
  const from = partOf(file);
  const allowed = ALLOWED[from];
  if (allowed === undefined) return [`${file}: add src/${from} to the table in architecture.test.ts, on purpose`];

  return sourceImports(source).flatMap(({ specifier, typeOnly }) => {
    if (specifier === undefined) return [`${file}: import() of a name that is not written out can't be checked`];
    if (!specifier.startsWith('.')) {
      const isLibrary = !specifier.startsWith('node:');
      return isLibrary && from === 'model' ? [`${file}: model needs no library, not even ${specifier}`] : [];
    }

    const target = posix.join(posix.dirname(file), specifier);
    const to = partOf(target);
    if (target.startsWith('..')) return [`${file}: ${specifier} leaves src`];
    if (to === from) return [];
    if (STAND_INS.includes(to) && STAND_IN_COMMAND.test(file)) return [];
    if (allowed.includes(to) || (typeOnly && allowed.includes(`${to} (types only)`))) return [];
    return [`${file} imports ${specifier}, but ${from} may import ${allowed.join(', ') || 'nothing'}`];
  });
}

describe('the arrows between the parts of Waybill', () => {
  it('point one way in every file of src', () => {
    const sources = readdirSync(join(projectRoot, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => file.split(sep).join('/'));
    expect(sources).to.not.be.empty;

    const wrong = sources.flatMap((file) => violations(file, readFileSync(join(projectRoot, 'src', file), 'utf8')));
    expect(wrong, `\n${wrong.join('\n')}\n`).to.be.empty;
  });

  const allowed: [string, string][] = [
    ['main.ts', `import { run } from './cli/run.js';`],
    ['jobs/capture.ts', `import { read } from '../erp/reader.js';`],
    ['erp/sub/reader.ts', `import type { ErpSettings } from '../../config/erp-settings.js';`],
    ['erp/reader.ts', `import { Money } from './money.js';`],
    ['cli/sandbox.ts', `import { startSandbox } from '../sandbox/start-sandbox.js';`],
    ['cli/demo/run.ts', `const { fill } = await import('../../sample-erp/fill.js');`],
  ];
  for (const [file, source] of allowed) {
    it(`allow ${file} to ${source}`, () => {
      expect(violations(file, source)).to.deep.equal([]);
    });
  }

  const refused: [string, string][] = [
    ['model/entity.ts', `import { z } from 'zod';`],
    ['model/entity.ts', `import type { Store } from '../store/store.js';`],
    ['store/store.ts', `import { Outbox } from '../outbox/outbox.js';`],
    ['outbox/outbox.ts', `import type { Verdict } from '../delivery/verdict.js';`],
    ['erp/reader.ts', `import { settings } from '../config/settings.js';`],
    ['erp/reader.ts', `const job = await import('../jobs/capture.js');`],
    ['jobs/capture.ts', `export { app } from '../app.js';`],
    ['sandbox/start.ts', `import { keyOf } from '../outbox/key.js';`],
    ['cli/sync.ts', `import { startSandbox } from '../sandbox/start-sandbox.js';`],
    ['jobs/capture.ts', `import { fill } from '../sample-erp/fill.js';`],
    ['cli/plugin.ts', 'await import(name);'],
    ['app.ts', `import { seed } from '../bench/seed.js';`],
    ['utils/strings.ts', ''],
  ];
  for (const [file, source] of refused) {
    it(`refuse ${file} to ${source || 'be anywhere at all'}`, () => {
      expect(violations(file, source)).to.have.length(1);
    });
  }
});
