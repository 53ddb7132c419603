import { expect } from 'chai';
import type { RefusalFact } from '../../../src/model/facts/actions.js';
import type { Fact } from '../../../src/model/facts/fact.js';
import type { ActionContext, Preview } from '../../../src/operator/actions/action.js';
import type { OperatorAction } from '../../../src/operator/actions/decide-message-action.js';
import { forget } from '../../../src/operator/actions/forget-customer.js';
import { confirmHeld, heldAdopt, summariseHeld } from '../../../src/operator/actions/held-changes.js';
import { actOnMessages, planAction } from '../../../src/operator/actions/message-actions.js';
import { moveRecord, moveRecordBinding } from '../../../src/operator/actions/move-binding.js';
import { tell } from '../../../src/words/words.js';
import { editSampleLine } from '../../support/change-sample-erp.js';
import { forged } from '../../support/forged.js';
import { type Lab, onAnyLab } from '../../support/jobs/job-lab.js';
import { say } from '../../support/jobs/say.js';
import type { Tree } from '../../support/merge-settings.js';
import { sandboxLookUps } from '../../support/sandbox-look-ups.js';

/** Refusals that say what is so, or that end by themselves. */
type WithoutRemedy =
  | 'already_delivered'
  | 'already_superseded'
  | 'being_sent'
  | 'already_due'
  | 'scan_unfinished'
  | 'key_seen'
  | 'still_working'
  | 'nothing_to_look_up'
  | 'same_ids'
  | 'request_under_way'
  | 'no_message'
  | 'changed_since_shown'
  | 'moved_on'
  | 'invoice_listed_again'
  | 'unknown_customer'
  | 'service_id_removed';
/** Refusals of what a person wrote: the next try has another id, another line or another name. */
type OfTheWord =
  | 'service_id_taken'
  | 'unproven_claim'
  | 'listed_twice'
  | 'key_in_lines'
  | 'service_id_in_lines'
  | 'line_unreadable'
  | 'line_columns'
  | 'line_without_key'
  | 'line_without_service_id'
  | 'line_too_long'
  | 'line_service_id_spaced'
  | 'ambiguous_name'
  | 'other_list';
type Code = Exclude<RefusalFact['code'], WithoutRemedy | OfTheWord>;

interface Case {
  settings?: Tree;
  arrange(lab: Lab): Promise<unknown>;
  /** The action that is refused. */
  asks: OperatorAction | ((lab: Lab) => Promise<Pick<Preview, 'skipped'>>);
  /** The id at the service that the person names with it. */
  serviceId?: string;
  /** The way out that the refusal names. */
  names: RegExp;
  carryOut(lab: Lab): Promise<unknown>;
}

onAnyLab('the way out that a refused action names', (kit) => {
  const change = (sql: string, ...values: string[]) => kit.store.transaction('for a test', (tx) => tx.run(sql, values));
  const works = async (lab: Lab) => {
    await lab.capture({ sweep: true });
    await lab.deliver();
  };
  const key = async (lab: Lab) =>
    Number(
      (
        await lab.readErp(
          "SELECT id FROM sales_orders WHERE status='confirmed' AND currency='EUR' AND created_at>='2026-01-01'",
        )
      )[0]?.id,
    );
  const edit = async (lab: Lab) => editSampleLine(lab.erp, await key(lab), 1, 77);
  const orderId = (lab: Lab) => lab.sandbox.ledger().orders[0]?.order_id ?? '';
  const actionContext = (lab: Lab): ActionContext => ({
    ...lab.context,
    client: () => lab.client,
    reader: async () => lab.reader,
    asksToInsist: false,
    most: 100,
  });
  const ofOrder = { entity: 'order' } as const;
  /** Has the create come to a state. */
  const created = (assignments: string) => async (lab: Lab) => {
    await lab.capture({ sweep: true });
    await change(`UPDATE outbox_message SET ${assignments} WHERE entity='order'`);
  };
  const confirm = async (lab: Lab) => {
    const { shown } = await summariseHeld(lab.context, {});
    await confirmHeld(lab.context, {}, 'send', shown, 'a person looked');
  };
  const discards = () => say(kit, 'discard', ofOrder);
  const isMissing = () => say(kit, 'not_delivered', ofOrder);
  const loseAnswer = async (
    lab: Lab,
    match: { method: string; path?: string } = { method: 'POST', path: '/v1/orders' },
  ) => {
    lab.sandbox.setFaults([{ kind: 'reset-after-commit', match }]);
    await lab.capture({ sweep: true });
    await lab.deliver({ retryHorizonMs: 0 });
    lab.sandbox.clearFaults();
    await change('DELETE FROM lane_pause');
  };
  const refused = `${forged.parked}, park_class='refused', reason_code='http_refused', reason_data='{}'`;
  const doubted = `${forged.in_doubt}, was_sent=1, first_sent_at=NULL, claimed_at=1`;
  const customerOf = (lab: Lab, preview: typeof forget.preview) =>
    kit
      .rows("SELECT source_key FROM outbox_message WHERE entity='customer'")
      .then(([row]) => preview(actionContext(lab), { entity: 'customer', sourceKey: String(row?.source_key) }, {}));

  const cases: Record<Code, Case> = {
    already_discarded: {
      arrange: async (lab) => {
        await created(refused)(lab);
        await discards();
      },
      asks: 'retry',
      names: /`waybill resync`/,
      carryOut: async (lab) => {
        await edit(lab);
        await lab.capture({ filter: { entity: 'order', keys: [`${await key(lab)}`] } });
      },
    },
    row_unmapped: {
      arrange: async (lab) => {
        await lab.changeErp('UPDATE sales_order_lines SET qty=-qty');
        await lab.capture();
      },
      asks: 'retry',
      names: /correct it there/,
      carryOut: (lab) => lab.changeErp('UPDATE sales_order_lines SET qty=-qty'),
    },
    held_for_review: {
      settings: { capture: { maxUpdates: 0 } },
      arrange: async (lab) => {
        await works(lab);
        await edit(lab);
        await lab.capture({ sweep: true });
      },
      asks: 'retry',
      names: /`waybill confirm`/,
      carryOut: confirm,
    },
    taken_at_service: {
      arrange: created(`${forged.parked}, park_class='conflict', was_sent=1, claimed_at=1`),
      asks: 'retry',
      names: /`waybill outbox resolve`/,
      carryOut: isMissing,
    },
    key_of_other_record: {
      arrange: async (lab) => {
        await works(lab);
        await lab.changeErp("UPDATE sales_orders SET created_at='2026-10-01 12:00:00'");
        await lab.capture({ sweep: true });
      },
      asks: 'retry',
      names: /`waybill confirm --key KEY` overwrites.*`waybill outbox discard`/,
      carryOut: discards,
    },
    newer_revision: {
      arrange: async (lab) => {
        await works(lab);
        for (const qty of [77, 78]) {
          await editSampleLine(lab.erp, await key(lab), 1, qty);
          await works(lab);
        }
        await change(`UPDATE outbox_message SET ${refused} WHERE entity='order' AND revision=2`);
      },
      asks: 'retry',
      names: /Discard this message/,
      carryOut: () => say(kit, 'discard', { states: ['parked'] }),
    },
    key_forgotten: {
      arrange: created(`${forged.parked}, park_class='unproven', was_sent=1, first_sent_at=NULL, claimed_at=1`),
      asks: 'retry',
      names: /`waybill outbox resolve`/,
      carryOut: isMissing,
    },
    may_have_arrived: {
      arrange: created(doubted),
      asks: 'discard',
      names: /`waybill outbox resolve` first/,
      carryOut: isMissing,
    },
    would_be_second: {
      arrange: async (lab) => {
        await works(lab);
        await change(`UPDATE outbox_message SET ${refused} WHERE entity='order'`);
      },
      asks: 'retry',
      names: /Discard this message/,
      carryOut: discards,
    },
    nothing_in_doubt: {
      arrange: created(refused),
      asks: 'delivered',
      names: /`waybill outbox retry`/,
      carryOut: () => say(kit, 'retry', ofOrder),
    },
    no_look_up: {
      arrange: (lab) => loseAnswer(lab),
      asks: 'look_up',
      names: /service\.endpoints\.lookUpOrder/,
      carryOut: async (lab) => {
        const settings = { service: { endpoints: { lookUpOrder: sandboxLookUps.lookUpOrder } } };
        const { context } = lab.another({ settings });
        const request = { action: 'look_up', filter: ofOrder, serviceId: null, reason: 'a test' } as const;
        const { ids } = await planAction(context, request);
        expect(await actOnMessages(context, request, ids)).to.deep.equal({ done: 1, left: [] });
        await lab.another({ settings }).deliver();
      },
    },
    needs_service_id: {
      arrange: (lab) => loseAnswer(lab),
      asks: 'delivered',
      names: /--service-id/,
      carryOut: (lab) => say(kit, 'delivered', ofOrder, orderId(lab)),
    },
    other_service_id: {
      arrange: async (lab) => {
        await works(lab);
        await edit(lab);
        await loseAnswer(lab, { method: 'PATCH' });
      },
      asks: 'delivered',
      serviceId: 'ord_other',
      names: /it is ord_\S+ at the service, not ord_other/,
      carryOut: (lab) => say(kit, 'delivered', { states: ['in_doubt'] }, orderId(lab)),
    },
    moves_to_new_id: {
      arrange: async (lab) => {
        await works(lab);
        await change("UPDATE binding SET service_id='ELSE' WHERE entity='customer'");
        await lab.changeErp("UPDATE customers SET city='Neustadt', updated_at='2027-01-01 00:00:00'");
        await lab.capture({ sweep: true });
        await change(`UPDATE outbox_message SET ${doubted} WHERE entity='customer' AND operation='update'`);
      },
      asks: (lab) => planOf(lab, 'delivered', { entity: 'customer' }),
      names: /`waybill bindings move customer KEY --from ELSE --to \S+`/,
      carryOut: async (lab) => {
        const [{ source_key: sourceKey = '' } = {}] = await kit.rows(
          "SELECT source_key FROM binding WHERE entity='customer'",
        );
        const to = lab.sandbox.ledger().customers[0]?.customer_code ?? '';
        const move = { entity: 'customer', sourceKey: String(sourceKey), from: 'ELSE', to } as const;
        expect(await moveRecordBinding(lab.context, move, 'a person looked')).to.equal(null);
      },
    },
    no_binding: {
      arrange: (lab) => loseAnswer(lab),
      asks: async (lab) =>
        moveRecord.preview(
          actionContext(lab),
          { ...ofOrder, sourceKey: `${await key(lab)}` },
          { from: 'ord_1', to: 'ord_2', unchecked: true },
        ),
      names: /`waybill outbox resolve --delivered`/,
      carryOut: (lab) => say(kit, 'delivered', ofOrder, orderId(lab)),
    },
    no_baseline: {
      // As a row is held whose key the ERP has given before.
      arrange: created(`${forged.parked}, park_class='held', reason_code='key_given_before', reason_data='{}'`),
      asks: (lab) => heldAdopt.preview(actionContext(lab), {}, { first: false }),
      names: /send it, or discard it/,
      carryOut: confirm,
    },
    needs_delivery: {
      arrange: (lab) => lab.capture(),
      asks: (lab) => customerOf(lab, forget.preview),
      names: /let it be delivered/,
      carryOut: (lab) => lab.deliver(),
    },
    needs_settling: {
      arrange: async (lab) => {
        await works(lab);
        await lab.changeErp("UPDATE customers SET city='Neustadt', updated_at='2027-01-01 00:00:00'");
        await lab.capture({ sweep: true });
        await change(`UPDATE outbox_message SET ${refused} WHERE entity='customer' AND operation='update'`);
      },
      asks: (lab) => customerOf(lab, forget.preview),
      names: /`waybill outbox discard`/,
      carryOut: () => say(kit, 'discard', { states: ['parked'] }),
    },
  };

  async function planOf(lab: Lab, action: OperatorAction, filter: object, serviceId: string | null = null) {
    const plan = await planAction(lab.context, { action, filter, serviceId, unchecked: true, reason: '' });
    return { skipped: [...plan.skipped.values()] };
  }

  for (const [code, one] of Object.entries(cases))
    it(`ends ${code}`, async () => {
      const { settings = {}, asks, serviceId = null } = one;
      const lab = await kit.start({ customers: 1, orders: 1, settings });
      await one.arrange(lab);
      const reasons = async (): Promise<Fact[]> => {
        const ask = typeof asks === 'string' ? planOf(lab, asks, ofOrder, serviceId) : asks(lab);
        return (await ask).skipped.map(({ why }) => why);
      };
      const why = (await reasons()).find((fact) => fact.code === code);
      expect(why && tell(why), JSON.stringify(await reasons())).to.match(one.names);
      await one.carryOut(lab);
      await works(lab);
      const open = await kit.rows(
        "SELECT entity, operation, state, park_class, reason_code, reason_data FROM outbox_message WHERE state IN ('pending','sending','in_doubt','parked')",
      );
      expect(open).to.deep.equal([]);
      expect((await reasons()).map((fact) => fact.code)).to.not.include(code === 'already_discarded' ? '' : code);
      expect(lab.sandbox.counts()).to.include({ duplicateReferences: 0 });
    });
});
