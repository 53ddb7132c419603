import type { Fact } from '../../../model/facts/fact.js';
import type { KeyPlace, ProbeFact } from '../../../model/facts/probe.js';
import { type Outside, outside } from '../../../model/outside.js';
import type { Entity, JsonValue } from '../../../model/record.js';
import { valueAt } from '../../../model/record.js';
import { usualErrorPlaces } from '../../../model/verdict.js';
import { errorBody } from '../../../service/answer-words.js';
import { findFailureMark, noPlaces } from '../../../service/failure-mark.js';
import { parseJson } from '../../../service/parse-json.js';
import type { ProbeAnswer, ProbeRequest } from '../../../service/service-client.js';

/** One request of a probe and what came of it. */
export interface Evidence {
  /** The request, such as the same order again, with the same key. */
  what: ProbeFact;
  asked: ProbeRequest;
  /** null: none came, and `problem` says why. */
  answer: ProbeAnswer | null;
  problem: Fact | null;
}

export type JsonObject = { [name: string]: JsonValue };

/** One place of the key, tried with an order. */
export interface KeyTrial {
  place: KeyPlace;
  first: Evidence;
  /** The same key and body once more; absent: the first was refused. */
  again?: Evidence;
  /** The same body with another key: whether it was the key that made the second a repeat. */
  otherKey?: Evidence;
}

/** All that a probe found out; what it did not get to is absent. */
export interface ProbeEvidence {
  wrongCredential?: Evidence;
  forbidden?: Evidence;
  missing?: Evidence;
  unknownAddress?: Evidence;
  /** Words of ours that answers may repeat: codes, notes, keys, ids. */
  own: string[];
  customer?: Evidence;
  customerRecord?: JsonObject;
  /** The customer's code under another key. */
  exists?: Evidence;
  trials: KeyTrial[];
  order?: Evidence;
  /** The record that `order` made. */
  orderRecord?: JsonObject;
  /** The key of the first order in the other form: quoted for bare, bare for quoted. */
  otherForm?: Evidence;
  otherBody?: Evidence;
  atOnce: [Evidence, Evidence][];
  invalid?: { refused: Evidence; corrected?: Evidence };
  unknownCustomer?: { refused: Evidence; customerMade?: Evidence; again?: Evidence };
  /** The order, and the customer, read by each candidate for its id. */
  reads: { entity: Entity; place: string; read: Evidence }[];
  changes: ChangeTrial[];
  removals: { entity: Entity; removed: Evidence; again?: Evidence }[];
  pages?: PageEvidence;
  /** Every answer that said "slow down". */
  throttled: Evidence[];
}

/** A record that one field of was changed, or all of it, and read after that. */
export interface ChangeTrial {
  entity: Entity;
  /** A value that is new, and one of another field that has to stay. */
  changed: string;
  kept: string;
  patch: { done: Evidence; read?: Evidence };
  put?: { done: Evidence; read?: Evidence };
}

export interface PageEvidence {
  /** Page 0, page 1, and page 0 once more, of one invoice each. */
  zero: Evidence;
  one: Evidence;
  zeroAgain: Evidence;
  /** Pages of so many invoices, in the order in which they were asked for. */
  sizes: { limit: number; page: Evidence }[];
  /** The page after the last of these; asked for where that one seems to hold all invoices. */
  second?: Evidence;
}

/** A probe's finding about one point, or the question for a person. */
export interface Finding {
  point: ProbeFact;
  /** The service's behaviour; for an unknown point, the reason. */
  found: ProbeFact;
  /** Settings that follow, by their full names. */
  settings: Readonly<Record<string, JsonValue>>;
  /** The question for the service's operator; null: the point is known. */
  ask: ProbeFact | null;
  /** Requests and answers in short. */
  evidence: readonly ProbeFact[];
}

export const isDone = (one: Evidence) =>
  one.answer !== null &&
  one.answer.status >= 200 &&
  one.answer.status < 300 &&
  findFailureMark(jsonOf(one), noPlaces, usualErrorPlaces) === null;
export const isRefused = ({ answer }: Evidence) =>
  answer !== null && answer.status >= 400 && answer.status < 500 && answer.status !== 429;

export function jsonOf({ answer }: Evidence): unknown {
  // A total that is written as a decimal is none in the smallest unit.
  return answer === null ? undefined : parseJson(answer.body, () => true);
}

/** True if an answer holds one of these values anywhere, also in its lists. */
export function holds(one: Evidence, ...values: readonly unknown[]): boolean {
  const walk = (at: unknown): boolean =>
    values.includes(at) || (typeof at === 'object' && at !== null && Object.values(at).some(walk));
  return walk(jsonOf(one));
}

/** A request and its answer. @param shown instead of the answer's body, which may hold other people's data */
export function inShort({ what, asked, answer, problem }: Evidence, shown?: ProbeFact): ProbeFact {
  const query = new URLSearchParams(asked.query).toString();
  const address = `${asked.path}${query && `?${query}`}`;
  const about = { code: 'probe_exchange', what, method: asked.method, address } as const;
  if (answer === null) return { ...about, status: null, said: problem };
  return { ...about, status: answer.status, said: shown ?? (answer.status < 300 ? bodyOf(answer) : wordsOf(answer)) };
}

const longestShown = 200;
const bodyOf = ({ body }: ProbeAnswer) => outside(body, longestShown);

function wordsOf({ body }: ProbeAnswer): Outside {
  const { code, message } = errorBody(body);
  return outside([code, message].filter(Boolean).join(': '), longestShown);
}

const deepest = 4;
const mostLeaves = 300;
/** A name that may stand in a setting that names a place. */
const plainName = /^[A-Za-z0-9_-]{1,64}$/;

/** Every text, number and list of a JSON value, with its place. */
export function leavesOf(value: unknown): { place: string; value: unknown }[] {
  const found: { place: string; value: unknown }[] = [];
  const walk = (at: unknown, names: string[]): void => {
    if (found.length >= mostLeaves || names.length > deepest) return;
    if (typeof at === 'object' && at !== null && !Array.isArray(at)) {
      for (const [name, part] of Object.entries(at)) if (plainName.test(name)) walk(part, [...names, name]);
    } else if (names.length > 0 && at !== null) found.push({ place: names.join('.'), value: at });
  };
  walk(value, []);
  return found;
}

export const lastName = (place: string) => place.split('.').at(-1) as string;

/** True if one of the usual places of an error's message holds one. */
export function hasUsualMessage(body: unknown): boolean {
  return usualErrorPlaces.message.some((place) => typeof valueAt(body, place) === 'string');
}
