import { expect } from 'chai';
import type { Fact } from '../../../src/model/facts/fact.js';
import { planAction } from '../../../src/operator/actions/message-actions.js';
import { tell } from '../../../src/words/words.js';
import { explained } from '../../support/explained.js';
import { type LabOptions, onAnyLab } from '../../support/jobs/job-lab.js';
import { leftIn } from '../../support/jobs/left-in.js';
import { type OrderFate, type SlowService, slowLookUp, startSlowService } from '../../support/slow-service.js';
import { waitFor } from '../../support/wait-for.js';

const deadlineSeconds = 1;
const maxProcessingSeconds = 2;
const slow: OrderFate = { afterMs: 1_500 };
const quick: OrderFate = { afterMs: 0 };

onAnyLab('a service without keys that is still working on a request which Waybill gave up', (kit) => {
  let service: SlowService;
  beforeEach(async () => {
    service = await startSlowService(() => quick);
  });
  afterEach(() => service.close());

  const start = async (options: LabOptions & { absenceProves?: boolean; patienceSeconds?: number } = {}) => {
    const { absenceProves = true, patienceSeconds = maxProcessingSeconds, ...rest } = options;
    const lab = await kit.start({
      customers: 2,
      orders: 5,
      ...rest,
      settings: {
        service: {
          baseUrl: service.url,
          deadlineSeconds,
          maxProcessingSeconds: patienceSeconds,
          idempotency: { lifetimeHours: undefined },
          endpoints: { lookUpOrder: { ...slowLookUp, absenceProves } },
        },
      },
    });
    await lab.capture();
    const numbers = [...(await lab.expectedOrders()).keys()].sort();
    return { lab, numbers };
  };
  const notes = () => service.orders.map(({ note }) => note).sort();
  const asked = (method: string, number: string) =>
    service.requests.filter((one) => one.method === method && one.note === number);
  const states = async () =>
    (await kit.rows("SELECT DISTINCT state FROM outbox_message WHERE entity='order'")).map(({ state }) => state);

  it('makes each order once, though a look-up at once finds none of those that take longer than the deadline', async () => {
    const { lab, numbers } = await start();
    const late = new Set(numbers.slice(0, 3));
    service.fateOf = (note) => (late.has(note) && asked('POST', note).length === 1 ? 'held' : quick);
    const delivering = lab.deliver({ retryHorizonMs: 10_000 });
    await waitFor('each was looked up', () => [...late].every((number) => asked('GET', number).length > 0));
    service.release();
    await delivering;
    expect(notes()).to.deep.equal(numbers);
    expect(await states()).to.deep.equal(['delivered']);
    for (const number of late) expect(asked('GET', number)).to.have.length.at.least(2);
  });

  it('sends an order that never arrived again, with the same bytes, after two look-ups that agree', async () => {
    const { lab, numbers } = await start();
    const [lost] = numbers as [string];
    service.fateOf = (note) => (note === lost && asked('POST', lost).length === 1 ? 'lost' : quick);
    await lab.deliver({ retryHorizonMs: 10_000 });
    expect(notes()).to.deep.equal(numbers);
    const [first, second] = asked('POST', lost).map(({ atMs }) => atMs) as [number, number];
    expect(second - first).to.be.at.least(maxProcessingSeconds * 1000);
    // The wait begins when the request ends here, which a busy machine may notice late.
    const [ended] = await kit.rows(
      `SELECT a.started_at + a.duration_ms AS at FROM attempt a JOIN outbox_message m ON m.id=a.message_id
        WHERE m.number=? AND a.purpose='create' ORDER BY a.id`,
      [lost],
    );
    const counted = asked('GET', lost).filter(
      ({ atMs }) => performance.timeOrigin + atMs - ended.at >= maxProcessingSeconds * 1000,
    );
    expect(counted).to.have.length(2);
    const hashes = await kit.rows(
      `SELECT DISTINCT a.idempotency_key, a.body_hash FROM attempt a JOIN outbox_message m ON m.id=a.message_id
        WHERE m.number=? AND a.purpose='create'`,
      [lost],
    );
    const [delivered] = await kit.rows('SELECT idempotency_key, body_hash FROM outbox_message WHERE number=?', [lost]);
    expect(hashes).to.deep.equal([delivered]);
  });

  it('says meanwhile why an order waits and until when, sends the others, and lets nobody say too early that it is not there', async () => {
    const { lab, numbers } = await start({ orders: 2, patienceSeconds: 60 });
    const [late] = numbers as [string];
    // Nobody can tell it from a slow one, and a busy machine can't be too late to ask for it.
    service.fateOf = (note) => (note === late ? 'lost' : quick);
    await lab.deliver({ retryHorizonMs: 10_000 });
    expect(notes()).to.deep.equal(numbers.filter((number) => number !== late));
    const [message] = await kit.rows('SELECT * FROM outbox_message WHERE number=?', [late]);
    expect(message).to.include({ state: 'in_doubt' });
    expect(message.next_attempt_at).to.be.above(Date.now());

    const about = { entity: 'order' as const, sourceKey: message.source_key, erpIdentity: lab.reader.identity() };
    const { words } = await explained(lab.context, about, String);
    expect(words.why.join('\n')).to.contain(`Next look-up at ${message.next_attempt_at}`);
    expect(words.why.join('\n')).to.contain('the service may still be working on the last request');

    const resolve = {
      action: 'not_delivered' as const,
      filter: { records: [{ entity: 'order' as const, sourceKey: message.source_key }] },
      serviceId: null,
      reason: 'I looked',
    };
    const tooEarly = await planAction(lab.context, resolve);
    expect(tooEarly.ids).to.deep.equal([]);
    expect(tell(leftIn(tooEarly)[0]?.why as Fact)).to.match(
      /may still be working on its last request.*look again after 20/,
    );
    // If a test moves the clock on the wall, time has passed.
    lab.context.nowMs = () => Date.now() + 60_000;
    expect((await planAction(lab.context, resolve)).ids).to.deep.equal([message.id]);
  });

  it('asks a person only after the same wait where absence proves nothing', async () => {
    const { lab, numbers } = await start({ orders: 2, absenceProves: false });
    const [lost, late] = numbers as [string, string];
    service.fateOf = (note) => (note === lost ? 'lost' : slow);
    await lab.deliver({ retryHorizonMs: 10_000 });
    expect(notes()).to.deep.equal([late]);
    const parked = await kit.rows("SELECT number, park_class FROM outbox_message WHERE state='parked'");
    expect(parked).to.deep.equal([{ number: lost, park_class: 'unproven' }]);
  });

  it('begins the wait anew where the clock that measured it is gone, and where it is not known since when it is due', async () => {
    const { lab, numbers } = await start({ customers: 1, orders: 1 });
    const [lost] = numbers as [string];
    service.fateOf = () => 'lost';
    await lab.deliver({ retryHorizonMs: 300 });
    service.fateOf = () => quick;
    const { clock } = lab.context;
    // The machine was started again, and its clock runs ahead by a day.
    const dayMs = 86_400_000;
    const startedAt = performance.now();
    lab.context.nowMs = () => Date.now() + dayMs;
    lab.context.clock = {
      ...clock,
      sinceBoot: () => ({ bootId: 'after a restart', bootMs: performance.now() - startedAt }),
    };
    await kit.store.transaction('due', (tx) =>
      tx.run('UPDATE outbox_message SET next_attempt_at=0 WHERE next_attempt_at IS NOT NULL'),
    );
    await lab.deliver({ retryHorizonMs: 10_000 });
    const again = asked('POST', lost).at(-1)?.atMs ?? 0;
    expect(again - startedAt).to.be.at.least(maxProcessingSeconds * 1000);
    expect(notes()).to.deep.equal(numbers);
  });
});
