import { expect } from 'chai';
import type { FindingCause } from '../../../src/model/facts/reconcile.js';
import { confirmHeld, summariseHeld } from '../../../src/operator/actions/held-changes.js';
import {
  listFindings,
  type ReconcileAsks,
  type Reconciliation,
  type Subject,
} from '../../../src/operator/reconcile/reconcile-rows.js';
import { planRepair, repair } from '../../../src/operator/reconcile/repair.js';
import { startReconcile } from '../../../src/operator/reconcile/start-run.js';
import { tell } from '../../../src/words/words.js';
import { editSampleLine, insertSampleOrder } from '../../support/change-sample-erp.js';
import { type Lab, onAnyLab } from '../../support/jobs/job-lab.js';
import { say } from '../../support/jobs/say.js';
import type { Tree } from '../../support/merge-settings.js';

/** An order that the service has, as the tests begin, with its id there. */
interface Given {
  lab: Lab;
  key: string;
  id: string;
}

interface Case {
  subject?: Subject;
  settings?: Tree;
  /** @returns the key of the record that is found, if it is another one */
  arrange(given: Given): Promise<unknown>;
  /** The remedy names the setting, the command or the time. */
  names: RegExp;
  carryOut(given: Given): Promise<unknown>;
  /** The settings from then on. */
  becomes?: Tree;
}

const all: ReconcileAsks = { from: null, to: null, fromMs: null, toMs: null };

onAnyLab('the remedy of what a comparison finds', (kit) => {
  const partners = (lab: Lab) => ({ reader: lab.reader, client: () => lab.client });
  const compare = (lab: Lab, subject: Subject = 'orders', asks = all) =>
    startReconcile(lab.context, partners(lab), subject, asks, { again: true });
  const causesOf = async (run: Reconciliation) => {
    const findings = await kit.store.read('list', (tx) => listFindings(tx, run.id, { limit: 100 }));
    return new Map(findings.map(({ sourceKey, cause }) => [sourceKey, cause]));
  };
  const repaired = async (lab: Lab, asks = all) => {
    const run = await compare(lab, 'orders', asks);
    const plan = await planRepair(lab.context, run);
    expect(plan.left).to.deep.equal([]);
    await repair(lab.context, partners(lab), { run, plan, reason: 'a test' });
  };
  const leftOf = async (lab: Lab, run: Reconciliation) => {
    const [{ why } = {}] = (await planRepair(lab.context, run)).left;
    return why && tell(why);
  };
  const onDay = (nth: number): ReconcileAsks => {
    const [from, to] = [`2026-10-0${nth}`, `2026-10-0${nth + 1}`];
    return { from, to, fromMs: Date.parse(from), toMs: Date.parse(to) };
  };
  const edit = ({ lab, key }: Pick<Given, 'lab' | 'key'>) => editSampleLine(lab.erp, Number(key), 1, 77);
  const statusOf = ({ lab, key }: Given, status: string) =>
    lab.changeErp('UPDATE sales_orders SET status=? WHERE id=?', [status, Number(key)]);
  /** Takes the lines of an order away, or brings them back. */
  const moveLines = ({ lab, key }: Pick<Given, 'lab' | 'key'>, isAway: boolean) => {
    const away = Number(key) + 100_000;
    const [from, to] = isAway ? [Number(key), away] : [away, Number(key)];
    return lab.changeErp('UPDATE sales_order_lines SET order_id=? WHERE order_id=?', [to, from]);
  };
  const works = async (lab: Lab) => {
    await lab.capture({ sweep: true });
    await lab.deliver();
  };
  const sends = async ({ lab }: Given) => repaired(lab);
  const again = async () => undefined;
  const another = async ({ lab }: Given) => `${(await insertSampleOrder(lab.erp, {})).id}`;
  const cancelled = { cancelled: { column: 'status', values: ['cancelled'] } };

  const cases: Record<FindingCause, Case> = {
    never_sent: { arrange: another, names: /a repair sends it/, carryOut: sends },
    withdrawn: {
      settings: { orders: { ...cancelled, onCancelled: 'delete' } },
      arrange: async (given) => {
        const key = await another(given);
        await given.lab.capture({ sweep: true });
        await statusOf({ ...given, key }, 'cancelled');
        await given.lab.capture({ sweep: true });
        await statusOf({ ...given, key }, 'confirmed');
        return key;
      },
      names: /a repair sends it/,
      carryOut: sends,
    },
    changed: {
      arrange: async ({ lab, id }) => lab.sandbox.setOrder(id, { total: 1 }),
      names: /a repair sends it/,
      carryOut: sends,
    },
    gone_at_service: {
      settings: { capture: { maxRemovals: 1 } },
      // The days of the first two hold no other record that the service could show.
      arrange: async ({ lab }) => {
        const rows = await kit.rows("SELECT service_id FROM binding WHERE entity='order' ORDER BY source_key LIMIT 2");
        for (const row of rows) lab.sandbox.removeOrder(String(row.service_id));
      },
      names: /more than capture\.maxRemovals \(1\) are gone at once.*repair by --from and --to/,
      carryOut: async ({ lab }) => {
        for (const nth of [1, 2]) await repaired(lab, onDay(nth));
      },
    },
    gone_unsendable: {
      arrange: async (given) => {
        given.lab.sandbox.removeOrder(given.id);
        await statusOf(given, 'shipped');
      },
      names: /orders\.pending/,
      carryOut: async (given) => {
        await statusOf(given, 'confirmed');
        await repaired(given.lab);
      },
    },
    changed_unsendable: {
      arrange: async (given) => {
        given.lab.sandbox.setOrder(given.id, { total: 1 });
        await statusOf(given, 'shipped');
      },
      names: /orders\.pending/,
      carryOut: async (given) => {
        await statusOf(given, 'confirmed');
        await repaired(given.lab);
      },
    },
    discarded: {
      arrange: async (given) => {
        const key = await another(given);
        await given.lab.capture({ sweep: true });
        await say(kit, 'discard', { records: [{ entity: 'order', sourceKey: key }] });
        return key;
      },
      names: /edit the row in the ERP/,
      carryOut: async ({ lab, key }) => {
        await edit({ lab, key });
        await works(lab);
      },
    },
    deleted_in_erp: {
      settings: { orders: { onDeleted: 'nothing' } },
      arrange: async ({ lab, key }) => {
        await lab.changeErp('DELETE FROM sales_order_lines WHERE order_id=?', [Number(key)]);
        await lab.changeErp('DELETE FROM sales_orders WHERE id=?', [Number(key)]);
      },
      names: /remove it at the service by hand/,
      carryOut: async ({ lab, id }) => lab.sandbox.removeOrder(id),
    },
    in_doubt: {
      arrange: async (given) => {
        const { lab } = given;
        const key = await another(given);
        lab.sandbox.setFaults([{ kind: 'reset-after-commit', match: { method: 'POST', path: '/v1/orders' } }]);
        await lab.capture({ sweep: true });
        await lab.deliver({ retryHorizonMs: 0 });
        lab.sandbox.clearFaults();
        return key;
      },
      names: /look at the service, then say `waybill outbox resolve`/,
      carryOut: ({ lab, key }) => {
        const id = lab.sandbox.ledger().orders.at(-1)?.order_id ?? '';
        return say(kit, 'delivered', { records: [{ entity: 'order', sourceKey: key }] }, id);
      },
    },
    unproven: {
      settings: { service: { maxProcessingSeconds: 600 } },
      arrange: async ({ lab, id }) => lab.sandbox.removeOrder(id),
      names: /compare again later/,
      carryOut: async ({ lab }) => {
        // Ten minutes later.
        await kit.rows("UPDATE binding SET acknowledged_at=1 WHERE entity='order'");
        await repaired(lab);
      },
    },
    under_way: {
      arrange: async (given) => {
        await edit(given);
        await given.lab.capture({ sweep: true });
      },
      names: /compare again later/,
      carryOut: async ({ lab }) => lab.deliver(),
    },
    parked: {
      arrange: async (given) => {
        const { lab } = given;
        lab.sandbox.setFaults([{ kind: 'status', status: 422, body: {}, match: { method: 'PATCH' } }]);
        await edit(given);
        await works(lab);
      },
      names: /`waybill outbox --state parked` says what to do/,
      carryOut: async ({ lab }) => {
        lab.sandbox.clearFaults();
        await say(kit, 'retry', { states: ['parked'] });
        await lab.deliver();
      },
    },
    held: {
      settings: { capture: { maxUpdates: 0 } },
      arrange: async (given) => {
        await edit(given);
        await given.lab.capture({ sweep: true });
      },
      names: /`waybill confirm`/,
      carryOut: async ({ lab }) => {
        const { shown } = await summariseHeld(lab.context, {});
        await confirmHeld(lab.context, {}, 'send', shown, 'a person looked');
        await lab.deliver();
      },
    },
    unmapped: {
      arrange: (given) => moveLines(given, true),
      names: /correct the row in the ERP/,
      carryOut: (given) => moveLines(given, false),
    },
    waiting: {
      settings: { orders: { settleSeconds: 3_600 } },
      arrange: async ({ lab }) => {
        const { id } = await insertSampleOrder(lab.erp, {});
        await lab.changeErp('UPDATE sales_orders SET total=99 WHERE id=?', [id]);
        await lab.capture({ sweep: true });
        return `${id}`;
      },
      names: /it waits for its lines: compare again later/,
      carryOut: async ({ lab, key }) => {
        await edit({ lab, key });
        await works(lab);
      },
    },
    filtered: {
      settings: { orders: { ...cancelled, onCancelled: 'nothing' } },
      arrange: (given) => statusOf(given, 'cancelled'),
      names: /orders\.onCancelled/,
      carryOut: async ({ lab }) => {
        await works(lab.another({ settings: { orders: { onCancelled: 'delete' } } }));
      },
      becomes: { orders: { onCancelled: 'delete' } },
    },
    unread: {
      arrange: async ({ lab, id }) => {
        const match = { method: 'GET', path: `/v1/orders/${id}` };
        lab.sandbox.setFaults([{ kind: 'status', status: 403, body: {}, match }]);
      },
      names: /compare again, or check service\.endpoints/,
      carryOut: async ({ lab }) => lab.sandbox.clearFaults(),
    },
    new_on_list: {
      subject: 'invoices',
      arrange: async ({ lab }) => {
        const [one] = lab.sandbox.addInvoices([{ amount: 1 }]);
        return one?.invoice_no;
      },
      names: /the pull has brought the list up to date/,
      carryOut: again,
    },
    left_list: {
      subject: 'invoices',
      arrange: async ({ lab }) => {
        const [one] = lab.sandbox.addInvoices([{ amount: 1 }]);
        await lab.pull();
        lab.sandbox.payInvoice(one?.invoice_no as string);
        return one?.invoice_no;
      },
      names: /the pull has brought the list up to date/,
      carryOut: again,
    },
    not_proven: {
      subject: 'invoices',
      arrange: async ({ lab }) => {
        const [one] = lab.sandbox.addInvoices([{ amount: 1 }, { amount: 2 }]);
        await lab.pull();
        lab.sandbox.payInvoice(one?.invoice_no as string);
        const body = { data: [{ amount: 2, due_date: '2026-12-01', status: 'unpaid' }], total: 1 };
        lab.sandbox.setFaults([{ kind: 'status', status: 200, body, match: { path: '/v2/invoices' } }]);
        return one?.invoice_no;
      },
      names: /compare again: only a proven list takes it off/,
      carryOut: async ({ lab }) => {
        lab.sandbox.clearFaults();
        // It names what has left.
        await compare(lab, 'invoices');
      },
    },
  };

  for (const [cause, { subject = 'orders', settings = {}, becomes = {}, ...one }] of Object.entries(cases))
    it(`ends ${cause}`, async () => {
      const endpoints: Tree = { service: { endpoints: { readOrder: {} } }, orders: { onDeleted: 'delete' } };
      const plain = await kit.start({ customers: 2, orders: 4, settings: endpoints });
      const lab = plain.another({ settings });
      const rows = await lab.readErp(
        "SELECT id FROM sales_orders WHERE status='confirmed' AND currency='EUR' AND created_at>='2026-01-01' ORDER BY id",
      );
      for (const [nth, { id = '' }] of rows.entries())
        await lab.changeErp('UPDATE sales_orders SET created_at=? WHERE id=?', [`2026-10-0${nth + 1} 12:00:00`, id]);
      await works(lab);
      const [{ source_key: first = '', service_id: id = '' } = {}] = await kit.rows(
        "SELECT source_key, service_id FROM binding WHERE entity='order' ORDER BY source_key",
      );
      const given = { lab, key: String(first), id: String(id) };
      const other = await one.arrange(given);
      const key = typeof other === 'string' ? other : given.key;
      const run = await compare(lab, subject);
      expect((await causesOf(run)).get(key)).to.equal(cause);
      const { left } = await planRepair(lab.context, run);
      const { why } = left.find((found) => found.cause === cause) ?? {};
      const about = { subject, mostGone: 0, nothingShown: false };
      expect(tell(why ?? { code: 'left_to_person', cause: cause as FindingCause, ...about })).to.match(one.names);
      await one.carryOut({ ...given, key });
      const settled = lab.another({ settings: becomes });
      expect(await causesOf(await compare(settled, subject))).to.deep.equal(new Map());
      expect(lab.sandbox.ledger().duplicates).to.deep.equal([]);
    });

  it('ends gone_at_service where the service showed not one record: its address was wrong', async () => {
    const right = await kit.start({ customers: 1, orders: 2, settings: { service: { endpoints: { readOrder: {} } } } });
    await works(right);
    const wrong = right.another({ settings: { service: { endpoints: { readOrder: { path: '/v1/nowhere/{id}' } } } } });
    const run = await compare(wrong);
    expect(new Set((await causesOf(run)).values())).to.deep.equal(new Set(['gone_at_service']));
    expect(await leftOf(wrong, run)).to.match(/check service\.endpoints/);
    expect(await causesOf(await compare(right))).to.deep.equal(new Map());
  });

  it('ends gone_at_service where every record is gone, once a new one shows that the address is right', async () => {
    const lab = await kit.start({ customers: 1, orders: 2, settings: { service: { endpoints: { readOrder: {} } } } });
    await works(lab);
    for (const { service_id: id } of await kit.rows("SELECT service_id FROM binding WHERE entity='order'"))
      lab.sandbox.removeOrder(String(id));
    expect(await leftOf(lab, await compare(lab))).to.match(/compare again once a new record is there/);
    await insertSampleOrder(lab.erp, {});
    await works(lab);
    await repaired(lab);
    expect(await causesOf(await compare(lab))).to.deep.equal(new Map());
  });

  it('ends gone_at_service where no removal passes the limit', async () => {
    const endpoints = { service: { endpoints: { readOrder: {} } } };
    const plain = await kit.start({ customers: 1, orders: 2, settings: endpoints });
    const lab = plain.another({ settings: { capture: { maxRemovals: 0 } } });
    await works(lab);
    const [{ service_id: id = '' } = {}] = await kit.rows("SELECT service_id FROM binding WHERE entity='order'");
    lab.sandbox.removeOrder(String(id));
    expect(await leftOf(lab, await compare(lab))).to.match(/raise capture\.maxRemovals/);
    await repaired(plain);
    expect(await causesOf(await compare(lab))).to.deep.equal(new Map());
  });
});
