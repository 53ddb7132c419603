import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { dolibarr } from '../e2e/init/known-schemas.js';
import { freePort } from '../support/free-port.js';
import type { TestDatabase } from '../support/mariadb-database.js';
import { projectRoot } from '../support/project-root.js';
import { sharedMariaDb } from '../support/shared-servers.js';
import { useTempDir } from '../support/temp-dir.js';
import { documents, typedLines } from './documents.js';
import { Shell } from './shell.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const page = documents().find(({ path }) => path === 'docs/quickstart.md');
const lines = (page?.fences ?? []).flatMap(typedLines);

/** Ten orders of this year beside the traps of the other tests, in the one currency. */
const tenOrders = [
  'DELETE FROM llx_commandedet',
  'DELETE FROM llx_commande',
  `INSERT INTO llx_commande (rowid, ref, fk_soc, fk_statut, date_creation, total_ht)
    SELECT seq, CONCAT('CO2601-', LPAD(seq, 4, '0')), 1 + seq % 2, 1, '2026-01-15 10:00:00', 12.5 * seq FROM seq_1_to_10`,
  `INSERT INTO llx_commandedet (fk_commande, fk_product, qty, subprice, total_ht, rang)
    SELECT rowid, NULLIF(rowid % 3, 0), rowid, 12.5, 12.5 * rowid, 1 FROM llx_commande`,
];

describe('docs/quickstart.md, typed line by line', function () {
  this.timeout(120_000);
  const dir = useTempDir();
  let erp: TestDatabase;
  let shell: Shell;

  before(async () => {
    const server = await sharedMariaDb();
    erp = await server.createDatabase('dolibarr');
    const connection = await server.connect('dolibarr');
    for (const statement of [...dolibarr, ...tenOrders]) await connection.query(statement);
    await connection.end();

    const put = (name: string, text: string) => {
      writeFileSync(join(dir.file('bin'), name), `#!/bin/sh\n${text}\n`);
      chmodSync(join(dir.file('bin'), name), 0o755);
    };
    mkdirSync(dir.file('bin'));
    // The installed and built tree stands in for the results of `npm ci` and the first `npm run`.
    put(
      'npm',
      `case "$1 $2" in
  "ci ") exec ln -s "${projectRoot}/node_modules" node_modules ;;
  "run waybill") shift 3; exec "${process.execPath}" "${main}" "$@" ;;
  "run sandbox") shift 3; exec "${process.execPath}" "${main}" sandbox "$@" ;;
esac
echo "npm $* is not for this test" >&2; exit 99`,
    );
    const { host, port, rootUser, rootPassword } = server;
    put(
      'mariadb',
      `exec /usr/bin/env -i PATH="$OUTER" MYSQL_PWD='${rootPassword}' mariadb --no-defaults -h ${host} -P ${port} -u ${rootUser} "$@"`,
    );
    const origin = dir.file('origin.git');
    execFileSync('git', ['init', '--quiet', '--initial-branch=main', origin]);
    cpSync(join(projectRoot, 'config'), join(origin, 'config'), { recursive: true });
    cpSync(join(projectRoot, '.gitignore'), join(origin, '.gitignore'));
    const git = ['-C', origin, '-c', 'user.name=x', '-c', 'user.email=x@example.com'];
    execFileSync('git', [...git, 'add', '--all']);
    execFileSync('git', [...git, 'commit', '--quiet', '-m', 'one']);
    const outer = process.env.PATH ?? '';
    shell = new Shell(dir.path, {
      PATH: `${dir.file('bin')}:${outer}`,
      OUTER: outer,
      HOME: dir.path,
      TMPDIR: process.env.TMPDIR,
    });
    serverPort = port;
    sandboxPort = await freePort();
  });
  after(async () => {
    await shell?.types('kill $!');
    await shell?.close();
    await erp?.query("DROP USER IF EXISTS waybill_reader@'%'");
    await erp?.drop();
  });
  let serverPort = 0;
  let sandboxPort = 0;

  /** As it stands, but for the address of the repository and the ports of this machine. */
  const here = (line: string) =>
    line
      .replace('https://git.example.com/waybill.git', `${dir.file('origin.git')} waybill`)
      .replace('--host 127.0.0.1', `--host 127.0.0.1 --port ${serverPort}`)
      .replace('--port 8080', `--port ${sandboxPort}`);

  it('leads from a clone to five delivered orders in at most ten commands', async () => {
    expect(lines).to.have.lengthOf.within(5, 10);
    const said: string[] = [];
    for (const line of lines) {
      const { code, output } = line.endsWith('&')
        ? await shell.starts(here(line), 'The sandbox listens')
        : await shell.types(here(line));
      expect(code, `${line}\n${output}`).to.equal(0);
      said.push(output);
      if (!line.includes(' init ')) continue;
      const settings = dir.file('waybill/config/local.yaml');
      writeFileSync(settings, readFileSync(settings, 'utf8').replace(':8080', `:${sandboxPort}`));
    }
    expect(said.join('\n'))
      .to.match(/Order CO2601-0001 .*: to create[\s\S]*"price":1250/)
      .and.match(/Delivered 5 orders and 2 customers/);
    expect(said.at(-1)).to.match(/^Order CO2601-0001 \(key 1 in the ERP\)[\s\S]*At the service, acknowledged as/m);
    expect(statSync(dir.file('waybill/config/local.yaml')).mode & 0o777).to.equal(0o600);
    const untracked = execFileSync('git', ['-C', dir.file('waybill'), 'status', '--porcelain'], { encoding: 'utf8' });
    expect(untracked, 'what git would add').not.to.match(/password|token|local/);
    const ledger = (await (await fetch(`http://127.0.0.1:${sandboxPort}/_ledger`)).json()) as {
      orders: { total: number }[];
    };
    expect(ledger.orders.map(({ total }) => total)).to.have.members([1250, 2500, 3750, 5000, 6250]);
  });
});
