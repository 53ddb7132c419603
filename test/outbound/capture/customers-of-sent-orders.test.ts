import { expect } from 'chai';
import fc from 'fast-check';
import { rowsAtOnce } from '../../../src/outbound/capture/rows-aside.js';
import { type Lab, onAnyLab } from '../../support/jobs/job-lab.js';

/** The state of an order in the ERP; only the first is sent. */
const kinds = ['sent', 'no lines', 'foreign currency', 'wrong total', 'not pending'] as const;
type Kind = (typeof kinds)[number];

async function place(lab: Lab, id: number, customer: number, kind: Kind): Promise<void> {
  await lab.changeErp('UPDATE sales_orders SET customer_id=?, status=?, currency=? WHERE id=?', [
    customer,
    kind === 'not pending' ? 'draft' : 'confirmed',
    kind === 'foreign currency' ? 'USD' : 'EUR',
    id,
  ]);
  if (kind === 'wrong total') await lab.changeErp('UPDATE sales_orders SET total=total+1 WHERE id=?', [id]);
  if (kind === 'no lines') await lab.changeErp('DELETE FROM sales_order_lines WHERE order_id=?', [id]);
}

async function takeBack(lab: Lab, id: number, kind: Kind, lines: readonly object[]): Promise<void> {
  await lab.changeErp("UPDATE sales_orders SET status='draft' WHERE id=?", [id]);
  if (kind === 'wrong total') await lab.changeErp('UPDATE sales_orders SET total=total-1 WHERE id=?', [id]);
  if (kind !== 'no lines') return;
  for (const line of lines)
    await lab.changeErp('INSERT INTO sales_order_lines VALUES (?,?,?,?,?,?)', Object.values(line));
}

onAnyLab('customers.send: referenced', (kit) => {
  const customers = 4;
  const settings = { orders: { pending: "status = 'confirmed'", currency: { column: 'currency' } } };

  it('sends the customers of orders that are sent, and no others', async () => {
    const lab = await kit.start({
      customers,
      // More than are written at once: the orders of a customer come in several steps.
      orders: rowsAtOnce + 8,
      settings,
    });
    const orders = await lab.readErp('SELECT id FROM sales_orders ORDER BY id');
    const ids = orders.map(({ id }) => Number(id));
    const [first = 0] = (await lab.readErp('SELECT MIN(id) AS id FROM customers')).map(({ id }) => Number(id));
    const lines = await lab.readErp('SELECT * FROM sales_order_lines ORDER BY id');
    await lab.changeErp("UPDATE sales_orders SET status='draft'");

    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({ at: fc.nat(ids.length - 1), customer: fc.nat(customers - 1), kind: fc.constantFrom(...kinds) }),
          {
            minLength: 1,
            maxLength: 8,
          },
        ),
        async (drawn) => {
          await kit.store.transaction('begin anew', async (tx) => {
            for (const table of ['outbox_message', 'binding', 'unsettled']) await tx.run(`DELETE FROM ${table}`);
          });
          const wanted = new Map(
            drawn.map(({ at, customer, kind }) => [ids[at] ?? 0, { customer: first + customer, kind }]),
          );
          for (const [id, { customer, kind }] of wanted) await place(lab, id, customer, kind);
          await lab.capture({ sweep: true });
          const sent = [...wanted.values()].filter(({ kind }) => kind === 'sent').map(({ customer }) => `${customer}`);
          const rows = await kit.rows("SELECT source_key FROM outbox_message WHERE entity='customer'");
          for (const [id, { kind }] of wanted)
            await takeBack(
              lab,
              id,
              kind,
              lines.filter((line) => Number(line.order_id) === id),
            );
          expect(rows.map(({ source_key }) => source_key).sort()).to.deep.equal([...new Set(sent)].sort());
        },
      ),
      { numRuns: 15 },
    );
  });

  it('sends a customer when one of its orders can be sent at last, and follows it from then on', async () => {
    const lab = await kit.start({
      customers: 1,
      orders: 2,
      settings,
    });
    await lab.changeErp("UPDATE sales_orders SET status='confirmed', currency='USD'");
    const customersCaptured = async () => {
      await lab.capture({ sweep: true });
      const rows = await kit.rows("SELECT operation FROM outbox_message WHERE entity='customer' ORDER BY id");
      return rows.map(({ operation }) => operation);
    };
    expect(await customersCaptured()).to.deep.equal([]);
    await lab.changeErp("UPDATE sales_orders SET currency='EUR' WHERE id=4");
    expect(await customersCaptured()).to.deep.equal(['create']);
    await lab.deliver();
    await lab.changeErp("UPDATE sales_orders SET currency='USD'");
    await lab.changeErp("UPDATE customers SET name='Renamed'");
    expect(await customersCaptured()).to.deep.equal(['create', 'update']);
  });
});
