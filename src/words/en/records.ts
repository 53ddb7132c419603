import type { ColumnValue, RecordFacts } from '../../model/facts/records.js';
import { openOutside } from '../../model/outside.js';
import { pluralOf } from '../../model/record.js';
import { shellWord } from '../../model/shell-word.js';
import { quoted, type WordsFor } from '../sentence.js';
import { rowWords } from './rows.js';

const confirm = 'Look at the ERP, then `waybill confirm`.';
const plain = openOutside;

function rekey(entity: 'customer' | 'order', from: string, to: string): string {
  return `\`waybill rekey ${pluralOf(entity)} ${shellWord(from)} ${shellWord(to)}\``;
}

const named = {
  claimed_twice: (rival: string | undefined) => `and so does ${rival}: only one of them can be that record`,
  request_under_way: () => 'about which a request is under way: the next full scan goes on by itself',
  still_there: () => 'which the ERP still has: the next full scan goes on when that one is over',
  recovery_unsettled: () => 'which a lost store may have sent: the next full scan goes on when that is settled',
} as const;

function valueInWords({ column, value }: ColumnValue): string {
  return `${column} is ${value === null ? 'empty' : quoted(value)}`;
}

export const recordWords: WordsFor<RecordFacts> = {
  ...rowWords,
  left_with_status: valueInWords,
  not_pending_any_more: ({ settings, columns }) => {
    const values = columns.length === 0 ? '' : `: ${columns.map(valueInWords).join(', ')}`;
    return {
      text: `in the ERP it is not to be sent any more, by ${settings.join(' and ')}${values}; the service keeps what it has`,
      remedy:
        'To let the service know of a cancellation, name its mark in orders.cancelled, with orders.onCancelled; to be told of orders that leave in another way, name the others in orders.completed.',
    };
  },
  not_in_query_any_more: ({ setting }) => ({
    text: `in the ERP ${setting} has no row for it any more; the service keeps what it has until a full scan has missed it twice`,
    remedy: 'If deleted rows have to be removed at the service, set onDeleted: delete beside the query.',
  }),

  key_reused: ({ columns }) => {
    const shown = (value: (typeof columns)[number]['now']) => (value === null ? 'empty' : plain(value));
    const changes = columns.map(({ column, before, now }) => `${column} was ${shown(before)} and is ${shown(now)}`);
    return {
      text: `another record under an old key: ${changes.join(', ')}`,
      remedy:
        'Enter it in the ERP under a new key, or `waybill confirm` if it is the same record. `waybill rekey` if the keys of the ERP have changed.',
    };
  },
  may_have_been_sent: () => ({
    text: 'It may have been sent before the store was lost; its row could not become a record when that was settled',
    remedy: 'Look at the service, then use outbox resolve.',
  }),
  nothing_to_replace: () => ({
    text: 'It was cancelled or deleted in the ERP, and a PUT needs the whole record, of which nothing is known any more',
    remedy: 'Change it at the service by hand, then say `waybill outbox discard`.',
  }),

  earlier_change_held: () => 'an earlier change to it is held',
  mapping_changed: () => 'the mapping changed, and this record with it',
  seems_renamed: ({ entity, from, to }) => ({
    text: `renamed? ${from} had this ${entity === 'order' ? 'number' : 'code'} and is not found in the ERP any more, where ${to} has it now`,
    remedy: `${rekey(entity, from, to)} if it is the same ${entity}, or confirm it if it is another.`,
  }),
  name_unknown: ({ entity }) => ({
    text: `its row is gone from the ERP, and the recovery left nothing of its ${entity === 'order' ? 'number' : 'code'} by which the ERP could be asked whether it goes on under another key`,
    remedy: `\`waybill rekey ${pluralOf(entity)} OLD NEW\` if it goes on under another key, or confirm it if it was removed.`,
  }),
  replaces_record: ({ entity, from, to, spelled, because, rival }) => {
    const why = because === 'spelled_otherwise' ? `which may be ${spelled} in another spelling` : named[because](rival);
    return {
      text: `it replaces ${from}, says the ERP, ${why}`,
      remedy: `${rekey(entity, spelled ?? from, to)} if it goes on for that one, or confirm it if it is another.`,
    };
  },
  key_given_before: () => 'the ERP seems to have been restored, and this key was given before',
  lines_lost: ({ before, now, lost, lostSkus }) => {
    const some = lost.map(({ qty, sku }) => `${qty} × ${plain(sku)}`).join(', ');
    const more = lostSkus > lost.length ? ` and ${lostSkus - lost.length} more` : '';
    return {
      text: `the service has ${before} lines, and orders.lines.query yields ${now}: ${some}${more} would be gone`,
      remedy: 'Look whether a condition or a join took them; if they were deleted in the ERP, confirm it.',
    };
  },

  too_many_removals: ({ count, limit }) => `${count} removals in one pass, more than capture.maxRemovals (${limit})`,
  too_many_creates: ({ count, limit }) =>
    `${count} records in one pass that earlier passes left out, more than capture.maxCreates (${limit}): orders.startFrom or orders.pending may have changed`,
  too_many_updates: ({ count, limit }) => `${count} updates in one pass, more than capture.maxUpdates (${limit})`,
  source_empty: () => ({ text: 'the ERP has no rows any more, and it had some', remedy: confirm }),
  source_drained: ({ before }) => ({ text: `no row is eligible any more, and ${before} were`, remedy: confirm }),
  source_restored: ({ evidence }, say) => ({
    text:
      'legacy' in evidence
        ? plain(evidence.legacy)
        : `the ERP seems to have been restored from a backup: ${say.fact(evidence)}`,
    remedy: confirm,
  }),
  highest_key_fell: ({ found, before }) => `its highest key is ${plain(found)}, and it was ${plain(before)}`,
  latest_change_fell: ({ found, before }) => `its latest change is of ${plain(found)}, and it was of ${plain(before)}`,
  keys_turned: () => 'known keys belong to other records now',

  cancelled_before_sending: () => 'Cancelled in the ERP before it was sent.',
  replaced_before_sending: ({ by }) => `The ERP replaced it by ${by} before it was sent.`,
  renamed_before_sending: ({ to }) => `The ERP gave the order the key ${to} before it was sent.`,
  customer_of_other_source: ({ sourceKey }) =>
    `The service has this customer as the one with the key ${sourceKey}, which another source sends.`,
  goes_on_under_key: ({ entity, from, to }) => `It is the ${entity} ${from}, whose key is ${to} now.`,

  first_message_pruned: () => 'its first message was pruned; nothing is left that could be sent again',
  adopted_takes_changes_only: () => 'it was adopted: the service had it already, and takes changes to it only',
  update_acknowledged: () => 'the service acknowledged its latest update',
  found_without_key: () => 'it was found at the service, which never acknowledged its key',
  key_may_be_forgotten: () => 'the service may have forgotten its key, so that a resend could make a second record',
  needs_resolve: ({ parkClass }) => ({ text: `it is parked as ${parkClass}`, remedy: 'Use outbox resolve.' }),
  refused_when_repeated: () => 'the service acknowledged it before, and refused it when it was sent again',
  discarded_by_person: () => 'an operator discarded it',
  on_its_way: () => 'it is on its way already',
};
