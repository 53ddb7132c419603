import { expect } from 'chai';
import { mysqlTransport } from '../../src/model/mysql-transport.js';

describe('the way to a MySQL or MariaDB server', () => {
  it('is secure, unless the server is this machine or the settings say otherwise', () => {
    const isSecure = (host: string, mode?: 'required' | 'off') =>
      'ssl' in mysqlTransport({ host, port: 3306, tls: { mode } });
    for (const host of ['127.0.0.1', '127.8.8.8', 'localhost', 'db.localhost', '::1'])
      expect(isSecure(host), host).to.equal(false);
    for (const host of ['erp.example.test', '192.0.2.7', '2001:db8::1', 'localhost.example.test'])
      expect(isSecure(host), host).to.equal(true);
    expect(isSecure('erp.example.test', 'off')).to.equal(false);
    expect(isSecure('localhost', 'required')).to.equal(true);
    expect('ssl' in mysqlTransport({ host: 'erp.example.test', port: 3306 })).to.equal(true);
  });
});
