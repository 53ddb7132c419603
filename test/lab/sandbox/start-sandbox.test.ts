import http from 'node:http';
import net from 'node:net';
import { expect } from 'chai';
import { startSandbox } from '../../../src/lab/sandbox/start-sandbox.js';
import { addCustomer, anOrder, ask } from './ask.js';

describe('sandbox: start, stop, time', () => {
  it('closes promptly with requests that hang, trickle and wait', async () => {
    const sandbox = await startSandbox({ delayAfterMs: 0 });
    sandbox.setFaults([
      { kind: 'hang', match: { nth: 1 } },
      { kind: 'trickle', intervalMs: 10_000, match: { nth: 2 } },
      { kind: 'delay', ms: 60_000, match: { nth: 3 } },
    ]);
    const asked = [1, 2, 3].map(() => ask(sandbox, 'GET', '/v2/invoices').catch(() => 'broken'));
    while (sandbox.counts().requests < 3) await new Promise((resolve) => setTimeout(resolve, 5));
    await sandbox.close();
    expect(await Promise.all(asked)).to.eql(['broken', 'broken', 'broken']);
    await sandbox.close();
  });

  it('never handles what was still on its way when it went down', async () => {
    const sandbox = await startSandbox({ delayBeforeMs: 150 });
    const asked = ask(sandbox, 'GET', '/v2/invoices').catch(() => 'broken');
    await new Promise((resolve) => setTimeout(resolve, 75));
    await sandbox.goDown();
    expect(await asked).to.equal('broken');
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(sandbox.counts().requests).to.equal(0);
    await sandbox.close();
  });

  it('goes down and comes back on the same port with all that it knew', async () => {
    const sandbox = await startSandbox();
    await addCustomer(sandbox);
    const first = await ask(sandbox, 'POST', '/v1/orders', { key: 'k', body: anOrder('N1') });
    await sandbox.goDown();
    // On a connection of its own: one from fetch's pool would break in another way.
    const failure = await new Promise<NodeJS.ErrnoException>((resolve) => {
      net.connect(sandbox.port, '127.0.0.1').once('error', resolve);
    });
    expect(failure.code).to.equal('ECONNREFUSED');
    await sandbox.comeBack();
    const again = await ask(sandbox, 'POST', '/v1/orders', { key: 'k', body: anOrder('N1') });
    expect(again.json).to.eql(first.json);
    await sandbox.close();
  });

  it('listens on loopback only, on the port asked for', async () => {
    const first = await startSandbox();
    const { port } = first;
    await first.close();
    const second = await startSandbox({ port });
    expect(second.url).to.equal(`http://127.0.0.1:${port}`);
    const taken = await startSandbox({ port }).then(
      () => null,
      (error: NodeJS.ErrnoException) => error,
    );
    expect(taken?.code).to.equal('EADDRINUSE');
    await second.close();
  });

  it('refuses faults and limits that make no sense at the start', async () => {
    const failed = async (options: Parameters<typeof startSandbox>[0]) =>
      startSandbox(options).then(
        () => null,
        (error: Error) => error.message,
      );
    expect(await failed({ limits: [{ requests: 0, windowMs: 1 }] })).to.match(/limit/i);
    expect(await failed({ faults: [{ kind: 'hang', times: 0 }] })).to.match(/times/);
  });

  it('delays before counting and after the effect', async () => {
    const sandbox = await startSandbox({ delayBeforeMs: 60, delayAfterMs: [40, 50] });
    const startedAtMs = performance.now();
    await ask(sandbox, 'GET', '/v2/invoices');
    expect(performance.now() - startedAtMs).to.be.at.least(98);
    const request = sandbox.ledger().requests[0];
    expect((request?.at_ms ?? 0) - (request?.received_at_ms ?? 0)).to.be.at.least(58);
    expect((request?.answered_at_ms ?? 0) - (request?.at_ms ?? 0)).to.be.at.least(38);
    await sandbox.close();
  });

  it('splits a total delay at random between the two', async () => {
    let drawn: number[] = [];
    const sandbox = await startSandbox({ delayMs: [100, 300], random: () => drawn.shift() ?? 0 });
    // 200 ms in all, a quarter of it before.
    drawn = [0.5, 0.25];
    await ask(sandbox, 'GET', '/v2/invoices');
    const request = sandbox.ledger().requests[0];
    expect((request?.at_ms ?? 0) - (request?.received_at_ms ?? 0)).to.be.at.least(48);
    expect((request?.answered_at_ms ?? 0) - (request?.at_ms ?? 0)).to.be.at.least(148);
    await sandbox.close();
  });

  it('keeps connections alive under thousands of orders', async () => {
    const sandbox = await startSandbox({ nowMs: Date.now });
    await addCustomer(sandbox);
    const agent = new http.Agent({ keepAlive: true, maxSockets: 16 });
    const ports = new Set<number | undefined>();
    const send = (n: number) =>
      new Promise<void>((resolve, reject) => {
        const request = http.request(
          `${sandbox.url}/v1/orders`,
          {
            method: 'POST',
            agent,
            headers: {
              authorization: 'Bearer sandbox-token',
              'content-type': 'application/json',
              'idempotency-key': `k${n}`,
            },
          },
          (response) => {
            ports.add(response.socket.localPort);
            response.resume().on('end', resolve);
          },
        );
        request.on('error', reject);
        request.end(JSON.stringify(anOrder(`N${n}`)));
      });
    const count = 2000;
    let next = 0;
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        while (next < count) await send(next++);
      }),
    );
    expect(sandbox.counts()).to.include({ orders: count, duplicateReferences: 0 });
    expect(ports.size).to.be.at.most(16);
    agent.destroy();
    await sandbox.close();
  });
});
