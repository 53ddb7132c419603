import type { ActionFacts, ClaimSides, NamedAs } from '../../model/facts/actions.js';
import { formatAmount } from '../../model/minor-units.js';
import { openOutside } from '../../model/outside.js';
import { shellWord } from '../../model/shell-word.js';
import type { WordsFor } from '../sentence.js';
import { span } from '../span.js';

const ways: Readonly<Record<NamedAs, string>> = {
  key: 'by its key',
  number: 'by its number',
  code: 'by its code',
  id: "by the service's id",
};

export const actionWords: WordsFor<ActionFacts> = {
  already_delivered: () => 'it is delivered',
  already_superseded: () => 'a newer revision has replaced it',
  already_discarded: () => 'it was discarded; `waybill resync` reads a changed record again',
  being_sent: () => 'it is being sent right now; try again when its outcome is known',
  already_due: () => 'it is due already; `waybill explain` says what it waits for',
  scan_unfinished: () => 'the scan that found it has not ended; only its end shows whether it is put on hold',
  row_unmapped: () =>
    'its row in the ERP could not be mapped to a record: correct it there, and Waybill reads it again',
  held_for_review: () => 'it is on hold: `waybill confirm` shows what it would do, and sends it',
  taken_at_service: () =>
    'something exists at the service under its key or code: look there, then `waybill outbox resolve`',
  // It was never sent, and its binding is the other record's: either answer would overwrite that one or lose this one.
  key_of_other_record: () =>
    'its key belongs to another record than the one at the service: `waybill confirm --key KEY` overwrites that one with it, `waybill outbox discard` closes it',
  newer_revision: () =>
    'a newer revision of the record is on its way or delivered, and this one would undo it. Discard this message',
  key_forgotten: () =>
    'the service may have forgotten its key since the first try, so a resend could create a second record: look there, then `waybill outbox resolve`',
  may_have_arrived: () => 'it may have taken effect: look at the service and say `waybill outbox resolve` first',
  key_seen: () => 'the service has seen its key (it asked us to wait); it is delivered or parked at its next try',
  still_working: ({ until }, { time }) =>
    `the service may still be working on its last request, so it may be there in a moment: look again after ${time(until)}, and say it then`,
  would_be_second: ({ serviceId }) =>
    `the service has acknowledged this record already, as ${serviceId}: another create could make a second one. Discard this message`,
  nothing_in_doubt: () =>
    'nothing of it is in doubt: resolve is for `in_doubt`, `unproven` and `conflict`; try `waybill outbox retry`',
  nothing_to_look_up: () => 'only creates that are `in_doubt` or `unproven` are looked up',
  no_look_up: ({ entity }) =>
    `the settings do not say how the service is asked for it (service.endpoints.${entity === 'order' ? 'lookUpOrder' : 'lookUpCustomer'})`,
  needs_service_id: () => 'say which record at the service it is: --service-id',
  other_service_id: ({ serviceId, said }) => `it is ${serviceId} at the service, not ${said}`,
  moves_to_new_id: ({ entity, from, to }) =>
    `the service knows it by its ${entity === 'customer' ? 'code' : 'number'}, which this change turns from ${from} into ${to}: if it has arrived, say \`waybill bindings move ${entity} KEY --from ${shellWord(from)} --to ${shellWord(to)}\``,
  service_id_removed: ({ entity, serviceId }) =>
    `${serviceId} is the ${entity} that Waybill has removed at the service`,
  service_id_taken: ({ entity, serviceId, heldBy }) =>
    `${serviceId} is the ${entity} with the key ${heldBy} already: look at the service which of the two it is`,
  unproven_claim: ({ serviceId, check: { kind, reason, sides } }, say) => {
    const why = reason === null ? '' : `: ${say.fact(reason)}`;
    const shown = sides.length === 0 ? '' : `; it shows ${sidesInWords(sides)}`;
    return kind === 'differs'
      ? `${serviceId} at the service is another record${why}${shown}`
      : `nothing shows that ${serviceId} at the service is this record${why}${shown}`;
  },
  claim_not_asked: () => 'the service was not asked',
  claim_not_answered: () => 'the process that talks to the service has not answered',
  claim_absent: () => 'the service has no such record',
  claim_differs: ({ fields }) => `it differs in ${fields.join(', ')}`,
  claim_unnamed: () => 'what the service shows of it names neither number nor customer',
  no_baseline: () => 'the service never had it, so there is nothing to adopt: send it, or discard it',
  same_ids: () => 'both ids are the same',
  no_binding: () => 'Waybill has no binding of it: `waybill outbox resolve --delivered` makes one',
  request_under_way: () => 'a request about it is under way',
  no_message: () => 'no message matches',
  listed_twice: () => 'another line of the list names the same record',
  key_in_lines: ({ lines }) => `the key stands in the lines ${lines.join(', ')}`,
  service_id_in_lines: ({ serviceId, lines }) => `the id ${serviceId} stands in the lines ${lines.join(', ')}`,
  line_unreadable: ({ message }) => `the quotes or the length are wrong: ${openOutside(message)}`,
  line_columns: ({ found, needed }) =>
    `it has ${found} columns; write ${needed === 1 ? 'the key of the ERP alone' : 'the key of the ERP and the id at the service'}`,
  line_without_key: () => 'the key of the ERP is empty',
  line_without_service_id: () => 'the id at the service is empty',
  line_too_long: ({ limit }) => `a key or an id is longer than ${limit} characters`,
  line_service_id_spaced: () => 'the id at the service begins or ends with a space, or holds a line break',
  ambiguous_name: ({ records }) => `it names ${records} records: write a key or a number for each that no other has`,
  changed_since_shown: ({ state }) =>
    `it has changed since it was shown${state === null ? '' : `, and is \`${state}\` now`}`,
  other_list: () => 'the list is another one by now: look at it again',
  moved_on: ({ records }) => `${records} of them had moved on since they were compared`,
  invoice_listed_again: () => 'a pull has met it since, so it stays',
  unknown_customer: () => 'nothing is known of it',
  needs_delivery: ({ states }) =>
    `a message of it is ${states.join(' and ')}: let it be delivered, or close it with \`waybill outbox discard\` or \`resolve\`, first`,
  needs_settling: () => 'a message of it is parked: settle it with `waybill outbox discard` or `resolve` first',

  id_names_one: ({ records }) =>
    `An id of the service names one record, and ${records} match. Name the record by its key.`,
  subject_not_named: () => 'Say what is to be compared.',
  list_has_no_month: () => 'The list of invoices is compared whole.',
  no_month: () => 'A month is written as 2026-11.',
  comparison_gone: () => 'There is no such comparison any more.',
  comparison_not_repairable: () => 'Only a comparison of orders or customers that has ended can be repaired.',
  name_ambiguous: ({ name, some, count }) => {
    const listed = some.map(({ entity, sourceKey, number, as }) => {
      return `${entity} ${sourceKey}${number === null ? '' : ` (number ${number})`}, ${as.map((one) => ways[one]).join(' and ')}`;
    });
    const more = count > some.length ? ` and ${count - some.length} more` : '';
    return `${name} names ${count === 1 ? '1 record' : `${count} records`}: ${listed.join('; ')}${more}`;
  },
  comparison_too_old: () => 'This comparison is older than an hour: compare anew, and look at its list.',

  goes_to: ({ state, newKey }) => `${state}${newKey ? ', with a new key' : ''}`,
  is_delivered_as: ({ serviceId }) => `delivered as ${serviceId}`,
  goes_out: ({ as }) =>
    ({ create: 'created', removal: 'removed at the service', it_is: 'sent', whole: 'sent with all its fields' })[as],
  changes_fields: ({ fields }) => (fields.length > 0 ? `changes ${fields.join(', ')}` : 'update'),

  would_erase: ({ key, bodies, excerpts, orderBodies }) =>
    `Of customer ${key}: ${bodies} bodies, ${excerpts} answers of the service, and what it last acknowledged. Its key, its id at the service and hashes stay, so that nothing is sent twice. ${
      orderBodies > 0
        ? `${orderBodies} bodies of its orders stay until retention prunes them; they name the customer by its code alone, unless the mapping adds more. `
        : ''
    }Backups of the store, and the service itself, still hold the data.`,
  erased: ({ messages, bodies, excerpts }) =>
    `Forgotten: ${bodies} bodies, ${excerpts} answers of ${messages} messages. While its row is in the ERP, Waybill captures a change there and sends it whole. Backups of the store, and the service itself, still hold the data.`,
  would_move: ({ entity, sourceKey, from, to }) =>
    `${entity} ${sourceKey} is ${from} at the service, and will be ${to}.`,
  moved: () => 'The next pass compares it with the ERP and sends what differs.',
  would_unlist: ({ invoices, sum, currency, scale }) =>
    `${invoices} invoices, ${formatAmount(sum, scale)} ${currency} in all, are missing from the service’s list.`,
  look_up_follows: () => 'A running daemon asks the service for them. Without one: waybill sync deliver',
  would_end_hold: ({ entity, source, reason }, say) =>
    `ends the hold on all updates and removals of ${entity}s${source ? ` of source ${source}` : ''}: ${say.fact(reason)}`,
  held_for: ({ entity, operation, reason }, say) =>
    `${entity} ${operation}: ${reason === null ? '' : say.fact(reason)}`,
  would_change_field: ({ entity, field }) => `${entity} update: changes ${field}`,
  compares_whole_list: () =>
    'The list is read page by page until it is proven, as by any pull, and brought up to date by that.',
  compares_records: ({ subject, month, requests, seconds }) =>
    `The service is asked for ${month === null ? '' : `those of ${month} among `}${requests} ${subject} one by one: ${
      seconds === null ? 'no limit is configured' : `${span(seconds * 1000)} at the limit`
    }${month === null ? '' : ' at most'}, and longer where anything else waits, because everything else goes first. Nothing is changed by it, on either side.`,
  comparison_goes_on: () => 'It goes on where the last one is.',
  comparison_replaces: () => 'The one that is under way stops for it.',
  would_repair: ({ list }) =>
    `This is list ${list}. The records are marked; then a sweep captures them, and the outbox delivers them past all holds.`,
  removal_follows: () =>
    'A record counts as deleted when two sweeps in a row have missed it: its removal follows by itself.',
};

/** Both sides of a check in a line: `number A-2 (ours A-1), total 100 (ours 250)`. Pure. */
export function sidesInWords(sides: readonly ClaimSides[]): string {
  return sides
    .map(({ what, ours, service }) => `${what} ${service ?? '(not shown)'} (ours ${ours ?? '(none)'})`)
    .join(', ');
}
