import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { expect } from 'chai';
import { useStore } from '../../store/stores.js';
import { useLab } from '../../support/jobs/job-lab.js';
import { statesOf } from '../../support/jobs/service-of.js';

describe('a gateway that sends one answer twice', () => {
  const kit = useLab(useStore('sqlite'));
  let gateway: Server;
  let service: URL;
  let doubled = 0;

  beforeEach(async () => {
    doubled = 0;
    gateway = createServer((client) => {
      const onward = connect(Number(service.port), service.hostname);
      let isOrder = false;
      client.on('data', (bytes) => {
        isOrder ||= /^POST \S*orders/.test(bytes.toString('latin1'));
        onward.write(bytes);
      });
      onward.on('data', (bytes) => {
        client.write(bytes);
        // When the next request is on its way: what comes before that is noticed by the client itself.
        if (isOrder && doubled++ === 0) client.once('data', () => client.write(bytes));
      });
      for (const [one, other] of [
        [client, onward],
        [onward, client],
      ] as const) {
        one.on('error', () => undefined);
        one.on('close', () => other.destroy());
      }
    }).listen(0, '127.0.0.1');
    await once(gateway, 'listening');
  });
  afterEach(() => void gateway.close());

  it('has the order that reads it parked, and no other take it for its own', async () => {
    const baseUrl = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
    const lab = await kit.start({ customers: 3, orders: 12, settings: { service: { baseUrl, concurrency: 1 } } });
    service = new URL(lab.sandbox.url);
    await lab.capture();
    await lab.deliver();
    expect(doubled).to.be.above(1);
    expect(await statesOf(kit)).to.deep.equal({ delivered: 14, parked: 1 });
    const bound = await kit.rows(
      "SELECT m.number, b.service_id FROM binding b JOIN outbox_message m ON m.entity=b.entity AND m.source_key=b.source_key WHERE b.entity='order'",
    );
    const numbers = new Map(lab.sandbox.ledger().orders.map(({ order_id: id, reference }) => [id, reference]));
    expect(bound).to.have.length(11);
    for (const { number, service_id: id } of bound) expect(numbers.get(id)).to.equal(number);
  });
});
