import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { createSampleErp } from '../../src/lab/sample-erp/create-sample-erp.js';
import { startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import { projectRoot } from '../support/project-root.js';
import { useTempDir } from '../support/temp-dir.js';
import { useMariaDb, usePostgres } from '../support/use-database.js';
import { canary, type Daemon, eventually, Installation, type InstallationOptions } from './installation.js';

const orders = 5;

describe('A working directory that belongs to somebody else', function () {
  this.timeout(180_000);
  const dir = useTempDir();
  const mariadb = { erp: useMariaDb(), store: useMariaDb() };
  const postgres = { erp: usePostgres(), store: usePostgres() };

  const databases: Record<string, (folder: string) => Promise<Pick<InstallationOptions, 'erp' | 'store'>>> = {
    async SQLite(folder) {
      const file = join(folder, 'erp.sqlite');
      await createSampleErp({ target: { type: 'sqlite', file }, customers: 2, orders });
      return { erp: { type: 'sqlite', file }, store: { type: 'sqlite' } };
    },
    async MariaDB() {
      const { database, server } = mariadb.erp;
      const connection = await server.connect(database.database);
      await createSampleErp({ target: { type: 'mysql', connection }, customers: 2, orders });
      await connection.end();
      const { user, password } = database;
      return {
        erp: { type: 'mysql', database, user, password },
        store: { type: 'mysql', database: mariadb.store.database },
      };
    },
    async PostgreSQL() {
      const { database, server } = postgres.erp;
      const client = await server.connect(database.database);
      await createSampleErp({ target: { type: 'postgres', client }, customers: 2, orders });
      // The tables are root's.
      await client.query(`GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${database.user}`);
      await client.end();
      const { user, password } = database;
      return {
        erp: { type: 'postgres', database, user, password },
        store: { type: 'postgres', database: postgres.store.database },
      };
    },
  };

  for (const [name, create] of Object.entries(databases))
    it(`runs no code of it, with store and ERP on ${name}`, async () => {
      const folder = dir.file(name);
      mkdirSync(folder);
      const sandbox = await startSandbox({ token: canary.token });
      let daemon: Daemon | undefined;
      try {
        const settings = { schedule: { capture: '* * * * * *' } };
        const waybill = new Installation({
          folder,
          serviceUrl: sandbox.url,
          settings,
          ...(await create(folder)),
        });
        const marker = plant(folder);
        const loaded = () => (existsSync(marker) ? readFileSync(marker, 'utf8') : '');
        const says = async (code: number, ...command: string[]) => {
          const run = await waybill.run(...command);
          expect(loaded(), command.join(' ')).to.equal('');
          expect(run.code, `${command.join(' ')}: ${run.stdout}${run.stderr}`).to.equal(code);
          return run.stdout;
        };
        await says(0, 'migrate');
        daemon = waybill.daemon();
        await eventually('its orders are at the service', () => sandbox.counts().orders === orders, 40_000);
        expect(loaded(), 'daemon').to.equal('');
        expect(await says(0, 'status')).to.contain('sandbox');
        expect(await says(0, 'explain', 'order', '1')).to.contain('acknowledged');
        // 3: warnings, of the code in the folder of the configuration among others.
        expect(await says(3, 'doctor')).to.contain('config/default.js is not read');
        daemon.kill('SIGTERM');
        expect(await daemon.ended).to.equal(0);
        expect(loaded(), 'daemon').to.equal('');
      } finally {
        daemon?.kill('SIGKILL');
        await daemon?.ended;
        await sandbox.close();
      }
    });
});

/**
 * Fills a folder with all that a library might load from it: a copy of every module that any of ours names, also where legacy
 * look-ups below $HOME find it, and configurations of many tools as code.
 * @returns the file in which each that runs leaves its name
 */
function plant(folder: string): string {
  const marker = join(folder, 'loaded');
  const code = (what: string) =>
    `require('node:fs').appendFileSync(${JSON.stringify(marker)}, ${JSON.stringify(`${what}\n`)});\nmodule.exports = {};\n`;
  const esm = (what: string) =>
    `import { appendFileSync } from 'node:fs';\nappendFileSync(${JSON.stringify(marker)}, ${JSON.stringify(`${what}\n`)});\nexport default {};\n`;
  const write = (file: string, text: string) => {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  };
  for (const modules of ['node_modules', '.node_modules', '.node_libraries'])
    for (const name of namedModules())
      for (const file of ['index.js', 'promise.js', 'extension/Stream.js', 'lib/index.js'])
        write(join(modules, name, file), code(`${modules}/${name}/${file}`));
  const tools = ['.env', '.pnp', 'ormconfig', 'config', '.waybillrc', 'waybill.config', 'node.config', '.axiosrc'];
  const settings = ['default', 'local', 'production', 'runtime', 'custom-environment-variables', 'parser'];
  for (const base of [...tools, ...settings.map((one) => `config/${one}`)])
    for (const [kind, text] of [
      ['js', code],
      ['cjs', code],
      ['mjs', esm],
      ['ts', code],
      ['cts', code],
    ] as const)
      write(`${base}.${kind}`, text(`${base}.${kind}`));
  // Were it read, nothing would reach the service.
  write('.env', 'WAYBILL_SERVICE_BASE_URL=http://127.0.0.1:9\nHTTP_PROXY=http://127.0.0.1:9\n');
  for (const name of ['ormconfig.json', 'ormconfig.yml']) write(name, '{"type":"sqlite","entities":["./entity.js"]}');
  write('entity.js', code('entity.js'));
  return marker;
}

/** Every package that one of the installed ones depends on, wants beside it or would use, and those that TypeORM looks for. */
function namedModules(): Set<string> {
  const names = new Set<string>(['typeorm', 'mysql', 'sqlite3', 'sqlite', 'hdb-pool', 'react-native-sqlite-storage']);
  const modules = join(projectRoot, 'node_modules');
  const folders = readdirSync(modules).flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(modules, name)).map((inner) => join(name, inner)) : [name],
  );
  for (const file of [projectRoot, ...folders.map((name) => join(modules, name))].map((at) =>
    join(at, 'package.json'),
  )) {
    if (!existsSync(file)) continue;
    const { dependencies, optionalDependencies, peerDependencies } = JSON.parse(readFileSync(file, 'utf8'));
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) names.add(name);
  }
  const platform = readFileSync(join(modules, 'typeorm/platform/PlatformTools.js'), 'utf8');
  for (const [, name] of /KNOWN_MODULES = \[([^\]]+)\]/.exec(platform)?.[1]?.matchAll(/"([^"]+)"/g) ?? [])
    names.add(name as string);
  expect([...names]).to.include.members(['pg', 'pg-native', 'mysql2', 'better-sqlite3', 'redis', 'ioredis', 'mssql']);
  return names;
}
