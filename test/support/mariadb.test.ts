import { expect } from 'chai';
import { startMariaDb } from './mariadb.js';
import { useMariaDb } from './use-database.js';

describe('the private MariaDB of the tests', () => {
  const mariaDb = useMariaDb();

  it('gives each describe block an empty database', async () => {
    const { database } = mariaDb;
    expect(await database.query('SHOW TABLES')).to.deep.equal([]);
  });

  it('listens on loopback only and forces every commit to disk', async () => {
    const [row] = await mariaDb.database.query(
      'SELECT @@bind_address AS address, @@innodb_flush_log_at_trx_commit AS flush, @@port AS port',
    );
    expect(row).to.deep.equal({ address: '127.0.0.1', flush: 1, port: mariaDb.server.port });
  });
});

describe('a MariaDB of one’s own', () => {
  it('keeps committed rows through kill -9', async () => {
    const server = await startMariaDb();
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
});
