import { expect } from 'chai';
import type { EndpointNotice } from '../../src/service/endpoint-lifecycle.js';
import { answerTo, headerCases } from './contract/header-cases.js';
import { malformedAnswers } from './contract/malformed-answers.js';
import { settingCases } from './contract/setting-cases.js';
import { verdictCases } from './contract/verdict-cases.js';
import { runOnWire } from './contract/wire-case.js';
import { Clients, sending } from './wire-client.js';
import { NockLab, SocketLab, type WireLab } from './wire-lab.js';

for (const [wire, makeLab] of [
  ['within Node (nock)', () => new NockLab()],
  ['over sockets', () => new SocketLab()],
] as [string, () => WireLab][])
  describe(`the contract with a service, ${wire}`, () => {
    let lab: WireLab;
    const clients = new Clients();
    before(async () => {
      lab = makeLab();
      clients.openClient = lab.openClient;
      await lab.open();
    });
    afterEach(() => clients.closeAll());
    after(() => lab.close());

    describe('obeys', () => {
      for (const one of settingCases)
        it(`${one.setting}, and does otherwise without it`, async () => {
          const run = await runOnWire(lab, clients, one);
          expect(one.observe(run)).to.deep.equal(one.expected);
          const usual = await runOnWire(lab, clients, { ...one, service: one.usual ?? {} });
          expect(one.observe(usual)).to.not.deep.equal(one.expected);
        });
    });

    describe('gives a verdict on', () => {
      for (const { row, title, verdict, replies, service = {}, send = {}, requests = 1 } of verdictCases)
        it(`${row} (${title}): ${verdict}`, async () => {
          const run = await runOnWire(lab, clients, { service, replies, send });
          expect(run.sent.verdict.kind).to.equal(verdict);
          expect(run.requests).to.have.length(requests);
        });
    });

    describe('heeds', () => {
      for (const one of headerCases)
        it(`${one.header}, ${one.form}, with ${one.status}`, async () => {
          const notices: EndpointNotice[] = [];
          const client = clients.at(lab.url, {}, 0, { onEndpointNotice: (notice) => notices.push(notice) });
          lab.script(answerTo(one, Date.now()));
          let sent = await client.send(sending());
          for (let i = 1; i < (one.times ?? 1); i++) sent = await client.send(sending());
          expect(one.observe({ sent, usedUp: client.rateLimiter.usedUp, notices })).to.deep.equal(one.expected);
        });
    });

    describe('survives', () => {
      for (const [title, reply, kind] of malformedAnswers)
        it(`${title}: ${kind}, and sent once`, async () => {
          const { sent, requests } = await runOnWire(lab, clients, { service: {}, replies: [reply] });
          expect(sent.verdict.kind).to.equal(kind);
          expect(requests).to.have.length(1);
        });
    });
  });
