import { expect } from 'chai';
import { appendAudit } from '../../src/audit/audit-log.js';
import { holdOlderStore, readRecoveryHold } from '../../src/outbound/recovery/store-witness.js';
import { forgetLastLines, noteLastLine, refuseOlderStore } from '../../src/store/last-lines.js';
import { Lease } from '../../src/store/lease.js';
import { StoreWentBack } from '../../src/store/store-error.js';
import { told } from '../support/told.js';
import { onEveryStore } from './stores.js';

onEveryStore('a store that goes back under a running process', (kit) => {
  const entry = { event: 'start', actor: 'test' } as const;
  const lease = async () => {
    const answer = await Lease.acquire(kit.store, 'service', 'test', 60_000);
    if (!answer.held) throw new Error('held by another one');
    return answer.lease;
  };
  const audited = (by: Lease) => by.write('say something', (tx) => appendAudit(tx, entry, Date.now()));
  const failureOf = (work: Promise<unknown>) => work.then(() => null).catch((error: unknown) => error);
  /** From outside, as a failover to a replica does that lacks the last transactions. */
  const goBack = async (lines: number) => {
    const other = await kit.connect();
    await other.transaction('go back', async (tx) => {
      const chains = await tx.rows('SELECT id, head_seq FROM audit_chain WHERE head_seq>0 ORDER BY id');
      for (const { id, headSeq } of chains) {
        const [line] = await tx.rows('SELECT hash FROM audit_log WHERE chain=? AND seq=?', [id, headSeq - lines]);
        await tx.run('DELETE FROM audit_log WHERE chain=? AND seq>?', [id, headSeq - lines]);
        await tx.run('UPDATE audit_chain SET head_seq=?, head_hash=? WHERE id=?', [headSeq - lines, line?.hash, id]);
      }
    });
  };

  it('is noticed before the next write of a holder, which writes nothing, and held on record', async () => {
    kit.store.onWentBack = () => holdOlderStore(kit.store, Date.now());
    const own = await lease();
    for (let i = 0; i < 3; i++) await audited(own);
    await goBack(1);
    let worked = false;
    const failure = await failureOf(
      own.write('claim', async () => {
        worked = true;
      }),
    );
    expect(failure).to.be.instanceOf(StoreWentBack);
    expect(worked).to.equal(false);
    const hold = await kit.store.read('look', readRecoveryHold);
    expect(hold).to.include({ kind: 'older' });
    expect(told(hold?.reason)).to.include('went back to an older state');
    // The lines that the process relied on are on record now; capture goes on.
    expect(await failureOf(audited(own))).to.equal(null);
  });

  it('is noticed also where its chain is gone as a whole', async () => {
    const own = await lease();
    await audited(own);
    const other = await kit.connect();
    await other.transaction('lose it', async (tx) => {
      await tx.run('DELETE FROM audit_log');
      await tx.run('DELETE FROM audit_chain');
    });
    expect(await failureOf(own.write('claim', async () => undefined))).to.be.instanceOf(StoreWentBack);
  });

  it('is told from one in which another transaction commits while it is looked at', async () => {
    const own = await lease();
    await audited(own);
    await kit.store.read('look', async (tx) => {
      const rows: typeof tx.rows = async (sql, parameters) => {
        const seen = await tx.rows(sql, parameters);
        noteLastLine(tx.storeKey, {
          chain: 1_000,
          seq: 1,
          hash: 'of a connection whose COMMIT was answered meanwhile',
        });
        return seen as never;
      };
      expect(await failureOf(refuseOlderStore({ ...tx, rows }))).to.equal(null);
    });
    forgetLastLines(kit.store);
  });

  it('is told from one that many connections write to at once', async () => {
    const own = await lease();
    const work = async () => {
      for (let i = 0; i < 100; i++) await own.writeBeside('say something', (tx) => appendAudit(tx, entry, Date.now()));
    };
    expect(await failureOf(Promise.all([work(), work(), work(), work(), work(), work()]))).to.equal(null);
  });

  it('is told from one that others have gone on with, and from a commit whose answer was lost', async () => {
    const own = await lease();
    await audited(own);
    const other = await kit.connect();
    await other.transaction('say something', (tx) => appendAudit(tx, entry, Date.now()));
    expect(await failureOf(own.write('claim', async () => undefined))).to.equal(null);
    const lost = new Error('the answer to COMMIT was lost');
    const unknown = kit.store.transaction('say something', async (tx) => {
      await appendAudit(tx, entry, Date.now());
      throw lost;
    });
    expect(await failureOf(unknown)).to.equal(lost);
    expect(await failureOf(audited(own))).to.equal(null);
  });
});
