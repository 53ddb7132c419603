import { randomBytes } from 'node:crypto';
import { type Entity, entities } from '../../model/record.js';
import { type OperatorAction, operatorActions } from '../../operator/actions/decide-message.js';
import { type Confirmation, confirmHeld, summariseHeld } from '../../operator/actions/held-changes.js';
import {
  type ActionRequest,
  actOnMessages,
  type LeftAlone,
  nameLeft,
  planAction,
} from '../../operator/actions/message-actions.js';
import { type ClaimCheck, checkClaims, type SaidClaim } from '../../operator/check-claims.js';
import { idsOfCause, sumOrders } from '../../operator/figures/group-parked.js';
import { AmbiguousName, recordsMeant } from '../../operator/find-records.js';
import { shorten } from '../../operator/format.js';
import type { MessageFilter } from '../../operator/list-messages.js';
import type { heldInvoices } from '../../operator/lists/browse-invoices.js';
import { actionWords, heldWords } from '../../operator/words.js';
import type { JobContext } from '../../ops/job-context.js';
import { type ParkClass, parkClasses } from '../../outbound/outbox/message.js';
import { filterOf, nameIn } from '../filters.js';

/** A record in a preview. */
export interface PreviewRow {
  entity: Entity;
  sourceKey: string;
  number: string | null;
  what: string;
  state: string;
  why: string;
  becomes: string;
  /** What it would change, value by value; absent: not asked. */
  changes?: readonly string[];
}

export interface Outcome {
  done: number;
  left: LeftAlone[];
  reason: string;
}

type InvoiceRow = Awaited<ReturnType<typeof heldInvoices>>['rows'][number];

/** What a person is shown before it is done, and what does just that. */
export interface Prepared {
  /** Another person can't carry it out. */
  person: string;
  /** Such as "Try again now". */
  question: string;
  /** What it is called once it is done. */
  outcomeInWords: string;
  /** What is counted, one and many; messages unless it says otherwise. */
  noun?: readonly [one: string, many: string];
  count: number;
  /** The service's view of a record that a person says is there; if it differs, the person has to confirm again. */
  claims?: readonly { serviceId: string; check: ClaimCheck }[];
  /** What has to be known besides. */
  notes?: readonly string[];
  /** Where to look afterwards: a name, and its path on the desk. */
  back?: readonly [name: string, path: string];
  /** False where more match: only the oldest are meant. */
  isAll: boolean;
  /** null: it is not about money. */
  totals: Map<string, bigint> | null;
  rows: PreviewRow[];
  /** A sample of the invoices, where it is about those. */
  invoices?: readonly InvoiceRow[];
  /** What is special about many at once: counts by cause and by field. */
  spread: { name: string; count: number }[];
  /** What it can't be done with. */
  left: { why: string; count: number; example: LeftAlone | undefined }[];
  /** @param isUnchecked the person says so although the service does not show it */
  act(context: JobContext, reason: string, isUnchecked: boolean): Promise<Outcome>;
}

/** What is asked for makes no sense. */
export class WrongAction extends Error {
  override readonly name = 'WrongAction';
}

/** One action of the desk touches no more messages: what is left can be done again. */
export const mostAtOnce = 10_000;
/** A few of what a brake holds are sent first, to see that all is well. */
const fewFirst = 10;
const shownRows = 20;
/** A person waits for the answers. */
const mostAsked = 20;

/** Decides what a person asks for, and writes nothing. @throws WrongAction */
export async function prepare(context: JobContext, person: string, query: URLSearchParams): Promise<Prepared> {
  const action = query.get('action') ?? '';
  const held = /^held_(send|adopt|discard)$/.exec(action)?.[1] as Confirmation | undefined;
  if (held !== undefined) return prepareHeld(context, person, held, query);
  const known = operatorActions.find((one) => one === action);
  if (known === undefined) throw new WrongAction('There is no such action.');
  return prepareAction(context, person, known, query);
}

async function prepareAction(
  context: JobContext,
  person: string,
  action: OperatorAction,
  query: URLSearchParams,
): Promise<Prepared> {
  const { store, settings } = context;
  const { filter, cause } = await subjectOf(context, query);
  const ids =
    cause === null
      ? undefined
      : await store.read('find what has this cause', (tx) => idsOfCause(tx, cause, mostAtOnce));
  const serviceId = action === 'delivered' ? query.get('serviceId')?.trim() || null : null;
  const request: ActionRequest = { action, filter, serviceId, reason: '', ...(ids && { ids }) };
  const ask = async (claims: readonly SaidClaim[]): Promise<Map<number, ClaimCheck>> =>
    claims.length > mostAsked ? new Map() : checkClaims(context, null, claims);
  // The preview names records that the service does not show; they need a second confirmation.
  const plan = await planAction(context, { ...request, unchecked: true }, { most: mostAtOnce, ask });
  if (serviceId !== null && plan.ids.length > 1)
    throw new WrongAction('An id of the service names one record, and several match.');
  const words = actionWords[action];
  return {
    person,
    question: words.question.replace(/:$/, ''),
    outcomeInWords: words.outcome,
    count: plan.ids.length,
    isAll: plan.isAll && (ids === undefined || ids.length < mostAtOnce),
    totals: await sumOrders(store, settings, plan.ids),
    rows: plan.examples.map(({ message, decision }) => ({
      ...message,
      what: message.operation,
      state: message.parkClass ? `${message.state} (${message.parkClass})` : message.state,
      why: message.reason ?? '',
      becomes:
        decision.to === 'delivered'
          ? `delivered as ${decision.serviceId}`
          : `${decision.to}${'newKey' in decision && decision.newKey ? ', with a new key' : ''}`,
    })),
    spread: [],
    left: [...plan.leftByReason].map(([why, count]) => ({
      why,
      count,
      example: plan.leftExamples.find((one) => one.why === why),
    })),
    claims: plan.examples.flatMap(({ message, decision }) => {
      const check = plan.checks.get(message.id);
      return check && decision.to === 'delivered' ? [{ serviceId: decision.serviceId, check }] : [];
    }),
    act: async (actingContext, reason, unchecked) => {
      const said = { ...request, reason, unchecked };
      const acted = await actOnMessages(actingContext, said, plan.ids, plan.shown, plan.checks);
      return { ...acted, reason };
    },
  };
}

/** A value that a form of ours encoded, so that no character was changed on the page. */
export function decoded(query: URLSearchParams, name: string): string | null {
  const value = query.get(name);
  try {
    return value === null ? null : decodeURIComponent(value);
  } catch {
    throw new WrongAction('The address makes no sense.');
  }
}

/** Which messages are meant: of one record, of one cause, or of a filter. */
async function subjectOf(
  { store, settings }: JobContext,
  query: URLSearchParams,
): Promise<{ filter: MessageFilter; cause: { parkClass: ParkClass | null; reason: string } | null }> {
  const entity = entities.find((one) => one === query.get('entity'));
  const sourceKey = decoded(query, 'record');
  const reason = decoded(query, 'cause');
  if (sourceKey !== null) {
    if (entity === undefined) throw new WrongAction('A record is named by what it is and by its key.');
    return { filter: { records: [{ entity, sourceKey }] }, cause: null };
  }
  if (reason !== null) {
    const parkClass = parkClasses.find((one) => one === query.get('class')) ?? null;
    return { filter: { states: ['parked'] }, cause: { parkClass, reason } };
  }
  const filtered = new URLSearchParams(query);
  for (const name of ['key', 'reason']) if (query.has(name)) filtered.set(name, decoded(query, name) ?? '');
  const asked = nameIn(filtered, settings);
  const meant = asked && store.read('look for a record', (tx) => recordsMeant(tx, [asked.name], asked.naming));
  const records = await meant?.catch((error: unknown) => {
    if (!(error instanceof AmbiguousName)) throw error;
    throw new WrongAction(`${error.message}. Nothing was done. Open the record that you mean, and act there.`);
  });
  const filter = { ...filterOf(filtered), ...(records && { records }) };
  if (Object.keys(filter).length === 0) throw new WrongAction('Say which records are meant.');
  return { filter, cause: null };
}

async function prepareHeld(
  context: JobContext,
  person: string,
  confirmation: Confirmation,
  query: URLSearchParams,
): Promise<Prepared> {
  const entity = entities.find((one) => one === query.get('entity'));
  const key = decoded(query, 'record');
  if (entity === undefined) throw new WrongAction('Say whether orders or customers are meant.');
  const filter = { entity, ...(key !== null && { records: [{ entity, sourceKey: key }] }) };
  const { summary, shown: all } = await summariseHeld(context, filter);
  const few = query.get('first') !== null && all.ids.size > fewFirst;
  // With a few of them alone, the brake stays on for the others.
  const shown = few ? { ids: new Set([...all.ids].slice(0, fewFirst)), brakes: [] } : all;
  const words = heldWords[confirmation];
  return {
    person,
    question: words.question.replace(/:$/, ''),
    outcomeInWords: words.outcome,
    count: shown.ids.size,
    isAll: true,
    totals: await sumOrders(context.store, context.settings, [...shown.ids]),
    rows: summary.first.slice(0, few ? fewFirst : shownRows).map((one) => ({
      ...one,
      what: one.operation,
      state: 'held',
      why: one.reason,
      becomes: one.fields.length > 0 ? `changes ${one.fields.join(', ')}` : one.operation,
      changes: one.changes.map(
        ({ field, acknowledged, erp }) => `${field}: ${inWords(acknowledged)} → ${inWords(erp)}`,
      ),
    })),
    spread: few
      ? []
      : [
          ...summary.brakes.map(({ reason }) => ({ name: `ends the brake: ${reason}`, count: 1 })),
          ...summary.groups.map(({ operation, reason, count }) => ({ name: `${operation}: ${reason}`, count })),
          ...summary.fields.map(({ field, count }) => ({ name: `changes ${field}`, count })),
        ],
    left: [],
    act: async (actingContext, reason) => {
      const { done, leftIds } = await confirmHeld(actingContext, filter, confirmation, shown, reason);
      // More names than a page shows are not needed.
      const left = await context.store.read('name what was left alone', (tx) =>
        nameLeft(tx, leftIds.slice(0, mostAtOnce)),
      );
      return { done, left, reason };
    },
  };
}

/** A value in a line of changes. */
function inWords(value: string | null): string {
  return value === null ? 'nothing' : shorten(value, 80);
}

interface Kept {
  prepared: Prepared;
  madeAtMs: number;
  /** Once it was begun; so that sending a form twice does it once. */
  run: Promise<Outcome> | null;
}

/** A preview of 10,000 messages takes a megabyte. */
const mostKept = 20;
const keptMs = 3_600_000;

/** What people were shown, until they answer. In memory alone: after a restart they look again. */
export class PreparedActions {
  readonly #kept = new Map<string, Kept>();

  constructor(private readonly nowMs: () => number) {}

  keep(prepared: Prepared): string {
    const id = randomBytes(16).toString('base64url');
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= mostKept && oldest !== undefined) this.#kept.delete(oldest);
    this.#kept.set(id, { prepared, madeAtMs: this.nowMs(), run: null });
    return id;
  }

  /** null: it is not this person’s, or not kept any more. */
  find(id: string, person: string): Kept | null {
    const kept = this.#kept.get(id);
    if (kept === undefined || kept.prepared.person !== person) return null;
    return this.nowMs() - kept.madeAtMs < keptMs ? kept : null;
  }
}
