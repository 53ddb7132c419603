import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { run } from '../../../src/cli/run.js';
import { type Sandbox, startSandbox } from '../../../src/lab/sandbox/start-sandbox.js';
import { capturingOutput } from '../../cli/installation.js';
import { openSqlite } from '../../support/sqlite-file.js';
import { useTempDir } from '../../support/temp-dir.js';
import { useMariaDb, usePostgres } from '../../support/use-database.js';
import { initJson, questionsOf } from './init-lab.js';
import { type MisleadingSchema, misleadingSchemas } from './misleading-schemas.js';

type Open = { name: string; role?: string; choices: { value: string; note: string }[] };

describe('waybill init where names lead astray', function () {
  this.timeout(60_000);
  const dir = useTempDir();
  const postgres = usePostgres();
  const mariaDb = useMariaDb();
  let sandbox: Sandbox;
  beforeEach(async () => {
    sandbox = await startSandbox({ token: 'sandbox-token' });
  });
  afterEach(() => sandbox.close());

  /** The flags that lead to a database with this schema. */
  const databaseWith = async ({ type, statements }: MisleadingSchema, name: string): Promise<string[]> => {
    if (type === 'sqlite') {
      const erp = openSqlite(dir.file(`${name}.sqlite`));
      for (const statement of statements) erp.exec(statement);
      erp.close();
      return ['--type', 'sqlite', '--file', dir.file(`${name}.sqlite`)];
    }
    if (type === 'mysql') {
      const { port, database, user, password } = mariaDb.database;
      for (const statement of statements) await mariaDb.database.query(statement);
      writeFileSync(dir.file('password'), password, { mode: 0o600 });
      const server = ['--type', 'mysql', '--port', `${port}`, '--database', database, '--user', user];
      return [...server, '--password-file', dir.file('password')];
    }
    const { port, database, user, password } = postgres.database;
    const client = await postgres.server.connect(database);
    await client.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
    for (const statement of statements) await client.query(statement);
    await client.query(
      `GRANT USAGE ON SCHEMA public TO "${user}"; GRANT SELECT ON ALL TABLES IN SCHEMA public TO "${user}"`,
    );
    await client.end();
    writeFileSync(dir.file('password'), password, { mode: 0o600 });
    const server = ['--type', 'postgres', '--port', `${port}`, '--database', database, '--user', user];
    return [...server, '--password-file', dir.file('password')];
  };

  /** Sends everything to the stand-in. */
  const sync = async (config: string) => {
    const file = join(config, 'local.yaml');
    const yaml = readFileSync(file, 'utf8')
      .replace('http://127.0.0.1:8080', sandbox.url)
      // Without a total and a time of change, a first sync would wait for more lines.
      .replace('  startFrom: all', '  startFrom: all\n  settleSeconds: 0')
      .replace('store:\n  type: sqlite', `store:\n  type: sqlite\n  file: ${join(config, 'waybill.sqlite')}`);
    writeFileSync(file, yaml);
    const { stdout } = await capturingOutput(() => run(['node', 'waybill', 'sync', '--config', config, '--json']));
    return JSON.parse(stdout);
  };

  for (const [at, schema] of misleadingSchemas.entries()) {
    it(`writes nothing before each question is answered, and then what is right: ${schema.trap}`, async () => {
      const flags = await databaseWith(schema, `erp${at}`);
      const answers = Object.entries(schema.answers);
      const shown = new Map<string, Open>();
      for (const [left, given] of [...answers.map(([name]) => name), null].map(
        (left) => [left, answers.filter(([name]) => name !== left).flatMap(([, one]) => one)] as const,
      )) {
        const config = dir.file(`config${at}-${left ?? 'all'}`.replaceAll(' ', '-'));
        const printed = await initJson(config, ...flags, ...given);
        for (const one of (printed.open ?? []) as Open[]) shown.set(questionsOf({ open: [one] })[0] ?? '', one);
        if (left === null) expect(printed.written, JSON.stringify(printed.open)).to.equal(true);
        if (left === null) continue;
        expect([printed.code, printed.written, existsSync(config)], left).to.deep.equal([2, false, false]);
        expect(questionsOf(printed), left).to.include(left);
      }
      for (const [name, choices] of Object.entries(schema.shown ?? {}))
        for (const choice of choices) expect(shown.get(name)?.choices, name).to.deep.include(choice);
      for (const [name, like] of Object.entries(schema.notShown ?? {}))
        expect(
          shown.get(name)?.choices.filter(({ value }) => like.test(value)),
          name,
        ).to.deep.equal([]);

      const { capture, deliver } = await sync(dir.file(`config${at}-all`));
      const { orders, customers } = sandbox.ledger();
      expect(Object.fromEntries(orders.map(({ record, total }) => [record.note, total]))).to.deep.equal(schema.totals);
      expect(orders).to.have.lengthOf(Object.keys(schema.totals).length);
      expect(Object.fromEntries(customers.map(({ record }) => [record.customer_code, record.name]))).to.deep.equal(
        schema.customers,
      );
      expect([capture.parked ?? 0, deliver.delivered.orders], JSON.stringify(capture)).to.deep.equal([
        schema.parked ?? 0,
        orders.length,
      ]);
    });
  }
});
