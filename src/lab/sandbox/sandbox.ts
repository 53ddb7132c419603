import type { CustomerRecord, Invoice } from '../../model/record.js';
import type { FaultInput, FaultPlan } from './fault-plan.js';
import type { InvoiceChange, Ledger, LedgerCounts } from './ledger.js';
import type { Limit, SandboxOptions } from './options.js';
import type { TokenCounts } from './token-desk.js';
import type { SentWebhook } from './webhook-sender.js';

/** The options that may change while the sandbox runs. */
export type RunningOptions = Omit<
  SandboxOptions,
  | 'port'
  | 'tls'
  | 'limits'
  | 'faults'
  | 'customers'
  | 'seed'
  | 'keyLifetimeMs'
  | 'replayRefusals'
  | 'compareBodies'
  | 'maxBodyBytes'
  | 'orderReferenceField'
  | 'nowMs'
  | 'monotonicMs'
  | 'random'
>;

/** An invoice as tests add it; what is absent is filled in: the next number, unpaid, due in `paymentTermDays`. */
export type InvoiceInput = Pick<Invoice, 'amount'> & Partial<Invoice>;

/** What can be done with a sandbox besides asking it over HTTP. Everything takes effect at once. */
export interface SandboxControls {
  /** What was asked and what is there now. Builds a list of all records; see `counts` for the cheap part. */
  ledger(): Ledger;
  counts(): LedgerCounts;

  /** Replaces all faults. Throws a TypeError that names what is wrong with them. */
  setFaults(faults: readonly FaultInput[]): void;
  /** Appends; a request meets the first fault of the list that fires. */
  addFaults(faults: readonly FaultInput[]): void;
  clearFaults(): void;
  /** The faults with how many requests matched and how many were hit. */
  faults(): ReturnType<FaultPlan['list']>;

  /** Replaces all limits, with empty windows; null lifts them. */
  setLimit(limit: Limit | readonly Limit[] | null): void;
  /** Changes options in mid-run: a new token, forbidden, delays, the form of Retry-After, … */
  change(options: Partial<RunningOptions>): void;
  forgetKeys(): void;

  /** Requests for access tokens so far. They are no requests of the ledger. */
  tokenCounts(): TokenCounts;
  /** Takes no access token any more that was given so far. */
  expireTokens(): void;

  /** Customers that somebody else makes, under keys of their own. Throws a TypeError for a code that is there. */
  addCustomers(customers: readonly CustomerRecord[]): void;

  /** What somebody at the service does with an order. @returns what the order is now */
  setOrder(orderId: string, values: { status?: string; total?: number }): { status: string; total: number };
  /** Takes an order away, as somebody at the service would. */
  removeOrder(orderId: string): void;

  addInvoices(invoices: readonly InvoiceInput[]): Invoice[];
  payInvoice(invoiceNo: string): Invoice;
  setInvoiceStatus(invoiceNo: string, status: string): Invoice;
  removeInvoice(invoiceNo: string): void;
  /** What was done with invoices because `invoiceChanges` is set, in order. */
  invoiceChanges(): readonly InvoiceChange[];

  /** Webhooks that went out so far, the oldest first. */
  webhooks(): readonly SentWebhook[];
  /** Sends a webhook of any kind. Throws a TypeError while `webhooks` is not set. @returns its id */
  announce(type: string, data: unknown): string;
  /** Sends one again, byte for byte. @returns the status of the answer; null: there was none */
  repeatWebhook(id: string): Promise<number | null>;
  /** Resolves when all webhooks were sent. */
  webhooksSent(): Promise<void>;
}

/** A running sandbox. */
export interface Sandbox extends SandboxControls {
  /** `http://127.0.0.1:PORT` (or https), without a slash at its end. */
  readonly url: string;
  readonly port: number;
  /** Stops listening and cuts every connection, but keeps all that the service knows: connections are refused until `comeBack`. */
  goDown(): Promise<void>;
  /** Listens on the same port again. */
  comeBack(): Promise<void>;
  /** Ends promptly, even with requests that hang. */
  close(): Promise<void>;
}
