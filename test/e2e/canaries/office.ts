import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import http, { type RequestListener } from 'node:http';
import net, { type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { settingsFrom } from '../../../src/config/load-settings.js';
import { sqliteDialect } from '../../../src/db/sqlite/sqlite-erp.js';
import { sideTables } from '../../../src/erp/write-back/side-tables.js';
import { createSampleErp, sampleErpMapping } from '../../../src/lab/sample-erp/create-sample-erp.js';
import type { SandboxOptions } from '../../../src/lab/sandbox/options.js';
import { type Sandbox, startSandbox } from '../../../src/lab/sandbox/start-sandbox.js';
import { putStoreFile } from '../../store/migrated-stores.js';
import type { TestDatabase } from '../../support/mariadb-database.js';
import { merge, type Tree } from '../../support/merge-settings.js';
import { runHere } from '../../support/run-here.js';
import { openSqlite } from '../../support/sqlite-file.js';

const main = fileURLToPath(new URL('../../../src/main.js', import.meta.url));

export const base64 = (text: string) => Buffer.from(text).toString('base64');

/** A secret of its own for each scenario. Its letters tell, and the other characters are written differently everywhere. */
export function secretOf(name: string): string {
  return `${coreOf(name)}+/="&'x`;
}

/** A part that every encoding of the secret keeps, because letters and digits stand for themselves. */
function coreOf(name: string): string {
  return `Cnry${createHash('sha256').update(name).digest('hex').slice(0, 20)}`;
}

/**
 * The writings of the secret that are looked for: as it is, which is also how JSON, addresses, forms and HTML write its letters;
 * in hexadecimal; in base64 at each of the three places where it may begin.
 */
export function writingsOf(name: string): string[] {
  const core = coreOf(name);
  const hex = Buffer.from(core).toString('hex');
  const base64 = [0, 1, 2].map((before) => {
    const text = Buffer.from(`${'\0'.repeat(before)}${core}`).toString('base64url');
    return text.slice(before === 0 ? 0 : before + 1, -3);
  });
  return [core, core.toLowerCase(), core.toUpperCase(), hex, hex.toUpperCase(), ...base64];
}

/** A configured Waybill with a service, an ERP that is written to, and everything that it leaves behind. */
export class Office {
  readonly configDir: string;
  readonly stateDir: string;
  readonly erpFile: string;
  readonly env: Record<string, string> = {};
  readonly sandbox: Sandbox;
  settings: Tree;
  printed = '';
  /** The daemon's output so far. */
  output = '';
  /** Texts of other places, by the name of the place. */
  readonly seen: [where: string, text: string][] = [];
  readonly closing: (() => unknown)[] = [];

  private constructor(
    readonly folder: string,
    readonly secret: string,
    sandbox: Sandbox,
    readonly database: TestDatabase | null,
  ) {
    this.sandbox = sandbox;
    this.closing.push(() => sandbox.close());
    this.configDir = join(folder, 'config');
    this.stateDir = join(folder, 'state');
    this.erpFile = join(folder, 'erp.sqlite');
    for (const dir of [this.configDir, this.stateDir]) mkdirSync(dir, { recursive: true });
    const store = database && {
      ...{ type: 'mysql', host: database.host, port: database.port, database: database.database },
      ...{ user: database.user, passwordFile: 'store-password', witnessFile: join(this.stateDir, 'witness.json') },
    };
    if (database) this.file('store-password', database.password);
    this.file('token', 'sandbox-token');
    this.settings = {
      ...sampleErpMapping,
      installation: 'canaries',
      erp: { ...sampleErpMapping.erp, type: 'sqlite', file: this.erpFile },
      store: store ?? { type: 'sqlite', file: join(this.stateDir, 'waybill.sqlite') },
      service: {
        environment: 'sandbox',
        baseUrl: sandbox.url,
        tokenFile: 'token',
        deadlineSeconds: 3,
        idempotency: { lifetimeHours: 24 },
        limits: [{ requests: 1_000, perSeconds: 1 }],
      },
      // Nothing that failed is due again while a scenario runs.
      delivery: {
        backoffBaseSeconds: 600,
        backoffMaxSeconds: 900,
        quickResends: 0,
        drainSeconds: 5,
        probeSeconds: 0.3,
      },
      writeBack: { enabled: true },
    };
  }

  static async open(
    folder: string,
    secret: string,
    options: { sandbox?: Partial<SandboxOptions> | undefined; database: TestDatabase | null },
  ): Promise<Office> {
    mkdirSync(folder, { recursive: true });
    const office = new Office(folder, secret, await startSandbox({ seed: 1, ...options.sandbox }), options.database);
    await createSampleErp({ target: { type: 'sqlite', file: office.erpFile }, customers: 1, orders: 1 });
    if (options.database === null) await putStoreFile(join(office.stateDir, 'waybill.sqlite'));
    const erp = openSqlite(office.erpFile);
    const store = { type: 'sqlite', file: 'unused.sqlite' };
    const service = {
      environment: 'sandbox',
      baseUrl: office.sandbox.url,
      token: 'x',
      idempotency: { lifetimeHours: 1 },
    };
    const settings = settingsFrom({ ...office.settings, delivery: {}, store, service });
    for (const table of sideTables(settings, sqliteDialect, '', '').tables) erp.exec(table);
    erp.close();
    return office;
  }

  /** Writes a file into the folder of the settings, as a secret's place. */
  file(name: string, text: string): string {
    writeFileSync(join(this.configDir, name), text, { mode: 0o600 });
    return name;
  }

  /** Lays settings over those of the office, section by section. */
  change(over: Tree): void {
    this.settings = merge(this.settings, over);
  }

  /** Writes the settings. A scenario may write other ones. */
  configure: () => void = () => void this.file('local.yaml', JSON.stringify(this.settings, null, 1));

  /** Runs a command in this process. */
  async waybill(...argv: string[]): Promise<number> {
    const { code, stdout, stderr } = await runHere([...argv, '--config', this.configDir], { env: this.env });
    this.printed += stdout + stderr;
    return code;
  }

  /** Runs a daemon until it says something, and `work` then. The command lines of it and its children are looked at too. */
  async daemon(until: RegExp, work: (pid: number, said: (text: RegExp) => Promise<void>) => unknown = () => undefined) {
    const child = spawn(process.execPath, [main, 'daemon', '--config', this.configDir], {
      cwd: this.folder,
      env: {
        PATH: process.env.PATH,
        HOME: this.folder,
        TMPDIR: process.env.TMPDIR,
        NODE_ENV: 'production',
        ...this.env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const pid = child.pid as number;
    this.output = '';
    const looks = new Set<() => void>();
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => {
        this.output += text;
        for (const look of looks) look();
      });
    const ended = once(child, 'close');
    const said = (text: RegExp) =>
      new Promise<void>((resolve, reject) => {
        const late = setTimeout(() => reject(new Error(`The daemon did not say ${text}:\n${this.output}`)), 20_000);
        const look = () => {
          if (!text.test(this.output)) return;
          clearTimeout(late);
          looks.delete(look);
          resolve();
        };
        looks.add(look);
        look();
      });
    try {
      await said(until);
      if (child.exitCode === null)
        this.seen.push(['the command line of the daemon', readFileSync(`/proc/${pid}/cmdline`, 'utf8')]);
      await work(pid, said);
      child.kill('SIGTERM');
      await ended;
    } finally {
      child.kill('SIGKILL');
      this.printed += this.output;
    }
  }

  /** A server of the scenario, below HTTP. @returns its port */
  async listen(meet: (socket: Socket) => void): Promise<number> {
    const server = net.createServer(meet).listen(0, '127.0.0.1');
    await once(server, 'listening');
    this.closing.push(() => server.close());
    return (server.address() as AddressInfo).port;
  }

  /** A server of the scenario. @returns its address */
  async serve(listener: RequestListener): Promise<string> {
    const server = http.createServer(listener).listen(0, '127.0.0.1');
    await once(server, 'listening');
    this.closing.push(() => {
      server.closeAllConnections();
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** Asks everything that shows something, and copies the store: what a person sees, keeps and mails after an error. */
  async lookEverywhere(): Promise<void> {
    for (const line of [
      'status --json',
      'status --check',
      'outbox --json',
      'explain order 1',
      'explain customer 1 --json',
      'audit --json',
      'invoices --malformed --json',
      'invoices',
      'confirm --dry-run',
      `backup ${join(this.stateDir, 'copy')}`,
      `bindings export ${join(this.stateDir, 'bindings')}`,
    ])
      await this.waybill(...line.split(' '));
  }

  /** Every text that is left: what was printed, each file but those of the settings, and each row of each table. */
  async texts(): Promise<[where: string, text: string][]> {
    const files = readdirSync(this.folder, { recursive: true, encoding: 'utf8' }).filter(
      (file) => !file.startsWith('config') && statSync(join(this.folder, file)).isFile(),
    );
    const databases = files.filter((file) => file.endsWith('.sqlite'));
    return [
      ['what was printed', this.printed],
      ...this.seen,
      ...files.map((file): [string, string] => [file, readFileSync(join(this.folder, file), 'latin1')]),
      ...databases.flatMap((file) => sqliteRows(join(this.folder, file))),
      ...(this.database ? await mariaDbRows(this.database) : []),
    ];
  }

  async close(): Promise<void> {
    for (const close of this.closing.reverse()) await close();
  }
}

function sqliteRows(file: string): [string, string][] {
  const database = openSqlite(file, { readonly: true });
  try {
    const names = database.prepare("SELECT name FROM sqlite_master WHERE type='table'").all() as { name: string }[];
    return names.map(({ name }) => [name, JSON.stringify(database.prepare(`SELECT * FROM "${name}"`).all())]);
  } finally {
    database.close();
  }
}

async function mariaDbRows(database: TestDatabase): Promise<[string, string][]> {
  const tables = await database.query('SHOW TABLES');
  const names = tables.map((row) => String(Object.values(row)[0]));
  return Promise.all(
    names.map(
      async (name): Promise<[string, string]> => [
        name,
        JSON.stringify(await database.query(`SELECT * FROM \`${name}\``)),
      ],
    ),
  );
}
