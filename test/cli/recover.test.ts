import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { run } from '../../src/cli/run.js';
import { createSampleErp } from '../../src/lab/sample-erp/create-sample-erp.js';
import { type Sandbox, startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import { canary, Installation } from '../e2e/installation.js';
import { sandboxLookUps } from '../support/sandbox-look-ups.js';
import { rewriteSealed } from '../support/sealed-file.js';
import { openSqlite } from '../support/sqlite-file.js';
import { useTempDir } from '../support/temp-dir.js';
import { capturingOutput, type Printed } from './installation.js';

const orders = 4;
const customers = 2;
/** The knowledge of a store, without the rows that every process writes when it starts. */
const known = ['outbox_message', 'binding', 'closed_binding', 'adoption', 'audit_log', 'capture_cursor'];

/** One way in which a person may ask, and what it needs. */
interface Asked {
  options: string[];
  /** It says how to find out what was sent, so it starts a recovery by itself. */
  starts: boolean;
  /** Why it is refused in every state, or null. */
  refused: RegExp | null;
}

describe('waybill recover, asked in every way of a store in every state', function () {
  this.timeout(300_000);
  const dir = useTempDir();
  let sandbox: Sandbox;
  const token = process.env.WAYBILL_SERVICE_TOKEN;
  const exported = () => dir.file('export.jsonl');
  const sentSince = new Date(Date.now() - 3_600_000).toISOString();

  const installation = (name: string) =>
    new Installation({
      folder: dir.file(name),
      serviceUrl: sandbox.url,
      erp: { type: 'sqlite', file: dir.file('erp.sqlite') },
      store: { type: 'sqlite' },
      settings: {
        service: { environment: 'production', baseUrl: sandbox.url, endpoints: sandboxLookUps },
      },
    });
  const waybill = (at: Installation, ...argv: string[]): Promise<Printed> =>
    capturingOutput(() => run(['node', 'waybill', ...argv, '--config', at.configDir]));
  const succeeds = async (at: Installation, codes: number[], ...argv: string[]) => {
    const printed = await waybill(at, ...argv);
    expect(codes, `${argv.join(' ')}\n${printed.stdout}${printed.stderr}`).to.include(printed.code);
    return printed;
  };
  const onStore = <T>(at: Installation, work: (sql: (text: string) => unknown[]) => T): T => {
    const database = openSqlite(at.storeFile);
    try {
      return work((text) => database.prepare(text).all());
    } finally {
      database.close();
    }
  };
  const dump = (at: Installation) =>
    onStore(at, (sql) => [
      ...known.map((table) => sql(`SELECT * FROM ${table} ORDER BY 1, 2`)),
      sql("SELECT * FROM store_info WHERE name IN ('incarnation','recovery','go_live','recovered_to') ORDER BY name"),
    ]);
  const holdOf = (at: Installation): { kind: string } | null => {
    const [row] = onStore(at, (sql) => sql("SELECT value FROM store_info WHERE name='recovery'")) as {
      value: string;
    }[];
    return row ? JSON.parse(row.value) : null;
  };
  const change = (at: Installation, sql: string) => {
    const database = openSqlite(at.storeFile);
    database.exec(sql);
    database.close();
  };
  const remove = (at: Installation, what: 'store' | 'witness') => {
    if (what === 'witness') return rmSync(join(at.options.folder, 'witness'), { recursive: true });
    for (const end of ['', '-wal', '-shm']) rmSync(at.storeFile + end, { force: true });
  };
  const writes = () => sandbox.ledger().requests.filter(({ method }) => method !== 'GET').length;

  before(async () => {
    process.env.WAYBILL_SERVICE_TOKEN = canary.token;
    sandbox = await startSandbox({ token: canary.token });
    await createSampleErp({ target: { type: 'sqlite', file: dir.file('erp.sqlite') }, customers, orders });
    const live = installation('live');
    await succeeds(live, [0], 'go-live', '--first-installation', '--yes');
    await succeeds(live, [0], 'sync', '--limit', '2', '--trial');
    await succeeds(live, [0], 'backup', dir.file('copy.sqlite'));
    await succeeds(live, [0], 'sync');
    await succeeds(live, [0], 'bindings', 'export', exported());
    expect(sandbox.counts()).to.include({ orders, customers });
    for (const name of Object.keys(states)) {
      if (name !== 'live') cpSync(dir.file('live'), dir.file(name), { recursive: true });
      await states[name]?.(installation(name));
    }
  });
  after(async () => {
    if (token === undefined) delete process.env.WAYBILL_SERVICE_TOKEN;
    else process.env.WAYBILL_SERVICE_TOKEN = token;
    await sandbox.close();
  });

  const lose = (at: Installation) => {
    remove(at, 'store');
    remove(at, 'witness');
  };
  const restore = (at: Installation) => {
    remove(at, 'store');
    cpSync(dir.file('copy.sqlite'), at.storeFile);
  };
  /** The origins of each store; `status` runs first on each, so that the findings of its start are on record. */
  const states: Record<string, (at: Installation) => Promise<unknown> | unknown> = {
    live: () => undefined,
    'lost with its witness': (at) => lose(at),
    'lost with its witness, then captured': async (at) => {
      lose(at);
      await succeeds(at, [0], 'sync', 'capture');
    },
    'lost with its witness, then sent in part': async (at) => {
      lose(at);
      await succeeds(at, [0], 'sync', '--limit', '2', '--trial');
      const [one] = onStore(at, (sql) => sql("SELECT source_key FROM binding WHERE entity='order'")) as {
        source_key: string;
      }[];
      // The service had forgotten the key of one of them.
      change(at, `UPDATE binding SET service_id='ord_second' WHERE entity='order' AND source_key='${one?.source_key}'`);
    },
    lost: (at) => remove(at, 'store'),
    'an older copy': (at) => restore(at),
    'an older copy without its witness': (at) => {
      restore(at);
      remove(at, 'witness');
    },
    'recovered in part': async (at) => {
      lose(at);
      await succeeds(at, [0], 'sync', 'capture');
      change(
        at,
        `INSERT INTO store_info (name, value) VALUES ('recovery',
          '{"kind":"stated","reason":"a person said so","since":1,"witness":null,"copyAt":null}')`,
      );
    },
  };
  /** The reason that holds delivery in each state. */
  const holds: Record<string, string | null> = {
    live: null,
    'lost with its witness': null,
    'lost with its witness, then captured': null,
    'lost with its witness, then sent in part': null,
    lost: 'lost',
    'an older copy': 'older',
    'an older copy without its witness': 'unwitnessed',
    'recovered in part': 'stated',
  };

  const bindings = () => ['--bindings', exported()];
  const asked: Record<string, () => Asked> = {
    '(no option)': () => ({ options: [], starts: false, refused: null }),
    '--bindings': () => ({ options: bindings(), starts: true, refused: null }),
    '--bindings --look-up': () => ({ options: [...bindings(), '--look-up'], starts: true, refused: null }),
    '--look-up': () => ({ options: ['--look-up'], starts: true, refused: null }),
    '--from-service --sent-since': () => ({
      options: ['--from-service', '--sent-since', sentSince],
      starts: true,
      refused: null,
    }),
    '--from-service --sent-since --first-keys': () => ({
      options: ['--from-service', '--sent-since', sentSince, '--first-keys'],
      starts: true,
      refused: null,
    }),
    '--first-keys': () => ({
      options: ['--first-keys'],
      starts: false,
      refused: /--first-keys belongs to --from-service/,
    }),
    '--park': () => ({ options: ['--park', '--reason', 'a test'], starts: true, refused: null }),
    '--same-store': () => ({ options: ['--same-store'], starts: false, refused: null }),
    '--sent-since': () => ({
      options: ['--sent-since', sentSince],
      starts: false,
      refused: /--sent-since belongs to --from-service/,
    }),
    '--same-store --bindings': () => ({
      options: ['--same-store', ...bindings()],
      starts: false,
      refused: /--same-store says that nothing was lost, and --bindings/,
    }),
    '--from-service --look-up': () => ({
      options: ['--from-service', '--sent-since', sentSince, '--look-up'],
      starts: false,
      refused: /--from-service and --look-up say different things/,
    }),
    '--park --look-up': () => ({
      options: ['--look-up', '--park'],
      starts: false,
      refused: /--look-up and --park say different things/,
    }),
  };

  /** Nothing that was asked for is passed over in silence. */
  function expectNothingDone(
    run: { code: number | null; stderr: string },
    options: readonly string[],
    refused: RegExp | null,
  ) {
    expect(run.code).to.equal(options.length === 0 ? 0 : 2);
    if (refused) expect(run.stderr).to.match(refused);
    else if (options.length > 0) expect(run.stderr).to.match(/Nothing is held|proves that it is not the same store/);
  }

  for (const [state, kind] of Object.entries(holds))
    for (const [name, given] of Object.entries(asked))
      it(`${name}: ${state}`, async () => {
        const { options, starts, refused } = given();
        const copy = dir.file(`${state}, asked`);
        rmSync(copy, { recursive: true, force: true });
        cpSync(dir.file(state), copy, { recursive: true });
        const at = installation(`${state}, asked`);
        // The findings of a start are on record before anything is compared.
        await succeeds(at, [0, 3], 'sync', 'pull', '--json');
        expect(holdOf(at)?.kind ?? null).to.equal(kind);
        const before = dump(at);
        const sent = writes();
        const unchanged = () => expect(dump(at)).to.deep.equal(before);

        const isSame = options.includes('--same-store');
        const mayBeSame = kind === 'unwitnessed' || kind === 'stated';
        const fits = isSame ? mayBeSame : starts || kind !== null;
        const works = !refused && fits;
        const dry = await waybill(at, 'recover', ...options, '--dry-run', '--json');
        unchanged();
        const real = await waybill(at, 'recover', ...options, '--yes', '--json');
        expect(writes()).to.equal(sent);
        if (!works) {
          for (const run of [dry, real]) expectNothingDone(run, options, refused);
          unchanged();
          if (options.length > 0) return;
          const plain = await waybill(at, 'recover');
          expect(plain.stdout).to.match(/There is nothing to recover.*Nothing was changed/);
          expect(plain.stdout).to.match(/lost together with its witness.*waybill recover --bindings FILE/);
          const reason = await waybill(at, 'recover', '--reason', 'a new disk', '--yes');
          expect([reason.code, reason.stdout]).to.deep.equal([2, '']);
          expect(reason.stderr).to.contain('There is nothing to recover').and.to.contain('--reason');
          return;
        }
        expect(dry.code, dry.stderr).to.equal(0);
        expect(real.code, real.stderr).to.be.oneOf([0, 3]);
        expect(holdOf(at)).to.equal(null);
        const [line] = onStore(at, (sql) => sql('SELECT outcome FROM audit_log ORDER BY id DESC')) as object[];
        if (isSame) {
          expect(line).to.deep.equal({ outcome: 'same_store' });
          return;
        }
        const foreseen = JSON.parse(dry.stdout);
        const done = JSON.parse(real.stdout);
        expect(onStore(at, (sql) => sql("SELECT 1 FROM audit_log WHERE outcome='recover'"))).to.have.length(1);
        // The dry run has shown exactly this.
        const { imported, older, taken, removed, refused: named } = done.bindings;
        expect(foreseen.bindings).to.deep.equal({ imported, older, taken, removed, refused: named });
        expect(foreseen).to.include({
          doubtedBindings: done.doubtedBindings,
          unproven: done.unproven,
          to: done.to,
        });
        expect(foreseen.customers + foreseen.orders).to.equal(done.unbound + done.unproven);
        if (!name.startsWith('--bindings')) return;
        expect(done.bindings).to.include({ imported: done.bindings.imported });
        const isInConflict = state === 'lost with its witness, then sent in part';
        expect(done.unbound).to.equal(0);
        expect(done.bindings.taken).to.equal(Number(isInConflict));
        if (isInConflict) {
          expect(real.code).to.equal(3);
          expect(named[0]).to.include({ entity: 'order', boundTo: 'ord_second' });
        }
      });

  it('never sends again from the service what went out under other keys, also when the note of it was lost', async () => {
    const bySince = ['--from-service', '--sent-since', sentSince];
    const begin = async (name: string) => {
      const folder = dir.file(name);
      cpSync(dir.file('live'), folder, { recursive: true });
      const at = installation(name);
      change(at, "INSERT INTO store_info (name, value) VALUES ('rekeyed_at', '1700000000000')");
      await succeeds(at, [0], 'sync', 'capture');
      const file = join(folder, 'export.jsonl');
      await succeeds(at, [0], 'bindings', 'export', file);
      return { at, file };
    };
    const refuses = async (at: Installation, ...options: string[]) => {
      const { code, stderr } = await waybill(at, 'recover', ...options, '--yes');
      expect([code, stderr.includes('The records got other keys')]).to.deep.equal([2, true]);
    };
    const rekeyed = (at: Installation) =>
      onStore(at, (sql) => sql("SELECT value FROM store_info WHERE name='rekeyed_at'"));

    const witnessed = await begin('rekeyed');
    remove(witnessed.at, 'store');
    await refuses(witnessed.at, ...bySince);
    await succeeds(witnessed.at, [3], 'recover', '--park', '--yes');
    expect(rekeyed(witnessed.at)).to.deep.equal([{ value: '1700000000000' }]);

    const all = await begin('rekeyed, all lost');
    lose(all.at);
    await refuses(all.at, '--bindings', all.file, ...bySince);
    await succeeds(all.at, [0], 'recover', '--bindings', all.file, '--yes');
    expect(rekeyed(all.at)).to.deep.equal([{ value: '1700000000000' }]);
  });

  it('takes no export of another installation, and holds nothing then', async () => {
    cpSync(dir.file('lost with its witness'), dir.file('foreign'), { recursive: true });
    const at = installation('foreign');
    const file = dir.file('foreign.jsonl');
    cpSync(exported(), file);
    await rewriteSealed(file, (lines) => lines.replace('"e2e-test"', '"another"'));
    for (const how of ['--dry-run', '--yes']) {
      const { code, stderr } = await waybill(at, 'recover', '--bindings', file, how);
      expect([code, stderr.includes('belongs to another')]).to.deep.equal([2, true]);
    }
    expect(holdOf(at)).to.equal(null);
  });
});
