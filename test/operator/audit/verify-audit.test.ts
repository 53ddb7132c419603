import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { appendAudit } from '../../../src/audit/audit-log.js';
import { auditStart, pruneAudit } from '../../../src/audit/prune-audit.js';
import { seededRandom } from '../../../src/lab/seeded-random.js';
import { auditHeads, exportAudit, verifyAudit } from '../../../src/operator/audit/verify-audit.js';
import type { Horizon } from '../../../src/store/elapsed-time.js';
import { insertRows, type Row } from '../../../src/store/rows.js';
import type { Store } from '../../../src/store/store.js';
import { onEveryStore } from '../../store/stores.js';

onEveryStore('the proof of the audit', (kit) => {
  const append = (store: Store, at: number, count = 1, fails = false) =>
    store
      .transaction('write', async (tx) => {
        // Words that databases keep differently: white space at the end, another alphabet, what a column is too narrow for.
        const actor = at % 5 === 0 ? `Ünna\u{1F4E6} ${'x'.repeat(300)}` : `office ${at} `;
        const line = { event: 'alert' as const, actor, entity: 'order' as const, detail: { reason: `${at} "ü" \\` } };
        await appendAudit(
          tx,
          Array.from({ length: count }, (_, i) => ({ ...line, sourceKey: `K ${i} ` })),
          at,
        );
        await appendAudit(tx, { event: 'stop', actor }, at);
        if (fails) throw new Error('rolled back on purpose');
      })
      .catch((error: Error) => {
        if (!fails) throw error;
      });
  const flawsOf = async (noted = [] as Awaited<ReturnType<typeof auditHeads>>) =>
    (await verifyAudit(kit.store, noted)).flaws;

  it('holds for lines that processes write at once, some of which roll back', async () => {
    const other = await kit.connect();
    await Promise.all(
      Array.from({ length: 40 }, (_, i) => append(i % 2 === 0 ? kit.store : other, i, 1 + (i % 4), i % 7 === 3)),
    );
    const { lines, chains, flaws } = await verifyAudit(kit.store);
    expect(flaws).to.deep.equal([]);
    const written = Array.from({ length: 40 }, (_, i) => (i % 7 === 3 ? 0 : 2 + (i % 4)));
    expect(lines).to.equal(written.reduce((sum, count) => sum + count));
    if (kit.dialect === 'sqlite') expect(chains, 'one writer at a time, one chain').to.equal(1);
    // One chain for each connection that wrote, and not one for each transaction.
    else expect(chains).to.be.within(2, 2 * kit.store.dialect.connections);
  });

  it('holds while lines are written', async () => {
    for (let at = 1; at <= 20; at++) await append(kit.store, at, 3);
    let at = 100;
    let verified = false;
    const writing = (async () => {
      while (!verified) await append(kit.store, at++, 2);
    })();
    for (let i = 0; i < 3; i++) expect(await flawsOf()).to.deep.equal([]);
    verified = true;
    await writing;
    expect(await flawsOf()).to.deep.equal([]);
  });

  /** The store, in which something is done behind the first read of a proof. */
  const interrupted = (work: () => Promise<unknown>): Store => {
    let isDone = false;
    return new Proxy(kit.store, {
      get: (store, name) =>
        name !== 'read'
          ? Reflect.get(store, name, store)
          : async (...words: Parameters<Store['read']>) => {
              const found = await store.read(...words);
              if (!isDone) {
                isDone = true;
                await work();
              }
              return found;
            },
    });
  };

  it('holds while another process begins a chain, and so does what is exported', async () => {
    const begin = async () => append(await kit.connect(), 1, 2);
    expect((await verifyAudit(interrupted(begin))).flaws, 'the first of all').to.deep.equal([]);
    expect((await verifyAudit(interrupted(begin))).flaws).to.deep.equal([]);
    const lines = Number((await kit.rows('SELECT COUNT(*) AS n FROM audit_log'))[0].n);
    const file = join(kit.folder, `begun-${kit.dialect}.txt`);
    expect(await exportAudit(interrupted(begin), file)).to.equal(lines);
    const [header = '', ...exported] = readFileSync(file, 'utf8').trim().split('\n');
    const chains = new Set(JSON.parse(header).chains.map(({ chain }: { chain: number }) => chain));
    for (const line of exported) expect(chains.has(JSON.parse(line.slice(65)).chain), line).to.equal(true);
  });

  /** @param latestMs later times are of a clock that ran ahead */
  const prune = async (before: number, { latestMs = Number.MAX_SAFE_INTEGER / 2, limit = 5, most = 1_000 } = {}) => {
    let all = 0;
    for (let walk = auditStart, more = true; more; ) {
      const done = await kit.store.transaction('prune', (tx) =>
        pruneAudit(tx, { before: before as Horizon, latestMs }, walk, { limit, most: most - all }),
      );
      all += done.removed;
      ({ walk, more } = done);
    }
    return all;
  };

  it('holds while chains are pruned whole', async () => {
    await append(kit.store, 20, 2);
    const other = await kit.connect();
    await append(other, 2, 2);
    await append(other, 100, 2);
    await prune(10);
    expect((await verifyAudit(interrupted(() => prune(50)))).flaws).to.deep.equal([]);
    const left = await kit.rows('SELECT id FROM audit_chain');
    expect(left, 'the spent one is gone').to.have.length(1);
  });

  it('holds behind a checkpoint, and for a head that was noted down before it', async () => {
    const lines = async () => (await kit.rows('SELECT COUNT(*) AS n FROM audit_log'))[0].n;
    for (let at = 1; at <= 12; at++) await append(kit.store, at, 2);
    // A clock that ran ahead keeps its line, and those behind it in its chain.
    await append(kit.store, 1_000_000, 1);
    const [early] = await auditHeads(kit.store);
    await append(kit.store, 13, 1);
    const noted = await auditHeads(kit.store);
    for (const [before, left] of [
      [5, 28],
      [12, 7],
      [500, 4],
    ] as const) {
      await prune(before);
      expect(await lines()).to.equal(left);
      expect(await flawsOf([...noted, ...(early ? [early] : [])])).to.deep.equal([]);
    }
    await prune(2_000_000);
    expect(await lines()).to.equal(0);
    await append(kit.store, 2_000_001, 1);
    expect(await flawsOf(noted)).to.deep.equal([]);
    // Lines that are pruned and then taken from the checkpoint on show.
    await kit.rows('SELECT 1');
    await kit.store.transaction('tamper', (tx) => tx.run('UPDATE audit_chain SET pruned_seq=pruned_seq-1'));
    expect(await flawsOf()).to.not.deep.equal([]);
  });

  it('keeps no chain because of another one, nor for ever because of a clock that was wrong for a moment', async () => {
    const dayMs = 86_400_000;
    const day = (nth: number) => (1_000 + nth) * dayMs;
    const times = async () => (await kit.rows('SELECT at FROM audit_log ORDER BY id')).map(({ at }) => Number(at));
    // A chain whose first line is years ahead; on a server a second one beside it.
    await append(kit.store, day(4_000), 1);
    const other = await kit.connect();
    for (const nth of [1, 2, 3]) await append(other, day(nth), 1);
    for (const nth of [4, 5]) await append(kit.store, day(nth), 1);
    const wrong = Object.assign({ latestMs: day(10) }, { limit: 10 });
    expect(await prune(day(3), wrong), 'before the next line after the wrong ones is old').to.be.greaterThan(0);
    expect(await times()).to.include(day(5));
    expect((await verifyAudit(kit.store)).flaws).to.deep.equal([]);
    await prune(day(6), wrong);
    expect(await times()).to.deep.equal([]);
    expect((await verifyAudit(kit.store)).flaws).to.deep.equal([]);
    // A clock that was years behind for a moment makes no line old.
    for (const nth of [7, -900, 8]) await append(kit.store, day(nth), 1);
    expect(await prune(day(6), wrong)).to.equal(0);
    expect(await prune(day(10), { ...wrong, most: 2 })).to.equal(2);
    expect(await times()).to.have.length(4);
    expect((await verifyAudit(kit.store)).flaws).to.deep.equal([]);
  });

  it('names each line that is changed, taken out, moved or put in behind its back', async function () {
    this.timeout(120_000);
    for (let at = 1; at <= 15; at++) await append(kit.store, at, 2);
    const table = (name: string) => kit.rows(`SELECT * FROM ${name} ORDER BY id`) as Promise<Row[]>;
    const whole = { lines: await table('audit_log'), chains: await table('audit_chain') };
    const restore = () =>
      kit.store.transaction('restore', async (tx) => {
        for (const [name, rows] of [
          ['audit_log', whole.lines],
          ['audit_chain', whole.chains],
        ] as const) {
          await tx.run(`DELETE FROM ${name}`);
          await insertRows(tx, name, rows);
        }
      });
    const random = seededRandom(23);
    const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
    const set = [
      "outcome='x'",
      'at=at+1',
      "actor='nobody'",
      `detail='{"x":1}'`,
      'seq=seq+1',
      'chain=chain+1',
      "event='stop '",
      "source_key='k'",
    ];
    for (let i = 0; i < (kit.dialect === 'sqlite' ? 300 : 20); i++) {
      const [line, other] = [pick(whole.lines), pick(whole.lines)];
      const id = Number(line.id);
      const kind = pick(['change', 'delete', 'move', 'insert']);
      if (kind === 'move' && line === other) continue;
      await kit.store.transaction('tamper', async (tx) => {
        if (kind === 'change') await tx.run(`UPDATE audit_log SET ${pick(set)} WHERE id=?`, [id]);
        if (kind === 'delete') await tx.run('DELETE FROM audit_log WHERE id=?', [id]);
        if (kind === 'insert') await insertRows(tx, 'audit_log', [{ ...line, id: 9_999 }]);
        if (kind === 'move')
          for (const [from, to] of [
            [id, 9_999],
            [Number(other.id), id],
            [9_999, Number(other.id)],
          ])
            await tx.run('UPDATE audit_log SET id=? WHERE id=?', [to as number, from as number]);
      });
      const [flaw] = await flawsOf();
      expect(flaw, `${kind} ${id}`).to.not.equal(undefined);
      await restore();
    }
    expect(await flawsOf()).to.deep.equal([]);
  });
});
