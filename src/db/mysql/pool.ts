import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import type * as Mysql from 'mysql2';
import { afterGoodbye } from '../server.js';
import { askOn, type MysqlSession, prepareSession } from './session.js';

const setUpTimeoutMs = 10_000;

/**
 * Stands for mysql2 in TypeORM, whose pool it makes: every connection is set up and checked before anybody gets it. A function
 * tells the session, because a store that is open limits its sessions more than one whose schema is being changed.
 */
export function mysqlDriver(session: MysqlSession): object {
  const mysql: typeof Mysql = createRequire(import.meta.url)('mysql2');
  return {
    createPool({ stream: open, ...options }: Mysql.PoolOptions & { stream: () => Socket }) {
      const sockets = new Set<Socket>();
      const stream = () => {
        const socket = open();
        sockets.add(socket);
        return socket.once('close', () => sockets.delete(socket));
      };
      const pool = mysql.createPool({ ...options, stream });
      const end = pool.end.bind(pool);
      pool.end = (done) => {
        // The driver says goodbye and leaves it to the server to end the sockets.
        for (const socket of sockets) afterGoodbye(socket);
        end(done);
      };
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
