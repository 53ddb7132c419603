import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect } from 'chai';
import { mysqlOptions } from '../../src/db/mysql/options.js';
import { postgresOptions } from '../../src/db/postgres/options.js';
import { socketForDriver } from '../../src/db/server.js';
import type { DatabasePlace } from '../../src/model/database-place.js';

for (const [kind, isSecureTo] of [
  ['MySQL or MariaDB', (place: DatabasePlace) => 'ssl' in mysqlOptions({ ...place, database: 'erp' })],
  ['PostgreSQL', (place: DatabasePlace) => postgresOptions({ ...place, database: 'erp' }).ssl !== false],
] as const)
  describe(`the way to a ${kind} server`, () => {
    it('is secure, unless the server is this machine or the settings say otherwise', () => {
      const isSecure = (host: string, mode?: 'required' | 'off') => isSecureTo({ host, port: 1, tls: { mode } });
      for (const host of ['127.0.0.1', '127.8.8.8', 'localhost', 'db.localhost', '::1', '/var/run/postgresql'])
        expect(isSecure(host), host).to.equal(false);
      for (const host of ['erp.example.test', '192.0.2.7', '2001:db8::1', 'localhost.example.test'])
        expect(isSecure(host), host).to.equal(true);
      expect(isSecure('erp.example.test', 'off')).to.equal(false);
      expect(isSecure('localhost', 'required')).to.equal(true);
      expect(isSecureTo({ host: 'erp.example.test', port: 1 })).to.equal(true);
    });
  });

describe('the socket of a driver', () => {
  it('closes once the driver has ended it, although a frozen server never ends its side', async () => {
    const frozen = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
    await once(frozen, 'listening');
    const [[serverSide]] = await Promise.all([
      once(frozen, 'connection'),
      (async () => {
        const socket = socketForDriver().connect((frozen.address() as AddressInfo).port, '127.0.0.1');
        await once(socket, 'connect');
        socket.end();
        await once(socket, 'close');
      })(),
    ]);
    serverSide.destroy();
    frozen.close();
  });
});
