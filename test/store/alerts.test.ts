import { expect } from 'chai';
import { legacy } from '../../src/model/facts/fact.js';
import { endAlert, markTold, openAlerts, postponeAlert, raiseAlert, untoldAlerts } from '../../src/store/alerts.js';
import { listJobRuns, recordFailure, recordSuccess } from '../../src/store/job-runs.js';
import type { Tx } from '../../src/store/store.js';
import { onEveryStore } from './stores.js';

const parked = (count: number) => ({ code: 'messages_parked', count, isMore: false }) as const;

onEveryStore('alerts', (kit) => {
  const write = <T>(work: (tx: Tx) => Promise<T>) => kit.store.transaction('test', work);
  const untold = async (nowMs: number) =>
    (await write((tx) => untoldAlerts(tx, nowMs, 10))).map(({ cause, overAt }) => `${cause}${overAt ? ' over' : ''}`);

  it('are raised once as long as they last, with the latest data', async () => {
    expect(await write((tx) => raiseAlert(tx, 'parked', parked(1), 100))).to.equal(true);
    expect(await write((tx) => raiseAlert(tx, 'parked', parked(2), 200))).to.equal(false);
    const alerts = await write(openAlerts);
    expect(alerts).to.have.length(1);
    expect(alerts[0]).to.deep.include({ cause: 'parked', message: parked(2), sinceAt: 100 });
    expect(await untold(200)).to.deep.equal(['parked']);
  });

  it('are told once, and once more when they are over; after that the same cause is a new alert', async () => {
    await write((tx) => raiseAlert(tx, 'parked', parked(1), 100));
    const [first] = await write((tx) => untoldAlerts(tx, 100, 10));
    await write((tx) => markTold(tx, first?.id as number, 'raised', 110));
    expect(await untold(1_000)).to.deep.equal([]);
    expect(await write((tx) => endAlert(tx, 'parked', 200))).to.equal(true);
    expect(await write((tx) => endAlert(tx, 'parked', 210))).to.equal(false);
    expect(await write(openAlerts)).to.deep.equal([]);
    expect(await untold(200)).to.deep.equal(['parked over']);
    await write((tx) => markTold(tx, first?.id as number, 'over', 220));
    expect(await untold(1_000)).to.deep.equal([]);
    expect(await write((tx) => raiseAlert(tx, 'parked', parked(1), 300))).to.equal(true);
    expect(await untold(300)).to.deep.equal(['parked']);
  });

  it('wait after a failed try', async () => {
    await write((tx) => raiseAlert(tx, 'parked', parked(1), 100));
    const [alert] = await write((tx) => untoldAlerts(tx, 100, 10));
    await write((tx) => postponeAlert(tx, alert?.id as number, 500, 1));
    expect(await untold(499)).to.deep.equal([]);
    expect(await untold(500)).to.deep.equal(['parked']);
  });

  it('are raised once when two notice the same thing at the same moment', async () => {
    const other = await kit.connect();
    const raised = await Promise.all(
      [kit.store, other, kit.store, other].map((store) =>
        store.transaction('raise', (tx) => raiseAlert(tx, 'parked', parked(1), 100)),
      ),
    );
    expect(raised.filter(Boolean)).to.have.length(1);
    expect(await kit.rows('SELECT id FROM alert')).to.have.length(1);
  });
});

onEveryStore('the record of runs', (kit) => {
  it('counts failures in a row, since when and why, until one succeeds', async () => {
    const write = (work: (tx: Tx) => Promise<void>) => kit.store.transaction('test', work);
    await write((tx) => recordSuccess(tx, 'capture', 100));
    await write((tx) => recordFailure(tx, 'capture', legacy('no route'), 200));
    await write((tx) => recordFailure(tx, 'capture', legacy('refused'), 300));
    expect(await kit.store.read('look', listJobRuns)).to.deep.equal([
      { job: 'capture', succeededAt: 100, failures: 2, failingSince: 200, failure: legacy('refused') },
    ]);
    await write((tx) => recordSuccess(tx, 'capture', 400));
    expect(await kit.store.read('look', listJobRuns)).to.deep.equal([
      { job: 'capture', succeededAt: 400, failures: 0, failingSince: null, failure: null },
    ]);
  });
});
