import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect } from 'chai';
import { createSampleErp } from '../../src/lab/sample-erp/create-sample-erp.js';
import { type Sandbox, startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import { documents, shellWords, typedLines } from '../docs/documents.js';
import { isFullMatrix } from '../store/stores.js';
import { insertSampleOrder } from '../support/change-sample-erp.js';
import { sandboxLookUps } from '../support/sandbox-look-ups.js';
import { openSqlite } from '../support/sqlite-file.js';
import { useTempDir } from '../support/temp-dir.js';
import { canary, Installation } from './installation.js';

const customers = 4;
/** Sent before the copy and the export of the night. */
const early = 8;

type Age = 'early' | 'late' | 'new';

interface Proof {
  /** Takes the place of the page's option. */
  option: string;
  /** Absent: the service can not be asked. `absenceProves` of its settings. */
  lookUp?: { absenceProves: boolean };
  /** The orders that are left to a person. What a restored copy knows is not among them. */
  leaves: readonly Age[];
}

/** How a person can prove what was sent, as the table of the page says. */
const proofs: Record<string, Proof> = {
  'an export': { option: '--bindings BACKUPS/bindings.jsonl', leaves: ['late', 'new'] },
  'side tables': { option: '--side-tables', leaves: ['new'] },
  'an export and a look-up': {
    option: '--bindings BACKUPS/bindings.jsonl --look-up',
    lookUp: { absenceProves: true },
    leaves: [],
  },
  'a look-up': { option: '--look-up', lookUp: { absenceProves: false }, leaves: ['new'] },
  'keys at the service': { option: '--from-service --sent-since SINCE', leaves: [] },
  nothing: { option: '--park', leaves: ['early', 'late', 'new'] },
};

/** What happens, and the heading of docs/recovery.md under which the way out stands. */
const disasters = {
  disk: 'The disk is lost, with everything on it',
  store: 'Only the store is lost',
  copy: 'An older copy takes the place of the store',
  'copy and ERP': 'ERP and store were restored, to different days',
} as const;
type Disaster = keyof typeof disasters;

const page = documents().find(({ path }) => path === 'docs/recovery.md');
const sections = new Map(
  (page?.text ?? '').split(/^## /m).map((section) => {
    const [heading = ''] = section.split('\n');
    const blocks = [...section.matchAll(/^```console\n([\s\S]*?)^```$/gm)].map(([, text = '']) =>
      typedLines({ language: 'console', text }),
    );
    return [heading, blocks.flat()];
  }),
);
const linesUnder = (heading: string) => {
  const lines = sections.get(heading) ?? [];
  expect(lines, heading).to.not.be.empty;
  expect(lines.length, `commands under “${heading}”`).to.be.at.most(5);
  return lines;
};

describe('docs/recovery.md, typed after each disaster', function () {
  this.timeout(600_000);
  const dir = useTempDir();
  let sandbox: Sandbox;
  let count = 0;

  /** A company on one server: production, side tables in the ERP, and a service that can be asked. */
  class Company {
    readonly folder = dir.file(`company-${++count}`);
    readonly backups = join(this.folder, 'backups');
    readonly erp = { type: 'sqlite' as const, file: join(this.folder, 'erp.sqlite') };
    /** The orders of each age, by the ERP's key, with their numbers. */
    readonly orders: Record<Age, Map<string, string>> = { early: new Map(), late: new Map(), new: new Map() };
    since = '';
    server: Installation;

    constructor(
      readonly lookUp: Proof['lookUp'],
      readonly installation = 'e2e-test',
    ) {
      mkdirSync(this.backups, { recursive: true });
      this.server = this.install();
    }

    /** Puts program and settings on the server; its disk holds what it holds. */
    install(): Installation {
      const service = { environment: 'production', baseUrl: sandbox.url };
      return new Installation({
        folder: join(this.folder, 'server'),
        serviceUrl: sandbox.url,
        erp: this.erp,
        store: { type: 'sqlite' },
        settings: {
          installation: this.installation,
          service: this.lookUp ? { ...service, endpoints: lookUps(this.lookUp) } : service,
          writeBack: { enabled: true, invoices: { enabled: false } },
        },
      });
    }

    async succeeds(...argv: string[]): Promise<string> {
      const { code, stdout, stderr } = await this.server.run(...argv);
      expect(code, `waybill ${argv.join(' ')}\n${stdout}${stderr}`).to.be.oneOf([0, 3]);
      return stdout;
    }

    inErp<T>(work: (database: ReturnType<typeof openSqlite>) => T): T {
      const database = openSqlite(this.erp.file);
      try {
        return work(database);
      } finally {
        database.close();
      }
    }

    /** Names the orders of the ERP that nobody has named yet. */
    note(age: Age): void {
      const known = new Set(Object.values(this.orders).flatMap((orders) => [...orders.keys()]));
      const sql =
        "SELECT CAST(id AS TEXT) AS id, order_no FROM sales_orders WHERE status='confirmed' AND currency='EUR' AND created_at>='2026-01-01'";
      const rows = this.inErp((erp) => erp.prepare(sql).all() as NumberedOrder[]);
      for (const { id, order_no } of rows) if (!known.has(id)) this.orders[age].set(id, order_no);
    }

    /** The life of the company until the disaster. */
    async live(): Promise<void> {
      await createSampleErp({ target: this.erp, customers, orders: early });
      this.note('early');
      const { tables } = JSON.parse(await this.succeeds('erp', 'side-tables', '--json'));
      this.inErp((erp) => {
        for (const table of tables as string[]) erp.exec(table);
      });
      this.since = new Date(Date.now() - 60_000).toISOString();
      await this.succeeds('go-live', '--first-installation', '--yes');
      await this.succeeds('sync');
      await this.type(linesUnder('Before it happens').slice(0, 2));
      copyFileSync(this.erp.file, join(this.backups, 'erp.sqlite'));
      await insertSampleOrder(this.erp, { customerId: 2 });
      await insertSampleOrder(this.erp, { customerId: 3 });
      this.note('late');
      await this.succeeds('sync');
    }

    async happens(disaster: Disaster): Promise<void> {
      const server = join(this.folder, 'server');
      if (disaster === 'disk') rmSync(server, { recursive: true });
      else for (const end of ['', '-wal', '-shm']) rmSync(this.server.storeFile + end, { force: true });
      if (disaster === 'copy and ERP') {
        copyFileSync(join(this.backups, 'erp.sqlite'), this.erp.file);
        // The ERP does not know them any more, and gives their keys again.
        this.orders.late.clear();
      }
      this.server = this.install();
      // Work goes on in the ERP.
      await insertSampleOrder(this.erp, { customerId: 1, time: '2031-03-04 10:00:00.000000' });
      this.note('new');
    }

    /** Types lines of the page; those that ask are answered with yes. */
    async type(lines: readonly string[], option?: string): Promise<void> {
      for (const line of lines) {
        const words = shellWords(this.here(option ? line.replace(/--bindings \S+/, option) : line));
        const [program = '', ...rest] = words;
        if (program === 'systemctl') continue;
        if (program === 'rm') this.removes(rest.at(-1) ?? '');
        else if (program === 'install') copyFileSync(rest.at(-2) ?? '', rest.at(-1) ?? '');
        else {
          expect(program, line).to.equal('waybill');
          const asks = ['recover', 'go-live', 'confirm', 'outbox'].includes(rest[0] ?? '');
          await this.succeeds(...rest, ...(asks ? ['--yes'] : []));
        }
      }
    }

    removes(pattern: string): void {
      const begin = basename(pattern).replace('*', '');
      const folder = join(pattern, '..');
      for (const name of readdirSync(folder)) if (name.startsWith(begin)) rmSync(join(folder, name));
    }

    /** The page's places on this server. */
    here(line: string): string {
      return line
        .replaceAll('/var/backups', this.backups)
        .replaceAll('BACKUPS', this.backups)
        .replaceAll('/var/lib/waybill/waybill.sqlite', this.server.storeFile)
        .replaceAll(/\b(there|missing)\.csv/g, join(this.backups, '$1.csv'))
        .replaceAll('SINCE', this.since);
    }

    numbers(): string[] {
      return Object.values(this.orders).flatMap((orders) => [...orders.values()]);
    }

    async parked(): Promise<{ customers: number; orders: string[] }> {
      const { messages } = JSON.parse(await this.succeeds('outbox', '--state', 'parked', '--json', '--limit', '1000'));
      const open = messages as { entity: string; sourceKey: string }[];
      return {
        customers: open.filter(({ entity }) => entity === 'customer').length,
        orders: open.filter(({ entity }) => entity === 'order').map(({ sourceKey }) => sourceKey),
      };
    }

    /** Looks at the service for each order that is parked, as the page says. */
    async decide(): Promise<void> {
      const open = await this.parked();
      const numbers = new Map(Object.values(this.orders).flatMap((orders) => [...orders]));
      const there = new Map(sandbox.ledger().orders.map(({ reference, order_id }) => [reference, order_id]));
      const found = open.orders.map((key) => [key, there.get(numbers.get(key) ?? '')] as const);
      const write = (name: string, lines: readonly string[]) =>
        writeFileSync(join(this.backups, name), `${lines.join('\n')}\n`);
      write(
        'there.csv',
        found.flatMap(([key, id]) => (id ? [`${key};${id}`] : [])),
      );
      write(
        'missing.csv',
        found.flatMap(([key, id]) => (id ? [] : [key])),
      );
      const [ofCustomers = '', ofThere = '', ofMissing = ''] = linesUnder('What you decide');
      if (open.customers > 0) await this.type([ofCustomers]);
      if (found.some(([, id]) => id)) await this.type([this.lookUp ? ofThere : `${ofThere} --unchecked`]);
      if (found.some(([, id]) => !id)) await this.type([ofMissing]);
    }
  }

  beforeEach(async () => {
    sandbox = await startSandbox({ token: canary.token });
  });
  afterEach(() => sandbox.close());

  const isTypedAfter = (disaster: Disaster, name: string, areKeysForgotten: boolean) =>
    it(`${disaster} lost, with ${name}${areKeysForgotten ? ', keys forgotten' : ''}`, async () => {
      const { option, leaves, lookUp } = proofs[name] as Proof;
      const company = new Company(lookUp);
      await company.live();
      const sent = company.numbers();
      await company.happens(disaster);
      if (areKeysForgotten) sandbox.forgetKeys();
      const writes = () => sandbox.ledger().requests.filter(({ method }) => method !== 'GET').length;
      const before = writes();
      await company.succeeds('sync');
      expect(writes(), 'nothing is sent before a person says so').to.equal(before);

      const isCopy = disaster === 'copy' || disaster === 'copy and ERP';
      const said = disaster === 'disk' ? option.replace('SINCE', 'SINCE --first-keys') : option;
      await company.type(
        linesUnder(isCopy ? disasters.copy : disasters[disaster]),
        isCopy ? said.replace(' --sent-since SINCE', '') : said,
      );
      await company.succeeds('sync');
      if (disaster === 'copy and ERP') {
        const { holds } = JSON.parse(await company.succeeds('status', '--json'));
        if (holds.length > 0) await company.type(linesUnder(disasters[disaster]));
      }

      const open = await company.parked();
      const expected = (age: Age) => [...company.orders[age].keys()];
      // The customers go first, and show that the service has forgotten the keys.
      const isRefused = areKeysForgotten && option.startsWith('--from-service');
      // A service that remembers the keys remembers the order that had the number before.
      const isNumberReused = disaster === 'copy and ERP' && !areKeysForgotten;
      const isLeft = (age: Age) =>
        isRefused || (leaves.includes(age) && !(isCopy && age === 'early')) || (isNumberReused && age === 'new');
      const left = ages.filter(isLeft);
      expect(open.orders.sort(), 'orders that a person decides').to.deep.equal(left.flatMap(expected).sort());
      await company.decide();
      for (const _ of ['creates', 'their changes']) await company.succeeds('sync');

      const references = sandbox.ledger().orders.map(({ reference }) => reference);
      expect(references.sort(), 'each order once').to.deep.equal([...new Set([...sent, ...company.numbers()])].sort());
      expect(sandbox.counts()).to.include({ customers, duplicateReferences: 0 });
      expect(await company.parked(), 'nothing is left').to.deep.equal({ customers: 0, orders: [] });
    });

  for (const disaster of Object.keys(disasters) as Disaster[])
    for (const proof of Object.keys(proofs))
      for (const areKeysForgotten of [true, false]) {
        const isByKeys = proof === 'keys at the service';
        // The page says when keys prove nothing: then nothing would show that they are forgotten.
        if (isByKeys && areKeysForgotten && disaster.startsWith('copy')) continue;
        // A service that has forgotten the keys is the harder one, and a lost disk the hardest loss.
        const isUsual = disaster === 'disk' ? isByKeys || areKeysForgotten : proof === 'an export' && areKeysForgotten;
        if (isFullMatrix || isUsual) isTypedAfter(disaster, proof, areKeysForgotten);
      }

  it('is tried before on stores that are thrown away: nothing is sent, and store and ERP stay as they are', async () => {
    const company = new Company(undefined);
    await company.live();
    await insertSampleOrder(company.erp, { customerId: 1 });
    const files = [join(company.backups, 'bindings.jsonl'), join(company.backups, 'waybill.copy')];
    const state = () => ({
      requests: sandbox.ledger().requests.length,
      erp: readFileSync(company.erp.file).toString('hex'),
      store: tablesIn(company.server.storeFile),
      files: readdirSync(join(company.folder, 'server')).sort(),
    });
    const before = state();
    const { tried, todo } = JSON.parse(await company.succeeds('doctor', '--drill', ...files, '--json'));
    expect(state()).to.deep.equal(before);

    const [atNight, now] = [early + customers, early + customers + 2];
    const late = [...company.orders.late].map(([sourceKey, number]) => ({ entity: 'order', sourceKey, number }));
    const byNight = { proven: atNight, unproven: 2, first: late, contradicted: [], doubted: 1 };
    expect(tried.map(({ of: _, ...one }: { of: unknown }) => one)).to.deep.equal([
      { proof: files[0], ...byNight },
      { proof: files[1], ...byNight },
      { proof: 'side tables', ...byNight, proven: now, unproven: 0, first: [] },
    ]);
    expect(todo.join('\n')).to.contain('service.endpoints.lookUpOrder').and.to.not.contain('writeBack.enabled');
    const [, , typed = ''] = linesUnder('Before it happens');
    const { stdout } = await company.server.run(...shellWords(company.here(typed)).slice(1));
    expect(stdout)
      .to.contain(`${atNight} of ${now} records at the service are known again`)
      .and.to.contain(late[0]?.number);
  });

  it('a wrong copy restored: sends nothing, until the right one is in its place', async () => {
    const other = new Company(undefined, 'another');
    await other.live();
    const company = new Company(undefined);
    await company.live();
    const before = sandbox.counts().orders;
    company.removes(`${company.server.storeFile}*`);
    copyFileSync(join(other.backups, 'waybill.copy'), company.server.storeFile);
    await insertSampleOrder(company.erp, { customerId: 1 });
    company.note('new');
    const checked = await company.server.run('status', '--check');
    expect(checked.code).to.not.equal(0);
    expect(checked.stdout).to.contain('the store is not the one that ran here');
    const { code } = await company.server.run('sync');
    expect(code).to.not.equal(0);
    expect(sandbox.counts().orders).to.equal(before);

    await company.type(linesUnder(disasters.copy));
    await company.succeeds('sync');
    await company.decide();
    await company.succeeds('sync');
    const references = sandbox.ledger().orders.map(({ reference }) => reference);
    expect(references.sort()).to.deep.equal([...other.numbers(), ...company.numbers()].sort());
  });

  it('another name of the server: sends nothing, until a person says that it moved', async () => {
    const company = new Company(undefined);
    await company.live();
    const before = sandbox.counts().orders;
    const lie = join(company.folder, 'moved.cjs');
    const moved = "require('node:os').hostname = () => 'moved'; require('node:module').syncBuiltinESMExports();";
    writeFileSync(lie, moved);
    company.server.env.NODE_OPTIONS = `--require ${lie}`;
    await insertSampleOrder(company.erp, { customerId: 1 });
    await company.succeeds('sync');
    expect(sandbox.counts().orders).to.equal(before);
    await company.type(linesUnder('The server has another name'));
    await company.succeeds('sync');
    expect(sandbox.counts()).to.include({ orders: before + 1, duplicateReferences: 0 });
  });

  it('the ERP restored: changes nothing that the service has, and sends what is new', async () => {
    const company = new Company(undefined);
    await company.live();
    const bodies = () => sandbox.ledger().orders.map(({ record }) => JSON.stringify(record));
    const before = bodies();
    copyFileSync(join(company.backups, 'erp.sqlite'), company.erp.file);
    await company.succeeds('sync');
    await company.type(linesUnder('The ERP was restored'));
    // The numbers that were used before are given again, then new ones.
    for (const customerId of [1, 2, 3]) await insertSampleOrder(company.erp, { customerId });
    await company.succeeds('sync');
    expect(bodies().slice(0, before.length)).to.deep.equal(before);
    expect(bodies()).to.have.length(before.length + 1);
  });
});

const ages: readonly Age[] = ['early', 'late', 'new'];

/** Every row of a store. */
function tablesIn(file: string): Record<string, unknown[]> {
  const store = openSqlite(file);
  try {
    const names = store.prepare("SELECT name FROM sqlite_master WHERE type='table'").pluck().all() as string[];
    return Object.fromEntries(names.map((name) => [name, store.prepare(`SELECT * FROM "${name}"`).all()]));
  } finally {
    store.close();
  }
}

function lookUps(more: { absenceProves: boolean }) {
  const { lookUpCustomer, lookUpOrder } = sandboxLookUps;
  return { lookUpCustomer: { ...lookUpCustomer, ...more }, lookUpOrder: { ...lookUpOrder, ...more } };
}

interface NumberedOrder {
  id: string;
  order_no: string;
}
