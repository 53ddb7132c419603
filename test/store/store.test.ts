import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { Settings } from '../../src/config/settings.js';
import { mysql } from '../../src/db/mysql/mysql-store.js';
import { openSqlite } from '../../src/db/sqlite/driver.js';
import { sqlite } from '../../src/db/sqlite/sqlite-store.js';
import { Secret } from '../../src/model/secret.js';
import { checkStore } from '../../src/operator/setup/doctor/check-store.js';
import { storeDataSource } from '../../src/store/data-source.js';
import { migrations } from '../../src/store/migration-list.js';
import { openStore, openStoreForReading } from '../../src/store/open-store.js';
import type { Store, Tx } from '../../src/store/store.js';
import { StoreError } from '../../src/store/store-error.js';
import { readStoreInfo, writeStoreInfo } from '../../src/store/store-info.js';
import { mayRunAgain } from '../../src/store/transaction.js';
import { LastWordsProxy } from '../support/last-words-proxy.js';
import { projectRoot } from '../support/project-root.js';
import { settingsAround } from './store-settings.js';
import { onEveryStore, onServers, useStore } from './stores.js';

async function errorOf(run: () => Promise<unknown>): Promise<Error> {
  try {
    await run();
  } catch (error) {
    return error as Error;
  }
  throw new Error('expected an error, but all went well');
}

const put = (tx: Tx, name: string, value: string) =>
  tx.run('INSERT INTO store_info (name, value) VALUES (?,?)', [name, value]);

const factOf = async (store: Store, name: string) =>
  (await store.read('look', (tx) => tx.select('SELECT value FROM store_info WHERE name=?', [name])))[0]?.value ?? null;

onEveryStore('the store', (kit) => {
  it('names the columns of rows in camel case, and gives numbers as numbers', async () => {
    await kit.store.transaction('take a lease', (tx) =>
      tx.run("INSERT INTO lease (name, epoch, holder, expires_at) VALUES ('capture', 7, NULL, 1700000000000)"),
    );
    const sql =
      'SELECT name, epoch, expires_at, released_at, SUM(epoch) AS sum_of_epochs, COUNT(*) AS n FROM lease GROUP BY name';
    const rows = await kit.store.read('read it', (tx) => tx.rows(`${sql}, epoch, expires_at, released_at`));
    expect(rows).to.deep.equal([
      { name: 'capture', epoch: 7, expiresAt: 1_700_000_000_000, releasedAt: null, sumOfEpochs: 7, n: 1 },
    ]);
  });

  it('keeps all of a transaction, or nothing when its work throws', async () => {
    const broken = new Error('the work broke off');
    const error = await errorOf(() =>
      kit.store.transaction('write', async (tx) => {
        await put(tx, 'a', '1');
        await put(tx, 'b', '2');
        throw broken;
      }),
    );
    expect(error).to.equal(broken);
    expect(await factOf(kit.store, 'a')).to.equal(null);

    await kit.store.transaction('write', async (tx) => {
      await put(tx, 'a', '1');
      await put(tx, 'b', '2');
    });
    expect([await factOf(kit.store, 'a'), await factOf(kit.store, 'b')]).to.deep.equal(['1', '2']);
  });

  it('keeps nothing of a transaction whose second statement fails, and says what it was doing', async () => {
    const error = await errorOf(() =>
      kit.store.transaction('write a test', async (tx) => {
        await put(tx, 'a', '1');
        await tx.run('INSERT INTO store_info (name, no_such_column) VALUES (?,?)', ['b', 'personal data']);
      }),
    );
    expect(error).to.be.instanceOf(StoreError);
    expect(error.message).to.match(/^The store failed to write a test: .*no_such_column/);
    expect(error.message).to.not.contain('personal data');
    expect((error as StoreError).unreachable).to.equal(false);
    expect(await factOf(kit.store, 'a')).to.equal(null);
  });

  it('refuses a store call inside a transaction, and goes on afterwards', async () => {
    for (const inner of [
      () => kit.store.transaction('inner', async () => 1),
      () => kit.store.read('inner', async () => 1),
    ]) {
      const error = await errorOf(() => kit.store.transaction('outer', inner));
      expect(error.message).to.contain('use its tx instead');
    }
    expect(await kit.store.transaction('afterwards', async () => 'fine')).to.equal('fine');
  });

  it('does not let transactions of one process run into each other', async () => {
    await kit.store.transaction('begin', (tx) => put(tx, 'counter', '0'));
    const lock = kit.store.dialect.forUpdate;
    const countUp = () =>
      kit.store.transaction('count', async (tx) => {
        const [row] = await tx.select(`SELECT value FROM store_info WHERE name='counter'${lock}`);
        // A turn of the event loop, in which another transaction could get in between.
        await sleep(2);
        await tx.run("UPDATE store_info SET value=? WHERE name='counter'", [String(Number(row.value) + 1)]);
      });
    await Promise.all(Array.from({ length: 8 }, countUp));
    expect(await factOf(kit.store, 'counter')).to.equal('8');
  });

  it('does not roll back a neighbour with a transaction that fails', async () => {
    const [, good] = await Promise.allSettled([
      kit.store.transaction('fail', async (tx) => {
        await put(tx, 'bad', '1');
        await sleep(5);
        throw new Error('no');
      }),
      kit.store.transaction('succeed', async (tx) => {
        await put(tx, 'good', '1');
        await sleep(5);
      }),
    ]);
    expect(good?.status).to.equal('fulfilled');
    expect([await factOf(kit.store, 'bad'), await factOf(kit.store, 'good')]).to.deep.equal([null, '1']);
  });

  it('tells how many rows a statement matched, changed or not', async () => {
    const counts = await kit.store.transaction('count', async (tx) => {
      await put(tx, 'x', '1');
      await put(tx, 'y', '1');
      return [
        await tx.run("UPDATE store_info SET value='1' WHERE name IN ('x','y')"),
        await tx.run("UPDATE store_info SET value='2' WHERE name='none'"),
        await tx.run("DELETE FROM store_info WHERE name='x'"),
      ];
    });
    expect(counts).to.deep.equal([2, 0, 1]);
  });

  it('gives back the id of an inserted row, and big integers as numbers', async () => {
    const sql = "INSERT INTO audit_log (at, event, actor, detail, chain, seq, hash) VALUES (?,?,?,?,1,1,'')";
    const [first, second] = await kit.store.transaction('insert', async (tx) => [
      await tx.insertReturningId(sql, [1_790_000_000_123, 'start', 'a', '{}']),
      await tx.insertReturningId(sql, [Number.MAX_SAFE_INTEGER, 'start', 'a', '{}']),
    ]);
    expect(second).to.equal((first as number) + 1);
    expect(await kit.rows('SELECT id, at FROM audit_log ORDER BY id')).to.deep.equal([
      { id: first, at: 1_790_000_000_123 },
      { id: second, at: Number.MAX_SAFE_INTEGER },
    ]);
  });

  it('remembers facts about itself, and overwrites them', async () => {
    await kit.store.transaction('write', (tx) => writeStoreInfo(tx, 'environment', 'sandbox'));
    await kit.store.transaction('write', (tx) => writeStoreInfo(tx, 'environment', 'production'));
    expect(await kit.store.read('look', (tx) => readStoreInfo(tx, 'environment'))).to.equal('production');
    expect(await kit.store.read('look', (tx) => readStoreInfo(tx, 'go_live'))).to.equal(null);
  });

  it('keeps its incarnation when it is opened again, and a new store has another', async () => {
    const incarnationOf = (store: Store) => factOf(store, 'incarnation');
    const again = await kit.connect();
    expect(await incarnationOf(again)).to.match(/^[0-9a-f-]{36}$/);
    expect(await incarnationOf(again)).to.equal(await incarnationOf(kit.store));

    const other = await openStore(await kit.emptyDatabase());
    try {
      expect(await incarnationOf(other.store)).to.not.equal(await incarnationOf(kit.store));
    } finally {
      await other.store.close();
    }
  });

  it('shows one connection what the other committed', async () => {
    const other = await kit.connect();
    await other.transaction('write', (tx) => put(tx, 'seen', 'yes'));
    expect(await factOf(kit.store, 'seen')).to.equal('yes');
  });

  it('can be made by several at the same moment', async () => {
    const settings = await kit.emptyDatabase();
    const opened = await Promise.all([openStore(settings), openStore(settings), openStore(settings)]);
    try {
      const ids = await Promise.all(opened.map(({ store }) => factOf(store, 'incarnation')));
      expect(new Set(ids).size).to.equal(1);
    } finally {
      for (const { store } of opened) await store.close();
    }
  });

  it('refuses a schema of another version, and leaves it as it is', async () => {
    const settings = await kit.emptyDatabase();
    const { store } = await openStore(settings);
    const future = "INSERT INTO migration (timestamp, name) VALUES (1999999999999, 'Future1999999999999')";
    await store.transaction('travel in time', (tx) => tx.run(future));
    await store.close();

    const error = await errorOf(() => openStore(settings));
    expect(error).to.be.instanceOf(StoreError);
    expect(error.message).to.match(
      /schema of another version of Waybill \(Future1999999999999\).*Install the version that made it/,
    );
  });

  for (const broken of ['CREATE TABLE attempt', 'CREATE INDEX binding_read', 'INSERT INTO'])
    it(`goes on with a first migration that was interrupted at ${broken}`, async () => {
      const settings = await kit.emptyDatabase();
      const dataSource = await (await storeDataSource(settings)).initialize();
      const runner = dataSource.createQueryRunner();
      const { query } = runner;
      dataSource.createQueryRunner = () => runner;
      runner.query = async (sql: string, ...rest: never[]) => {
        if (sql.startsWith(broken)) throw new Error('the process was killed');
        return query.call(runner, sql, ...rest);
      };
      const error = await errorOf(() => dataSource.runMigrations({ transaction: 'each' }));
      expect(error.message).to.equal('the process was killed');
      await runner.release();
      await dataSource.destroy();
      for (let starts = 0; starts < 2; starts++) await (await openStore(settings)).store.close();
    });

  it('tells doctor which database it is, and that nothing is lost in it', async () => {
    const [first, ...others] = await checkStore({ store: kit.settings } as Settings, Date.now);
    const name = { sqlite: /^SQLite 3/, mysql: /^\d+\..*utf8/, postgres: /^\d+.*UTF8/ }[kit.dialect];
    expect(first)
      .to.have.property('what')
      .that.matches(name)
      .and.matches(/; time zone of the server \w/);
    expect(others.filter(({ severity }) => severity === 'error')).to.deep.equal([]);
  });

  it('leaves the tables of another program alone, and says so', async () => {
    for (const [name, columns, values] of [
      ['invoice', 'invoice_no INTEGER', null],
      ['store_info', 'name VARCHAR(64), value TEXT', "('a', 'b')"],
    ] as const) {
      const settings = await kit.emptyDatabase();
      const dataSource = await (await storeDataSource(settings)).initialize();
      await dataSource.query(`CREATE TABLE ${name} (${columns})`);
      if (values !== null) await dataSource.query(`INSERT INTO ${name} VALUES ${values}`);
      const error = await errorOf(() => openStore(settings));
      expect(error).to.be.instanceOf(StoreError);
      expect(error.message).to.include(`has a table ${name} already`).and.include('a database of its own');
      await dataSource.query(`DROP TABLE ${name}`);
      await dataSource.destroy();
      await (await openStore(settings)).store.close();
    }
  });

  it('goes no way back with its migrations, and stays as it is', async () => {
    const settings = await kit.emptyDatabase();
    await (await openStore(settings)).store.close();
    const dataSource = await (await storeDataSource(settings)).initialize();
    const runner = dataSource.createQueryRunner();
    try {
      const wayBack = [
        () => dataSource.undoLastMigration(),
        ...dataSource.migrations.map((one) => () => one.down(runner)),
      ];
      for (const goBack of wayBack)
        expect((await errorOf(goBack)).message).to.include('Restore the copy that was made before the upgrade');
    } finally {
      await runner.release();
      await dataSource.destroy();
    }
    const { store } = await openStore(settings);
    expect(await factOf(store, 'incarnation')).to.be.a('string');
    await store.close();
  });

  it('lets the TypeORM command line show and run the migrations of the configured store', async function () {
    // npm, tsx and TypeORM start anew for each command: they are waited for, however busy the machine is.
    this.timeout(300_000);
    const { password, ...settings } = (await kit.emptyDatabase()) as { type: string; password?: { reveal(): string } };
    const config = join(kit.folder, 'config');
    await promisify(execFile)('mkdir', ['-p', config]);
    writeFileSync(join(config, 'local.yaml'), JSON.stringify(settingsAround({ store: settings })));
    const env = {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      WAYBILL_CONFIG: config,
      WAYBILL_SERVICE_TOKEN: 'test-token',
      ...(password ? { WAYBILL_STORE_PASSWORD: password.reveal() } : {}),
    };
    const start = async (program: string, ...given: string[]) =>
      (await promisify(execFile)(program, given, { cwd: projectRoot, env })).stdout;
    const names = migrations.map(({ name }) => name);
    if (kit.dialect === 'sqlite') {
      const typeorm = (command: string) =>
        start('npm', 'run', '--silent', 'typeorm', '--', command, '-d', 'ormconfig.ts');
      const ran = await typeorm('migration:run');
      for (const name of names) expect(ran).to.contain(`${name} has been executed successfully`);
      const shown = await typeorm('migration:show');
      for (const name of names) expect(shown).to.match(new RegExp(`\\[X\\].*${name}`));
      return;
    }
    // Those commands' use of the data source that the file names, in one process.
    const program = `
      const { default: source } = await import('./dist/ormconfig.js');
      await source.initialize();
      const done = await source.runMigrations();
      const isPending = await source.showMigrations();
      console.log(JSON.stringify([done.map(({ name }) => name), isPending]));
      await source.destroy();`;
    const said = await start(process.execPath, '--input-type=module', '-e', program);
    expect(JSON.parse(said.trim().split('\n').at(-1) ?? '')).to.deep.equal([names, false]);
  });
});

describe('a store in a SQLite file', () => {
  const kit = useStore('sqlite');
  const fileOf = () => (kit.settings as { file: string }).file;

  it('survives a power cut with what it committed: WAL, synchronous FULL', async () => {
    expect(await kit.rows('PRAGMA journal_mode')).to.deep.equal([{ journal_mode: 'wal' }]);
    expect(await kit.rows('PRAGMA synchronous')).to.deep.equal([{ synchronous: 2 }]);
  });

  it('is nobody else’s business', async () => {
    await kit.store.transaction('write', (tx) => put(tx, 'a', '1'));
    for (const name of [fileOf(), `${fileOf()}-wal`, `${fileOf()}-shm`])
      expect(statSync(name).mode & 0o777, name).to.equal(0o600);

    const settings = (await kit.emptyDatabase()) as { type: 'sqlite'; file: string };
    await (await openStore(settings)).store.close();
    expect(statSync(dirname(settings.file)).mode & 0o777).to.equal(0o700);
    chmodSync(settings.file, 0o644);
    await (await openStore(settings)).store.close();
    expect(statSync(settings.file).mode & 0o777).to.equal(0o600);
  });

  it('waits for another process that is writing, while timers go on', async () => {
    // Takes the write lock, says so, and lets go when it is told to.
    const script = `
      const { openSqlite } = await import(process.argv[1]);
      const database = openSqlite(process.argv[2]);
      database.exec("BEGIN IMMEDIATE; INSERT INTO store_info (name, value) VALUES ('other', 'process')");
      process.stdout.write('locked');
      process.stdin.once('data', () => { database.exec('COMMIT'); process.exit(); });`;
    const other = spawn(
      process.execPath,
      ['--input-type=module', '-e', script, join(projectRoot, 'dist/src/db/sqlite/driver.js'), fileOf()],
      { cwd: projectRoot },
    );
    const ended = once(other, 'exit');
    await once(other.stdout, 'data');
    let runs = 0;
    const seen = kit.store.transaction('write beside it', async (tx) => {
      runs++;
      await put(tx, 'own', '1');
      return tx.select("SELECT value FROM store_info WHERE name='other'");
    });
    // Were the driver to wait, not one of these would come before it gave up, and the other process would hear nothing.
    for (let tick = 0; tick < 50; tick++) await sleep(10);
    expect(runs).to.equal(0);
    other.stdin.write('go');
    expect(await seen).to.deep.equal([{ value: 'process' }]);
    expect((await ended)[0]).to.equal(0);
    expect(runs).to.equal(1);
  });

  it('runs a transaction again, whole, that another process has overtaken', async () => {
    const other = await kit.connect();
    let runs = 0;
    await kit.store.transaction('write', async (tx) => {
      // As if it had begun with a read: its snapshot is older than what the other one writes.
      if (++runs > 1) return put(tx, 'own', '1');
      await tx.run('COMMIT');
      await tx.run('BEGIN');
      await tx.select('SELECT * FROM store_info');
      await other.transaction('overtake it', (its) => put(its, 'other', '1'));
      return put(tx, 'own', '1');
    });
    expect([runs, await factOf(kit.store, 'own'), await factOf(kit.store, 'other')]).to.deep.equal([2, '1', '1']);
  });

  it('waits ten seconds for it, and no longer', () => {
    const failed = (code: string) => ({ driverError: { code } });
    for (const code of ['SQLITE_BUSY', 'SQLITE_BUSY_SNAPSHOT', 'SQLITE_BUSY_RECOVERY']) {
      expect(mayRunAgain(sqlite, failed(code), 500, 9_999), code).to.equal(true);
      expect(mayRunAgain(sqlite, failed(code), 2, 10_000), code).to.equal(false);
    }
    expect(mayRunAgain(sqlite, failed('SQLITE_FULL'), 1, 0)).to.equal(false);
    // Not ten times the fifty seconds for which a server waits for a lock.
    const deadlock = { driverError: { errno: 1213 } };
    expect([9_999, 10_000].map((ms) => mayRunAgain(mysql, deadlock, 9, ms))).to.deep.equal([true, false]);
    expect(mayRunAgain(mysql, deadlock, 10, 0)).to.equal(false);
  });

  it('is opened, to write and to look at it, beside a transaction of the same process', async () => {
    let looked = false;
    const [, opened] = await Promise.all([
      kit.store.transaction('write for a while', async (tx) => {
        await put(tx, 'own', '1');
        const { store } = await openStoreForReading(kit.settings);
        looked = (await factOf(store, 'incarnation')) !== null;
        await store.close();
        await sleep(50);
      }),
      sleep(10).then(() => openStore(kit.settings)),
    ]);
    expect(looked).to.equal(true);
    expect(await factOf(opened.store, 'own')).to.equal('1');
    await opened.store.close();
  });

  for (const [how, damage] of [
    ['cut off', (bytes: Buffer) => bytes.subarray(0, bytes.length - 4096)],
    ['overwritten', (bytes: Buffer) => Buffer.alloc(bytes.length, 7)],
  ] as const)
    it(`is no store that may come back where its file is ${how}: the advice is to restore a copy`, async () => {
      const file = join(kit.folder, `damaged-${how}.sqlite`);
      await (await openStore({ type: 'sqlite', file })).store.close();
      writeFileSync(file, damage(readFileSync(file)));
      const error = (await errorOf(() => openStore({ type: 'sqlite', file }))) as StoreError;
      expect(error).to.be.instanceOf(StoreError).and.include({ unreachable: false });
      expect(error.message).to.match(/is damaged.*newest copy.*waybill recover/);
    });

  it('is found damaged by doctor where one page of its file is', async () => {
    const file = join(kit.folder, 'damaged-page.sqlite');
    await (await openStore({ type: 'sqlite', file })).store.close();
    const look = async () =>
      (await checkStore({ store: { type: 'sqlite', file } } as Settings, Date.now)).map(({ severity }) => severity);
    expect(await look()).to.not.include('error');
    const database = openSqlite(file);
    const { rootpage } = database.prepare("SELECT rootpage FROM sqlite_master WHERE name='attempt'").get() as {
      rootpage: number;
    };
    const { page_size: size } = database.prepare('PRAGMA page_size').get() as { page_size: number };
    database.close();
    const bytes = readFileSync(file);
    bytes.fill(0, (rootpage - 1) * size, rootpage * size);
    writeFileSync(file, bytes);
    expect(await look()).to.include('error');
  });

  it('says which file can not be opened', async () => {
    const file = join(kit.folder, 'not-a-folder');
    writeFileSync(file, '');
    const error = await errorOf(() => openStore({ type: 'sqlite', file: join(file, 'store.sqlite') }));
    expect(error).to.be.instanceOf(StoreError);
    expect(error.message).to.contain(join(file, 'store.sqlite'));
  });
});

/** The order of a test to one of them. */
const servers = {
  mysql: {
    shortLockWait: 'SET SESSION innodb_lock_wait_timeout=1',
    usualLockWait: 'SET SESSION innodb_lock_wait_timeout=50',
  },
  postgres: {
    shortLockWait: "SET lock_timeout='1s'",
    usualLockWait: "SET lock_timeout='50s'",
  },
};

onServers('a store', (kit) => {
  const connect = async (): Promise<{ query(sql: string): Promise<unknown>; end(): Promise<void> }> => {
    const { server, database } = kit.dialect === 'postgres' ? kit.postgres : kit.mariaDb;
    return server.connect(database.database);
  };
  const say = servers[kit.dialect as keyof typeof servers];

  it('shows a transaction what others commit meanwhile', async () => {
    const other = await kit.connect();
    const seen = await kit.store.transaction('look twice', async (tx) => {
      const look = () => readStoreInfo(tx, 'environment');
      return [await look(), await other.transaction('write', (its) => put(its, 'environment', 'yes')), await look()];
    });
    expect(seen).to.deep.equal([null, 1, 'yes']);
  });

  it('runs a whole transaction again after a deadlock', async () => {
    await kit.store.transaction('begin', async (tx) => {
      await put(tx, 'a', '0');
      await put(tx, 'b', '0');
    });
    let runs = 0;
    let waiting = 0;
    let bothHold: () => void = () => undefined;
    const holding = new Promise<void>((resolve) => {
      bothHold = resolve;
    });
    const add = async (first: string, second: string) =>
      kit.store.transaction('lock crosswise', async (tx) => {
        runs++;
        await tx.run("UPDATE store_info SET value=CASE value WHEN '0' THEN '1' ELSE '2' END WHERE name=?", [first]);
        if (++waiting === 2) bothHold();
        await holding;
        await tx.run("UPDATE store_info SET value=CASE value WHEN '0' THEN '1' ELSE '2' END WHERE name=?", [second]);
      });
    await Promise.all([add('a', 'b'), add('b', 'a')]);
    expect(runs).to.equal(3);
    expect([await factOf(kit.store, 'a'), await factOf(kit.store, 'b')]).to.deep.equal(['2', '2']);
  });

  it('rolls back after a lock wait timeout, and keeps no half when it runs again', async () => {
    await kit.store.transaction('begin', (tx) => put(tx, 'held', '0'));
    const blocker = await connect();
    await blocker.query('START TRANSACTION');
    await blocker.query("UPDATE store_info SET value='1' WHERE name='held'");
    let runs = 0;
    await kit.store.transaction('write behind it', async (tx) => {
      runs++;
      if (runs === 2) await blocker.query('COMMIT');
      await tx.run(
        "INSERT INTO audit_log (chain, seq, hash, at, event, actor, detail) VALUES (1, 1, '', 1, 'start', 'x', '{}')",
      );
      await tx.run(say.shortLockWait);
      await tx.run("UPDATE store_info SET value='2' WHERE name='held'");
      await tx.run(say.usualLockWait);
    });
    await blocker.end();
    expect(runs).to.equal(2);
    expect(await factOf(kit.store, 'held')).to.equal('2');
    expect(await kit.rows('SELECT COUNT(*) AS n FROM audit_log')).to.deep.equal([{ n: 1 }]);
  });

  it('lets go of the locks of a process that says nothing more in mid-transaction', async () => {
    await kit.store.transaction('begin', (tx) => put(tx, 'held', '0'));
    const other = await kit.connect();
    let locked: () => void = () => undefined;
    const isLocked = new Promise<void>((resolve) => {
      locked = resolve;
    });
    let overtake: () => void = () => undefined;
    const overtaken = new Promise<void>((resolve) => {
      overtake = resolve;
    });
    const frozen = other.transaction('freeze', async (tx) => {
      await tx.run("UPDATE store_info SET value='1' WHERE name='held'");
      locked();
      await overtaken;
      await tx.run("UPDATE store_info SET value='2' WHERE name='held'");
    });
    const outcome = frozen.then(
      () => 'committed',
      (error: StoreError) => (error.unreachable ? 'cut' : String(error)),
    );
    await isLocked;
    await kit.store.transaction('write behind it', (tx) => tx.run("UPDATE store_info SET value='3' WHERE name='held'"));
    overtake();
    expect(await outcome).to.equal('cut');
    expect(await factOf(kit.store, 'held')).to.equal('3');
  });

  it('cuts a connection on which no answer comes, says so, and goes on', async () => {
    const store = await kit.connect();
    store.answerWithinMs = 300;
    const sleep = kit.dialect === 'postgres' ? 'SELECT pg_sleep(60)' : 'SELECT SLEEP(60)';
    const stuck = () => store.transaction('write', async (tx) => tx.select(sleep));
    const ended = await Promise.allSettled(Array.from({ length: 8 }, stuck));
    for (const one of ended) {
      const { reason } = one as PromiseRejectedResult;
      expect(reason).to.be.instanceOf(StoreError).and.to.have.property('unreachable', true);
      expect(reason.message).to.match(
        /^The store failed to write: it has not answered for 0 s, .*\. Check store\.host and store\.port, and the firewall/,
      );
    }
    await store.transaction('write', (tx) => put(tx, 'after', '1'));
    expect(await factOf(store, 'after')).to.equal('1');
  });
});

describe('a store in MariaDB', () => {
  const kit = useStore('mysql');

  it('warns about a server that may lose what it acknowledged', async () => {
    const root = await kit.mariaDb.server.connect();
    try {
      for (const [value, warnings] of [
        [2, 1],
        [0, 1],
        [1, 0],
      ] as const) {
        await root.query(`SET GLOBAL innodb_flush_log_at_trx_commit=${value}`);
        const opened = await openStore(kit.settings);
        await opened.store.close();
        expect(opened.warnings, `with ${value}`).to.have.length(warnings);
        if (warnings > 0) expect(opened.warnings[0]).to.contain(`innodb_flush_log_at_trx_commit=${value}`);
      }
    } finally {
      await root.query('SET GLOBAL innodb_flush_log_at_trx_commit=1');
      await root.end();
    }
  });
});

describe('a store in PostgreSQL', () => {
  const kit = useStore('postgres');

  it('warns about a server that may lose what it acknowledged', async () => {
    const { database } = kit.postgres;
    for (const setting of ['off', 'on']) {
      await database.query(`ALTER ROLE ${database.user} SET synchronous_commit=${setting}`);
      const opened = await openStore(kit.settings);
      await opened.store.close();
      expect(opened.warnings.join(), setting).to.equal(
        setting === 'on'
          ? ''
          : "The store's server has synchronous_commit=off: a power cut may lose what was acknowledged. Set it to on.",
      );
    }
  });

  it('commits nothing of a transaction in which a statement failed, although its error was caught', async () => {
    const error = await errorOf(() =>
      kit.store.transaction('write a test', async (tx) => {
        await put(tx, 'a', '1');
        await tx.run('INSERT INTO no_such_table VALUES (1)').catch(() => undefined);
      }),
    );
    expect(error.message).to.contain('no_such_table');
    expect(await factOf(kit.store, 'a')).to.equal(null);
  });

  it('opens in a database that was made as docs/operating.md says', async () => {
    const document = readFileSync(join(projectRoot, 'docs/operating.md'), 'utf8');
    const statements = /```text\n(CREATE ROLE [^`]*)```/.exec(document)?.[1] ?? '';
    const root = await kit.postgres.server.connect();
    try {
      for (const statement of statements.trim().split('\n')) await root.query(statement);
      const settings = { ...kit.settings, database: 'waybill', user: 'waybill', password: new Secret('…') };
      await (await openStore(settings as typeof kit.settings)).store.close();
    } finally {
      for (const what of ['DATABASE', 'ROLE']) await root.query(`DROP ${what} IF EXISTS waybill`);
      await root.end();
    }
  });

  it('keeps its sessions in UTC, and ends statements and transactions that take too long', async () => {
    const names = ['timezone', 'statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'];
    const rows = await kit.rows(`SELECT ${names.map((name) => `current_setting('${name}') AS ${name}`)}`);
    expect(rows).to.deep.equal([
      { timezone: 'UTC', statement_timeout: '10min', lock_timeout: '50s', idle_in_transaction_session_timeout: '5s' },
    ]);
  });

  it('outlives a server that ends sessions in the moment in which they begin', async () => {
    const proxy = await new LastWordsProxy(kit.postgres.database).open();
    const settings = { ...kit.settings, host: '127.0.0.1', port: proxy.port } as typeof kit.settings;
    const { store } = await openStore(settings);
    try {
      proxy.endsSessions = true;
      for (const open of [openStore, openStoreForReading])
        expect(await errorOf(() => open(settings)))
          .to.be.instanceOf(StoreError)
          .and.include({ unreachable: true });
      proxy.ended = 0;
      // More than sessions that rest.
      const looks = await Promise.allSettled(Array.from({ length: 5 }, () => factOf(store, 'incarnation')));
      expect(proxy.ended).to.be.greaterThan(0);
      for (const look of looks)
        if (look.status === 'rejected')
          expect(look.reason).to.be.instanceOf(StoreError).and.include({ unreachable: true });
      proxy.endsSessions = false;
      expect(await factOf(store, 'incarnation')).to.be.a('string');
    } finally {
      await store.close();
      await proxy.close();
    }
  });

  it('numbers parameters, but no question mark in a text', async () => {
    const sql = "SELECT ? AS a, 'why? it''s ?' AS b, ? AS c";
    expect(await kit.rows(sql, ['1', '?'])).to.deep.equal([{ a: '1', b: "why? it's ?", c: '?' }]);
  });

  it('writes only what a connection may that is to read', async () => {
    const { store } = await openStoreForReading(kit.settings);
    try {
      const error = await errorOf(() => store.transaction('write', (tx) => put(tx, 'a', '1')));
      expect(error.message).to.contain('read-only transaction');
    } finally {
      await store.close();
    }
  });
});

describe('a store on a full disk', () => {
  const kit = useStore('sqlite');

  it('keeps nothing of what did not fit, says so, and goes on when there is room again', async () => {
    const pages = async () => {
      const [row] = await kit.rows('PRAGMA page_count');
      return Number(row.page_count);
    };
    const pragma = (sql: string) => kit.rows(sql);
    await pragma(`PRAGMA max_page_count=${(await pages()) + 3}`);
    const write = () =>
      kit.store.transaction('write much', async (tx) => {
        await tx.run(
          "INSERT INTO audit_log (chain, seq, hash, at, event, actor, detail) VALUES (1, 1, '', 1, 'start', 'x', '{}')",
        );
        for (let i = 0; i < 50; i++)
          await tx.run('INSERT INTO store_info (name, value) VALUES (?, ?)', [`much-${i}`, 'x'.repeat(4_000)]);
      });
    const error = await errorOf(write);
    expect(error).to.be.instanceOf(StoreError);
    expect(error.message).to.contain('write much').and.to.contain('full');
    expect(await kit.rows('SELECT COUNT(*) AS n FROM audit_log')).to.deep.equal([{ n: 0 }]);
    await pragma('PRAGMA max_page_count=1000000');
    await write();
    expect(await kit.rows('SELECT COUNT(*) AS n FROM audit_log')).to.deep.equal([{ n: 1 }]);
  });
});
