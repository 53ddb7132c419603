import { expect } from 'chai';
import { parse } from 'yaml';
import { legacy } from '../../../../src/model/facts/fact.js';
import type { ProbeFact } from '../../../../src/model/facts/probe.js';
import { type ProbeOptions, probe, probeProblem } from '../../../../src/operator/setup/probe/probe.js';
import { pauseLane } from '../../../../src/store/lane-pauses.js';
import { proposalOf, tellFinding } from '../../../../src/telling/probe-proposal.js';
import { tell } from '../../../../src/words/words.js';
import { behaviour, eachStore, useStore } from '../../../store/stores.js';
import { type Lab, type LabKit, onAnyLab, useLab, withServiceLease } from '../../../support/jobs/job-lab.js';
import type { Tree } from '../../../support/merge-settings.js';
import { services } from './sandboxes.js';

const quiet = { prefix: 'WAYBILL-PROBE', customer: {}, order: {}, headers: [], fields: [] };

/** Its result, and the same in words. */
async function probed(lab: Lab, options: Partial<ProbeOptions> = {}) {
  const result = await probe(lab.context, lab.client, { ...quiet, signal: new AbortController().signal, ...options });
  if ('holder' in result) throw new Error(`${result.holder} has the lease`);
  const { stopped, left } = result;
  return {
    result,
    requests: result.requests,
    stopped: stopped && tell(stopped),
    left: left.map((one) => ({ ...one, why: tell(one.why) })),
    findings: result.findings.map(tellFinding),
  };
}

/** The questions that no probe can answer. */
const everUnknown = ['lifetime of a key'];

eachStore(behaviour(), (store, name) =>
  describe(`eight services of other habits, probed (${name})`, function () {
    this.timeout(60_000);
    const kit: LabKit = useLab(useStore(store));
    for (const service of services)
      it(`${service.name}: every point is found, and the proposal delivers 100 orders, each once`, async () => {
        const { unknown, left = { customer: 0, order: 0 } } = service;
        const sandbox = { paidShare: 0, ...service.sandbox };
        const lab = await kit.start({ orders: 100, customers: 20, sandbox, settings: service.known ?? {} });
        if (service.sandbox.invoicePerOrder !== false)
          lab.sandbox.addInvoices(Array.from({ length: 30 }, (_, n) => ({ amount: 100 + n })));

        const onStep = ({ code }: ProbeFact) => {
          lab.sandbox.change({ delayAfterMs: service.isSlow && code === 'probe_step_key' ? 300 : 0 });
          if (code === 'probe_step_burst') lab.sandbox.setLimit({ requests: 1, windowMs: 1_000 });
        };
        const result = await probed(lab, { ...service.options, onStep });
        const proposal = proposalOf(result.result, lab.sandbox.url, '2026-11-23T12:00:00.000Z');
        expect(result.stopped).to.equal(null);
        expect(parse(proposal)).to.deep.equal(service.settings);
        const ask = result.findings.filter((one) => one.ask !== null).map(({ point }) => point);
        expect(ask).to.have.members([...everUnknown, ...unknown]);
        for (const [point, words] of Object.entries(service.found))
          expect(result.findings.find((one) => one.point === point)?.found).to.contain(words);
        for (const line of proposal.split('\n')) expect(line.length).to.be.at.most(100);

        const tests = lab.sandbox.ledger();
        expect({ customer: tests.counts.customers, order: tests.counts.orders }).to.deep.equal(left);
        expect(result.left).to.have.length(left.customer + left.order);
        for (const { reference } of tests.orders) expect(reference).to.match(/^WAYBILL-PROBE-/);

        // Only the burst was to meet it: a probe says how a 429 looks, and never how much a service takes.
        lab.sandbox.setLimit(null);
        const proposed = lab.another({ settings: parse(proposal) as Tree });
        await proposed.capture();
        await proposed.deliver();
        const isTest = (reference: string | null) => reference?.startsWith('WAYBILL-PROBE-') ?? true;
        const sent = lab.sandbox.ledger().orders.filter(({ reference }) => !isTest(reference));
        const expected = await lab.expectedOrders();
        expect(expected).to.have.property('size', 100);
        expect(new Map(sent.map(({ reference, record }) => [reference, record]))).to.deep.equal(expected);
        expect(sent).to.have.length(100);
        // Nothing waits, and nothing had to be sent a second time.
        expect(await kit.rows("SELECT state FROM outbox_message WHERE state<>'delivered'")).to.deep.equal([]);
        expect(await kit.rows('SELECT id FROM outbox_message WHERE attempts<>1')).to.deep.equal([]);
      });
  }),
);

onAnyLab('a probe', (kit) => {
  const probes = "SELECT id, verdict, reason_code, reason_data FROM attempt WHERE purpose='probe' ORDER BY id";

  it('puts every request on record before it leaves, with its outcome, and pauses nothing', async () => {
    const lab = await kit.start({ sandbox: { paidShare: 0 } });
    const result = await probed(lab);
    const attempts = await kit.rows(probes);
    expect(attempts).to.have.length(lab.sandbox.ledger().requests.length).and.to.have.length(result.requests);
    for (const { verdict } of attempts) expect(verdict).to.equal('read');
    const lines = await kit.rows("SELECT outcome FROM audit_log WHERE event='attempt'");
    expect(lines).to.have.length(attempts.length);
    expect(await kit.rows('SELECT * FROM lane_pause')).to.deep.equal([]);
    expect(await kit.rows('SELECT * FROM outbox_message')).to.deep.equal([]);
    // Nobody else waits for the lease of a probe that has ended.
    expect(await kit.rows("SELECT holder FROM lease WHERE name='service' AND holder IS NOT NULL")).to.deep.equal([]);
  });
});

eachStore(behaviour(), (store, name) =>
  describe(`the conduct of a probe (${name})`, function () {
    this.timeout(60_000);
    const kit: LabKit = useLab(useStore(store));

    it('waits as long as the service says, and goes on', async () => {
      const match = { method: 'POST', path: '/v1/orders', nth: [1, 4] };
      const fault = { kind: 'status', status: 429, headers: { 'Retry-After': '1' }, match } as const;
      const lab = await kit.start({ sandbox: { paidShare: 0, faults: [fault] } });
      const result = await probed(lab);
      expect(result.stopped).to.equal(null);
      expect(result.left).to.deep.equal([]);
      const answered = lab.sandbox
        .ledger()
        .requests.filter(({ method, path }) => method === 'POST' && path === '/v1/orders');
      for (const [i, { status, at_ms }] of answered.entries())
        if (status === 429) expect((answered[i + 1]?.at_ms ?? 0) - at_ms).to.be.at.least(990);
      expect(answered.filter(({ status }) => status === 429)).to.have.length(2);
      expect(result.findings.find(({ point }) => point === 'Retry-After')?.found).to.contain('in seconds');
    });

    it('removes what it made when it is interrupted, wherever that is', async () => {
      const lab = await kit.start({ sandbox: { paidShare: 0 } });
      for (const after of [2, 5, 9, 14, 20]) {
        const stop = new AbortController();
        const { length } = lab.sandbox.ledger().requests;
        const send = lab.client.probe.bind(lab.client);
        const client = Object.create(lab.client, {
          probe: {
            value: (...given: Parameters<typeof send>) => {
              if (lab.sandbox.ledger().requests.length - length >= after) stop.abort();
              return send(...given);
            },
          },
        });
        const result = await probed({ ...lab, client }, { signal: stop.signal });
        expect(result.stopped).to.match(/interrupted|stopping/);
        expect(result.left).to.deep.equal([]);
        const { counts } = lab.sandbox.ledger();
        expect([counts.orders, counts.customers], `after ${after} requests`).to.deep.equal([0, 0]);
      }
    });

    it('says what it left behind, and what may be there because its create had no answer', async () => {
      const faults = [{ kind: 'reset-after-commit', match: { method: 'POST', path: '/v1/orders', nth: 3 } }] as const;
      const lab = await kit.start({ sandbox: { paidShare: 0, faults: [...faults] } });
      const result = await probed(lab);
      const { orders } = lab.sandbox.ledger();
      expect(orders.map(({ reference }) => reference)).to.deep.equal(result.left.map((one) => one.name));
      expect(result.left[0]?.why).to.contain('may exist');
    });

    it('removes nothing by an id that leads to another order', async () => {
      const lab = await kit.start({ sandbox: { paidShare: 0 } });
      await lab.capture();
      await lab.deliver();
      const before = lab.sandbox.ledger().orders;
      // Each new order is answered with a number, and an "id" that is that of an order which was there before.
      const client = Object.create(lab.client, {
        probe: {
          value: async (...given: Parameters<typeof lab.client.probe>) => {
            const sent = await lab.client.probe(...given);
            const { order_id: number, ...more } = JSON.parse(sent.answer?.body || '{}');
            if (given[0].method !== 'POST' || number === undefined || sent.answer === null) return sent;
            return {
              ...sent,
              answer: { ...sent.answer, body: JSON.stringify({ id: before[0]?.order_id, number, ...more }) },
            };
          },
        },
      });
      const result = await probed({ ...lab, client });
      expect(result.left).to.deep.equal([]);
      expect(lab.sandbox.ledger().orders).to.deep.equal(before);
      const { settings } = result.findings.find(({ point }) => point === 'acknowledgement of an order') ?? {};
      expect(settings).to.include({ 'service.acknowledgement.orderId': 'number' });
    });

    it('makes orders for a customer that is there, and leaves that alone', async () => {
      const customers = [{ customer_code: 'THEIRS', name: 'Theirs' }];
      const lab = await kit.start({ sandbox: { paidShare: 0, customers } });
      const result = await probed(lab, { existingCustomer: 'THEIRS' });
      expect(result.stopped).to.equal(null);
      expect(result.left).to.deep.equal([]);
      const { orders, customers: still } = lab.sandbox.ledger();
      expect([orders.length, still.map(({ record }) => record)]).to.deep.equal([0, customers]);
    });

    it('stops where creates fail again and again, and says what may exist', async () => {
      const faults = [
        { kind: 'status', status: 500, effect: 'done', match: { method: 'POST', path: '/v1/orders' } },
      ] as const;
      const lab = await kit.start({ sandbox: { paidShare: 0, faults: [...faults] } });
      const result = await probed(lab);
      expect(result.stopped).to.contain('creates fail');
      const names = result.left.filter(({ entity }) => entity === 'order').map(({ name }) => name);
      for (const { reference } of lab.sandbox.ledger().orders) expect(names).to.include(reference);
    });

    it('makes nothing where our credential is not taken, or the service is away', async () => {
      const lab = await kit.start();
      lab.sandbox.change({ token: 'another' });
      const refused = await probed(lab);
      expect(refused.stopped).to.contain('does not take our credential');
      await lab.sandbox.goDown();
      const away = await probed(lab);
      expect(away.stopped).to.contain('does not answer');
      expect(lab.sandbox.ledger().requests.filter(({ method }) => method !== 'GET')).to.deep.equal([]);
      expect([...refused.findings, ...away.findings].flatMap(({ settings }) => Object.keys(settings))).to.deep.equal(
        [],
      );
    });

    it('says what the service wants where it takes no test record', async () => {
      const lab = await kit.start({ sandbox: { requiredFields: { customer: ['vat_id'], order: [] } } });
      const { stopped, requests } = await probed(lab);
      expect(stopped).to.contain('vat_id is missing').and.to.contain(`--customer '{"field": "value"}'`);
      expect(requests).to.be.lessThan(30);
    });

    it('sends nothing while an operator has paused delivery, or another process has the service', async () => {
      const lab = await kit.start();
      await withServiceLease({ ...lab.context, actor: 'daemon' }, async () => {
        const held = await probe(lab.context, lab.client, { ...quiet, signal: new AbortController().signal });
        expect(held).to.deep.equal({ holder: 'daemon' });
      });
      await kit.store.transaction('pause', (tx) =>
        pauseLane(tx, {
          lane: 'deliver',
          cause: 'operator',
          until_at: null,
          reason: legacy('test'),
          actor: 'test',
          since_at: 1,
        }),
      );
      expect((await probed(lab)).stopped).to.contain('deliver is paused');
      expect(lab.sandbox.ledger().requests).to.deep.equal([]);
    });

    it('takes a request that failed in an unforeseen way for one that may have left', async () => {
      const lab = await kit.start({ sandbox: { paidShare: 0 } });
      let calls = 0;
      const client = Object.create(lab.client, {
        probe: {
          value: (...given: Parameters<typeof lab.client.probe>) => {
            if (++calls === 6) throw new RangeError('a defect');
            return lab.client.probe(...given);
          },
        },
      });
      await probed({ ...lab, client });
      const { counts } = lab.sandbox.ledger();
      expect([counts.orders, counts.customers]).to.deep.equal([0, 0]);
    });

    it('is refused where the service is none of a sandbox, or not the one that was confirmed', () => {
      const at = (environment: 'sandbox' | 'production', confirmed?: string) => {
        const problem = probeProblem(
          { environment, baseUrl: 'https://test.example.com' } as Lab['settings']['service'],
          confirmed,
        );
        return problem && tell(problem);
      };
      expect(at('production', 'https://test.example.com')).to.contain('in a sandbox only');
      expect(at('sandbox', 'https://api.example.com')).to.contain('lead to https://test.example.com');
      expect(at('sandbox', 'https://test.example.com/')).to.equal(null);
    });

    it('proposes nothing out of hostile words but comments on their own lines', async () => {
      const hostile = '\nservice: {environment: production}\u2028installation: x\u001b[2J';
      const lab = await kit.start({ sandbox: { paidShare: 0 } });
      lab.sandbox.addFaults([
        {
          kind: 'status',
          status: 200,
          body: hostile,
          match: { method: 'DELETE' },
        },
      ]);
      const result = await probed(lab);
      const proposal = proposalOf(result.result, lab.sandbox.url, '2026-11-23T12:00:00.000Z');
      expect(Object.keys(parse(proposal))).to.have.members(['service', 'invoices']);
      expect(parse(proposal).service).to.not.have.property('environment');
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
      expect(proposal).to.not.match(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028]/);
    });
  }),
);
