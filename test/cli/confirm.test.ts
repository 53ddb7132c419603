import { expect } from 'chai';
import { forged } from '../support/forged.js';
import { answers, onAnyStore } from './installation.js';

describe('waybill confirm', () => {
  onAnyStore((installation) => {
    const { waybill, json } = installation;
    const change = (sql: string) => installation.app.store.transaction('arrange a test', (tx) => tx.run(sql));
    const states = () =>
      installation.app.store.read('look', (tx) =>
        tx.select("SELECT source_key, state FROM outbox_message WHERE operation='update' ORDER BY source_key"),
      );

    /** Orders 1 and 2 are at the service; an update of each is held. */
    const fill = async () => {
      const keys = ['1', '2'];
      await installation.capture(...keys.map((sourceKey) => ({ entity: 'order' as const, sourceKey })));
      await installation.deliver(({ body }) => answers.created(body.includes('SO-1') ? 'ord_1' : 'ord_2'));
      await installation.capture(
        ...keys.map((sourceKey) => ({
          entity: 'order' as const,
          sourceKey,
          number: `SO-${sourceKey}`,
          operation: 'update' as const,
          revision: 2,
          record: { customer_code: 'K1', items: [], note: 'other' },
        })),
      );
      await change(
        `UPDATE outbox_message SET ${forged.parked}, park_class='held', reason_code='legacy', reason_data='{"text":{"outside":"too many"}}' WHERE operation='update'`,
      );
    };

    it('shows the list first: counts, fields, rows', async () => {
      await fill();
      const { code, stdout } = await waybill('confirm', '--dry-run');
      expect(code).to.equal(3);
      expect(stdout)
        .to.match(/order update: [^\n]*too many/)
        .and.to.match(/order update: changes items/)
        .and.to.contain('SO-2');
      const shown = await json('confirm', '--dry-run');
      expect(shown).to.deep.include({ held: 2 });
      expect(shown.groups).to.deep.equal([
        {
          entity: 'order',
          operation: 'update',
          reason: 'too many',
          reasonCode: 'legacy',
          reasonData: { text: 'too many' },
          count: 2,
        },
      ]);
      expect((await states()).map(({ state }) => state)).to.deep.equal(['parked', 'parked']);
    });

    it('says that nothing is held, and is done', async () => {
      const { code, stdout } = await waybill('confirm', '--dry-run');
      expect(code).to.equal(0);
      expect(stdout).to.contain('No change is held.');
    });

    it('shows the list without a reason, and says how to decide', async () => {
      await fill();
      const { code, stdout } = await waybill('confirm');
      expect(code).to.equal(3);
      expect(stdout).to.contain('too many').and.to.contain('Nothing was done. To decide, say why: add --reason');
      expect(await json('confirm')).to.deep.equal(await json('confirm', '--dry-run'));
      await change(
        "INSERT INTO invoice (invoice_no, amount, due_date, status, first_listed_at, last_listed_at, drop_held_at) VALUES ('INV-1', 7, '2026-12-01', 'unpaid', 1, 1, 2)",
      );
      expect((await waybill('confirm', 'invoices')).stdout)
        .to.contain('INV-1')
        .and.to.contain('add --reason');
      expect((await states()).map(({ state }) => state)).to.deep.equal(['parked', 'parked']);
      expect((await json('status')).heldInvoices).to.equal(1);
    });

    it('wants a reason, one decision, and a yes', async () => {
      await fill();
      expect((await waybill('confirm', '--yes')).code).to.equal(2);
      expect((await waybill('confirm', '--adopt', '--discard', '--dry-run')).code).to.equal(2);
      expect((await waybill('confirm', '--reason', 'looked')).code).to.equal(2);
      expect((await states()).map(({ state }) => state)).to.deep.equal(['parked', 'parked']);
    });

    it('sends the one that is named, adopts the other, and says so in the audit', async () => {
      await fill();
      expect((await waybill('confirm', '--key', '1', '--reason', 'meant so', '--yes')).code).to.equal(0);
      expect((await states()).map(({ state }) => state)).to.deep.equal(['pending', 'parked']);
      expect((await json('confirm', '--adopt', '--reason', 'no need', '--yes')).done).to.equal(1);
      expect((await states()).map(({ state }) => state)).to.deep.equal(['pending', 'discarded']);
      const [binding] = await installation.app.store.read('look', (tx) =>
        tx.select("SELECT revision FROM binding WHERE source_key='2'"),
      );
      expect(binding.revision).to.equal(2);
      const audited = await installation.app.store.read('look', (tx) =>
        tx.select("SELECT outcome, detail FROM audit_log WHERE event='operator' ORDER BY id"),
      );
      expect(audited.map(({ outcome }) => outcome)).to.deep.equal(['confirm_send', 'confirm_adopt']);
      expect(audited[0].detail).to.contain('meant so');
    });

    it('takes off the invoices that are held, after it has shown them, and says so in the audit', async () => {
      expect((await waybill('confirm', 'invoices', '--dry-run')).stdout).to.contain('No invoice is held.');
      for (const [no, amount] of [
        ['INV-1', 1999],
        ['INV-2', 2001],
      ] as const)
        await change(
          `INSERT INTO invoice (invoice_no, amount, due_date, status, first_listed_at, last_listed_at, drop_held_at)
           VALUES ('${no}', ${amount}, '2026-12-01', 'unpaid', 1, 1, 2)`,
        );
      expect((await waybill('status')).stdout).to.match(/Held +2 invoices are missing from the service’s list/);
      const { code, stdout } = await waybill('confirm', 'invoices', '--dry-run');
      expect(code).to.equal(3);
      expect(stdout).to.contain('INV-2').and.to.contain('2 invoices, 40.00 EUR in all');
      expect((await waybill('confirm', 'invoices', '--discard', '--dry-run')).code).to.equal(2);
      expect((await waybill('confirm', '--dry-run')).stdout).to.contain('waybill confirm invoices --dry-run');
      const confirmed = await json('confirm', 'invoices', '--reason', 'paid', '--yes');
      expect(confirmed).to.deep.include({ held: 2, sum: '4000', done: 2 });
      const left = await installation.app.store.read('look', (tx) =>
        tx.select('SELECT invoice_no FROM invoice WHERE unlisted_at IS NOT NULL AND drop_held_at IS NULL'),
      );
      expect(left).to.have.length(2);
      expect((await json('status')).heldInvoices).to.equal(0);
      expect((await waybill('audit', '--event', 'operator')).stdout).to.contain('confirm_drop');
    });

    it('is the only way: outbox retry lets nothing go that is on hold', async () => {
      await fill();
      await waybill('outbox', 'retry', '--state', 'parked', '--reason', 'again', '--yes');
      expect((await states()).map(({ state }) => state)).to.deep.equal(['parked', 'parked']);
    });
  });
});
