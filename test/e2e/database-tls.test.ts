import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { DatabaseTls } from '../../src/config/sections/database-server.js';
import { MysqlErp } from '../../src/erp/dialects/mysql-erp.js';
import { MysqlErpWriter } from '../../src/erp/dialects/mysql-erp-writer.js';
import { rawSql } from '../../src/erp/sql.js';
import { Secret } from '../../src/model/secret.js';
import { openStore } from '../../src/store/open-store.js';
import { Authority, type Certificate } from '../support/certificates.js';
import { type MariaDb, startMariaDb } from '../support/mariadb.js';
import type { TestDatabase } from '../support/mariadb-database.js';
import { useTempDir } from '../support/temp-dir.js';

const version = "SELECT VARIABLE_VALUE FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME='SSL_VERSION'";

/** Each connects, does something, and says by which version of TLS. */
const parties: Record<string, (database: TestDatabase, tls: DatabaseTls) => Promise<string | null | undefined>> = {
  'the reader of the ERP': async (database, tls) => {
    const erp = new MysqlErp(erpSettings(database, tls));
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
    const writer = new MysqlErpWriter(erpSettings(database, tls), writeBack as never);
    try {
      return (await writer.firstColumn({ sql: version, values: [] }, 'orders'))[0];
    } finally {
      await writer.close();
    }
  },
  'the store': async (database, tls) => {
    const { host, port, user, database: name, password } = database;
    const place = { type: 'mysql' as const, host, port, user, database: name, password: new Secret(password), tls };
    const { store } = await openStore(place);
    try {
      return Object.values((await store.transaction('look', (tx) => tx.select(version)))[0] ?? {})[0] as string;
    } finally {
      await store.close();
    }
  },
};

function erpSettings({ host, port, user, database, password }: TestDatabase, tls: DatabaseTls) {
  const access = { host, port, user, database, password: new Secret(password), tls };
  return { type: 'mysql' as const, ...access, timeZone: 'UTC', queryTimeoutSeconds: 5 };
}

describe('a connection to a database server that has to be secure', () => {
  const folder = useTempDir();
  let authority: Authority;
  let server: MariaDb;
  let database: TestDatabase;

  before(async function () {
    this.timeout(90_000);
    authority = new Authority(folder.path);
    present(authority.issue('first'));
    const files = { cert: 'server.pem', key: 'server.key', ca: 'authority.pem' };
    const names = Object.entries(files).map(([option, file]) => `--ssl-${option}=${join(folder.path, file)}`);
    server = await startMariaDb({ arguments: names });
    database = await server.createDatabase();
  });
  after(() => server?.stop());

  /** The server shows this certificate from its next `FLUSH SSL` on. */
  function present({ certFile, keyFile }: Certificate): void {
    copyFileSync(certFile, join(folder.path, 'server.pem'));
    copyFileSync(keyFile, join(folder.path, 'server.key'));
  }

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
        present(authority.issue('expired', undefined, -1));
        await database.query('FLUSH SSL');
        try {
          expect(await refusal(connect(database, trusted()))).to.match(/certificate has expired/);
        } finally {
          present(authority.issue('renewed'));
          await database.query('FLUSH SSL');
        }
        expect(await connect(database, trusted())).to.match(/^TLSv1/);
      });

      it('shows a certificate of its own to a server that asks for one', async () => {
        await database.query(`ALTER USER '${database.user}'@'127.0.0.1' REQUIRE X509`);
        try {
          expect(await refusal(connect(database, trusted()))).to.match(/Access denied/);
          const { certFile, key } = authority.issue(`client ${party}`.replaceAll(' ', '-'));
          const own = { certificateFile: certFile, key: new Secret(key) };
          expect(await connect(database, trusted(own))).to.match(/^TLSv1/);
        } finally {
          await database.query(`ALTER USER '${database.user}'@'127.0.0.1' REQUIRE NONE`);
        }
      });
    });
  }

  it('is not made with a server that offers none, and no password goes there', async function () {
    this.timeout(90_000);
    const plain = await startMariaDb({ arguments: ['--skip-ssl'] });
    try {
      const place = await plain.createDatabase();
      for (const [party, connect] of Object.entries(parties)) {
        const answer = await refusal(connect(place, trusted()));
        expect(answer, party).to.match(/Server does not support secure connection/);
        expect(answer, party).to.match(/Switch TLS on at the server, or set (erp|writeBack|store)\.tls\.mode: off/);
      }
    } finally {
      await plain.stop();
    }
  });
});
