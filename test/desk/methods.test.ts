import { connect } from 'node:net';
import { expect } from 'chai';
import { onAnyStore } from '../store/stores.js';
import { useLab } from '../support/jobs/job-lab.js';
import { deskSettings, openDesk, tokens } from './desk-client.js';

/** Sends just these bytes on a connection of their own. @returns all that comes back */
function sendRaw(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(Number(port), hostname, () => socket.write(text));
    socket.setEncoding('latin1').on('data', (part) => {
      answer += part;
    });
    socket.on('error', reject).on('end', () => resolve(answer));
  });
}

onAnyStore('routes', (kit) => {
  if (kit.dialect !== 'sqlite') return;
  const labs = useLab(kit);

  it('of the desk are opened by no other method, spelling of a path or header that names a method', async () => {
    const desk = await openDesk(
      await labs.start({ customers: 1, orders: 1, settings: await deskSettings(kit.folder) }),
    );
    const { host } = new URL(desk.url);
    const reader = `Authorization: Bearer ${tokens.read}\r\n`;
    const statusOf = async (line: string, headers = '') =>
      Number(
        (await sendRaw(desk.url, `${line} HTTP/1.1\r\nHost: ${host}\r\n${headers}Connection: close\r\n\r\n`)).slice(
          9,
          12,
        ),
      );
    for (const path of [
      '/%6futbox',
      '/./outbox',
      '//outbox',
      '/outbox/',
      '/OUTBOX',
      '/outbox%2f',
      '/x/../outbox',
      'http://evil.example/outbox',
    ])
      expect(await statusOf(`GET ${path}`), path).to.equal(401);
    for (const method of ['HEAD', 'OPTIONS', 'TRACE', 'PUT', 'PATCH', 'DELETE', 'QUERY'])
      for (const path of ['/outbox', '/act/1', '/metrics'])
        expect(await statusOf(`${method} ${path}`), `${method} ${path}`).to.be.oneOf([401, 403]);
    const override = `X-HTTP-Method-Override: POST\r\nX-HTTP-Method: POST\r\n${reader}`;
    for (const line of ['HEAD /act?action=discard&state=parked', 'GET /%61ct/1?_method=POST', 'GET /act/1'])
      expect(await statusOf(line, override), line).to.equal(403);
    for (const method of ['PUT', 'PATCH', 'DELETE']) expect(await statusOf(`${method} /act/1`, reader)).to.equal(404);
    await desk.close();
  });
});
