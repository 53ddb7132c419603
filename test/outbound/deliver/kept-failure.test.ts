import { expect } from 'chai';
import { actOnMessages, planAction } from '../../../src/operator/actions/message-actions.js';
import { mostAbsences } from '../../../src/outbound/deliver/settle-look-ups.js';
import { onAnyLab } from '../../support/jobs/job-lab.js';
import { type SlowService, slowLookUp, startSlowService } from '../../support/slow-service.js';
import { waitFor } from '../../support/wait-for.js';

const maxProcessingSeconds = 1;
/** Tries in a row before a create is looked up. */
const triesInARow = 5;

onAnyLab('a service that keeps its failure with the key', (kit) => {
  let service: SlowService;
  beforeEach(async () => {
    service = await startSlowService(() => ({ afterMs: 0 }));
  });
  afterEach(() => service.close());

  const start = async (absenceProves = true) => {
    const lab = await kit.start({
      customers: 1,
      orders: 3,
      settings: {
        delivery: { backoffBaseSeconds: 0.02, backoffMaxSeconds: 0.05, outageAfterFailures: 1_000 },
        service: {
          baseUrl: service.url,
          maxProcessingSeconds,
          idempotency: { lifetimeHours: 24 },
          endpoints: { lookUpOrder: { ...slowLookUp, absenceProves } },
        },
      },
    });
    const [failing, later] = [...(await lab.expectedOrders()).keys()].sort() as [string, string];
    await lab.changeErp("UPDATE sales_orders SET status='draft' WHERE order_no=?", [later]);
    await lab.capture();
    return { lab, failing, later };
  };
  const posts = (number: string) => service.requests.filter((one) => one.method === 'POST' && one.note === number);
  const stateOf = async (number: string) =>
    (await kit.rows('SELECT * FROM outbox_message WHERE number=?', [number]))[0];

  it('is asked for a create that it made, and answers with a failure at each try', async () => {
    const { lab, failing } = await start();
    service.fateOf = (note) => (note === failing ? 'made and failed' : { afterMs: 0 });
    await lab.deliver({ retryHorizonMs: 5_000 });
    expect(posts(failing)).to.have.length(triesInARow);
    expect(await stateOf(failing)).to.include({ state: 'delivered' });
    expect(service.orders.filter(({ note }) => note === failing)).to.have.length(1);
  });

  for (const absenceProves of [true, false])
    it(`gets a create that it never made under its key only, then it waits for a person, whose word brings a new key (${absenceProves ? 'absence proves' : 'absence proves nothing'})`, async () => {
      const { lab, failing, later } = await start(absenceProves);
      let dead: string | undefined;
      service.fateOf = (note, key) => {
        if (note !== failing) return { afterMs: 0 };
        dead ??= key;
        return key === dead ? 'failure' : { afterMs: 0 };
      };
      const delivering = lab.deliver({ retryHorizonMs: 25_000 });
      await waitFor('it has failed as often as may be', () => posts(failing).length > mostAbsences * triesInARow);
      expect(await stateOf(failing), 'nobody can say yet that the service takes others').to.include({
        park_class: null,
      });
      await lab.changeErp("UPDATE sales_orders SET status='confirmed' WHERE order_no=?", [later]);
      await lab.capture({ sweep: true });
      await delivering;
      expect(new Set(posts(failing).map(({ key }) => key)).size).to.equal(1);
      const parked = await stateOf(failing);
      expect(parked).to.include({ state: 'parked', park_class: 'unproven' });

      const now = lab.context.nowMs;
      lab.context.nowMs = () => now() + 60_000;
      const request = {
        action: 'not_delivered',
        filter: { records: [{ entity: 'order', sourceKey: parked?.source_key as string }] },
        serviceId: null,
        reason: 'it is not there',
      } as const;
      const plan = await planAction(lab.context, request);
      expect((await actOnMessages(lab.context, request, plan.ids, plan.shown)).done).to.equal(1);
      await lab.deliver({ retryHorizonMs: 5_000 });
      expect(await stateOf(failing)).to.include({ state: 'delivered', generation: 1 });
      expect(service.orders.filter(({ note }) => note === failing)).to.have.length(1);
    });
});
