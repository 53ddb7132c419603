import { forged } from '../support/forged.js';
import type { History } from './history.js';
import { openReal } from './machine/intercept.js';
import type { World } from './world/world.js';

/** The tampering with a sound world that the oracle must notice right before it is judged; by the kind of finding. */
export const doctored: Readonly<Record<string, { kind: string; doctor: (world: World) => void }>> = {
  'an order is there twice': {
    kind: 'double',
    doctor: ({ service }) => {
      const [order] = service.live('orders');
      service.createByHand('orders', { ...order?.fields });
    },
  },
  'a quantity differs': {
    kind: 'differs',
    doctor: (world) => change(world, 'orders', { items: [{ sku: 'S-1', qty: 1, price: 1 }] }),
  },
  'a number differs': { kind: 'differs', doctor: (world) => change(world, 'orders', { note: 'SO-0' }) },
  'an order is for another customer': {
    kind: 'differs',
    doctor: (world) => change(world, 'orders', { customer_code: 'C-0' }),
  },
  'a customer has another name': { kind: 'differs', doctor: (world) => change(world, 'customers', { name: 'Nobody' }) },
  'an order is missing': {
    kind: 'missing',
    doctor: ({ service }) => {
      const [order] = service.live('orders');
      if (order) order.removedAtMs = 0;
    },
  },
  'a row of which Waybill was never told': {
    kind: 'missing',
    doctor: ({ erp }) => {
      const [order] = erp.orders();
      if (!order) return;
      erp.run(
        'INSERT INTO orders SELECT 99, ?, ?, customer_id, status, currency, total, remark, ?, created_at, updated_at FROM orders WHERE id=?',
        'K99',
        'SO-99',
        'ref-99',
        order.id,
      );
      for (const { sku, qty, price, line_no } of erp.linesOf(order.id))
        erp.run('INSERT INTO lines (order_id, line_no, sku, qty, price) VALUES (99,?,?,?,?)', line_no, sku, qty, price);
    },
  },
  'lines of the audit are gone': {
    kind: 'history',
    doctor: (world) => inStore(world, 'DELETE FROM audit_log WHERE id<5'),
  },
  'a line of the audit was changed': {
    kind: 'audit',
    doctor: (world) => inStore(world, "UPDATE audit_log SET actor='nobody' WHERE id=2"),
  },
  'a message is under way for ever': {
    kind: 'stuck',
    doctor: (world) => inStore(world, `UPDATE outbox_message SET ${forged.sending} WHERE id=2`),
  },
  'a create that had its effect twice': {
    kind: 'double',
    doctor: ({ service }) => {
      const [order] = service.live('orders');
      const [first] = service.arrivals.filter(({ path, method }) => path === '/v1/orders' && method === 'POST');
      if (first && order) service.receive({ ...first, key: 'another key', query: new URLSearchParams() });
    },
  },
  'more requests than the limit allows': {
    kind: 'limit',
    doctor: ({ service }) => {
      const request = {
        method: 'GET',
        path: '/v1/orders/O-1',
        query: new URLSearchParams(),
        key: null,
        body: '',
        pid: 1,
      };
      for (let i = 0; i < 30; i++) service.receive(request);
    },
  },
  "somebody else's record is changed": {
    kind: 'foreign',
    doctor: ({ service }) => {
      const { id } = service.createByHand('orders', { customer_code: 'C-1', note: 'by hand', items: [] });
      service.receive({
        method: 'PUT',
        path: `/v1/orders/${id}`,
        query: new URLSearchParams(),
        key: 'k',
        body: '{"items":[]}',
        pid: 1,
      });
    },
  },
  'one order is written over another': {
    kind: 'overwritten',
    doctor: ({ service }) => {
      const [order, other] = service.live('orders');
      const body = JSON.stringify(other?.fields);
      service.receive({
        method: 'PUT',
        path: `/v1/orders/${order?.id}`,
        query: new URLSearchParams(),
        key: 'k',
        body,
        pid: 1,
      });
    },
  },
  'an order of the ERP is removed at the service': {
    kind: 'removed',
    doctor: ({ service, machine }) => {
      machine.elapsedMs += 3_600_000;
      const [order] = service.live('orders');
      service.receive({
        method: 'DELETE',
        path: `/v1/orders/${order?.id}`,
        query: new URLSearchParams(),
        key: 'k',
        body: '',
        pid: 1,
      });
    },
  },
  'a list of invoices is called complete, and is not': {
    kind: 'invoices',
    doctor: (world) => {
      const { service } = world;
      service.invoices.push({ no: 'I-1', customer: 'C-1', amount: 500, paid: 0 });
      // An invoice that every page shows is not due.
      const real = service.unpaid.bind(service);
      service.unpaid = () =>
        /judge/.test(new Error().stack ?? '') || /wrongInvoices/.test(new Error().stack ?? '') ? real() : [];
    },
  },
};

function change({ service }: World, kind: 'orders' | 'customers', fields: object): void {
  const [record] = service.live(kind);
  if (record) record.fields = { ...record.fields, ...fields };
}

function inStore(world: World, sql: string): void {
  const database = openReal(world.settings.store.file as string);
  // Nothing but a person with a tool for databases does this.
  for (const { name } of database.prepare("SELECT name FROM sqlite_master WHERE type='trigger'").all() as {
    name: string;
  }[])
    database.exec(`DROP TRIGGER ${name}`);
  database.exec(sql);
  database.close();
}

/** A history in which nothing happens but what should. */
export function soundHistory(personality: History['personality']): History {
  const steps = ['create a customer', 'create a customer', 'create several orders', 'waybill sync, as by cron'].map(
    (name) => ({ name, seed: 3 }),
  );
  return { seed: 1, personality, steps };
}
