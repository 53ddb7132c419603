import { once } from 'node:events';
import { get } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { appendAudit } from '../../src/audit/audit-log.js';
import { lastAuditId } from '../../src/audit/read-audit.js';
import { Live } from '../../src/desk/live.js';
import { onAnyStore } from '../store/stores.js';
import { useLab } from '../support/jobs/job-lab.js';
import { ask, Browser, deskSettings, openDesk, tokens } from './desk-client.js';

onAnyStore('open pages of the desk', (kit) => {
  if (kit.dialect !== 'sqlite') return;
  const labs = useLab(kit);

  it('are told how much is on record since each was made, until they are closed', async () => {
    const { context } = await labs.start({ customers: 1, orders: 1 });
    const write = (count: number) =>
      context.store.transaction('write', (tx) =>
        appendAudit(tx, Array(count).fill({ event: 'desk', outcome: 'test', actor: 'a' }), 1),
      );
    await write(3);
    const since = await context.store.read('read', lastAuditId);
    const live = new Live(context, (ms) => `at ${typeof ms}`);
    const [early, late] = [new PassThrough(), new PassThrough()];
    expect(live.add(early, since - 2)).to.equal(true);
    await once(early, 'readable');
    expect(live.add(late, since)).to.equal(true);
    await write(1_200);
    await live.tell();
    const last = (stream: PassThrough) => JSON.parse(String(stream.read()).trim().split('\n').at(-1)?.slice(6) ?? '');
    expect(last(early)).to.deep.equal({ count: 1_000, isMore: true, at: 'at number' });
    live.close();
    expect([early.writableEnded, late.writableEnded]).to.deep.equal([true, true]);
    // Without an open page, nothing is read.
    await new Live({ ...context, store: null as never }, String).tell();
  });

  it('are refused beyond so many', async () => {
    const { context } = await labs.start({ customers: 1, orders: 1 });
    const live = new Live(context, String);
    const answers = Array.from({ length: 70 }, () => live.add(new PassThrough(), 0));
    expect(answers.filter(Boolean)).to.have.length(64);
    live.close();
  });

  it('have none of their places taken by requests for a head alone', async () => {
    const lab = await labs.start({ customers: 1, orders: 1, settings: await deskSettings(kit.folder) });
    const desk = await openDesk(lab);
    const headers = { authorization: `Bearer ${tokens.read}` };
    for (let n = 0; n < 65; n++)
      expect((await ask(`${desk.url}live?since=0`, { method: 'HEAD', headers })).status).to.equal(404);
    expect((await ask(`${desk.url}audit.csv`, { method: 'HEAD', headers })).status).to.equal(404);
    expect((await ask(`${desk.url}healthz`, { method: 'HEAD' })).status).to.equal(200);
    await desk.close();
  });

  it('are told by a stream that belongs to people who signed in, and ends with the desk', async () => {
    const lab = await labs.start({ customers: 1, orders: 1, settings: await deskSettings(kit.folder) });
    const desk = await openDesk(lab);
    const rita = new Browser(desk.url);
    expect((await rita.open('live?since=0')).status).to.equal(303);
    await rita.signIn('rita');
    expect((await rita.open('live?since=x')).status).to.equal(400);
    const asked = get(`${desk.url}live?since=0`, { headers: rita.headers });
    const [answer] = await once(asked, 'response');
    expect(answer.headers['content-type']).to.equal('text/event-stream');
    expect(answer.headers['content-security-policy']).to.contain("default-src 'none'");
    let text = '';
    for await (const part of answer.setEncoding('utf8')) {
      text += part;
      if (text.includes('data:')) break;
    }
    expect(text).to.match(/data: \{"count":[1-9]/);
    asked.destroy();
    await desk.close();
  });
});
