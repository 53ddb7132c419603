import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { writeBackSettings } from '../../src/config/sections/write-back.js';
import type { Settings } from '../../src/config/settings.js';
import { erpDatabase, writableErpDatabase } from '../../src/db/databases.js';
import type { WritableErpDatabase } from '../../src/db/erp-database.js';
import { rawSql } from '../../src/db/sql.js';
import { type ChangePosition, ErpError } from '../../src/erp/erp-reader.js';
import { WriteBackError } from '../../src/erp/write-back/erp-writer.js';
import type { Secret } from '../../src/model/secret.js';
import { openStore } from '../../src/store/open-store.js';
import { StoreError } from '../../src/store/store-error.js';
import { type ErpLab, openReader, orderRows, type ServerLab, spyOn } from '../erp/erp-lab.js';
import { erpReaderContract } from '../erp/erp-reader-contract.js';
import { storeSettings } from '../store/store-settings.js';
import { waitFor } from '../support/wait-for.js';

type Server = Extract<Settings['erp'], { host: string }>;
const DAY = '2026-01-01 10:00:00';

/** A party that has a connection of its own to a database. */
interface Party {
  /** Asks for something small. */
  ask(): Promise<unknown>;
  close(): Promise<unknown>;
}

/** What all three parties promise of a failure to get at their database: its type, and that it is tried again. */
export const parties: Record<string, { section: string; open(erp: Settings['erp']): Promise<Party> }> = {
  'the ERP reader': {
    section: 'erp',
    async open(erp) {
      const database = await erpDatabase(erp);
      const ask = () => database.snapshot((snapshot) => snapshot.query(rawSql('SELECT 1 AS one'), 'ask'));
      return { ask, close: () => database.close() };
    },
  },
  'the write-back': {
    section: 'writeBack',
    async open(erp) {
      const writer = await writerFor(erp);
      return { ask: () => writer.rows({ sql: 'SELECT 1', values: [] }, 'orders'), close: () => writer.close() };
    },
  },
  'the store': {
    section: 'store',
    async open(erp) {
      const { queryTimeoutSeconds, timeZone, ...place } = erp;
      const { password } = erp as { password?: Secret };
      const settings = storeSettings({ ...place, password: password?.reveal() });
      let store: Awaited<ReturnType<typeof openStore>>['store'] | null = null;
      return {
        async ask() {
          store ??= (await openStore(settings)).store;
          store.answerWithinMs = 1_000;
          await store.transaction('ask', (tx) => tx.select('SELECT 1 AS one'));
        },
        close: async () => store?.close(),
      };
    },
  },
};

/** A writer with the account of the ERP. */
async function writerFor(erp: Settings['erp'], timeoutSeconds = 10): Promise<WritableErpDatabase> {
  const { user = 'nobody', password } = erp as Partial<Server>;
  const given = writeBackSettings.parse({ enabled: true, user, timeoutSeconds });
  return writableErpDatabase(erp, { ...given, ...(password && { password }) });
}

export async function failureOf(action: Promise<unknown>): Promise<ErpError | WriteBackError | StoreError> {
  const error = await action.then(
    () => new Error('it did not fail'),
    (reason: unknown) => reason,
  );
  if (error instanceof ErpError || error instanceof WriteBackError || error instanceof StoreError) return error;
  throw error;
}

/** True if the party tries the same again by itself. */
export const isAway = (error: ErpError | WriteBackError | StoreError) =>
  error instanceof StoreError ? error.unreachable : error.kind === 'unreachable';

/** The promises of any database, also of a file, to the three that use one. Called inside a describe block. */
export function databaseContract(lab: ErpLab): void {
  erpReaderContract(lab);
  beforeEach(() => lab.run(...lab.grantSchema));

  for (const [name, { section, open }] of Object.entries(parties))
    it(`says to ${name} where it could not get at it, and what to check, but never the password`, async () => {
      for (const [erp, words] of await lab.wrongPlaces(section)) {
        const party = await open(erp);
        try {
          const error = await failureOf(party.ask());
          expect(error.message).to.match(words);
          expect(JSON.stringify(error) + error.stack + (error.cause as Error).stack).not.to.include('wrong-p4ssword');
        } finally {
          await party.close();
        }
      }
    });

  describe('read as an ERP', () => {
    it('has nothing written, whatever the account may', async () => {
      await lab.run(...orderRows(1, DAY));
      const attempt = async (text: string) => {
        let refused: unknown;
        const mighty = openReader(lab, {}, (inner) => ({
          ...spyOn(inner).database,
          snapshot: (read) =>
            inner.snapshot(async (snapshot) => {
              refused = await snapshot.query(rawSql(text), 'write').catch((reason) => reason);
              return read(snapshot);
            }),
        }));
        await mighty.count('order').catch(() => undefined);
        expect(refused).to.be.instanceOf(ErpError);
      };
      await attempt('DELETE FROM orders');
      await attempt('SELECT 1; COMMIT; DELETE FROM orders');
      expect(await openReader(lab).count('order')).to.equal(1);
    });

    it('has its snapshot ended after a failure', async () => {
      await lab.run(...orderRows(1, DAY));
      const reader = openReader(lab);
      await reader.count('order');
      await failureOf(reader.sweep('order', null, 10, { from: 'spring' }));
      await lab.run(...orderRows(2, DAY));
      expect(await reader.count('order')).to.equal(2);
      expect(await lab.openSnapshots()).to.deep.equal([]);
    });
  });

  describe('written back to', () => writeBackContract(lab));
  if ('startServer' in lab) describe('as any server', () => serverContract(lab as ServerLab));
}

/** The promises of a database on a server beside those of any. */
function serverContract(lab: ServerLab): void {
  for (const [name, { open }] of Object.entries(parties))
    describe(`to ${name}`, () => {
      const opened: Party[] = [];
      const party = async (erp: Settings['erp']) => {
        const one = await open(erp);
        opened.push(one);
        return one;
      };
      afterEach(async () => {
        for (const one of opened.splice(0)) await one.close();
      });

      it('goes on after the server cut its connections', async () => {
        const one = await party(lab.settings());
        await one.ask();
        await lab.cutConnections();
        await sleep(50);
        const ends = await Promise.allSettled([one.ask()]);
        for (const end of ends) if (end.status === 'rejected') expect(isAway(end.reason)).to.equal(true);
        await one.ask();
      });
    });

  it('is unreachable while it is down or frozen, there again for each when it is back, and let go of though frozen', async function () {
    this.timeout(120_000);
    const server = await lab.startServer();
    const opened: Party[] = [];
    try {
      const erp = { ...server.settings, queryTimeoutSeconds: 0.5 } as Settings['erp'];
      for (const { open } of Object.values(parties)) opened.push(await open(erp));
      for (const one of opened) await one.ask();
      await server.kill();
      for (const one of opened) expect(isAway(await failureOf(one.ask()))).to.equal(true);
      await server.restart();
      for (const one of opened) await one.ask().catch(() => one.ask());
      await server.pause();
      const started = performance.now();
      try {
        for (const failed of await Promise.all(opened.map((one) => failureOf(one.ask()))))
          expect(isAway(failed), failed.message).to.equal(true);
      } finally {
        server.resume();
      }
      expect(performance.now() - started).to.be.below(30_000);
      for (const one of opened) await one.ask().catch(() => one.ask());
      await server.pause();
      try {
        for (const one of opened.splice(0)) await one.close();
        const { port } = server.settings as Server;
        await waitFor('the sockets are closed', async () => (await openSocketsTo(port)) === 0);
      } finally {
        server.resume();
      }
    } finally {
      for (const one of opened) await one.close();
      await server.stop();
    }
  });

  /** Sockets of this machine's programs on which a server at this port has been told nothing of an end. */
  const openSocketsTo = async (port: number): Promise<number> => {
    const rows = (await readFile('/proc/net/tcp', 'utf8')).split('\n').map((row) => row.trim().split(/ +/));
    const established = '01';
    return rows.filter(
      ([, , remote = '', state]) => Number.parseInt(remote.split(':')[1] ?? '', 16) === port && state === established,
    ).length;
  };

  describe('for the ERP reader', () => {
    it('finds an order whose transaction was open when later ones were read', async () => {
      await lab.duringTransaction(orderRows(1, `${DAY}.000000`), async (commit) => {
        await lab.run(...orderRows(2, '2026-01-01 10:00:01.000000'));
        const reader = openReader(lab);
        const page = await reader.readChanged('order', { since: null }, 10);
        expect(page.rows.map(({ sourceKey }) => sourceKey)).to.deep.equal(['2']);
        await commit();
        expect((await reader.readChanged('order', { after: page.last as ChangePosition }, 10)).rows).to.deep.equal([]);
        expect((await reader.readChanged('order', { since: '2026-01-01 09:50:01' }, 10)).rows).to.have.length(2);
        expect((await reader.sweep('order', null, 10)).rows).to.have.length(2);
      });
    });

    const fills = 'INSERT INTO order_lines SELECT * FROM kept_lines';
    for (const [how, change] of Object.entries({
      'was emptied and filled again': ['TRUNCATE TABLE order_lines', fills],
      'was replaced by another': [
        'CREATE TABLE new_lines AS SELECT * FROM kept_lines',
        'ALTER TABLE order_lines RENAME TO old_lines',
        'ALTER TABLE new_lines RENAME TO order_lines',
      ],
    }))
      it(`reads no table as empty that ${how} behind its snapshot`, async () => {
        await lab.run(...orderRows(1, DAY), 'CREATE TABLE kept_lines AS SELECT * FROM order_lines');
        const database = await erpDatabase(lab.settings());
        const linesRead = (behind: readonly string[]) =>
          database.snapshot(async (snapshot) => {
            await snapshot.query(rawSql('SELECT * FROM orders'), 'begin');
            await lab.run(...behind);
            return (await snapshot.query(rawSql('SELECT * FROM order_lines'), 'read the lines')).rows.length;
          });
        try {
          const before = await linesRead([]);
          expect(before).to.be.greaterThan(0);
          expect((await failureOf(linesRead(change))).message).to.include('tried again');
          expect(await linesRead([])).to.equal(before);
        } finally {
          await database.close();
        }
      });

    it('needs an account that may only SELECT', async () => {
      await lab.run(...orderRows(1, DAY));
      const user = await lab.createUser(['customers', 'orders', 'order_lines'].map((table) => `SELECT ON ${table}`));
      const reader = openReader(lab, { erp: lab.settings({ user }) });
      await reader.check();
      expect((await reader.readChanged('order', { since: null }, 10)).rows).to.have.length(1);
      await user.drop();
    });

    it('names the table that the account may not read, and what to grant', async () => {
      const user = await lab.createUser(['SELECT ON orders', 'SELECT ON customers']);
      const { message } = await failureOf(openReader(lab, { erp: lab.settings({ user }) }).check());
      expect(message).to.match(/orders\.lines\.query: .*denied .*order_lines.*Grant SELECT on it to erp\.user/);
      await user.drop();
    });

    it('has a statement that runs too long stopped on the server', async () => {
      await lab.run(...orderRows(1, DAY));
      const erp = lab.settings({ queryTimeoutSeconds: 0.5 });
      const started = performance.now();
      const pending = `${lab.sleeps30} IS NOT NULL`;
      const error = await failureOf(openReader(lab, { erp, orders: { pending } }).sweep('order', null, 10));
      expect(performance.now() - started).to.be.below(20_000);
      expect(error).to.have.property('kind', 'query');
      expect(error.message).to.include('raise erp.queryTimeoutSeconds');
      expect(await lab.sleeping()).to.deep.equal([]);
    });
  });

  describe('for the write-back', () => {
    it('has a statement that runs too long stopped on the server', async () => {
      const writer = await writerFor(lab.settings(), 1);
      try {
        const error = await failureOf(writer.rows({ sql: `SELECT ${lab.sleeps30}`, values: [] }, 'orders'));
        expect(error).to.have.property('kind', 'unreachable');
        expect(await lab.sleeping()).to.deep.equal([]);
      } finally {
        await writer.close();
      }
    });

    it('names the grant that is missing', async () => {
      await lab.run('CREATE TABLE told (id INT PRIMARY KEY)');
      const user = await lab.createUser(['SELECT ON told']);
      const writer = await writerFor(lab.settings({ user }));
      const insert = { sql: 'INSERT INTO told VALUES (1)', values: [] };
      const error = await failureOf(writer.transaction([insert], 'orders', nothing));
      expect(error).to.have.property('kind', 'target');
      expect(error.message).to.match(/denied .*told.*Grant it to the account of writeBack/);
      await writer.close();
      await user.drop();
    });
  });
}

const nothing = async () => {};

/** The promises of any database to the write-back. */
function writeBackContract(lab: ErpLab): void {
  let writer: WritableErpDatabase;
  beforeEach(async () => {
    await lab.run('CREATE TABLE told (id INT PRIMARY KEY, words VARCHAR(40) NOT NULL)', ...lab.grantTables);
    writer = await writerFor(lab.settings());
  });
  afterEach(() => writer.close());

  const upsert = (id: number, words: string | null) => {
    const { placeholder, onConflict, insertedValue } = writer.dialect;
    const sql = `INSERT INTO told (id, words) VALUES (${placeholder(1)}, ${placeholder(2)})`;
    return { sql: `${sql} ${onConflict('id')} words=${insertedValue('words')}`, values: [`${id}`, words] };
  };
  const rows = async () =>
    (await writer.rows({ sql: 'SELECT words FROM told ORDER BY id', values: [] }, 'orders')).map(([words]) => words);

  it('writes a row once, and its new value over the old one', async () => {
    await writer.transaction([upsert(1, "O'Brien"), upsert(2, 'b')], 'orders', nothing);
    await writer.transaction([upsert(1, String.raw`a\'; DROP TABLE told -- `)], 'orders', nothing);
    expect(await rows()).to.deep.equal([String.raw`a\'; DROP TABLE told -- `, 'b']);
  });

  it('keeps all of a transaction, or nothing where one statement fails or it may not be committed', async () => {
    const refused = await failureOf(writer.transaction([upsert(1, 'a'), upsert(2, null)], 'orders', nothing));
    expect(refused).to.have.property('kind', 'row');
    expect(await rows()).to.deep.equal([]);
    const stopped = async () => {
      throw new Error('another process took over');
    };
    expect(await failureOf(writer.transaction([upsert(1, 'a')], 'orders', stopped))).to.match(/another process/);
    expect(await rows()).to.deep.equal([]);
  });

  it('waits for what somebody has locked, and no longer than it may', async () => {
    await lab.run("INSERT INTO told VALUES (1, 'a')");
    const patient = await writerFor(lab.settings(), 1);
    const write = () =>
      patient.transaction([{ sql: "UPDATE told SET words='c' WHERE id=1", values: [] }], 'orders', nothing);
    try {
      await lab.duringTransaction(["UPDATE told SET words='b'"], async (commit) => {
        expect(await failureOf(write())).to.have.property('kind', 'unreachable');
        await commit();
      });
      await write();
      expect(await rows()).to.deep.equal(['c']);
    } finally {
      await patient.close();
    }
  });

  for (const sql of ['DELETE FROM nowhere', 'UPDATE told SET nothing=1', 'NO SQL AT ALL'])
    it(`says of "${sql}" that nothing of its kind can be written until a person acts`, async () => {
      const error = await failureOf(writer.transaction([{ sql, values: [] }], 'orders', nothing));
      expect(error).to.have.property('kind', 'target');
      expect(error.message).to.match(/^Could not write orders back into .*: .+/);
    });
}
