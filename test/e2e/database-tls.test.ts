import { chownSync, copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { DatabaseTls } from '../../src/config/sections/database-server.js';
import type { Settings } from '../../src/config/settings.js';
import { erpDatabase, writableErpDatabase } from '../../src/db/databases.js';
import { rawSql } from '../../src/db/sql.js';
import { Secret } from '../../src/model/secret.js';
import { openStore } from '../../src/store/open-store.js';
import { Authority, type Certificate } from '../support/certificates.js';
import { startMariaDb } from '../support/mariadb.js';
import type { TestDatabase } from '../support/mariadb-database.js';
import { startPostgres } from '../support/postgres.js';
import { useTempDir } from '../support/temp-dir.js';
import { eventually } from './installation.js';

type Place = Pick<TestDatabase, 'host' | 'port' | 'user' | 'database' | 'password'>;

/** A server with a database for the parties. */
interface SecureServer {
  database: Place;
  /** From now on it shows this certificate. */
  present(certificate: Certificate): Promise<unknown>;
  /** True if it asks the account for a certificate as well. */
  askForOne(isAsked: boolean): Promise<unknown>;
  stop(): Promise<void>;
}

async function secureMariaDb(authority: Authority, folder: string): Promise<SecureServer> {
  const show = ({ certFile, keyFile }: Certificate) => {
    copyFileSync(certFile, join(folder, 'server.pem'));
    copyFileSync(keyFile, join(folder, 'server.key'));
  };
  show(authority.issue('first'));
  const files = { cert: 'server.pem', key: 'server.key', ca: 'authority.pem' };
  const names = Object.entries(files).map(([option, file]) => `--ssl-${option}=${join(folder, file)}`);
  const server = await startMariaDb({ arguments: names });
  const database = await server.createDatabase();
  return {
    database,
    async present(certificate) {
      show(certificate);
      await database.query('FLUSH SSL');
    },
    askForOne: (isAsked) =>
      database.query(`ALTER USER '${database.user}'@'127.0.0.1' REQUIRE ${isAsked ? 'X509' : 'NONE'}`),
    stop: () => server.stop(),
  };
}

async function securePostgres(authority: Authority): Promise<SecureServer> {
  const server = await startPostgres();
  const database = await server.createDatabase();
  const { uid, gid } = statSync(server.dataDir);
  const own = (file: string, name: string) => {
    const copy = join(server.dataDir, name);
    // The server refuses a key that others may read; the copy keeps the mode that it is made with.
    writeFileSync(copy, readFileSync(file), { mode: 0o600 });
    chownSync(copy, uid, gid);
  };
  const loadedAt = async () => (await database.query('SELECT pg_conf_load_time()::text AS at'))[0].at;
  const reload = async () => {
    const before = await loadedAt();
    await database.query('SELECT pg_reload_conf()');
    await eventually('the server has read its files', async () => (await loadedAt()) !== before);
  };
  const present = async ({ certFile, keyFile }: Certificate) => {
    own(certFile, 'server.crt');
    own(keyFile, 'server.key');
    await reload();
  };
  own(authority.certFile, 'authority.crt');
  for (const setting of ["ssl = 'on'", "ssl_ca_file = 'authority.crt'"])
    await database.query(`ALTER SYSTEM SET ${setting}`);
  await present(authority.issue('first'));
  const hba = join(server.dataDir, 'pg_hba.conf');
  const plain = readFileSync(hba, 'utf8');
  return {
    database,
    present,
    async askForOne(isAsked) {
      const rule = `hostssl all ${database.user} 127.0.0.1/32 scram-sha-256 clientcert=verify-ca\n`;
      writeFileSync(hba, isAsked ? rule + plain : plain);
      await reload();
    },
    stop: () => server.stop(),
  };
}

type Party = (database: Place, tls: DatabaseTls) => Promise<string | null | undefined>;

/** Each connects, does something, and says by which version of TLS. */
function erpParties(type: 'mysql' | 'postgres', version: string): Record<string, Party> {
  const settingsOf = ({ password, ...place }: Place, tls: DatabaseTls) => {
    const { host, port, user, database } = place;
    const access = { host, port, user, database, password: new Secret(password), tls };
    return { type, ...access, timeZone: 'UTC', queryTimeoutSeconds: 5 } as Settings['erp'];
  };
  return {
    'the reader of the ERP': async (database, tls) => {
      const erp = await erpDatabase(settingsOf(database, tls));
      try {
        const { rows } = await erp.snapshot((snapshot) => snapshot.query(rawSql(version), 'read'));
        return Object.values(rows[0] ?? {})[0];
      } finally {
        await erp.close();
      }
    },
    'the write-back': async (database, tls) => {
      const { user, password } = database;
      const writeBack = { user, password: new Secret(password), tls, timeoutSeconds: 5 };
      const writer = await writableErpDatabase(settingsOf(database, tls), writeBack as never);
      try {
        return (await writer.rows({ sql: version, values: [] }, 'orders'))[0]?.[0];
      } finally {
        await writer.close();
      }
    },
  };
}

const mysqlVersion = "SELECT VARIABLE_VALUE FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME='SSL_VERSION'";
const postgresVersion = "SELECT COALESCE(version, '') AS version FROM pg_stat_ssl WHERE pid = pg_backend_pid()";

function theStore(type: 'mysql' | 'postgres', version: string): Party {
  return async (database, tls) => {
    const { host, port, user, database: name, password } = database;
    const place = { type, host, port, user, database: name, password: new Secret(password), tls };
    const { store } = await openStore(place);
    try {
      return Object.values((await store.transaction('look', (tx) => tx.select(version)))[0] ?? {})[0] as string;
    } finally {
      await store.close();
    }
  };
}

const kinds = [
  {
    name: 'MariaDB',
    start: secureMariaDb,
    parties: { ...erpParties('mysql', mysqlVersion), 'the store': theStore('mysql', mysqlVersion) },
    startPlain: () => startMariaDb({ arguments: ['--skip-ssl'] }),
    denied: /Access denied/,
    offersNone: /Server does not support secure connection/,
  },
  {
    name: 'PostgreSQL',
    start: securePostgres,
    parties: {
      ...erpParties('postgres', postgresVersion),
      'the store': theStore('postgres', postgresVersion),
    },
    startPlain: () => startPostgres(),
    denied: /requires a valid client certificate\. Check (store|erp|writeBack)\.user, and what pg_hba\.conf/,
    offersNone: /server does not support SSL connections/,
  },
];

for (const { name, start, parties, startPlain, denied, offersNone } of kinds)
  describe(`a connection to a ${name} server that has to be secure`, () => {
    const folder = useTempDir();
    let authority: Authority;
    let server: SecureServer;
    let database: Place;

    before(async function () {
      this.timeout(90_000);
      authority = new Authority(folder.path);
      server = await start(authority, folder.path);
      database = server.database;
    });
    after(() => server?.stop());

    const trusted = (more: Partial<DatabaseTls> = {}): DatabaseTls => ({
      mode: 'required',
      caFile: authority.certFile,
      serverName: 'localhost',
      ...more,
    });

    async function refusal(work: Promise<unknown>): Promise<string> {
      const answer = await work.then(
        () => 'connected',
        (error: Error) => error.message,
      );
      expect(answer).to.not.include(database.password);
      return answer;
    }

    for (const [party, connect] of Object.entries(parties)) {
      describe(`of ${party}`, () => {
        it('speaks TLS with a server that its authority vouches for', async () => {
          expect(await connect(database, trusted())).to.match(/^TLSv1\.[23]$/);
          expect(await connect(database, { mode: 'off' })).to.equal('');
        });

        it('refuses an authority that nobody named, and a certificate for another name', async () => {
          const compare = /[Cc]ompare the certificate of the server with (erp|writeBack|store)\.tls\.caFile/;
          const { caFile: _, ...unknown } = trusted();
          for (const [tls, reason] of [
            [unknown, /self-signed certificate|unable to (verify|get)/],
            [trusted({ serverName: 'erp.example.test' }), /Hostname\/IP does not match/],
          ] as const) {
            const answer = await refusal(connect(database, tls));
            expect(answer).to.match(reason);
            expect(answer).to.match(compare);
          }
        });

        it('refuses a certificate that has expired', async () => {
          await server.present(authority.issue('expired', undefined, -1));
          try {
            expect(await refusal(connect(database, trusted()))).to.match(/certificate has expired/);
          } finally {
            await server.present(authority.issue('renewed'));
          }
          expect(await connect(database, trusted())).to.match(/^TLSv1/);
        });

        it('shows a certificate of its own to a server that asks for one', async () => {
          await server.askForOne(true);
          try {
            expect(await refusal(connect(database, trusted()))).to.match(denied);
            const { certFile, key } = authority.issue(`client ${party}`.replaceAll(' ', '-'));
            const own = { certificateFile: certFile, key: new Secret(key) };
            expect(await connect(database, trusted(own))).to.match(/^TLSv1/);
          } finally {
            await server.askForOne(false);
          }
        });

        it('shows a renewed certificate with its own key, and names a file that is gone', async () => {
          const name = `renewed ${party}`.replaceAll(' ', '-');
          const { certFile: certificateFile, keyFile, key: before } = authority.issue(name);
          authority.issue(name);
          const own = { certificateFile, keyFile, key: new Secret(before) };
          await server.askForOne(true);
          try {
            expect(await connect(database, trusted(own))).to.match(/^TLSv1/);
          } finally {
            await server.askForOne(false);
          }
          const answer = await refusal(connect(database, trusted({ caFile: '/nowhere.pem' })));
          expect(answer).to.contain('/nowhere.pem can not be read (ENOENT)').and.not.to.contain('socket');
        });
      });
    }

    it('is not made with a server that offers none, and no password goes there', async function () {
      this.timeout(90_000);
      const plain = await startPlain();
      try {
        const place = await plain.createDatabase();
        for (const [party, connect] of Object.entries(parties)) {
          const answer = await refusal(connect(place, trusted()));
          expect(answer, party).to.match(offersNone);
          expect(answer, party).to.match(/Switch TLS on at the server, or set (erp|writeBack|store)\.tls\.mode: off/);
        }
      } finally {
        await plain.stop();
      }
    });
  });
