import type { ListFacts } from '../../model/facts/lists.js';
import { openOutside } from '../../model/outside.js';
import type { WordsFor } from '../sentence.js';

const another = (strayed: boolean) => (strayed ? ', and the service gave another page than the one asked for' : '');

export const listWords: WordsFor<ListFacts> = {
  unusable_invoice_field: ({ place, problem }) => `${place}: ${openOutside(problem)}`,
  invoice_of_other_customer: ({ customer, asked }) =>
    `customer_code: it belongs to ${customer}, and ${asked} was asked for`,
  invoice_of_other_currency: ({ named, currency }) =>
    `currency: ${openOutside(named)}, and amounts.currency is ${currency}`,
  invoice_number_shared: ({ customers }) =>
    customers.length > 0
      ? `invoice_no: the service lists invoices of ${customers.join(' and ')} with this number`
      : 'invoice_no: the service lists several invoices with this number, which differ in amount or due date',
  invoice_also_listed: ({ customer }) => `invoice_no: it is also listed for customer ${customer}`,
  state_not_named: ({ state }) =>
    `status: ${openOutside(state)}, which neither invoices.states nor invoices.settledStates names`,
  listed_but_not_found: () => 'it says that there is none, though it stands on the list',

  page_no_json: () => 'the page is no JSON that can be read: broken, a name twice in one object, or nested too deep',
  page_without_list: ({ place }) => `${place}: there is no list`,
  page_without_total: ({ place }) => `${place}: there is no whole number from 0`,
  page_in_other_unit: ({ invoiceNo, found }) =>
    `the amount${invoiceNo === null ? '' : ` of ${openOutside(invoiceNo)}`} is ${openOutside(found)}. With a decimal point or an exponent it is not in the smallest unit of the currency, so no amount of this list counts. Have the service give whole numbers (119820 for 1,198.20 EUR), or set invoices.enabled: false`,

  total_changed: ({ before, first }) => `the total went from ${before} to ${first}`,
  invoices_came: ({ count }) => `${count} came that no reading before it had met`,
  invoices_not_met: ({ met, total, strayed }) => `${met} of ${total} were met${another(strayed)}`,

  total_beyond_room: ({ total, room }) => ({
    text: `the service says that there are ${total} invoices, and this pull has room for ${room} more (invoices.maxListed)`,
    remedy: 'Compare invoices.paging.fields.total with the answer; if the number is right, raise invoices.maxListed.',
  }),
  total_too_small: ({ total, again }) => ({
    text: `the service says that there are ${total} invoices, and ${again} were met in two readings: the total is smaller than the list`,
    remedy:
      'Check that invoices.paging.fields.total names the number of all invoices, not of those on one page; if it does, the service caps it.',
  }),
  list_kept_changing: ({ readings, doubt }, say) =>
    `the list changed in each of ${readings} readings${doubt ? `: in the last one ${say.fact(doubt)}` : ''}`,
  pages_miss_invoices: ({ met, total, strayed, repeated }) => {
    const again = repeated ? ', and a later page repeated an earlier one' : '';
    const why = strayed ? another(true) : again;
    return {
      text: `${met} of ${total} were met, the same in the last two readings${why}, and the pages do not cover the list`,
      remedy: 'Check invoices.paging.firstPage, invoices.paging.page and invoices.paging.limit.',
    };
  },
  invoices_without_number: ({ count }) =>
    `${count} ${count === 1 ? 'row has' : 'rows have'} no invoice number, and each listed invoice may be one of them`,
  next_page_not_read: ({ page }) => ({
    text: `page ${page} says that another one follows, and asking for it brought nothing new`,
    remedy:
      'Check invoices.paging.page. A service that gives its pages by cursors or links alone cannot be read: set invoices.enabled to false.',
  }),
  strangers_on_page: ({ customer }) => `the service also gave invoices of ${openOutside(customer)}`,
  page_not_read: ({ page, state, reason, atEnd }, say) => {
    const text = `page ${page} of ${state} could not be read: ${say.fact(reason)}`;
    return atEnd
      ? `${text.replace(/\.$/, '')}. It comes after as many invoices as the service says there are, and only a page without invoices, or a 404, would show that these are all`
      : text;
  },
  customer_list_unproven: ({ customer, reason }, say) => `customer ${customer}: ${say.fact(reason)}`,
  invoices_wait_for_person: ({ count }) => ({
    text: `${count} listed invoices that are missing wait for a person`,
    remedy: 'See them with `waybill confirm invoices --dry-run`.',
  }),
  invoices_of_unproven_lists: ({ count }) => `${count} listed invoices belong to no customer whose list was proven`,
  pull_cut_short: () => 'The process stopped before the pull ended.',
  many_would_leave: ({ leaving, listed, maxDrops, maxDropShare }) =>
    `${leaving} of ${listed} listed invoices would leave the list at once, more than invoices.maxDrops (${maxDrops}) and invoices.maxDropShare (${maxDropShare}) allow`,

  invoices_not_read: () => 'invoices are not read (invoices.enabled)',
  orders_not_read: () => 'orders are not read (service.endpoints.readOrder)',
  event_names_no_order: () => 'it names no order (webhooks.fields.orderId)',
  event_given_up: () => 'could not be read for an hour; the schedule finds what changed',
  list_pulled: ({ pullId, held }) =>
    `the list was pulled (pull ${pullId})${held ? ', and the safety limit holds it' : ''}`,
  nothing_changed: () => 'nothing had changed',
  invoice_unlisted: ({ state }) =>
    `no longer listed: ${state === null ? 'the service has no such invoice' : openOutside(state)}`,
  invoice_had_left: ({ state }) => `it had left already: ${openOutside(state)}`,
  invoice_listed: ({ state }) => `listed as ${openOutside(state)}`,
  order_read: ({ state, changed }) => `read: ${openOutside(state)}${changed ? '' : ', as before'}`,
  order_not_read: ({ reason }, say) => `not read: ${say.fact(reason)}`,
  order_not_there: () => 'the service has no such order',
  order_not_ours: () => 'no order of ours',
  read_endpoint_not_set: () => 'service.endpoints.readOrder is not set',
  sent_while_read: () => 'an update of it was sent while it was read',
  webhooks_stopped: ({ pulls, invoices }) => ({
    text: `webhooks seem to have stopped: ${pulls} pulls found ${invoices} invoices gone from the list that no event announced`,
    remedy: 'Check the reverse proxy, and the address and the kinds of events that the service was given.',
  }),

  write_back_failed: ({ message }) => openOutside(message),
  erp_refuses_row: ({ errorCode }) => `the ERP refuses the row (${errorCode ?? 'no code'}).`,
  still_pending: ({ kind, changedAt }) => ({
    text: `it is pending as before after writeBack.${kind}.clearPending ran with :changed_at ${changedAt && openOutside(changedAt)}`,
    remedy: 'Correct the statement.',
  }),
};
