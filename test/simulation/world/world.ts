import { join } from 'node:path';
import { loadSettings, rememberSettings } from '../../../src/config/load-settings.js';
import { Disk, replaceDisk } from '../machine/disk.js';
import { closeIdle, listening, realFs } from '../machine/intercept.js';
import { Machine, replaceMachine, SimProcess, type Strike } from '../machine/machine.js';
import { deskUser } from './desk-user.js';
import { Dice } from './dice.js';
import { Erp, type OrderRow } from './erp.js';
import { connectTo } from './network.js';
import { type Personality, Service } from './service.js';
import { deadlineMs, presentations, type SettingsTree, settingsFor, webhookSecret } from './settings.js';

const minuteMs = 60_000;

/** The runner of a command line; handed in, because the product is loaded after the machine is in its place. */
export type Run = (argv: readonly string[]) => Promise<number>;

/** The outcome of a command. */
export interface Ended {
  argv: readonly string[];
  process: SimProcess;
  /** It did not come to its end, and was not struck. */
  hangs: boolean;
}

const branchKeys = {
  keyOf: ({ id }: { id: number }) => `branch~${id}`,
  customerKeyOf: ({ id }: { id: number }) => `branch~${id}`,
};

/** A company: its ERP, the service, the machine on which Waybill runs, and its people. */
export class World {
  readonly machine: Machine;
  readonly disk = new Disk();
  readonly erp: Erp;
  readonly service: Service;
  readonly dice: Dice;
  settings: SettingsTree;
  /** Told of each command, for whoever wants to read what it said. */
  onCommand: ((ended: Ended) => void) | null = null;
  daemon: SimProcess | null = null;
  readonly commands: Ended[] = [];
  /** Observations that may never be, as they happened. */
  readonly wrong: string[] = [];
  /** The number of backups of the store. */
  copies = 0;
  lostWitness = false;
  /** Somebody said something about records, so that what follows need not follow from what the service did. */
  peopleSpoke = false;
  /** Nothing is struck any more. */
  isSafe = false;
  /** The settings gave all orders other keys. */
  keysWereRespelled = false;
  /** The form of the key in the query of orders. */
  presentation = 'id';
  /** The list that the last comparison showed. */
  lastFingerprint: string | null = null;
  /** Since then nothing of the store's past is certain. */
  replacedAtMs: number | null = null;
  /** All of these moments. */
  readonly replacements: number[] = [];
  /** Lines of the audit that were there, and when they were written by a clock that nobody can set. */
  auditSeen = new Map<number, number>();
  readonly auditSince = new Map<number, number>();
  auditLookedAtMs = 0;
  /** The clock on the wall was once set ahead. */
  wallWasAhead = false;
  /** The shortest time that the settings ever let the audit be kept. */
  leastAuditDays = 730;
  /** When the last pass over the ERP began that came to its end. */
  capturedFromMs = -1;
  /** When each of them began. */
  readonly passes: number[] = [];
  /** When a process that may deliver was first struck. */
  struckMs = Number.POSITIVE_INFINITY;
  settingsChangedAtMs = -1;
  /** Conditions on orders that were ever in the settings. */
  readonly lastPendings = new Set<unknown>();
  /** Records of which a person said what is not so, or asked for what may cost them. */
  readonly excused = new Set<string>();
  /** Messages that people closed without sending. */
  readonly discarded = new Set<string>();
  private lastPid = 1000;
  private lastSettings = '';
  /** The same world, with the ERP of a second source in the place of the first one's; null: there is one source. */
  readonly branch: World | null;

  constructor(
    readonly folder: string,
    readonly personality: Personality,
    seed: number,
    private readonly run: Run,
  ) {
    this.dice = new Dice(seed ^ 0x5eed);
    this.machine = new Machine(seed);
    replaceMachine(this.machine);
    replaceDisk(this.disk);
    rememberSettings();
    listening.clear();
    realFs.rmSync(folder, { recursive: true, force: true });
    for (const name of ['config', 'store', 'erp', 'files']) realFs.mkdirSync(join(folder, name), { recursive: true });
    this.erp = new Erp(join(folder, 'erp', 'erp.sqlite'), this.machine);
    this.service = new Service(personality, this.machine, deadlineMs, () => this.machine.random());
    connectTo(this.service);
    realFs.writeFileSync(join(folder, 'config', 'webhook-secret'), `whsec_${webhookSecret}`, { mode: 0o600 });
    realFs.writeFileSync(join(folder, 'config', 'desk-users'), deskUser, { mode: 0o600 });
    this.settings = settingsFor(this);
    this.branch = personality.hasBranch ? this.#openBranch() : null;
    if (!this.writeSettings()) throw new Error('Waybill refuses the settings with which a history begins.');
  }

  #openBranch(): World {
    const { orders, customers } = structuredClone(this.settings);
    const file = join(this.folder, 'erp', 'branch.sqlite');
    const sections = { erp: { type: 'sqlite', file, timeZone: 'UTC' }, orders, customers };
    this.settings.sources = { branch: sections };
    const erp = new Erp(file, this.machine, 1);
    erp.addCustomer();
    erp.addOrder(this.dice);
    const { keyOf, customerKeyOf } = branchKeys;
    return Object.create(this, {
      erp: { value: erp },
      settings: { get: () => ({ ...this.settings, ...this.settings.sources.branch }) },
      keyOf: { value: keyOf },
      customerKeyOf: { value: customerKeyOf },
      command: { value: this.command.bind(this) },
    });
  }

  /** The world as each source sees it. */
  get views(): World[] {
    return this.branch ? [this, this.branch] : [this];
  }

  /** The source that a key belongs to. */
  ofKey(key: string): World {
    return (key.startsWith('branch~') && this.branch) || this;
  }

  /** The further arguments for a bare key: two sources may have it. */
  sourceOption(key: string): string[] {
    return this.branch && !key.startsWith('branch~') ? ['--source', 'default'] : [];
  }

  /** The source that a record comes from. */
  ofRef(ref: string): World {
    return (Number(ref.slice(4)) > 1000 && this.branch) || this;
  }

  /** The one-time commands of an administrator of the ERP, as Waybill asks. */
  async prepareWriteBack(): Promise<void> {
    this.settings.writeBack = { enabled: true };
    if (!this.writeSettings()) return;
    const { process } = await this.command(['erp', 'side-tables', '--json']);
    const { tables } = JSON.parse(process.out) as { tables: string[] };
    this.erp.add(tables);
  }

  /** @returns false when Waybill refuses them, so that whoever changed them takes the change back */
  writeSettings(): boolean {
    const folder = join(this.folder, 'config');
    const file = join(folder, 'local.yaml');
    realFs.writeFileSync(file, JSON.stringify(this.settings, null, 1));
    try {
      loadSettings({ configDir: folder });
    } catch {
      this.settings = JSON.parse(this.lastSettings) as SettingsTree;
      realFs.writeFileSync(file, this.lastSettings);
      return false;
    }
    this.lastSettings = JSON.stringify(this.settings, null, 1);
    this.settingsChangedAtMs = this.machine.elapsedMs;
    this.lastPendings.add(this.settings.orders.pending);
    this.leastAuditDays = Math.min(this.leastAuditDays, this.settings.retention?.auditDays ?? 730);
    return true;
  }

  /** A message that waits for an hour that somebody chose waits no longer. */
  endQuietHours(): void {
    if (!this.settings.schedule?.quietHours?.length) return;
    const { settingsChangedAtMs } = this;
    this.settings.schedule.quietHours = [];
    this.writeSettings();
    this.settingsChangedAtMs = settingsChangedAtMs;
  }

  spawn(argv: readonly string[], strike: Strike | null = null): SimProcess {
    const process = new SimProcess(this.machine, ++this.lastPid, argv);
    process.strike = strike;
    process.start(() => this.run(['node', 'waybill', ...argv, '--config', join(this.folder, 'config')]));
    return process;
  }

  /** Runs a command until it has ended, or was struck. */
  async command(argv: readonly string[], strike: Strike | null = null): Promise<Ended> {
    const beganMs = this.machine.elapsedMs;
    const process = this.spawn(argv, this.isSafe ? null : strike);
    const isOver = () => process.state !== 'running';
    let hangs = false;
    if (!(await this.machine.run(15 * minuteMs, isOver))) {
      process.signal('SIGTERM');
      if (!(await this.machine.run(2 * minuteMs, isOver))) {
        hangs = true;
        process.kill();
      }
    }
    const isWholePass = argv[0] === 'sync' && argv.length <= 2 && (argv.length === 1 || argv[1] === 'capture');
    if (isWholePass && process.state === 'ended' && process.exitCode === 0) {
      this.capturedFromMs = beganMs;
      this.passes.push(beganMs);
    }
    if (process.state !== 'ended' && argv[0] === 'sync') this.struckMs = Math.min(this.struckMs, beganMs);
    if (/^(outbox (resolve|discard)|bindings move|confirm|adopt|rekey|recover|reconcile|forget)/.test(argv.join(' ')))
      this.peopleSpoke = true;
    const ended = { argv, process, hangs };
    this.commands.push(ended);
    this.onCommand?.(ended);
    return ended;
  }

  /** The settings' name of an order, as docs/mapping.md says. */
  keyOf({ id, okey }: Pick<OrderRow, 'id' | 'okey'>): string {
    const shown = (presentations[this.presentation] ?? String)(id);
    const { key } = this.settings.orders;
    if (Array.isArray(key)) return `${shown}/${okey}`;
    return key === 'okey' ? okey : shown;
  }

  customerKeyOf({ id }: { id: number }): string {
    return String(id);
  }

  startDaemon(): void {
    if (!this.daemon?.isThere) this.daemon = this.spawn(['daemon']);
  }

  storeWasReplaced(): void {
    this.replacedAtMs = this.machine.elapsedMs;
    this.replacements.push(this.replacedAtMs);
    this.auditSeen.clear();
    this.auditSince.clear();
  }

  async pass(ms: number): Promise<void> {
    await this.machine.run(ms);
  }

  close(): void {
    for (const one of this.machine.processes) one.kill();
    for (const { erp } of this.views) erp.close();
    closeIdle();
    realFs.rmSync(this.folder, { recursive: true, force: true });
  }
}
