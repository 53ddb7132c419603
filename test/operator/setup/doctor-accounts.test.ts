import { expect } from 'chai';
import { storeSettings } from '../../../src/config/sections/store.js';
import { writeBackSettings } from '../../../src/config/sections/write-back.js';
import type { Settings } from '../../../src/config/settings.js';
import { judgeMysql } from '../../../src/db/mysql/store-account.js';
import { judgePostgres } from '../../../src/db/postgres/store-account.js';
import { Secret } from '../../../src/model/secret.js';
import { checkWriteBack, excessOf } from '../../../src/operator/setup/doctor/check-write-back.js';
import type { Finding } from '../../../src/operator/setup/doctor/finding.js';
import { checkStoreAccount } from '../../../src/operator/setup/doctor/store-account.js';
import { type ErpLab, erpSource, TABLES, useMariaDbLab, usePostgresLab, useSqliteLab } from '../../erp/erp-lab.js';

interface TestAccount {
  user: string;
  password: string;
  drop(): Promise<void>;
}

/** An account of a server with these grants, and a way to run what the doctor says as an administrator. */
interface Server {
  lab: ErpLab;
  place(): { host: string; port: number; database: string };
  account(grants: readonly string[]): Promise<TestAccount>;
  asRoot(statement: string): Promise<unknown>;
}

function writeBackOf(given: object): Settings['writeBack'] {
  return writeBackSettings.parse({
    enabled: true,
    customers: { enabled: false },
    invoices: { enabled: false },
    ...given,
  });
}

const told = (findings: readonly Finding[]) => findings.map(({ severity, what }) => `${severity}: ${what}`);

function accountTests({ lab, place, account, asRoot }: Server): void {
  const made: TestAccount[] = [];
  afterEach(async () => {
    for (const one of made.splice(0)) await one.drop();
  });
  const check = async (of: TestAccount, writeBack: object = {}) => {
    const settings = { ...erpSource(lab), writeBack: writeBackOf({ user: of.user, ...writeBack }) } as Settings;
    settings.writeBack.password = new Secret(of.password);
    return checkWriteBack(settings);
  };
  const make = async (...grants: string[]) => {
    const one = await account(grants);
    made.push(one);
    return one;
  };
  const mend = async (findings: readonly Finding[]) => {
    const statements = findings.flatMap(({ todo }) => todo).join('\n');
    for (const statement of statements.split(';\n')) await asRoot(statement.replace(/;$/, ''));
  };

  it('of the write-back that may do too little gets its table and its grants', async () => {
    await lab.run(...TABLES);
    const writer = await make('SELECT ON orders');
    const found = await check(writer);
    expect(found.map(({ severity }) => severity)).to.deep.equal(['error']);
    expect(found[0]?.what).to.contain('waybill_orders');
    await mend(found);
    expect(told(await check(writer))).to.deep.equal([
      'ok: The account of the write-back may do what it has to, and nothing else.',
    ]);
  });

  it('of the write-back that may do too much keeps what it needs', async () => {
    await lab.run(...TABLES, 'CREATE TABLE other (id INT)');
    const writer = await make('SELECT ON orders');
    await mend(await check(writer));
    await asRoot(
      lab.type === 'mysql'
        ? `GRANT INSERT, UPDATE ON ${place().database}.other TO '${writer.user}'@'127.0.0.1'`
        : `GRANT INSERT, UPDATE ON other TO ${writer.user}`,
    );
    const found = await check(writer);
    expect(told(found)[0]).to.match(
      /^warning: The account of the write-back may write more .*INSERT, UPDATE on \S+\.other\.$/,
    );
    await mend(found);
    expect(told(await check(writer))[0]).to.match(/^ok/);
  });

  it('of the write-back that may do too much with a role loses the role', async () => {
    await lab.run(...TABLES, 'CREATE TABLE other (id INT)');
    const writer = await make('SELECT ON orders');
    await mend(await check(writer));
    const role = `role_${writer.user}`;
    const isMysql = lab.type === 'mysql';
    await asRoot(`CREATE ROLE ${role}`);
    try {
      await asRoot(`GRANT DELETE ON ${isMysql ? `${place().database}.` : ''}other TO ${role}`);
      await asRoot(`GRANT ${role} TO ${isMysql ? `'${writer.user}'@'127.0.0.1'` : writer.user}`);
      if (!isMysql)
        await asRoot(`ALTER ROLE ${writer.user} NOINHERIT; GRANT CREATE ON SCHEMA public TO ${writer.user}`);
      const found = await check(writer);
      expect(told(found)[0]).to.match(/may write more .*role \S+: DELETE on \S+\.other\.$/);
      await mend(found);
      expect(told(await check(writer))[0]).to.match(/^ok/);
    } finally {
      await asRoot(isMysql ? `DROP ROLE ${role}` : `DROP OWNED BY ${role}; DROP ROLE ${role}`);
    }
  });

  it('of the write-back is asked for what statements of its own need', async () => {
    await lab.run(...TABLES);
    const upsert = 'UPDATE orders SET status = :service_status WHERE order_no = :order_key';
    const reads = await make('SELECT ON orders');
    const found = await check(reads, { orders: { upsert } });
    expect(found[0]?.severity).to.equal('error');
    expect(found[0]?.todo).to.deep.equal(['Grant what the statements of writeBack.orders need.']);
    const writes = await make('SELECT ON orders', 'UPDATE ON orders');
    expect(told(await check(writes, { orders: { upsert } }))[0]).to.match(/^ok/);
  });

  it('of the store that may do too little, or too much, is told so, with the SQL', async () => {
    const poor = await make('SELECT ON probe');
    const check = (of: TestAccount) =>
      checkStoreAccount({
        ...storeSettings.parse({ type: lab.type, ...place(), user: of.user }),
        password: new Secret(of.password),
      } as never);
    const found = await check(poor);
    expect(found[0]?.what).to.match(/^The account of the store may not do all that it has to: it lacks .*CREATE/);
    // A table of another program, which the store must not take away.
    expect(found[0]?.todo.join('\n')).not.to.contain('probe');
    await mend(found);
    expect(told(await check(poor))[0]).to.match(/^ok/);
    await asRoot(
      lab.type === 'mysql'
        ? `GRANT SELECT, CREATE USER ON *.* TO '${poor.user}'@'127.0.0.1'`
        : `ALTER ROLE ${poor.user} SUPERUSER`,
    );
    const more = await check(poor);
    expect(told(more)[0]).to.match(
      /^warning: The account of the store may do more than it has to: .*(CREATE USER on \*|superuser)/,
    );
    await mend(more);
    expect(told(await check(poor))[0]).to.match(/^ok/);
  });
  beforeEach(() => lab.run('CREATE TABLE probe (id INT)'));
}

describe('the account (MariaDB)', () => {
  const lab = useMariaDbLab();
  const { mariaDb } = lab;
  accountTests({
    lab,
    place: () => ({ host: '127.0.0.1', port: mariaDb.database.port, database: mariaDb.database.database }),
    account: (grants) => mariaDb.database.createUser(grants),
    asRoot: (statement) => mariaDb.database.query(statement),
  });
});

describe('the account (PostgreSQL)', () => {
  const lab = usePostgresLab();
  const { postgres } = lab;
  accountTests({
    lab,
    place: () => ({ host: '127.0.0.1', port: postgres.database.port, database: postgres.database.database }),
    account: (grants) => postgres.database.createUser(grants),
    asRoot: (statement) => postgres.database.query(statement),
  });
});

describe('what is written back (SQLite)', () => {
  const lab = useSqliteLab();
  it('needs its table, and the statement makes it', async () => {
    await lab.run(...TABLES);
    const settings = { ...erpSource(lab), writeBack: writeBackOf({}) } as Settings;
    const found = await checkWriteBack(settings);
    expect(found[0]?.what).to.contain('waybill_orders');
    await lab.run(found[0]?.todo.join('\n') ?? '');
    expect(told(await checkWriteBack(settings))[0]).to.match(/^ok/);
    expect(await checkWriteBack({ ...settings, writeBack: writeBackOf({ enabled: false }) })).to.deep.equal([]);
  });
});

describe('the rights of an account', () => {
  it('are too many on what neither is a side table nor stands in a statement', () => {
    const tables = ['waybill_orders'];
    expect(excessOf(['INSERT on erp.waybill_orders', 'UPDATE on erp.sales'], tables, '')).to.deep.equal([
      'UPDATE on erp.sales',
    ]);
    expect(excessOf(['UPDATE on erp.sales'], tables, 'UPDATE `sales` SET mark=1')).to.deep.equal([]);
    expect(excessOf(['UPDATE on erp.sale'], tables, 'UPDATE sales SET mark=1')).to.deep.equal(['UPDATE on erp.sale']);
    expect(excessOf(['ALL PRIVILEGES on erp.*', 'everything: it is a superuser'], tables, '*')).to.have.length(2);
  });

  it('of a store are read as MySQL and MariaDB show them', () => {
    const judge = (...grants: string[]) =>
      judgeMysql(
        grants.map((grant) => ({ grants: grant })),
        'way_bill',
      );
    const usage = "GRANT USAGE ON *.* TO `u`@`%` IDENTIFIED BY PASSWORD '*0'";
    const whole = judge(usage, 'GRANT ALL PRIVILEGES ON `way\\_bill`.* TO `u`@`%`');
    expect([whole.lacks, whole.exceeds]).to.deep.equal([[], []]);
    const poor = judge(usage, 'GRANT SELECT, INSERT, UPDATE, DELETE ON `way_bill`.* TO `u`@`%`');
    expect(poor.grants).to.deep.equal(['GRANT CREATE, ALTER, DROP, INDEX ON `way_bill`.* TO `u`@`%`;']);
    const rich = judge('GRANT ALL PRIVILEGES ON *.* TO `u`@`%` WITH GRANT OPTION');
    expect(rich.exceeds).to.deep.equal(['ALL PRIVILEGES on *.*']);
    expect(rich.revokes[0]).to.equal('REVOKE ALL PRIVILEGES, GRANT OPTION FROM `u`@`%`;');
  });

  it('of a store on PostgreSQL count the tables that it does not own', () => {
    const row = { name: 'u', place: 'public', superuser: 0, createrole: 0, createdb: 1, may_create: 1 };
    const { lacks, grants, exceeds } = judgePostgres([{ ...row, foreign_tables: 'lease, attempt' }]);
    expect(lacks).to.deep.equal(['the ownership of lease', 'the ownership of attempt']);
    expect(grants[0]).to.equal('ALTER TABLE public.lease OWNER TO u;');
    expect(exceeds).to.deep.equal(['it is a role with CREATEDB']);
  });
});
