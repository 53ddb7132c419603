import { chmod, copyFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { expect } from 'chai';
import { ErpError } from '../../src/erp/erp-reader.js';
import { openReader, orderRows, TABLES, useSqliteLab } from '../erp/erp-lab.js';
import { problemsInWords } from '../erp/problems-in-words.js';
import { openSqlite } from '../support/sqlite-file.js';
import { databaseContract } from './database-contract.js';

describe('an ERP in SQLite', () => {
  const lab = useSqliteLab();
  databaseContract(lab);

  const file = (): string => {
    const target = lab.sampleTarget();
    return target.type === 'sqlite' ? target.file : '';
  };

  it('reads real numbers by their shortest decimal text', async () => {
    await lab.run(...orderRows(1, '2026-01-01 10:00:00'));
    await lab.run('UPDATE order_lines SET price = 0.07, qty = 3.0', 'UPDATE orders SET total = 0.21');
    const [order] = (await openReader(lab).sweep('order', null, 10)).rows;
    expect(order?.totals).to.deep.equal({ lines: '21', header: '21' });
  });

  it('reads a page with more lines than a call may have arguments', async () => {
    const count = 150_000;
    const lines = `WITH RECURSIVE n(pos) AS (SELECT 2 UNION ALL SELECT pos + 1 FROM n WHERE pos < ${count})
      INSERT INTO order_lines SELECT 1, pos, 'SKU-1', 1, 10.00 FROM n`;
    await lab.run(...orderRows(1, '2026-01-01 10:00:00'), lines);
    const [order] = (await openReader(lab).sweep('order', null, 10)).rows;
    expect(order?.totals?.lines).to.equal(String(count * 1_000));
  });

  it('pages by expressions, whose type only a value shows', async () => {
    await lab.run(...orderRows(9, '2026-01-01 10:00:00'), ...orderRows(10, '2026-01-01 10:00:00'));
    const mapping = { orders: { query: "SELECT o.*, o.id + 0 AS n, 'x' || o.id AS t FROM orders o" } };
    for (const [key, expected] of [
      ['n', ['9', '10']],
      ['t', ['x10', 'x9']],
    ] as const) {
      const reader = openReader(lab, { orders: { ...mapping.orders, key } });
      const first = await reader.sweep('order', null, 1);
      const second = await reader.sweep('order', first.last?.key ?? null, 1);
      expect([...first.rows, ...second.rows].map(({ sourceKey }) => sourceKey)).to.deep.equal(expected);
      expect(second.more).to.equal(false);
    }
  });

  it('refuses a key of numbers and texts, between which a page would pass over rows', async () => {
    await lab.run(...orderRows(1, '2026-01-01 10:00:00'), ...orderRows(2, '2026-01-01 10:00:00'));
    const query = "SELECT o.*, CASE WHEN id = 1 THEN id ELSE 'x' || id END AS k FROM orders o";
    const refused = await openReader(lab, { orders: { query, key: 'k' } })
      .check()
      .catch((reason) => reason);
    expect(refused.message).to.include('orders.key: column "k" holds numbers and texts; write CAST(… AS TEXT)');
    const cast = openReader(lab, { orders: { query: query.replace('THEN id', 'THEN CAST(id AS TEXT)'), key: 'k' } });
    expect((await cast.sweep('order', null, 10)).rows.map(({ sourceKey }) => sourceKey)).to.deep.equal(['1', 'x2']);
  });

  it('parks a record with bytes that are no text, and goes on after no key of such bytes', async () => {
    await lab.run(...orderRows(1, '2026-01-01 10:00:00'), "UPDATE orders SET note = 'is \ufffd in the ERP'");
    const note = async () => {
      const fields = { remark: 'note' };
      const [order] = (await openReader(lab, { orders: { fields } }).sweep('order', null, 10)).rows;
      return order && (order.content.mapped ? order.content.record.remark : problemsInWords(order.content));
    };
    expect(await note()).to.equal('is \ufffd in the ERP');
    await lab.run("UPDATE orders SET note = CAST(x'4dfc6c6c6572' AS TEXT)");
    expect(await note()).to.match(/note holds bytes that are not text/);
    await lab.run(
      ...orderRows(2, '2026-01-01 10:00:00'),
      "UPDATE orders SET order_no = CAST(x'4180' AS TEXT) WHERE id = 1",
    );
    await lab.run("UPDATE orders SET order_no = 'A\u00e4' WHERE id = 2");
    const keyed = openReader(lab, { orders: { key: 'order_no', lines: { orderKey: 'order_id' } as never } });
    const refused = await keyed.sweep('order', null, 1).catch((reason) => reason);
    expect(refused).to.be.instanceOf(ErpError);
    expect(refused.message).to.include('it holds bytes that are no text');
  });

  it('says of a file whose writer broke off that this program has to start once more', async () => {
    const writer = openSqlite(file());
    writer.pragma('journal_mode = DELETE');
    writer.pragma('cache_size = 2');
    writer.exec('BEGIN');
    writer.exec('CREATE TABLE large (x)');
    writer.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
      INSERT INTO large SELECT randomblob(200) FROM n`);
    const [broken, journal] = [`${file()}.broken`, `${file()}.broken-journal`];
    await copyFile(file(), broken);
    await copyFile(`${file()}-journal`, journal);
    writer.close();
    await rename(broken, file());
    await rename(journal, `${file()}-journal`);
    const refused = await openReader(lab)
      .count('order')
      .catch((reason) => reason);
    expect(refused).to.be.instanceOf(ErpError).with.property('kind', 'unreachable');
    expect(refused.message).to.include('start it once more').and.not.include('WAL');
    openSqlite(file()).exec('DELETE FROM orders').close();
    expect(await openReader(lab).count('order')).to.equal(0);
  });

  it('takes instants that are written with a Z as such', async () => {
    await lab.run(...orderRows(1, '2025-12-31T23:30:00Z'), ...orderRows(2, '2025-12-31T22:30:00Z'));
    const reader = openReader(lab, { orders: { startFrom: { column: 'created_at', from: '2026-01-01' } } });
    // Half past eleven in UTC is the next year in Berlin already.
    expect((await reader.sweep('order', null, 10)).rows.map(({ sourceKey }) => sourceKey)).to.deep.equal(['1']);
    expect(await reader.nowAsChangedAt('order')).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  });

  it('sees by a statement that it keeps prepared which columns a table has by now', async () => {
    await lab.run(...orderRows(1, '2026-01-01 10:00:00'));
    const reader = openReader(lab, { orders: { fields: { hint: { column: 'note', optional: true } } } });
    const count = async () => (await reader.sweep('order', null, 10)).rows.length;
    expect(await count()).to.equal(1);
    expect(await count()).to.equal(1);
    await lab.run('ALTER TABLE orders RENAME COLUMN note TO remark', 'DELETE FROM orders');
    const error = await count().catch((reason) => reason);
    expect(error.message).to.include('no longer yields the column "note"');
    await lab.run('ALTER TABLE orders RENAME COLUMN remark TO note', ...orderRows(2, '2026-01-01 10:00:00'));
    expect(await count()).to.equal(1);
  });

  it('says what to do when the file is not there, and reads on when it is', async () => {
    await lab.run(...orderRows(1, '2026-01-01 10:00:00'));
    const reader = openReader(lab);
    expect(await reader.count('order')).to.equal(1);
    await rename(file(), `${file()}.away`);
    const error = await reader.count('order').catch((reason) => reason);
    expect(error).to.be.instanceOf(ErpError).with.property('kind', 'unreachable');
    expect(error.message).to.include('Check erp.file');
    await rename(`${file()}.away`, file());
    expect(await reader.count('order')).to.equal(1);
  });

  it('says of a file that is no database what it is, and not that it is locked', async () => {
    await writeFile(file(), 'order_no;total\n'.repeat(100));
    const error = await openReader(lab)
      .count('order')
      .catch((reason) => reason);
    expect(error).to.be.instanceOf(ErpError);
    expect(error.message)
      .to.include('Check erp.file: it names no SQLite database')
      .and.not.match(/lock|again/);
  });

  it('says what a file in WAL mode needs, where the account may not write in its folder', async () => {
    const isRoot = process.getuid?.() === 0;
    const asReader = async <T>(ask: () => Promise<T>): Promise<T> => {
      await chmod(dirname(file()), 0o555);
      if (isRoot) process.seteuid?.(65_534);
      try {
        return await ask();
      } finally {
        if (isRoot) process.seteuid?.(0);
        await chmod(dirname(file()), 0o700);
      }
    };
    const reader = openReader(lab);
    const error = await asReader(() => reader.count('order').catch((reason) => reason));
    expect(error).to.be.instanceOf(ErpError).with.property('kind', 'unreachable');
    expect(error.message)
      .to.include('The file is in WAL mode')
      .and.include('let this account write in its folder, or let the ERP keep the file open, or read a copy')
      .and.not.include('this user may read it');
    const erp = openSqlite(file());
    erp.exec('SELECT COUNT(*) FROM orders');
    expect(await asReader(() => reader.count('order'))).to.equal(0);
    erp.close();
    expect(await reader.count('order')).to.equal(0);
  });

  it('sees a backup that was put in the place of the file', async () => {
    const reader = openReader(lab);
    await copyFile(file(), `${file()}.backup`);
    await lab.run(...orderRows(1, '2026-01-01 10:00:00'));
    expect(await reader.count('order')).to.equal(1);
    const restored = openSqlite(`${file()}.restored`);
    for (const statement of TABLES) restored.exec(statement);
    restored.close();
    await rm(`${file()}-wal`, { force: true });
    await rm(`${file()}-shm`, { force: true });
    await rename(`${file()}.restored`, file());
    expect(await reader.count('order')).to.equal(0);
  });

  it('waits for a lock without blocking, and gives up in time', async () => {
    const writer = openSqlite(file());
    writer.pragma('journal_mode = DELETE');
    writer.exec('BEGIN EXCLUSIVE');
    const reader = openReader(lab, { erp: lab.settings({ queryTimeoutSeconds: 0.3 }) });
    let ticks = 0;
    const timer = setInterval(() => ticks++, 10);
    const error = await reader.count('order').catch((reason) => reason);
    clearInterval(timer);
    writer.exec('ROLLBACK');
    writer.close();
    expect(error).to.be.instanceOf(ErpError).with.property('kind', 'unreachable');
    expect(error.message).to.include('locked');
    expect(ticks).to.be.above(5);
    expect(await reader.count('order')).to.equal(0);
  });
});
