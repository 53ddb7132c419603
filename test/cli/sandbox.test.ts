import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect } from 'chai';
import { run } from '../../src/cli/run.js';
import { capturingOutput } from './installation.js';

describe('waybill sandbox', () => {
  it('says which port it can not have, and to name another one', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    try {
      const taken = (other.address() as AddressInfo).port;
      for (const [port, what] of [
        [taken, 'Another program listens on'],
        [80_000, 'This account can not listen on'],
      ] as const)
        expect(await capturingOutput(() => run(['node', 'waybill', 'sandbox', '--port', String(port)]))).to.include({
          code: 2,
          stderr: `waybill: ${what} port ${port}. Name another one, such as --port 8081.\n`,
        });
    } finally {
      other.close();
    }
  });
});
