import {
  closeSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { createLogger } from '../../../src/ops/logger.js';
import { deliver } from '../../../src/outbound/deliver/deliver.js';
import { forgetMarks, readLeftMarks, SendMarks } from '../../../src/outbound/deliver/send-marks.js';
import { ServiceLease } from '../../../src/outbound/deliver/service-lease.js';
import { systemClock } from '../../../src/store/clock.js';
import { LeaseLost } from '../../../src/store/lease.js';
import { thisProcess } from '../../../src/store/lease-rows.js';
import { type Lab, onSqliteLabAnd } from '../../support/jobs/job-lab.js';
import { useTempDir } from '../../support/temp-dir.js';
import { waitFor } from '../../support/wait-for.js';

const [bootId, namespace] = (thisProcess() as string).split(' ');
/** No process has this number. */
const ended = `${bootId} ${namespace} ${2 ** 22 + 1} 1`;
const log = createLogger({ level: 'error', stream: 'stderr', secrets: [] });

/** From now on this file, which this process has open, can be neither written nor removed. @returns what makes it removable again */
function breakFile(file: string): () => void {
  const isOpenAs = (descriptor: string) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`) === file;
    } catch {
      return false;
    }
  };
  closeSync(Number(readdirSync('/proc/self/fd').find(isOpenAs)));
  unlinkSync(file);
  mkdirSync(file);
  return () => rmdirSync(file);
}

describe('what a process notes of what it sends', () => {
  const folder = useTempDir();
  const holder = { epoch: 7, process: ended };
  const witness = () => folder.file('witness/store.json');
  const open = (epoch = holder.epoch, process = ended) =>
    new SendMarks(witness(), epoch, { log, clock: systemClock }, process);
  const unsent = (ids: readonly number[], of = holder) => [...(readLeftMarks(witness(), of)?.neverLeft(ids) ?? [])];
  const files = () => readdirSync(dirname(witness()));

  it('proves of those that were held, and did not leave, that they did not', () => {
    const marks = open();
    marks.hold([12, 10, 11, 16_383, 16_384, 16_385, 40_000]);
    expect(marks.leave(11)).to.equal(true);
    expect(marks.leave(16_384)).to.equal(true);
    expect(unsent([10, 11, 12, 13, 16_383, 16_384, 16_385, 40_000])).to.deep.equal([10, 12, 16_383, 16_385, 40_000]);
    // Claimed once more, as after a transaction that the database undid.
    marks.hold([10]);
    expect(unsent([10])).to.deep.equal([10]);
    marks.close();
    expect(unsent([10])).to.deep.equal([]);
    expect(files()).to.deep.equal([]);
  });

  it('tells when something left for the last time, whatever it was', () => {
    const times = [1_000, 2_000, 3_000];
    const clock = { ...systemClock, sinceBoot: () => ({ bootId: '', bootMs: times[0] as number }) };
    const marks = new SendMarks(witness(), holder.epoch, { log, clock }, ended);
    const lastLeft = () => readLeftMarks(witness(), holder)?.lastLeftMs;
    expect(marks.leave(null)).to.equal(true);
    expect(lastLeft()).to.equal(undefined);
    marks.hold([1]);
    expect(lastLeft()).to.equal(times.shift());
    marks.leave(1);
    expect(lastLeft()).to.equal(times.shift());
    marks.leave(null);
    expect(lastLeft()).to.equal(times.shift());
    marks.close();
  });

  it('prove nothing of what has lost its place, of other holders, or when they are not whole', () => {
    const marks = open();
    marks.hold([5, 6]);
    marks.hold([5 + 16_384]);
    expect(unsent([5, 6, 5 + 16_384])).to.deep.equal([6, 5 + 16_384]);
    expect(unsent([6], { ...holder, epoch: 8 })).to.deep.equal([]);
    expect(unsent([6], { ...holder, process: `${ended}0` })).to.deep.equal([]);
    expect(readLeftMarks(undefined, holder)).to.equal(null);
    truncateSync(`${witness()}.sending-${2 ** 22 + 1}`, 1_000);
    expect(unsent([6])).to.deep.equal([]);
    forgetMarks(witness(), holder);
    expect(files()).to.deep.equal([]);
  });

  it('prove nothing when they can not be written, and hold nothing back then', () => {
    mkdirSync(dirname(witness()), { recursive: true });
    mkdirSync(`${witness()}.sending-5`);
    const silent = createLogger({ level: 'error', stream: 'stderr', secrets: [] });
    silent.silent = true;
    const marks = new SendMarks(witness(), 1, { log: silent, clock: systemClock }, `${bootId} ${namespace} 5 1`);
    marks.hold([1]);
    expect(marks.leave(1)).to.equal(true);
    expect(unsent([1], { epoch: 1, process: `${bootId} ${namespace} 5 1` })).to.deep.equal([]);
  });

  it('hold everything back while they can be neither written nor removed, and say so once', () => {
    const said: string[] = [];
    const say = (message: string) => void said.push(message);
    const marks = new SendMarks(
      witness(),
      holder.epoch,
      { log: { warn: say, error: say } as unknown as typeof log, clock: systemClock },
      ended,
    );
    marks.hold([1, 2]);
    const mend = breakFile(`${witness()}.sending-${2 ** 22 + 1}`);
    expect(marks.isStuck).to.equal(false);
    expect([marks.leave(1), marks.leave(null), marks.leave(null)]).to.deep.equal(Array(3).fill(false));
    expect(marks.isStuck).to.equal(true);
    expect(said).to.have.length(1);
    expect(said[0]).to.contain('Nothing is sent').and.to.contain('restart Waybill');
    mend();
    expect([marks.leave(null), marks.isStuck, marks.leave(1)]).to.deep.equal([true, false, true]);
    expect(unsent([1, 2])).to.deep.equal([]);
  });

  it('are removed when they are from before the machine started', () => {
    const old = `${witness()}.sending-77`;
    const before = open(1, `another-boot ${namespace} 77 1`);
    before.hold([1]);
    expect(existsSync(old)).to.equal(true);
    const other = open(2, `${bootId} ${namespace} 78 1`);
    other.hold([2]);
    writeFileSync(`${witness()}.sending-79`, 'of something else');
    open().hold([3]);
    expect(existsSync(old)).to.equal(false);
    expect(readFileSync(`${witness()}.sending-78`).length).to.be.greaterThan(100_000);
    expect(existsSync(`${witness()}.sending-79`)).to.equal(true);
  });
});

onSqliteLabAnd('postgres', 'what a killed process had claimed', (kit) => {
  /** Delivers under a lease of a process that has ended, until `requests` are at the service. */
  async function killedAfter(lab: Lab, requests: number): Promise<void> {
    const lease = (await ServiceLease.acquire(lab.context)) as ServiceLease;
    const own = new SendMarks(lab.settings.store.witnessFile, lease.epoch, lab.context, ended);
    Object.assign(lease, { marks: Object.assign(own, { close: () => undefined }) });
    const delivery = deliver(lab.context, lab.client, lease, {
      untilDrained: true,
      scope: { only: null },
      retryHorizonMs: 20_000,
      trial: false,
      erp: lab.reader,
    });
    const before = lab.sandbox.counts().requests;
    await waitFor('some requests', () => lab.sandbox.counts().requests >= before + requests);
    // Like a kill: nothing more leaves, and no outcome is put on record any more.
    lease.markLost();
    const lost = () => Promise.reject(new LeaseLost('service'));
    Object.assign(lease, { write: lost, writeBeside: lost });
    await delivery;
    await kit.store.transaction('name the dead', (tx) => tx.run('UPDATE lease SET holder_process=?', [ended]));
  }

  it('waits as if it had never been claimed, unless it has left', async () => {
    const witnessFile = `${kit.folder}/marks/store.json`;
    const limits = [{ requests: 10, perSeconds: 1 }];
    const lab = await kit.start({
      customers: 2,
      orders: 40,
      settings: { store: { witnessFile }, service: { limits, concurrency: 32 } },
    });
    await lab.capture();
    await killedAfter(lab, 12);
    const sent = new Set(lab.sandbox.ledger().requests.map((one) => one.idempotency_key));
    const claimed = await kit.rows("SELECT idempotency_key FROM outbox_message WHERE state='sending'");
    const neverSent = claimed.filter((row) => !sent.has(row.idempotency_key)).length;
    expect(neverSent).to.be.greaterThan(5);

    const successor = lab.another({
      actor: 'successor',
      settings: { service: { limits: [{ requests: 1_000, perSeconds: 0.1 }] } },
    });
    const lease = (await ServiceLease.acquire(successor.context)) as ServiceLease;
    const said = successor.log.find((line) => line.startsWith('Took over')) ?? successor.log.join();
    const inDoubt = await kit.rows("SELECT idempotency_key, attempts FROM outbox_message WHERE state='in_doubt'");
    for (const row of inDoubt) expect(sent.has(row.idempotency_key)).to.equal(true);
    expect(inDoubt.length).to.equal(claimed.length - neverSent);
    const waiting = await kit.rows(
      "SELECT attempts, first_sent_at FROM outbox_message WHERE state='pending' AND claim_epoch IS NOT NULL",
    );
    expect(waiting).to.have.length(neverSent);
    for (const row of waiting) expect({ ...row }).to.deep.equal({ attempts: 0, first_sent_at: null });
    expect((await kit.rows("SELECT id FROM attempt WHERE verdict='unknown'")).length).to.equal(inDoubt.length);
    expect(said).to.contain(`"inDoubt":${inDoubt.length}`).and.to.contain(`"unsent":${neverSent}`);
    await lease.release();
    const result = await successor.deliver();
    expect(result.stopped).to.equal(null);
    expect(await kit.rows('SELECT state, MAX(attempts) AS most FROM outbox_message GROUP BY state')).to.deep.equal([
      { state: 'delivered', most: inDoubt.length > 0 ? 2 : 1 },
    ]);
    expect(lab.sandbox.counts()).to.include({ orders: lab.made.orders.eligible, duplicateReferences: 0 });
    expect(readdirSync(dirname(witnessFile))).to.deep.equal([]);
  });

  it('is claimed no more while nothing may leave, and goes out when it may again', async () => {
    const lab = await kit.start({ customers: 2, orders: 4 });
    await lab.capture();
    const lease = (await ServiceLease.acquire(lab.context)) as ServiceLease;
    let mayLeave = false;
    let looks = 0;
    const leave = () => {
      looks++;
      marks.isStuck = !mayLeave;
      return mayLeave;
    };
    const marks = { isStuck: false, hold: () => undefined, leave, close: () => undefined };
    Object.assign(lease, { marks });
    const given = { scope: { only: null }, retryHorizonMs: 20_000, trial: false, erp: lab.reader };
    const delivery = deliver(lab.context, lab.client, lease, { ...given, untilDrained: true });
    await waitFor('a look after the first claim', () => looks > 6);
    // Time enough to claim them ten times more.
    await sleep(1_000);
    const attempts = await kit.rows('SELECT message_id, COUNT(*) AS n FROM attempt GROUP BY message_id');
    expect(attempts.map(({ n }) => n)).to.deep.equal(attempts.map(() => 1));
    expect(lab.sandbox.counts().requests).to.equal(0);
    mayLeave = true;
    expect((await delivery).stopped).to.equal(null);
    await lease.release();
    expect(await kit.rows('SELECT state, COUNT(*) AS n FROM outbox_message GROUP BY state')).to.deep.equal([
      { state: 'delivered', n: 6 },
    ]);
  });
});
