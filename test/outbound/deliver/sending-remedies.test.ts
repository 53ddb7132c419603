import { expect } from 'chai';
import type { Fact } from '../../../src/model/facts/fact.js';
import type { SendingFacts } from '../../../src/model/facts/sending.js';
import type { ServiceFacts } from '../../../src/model/facts/service.js';
import { moveRecordBinding } from '../../../src/operator/actions/move-binding.js';
import { resumeLanes } from '../../../src/operator/actions/pause-jobs.js';
import type { Lane } from '../../../src/store/lane-pauses.js';
import { isFact, remedyFor } from '../../../src/words/words.js';
import { cancelSampleOrder } from '../../support/change-sample-erp.js';
import { forged } from '../../support/forged.js';
import { type Lab, type LabOptions, onAnyLab } from '../../support/jobs/job-lab.js';
import { say } from '../../support/jobs/say.js';
import { sandboxLookUps } from '../../support/sandbox-look-ups.js';

/**
 * Codes of sending that say what is so, end by themselves, or are a part of another one. A message that waits for a person with
 * one of them gets the steps of its park class (`adviseParked`): `outbox resolve` for what may be at the service, else a correction
 * in the ERP, `outbox retry` or `confirm`.
 */
type OfItsClass =
  | 'total_differs'
  | 'id_not_changed'
  | 'was_not_there'
  | 'found_by_look_up'
  | 'acknowledged_as_other'
  | 'found_as_other'
  | 'found_twice'
  | 'found_perhaps_other'
  | 'found_with_other_lines'
  | 'found_marked_removed'
  | 'found_made_before'
  | 'found_with_other_total'
  | 'found_with_other_customer'
  | 'found_several'
  | 'exists_but_not_found'
  | 'absence_proves_nothing'
  | 'absent_under_first_key'
  | 'look_up_inconclusive'
  | 'customer_not_shown'
  | 'perhaps_under_way'
  | 'not_found_once'
  | 'rival_on_its_way'
  | 'key_perhaps_forgotten'
  | 'key_shown_otherwise'
  | 'process_stopped'
  | 'outcome_not_recorded'
  | 'sent_to_other_id'
  | 'already_held'
  | 'already_acknowledged'
  | 'already_there_adopted'
  | 'left_before_sending'
  | 'erp_not_asked'
  | 'back_in_erp'
  | 'replaced_by_newer'
  | 'shown_as_other'
  | 'content_erased_in_doubt'
  | 'has_other_id'
  | 'id_is_of_other'
  | 'id_was_removed'
  | 'key_not_in_erp'
  | 'nothing_to_compare'
  | 'code_is_other'
  | 'stands_twice'
  | 'is_being_sent'
  | 'was_removed_by_us'
  | 'perhaps_sent_before_loss'
  | 'perhaps_beside_first_key'
  | 'perhaps_released_before_loss'
  | 'keys_perhaps_forgotten'
  | 'perhaps_respelled'
  | 'binding_imported'
  | 'removal_imported'
  | 'before_keys_changed'
  | 'equal_refusals'
  | 'quiet_hours'
  | 'credential_perhaps_new'
  | 'limits_allow_more'
  | 'lease_lost'
  | 'nothing_went_through'
  | 'words_left_out'
  | 'person_said'
  | 'person_adopted'
  | 'service_unreachable';
type OfTheService =
  | 'http_refused'
  | 'http_failed'
  | 'success_says_failed'
  | 'no_acknowledgement'
  | 'unusable_answer'
  | 'unauthorised_and_held'
  | 'no_json'
  | 'no_json_object'
  | 'unusable_text'
  | 'no_amount'
  | 'names_no_id'
  | 'credential_in_id'
  | 'other_record'
  | 'no_list'
  | 'no_match_fields'
  | 'none_is_ours'
  | 'look_up_goes_on'
  | 'several_shown'
  | 'path_field_missing'
  | 'path_field_dots'
  | 'look_up_field_empty'
  | 'look_up_field_dots'
  | 'content_erased'
  | 'no_way_to_read_orders'
  | 'content_unknown'
  | 'timed_out'
  | 'connection_timed_out'
  | 'no_connection'
  | 'connection_broken'
  | 'no_secure_connection'
  | 'answer_cut_off'
  | 'request_failed'
  | 'stopping'
  | 'client_closed'
  | 'gate_not_asked'
  | 'lease_ending'
  | 'node_at_rest'
  | 'right_to_send_lost'
  | 'leave_not_noted'
  | 'probe_under_way'
  | 'outage'
  | 'lane_paused'
  | 'key_expired'
  | 'clock_was_set'
  | 'limit_used_up'
  | 'announced_limit_used_up'
  | 'slowed_down'
  | 'no_token'
  | 'unusable_token'
  | 'wrong_token_type'
  | 'unsendable_token';
/**
 * Remedies that other suites carry out: kept-failure (`fails_again_and_again`), customer-code (`customer_code_differs`),
 * adopt-customers (`adopted_differs`, `unusable_id`), secure-connections (`proxy_refused`).
 */
type Elsewhere =
  | 'fails_again_and_again'
  | 'customer_code_differs'
  | 'adopted_differs'
  | 'proxy_refused'
  | 'unusable_id';
type Code = Exclude<keyof (SendingFacts & ServiceFacts), OfItsClass | OfTheService | Elsewhere>;

interface Case {
  options?: LabOptions;
  /** Makes the fact come up. */
  breaks(lab: Lab): Promise<unknown>;
  /** A word of the remedy that tells what is done. */
  names: RegExp;
  /** Does what the remedy says. The last run is under the settings of the lab that it returns. */
  mends(lab: Lab): Promise<Lab>;
}

onAnyLab('the remedy of what stops a message or all sending', (kit) => {
  const change = (sql: string, ...values: string[]) => kit.store.transaction('for a test', (tx) => tx.run(sql, values));
  const resume = (lab: Lab, lane: Lane) => resumeLanes(lab.context, [lane], 'a person looked');
  const both = async (lab: Lab) => {
    await lab.capture({ sweep: true });
    await lab.deliver();
  };
  const cancels = {
    orders: { cancelled: { column: 'status', values: ['cancelled'] }, onCancelled: 'delete' },
    service: { endpoints: { ...sandboxLookUps, deleteOrder: {} } },
  } as const;
  const onPost = { method: 'POST', path: '/v1/orders' } as const;
  const oneAtATime = { service: { concurrency: 1 } };
  const retry = () => say(kit, 'retry', { states: ['parked'] });

  const cases: Record<Code, Case> = {
    credential_refused: {
      breaks: async (lab) => {
        lab.sandbox.change({ token: 'another-token' });
        await both(lab);
      },
      names: /`waybill resume service`/,
      mends: async (lab) => {
        lab.sandbox.change({ token: 'sandbox-token' });
        await resume(lab, 'service');
        return lab;
      },
    },
    lists_forbidden: {
      breaks: async (lab) => {
        await both(lab);
        lab.sandbox.setFaults([{ kind: 'status', status: 403, match: { method: 'GET' } }]);
        await lab.pull();
      },
      names: /`waybill resume pull`/,
      mends: async (lab) => {
        lab.sandbox.clearFaults();
        await resume(lab, 'pull');
        expect((await lab.pull()).outcome).to.equal('proven');
        return lab;
      },
    },
    writes_forbidden: {
      options: { settings: oneAtATime },
      breaks: async (lab) => {
        lab.sandbox.setFaults([{ kind: 'status', status: 403 }]);
        await both(lab);
      },
      names: /`waybill resume deliver`/,
      mends: async (lab) => {
        lab.sandbox.clearFaults();
        await resume(lab, 'deliver');
        return lab;
      },
    },
    no_acknowledgements: {
      options: { settings: oneAtATime },
      breaks: async (lab) => {
        lab.sandbox.setFaults([{ kind: 'status', status: 201, body: { hello: 'world' }, match: onPost }]);
        await both(lab);
      },
      names: /`waybill resume deliver`/,
      mends: async (lab) => {
        lab.sandbox.clearFaults();
        await say(kit, 'not_delivered', { states: ['parked'] });
        await resume(lab, 'deliver');
        return lab;
      },
    },
    refused_in_a_row: {
      options: { orders: 12, settings: oneAtATime },
      breaks: async (lab) => {
        lab.sandbox.setFaults([
          { kind: 'status', status: 400, body: { error: { code: 'invalid', message: 'no' } }, match: onPost },
        ]);
        await both(lab);
      },
      names: /`waybill outbox --state parked`.*`waybill resume deliver`/,
      mends: async (lab) => {
        lab.sandbox.clearFaults();
        await retry();
        await resume(lab, 'deliver');
        return lab;
      },
    },
    acknowledged_twice: {
      breaks: async (lab) => {
        await lab.capture();
        // As a person binds it while its create is under way.
        await change(
          `INSERT INTO binding (entity, source_key, service_id, revision, generation, mapping_fingerprint, acknowledged_at, folded_key)
           SELECT entity, source_key, 'ord_first', revision, generation, mapping_fingerprint, captured_at, folded_key
             FROM outbox_message WHERE entity='order'`,
        );
        await lab.deliver();
      },
      names: /waybill bindings move order \S+ --from ord_first --to \S+/,
      mends: async (lab) => {
        const [parked] = await kit.rows("SELECT source_key FROM outbox_message WHERE state='parked'");
        const to = lab.sandbox.ledger().orders[0]?.order_id ?? '';
        const move = { entity: 'order', sourceKey: String(parked?.source_key), from: 'ord_first', to } as const;
        expect(await moveRecordBinding(lab.context, move, 'a person looked')).to.equal(null);
        await say(kit, 'delivered', { states: ['parked'] }, to);
        return lab;
      },
    },
    found_removed: {
      options: { settings: cancels },
      breaks: async (lab) => {
        await lab.capture();
        // As a service leaves it that goes on showing what was removed.
        await change(
          `UPDATE outbox_message SET ${forged.parked}, park_class='conflict', was_sent=1,
             reason_code='found_removed', reason_data='{"entity":"order","serviceId":"ord_gone"}' WHERE entity='order'`,
        );
      },
      names: /`waybill outbox resolve --not-delivered`/,
      mends: async (lab) => {
        await say(kit, 'not_delivered', { states: ['parked'] });
        return lab;
      },
    },
    code_shared: {
      options: {
        customers: 2,
        orders: 2,
        sandbox: { customers: [{ customer_code: 'ONE', name: 'Another Name' }] },
        settings: { customers: { fields: { customer_code: 'street' } } },
      },
      breaks: async (lab) => {
        await lab.changeErp("UPDATE customers SET street='ONE'");
        await both(lab);
      },
      names: /a code of its own in the ERP/,
      mends: async (lab) => {
        const [parked] = await kit.rows(
          "SELECT source_key FROM outbox_message WHERE state='parked' AND reason_code='code_shared'",
        );
        const values = [String(parked?.source_key)];
        // The other one is adopted, and what differs of it is another matter.
        await change("UPDATE outbox_message SET state='discarded', waits_for=NULL WHERE reason_code='adopted_differs'");
        await lab.changeErp("UPDATE customers SET street='TWO', updated_at='2026-12-01 10:00:00' WHERE id=?", values);
        await lab.capture({ sweep: true });
        return lab;
      },
    },
    twin_unsettled: {
      options: { customers: 2, orders: 2, settings: { customers: { fields: { customer_code: 'street' } } } },
      breaks: async (lab) => {
        await lab.changeErp("UPDATE customers SET street=CASE WHEN id=1 THEN 'ONE' ELSE 'TWO' END");
        await lab.capture();
        await change(
          `UPDATE outbox_message SET ${forged.parked}, park_class='unproven', was_sent=1, reason_code='process_stopped', reason_data='{}'
            WHERE entity='customer' AND source_key='1'`,
        );
        await change(
          `UPDATE outbox_message SET ${forged.parked}, park_class='refused',
             reason_code='twin_unsettled', reason_data='{"entity":"customer","sourceKey":"1","serviceId":"ONE"}'
            WHERE entity='customer' AND source_key='2'`,
        );
      },
      names: /waybill outbox resolve --entity customer --key 1/,
      mends: async (lab) => {
        await say(kit, 'not_delivered', { entity: 'customer', keys: ['1'] });
        await retry();
        return lab;
      },
    },
    content_erased_unsent: {
      breaks: async (lab) => {
        await lab.capture();
        await change('DELETE FROM message_body WHERE message_id=(SELECT MAX(id) FROM outbox_message)');
        await lab.deliver();
      },
      names: /`waybill outbox discard`.*`waybill resync orders --force --key KEY`/,
      mends: async (lab) => {
        const [parked] = await kit.rows("SELECT source_key FROM outbox_message WHERE state='parked'");
        await say(kit, 'discard', { states: ['parked'] });
        const keys = [String(parked?.source_key)];
        await lab.capture({ filter: { entity: 'order', keys }, force: true });
        return lab;
      },
    },
    http_redirected: {
      options: { settings: oneAtATime },
      breaks: async (lab) => {
        lab.sandbox.setFaults([{ kind: 'redirect' }]);
        await both(lab);
      },
      names: /correct service\.baseUrl/,
      mends: async (lab) => {
        lab.sandbox.clearFaults();
        await resume(lab, 'deliver');
        return lab;
      },
    },
    http_perhaps_blocked: {
      options: { settings: oneAtATime },
      breaks: async (lab) => {
        lab.sandbox.setFaults([{ kind: 'status', status: 403, body: { error: { code: 'blocked', message: 'wait' } } }]);
        await both(lab);
      },
      names: /service\.answers\.blocked/,
      mends: async (lab) => {
        lab.sandbox.clearFaults();
        await resume(lab, 'deliver');
        return lab.another({ settings: { service: { answers: { blocked: [{ status: 403, pattern: 'blocked' }] } } } });
      },
    },
    removal_not_found: {
      options: { settings: cancels },
      breaks: async (lab) => {
        await both(lab);
        const body = { error: { code: 'no_route', message: 'no such path' } };
        lab.sandbox.setFaults([{ kind: 'status', status: 404, body, match: { method: 'DELETE' } }]);
        const [order] = await kit.rows("SELECT source_key FROM binding WHERE entity='order'");
        await cancelSampleOrder(lab.erp, Number(order?.source_key));
        await both(lab);
      },
      names: /check the path of the removal/,
      mends: async (lab) => {
        lab.sandbox.clearFaults();
        await retry();
        return lab;
      },
    },
    other_success_status: {
      options: { settings: { service: { concurrency: 1, endpoints: { createOrder: { successStatus: 200 } } } } },
      breaks: both,
      names: /set service\.endpoints\.createOrder\.successStatus to it/,
      mends: async (lab) => {
        await resume(lab, 'deliver');
        await retry();
        return lab.another({ settings: { service: { endpoints: { createOrder: { successStatus: 201 } } } } });
      },
    },
    decimal_amount: {
      breaks: async (lab) => {
        const body = { order_id: 'ord_1', status: 'accepted', total: 12.5 };
        lab.sandbox.setFaults([{ kind: 'status', status: 201, body, match: onPost }]);
        await both(lab);
      },
      names: /set service\.checkTotal: off/,
      mends: async (lab) => {
        lab.sandbox.clearFaults();
        await resume(lab, 'deliver');
        await say(kit, 'not_delivered', { states: ['parked'] });
        return lab.another({ settings: { service: { checkTotal: 'off' } } });
      },
    },
    request_too_large: {
      breaks: async (lab) => {
        await lab.capture();
        await lab.another({ settings: { service: { maxRequestBytes: 60 } } }).deliver();
      },
      names: /raise service\.maxRequestBytes/,
      mends: async (lab) => {
        await retry();
        return lab;
      },
    },
  };

  /** All facts on record: of messages, pauses, and the alerts in the audit, with the facts in them. */
  const onRecord = async (): Promise<Fact[]> => {
    const rows = [
      ...(await kit.rows('SELECT reason_code AS code, reason_data AS data FROM outbox_message')),
      ...(await kit.rows('SELECT reason_code AS code, reason_data AS data FROM lane_pause')),
    ];
    const alerts = await kit.rows("SELECT detail FROM audit_log WHERE event='alert'");
    const found: Fact[] = [];
    const collect = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return;
      if (isFact(value)) found.push(value);
      for (const member of Object.values(value)) collect(member);
    };
    for (const { code, data } of rows) if (code) collect({ ...JSON.parse(String(data ?? '{}')), code });
    for (const { detail } of alerts) collect(JSON.parse(String(detail)));
    return found;
  };

  for (const [code, { options, breaks, names, mends }] of Object.entries(cases))
    it(`ends ${code}`, async () => {
      const lab = await kit.start({ customers: 1, orders: 1, ...options });
      await breaks(lab);
      const fact = (await onRecord()).find((one) => one.code === code);
      expect(fact && remedyFor(fact), JSON.stringify((await onRecord()).map((one) => one.code))).to.match(names);
      const mended = await mends(lab);
      await mended.deliver();
      await mended.capture({ sweep: true });
      await mended.deliver();
      const open = await kit.rows(
        `SELECT entity, state, park_class, reason_code, reason_data FROM outbox_message
          WHERE state IN ('pending','sending','in_doubt','parked')`,
      );
      expect(open).to.deep.equal([]);
      expect(await kit.rows('SELECT lane, cause FROM lane_pause')).to.deep.equal([]);
      expect(lab.sandbox.counts()).to.include({ duplicateReferences: 0 });
    });
});
