import type { ReadInvoiceEndpoint } from '../../config/sections/service-endpoints.js';
import type { Settings } from '../../config/settings.js';
import type { PartFact } from '../../model/facts/fact-of.js';
import type { ListFact } from '../../model/facts/lists.js';
import { outside } from '../../model/outside.js';
import type { Invoice } from '../../model/record.js';
import { valueAt } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { raiseForbiddenRead } from '../../outbound/deliver/profile-notices.js';
import type { ServiceLease } from '../../outbound/deliver/service-lease.js';
import type { Question, ServiceReads } from '../../outbound/deliver/service-reads.js';
import { boundedText } from '../../store/rows.js';
import type { Store, Tx } from '../../store/store.js';
import { invoiceAmounts, readInvoice } from './invoice-page.js';
import { type OpenPull, type PullProgress, saveProgress } from './pull-record.js';
import { stageOwnRead } from './staging.js';
import { listIsProven } from './swap-invoices.js';

/**
 * The result of reading an invoice alone: money is due; or it has left, with its state in the service's words (null:
 * there is no such invoice); or neither, and `odd` says why.
 */
export type OwnRead = { due: Invoice } | { left: string | null } | { odd: PartFact };

export interface MissedInvoice {
  invoiceNo: string;
  customerCode: string | null;
  /** Its state when it was listed last. */
  status: string;
  /** It is proven to be off the list. */
  isOffList: boolean;
}

/** The settings that decide how an invoice is read by its number. */
export interface OwnReadTerms {
  endpoint: ReadInvoiceEndpoint;
  /** The states that mean that money is due. */
  states: readonly string[];
  /** Those that mean that no money is due any more. */
  settledStates: readonly string[];
  /** The currency of all amounts. */
  currency: string;
}

/** The terms of these settings; null: no invoice can be read alone. */
export function ownReadTerms({ service, invoices, amounts }: Settings): OwnReadTerms | null {
  const endpoint = service.endpoints.readInvoice;
  const { states, settledStates } = invoices;
  return endpoint ? { endpoint, states, settledStates, currency: amounts.currency } : null;
}

/** Reads the answer to the question for one invoice. Pure. */
export function readOwnInvoice(
  { endpoint, states, settledStates, currency }: OwnReadTerms,
  known: MissedInvoice,
  status: number,
  body: unknown,
): OwnRead {
  // A page for people, or nothing at all, may come from a gateway that has lost the service behind it.
  if (status === endpoint.absentStatus)
    return typeof body === 'object' && body !== null && !Array.isArray(body)
      ? { left: null }
      : { odd: { code: 'no_json' } };
  const value = endpoint.field === undefined ? body : valueAt(body, endpoint.field);
  if (valueAt(value, 'invoice_no') !== known.invoiceNo) return { odd: { code: 'other_record' } };
  const said = valueAt(value, 'status');
  // An invoice is due in the state with which it stands on the list, whatever its name. Once it is not due, its amount is
  // nothing to check. A state that nobody named takes no invoice off the list.
  const isListedSo = !known.isOffList && isOneOf([known.status], said);
  if (typeof said === 'string' && said !== '' && !isListedSo && !isOneOf(states, said)) {
    const unnamed: ListFact = { code: 'state_not_named', state: outside(said, 64) };
    if (!known.isOffList && !isOneOf(settledStates, said)) return { odd: unnamed };
    return { left: boundedText('invoice.left_status', said) };
  }
  const invoice = readInvoice(value, currency);
  if ('code' in invoice) return { odd: invoice };
  const customer = invoice.customer_code ?? known.customerCode;
  return { due: customer === null ? invoice : { ...invoice, customer_code: customer } };
}

/** Services write one state in several ways: "Unpaid" and "unpaid". */
function isOneOf(states: readonly string[], said: unknown): boolean {
  return typeof said === 'string' && states.some((state) => state.toLowerCase() === said.toLowerCase());
}

/** True if it says that there is no such invoice. An address that leads elsewhere says so of every invoice. */
export function isAbsent(said: OwnRead): boolean {
  return 'left' in said && said.left === null;
}

/** The question for one invoice by its number. The caller keeps the answer. */
export function invoiceQuestion(terms: OwnReadTerms, known: MissedInvoice): Omit<Question<OwnRead>, 'keep'> {
  const { endpoint } = terms;
  const { invoiceNo } = known;
  const number = endpoint.field === undefined ? 'invoice_no' : `${endpoint.field}.invoice_no`;
  return {
    purpose: 'read_invoice',
    path: endpoint.path.replaceAll('{invoice_no}', () => encodeURIComponent(invoiceNo)),
    query: {},
    answers: [endpoint.successStatus, endpoint.absentStatus],
    places: { values: [number], id: number, amounts: invoiceAmounts },
    read: (status, json) => readOwnInvoice(terms, known, status, json),
    detail: { invoiceNo },
  };
}

/**
 * Asks for listed invoices that the pull did not meet, one by one by their numbers: whether money is still due, and if not,
 * what became of them. A pull asks for `invoices.readsPerPull` of them, the longest missed first; the rest waits for the next.
 */
export async function askForMissed(
  { store, settings, nowMs }: JobContext,
  { lease }: ServiceLease,
  questions: ServiceReads,
  pull: OpenPull,
): Promise<void> {
  const terms = ownReadTerms(settings);
  const left = settings.invoices.readsPerPull - pull.progress.asked;
  if (!terms || left < 1) return;
  const missed = await store.read('look for missed invoices', (tx) => missedInvoices(tx, left));
  const controls = new Map<string, boolean>();
  for (const known of missed) {
    const { invoiceNo } = known;
    if (!canStandInPath(invoiceNo)) continue;
    const kind = escapesOf(invoiceNo);
    if (!known.isOffList && !controls.has(kind)) controls.set(kind, await findsListed(store, questions, terms, kind));
    const absenceCounts = controls.get(kind) === true;
    const next: PullProgress = { ...pull.progress, asked: pull.progress.asked + 1, requests: questions.requests + 1 };
    const asked = await questions.ask<OwnRead>({
      ...invoiceQuestion(terms, known),
      keep: async (tx, said, nowMs) => {
        if ('due' in said) await stageOwnRead(tx, invoiceNo, said.due, null);
        const isBelieved = !isAbsent(said) || known.isOffList || absenceCounts;
        if ('left' in said && isBelieved) await stageOwnRead(tx, invoiceNo, null, said.left);
        await saveProgress(tx, pull, next, nowMs);
      },
    });
    if ('noAnswer' in asked) {
      if (!asked.isRefused) return;
      await lease.write('count a refused question', (tx) => saveProgress(tx, pull, next, nowMs()));
    }
    pull.progress = next;
  }
}

/**
 * Asks for a listed invoice by its number, one whose address has the same escapes. @returns true if the service finds it. A wrong
 * address answers "no such invoice" to every number, and would empty the list.
 */
async function findsListed(store: Store, questions: ServiceReads, terms: OwnReadTerms, kind: string): Promise<boolean> {
  const listed = await store.read('look for an invoice that was met', (tx) => metInvoice(tx, kind));
  if (listed === null || !canStandInPath(listed.invoiceNo)) return false;
  const asked = await questions.ask<OwnRead>({
    ...invoiceQuestion(terms, listed),
    keep: async (tx, said, nowMs) => {
      if (!isAbsent(said)) return;
      await raiseForbiddenRead(
        tx,
        'read_invoice',
        { code: 'listed_but_not_found' },
        { invoiceNo: listed.invoiceNo },
        nowMs,
      );
    },
  });
  return 'value' in asked && !('odd' in asked.value) && !isAbsent(asked.value);
}

/** The characters of a number that an address holds in another form. A router may know no number that has them. */
function escapesOf(invoiceNo: string): string {
  return [...new Set(encodeURIComponent(invoiceNo).match(/(?:%[0-9A-F]{2})+/g))].sort().join(' ');
}

/** A segment of dots makes it another address, however the dots are encoded. */
export function canStandInPath(invoiceNo: string): boolean {
  return !/^\.{1,2}$/.test(invoiceNo);
}

/** Listed invoices that the pull in the making did not meet, the longest missed first. */
export async function missedInvoices(tx: Tx, limit: number): Promise<MissedInvoice[]> {
  const rows = await tx.rows(
    `SELECT invoice_no, customer_code, status, CASE WHEN ${listIsProven} THEN 1 ELSE 0 END AS is_off_list FROM invoice
      WHERE unlisted_at IS NULL AND NOT EXISTS (SELECT 1 FROM invoice_staging s WHERE s.invoice_no=invoice.invoice_no)
      ORDER BY CASE WHEN missed_at IS NULL THEN 1 ELSE 0 END, missed_at, invoice_no LIMIT ${Math.trunc(limit)}`,
  );
  return rows.map((row) => ({ ...row, isOffList: row.isOffList === 1 }));
}

/** Numbers among which a control is looked for. */
const mostControls = 5_000;

/** Some invoice that the pull in the making met on the list, with these escapes in its address; null: there is none. */
async function metInvoice(tx: Tx, kind: string): Promise<MissedInvoice | null> {
  const rows = await tx.rows(
    `SELECT invoice_no, customer_code, status FROM invoice_staging
      WHERE invoice_no IS NOT NULL AND list_kind<>'own' AND is_newest=1 AND malformed_code IS NULL
      ORDER BY invoice_no DESC LIMIT ${mostControls}`,
  );
  const found = rows.find(({ invoiceNo }) => canStandInPath(invoiceNo) && escapesOf(invoiceNo) === kind);
  return found ? ({ ...found, isOffList: false } as MissedInvoice) : null;
}
