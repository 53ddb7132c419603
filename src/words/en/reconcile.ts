import type { FindingCause, LeftToPerson, ReconcileFacts } from '../../model/facts/reconcile.js';
import { openOutside } from '../../model/outside.js';
import type { WordsFor } from '../sentence.js';

interface CauseWords {
  /** The finding in words. */
  text: string;
  /** The step for a person where a repair leaves the finding as it is. */
  remedy: (left: Pick<LeftToPerson, 'subject' | 'mostGone' | 'nothingShown'>) => string;
}

const unsendable: CauseWords['remedy'] = ({ subject }) =>
  `its row may not be sent any more (${subject}.pending): let it be sent there, or correct the service by hand`;
const isRepaired = () => 'a repair sends it';

/** The one table of what a comparison finds: in words, and what to do. */
export const findingCauses: Readonly<Record<FindingCause, CauseWords>> = {
  never_sent: { text: 'missing at the service: never sent', remedy: isRepaired },
  gone_at_service: {
    text: 'missing at the service: gone since it was acknowledged',
    remedy: ({ nothingShown, mostGone }) =>
      nothingShown
        ? 'the service showed not one record, so that its address may be wrong: check service.endpoints; if it is right, compare again once a new record is there'
        : `more than capture.maxRemovals (${mostGone}) are gone at once: look at the service first; if they are, ${mostGone > 0 ? 'repair by --from and --to' : 'raise capture.maxRemovals'}`,
  },
  gone_unsendable: { text: 'missing at the service: gone, and its row may not be sent any more', remedy: unsendable },
  discarded: {
    text: 'missing at the service: discarded by a person',
    remedy: ({ subject }) =>
      `a person discarded it: edit the row in the ERP, or say \`waybill resync ${subject} --force --key KEY\``,
  },
  withdrawn: { text: 'missing at the service: withdrawn, and eligible again', remedy: isRepaired },
  changed: { text: 'different', remedy: isRepaired },
  changed_unsendable: { text: 'different, and its row may not be sent any more', remedy: unsendable },
  deleted_in_erp: {
    text: 'extra at the service: deleted in the ERP',
    remedy: ({ subject }) => `${subject}.onDeleted is nothing: remove it at the service by hand`,
  },
  in_doubt: {
    text: 'not judged: in doubt',
    remedy: () => 'look at the service, then say `waybill outbox resolve`',
  },
  unproven: {
    text: 'not judged: its last request may still take effect',
    remedy: () => 'its last request may still take effect: compare again later',
  },
  under_way: { text: 'not judged: on its way', remedy: () => 'it is on its way: compare again later' },
  parked: { text: 'not judged: parked', remedy: () => '`waybill outbox --state parked` says what to do' },
  held: { text: 'not judged: held', remedy: () => 'a safety limit holds it: `waybill confirm` shows what it would do' },
  unmapped: { text: 'not judged: its row can not become a record', remedy: () => 'correct the row in the ERP' },
  waiting: {
    text: 'not judged: it waits for its lines',
    remedy: () => 'it waits for its lines: compare again later',
  },
  filtered: {
    text: 'not judged: cancelled in the ERP',
    remedy: ({ subject }) => `${subject}.onCancelled says so`,
  },
  unread: {
    text: 'not judged: the service did not show it',
    remedy: () => 'the service did not show it: compare again, or check service.endpoints',
  },
  new_on_list: { text: 'was missing here', remedy: () => 'the pull has brought the list up to date' },
  left_list: {
    text: 'was listed here, and has left the service’s list',
    remedy: () => 'the pull has brought the list up to date',
  },
  not_proven: {
    text: 'not judged: nothing proves that it has left',
    remedy: () => 'compare again: only a proven list takes it off',
  },
};

export const reconcileWords: WordsFor<ReconcileFacts> = {
  message_in_doubt: ({ operation, reason }, say) =>
    `its ${operation} may have been sent: ${reason ? say.fact(reason) : 'its outcome is not known'}`,
  message_on_its_way: ({ operation }) => `its ${operation} is on its way`,
  waits_for_person: ({ operation, parkClass, reason }, say) =>
    `its ${operation} is parked (${parkClass})${reason ? `: ${say.fact(reason)}` : ''}`,
  sent_while_compared: () => 'it was sent while it was compared',
  not_shown: ({ reason }, say) => say.fact(reason),
  row_unusable: ({ reason }, say) => say.fact(reason),
  row_not_found: () => 'the ERP has it, but its query does not yield a row with this key',
  may_still_appear: () => 'the service does not show it yet, and may still be working on its last request',
  not_at_service_any_more: () => 'the service does not show it any more',
  not_in_erp_any_more: () => 'the ERP has it no more',
  cancelled_in_erp: ({ onCancelled }) => `it is cancelled in the ERP, and onCancelled says ${onCancelled}`,
  fields_differ: ({ fields, count }) =>
    `${fields.join(', ')}${count > fields.length ? ` and ${count - fields.length} more` : ''}`,
  values_differ: ({ fields }) => {
    const said = (value: unknown) => (value === null ? 'nothing' : JSON.stringify(value));
    return fields
      .map(({ field, erp, service }) => `${field}: ${said(erp)} in the ERP, ${said(service)} at the service`)
      .join('; ');
  },
  waits_for_lines: ({ reason }, say) => say.fact(reason),
  message_discarded: ({ reason }, say) => `a person discarded it${reason ? `: ${say.fact(reason)}` : ''}`,
  withdrawn_and_eligible: () => 'it was withdrawn or removed, and is eligible again',
  was_never_sent: () => 'it was never sent',
  invoice_off_list: ({ state }) =>
    `the service lists it no more${state === null ? '' : `: it is ${openOutside(state)}`}`,
  invoice_perhaps_off_list: () => 'the list was read without it, and nothing proves that it has left',
  invoice_on_list: ({ state }) => `the service lists it as ${openOutside(state)}`,
  invoice_changed: () => 'its amount, its due date, its customer or its state has changed',
  finding_erased: () => 'erased',

  another_begun: () => 'Another one was begun.',
  process_stopping: () => 'stopping',
  invoices_not_enabled: () => 'invoices.enabled is false: there is no list to compare',
  list_not_read: () => 'the list of invoices could not be read',
  list_proven: ({ passes, pages }) =>
    `Proven: the list was read ${passes} times, on ${pages} pages, and two readings in a row agree.`,
  list_not_proven: ({ passes, pages, reason }, say) =>
    `Not proven: the list was read ${passes} times, on ${pages} pages${reason ? `, and ${say.fact(reason)}` : ''}`,
  none_asked: ({ subject }) => `The service was asked for none of the ${subject}: nothing is proven of what it has.`,
  known_asked: ({ subject, isAll, unread }) => {
    const unseen = 'What somebody else made there is in no list that Waybill reads: it can not be seen.';
    if (!isAll) return `Only some of the ${subject} that Waybill knows at the service were asked for yet. ${unseen}`;
    if (unread === 0)
      return `Each of the ${subject} that Waybill knows at the service was asked for, one by one. ${unseen}`;
    return `The service did not show ${unread} of the ${subject} that Waybill knows there: they stand in no sum. Each of the others was asked for, one by one. ${unseen}`;
  },
  not_comparable: ({ reason }, say) => `This can not be compared: ${say.fact(reason)}.`,
  orders_not_askable: () =>
    'orders need service.endpoints.readOrder or lookUpOrder: without one, the service can not be asked for an order',
  found_of_records: ({ cause }) => findingCauses[cause].text,
  left_to_person: ({ cause, ...left }) => `${findingCauses[cause].text}: ${findingCauses[cause].remedy(left)}`,
};
