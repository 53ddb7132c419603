import type { Outside } from '../outside.js';
import type { WriteBackKind } from '../write-back.js';
import type { FactOf, NoData, PartFact } from './fact-of.js';

/** The fault of a row of the service's list of invoices, which is therefore set aside. */
interface InvoiceRowFacts {
  unusable_invoice_field: { place: string; problem: Outside };
  invoice_of_other_customer: { customer: string; asked: string };
  invoice_of_other_currency: { named: Outside; currency: string };
  /** The service lists different invoices of this number; `customers`: some of theirs, where they differ. */
  invoice_number_shared: { customers: readonly string[] };
  /** As older versions stored it, where two customers had an invoice of this number. */
  invoice_also_listed: { customer: string };
  /** An invoice's own read says a state that neither `invoices.states` nor `invoices.settledStates` names. */
  state_not_named: { state: Outside };
  /** The service says that there is no such invoice, though its list has it. */
  listed_but_not_found: NoData;
}

/** The fault of a page of that list as a whole. */
interface PageFacts {
  page_no_json: NoData;
  page_without_list: { place: string };
  page_without_total: { place: string };
  /** An amount has a decimal point or an exponent. `invoiceNo`: null where the row has no fit number. */
  page_in_other_unit: { invoiceNo: Outside | null; found: Outside };
}

/** Why two readings in a row do not show the list as it was between them. */
interface ReadingFacts {
  total_changed: { before: number | null; first: number | null };
  invoices_came: { count: number };
  /** `strayed`: the service gave another page than the one asked for. */
  invoices_not_met: { met: number; total: number | null; strayed: boolean };
}

/** Why a list of invoices is not proven, was not read, or is not brought in. */
interface PullFacts {
  /** A total beyond what `invoices.maxListed` leaves room for. */
  total_beyond_room: { total: number; room: number };
  /** Two readings met more invoices than the service says there are. */
  total_too_small: { total: number; again: number };
  list_kept_changing: { readings: number; doubt: PartFact | null };
  /** Two readings are alike and lack something: the pages are counted in another way than the settings say. */
  pages_miss_invoices: { met: number; total: number | null; strayed: boolean; repeated: boolean };
  /** Rows that are known by no number: any missing invoice may be one of them. */
  invoices_without_number: { count: number };
  /** The last page that was read says that another one follows, and none could be had. */
  next_page_not_read: { page: number };
  strangers_on_page: { customer: Outside };
  /** `atEnd`: it comes after as many invoices as there are, and only an empty page or a 404 would show that these are all. */
  page_not_read: { page: number; state: string; reason: PartFact; atEnd: boolean };
  customer_list_unproven: { customer: string; reason: PartFact };
  invoices_wait_for_person: { count: number };
  /** Missing invoices of customers whose list was not proven. */
  invoices_of_unproven_lists: { count: number };
  pull_cut_short: NoData;
  /** More invoices would leave the list at once than these limits allow. */
  many_would_leave: { leaving: number; listed: number; maxDrops: number; maxDropShare: number };
}

/** The outcome of an event that the service announced. */
interface WebhookFacts {
  invoices_not_read: NoData;
  orders_not_read: NoData;
  event_names_no_order: NoData;
  event_given_up: NoData;
  list_pulled: { pullId: number; held: boolean };
  nothing_changed: NoData;
  /** `state`: its state at the service; null: the service has no such invoice. */
  invoice_unlisted: { state: Outside | null };
  invoice_had_left: { state: Outside };
  invoice_listed: { state: Outside };
  order_read: { state: Outside; changed: boolean };
  order_not_read: { reason: PartFact };
  order_not_there: NoData;
  order_not_ours: NoData;
  read_endpoint_not_set: NoData;
  sent_while_read: NoData;
  /** Several pulls found invoices gone that no event had announced. */
  webhooks_stopped: { pulls: number; invoices: number };
}

/** Why something could not be written into the ERP. */
interface WriteBackFacts {
  /** `kind`: unreachable, target or row. The message says what, where, and what to do next. */
  write_back_failed: { kind: string; message: Outside };
  /** Nothing of what the database says is kept, because it may quote a customer's data. */
  erp_refuses_row: { errorCode: string | null };
  /** The statement ran, and the record is pending as before. */
  still_pending: { kind: WriteBackKind; changedAt: Outside | null };
}

/** Facts about what is received, and about what is written back. */
export interface ListFacts extends InvoiceRowFacts, PageFacts, ReadingFacts, PullFacts, WebhookFacts, WriteBackFacts {}
export type ListFact = FactOf<ListFacts>;
export type DropFact = Extract<ListFact, { code: 'many_would_leave' }>;
