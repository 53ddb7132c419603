import type { RecoveryFacts } from '../../model/facts/recovery.js';
import { pluralOf } from '../../model/record.js';
import { shellWord } from '../../model/shell-word.js';
import type { WordsFor } from '../sentence.js';

const stopped = 'This one has stopped and writes nothing more.';
const ended = 'Another `waybill recover` came to its end while this one ran, and delivery';
const list = '--file, with the new key and the id at the service';

/** Whole sentences where a command ends with them; the others stand behind `Not done:`. */
export const recoveryWords: WordsFor<RecoveryFacts> = {
  stop_daemon_first: ({ reason }, say) => `${say.fact(reason)}. Stop the daemon first.`,
  stop_holder_first: ({ holder }) => `${holder} is running. Stop it first.`,
  rekey_is_under_way: ({ entity }) => `\`waybill rekey ${pluralOf(entity)}\` is under way.`,
  keys_of_two_sources: ({ from, to }) => `${from} and ${to} are keys of two sources.`,
  several_sources_one_by_one: () =>
    'With several sources the keys of all records are not changed at once: give the old and the new key of each record.',

  same_keys: () => 'both keys are the same',
  record_not_known: ({ entity, key }) => `the store knows no ${entity} ${key}`,
  erp_still_has: ({ entity, from, to }) => `the ERP still has the ${entity} ${from}, so ${to} is another one`,
  erp_has_no_key: ({ entity, key }) => `the ERP has no ${entity} ${key}`,
  both_at_service: ({ entity, from, fromId, to, toId }) =>
    `the ${entity} ${to} is at the service as ${toId}, and ${from} as ${fromId ?? 'nothing'}: remove the one that is too many there`,
  new_key_may_be_there: ({ entity, key }) =>
    `the ${entity} ${key} may be at the service: \`waybill explain ${entity} ${shellWord(key)}\` says why`,
  request_about_key: ({ key }) => `a request about ${key} is under way: wait a moment`,
  removed_at_service: ({ entity, from, to }) =>
    `the service has no ${from} any more. If ${to} is held: \`waybill confirm ${pluralOf(entity)} --key ${shellWord(to)}\``,

  known_from_other_name: ({ count, name }) =>
    `the service has ${count} of them already, as records of ${name}: put the name ${name} back`,
  key_names_other: ({ entity, key, change }, say) =>
    `a key names another record now (${entity} ${key}: ${say.fact(change)})`,
  none_under_their_keys: ({ count }) => `none of ${count} delivered records is in the ERP under its key`,

  listed_pair_unknown: ({ key, serviceId }) =>
    `the list says that ${key} is ${serviceId}: the ERP has no such key, or the store no such id`,
  records_not_told_apart: () => `nothing tells some of the records apart: say which is which (${list})`,
  no_known_record_found: () => 'none of the known records is in the ERP: put the settings back',
  rest_may_be_known: ({ gone, unknown }) =>
    `${gone} known records were not found, and ${unknown} rows are none of those that were: they may be the same. Say which is which (${list}), or that the rest of the rows are new records (--rest-is-new)`,

  earlier_requests_open: () =>
    'Requests that left before delivery was held have not come to their end. Delivery stays held. Look at `waybill status`, then run recover again.',
  nothing_is_held: () => 'Nothing is held.',
  source_unreadable: ({ source, reason }, say) =>
    `The source ${source || 'of the section erp'} could not be read: ${say.fact(reason)}`,
  erp_not_read_whole: ({ reason }, say) =>
    `The ERP could not be read to its end: ${say.fact(reason)}. Settle that (a pause ends with \`waybill resume capture\`), then run recover again.`,
  lines_still_missing: ({ orders, first }) =>
    `${orders} orders still wait for their lines (the first is ${first}), so afterwards it would be unknown whether they were sent. Run recover again when they have their lines.`,
  held_anew: ({ loss }, say) =>
    `${ended} is held anew because ${say.fact(loss)}. ${stopped} Look at what there is to recover now: \`waybill recover --dry-run\`.`,
  other_recovery_ended: () =>
    `${ended} goes on. ${stopped} See what became of the records: \`waybill audit --outcome recover\`, then \`waybill outbox --state parked\`.`,
};
