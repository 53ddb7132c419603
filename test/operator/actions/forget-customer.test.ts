import { expect } from 'chai';
import { forgetCustomer } from '../../../src/operator/actions/forget-customer.js';
import type { JobContext } from '../../../src/ops/job-context.js';
import type { Store, Tx } from '../../../src/store/store.js';
import { wallTimeNow } from '../../support/change-sample-erp.js';
import { onSqliteLabAnd } from '../../support/jobs/job-lab.js';

/** The same store, which calls `before` when a transaction locks the messages that it is about to erase. */
function interrupted(store: Store, before: () => Promise<unknown>): Store {
  const within = (tx: Tx): Tx =>
    Object.create(tx, {
      rows: {
        value: async (sql: string, parameters: readonly (string | number)[]) => {
          if (sql.includes('SELECT id FROM outbox_message')) await before();
          return tx.rows(sql, parameters);
        },
      },
    });
  const transaction = (action: string, work: (tx: Tx) => Promise<unknown>) =>
    store.transaction(action, (tx) => work(within(tx)));
  return Object.create(store, {
    transaction: { value: transaction },
    read: { value: store.read.bind(store) },
    dialect: { value: store.dialect },
  });
}

onSqliteLabAnd('mysql', 'a customer that is forgotten while a change of it is captured', (kit) => {
  it('loses nothing that is still to be sent, and delivery comes to its end', async () => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    await lab.capture();
    await lab.deliver();
    const [{ source_key: key }] = await kit.rows("SELECT source_key FROM binding WHERE entity='customer'");
    await lab.changeErp("UPDATE customers SET city='Neustadt', updated_at=?", [wallTimeNow()]);

    const neighbour = lab.another({ store: await kit.connect(), actor: 'daemon' });
    let interrupt: () => void = () => undefined;
    const captured = new Promise<void>((resolve) => {
      interrupt = resolve;
    }).then(() => neighbour.capture({ sweep: true }));
    const store = interrupted(kit.store, async () => {
      interrupt();
      // On a server it commits in the middle of the transaction. On SQLite it waits until the transaction ends.
      if (kit.dialect !== 'sqlite') await captured;
    });
    const context: JobContext = { ...lab.context, store };
    const forgotten = await forgetCustomer(context, key, 'a request');
    expect(forgotten).to.include({ messages: 1, bodies: 1 });
    await captured;

    const result = await lab.deliver({ retryHorizonMs: 1_000 });
    expect(result).to.include({ stopped: null, parked: 0 });
    expect(lab.sandbox.ledger().customers.map(({ record }) => record.city)).to.deep.equal(['Neustadt']);
    const open = await kit.rows("SELECT state FROM outbox_message WHERE state<>'delivered'");
    expect(open).to.deep.equal([]);
  });
});
