import { DateTime } from 'luxon';
import type { SendingFacts } from '../../model/facts/sending.js';
import { openOutside } from '../../model/outside.js';
import { shellWord } from '../../model/shell-word.js';
import type { WordsFor } from '../sentence.js';

const differing = 'the service had it already, with other values: nothing is written over before somebody has looked';

export const sendingWords: WordsFor<SendingFacts> = {
  total_differs: ({ found, expected }) => `The service has a total of ${found}, and the lines add up to ${expected}.`,
  id_not_changed: ({ serviceId, newId }) => `The service calls it ${serviceId} still, and was to call it ${newId}.`,
  was_not_there: ({ reason }, say) => `The service did not have it any more: ${say.fact(reason)}`,
  found_by_look_up: ({ differs, count }) => {
    const more = count > differs.length ? ` and ${count - differs.length} more` : '';
    return `Found by look-up.${count > 0 ? ` It differs there in ${differs.join(', ')}${more}.` : ''}`;
  },

  acknowledged_as_other: ({ entity, sourceKey, serviceId }) =>
    `The service acknowledged it as ${serviceId}, but ${serviceId} is the ${entity} with the key ${sourceKey} already.`,
  acknowledged_twice: ({ entity, sourceKey, serviceId, boundTo }) => ({
    text: `The service acknowledged it as ${serviceId}, but this ${entity} is ${boundTo} at the service already, and ${serviceId} is another one there. It may be there twice.`,
    remedy: `If ${boundTo} stays, remove the other one there and use outbox resolve; if ${serviceId} stays: waybill bindings move ${entity} ${shellWord(sourceKey)} --from ${shellWord(boundTo)} --to ${shellWord(serviceId)} --reason "…"`,
  }),
  found_as_other: ({ entity, sourceKey, serviceId }) =>
    `A look-up finds ${serviceId}, but ${serviceId} is the ${entity} with the key ${sourceKey} already.`,
  found_twice: ({ entity, serviceId, boundTo }) =>
    `A look-up finds ${serviceId}, but this ${entity} is ${boundTo} at the service already, and ${serviceId} is another one there.`,
  found_perhaps_other: ({ entity, sourceKey, serviceId, shares }) =>
    `A look-up finds ${serviceId}, which proves nothing: the ${entity} with the key ${sourceKey} has the same ${shares}, and may have been sent as well.`,
  found_removed: ({ entity, serviceId }) => ({
    text: `The service shows ${serviceId}, which Waybill has removed there: it is the ${entity} as it was before, and proves nothing of this one.`,
    remedy: 'If there is no other one, `waybill outbox resolve --not-delivered` sends it under a new key.',
  }),
  found_with_other_lines: ({ serviceId }) =>
    `A look-up finds ${serviceId}, which proves nothing: it has other lines there.`,
  found_marked_removed: ({ serviceId }) =>
    `A look-up finds ${serviceId}, which proves nothing: it is marked there as removed.`,
  found_made_before: ({ serviceId, madeAt }) =>
    `A look-up finds ${serviceId}, which proves nothing: it was made there at ${openOutside(madeAt)}, before this record was first sent.`,
  found_with_other_total: ({ serviceId, found, expected }) =>
    `A look-up finds ${serviceId}, which proves nothing: its total there is ${found}, and the lines add up to ${expected}.`,
  found_with_other_customer: ({ serviceId }) =>
    `A look-up finds ${serviceId}, which proves nothing: it is another customer's.`,
  found_several: ({ count }) => `A look-up finds it ${count} times.`,
  exists_but_not_found: () => 'The service says that it exists, and a look-up finds nothing.',
  absence_proves_nothing: () =>
    'The service may have forgotten the key since the first try, and a look-up finds nothing, which proves nothing (absenceProves).',
  absent_under_first_key: () =>
    'A look-up by the idempotency key finds nothing, which proves nothing: the lost store may have sent the record again under a later key. Look for it by its number.',
  fails_again_and_again: () => ({
    text: 'The service fails at every try of this record while it takes others, and look-ups find nothing of it: it may keep its answer with the key.',
    remedy: 'If it is not there, `waybill outbox resolve --not-delivered` sends it under a new key.',
  }),
  look_up_inconclusive: ({ problem }, say) => `A look-up proves nothing: ${say.fact(problem)}.`,
  customer_not_shown: ({ reason }, say) => `the service does not show the customer (${say.fact(reason)})`,
  perhaps_under_way: () =>
    'A look-up finds nothing, but the service may still be working on the last request (service.maxProcessingSeconds). Waybill looks again when it can not be any more.',
  not_found_once: () => 'A look-up finds nothing. Waybill looks once more before it believes that.',
  rival_on_its_way: () =>
    'Another customer with its code is on its way, and may be the one that the service has: it is looked up once more.',
  key_perhaps_forgotten: ({ lifetimeKnown }) =>
    `${lifetimeKnown ? 'The service may have forgotten the key since the first try' : 'service.idempotency.lifetimeHours does not say how long the service remembers a key'}, so a resend could make a second record.`,
  key_shown_otherwise: () =>
    'Since it was sent, the settings show its key to the service in another way (header, quotes, method, path or account), so a resend could make a second record.',
  process_stopped: () =>
    'The process that was sending it stopped before its outcome was on record; it may have been sent.',
  outcome_not_recorded: () => 'The store failed before the outcome was on record.',

  sent_to_other_id: ({ from, to }) =>
    `It was sent to ${from}. The record is ${to} now, and gets every field in another message.`,
  already_held: () => 'The service holds these values already.',
  already_acknowledged: () => 'The service has acknowledged it already.',
  already_there_adopted: () => 'The service had it already: it is adopted.',
  left_before_sending: () => 'Before it was sent, its row was deleted in the ERP or is not to be sent any more.',
  erp_not_asked: () =>
    'It has waited, and the ERP cannot be asked whether it is still to be sent. Waybill asks again within a minute.',
  back_in_erp: () => 'Its record is in the ERP again, so it is not removed.',
  replaced_by_newer: () => 'A newer revision takes the place of the create.',
  adopted_differs: ({ clears }) =>
    clears
      ? {
          text: `${differing}. Updates replace it (PUT) and clear what only the service has`,
          remedy: "Name the service's own fields in service.adoption.ownFields.",
        }
      : differing,
  code_shared: ({ serviceId, sourceKey }) => ({
    text: `The service has ${serviceId} as the customer with the key ${sourceKey} of the ERP, so that two customers would have one code.`,
    remedy: `Give this customer a code of its own in the ERP. If ${sourceKey} has another code there by now, confirm that change first: waybill confirm customers --key ${shellWord(sourceKey)}`,
  }),
  shown_as_other: ({ boundTo, serviceId }) => `The service acknowledged it as ${boundTo}, and shows ${serviceId}.`,
  twin_unsettled: ({ serviceId, sourceKey }) => ({
    text: `The service's ${serviceId} may be the customer with the key ${sourceKey} of the ERP, which has the same code and is not settled.`,
    remedy: `Settle that one first: waybill outbox resolve --entity customer --key ${shellWord(sourceKey)}`,
  }),
  content_erased_unsent: () => ({
    text: 'Its content was erased, so there is nothing to send.',
    remedy:
      'Close it with `waybill outbox discard`, then capture its row again with `waybill resync orders --force --key KEY` (or `customers`).',
  }),
  content_erased_in_doubt: () =>
    'It may have reached the service, and its content was erased, so it cannot be sent again.',
  customer_code_differs: ({ sourceKey, named, bound, mayBeThere }) => ({
    text: `It names the customer code ${named}, but the service knows its customer ${sourceKey} as ${bound}: it would go to another customer.`,
    remedy: mayBeThere
      ? 'Look at the service, then use outbox resolve.'
      : "If the ERP is right, run `waybill explain` for the customer, settle what it waits for, and then run `waybill confirm orders`; otherwise correct the customer's code in the ERP.",
  }),

  has_other_id: ({ boundTo }) => `it is bound to ${boundTo} already`,
  id_is_of_other: ({ entity, sourceKey, serviceId }) =>
    `${serviceId} is the ${entity} with the key ${sourceKey} already`,
  id_was_removed: ({ entity, serviceId }) =>
    `${serviceId} is the ${entity} that Waybill has removed at the service; a row that is back is sent as a new record`,
  key_not_in_erp: () =>
    'no eligible row of the ERP has this key; keys are compared letter by letter, and a spreadsheet may have dropped zeros before a number',
  nothing_to_compare: ({ problem }, say) =>
    `its row can't be mapped, so that Waybill has nothing to compare with: ${say.fact(problem)}`,
  code_is_other: ({ found, serviceId }) =>
    `the service knows customers by their code, and the ERP says ${found}, not ${serviceId}`,
  stands_twice: ({ what, value, line }) => `the ${what} ${value} stands in line ${line} already`,
  is_being_sent: () => 'it is being sent right now: try again in a minute',
  was_removed_by_us: () => 'it was removed at the service by Waybill; a row that is back is sent as a new record',

  perhaps_sent_before_loss: ({ isProvable }) =>
    isProvable
      ? 'It may have been sent before the store was lost.'
      : 'It may have been sent before the store was lost, and nothing proves whether it exists.',
  perhaps_beside_first_key: () =>
    'The lost store may have sent it under a later key, or bound it to a record that others made, so a resend under its first key could make a second one. Look for it at the service.',
  perhaps_released_before_loss: ({ before }, say) => {
    const text = 'Somebody may have let it go before the store was lost, and nothing proves whether it exists';
    if (before === undefined) return `${text}.`;
    return `${text}. Until then it was held: ${say.fact(before)} Look at the service first: it is the same only if there is one of them.`;
  },
  keys_perhaps_forgotten: () =>
    'Customers that were sent again under their keys exist at the service already, so it may have forgotten the keys, and a resend could make a second order.',
  perhaps_respelled: () =>
    'The service may have it under another spelling of its key, whose binding was imported: its row is read again.',
  binding_imported: () => 'The service has it already: its binding was imported.',
  removal_imported: () => 'The service has it no more: its removal was imported.',
  before_keys_changed: ({ reason }, say) => `Before the keys changed: ${say.fact(reason)}`,

  equal_refusals: ({ count, reason }, say) => `${count} equal refusals in a row: ${say.fact(reason)}`,
  quiet_hours: ({ untilMs, timeZone }) => {
    const until = DateTime.fromMillis(untilMs, { zone: timeZone }).toFormat('yyyy-MM-dd HH:mm');
    return `quiet until ${until} ${timeZone} (schedule.quietHours)`;
  },
  credential_perhaps_new: () =>
    'the credential may be another one; one request goes to see whether the service takes it',
  limits_allow_more: () => 'the limits of the settings allow more',
  lease_lost: () => 'the delivery lease went to another process',
  nothing_went_through: ({ seconds, reason }, say) =>
    `nothing went through for ${seconds} s: ${reason === null ? 'no answer' : say.fact(reason)}`,
  words_left_out: () => 'Its row in the ERP could not become a record; `waybill explain` says why.',
  person_said: ({ text }) => openOutside(text),
  person_adopted: ({ text }) => `Adopted as the new baseline: ${openOutside(text)}`,
  service_unreachable: ({ reason }, say) => `The service is out of reach: ${say.fact(reason)}`,
  credential_refused: ({ reason, setting }, say) => ({
    text: `The service does not accept our credential (${say.fact(reason)})`,
    remedy: `Replace it (${setting}): a new file is tried by itself. Or say \`waybill resume service\`.`,
  }),
  lists_forbidden: ({ reason }, say) => ({
    text: `The service does not let us read the invoices (${say.fact(reason)})`,
    remedy: 'Check the address and the permissions, then `waybill resume pull`.',
  }),
  writes_forbidden: ({ reason }, say) => ({
    text: `The service does not let us deliver (${say.fact(reason)})`,
    remedy: 'Check the address and the permissions, then `waybill resume deliver`.',
  }),
  no_acknowledgements: ({ reason }, say) => ({
    text: `The service says success without an acknowledgement (${say.fact(reason)})`,
    remedy: 'Is service.baseUrl right? Then `waybill resume deliver`.',
  }),
  refused_in_a_row: ({ count, reason }, say) => ({
    text: `${count} equal refusals in a row (${say.fact(reason)})`,
    remedy: 'Is one setting wrong? Look at `waybill outbox --state parked`, then `waybill resume deliver`.',
  }),
};
