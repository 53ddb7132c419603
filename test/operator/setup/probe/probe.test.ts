import { expect } from 'chai';
import { parse } from 'yaml';
import { type ProbeOptions, type ProbeResult, probe } from '../../../../src/operator/setup/probe/probe.js';
import { proposalOf } from '../../../../src/operator/setup/probe/proposal.js';
import { eachStore, useStore } from '../../../store/stores.js';
import { type Lab, type LabKit, useLab } from '../../../support/jobs/job-lab.js';
import type { Tree } from '../../../support/merge-settings.js';
import { services } from './sandboxes.js';

export async function probed(lab: Lab, options: Partial<ProbeOptions> = {}): Promise<ProbeResult> {
  const result = await probe(lab.context, lab.client, {
    prefix: 'WAYBILL-PROBE',
    customer: {},
    order: {},
    headers: [],
    fields: [],
    signal: new AbortController().signal,
    ...options,
  });
  if ('holder' in result) throw new Error(`${result.holder} has the lease`);
  return result;
}

/** What no probe can find out. */
const everUnknown = ['lifetime of a key'];

eachStore(['sqlite'], (store, name) =>
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

        const result = await probed(lab, service.options);
        const proposal = proposalOf(result, lab.sandbox.url, '2026-11-23T12:00:00.000Z');
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
