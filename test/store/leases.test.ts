import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { Lease, type LeaseAnswer, LeaseLost } from '../../src/store/lease.js';
import { thisProcess } from '../../src/store/lease-rows.js';
import type { Store } from '../../src/store/store.js';
import { waitFor } from '../support/wait-for.js';
import { onEveryStore, useStore } from './stores.js';

onEveryStore('a lease', (kit) => {
  const long = 60_000;
  const take = (holder: string, leaseMs = long, store: Store = kit.store) =>
    Lease.acquire(store, 'service', holder, leaseMs);
  const held = (answer: LeaseAnswer): Lease => {
    if (!answer.held) throw new Error(`held by ${answer.holder}`);
    return answer.lease;
  };
  const assertHeld = (lease: Lease) => lease.write('write as holder', async () => undefined);
  const letItEndIn = (ms: number) =>
    kit.store.transaction('move the end', (tx) => tx.run(`UPDATE lease SET expires_at=${tx.nowMs}+?`, [ms]));
  const lostTo = async (work: Promise<unknown>) => {
    const error = await work.then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(error).to.be.instanceOf(LeaseLost);
  };

  it('goes to one holder at a time, who is named to the others', async () => {
    const first = await take('one');
    expect(first).to.deep.include({ held: true, idleMs: null });
    const second = await take('two');
    expect(second).to.deep.include({ held: false, holder: 'one' });
    expect((second as { freeInMs: number }).freeInMs).to.be.within(1, long);
    await assertHeld(held(first));
  });

  it('lay idle no longer than time surely passed, however far the clock was set forward since', async () => {
    await held(await take('one')).release();
    const setForward = 'UPDATE lease SET released_at=released_at-86400000';
    await kit.store.transaction('set the clock', (tx) => tx.run(setForward));
    expect((await take('two')) as { idleMs: number })
      .property('idleMs')
      .is.below(20_000);
  });

  it('lay idle for an unknown time, so none that counts, where its holder noted no moment', async () => {
    await held(await take('one')).release();
    await kit.store.transaction('as an older version', (tx) =>
      tx.run('UPDATE lease SET released_elapsed=NULL, released_at=released_at-86400000'),
    );
    expect(await take('two')).to.include({ held: true, idleMs: 0 });
  });

  it('knows nothing of other names', async () => {
    await take('one');
    const other = await Lease.acquire(kit.store, 'capture', 'two', long);
    expect(other).to.deep.include({ held: true });
  });

  it('is not given twice to the same name: two processes may be called alike', async () => {
    await take('one');
    expect((await take('one')).held).to.equal(false);
  });

  it('is free at once when it is released, with a larger epoch and the time it lay idle', async () => {
    const first = held(await take('one'));
    await first.release();
    await sleep(30);
    const answer = await take('two');
    expect(held(answer).epoch).to.equal(first.epoch + 1);
    expect((answer as { idleMs: number }).idleMs).to.be.within(25, long);
    await lostTo(assertHeld(first));
  });

  it('of one who died is not waited for until a time to which the clock was wrongly set', async () => {
    const first = held(await take('one'));
    const set = (endsInMs: number) =>
      kit.store.transaction('set the end', (tx) => tx.run('UPDATE lease SET expires_at=expires_at+?', [endsInMs]));
    await set(72 * 3_600_000);
    const longest = 600_000;
    expect((await take('two')) as { freeInMs: number }).to.include({ held: false, freeInMs: longest });
    // Whoever lives renews it long before.
    await first.renew();
    expect(((await take('two')) as { freeInMs: number }).freeInMs).to.be.within(1, long);
  });

  it('is taken over when its time is over and not before, and its holder can write nothing more', async () => {
    const first = held(await take('one', long));
    const endOf = async () => Number((await kit.rows('SELECT expires_at FROM lease'))[0].expires_at);
    expect((await take('two', long)).held).to.equal(false);
    // Brought near in the store: however long a busy machine takes for the above, it was done within the lease.
    await letItEndIn(300);
    const end = await endOf();
    const answer = await waitFor('the lease to end', async () => {
      const asked = await take('two', long);
      return asked.held ? asked : null;
    });
    expect(held(answer).epoch).to.equal(first.epoch + 1);
    // Compared by the database's clock, to the millisecond.
    expect((await endOf()) - long).to.be.at.least(end);
    // It was never let go.
    expect((answer as { idleMs: number }).idleMs).to.equal(0);
    await lostTo(assertHeld(first));
    await lostTo(first.renew());
    // A late release takes nothing from the successor.
    await first.release();
    await assertHeld(held(answer));
  });

  it('lets its holder write nothing more once it has ended, also where nobody took it', async () => {
    const lease = held(await take('one'));
    await lease.release();
    await lostTo(assertHeld(lease));
    await lostTo(lease.writeBeside('write beside others', async () => undefined));
  });

  it('stays with its holder while that one renews it, under the same epoch', async () => {
    const lease = held(await take('one'));
    const endsAt = lease.endsAtMonotonicMs;
    await letItEndIn(40);
    await lease.renew();
    expect(lease.endsAtMonotonicMs).to.be.greaterThan(endsAt);
    await sleep(50);
    expect(await take('two')).to.deep.include({ held: false, holder: 'one' });
    await assertHeld(lease);
  });

  it('can be renewed late, as long as nobody took it', async () => {
    const lease = held(await take('one'));
    await letItEndIn(-30);
    await lease.renew();
    expect((await take('two')).held).to.equal(false);
  });

  it('ends for its holder no later than for the others', async () => {
    const before = performance.now();
    const lease = held(await take('one', 5_000));
    expect(lease.endsAtMonotonicMs).to.be.within(before + 5_000, performance.now() + 5_000);
  });

  it('goes by the clock of the database, wherever its session lives', async () => {
    const other = await kit.connect();
    if (kit.dialect === 'mysql') {
      // Any connection of the pool may be asked: all of them move.
      await Promise.all(
        Array.from({ length: 6 }, () => other.read('move', (tx) => tx.select("SET time_zone='+11:30'"))),
      );
    }
    await take('one', 10_000, other);
    const answer = await take('two');
    expect((answer as { freeInMs: number }).freeInMs).to.be.within(1, 10_000);
    const [row] = await kit.rows('SELECT expires_at FROM lease');
    expect(row.expires_at).to.be.within(Date.now(), Date.now() + 20_000);
  });

  it('goes to exactly one of many who ask at the same time', async () => {
    const connections = [kit.store, await kit.connect(), await kit.connect()];
    for (let round = 1; round <= 5; round++) {
      const answers = await Promise.all(
        connections.flatMap((store, i) => [take(`${i}a`, long, store), take(`${i}b`, long, store)]),
      );
      const winners = answers.filter((answer) => answer.held);
      expect(winners).to.have.length(1);
      const lease = held(winners[0] as LeaseAnswer);
      expect(lease.epoch).to.equal(round);
      await lease.release();
    }
  });
});

describe('a lease in a SQLite file', () => {
  const kit = useStore('sqlite');

  it('goes to exactly one of several processes', async () => {
    const program = fileURLToPath(new URL('./take-lease.js', import.meta.url));
    const { file } = kit.settings as { file: string };
    const runs = Array.from({ length: 4 }, () => spawn(process.execPath, [program, file]));
    const said = await Promise.all(runs.map(async ({ stdout }) => String((await once(stdout, 'data'))[0])));
    await Promise.all(runs.map((run) => Promise.all([once(run, 'exit'), run.stdin.end()])));
    expect(said.sort()).to.deep.equal(['held', 'refused', 'refused', 'refused']);
  });

  it('of a process that was killed goes to the next one at once, and not while it only stands still', async () => {
    const program = fileURLToPath(new URL('./take-lease.js', import.meta.url));
    const { file } = kit.settings as { file: string };
    const holder = spawn(process.execPath, [program, file]);
    expect(String((await once(holder.stdout, 'data'))[0])).to.equal('held');
    const take = () => Lease.acquire(kit.store, 'service', 'successor', 60_000);

    holder.kill('SIGSTOP');
    expect((await take()).held).to.equal(false);
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    const answer = await take();
    expect(answer).to.include({ held: true, idleMs: 0 });
    expect((answer as { lease: Lease }).lease.epoch).to.equal(2);
  });

  it('is waited for where its process may live on another machine, or among processes that are not seen from here', async () => {
    const [bootId, namespace, pid, started] = (thisProcess() as string).split(' ');
    const gone = 2 ** 22 + 1;
    const takenBy = async (name: string | null) => {
      await kit.store.transaction('hold it', async (tx) => {
        await tx.run('DELETE FROM lease');
        const holds = `INSERT INTO lease (name, epoch, holder, holder_process, expires_at) VALUES ('service', 1, 'one', ?, ${tx.nowMs}+60000)`;
        await tx.run(holds, [name]);
      });
      return (await Lease.acquire(kit.store, 'service', 'two', 60_000)).held;
    };
    expect(await takenBy(null)).to.equal(false);
    expect(await takenBy('nonsense')).to.equal(false);
    expect(await takenBy(`${bootId} ${namespace} ${pid} ${started}`)).to.equal(false);
    expect(await takenBy(`another-boot ${namespace} ${gone} 1`)).to.equal(false);
    expect(await takenBy(`${bootId} pid:[1] ${gone} 1`)).to.equal(false);
    expect(await takenBy(`${bootId} ${namespace} ${gone} 1`)).to.equal(true);
    // Its number is that of another process by now.
    expect(await takenBy(`${bootId} ${namespace} ${pid} 1`)).to.equal(true);
  });
});
