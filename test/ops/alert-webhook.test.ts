import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { postAlert } from '../../src/ops/alert-webhook.js';

describe('a webhook that is told of alerts', () => {
  let server: Server;
  let url: string;
  let answer: (reply: ServerResponse) => void;
  const heard: { method: string | undefined; path: string | undefined; body: unknown }[] = [];

  beforeEach(async () => {
    heard.length = 0;
    answer = (reply) => reply.writeHead(204).end();
    server = createServer(async (request, reply) => {
      let body = '';
      for await (const part of request.setEncoding('utf8')) body += part;
      heard.push({ method: request.method, path: request.url, body: JSON.parse(body) });
      answer(reply);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook-that-is-secret`;
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  const notice = { cause: 'parked', message: '3 parked', state: 'raised', installation: 'office', details: { n: 3 } };
  const post = (more: object = {}, timeoutMs = 5_000, signal?: AbortSignal) =>
    postAlert({ url, timeoutMs, secrets: ['hush-hush-hush'] }, { ...notice, ...more }, signal);
  const failure = (posted: Promise<void>) =>
    posted.then(
      () => 'none',
      (error: Error) => error.message,
    );

  it('gets the notice as JSON, and its end, with a text for chats', async () => {
    await post();
    await post({ state: 'over' });
    expect(heard).to.deep.equal([
      { method: 'POST', path: '/hook-that-is-secret', body: { ...notice, text: '3 parked (office)' } },
      {
        method: 'POST',
        path: '/hook-that-is-secret',
        body: { ...notice, state: 'over', text: 'Over: 3 parked (office)' },
      },
    ]);
  });

  it('gets no secret, and no character that turns a text', async () => {
    await post({ message: 'token hush-hush-hush \u202e' });
    expect(JSON.stringify(heard)).not.to.match(/hush-hush|\u202e/);
  });

  it('has failed when it answers anything but 2xx, leads elsewhere, says nothing or is not there; the address is named nowhere', async () => {
    const said: string[] = [];
    answer = (reply) => reply.writeHead(500).end('no');
    said.push(await failure(post()));
    answer = (reply) => reply.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
    said.push(await failure(post()));
    answer = () => undefined;
    said.push(await failure(post({}, 50)));
    said.push(await failure(post({}, 5_000, AbortSignal.abort())));
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    said.push(await failure(post()));
    const host = new URL(url).host;
    expect(said).to.deep.equal(
      [
        'answered HTTP 500',
        'can not be reached',
        'did not answer within 0.05 s',
        'was stopped, because Waybill stops',
        'can not be reached',
      ].map((why) => `The alert webhook at ${host} ${why}`),
    );
  });
});
