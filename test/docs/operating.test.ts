import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { parse, stringify } from 'yaml';
import { createSampleErp, withSampleErp } from '../../src/lab/sample-erp/create-sample-erp.js';
import { type Sandbox, startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import { forged } from '../support/forged.js';
import { ensure } from '../support/needed-programs.js';
import { projectRoot } from '../support/project-root.js';
import { sandboxLookUps } from '../support/sandbox-look-ups.js';
import { openSqlite } from '../support/sqlite-file.js';
import { StandInSystemd } from '../support/stand-in-systemd.js';
import { useTempDir } from '../support/temp-dir.js';
import { documents, typedLines } from './documents.js';
import { Shell } from './shell.js';

const isRoot = process.getuid?.() === 0;
/** The lines that ask, and are answered with yes. */
const asks = /^waybill (outbox|confirm|go-live|bindings move)\b(?!.*--dry-run).*--reason/;
/** Lines that end with another code than 0 here. */
const otherCodes: Record<string, number[]> = {
  // Records are parked by then.
  'waybill status --check': [0, 1],
  // The store here is a file; test/e2e/cloned-machine.test.ts runs it with one on a server.
  'waybill go-live --standby': [2],
};
/** The places of the machine that the page names. */
const places = [
  '/opt/waybill',
  '/etc/waybill',
  '/etc/systemd/system',
  '/var/lib/waybill',
  '/var/lib/waybill-witness',
  '/var/backups',
  '/usr/local/bin',
  '/root',
];

describe('docs/operating.md, typed line by line on a machine of its own', function () {
  // Some fifty commands, one after the other: 40 s on a quiet machine.
  this.timeout(600_000);
  // Before the folder goes.
  after(async () => {
    await shell?.close();
    await systemd?.close();
    await sandbox?.close();
    if (isRoot) spawnSync('userdel', [account], { stdio: 'ignore' });
  });
  const dir = useTempDir();
  // Long names are refused by useradd.
  const account = isRoot ? `waybill-t${process.pid}` : userInfo().username;
  const page = documents().find(({ path }) => path === 'docs/operating.md');
  const blocks = (page?.fences ?? []).filter(({ language }) => language === 'console').map(typedLines);
  let root = '';
  let systemd: StandInSystemd;
  let sandbox: Sandbox;
  let shell: Shell;

  const at = (path: string) => join(root, path);
  const put = (path: string, text: string, mode = 0o644) => {
    writeFileSync(at(path), text);
    chmodSync(at(path), mode);
  };
  /** The places of the page, below a folder; the account by its name here. */
  const here = (text: string) =>
    places
      .reduce((line, place) => line.replaceAll(new RegExp(`(?<![\\w/.])${place}(?![\\w-])`, 'g'), at(place)), text)
      .replace(/(-[og] )waybill\b/g, `$1${account}`)
      .replace(/^(useradd .* )waybill$/, `$1${account}`)
      .replace(/(runuser -u )waybill\b/, `$1${account}`)
      .replace(/^(User|Group)=waybill$/gm, `$1=${account}`);
  const git = (folder: string, ...args: string[]) =>
    execFileSync('git', ['-C', folder, '-c', 'user.name=x', '-c', 'user.email=x@example.com', ...args], {
      stdio: 'pipe',
    });

  before(async () => {
    ensure('shellTools');
    if (isRoot) removeLeftAccounts();
    root = dir.file('machine');
    for (const path of ['bin', 'opt', 'etc/systemd/system', 'var/lib', 'var/backups', 'usr/local/bin', 'root', 'srv'])
      mkdirSync(at(path), { recursive: true });
    // The account has to come through to its folders.
    if (isRoot) for (let folder = root; folder.includes('waybill-'); folder = dirname(folder)) chmodSync(folder, 0o755);
    sandbox = await startSandbox({ token: 'operating-token' });
    await createSampleErp({ target: { type: 'sqlite', file: at('srv/erp.sqlite') }, customers: 4, orders: 12 });
    publish();
  });

  /** A repository with the files of this checkout, whose unit and command name the places here, and a clone of it. */
  const publish = () => {
    const origin = at('srv/origin.git');
    const checkout = at('srv/checkout');
    git(root, 'init', '--quiet', '--bare', '--initial-branch=main', origin);
    git(root, 'clone', '--quiet', origin, checkout);
    const tracked = execFileSync('git', ['-C', projectRoot, 'ls-files', '-z'], { encoding: 'utf8' }).split('\0');
    for (const file of tracked.filter((name) => /^(src|config|systemd|package|ormconfig|CHANGELOG)/.test(name)))
      cpSync(join(projectRoot, file), join(checkout, file));
    for (const name of ['waybill', 'waybill.service']) {
      const file = join(checkout, 'systemd', name);
      writeFileSync(file, here(readFileSync(file, 'utf8')).replace('RestartSec=5s', 'RestartSec=100ms'));
    }
    writeFileSync(join(checkout, '.gitignore'), 'node_modules\ndist\n');
    git(checkout, 'add', '--all');
    git(checkout, 'commit', '--quiet', '-m', 'one');
    git(checkout, 'push', '--quiet', 'origin', 'main');
  };
  const newVersion = (name: string) => {
    const checkout = at('srv/checkout');
    git(checkout, 'commit', '--quiet', '--allow-empty', '-m', name);
    git(checkout, 'push', '--quiet', 'origin', 'main');
  };

  /** The packages that `npm prune --omit=dev` would leave, of those that are installed here: no test needs a network. */
  const packNpmCache = () => {
    const lock = JSON.parse(readFileSync(join(projectRoot, 'package-lock.json'), 'utf8'));
    const packages = Object.entries<{ dev?: boolean }>(lock.packages).filter(([path, { dev }]) => path !== '' && !dev);
    const found = packages.map(([path]) => path).filter((path) => existsSync(join(projectRoot, path)));
    mkdirSync(at('npm-cache'));
    execFileSync('tar', ['-C', projectRoot, '-cf', at('npm-cache/all.tar'), ...found]);
    execFileSync('tar', ['-C', at('npm-cache'), '-xf', at('npm-cache/all.tar')]);
    rmSync(at('npm-cache/all.tar'));
  };

  /**
   * Stands in for what this machine has not, or must not do: npm installs what is installed here, without the tools, and builds what is built here;
   * systemctl asks the stand-in for systemd; where root types, useradd, install and runuser are the machine's own.
   */
  const installPrograms = () => {
    put(
      'bin/npm',
      `#!/bin/sh
case "$*" in
  ci|"prune --omit=dev") rm -rf node_modules && cp -al ${at('npm-cache/node_modules')} node_modules ;;
  "run build") rm -rf dist && mkdir dist && cp -r ${join(projectRoot, 'dist/src')} dist/src ;;
  *) echo "npm $* is not for this test" >&2; exit 99 ;;
esac\n`,
      0o755,
    );
    put('bin/systemctl', systemd.systemctl, 0o755);
    put('bin/journalctl', `#!/bin/sh\n[ "$*" = "-u waybill -o cat -f" ] && cat ${systemd.journal}\n`, 0o755);
    symlinkSync(process.execPath, at('bin/node'));
    if (isRoot) return;
    put('bin/useradd', '#!/bin/sh\n', 0o755);
    put(
      'bin/install',
      `#!/bin/sh\nfor word; do shift; case $word in -o|-g) skip=1 ;; *) [ $skip ] || set -- "$@" "$word"; skip= ;; esac; done\nexec /usr/bin/install "$@"\n`,
      0o755,
    );
  };

  const types = async (line: string, codes = [0, 3]) => {
    const typed = here(asks.test(line) ? `${line} --yes` : line);
    const { code, output } = await shell.types(typed);
    expect(
      codes,
      `${typed}\nended with ${code}:\n${output}\n${readFileSync(systemd.journal, 'utf8').slice(-1_000)}`,
    ).to.include(code);
    return output;
  };

  /** A new order in the ERP, of a customer that is there or a new one. */
  const enter = (orderId: number, customerId = 1) => {
    // Numbers would be bound as REAL, and be written with a fraction.
    const [id, customer] = [String(orderId), String(customerId)];
    return withSampleErp({ type: 'sqlite', file: at('srv/erp.sqlite') }, async (erp) => {
      const like =
        "(SELECT MIN(id) FROM sales_orders WHERE status='confirmed' AND currency='EUR' AND created_at>='2026-01-01')";
      await erp.run(
        `INSERT OR IGNORE INTO customers SELECT ?, 'K'||(10000+?), name, email, street, postcode, city, country, created_at, updated_at
           FROM customers WHERE id=1`,
        [customer, customer],
      );
      await erp.run(
        `INSERT INTO sales_orders SELECT ?, 'A-'||?, ?, status, order_date, currency, total, remark, created_at, updated_at
           FROM sales_orders WHERE id=${like}`,
        [id, id, customer],
      );
      await erp.run(
        `INSERT INTO sales_order_lines SELECT ?*100+line_no, ?, line_no, product_id, qty, unit_price
           FROM sales_order_lines WHERE order_id=${like}`,
        [id, id],
      );
    });
  };
  const refuse = (id: number, status: number, code: string, message: string) =>
    sandbox.addFaults([
      {
        kind: 'status',
        status,
        body: { error: { code, message } },
        match: { method: 'POST', bodyIncludes: `"A-${id}"` },
      },
    ]);
  const cwd = async () => (await types('pwd')).trim();
  const inFolder = async (name: string, text: string) => writeFileSync(join(await cwd(), name), text);
  const fence = (language: string, holding: string) =>
    page?.fences.find((one) => one.language === language && one.text.includes(holding))?.text ?? '';

  /** The steps by hand, or events in between, before a line of the page. */
  const meanwhile: Record<string, () => unknown> = {
    'install -d -m 0700 -o waybill -g waybill /var/lib/waybill /var/lib/waybill-witness': () => {
      const settings = parse(readFileSync(at('etc/waybill/local.yaml'), 'utf8'));
      settings.erp = { type: 'sqlite', file: at('srv/erp.sqlite'), timeZone: 'Europe/Berlin' };
      Object.assign(settings.service, {
        ...{ baseUrl: sandbox.url, idempotency: { lifetimeHours: 24 }, limits: [{ requests: 1_000, perSeconds: 1 }] },
        endpoints: { readOrder: {}, lookUpOrder: sandboxLookUps.lookUpOrder },
        // The page is typed without a pause.
        maxProcessingSeconds: 0.001,
      });
      // Passes begin when they are typed.
      settings.schedule = { capture: '0 0 0 1 1 *', pull: '0 0 0 1 1 *' };
      settings.orders.settleSeconds = 0;
      // A restored copy holds the lease of the daemon that it was made beside.
      settings.delivery = { leaseSeconds: 12 };
      settings.service.deadlineSeconds = 3;
      writeFileSync(at('etc/waybill/local.yaml'), stringify(settings));
      writeFileSync(at('etc/waybill/service-token'), 'operating-token\n');
      writeFileSync(at('etc/waybill/store-password'), 'of no store here');
      // `systemctl edit waybill`
      mkdirSync(at('etc/systemd/system/waybill.service.d'));
      put('etc/systemd/system/waybill.service.d/override.conf', here(fence('ini', 'LoadCredential')));
    },
    'install -m 0640 -o root -g waybill new-token /etc/waybill/service-token': () =>
      inFolder('new-token', 'operating-token\n'),
    'waybill outbox --state parked': async () => {
      for (const id of [4710, 4711, 4712, 4713, 4714, 4715]) await enter(id);
      for (const id of [4711, 4712, 4714, 4715]) refuse(id, 409, 'already_exists', 'It is there');
      refuse(4710, 400, 'invalid', 'unknown sku');
      refuse(4713, 400, 'invalid', 'no such thing');
      await types('waybill sync');
      sandbox.clearFaults();
      const store = openSqlite(at('var/lib/waybill/waybill.sqlite'));
      store.exec(`UPDATE outbox_message SET ${forged.parked}, park_class='unproven' WHERE source_key='4715'`);
      store.close();
      await inFolder('ids.csv', 'key;id\n4714;ord_theirs\n');
      // The service's copies of them, whoever made them there.
      for (const [order_id, note] of [
        ['ord_93', 'A-4711'],
        ['ord_theirs', 'A-4714'],
      ])
        sandbox.addFaults([
          {
            kind: 'status',
            status: 200,
            body: { order_id, note, status: 'received' },
            match: { method: 'GET', path: `/v1/orders/${order_id}` },
          },
        ]);
    },
    'waybill bindings adopted --open': async () => {
      sandbox.addCustomers(
        [17, 18].map((id) => ({ customer_code: `K${10_000 + id}`, name: `Somebody else ${id}`, country: 'DE' })),
      );
      for (const id of [17, 18]) await enter(4_700 + id, id);
      await types('waybill sync');
    },
    'waybill adopt customers --file customers.csv --dry-run': async () => {
      await inFolder('customers.csv', fence('text', '17;K10017'));
      await enter(4720);
      await inFolder('orders.csv', '4720;ord_of_the_old_connector\n');
    },
    'systemctl stop waybill': async () => {
      // Facts that a copy lacks.
      await enter(4_730 + ++stops);
      await types('waybill sync');
    },
  };
  let stops = 0;

  it('works as the account of the service, from the installation to the way back from an upgrade', async () => {
    packNpmCache();
    systemd = await StandInSystemd.open(root, () => {
      const id = (flag: string) => Number(execFileSync('id', [flag, account], { encoding: 'utf8' }));
      return { uid: id('-u'), gid: id('-g'), name: account, home: at('var/lib/waybill') };
    });
    installPrograms();
    shell = new Shell(at('srv/checkout'), {
      PATH: `${at('bin')}:${at('usr/local/bin')}:${process.env.PATH}`,
      ...{ HOME: at('root'), TMPDIR: process.env.TMPDIR, LANG: 'C.UTF-8' },
    });
    const run = async (lines: readonly string[]) => {
      for (const line of lines) {
        await meanwhile[line]?.();
        await types(line, Object.entries(otherCodes).find(([known]) => line.startsWith(known))?.[1]);
      }
    };

    let recovered = 0;
    for (const lines of blocks) {
      const first = lines.join('\n');
      // Upgrades one after the other: upgrade.test.ts.
      if (first.includes('git pull')) newVersion('two');
      await run(lines);
      if (!first.includes('recover --dry-run')) continue;
      // As the page says, the person ends with it.
      await types('waybill recover --from-service --reason "a copy was restored" --yes');
      await types('systemctl start waybill');
      recovered++;
    }
    expect(recovered, 'a restore and a way back').to.equal(2);
    expect(git(at('opt/waybill'), 'log', '-1', '--format=%s').toString().trim()).to.equal('one');
    expect(readdirSync(at('var/lib')).filter((name) => name.startsWith('waybill.'))).to.have.lengthOf(1);

    const { uid } = statSync(at('var/lib/waybill/waybill.sqlite'));
    expect(statSync(at('var/lib/waybill/waybill.sqlite')).mode & 0o777).to.equal(0o600);
    expect(isRoot ? uid : process.getuid?.()).to.equal(Number(execFileSync('id', ['-u', account])));
    expect(readFileSync(`/proc/${systemd.pid}/status`, 'utf8')).to.match(
      new RegExp(`^Uid:\\s+${uid}\\s+${uid}\\s`, 'm'),
    );
    expect(statSync(at('root/waybill.copy')).size).to.be.above(10_000);

    // A loop that stands still. Until here the watchdog has its full minute: a machine that is busy for ten seconds is no such loop.
    put('etc/systemd/system/waybill.service.d/watchdog.conf', '[Service]\nWatchdogSec=9s\n');
    await types('systemctl daemon-reload && systemctl restart waybill');
    const before = systemd.pid;
    const ready = systemd.ready();
    process.kill(before, 'SIGSTOP');
    await ready;
    expect(systemd.ends.at(-1)).to.equal('SIGKILL');
    expect(systemd.pid).to.not.equal(before);
    await types('waybill status');

    const { counts, orders } = sandbox.ledger();
    expect(counts.duplicateReferences).to.equal(0);
    expect(orders.map(({ reference }) => reference)).to.include.members(['A-4710', 'A-4712', 'A-4731', 'A-4733']);
  });
});

/** Runs that were killed leave their account behind. */
function removeLeftAccounts(): void {
  for (const [name, pid = ''] of readFileSync('/etc/passwd', 'utf8').matchAll(/^waybill-t(\d+)(?=:)/gm))
    if (!existsSync(`/proc/${pid}`)) spawnSync('userdel', [name]);
}
