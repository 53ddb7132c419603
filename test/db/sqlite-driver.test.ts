import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { driverFor, loadDriver, openSqlite, sqliteCode } from '../../src/db/sqlite/driver.js';
import { projectRoot } from '../support/project-root.js';
import { useTempDir } from '../support/temp-dir.js';

const text = (file: string) => readFileSync(join(projectRoot, file), 'utf8');

describe('the SQLite for this Node', () => {
  const dir = useTempDir();

  it('is one that runs on it', () => {
    const nodeApis = { '20.19': '9', '22.13': '9', '22.14': '10', '24.21': '10' };
    expect(Object.values(nodeApis).map(driverFor)).to.deep.equal([
      'better-sqlite3',
      'better-sqlite3',
      'better-sqlite3-13',
      'better-sqlite3-13',
    ]);
    expect(driverFor(undefined)).to.equal('better-sqlite3');
  });

  it('lets a process end that has used many statements', () => {
    // 12 aborts here on Node 24, and 13 crashes on Node 20.
    const script = `
      import { openSqlite } from ${JSON.stringify(join(projectRoot, 'dist/src/db/sqlite/driver.js'))};
      const database = openSqlite(':memory:');
      for (let i = 0; i < 5000; i++) database.prepare('SELECT ' + i).get();`;
    const { status, signal, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
    });
    expect({ status, signal, stderr }).to.deep.equal({ status: 0, signal: null, stderr: '' });
  });

  it('lets go of a file that is closed while a statement of it is still held', () => {
    const file = dir.file('closed.sqlite');
    const database = openSqlite(file);
    database.pragma('journal_mode = WAL');
    database.exec('CREATE TABLE record (id INTEGER)');
    const statement = database.prepare('SELECT id FROM record');
    statement.all();
    expect(existsSync(`${file}-wal`)).to.equal(true);
    database.close();
    // SQLite removes it with the last connection.
    expect(existsSync(`${file}-wal`)).to.equal(false);
    expect(() => statement.all()).to.throw();
  });

  it('names what SQLite says by its code', () => {
    const file = dir.file('busy.sqlite');
    const [one, two] = [openSqlite(file), openSqlite(file, { timeout: 0 })];
    const failure = (database: typeof one, sql: string) => {
      try {
        database.exec(sql);
      } catch (error) {
        return sqliteCode(error);
      }
      return null;
    };
    one.exec('CREATE TABLE record (id INTEGER PRIMARY KEY); BEGIN IMMEDIATE; INSERT INTO record VALUES (1)');
    expect(failure(two, 'BEGIN IMMEDIATE')).to.equal('SQLITE_BUSY');
    expect(failure(one, 'INSERT INTO record VALUES (1)')).to.equal('SQLITE_CONSTRAINT_PRIMARYKEY');
    expect(failure(one, 'SELECT nothing')).to.equal('SQLITE_ERROR');
    expect(sqliteCode(Object.assign(new Error('no'), { code: 'ENOENT' }))).to.equal('');
    one.close();
    two.close();
  });

  describe('is missing', () => {
    const advice =
      "Waybill needs Node 20.19, 22.14, 24 or newer. In Waybill's folder, run `npm ci && npm run build` with the Node that " +
      'runs Waybill.';

    it('and the error says what to do', () => {
      expect(() => loadDriver('better-sqlite3-0', 'v22.12.0'))
        .to.throw(`There is no SQLite for Node v22.12.0 here (Cannot find module 'better-sqlite3-0'). ${advice}`)
        .with.property('name', 'SqliteMissing');
    });

    /** Runs a module where SQLite is not installed. */
    const without = (...args: string[]) => {
      const hidden = `
        const { _resolveFilename } = require('node:module');
        require('node:module')._resolveFilename = (name, ...rest) => {
          if (name.startsWith('better-sqlite3')) throw new Error('It is not there');
          return _resolveFilename(name, ...rest);
        };`;
      writeFileSync(dir.file('hidden.cjs'), hidden);
      return spawnSync(process.execPath, ['--require', dir.file('hidden.cjs'), ...args], { encoding: 'utf8' });
    };
    const said = `There is no SQLite for Node ${process.version} here (It is not there). ${advice}\n`;

    it('and a command ends with this one line', () => {
      const { status, stderr } = without(join(projectRoot, 'dist/src/main.js'), 'demo');
      expect({ status, stderr }).to.deep.equal({ status: 1, stderr: `waybill: ${said}` });
    });

    it('and no daemon waits for the store', () => {
      const script = `
        import { openStore } from ${JSON.stringify(join(projectRoot, 'dist/src/store/open-store.js'))};
        await openStore({ type: 'sqlite', file: ${JSON.stringify(dir.file('store.sqlite'))} }).catch((error) =>
          console.log(error.unreachable === true, error.message));`;
      const { stdout } = without('--input-type=module', '-e', script);
      expect(stdout).to.equal(`false ${said}`);
    });
  });
});

describe('an installation', () => {
  const { scripts, optionalDependencies } = JSON.parse(text('package.json')) as Record<
    'scripts' | 'optionalDependencies',
    Record<string, string>
  >;
  interface Locked {
    version: string;
    resolved?: string;
    engines?: { node: string };
  }
  const { packages } = JSON.parse(text('package-lock.json')) as { packages: Record<string, Locked> };

  it('runs no code of a package, so that no compiler is asked for', () => {
    expect(text('.npmrc').split('\n')).to.include('ignore-scripts=true');
    // npm would silently leave these out.
    const hooks = Object.keys(scripts).filter(
      (name) => /^(pre|post)/.test(name) && name.replace(/^(pre|post)/, '') in scripts,
    );
    expect(hooks).to.deep.equal([]);
  });

  it('has both SQLites, and the one for newer Nodes only there', () => {
    // `npm install --global` runs its script: without a compiler that fails, and npm must only leave it out.
    expect(optionalDependencies['better-sqlite3']).to.match(/^12\./);
    expect(optionalDependencies['better-sqlite3-13']).to.match(/^npm:better-sqlite3@13\./);
    // npm leaves out an optional package that doesn't fit.
    expect(packages['node_modules/better-sqlite3-13']?.engines?.node).to.equal('>=22');
    expect(Object.values(packages).filter(({ resolved }) => resolved !== undefined)).to.deep.equal([]);
  });
});
