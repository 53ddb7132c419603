import { expect } from 'chai';
import type { Fact } from '../../../src/model/facts/fact.js';
import type { RecordFacts } from '../../../src/model/facts/records.js';
import type { RowFacts } from '../../../src/model/facts/rows.js';
import { confirmHeld, summariseHeld } from '../../../src/operator/actions/held-changes.js';
import { rekeyRecord } from '../../../src/operator/actions/rekey-record.js';
import type { CaptureOptions, CaptureResult } from '../../../src/outbound/capture/capture-result.js';
import { remedyFor } from '../../../src/words/words.js';
import { cancelSampleOrder, insertSampleOrder } from '../../support/change-sample-erp.js';
import { forged } from '../../support/forged.js';
import { type Lab, onAnyLab } from '../../support/jobs/job-lab.js';
import { say } from '../../support/jobs/say.js';
import type { Tree } from '../../support/merge-settings.js';

/** Codes of records that say what is so, or stand beside what a person is told to do. */
type WithoutRemedy =
  | 'left_with_status'
  | 'earlier_change_held'
  | 'mapping_changed'
  | 'key_given_before'
  | 'too_many_removals'
  | 'too_many_creates'
  | 'too_many_updates'
  | 'highest_key_fell'
  | 'latest_change_fell'
  | 'keys_turned'
  | 'cancelled_before_sending'
  | 'replaced_before_sending'
  | 'renamed_before_sending'
  | 'goes_on_under_key'
  | 'customer_of_other_source'
  | 'first_message_pruned'
  | 'adopted_takes_changes_only'
  | 'update_acknowledged'
  | 'found_without_key'
  | 'key_may_be_forgotten'
  | 'refused_when_repeated'
  | 'discarded_by_person'
  | 'on_its_way'
  // Told of a record that was delivered: see standing-in-erp.test.ts.
  | 'not_pending_any_more'
  | 'not_in_query_any_more';
type Code = Exclude<keyof RecordFacts, keyof RowFacts | WithoutRemedy>;

/** Key of an order that the service has, as the tests begin. */
interface Given {
  lab: Lab;
  key: string;
}

interface Case {
  settings?: Tree;
  /** Makes the next scan find the fact. */
  arrange(given: Given): Promise<unknown>;
  /** The kind of that scan. */
  scan?: (key: string) => CaptureOptions;
  /** The command that the remedy names. */
  command: RegExp;
  carryOut(given: Given, remedy: string): Promise<unknown>;
}

onAnyLab('the remedy of what a scan finds about a record', (kit) => {
  const works = async (lab: Lab, options: CaptureOptions = { sweep: true }) => {
    const captured = await lab.capture(options);
    await lab.deliver();
    return captured;
  };
  const change = (sql: string, ...values: string[]) => kit.store.transaction('for a test', (tx) => tx.run(sql, values));
  const confirm = async ({ lab, key }: Given, ofKey = false) => {
    const filter = ofKey ? { records: [{ entity: 'order' as const, sourceKey: key }] } : {};
    const { shown } = await summariseHeld(lab.context, filter);
    await confirmHeld(lab.context, filter, 'send', shown, 'a person looked');
  };
  const rekey = async ({ lab }: Given, remedy: string) => {
    const [, from = '', to = ''] = /`waybill rekey orders (\S+) (\S+)`/.exec(remedy) ?? [];
    await rekeyRecord(lab.context, lab.reader, { entity: 'order', from, to, reason: 'a test', dryRun: false });
  };
  /** An inner join loses the lines whose product is gone. */
  const joined: Tree = {
    orders: {
      total: undefined,
      lines: {
        query: `SELECT l.order_id, l.line_no, p.sku, l.qty, l.unit_price FROM sales_order_lines l
          JOIN products p ON p.id=l.product_id`,
      },
    },
  };
  const emptied = 'DELETE FROM sales_orders';
  const edited = "UPDATE customers SET name='Another'";
  const confirmed = { command: /`waybill confirm`/, carryOut: (given: Given) => confirm(given) };

  const cases: Record<Code, Case> = {
    key_reused: {
      arrange: ({ lab, key }) => lab.changeErp("UPDATE sales_orders SET order_no='OTHER' WHERE id=?", [key]),
      command: /`waybill confirm`/,
      carryOut: (given) => confirm(given, true),
    },
    may_have_been_sent: {
      settings: { orders: { settleSeconds: 0 } },
      arrange: async ({ lab }) => {
        const { id } = await insertSampleOrder(lab.erp, { lines: [{ qty: 1 }] });
        await lab.changeErp('UPDATE sales_order_lines SET qty=-1 WHERE order_id=?', [id]);
        await lab.capture();
        // As the recovery of a lost store leaves a row that it could not map.
        await change('UPDATE outbox_message SET was_sent=1, first_sent_at=NULL WHERE source_key=?', `${id}`);
        await lab.changeErp('UPDATE sales_order_lines SET qty=1 WHERE order_id=?', [id]);
      },
      command: /outbox resolve/,
      carryOut: () => say(kit, 'not_delivered', { states: ['parked'] }),
    },
    nothing_to_replace: {
      settings: {
        orders: {
          cancelled: { column: 'status', values: ['cancelled'] },
          onCancelled: { patch: { note: 'CANCELLED' } },
        },
        service: { endpoints: { updateOrder: { method: 'PUT' } } },
      },
      arrange: async ({ lab, key }) => {
        await change(
          "DELETE FROM message_body WHERE message_id IN (SELECT id FROM outbox_message WHERE entity='order')",
        );
        await change("DELETE FROM outbox_message WHERE entity='order'");
        await change(
          "UPDATE binding SET acknowledged=NULL, content_hash=NULL WHERE entity='order' AND source_key=?",
          key,
        );
        await cancelSampleOrder(lab.erp, Number(key));
      },
      command: /`waybill outbox discard`/,
      carryOut: () => say(kit, 'discard', { states: ['parked'] }),
    },
    seems_renamed: {
      settings: { orders: { onDeleted: 'delete' } },
      arrange: async ({ lab, key }) => {
        await lab.changeErp('UPDATE sales_orders SET id=9001 WHERE id=?', [key]);
        await lab.changeErp('UPDATE sales_order_lines SET order_id=9001 WHERE order_id=?', [key]);
      },
      command: /`waybill rekey orders \S+ 9001`/,
      carryOut: rekey,
    },
    name_unknown: {
      settings: { orders: { onDeleted: 'delete' } },
      arrange: async ({ lab, key }) => {
        // As the recovery by an export leaves it whose version wrote no numbers.
        await change('DELETE FROM outbox_message WHERE source_key=?', key);
        await change("INSERT INTO store_info (name, value) VALUES ('recovered_to', '0')");
        await lab.changeErp('DELETE FROM sales_order_lines WHERE order_id=?', [key]);
        await lab.changeErp('DELETE FROM sales_orders WHERE id=?', [key]);
        await lab.capture({ sweep: true });
      },
      command: /confirm it/,
      carryOut: (given) => confirm(given),
    },
    replaces_record: {
      settings: { orders: { replaces: 'remark' } },
      arrange: async ({ lab, key }) => {
        await lab.changeErp('UPDATE sales_orders SET remark=NULL');
        const { id } = await insertSampleOrder(lab.erp, { lines: [{ qty: 7 }] });
        await lab.changeErp('UPDATE sales_orders SET remark=? WHERE id=?', [key, id]);
      },
      command: /`waybill rekey orders \S+ \S+`/,
      carryOut: async (given, remedy) => {
        // While the ERP has both, it is the row that goes on which decides.
        await given.lab.changeErp('DELETE FROM sales_order_lines WHERE order_id=?', [given.key]);
        await given.lab.changeErp('DELETE FROM sales_orders WHERE id=?', [given.key]);
        await rekey(given, remedy);
      },
    },
    lines_lost: {
      settings: joined,
      arrange: async ({ lab, key }) => {
        await lab.changeErp('INSERT INTO sales_order_lines VALUES (9001, ?, 99, 1, 1, 5)', [key]);
        await works(lab);
        await lab.changeErp('UPDATE sales_order_lines SET product_id=NULL WHERE id=9001');
      },
      command: /confirm it/,
      carryOut: (given) => confirm(given),
    },
    source_empty: {
      arrange: async ({ lab }) => {
        for (const sql of ['DELETE FROM sales_order_lines', emptied, edited]) await lab.changeErp(sql);
      },
      ...confirmed,
    },
    source_drained: {
      arrange: async ({ lab }) => {
        await lab.changeErp("UPDATE sales_orders SET status='draft'");
        await lab.changeErp(edited);
      },
      ...confirmed,
    },
    source_restored: {
      arrange: async ({ lab }) => {
        await lab.changeErp("UPDATE sales_orders SET updated_at='2026-01-02 00:00:00'");
        await lab.changeErp(edited);
      },
      ...confirmed,
    },
    needs_resolve: {
      arrange: async (given) => {
        given.key = String((await insertSampleOrder(given.lab.erp, { lines: [{ qty: 1 }] })).id);
        await given.lab.capture();
        await change(
          `UPDATE outbox_message SET ${forged.parked}, park_class='unproven', was_sent=1, first_sent_at=NULL WHERE entity='order' AND source_key=?`,
          given.key,
        );
      },
      scan: (key) => ({ filter: { entity: 'order', keys: [key] }, force: true }),
      command: /outbox resolve/,
      carryOut: ({ key }) => say(kit, 'not_delivered', { entity: 'order', keys: [key] }),
    },
  };

  for (const [code, { settings = {}, arrange, scan, command, carryOut }] of Object.entries(cases))
    it(`ends ${code}`, async () => {
      const lab = await kit.start({ customers: 1, orders: 24, settings });
      await works(lab);
      const [bound] = await kit.rows("SELECT source_key FROM binding WHERE entity='order' ORDER BY source_key");
      const given = { lab, key: String(bound?.source_key) };
      await arrange(given);
      const options = scan?.(given.key) ?? { sweep: true };
      const fact = factsOf(await works(given.lab, options)).find((one) => one.code === code);
      const remedy = (fact && remedyFor(fact)) ?? '';
      expect(remedy).to.match(command);
      await carryOut(given, remedy);
      const after = [await works(given.lab, options), await works(given.lab, options)];
      expect(after.flatMap(factsOf).filter((one) => one.code === code)).to.deep.equal([]);
      const parked = await kit.rows(
        "SELECT source_key, reason_code, reason_data FROM outbox_message WHERE state='parked'",
      );
      expect(parked).to.deep.equal([]);
    });
});

function factsOf({ touched, holds, skipped }: CaptureResult): Fact[] {
  return [
    ...touched.flatMap(({ parked }) => parked ?? []),
    ...holds.map(({ reason }) => reason as Fact),
    ...skipped.map(({ reason }) => reason),
  ];
}
