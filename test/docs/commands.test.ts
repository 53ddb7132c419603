import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { parse, stringify } from 'yaml';
import { createSampleErp } from '../../src/lab/sample-erp/create-sample-erp.js';
import { type Sandbox, startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import { ensure } from '../support/needed-programs.js';
import { projectRoot } from '../support/project-root.js';
import { runHere } from '../support/run-here.js';
import { openSqlite } from '../support/sqlite-file.js';
import { useTempDir } from '../support/temp-dir.js';
import { type Document, documents } from './documents.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const run = promisify(execFile);

/** The words after `waybill` in a line that needs no shell, of a command that ends by itself; null for any other line. */
function plainCommand(line: string): string[] | null {
  const typed = line
    .replace(/^npm run (?:--silent )?(?:waybill -- |(?=(?:audit|resync)\b))/, 'waybill ')
    .replace(' -- ', ' ');
  const [, words = ''] = /^waybill (?!daemon|sandbox|demo)([^|&;<>$`\\#*]+)$/.exec(typed) ?? [];
  const found = [...words.matchAll(/'([^']*)'|"([^"]*)"|([^\s'"]+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? '');
  return found.length > 0 ? found : null;
}

/** A shell in which `npm run …` and `waybill …` call the program under test. */
class Reader {
  readonly #env: NodeJS.ProcessEnv;

  constructor(
    readonly folder: string,
    readonly serviceUrl: string,
  ) {
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    const script = (name: string, text: string) => {
      writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`);
      chmodSync(join(bin, name), 0o755);
    };
    const waybill = `"${process.execPath}" "${main}"`;
    script('waybill', `exec ${waybill} "$@"`);
    // TypeORM's command line is a program of the checkout; its store is the reader's.
    const typeorm = `cd "${projectRoot}" && exec "${process.execPath}" --import tsx node_modules/typeorm/cli.js "$@"`;
    script(
      'npm',
      `[ "$1" = run ] && shift
[ "$1" = --silent ] && shift
name=$1; shift; [ "$1" = -- ] && shift
case $name in
  waybill) exec ${waybill} "$@" ;;
  audit|resync) exec ${waybill} "$name" "$@" ;;
  typeorm) export WAYBILL_CONFIG="$PWD/config" WAYBILL_STORE_FILE="$PWD/data/production.sqlite"; ${typeorm} ;;
  *) echo "npm run $name is not for this test" >&2; exit 99 ;;
esac`,
    );
    this.#env = {
      PATH: `${bin}${delimiter}${process.env.PATH}`,
      HOME: folder,
      TMPDIR: process.env.TMPDIR,
    };
  }

  /** Types a block as it stands, but for the port of the sandbox and the id of an order there. */
  async types(block: string, orderId = ''): Promise<{ code: number | null; output: string }> {
    const text = block.replaceAll('http://127.0.0.1:8080', this.serviceUrl).replaceAll('ord_4f0c1a_1', orderId);
    const commands = text.trim().split('\n').map(plainCommand);
    if (commands.every((words) => words !== null)) return this.#runsHere(commands);
    const shell = spawn('sh', ['-e', '-c', text], {
      cwd: this.folder,
      env: this.#env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [shell.stdout, shell.stderr])
      stream.setEncoding('utf8').on('data', (part) => {
        output += part;
      });
    const [code] = (await once(shell, 'close')) as [number | null];
    return { code, output };
  }

  /** Runs a line as a shell would, without starting a process for each. */
  async #runsHere(commands: readonly string[][]): Promise<{ code: number; output: string }> {
    let output = '';
    for (const words of commands) {
      const { code, stdout, stderr } = await runHere(words, { env: {}, cwd: this.folder });
      output += stdout + stderr;
      if (code !== 0) return { code, output };
    }
    return { code: 0, output };
  }

  /** Changes config/local.yaml, as the page tells its reader to. */
  edits(change: (settings: Record<string, Record<string, unknown>>) => void): void {
    const file = join(this.folder, 'config/local.yaml');
    const settings = parse(readFileSync(file, 'utf8'));
    change(settings);
    writeFileSync(file, stringify(settings));
  }
}

describe('the commands in the documents', () => {
  const tempDir = useTempDir();
  let sandbox: Sandbox;
  let reader: Reader;

  before(async () => {
    ensure('shellTools');
    sandbox = await startSandbox();
    mkdirSync(tempDir.file('office'));
    reader = new Reader(tempDir.file('office'), sandbox.url);
    cpSync(join(projectRoot, 'config/example'), join(reader.folder, 'config/example'), { recursive: true });
    copyFileSync(join(projectRoot, 'config/default.yaml'), join(reader.folder, 'config/default.yaml'));
    const erpFile = join(reader.folder, 'erp.sqlite');
    await createSampleErp({ target: { type: 'sqlite', file: erpFile }, customers: 4, orders: 12 });
  });
  after(() => sandbox.close());

  /** The steps that a page asks its reader to do by hand, before or after a block. */
  const byHand: { beside: string; when: 'before' | 'after'; work: () => void }[] = [
    {
      beside: 'cp config/example/local.yaml config/local.yaml',
      when: 'after',
      work: () =>
        reader.edits((settings) => {
          settings.erp = { type: 'sqlite', file: '../erp.sqlite', timeZone: 'Europe/Berlin' };
          const idempotency = { lifetimeHours: 24 };
          settings.service = { environment: 'sandbox', baseUrl: sandbox.url, tokenFile: 'service-token', idempotency };
        }),
    },
    {
      beside: 'waybill reconcile orders',
      when: 'before',
      work: () =>
        reader.edits((settings) => {
          settings.service = { ...settings.service, endpoints: { readOrder: {} } };
        }),
    },
    {
      beside: 'sync --limit 5 --trial',
      when: 'before',
      work: () =>
        reader.edits((settings) => {
          settings.service = { ...settings.service, environment: 'production' };
          settings.store = { type: 'sqlite', file: 'data/production.sqlite' };
        }),
    },
  ];

  for (const document of documents()) {
    for (const { text } of document.fences.filter(({ language }) => language === 'sh')) {
      it(`work in ${document.path}: ${text.split('\n')[0]}`, async () => {
        for (const { beside, when, work } of byHand) if (when === 'before' && text.includes(beside)) work();
        const { code, output } = await reader.types(text, sandbox.ledger().orders[0]?.order_id);
        // docs/sandbox.md took an order away at the service: something is found.
        const expected = text.startsWith('waybill reconcile orders') ? 3 : 0;
        expect(code, `${text}\n${output}`).to.equal(expected);
        expect(output).not.to.match(/Warning:|"error":/);
        for (const { beside, when, work } of byHand) if (when === 'after' && text.includes(beside)) work();
      });
    }
  }

  it('leave invoices that the shown SQL finds', () => {
    const statements = documents().flatMap(({ fences }) => fences.filter(({ language }) => language === 'sql'));
    expect(statements).to.not.be.empty;
    const store = openSqlite(join(reader.folder, 'data/production.sqlite'), { readonly: true });
    try {
      const found = statements.map(({ text }) => store.prepare(text).all());
      expect(found[0]).to.have.length.above(2);
    } finally {
      store.close();
    }
  });

  it('have sent each order once by now', () => {
    const { counts } = sandbox.ledger();
    expect(counts.duplicateReferences).to.equal(0);
    // docs/sandbox.md takes one of the twelve away.
    expect(counts.orders).to.equal(11);
  });
});

describe('the demo', () => {
  it('prints the keys that other programs rely on', async () => {
    const { stdout } = await run(process.execPath, [main, 'demo', '--orders', '5', '--customers', '3', '--json']);
    const printed = JSON.parse(stdout);
    expect(printed).to.have.all.keys(
      'captured',
      'delivered',
      'attempts',
      'duplicatesAtService',
      'throttled',
      'invoices',
      'seconds',
      'rateUtilisation',
    );
    expect(printed.captured).to.deep.equal({ customers: 3, orders: 5 });
    expect(printed.delivered).to.deep.equal({ customers: 3, orders: 5 });
    expect(printed.invoices).to.have.all.keys('unpaid', 'pages');
  });

  it('prints what the README shows', async () => {
    const { stdout, stderr } = await run(process.execPath, [main, 'demo', '--limit', '1000']);
    const shown = shownOutput(documents()[0] as Document);
    expect(skeleton(stdout)).to.satisfy((text: string) => text.startsWith(skeleton(shown)), stdout);
    expect(stderr).to.equal('');
  });
});

function shownOutput({ fences }: Document): string {
  const block = fences.find(({ text }) => text.includes('npm run demo\n'))?.text ?? '';
  return block.slice(block.indexOf('\n') + 1);
}

/** The part that stays the same from run to run: not the numbers, ids and the widths that follow from them. */
function skeleton(text: string): string {
  return text
    .replaceAll(/ord_\w+/g, 'ord')
    .replaceAll(/\d+(\.\d+)?/g, '#')
    .replaceAll(/─+/g, '─')
    .replaceAll(/ +/g, ' ')
    .trim();
}
