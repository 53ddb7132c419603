import { expect } from 'chai';
import { startPostgres } from './postgres.js';
import { usePostgres } from './use-database.js';

describe('the private PostgreSQL of the tests', () => {
  const postgres = usePostgres();

  it('gives each describe block an empty database', async () => {
    expect(await postgres.database.query("SELECT * FROM pg_tables WHERE schemaname = 'public'")).to.deep.equal([]);
  });

  it('listens on loopback only and forces every commit to disk', async () => {
    const { database, server } = postgres;
    const settings = ['listen_addresses', 'fsync', 'synchronous_commit', 'port'];
    const [row] = await database.query(`SELECT ${settings.map((s) => `current_setting('${s}') AS ${s}`).join(', ')}`);
    expect(row).to.deep.equal({
      listen_addresses: '127.0.0.1',
      fsync: 'on',
      synchronous_commit: 'on',
      port: String(server.port),
    });
  });

  it('sorts as a language does, so that a test sees what forgets to ask for plain comparison', async () => {
    const rows = await postgres.database.query("SELECT x FROM (VALUES ('B'), ('a')) AS v (x) ORDER BY x");
    expect(rows).to.deep.equal([{ x: 'a' }, { x: 'B' }]);
  });

  it('gives an account the rights that it names, and takes it away before its database or after', async () => {
    const database = await postgres.server.createDatabase();
    await database.query('CREATE TABLE read_only (id INT); CREATE TABLE hidden (id INT)');
    const [first, second] = [
      await database.createUser(['SELECT ON read_only']),
      await database.createUser(['SELECT ON read_only']),
    ];
    const [rights] = await database.query(
      `SELECT has_table_privilege($1, 'read_only', 'SELECT') AS reads, has_table_privilege($1, 'read_only', 'INSERT') AS writes,
        has_table_privilege($1, 'hidden', 'SELECT') AS sees`,
      [first.user],
    );
    expect(rights).to.deep.equal({ reads: true, writes: false, sees: false });
    await first.drop();
    await database.drop();
    await second.drop();
  });
});

describe('a PostgreSQL of one’s own', () => {
  it('keeps committed rows through kill -9', async () => {
    const server = await startPostgres();
    try {
      const database = await server.createDatabase();
      await database.query('CREATE TABLE kept (id INT PRIMARY KEY); INSERT INTO kept VALUES (7)');
      await server.kill();
      expect(server.isRunning).to.equal(false);
      await server.restart();
      expect(await database.query('SELECT id FROM kept')).to.deep.equal([{ id: 7 }]);
    } finally {
      await server.stop();
    }
  });

  it('answers nothing while it is paused, and goes on after', async () => {
    const server = await startPostgres();
    const client = await server.connect();
    try {
      await server.pause();
      let answered = false;
      const answer = client.query('SELECT 1').then(() => {
        answered = true;
      });
      await new Promise((resolve) => setTimeout(resolve, 200));
      expect(answered).to.equal(false);
      server.resume();
      await answer;
    } finally {
      await client.end();
      await server.stop();
    }
  });
});
