import { join } from 'node:path';
import { expect } from 'chai';
import { createSampleErp } from '../../src/lab/sample-erp/create-sample-erp.js';
import { storesFor } from '../store/stores.js';
import { type SlowService, slowLookUp, startSlowService } from '../support/slow-service.js';
import { useTempDir } from '../support/temp-dir.js';
import { usePostgres } from '../support/use-database.js';
import { type Daemon, eventually, Installation, storeIn } from './installation.js';

const orders = 12;
const maxProcessingSeconds = 8;

describe('a daemon that is killed while a slow service without keys works on its orders', function () {
  this.timeout(120_000);
  const dir = useTempDir();
  const stores = storesFor({ usual: ['sqlite'], possible: ['sqlite', 'postgres'] });
  const postgres = stores.includes('postgres') ? usePostgres() : null;
  let service: SlowService;
  let daemon: Daemon | null = null;

  beforeEach(async () => {
    service = await startSlowService(() => 'held');
  });
  afterEach(async () => {
    daemon?.kill('SIGKILL');
    await daemon?.ended;
    daemon = null;
    await service.close();
  });

  for (const type of stores)
    it(`makes each of ${orders} orders once, with a store on ${type}`, async () => {
      const folder = join(dir.path, type);
      const erp = join(dir.path, `${type}.sqlite`);
      await createSampleErp({ target: { type: 'sqlite', file: erp }, customers: 3, orders });
      const waybill = new Installation({
        folder,
        serviceUrl: service.url,
        erp: { type: 'sqlite', file: erp },
        store: storeIn(type, postgres?.database),
        settings: {
          schedule: { capture: '*/2 * * * * *' },
          invoices: { enabled: false },
          service: {
            environment: 'sandbox',
            baseUrl: service.url,
            maxProcessingSeconds,
            idempotency: { lifetimeHours: undefined },
            endpoints: { lookUpOrder: slowLookUp },
          },
        },
      });
      daemon = waybill.daemon();
      await eventually('all orders are under way', () => service.underWay === orders);
      daemon.kill('SIGKILL');
      await daemon.ended;

      daemon = waybill.daemon();
      await eventually('the next one asks for all of them', () => {
        const asked = service.requests.filter(({ method }) => method === 'GET');
        return new Set(asked.map(({ note }) => note)).size === orders;
      });
      expect(service.underWay, 'only those of the first daemon').to.equal(orders);
      service.fateOf = () => ({ afterMs: 0 });
      service.release();
      const waits = /Looked up again *12 records that may have arrived, until 20/;
      await eventually('status says until when they wait', async () =>
        waits.test((await waybill.run('status')).stdout),
      );

      await eventually(
        'all are delivered',
        async () => {
          if (service.orders.length < orders) return false;
          const { stdout } = await waybill.run('outbox', '--state', 'in_doubt', '--json');
          return (JSON.parse(stdout).messages ?? JSON.parse(stdout)).length === 0;
        },
        60_000,
      );
      const notes = service.orders.map(({ note }) => note);
      expect(notes).to.have.length(orders);
      expect(new Set(notes).size).to.equal(orders);
    });
});
