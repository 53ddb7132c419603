import { createRequire } from 'node:module';
import type * as Mysql from 'mysql2';
import { askOn, type MysqlSession, prepareSession } from './session.js';

const setUpTimeoutMs = 10_000;

/**
 * Stands for mysql2 in TypeORM, whose pool it makes: every connection is set up and checked before anybody gets it. A function
 * tells the session, because a store that is open limits its sessions more than one whose schema is being changed.
 */
export function mysqlDriver(session: MysqlSession): object {
  const mysql: typeof Mysql = createRequire(import.meta.url)('mysql2');
  return {
    createPool(options: Mysql.PoolOptions) {
      const pool = mysql.createPool(options);
      const prepared = new WeakSet<Mysql.PoolConnection>();
      const connect = pool.getConnection.bind(pool);
      pool.getConnection = (done) =>
        connect((error, connection) => {
          if (error || prepared.has(connection)) return done(error, connection);
          prepareSession(
            askOn(connection.promise(), () => setUpTimeoutMs),
            session,
          ).then(
            () => {
              prepared.add(connection);
              done(null, connection);
            },
            (refused) => {
              connection.destroy();
              done(refused, connection);
            },
          );
        });
      return pool;
    },
  };
}
