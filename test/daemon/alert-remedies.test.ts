import { expect } from 'chai';
import { alertChanges, writeAlertChanges } from '../../src/daemon/watch-alerts.js';
import { listHeldInvoices } from '../../src/inbound/invoices/list-invoices.js';
import { confirmDrop } from '../../src/inbound/invoices/safety-limit.js';
import { prepareReadBack, readOrdersBack } from '../../src/inbound/orders/read-back.js';
import { ForgeryWatch, tellForgeries } from '../../src/inbound/webhooks/receive-webhooks.js';
import type { AlertFact } from '../../src/model/facts/alerts.js';
import { confirmHeld, summariseHeld } from '../../src/operator/actions/held-changes.js';
import { resumeLanes } from '../../src/operator/actions/pause-jobs.js';
import { recover } from '../../src/operator/recover.js';
import { noteEndpoint } from '../../src/outbound/deliver/profile-notices.js';
import { openAlerts } from '../../src/store/alerts.js';
import type { Tx } from '../../src/store/store.js';
import { remedyFor } from '../../src/words/words.js';
import { insertSampleOrder } from '../support/change-sample-erp.js';
import { type Lab, type LabOptions, onAnyLab, withServiceLease } from '../support/jobs/job-lab.js';
import { holdAsLost, loseEverything } from '../support/jobs/lost-store.js';
import { say } from '../support/jobs/say.js';
import type { Tree } from '../support/merge-settings.js';

/** The cause of an alert, and its remedy. */
interface Case {
  options?: LabOptions;
  breaks: (lab: Lab) => Promise<unknown>;
  /** Settings that the remedy corrects: `mends` runs under them. */
  corrected?: Tree;
  mends?: (lab: Lab) => Promise<unknown>;
  /** It ends so long after the cause is gone. */
  endsAfterMs?: number;
}

onAnyLab('the remedy of an alert', (kit) => {
  const write = (work: (tx: Tx) => Promise<unknown>) => kit.store.transaction('test', work);
  const look = async (lab: Lab, nowMs = Date.now()) => {
    await write(async (tx) => {
      const changes = await alertChanges(tx, lab.settings, nowMs, await openAlerts(tx));
      if (changes) await writeAlertChanges(tx, changes, nowMs);
    });
    return (await kit.store.read('look', openAlerts)).map(({ message }) => message);
  };
  const deliverAll = async (lab: Lab) => {
    await lab.capture({ sweep: true });
    await lab.deliver();
  };
  const confirm = async (lab: Lab) => {
    const { shown } = await summariseHeld(lab.context, {});
    await confirmHeld(lab.context, {}, 'send', shown, 'looked at the ERP');
    await deliverAll(lab);
  };
  const readBack = (lab: Lab) =>
    withServiceLease(lab.context, async (lease) => {
      await kit.rows("UPDATE binding SET read_asked_at=NULL WHERE entity='order'");
      await prepareReadBack(lab.context, lease);
      await readOrdersBack(lab.context, lab.client, lease);
    });
  const readable = {
    service: { endpoints: { readOrder: {} }, limits: [{ requests: 500, perSeconds: 0.1 }] },
    orders: { readBack: { enabled: true, maxShare: 0.5 } },
  };
  const keyIsRemark = {
    orders: {
      query: 'SELECT o.remark AS k, o.* FROM sales_orders o',
      key: 'k',
      lines: {
        query: `SELECT o.remark AS k, l.line_no, p.sku, l.qty, l.unit_price FROM sales_order_lines l
          JOIN sales_orders o ON o.id=l.order_id JOIN products p ON p.id=l.product_id`,
        orderKey: 'k',
      },
    },
  };
  const secrets = new ForgeryWatch();

  /**
   * `write_back_moves_changed_at`, `redis_away`, `node_…`, `witness_unwritten`: see write-back.test.ts, dispatchers.test.ts, nodes.test.ts and
   * store-witness.test.ts, which have an ERP that is written, a Redis and a witness. null: nothing has to be done, or what it holds says it.
   */
  const cases: Record<AlertFact['code'], Case | 'elsewhere' | null> = {
    pause_in_force: {
      breaks: async (lab) => {
        lab.sandbox.setFaults([{ kind: 'status', status: 401 }]);
        await deliverAll(lab);
      },
      mends: async (lab) => {
        lab.sandbox.clearFaults();
        await resumeLanes(lab.context, ['service'], 'the credential is right again');
      },
    },
    messages_parked: {
      options: { customers: 1, orders: 1 },
      breaks: async (lab) => {
        const match = { method: 'POST', path: '/v1/orders' };
        lab.sandbox.setFaults([{ kind: 'status', status: 422, match }]);
        await deliverAll(lab);
      },
      mends: async (lab) => {
        lab.sandbox.clearFaults();
        await say(kit, 'discard', { entity: 'order' });
      },
    },
    record_waits: {
      options: { customers: 1, orders: 1 },
      breaks: async (lab) => {
        lab.sandbox.setFaults([{ kind: 'status', status: 500, match: { method: 'POST', path: '/v1/orders' } }]);
        await lab.capture();
        await lab.deliver({ retryHorizonMs: 50 });
        const age = "UPDATE outbox_message SET captured_at=captured_at-50000000 WHERE state IN ('pending','in_doubt')";
        await kit.rows(age);
      },
      mends: async (lab) => {
        lab.sandbox.clearFaults();
        await lab.deliver();
      },
    },
    job_failing: null,
    orders_gone: {
      options: { customers: 1, orders: 1, settings: readable },
      breaks: async (lab) => {
        await deliverAll(lab);
        await readBack(
          lab.another({ settings: { service: { endpoints: { readOrder: { path: '/v1/nowhere/{order_id}' } } } } }),
        );
      },
      mends: readBack,
    },
    nothing_succeeds: null,
    changes_held: {
      options: { settings: { capture: { maxUpdates: 0 } } },
      breaks: async (lab) => {
        await deliverAll(lab);
        await lab.changeErp("UPDATE customers SET name='New & Sons'");
        await lab.capture({ sweep: true });
      },
      mends: confirm,
    },
    source_held: {
      options: { settings: { orders: { onDeleted: 'delete' } } },
      breaks: async (lab) => {
        await deliverAll(lab);
        await lab.changeErp('DELETE FROM sales_order_lines');
        await lab.changeErp('DELETE FROM sales_orders');
        await lab.capture({ sweep: true });
      },
      mends: confirm,
    },
    rows_without_key: {
      options: { customers: 1, orders: 1, settings: keyIsRemark },
      breaks: async (lab) => {
        await insertSampleOrder(lab.erp);
        await lab.changeErp('UPDATE sales_orders SET remark=NULL');
        await lab.capture({ sweep: true });
      },
      mends: async (lab) => {
        await lab.changeErp("UPDATE sales_orders SET remark=REPLACE('R-#', '#', CAST(id AS CHAR(20)))");
        await lab.capture({ sweep: true });
      },
    },
    orders_left: {
      options: { settings: { orders: { completed: { column: 'status', values: ['shipped'] } } } },
      breaks: async (lab) => {
        await deliverAll(lab);
        await lab.changeErp(
          "UPDATE sales_orders SET status='archived' WHERE id=(SELECT MIN(id) FROM sales_orders WHERE status='confirmed')",
        );
        await lab.capture({ sweep: true });
      },
      corrected: { orders: { completed: { column: 'status', values: ['shipped', 'archived'] } } },
      mends: (lab) => lab.capture({ sweep: true }),
    },
    keys_forgotten: {
      options: { customers: 5, orders: 6 },
      breaks: async (lab) => {
        await deliverAll(lab);
        await loseEverything(kit);
        await holdAsLost(kit);
        const fate = { to: 'in_doubt', sentSince: Date.now() - 3_600_000 } as const;
        await recover(lab.context, lab.reader, { fate, bindings: null, reason: 'a test' });
        lab.sandbox.forgetKeys();
        await lab.deliver();
      },
      mends: async (lab) => {
        for (const { reference, order_id: id } of lab.sandbox.ledger().orders)
          await say(kit, 'delivered', { keys: [reference as string], entity: 'order' }, id);
      },
    },
    endpoint_ends: {
      breaks: (lab) =>
        noteEndpoint(lab.context, {
          endpoint: 'createOrder',
          address: 'POST /v1/orders',
          lifecycle: { deprecatedAt: true, sunsetAt: null },
        }),
      corrected: { service: { endpoints: { createOrder: { path: '/v3/orders' } } } },
    },
    states_unnamed: {
      options: { customers: 1, orders: 1, settings: { service: { states: { order: ['new'] } } } },
      breaks: deliverAll,
      corrected: { service: { states: { order: ['new', 'confirmed'] } } },
    },
    read_forbidden: {
      options: { customers: 1, orders: 2, settings: readable },
      breaks: async (lab) => {
        await deliverAll(lab);
        const path = `/v1/orders/${lab.sandbox.ledger().orders[0]?.order_id}`;
        lab.sandbox.setFaults([{ kind: 'status', status: 403, match: { method: 'GET', path } }]);
        await readBack(lab);
      },
      mends: async (lab) => {
        lab.sandbox.clearFaults();
        await readBack(lab);
      },
      endsAfterMs: 25 * 3_600_000,
    },
    invoices_set_aside: {
      options: { customers: 1, orders: 1 },
      breaks: async (lab) => {
        lab.sandbox.addInvoices([{ amount: 2 ** 53 }]);
        await lab.pull();
      },
      mends: async (lab) => {
        lab.sandbox.setFaults([
          { kind: 'status', status: 200, body: { data: [], total: 0 }, match: { method: 'GET', path: '/v2/invoices' } },
        ]);
        await lab.pull();
      },
    },
    invoices_held: {
      options: { customers: 1, orders: 1 },
      breaks: async (lab) => {
        lab.sandbox.addInvoices(Array.from({ length: 30 }, (_, i) => ({ amount: i + 1 })));
        await lab.pull();
        const match = { method: 'GET', path: '/v2/invoices' };
        lab.sandbox.setFaults([{ kind: 'status', status: 200, body: { data: [], total: 0 }, match }]);
        await lab.pull();
      },
      mends: async (lab) => {
        const { rows } = await kit.store.read('look', (tx) => listHeldInvoices(tx, 100));
        const numbers = rows.map(({ invoice_no }) => invoice_no);
        await confirmDrop(lab.context, numbers, 'paid by direct debit');
      },
    },
    webhooks_forged: {
      breaks: () => write((tx) => tellForgeries(tx, secrets.see(20, 0) === 'begun' ? 'begun' : null, Date.now())),
      // With the right secret none is forged any more.
      mends: () => write((tx) => tellForgeries(tx, secrets.see(0, 3_700_000) === 'over' ? 'over' : null, Date.now())),
    },
    write_back_failing: null,
    write_back_refused: null,
    write_back_moves_changed_at: 'elsewhere',
    node_cannot_lead: 'elsewhere',
    node_cannot_send: 'elsewhere',
    node_stands_by: 'elsewhere',
    node_silent: 'elsewhere',
    node_clock_off: 'elsewhere',
    node_settings_differ: 'elsewhere',
    redis_away: 'elsewhere',
    witness_unwritten: 'elsewhere',
  };

  for (const [code, one] of Object.entries(cases)) {
    if (one === null || one === 'elsewhere') continue;
    it(`ends it: ${code}`, async () => {
      const lab = await kit.start(one.options);
      await one.breaks(lab);
      const alert = (await look(lab)).find((message) => message.code === code);
      expect(alert, 'the alert').to.not.equal(undefined);
      expect(alert && remedyFor(alert), 'its remedy').to.be.a('string');
      const mended = one.corrected ? lab.another({ settings: one.corrected }) : lab;
      await one.mends?.(mended);
      const codes = (await look(mended, Date.now() + (one.endsAfterMs ?? 0))).map((message) => message.code);
      expect(codes).to.not.include(code);
    });
  }
});
