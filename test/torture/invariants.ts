import type { History } from './history.js';
import { holdsAreKept } from './holds-are-kept.js';
import { oneRecordOneIdentity } from './identity-invariants.js';
import {
  everyRowAccountedFor,
  oneRecordPerReference,
  removalsAsConfigured,
  serviceEqualsErp,
} from './record-invariants.js';
import {
  customerBeforeOrder,
  everyRequestHasItsAttempt,
  heldUntilRecovered,
  oneCreateKeyPerRecord,
  oneKeyOneBody,
  withinTheLimit,
} from './request-invariants.js';
import {
  deliveredMeansAcknowledged,
  legalTransitions,
  noSendWithoutTheLease,
  noStaleEpoch,
} from './store-invariants.js';
import {
  announcedIsRead,
  forgottenIsGone,
  prunesOnlyWhatIsOver,
  writtenBackAsAcknowledged,
} from './told-invariants.js';
import { waitsWhenTold } from './waits-when-told.js';

/** The invariants of every run, whatever happened in it. Each returns what is wrong, a line for each; empty is well. */
export const invariants: Record<string, (history: History) => string[]> = {
  'one-record-per-reference': oneRecordPerReference,
  'one-record-one-identity': oneRecordOneIdentity,
  'every-row-accounted-for': everyRowAccountedFor,
  'service-equals-erp': serviceEqualsErp,
  'removals-as-configured': removalsAsConfigured,
  'holds-are-kept': holdsAreKept,
  'one-key-one-body': oneKeyOneBody,
  'one-create-key-per-record': oneCreateKeyPerRecord,
  'every-request-has-its-attempt': everyRequestHasItsAttempt,
  'customer-before-order': customerBeforeOrder,
  'held-until-recovered': heldUntilRecovered,
  'within-the-limit': withinTheLimit,
  'waits-when-told': waitsWhenTold,
  'delivered-means-acknowledged': deliveredMeansAcknowledged,
  'legal-transitions': legalTransitions,
  'no-stale-epoch': noStaleEpoch,
  'no-send-without-the-lease': noSendWithoutTheLease,
  'announced-is-read': announcedIsRead,
  'written-back-as-acknowledged': writtenBackAsAcknowledged,
  'forgotten-is-gone': forgottenIsGone,
  'prunes-only-what-is-over': prunesOnlyWhatIsOver,
  'erp-untouched': erpUntouched,
  'no-secret-anywhere': noSecretAnywhere,
  'stops-when-told': stopsWhenTold,
};

function erpUntouched({ erpTouched }: History): string[] {
  return [...erpTouched];
}

function noSecretAnywhere({ texts, secrets }: History): string[] {
  return texts.flatMap(({ where, text }) =>
    secrets.flatMap((secret) => (text.includes(secret) ? [`${where} holds ${secret.slice(0, 12)}…`] : [])),
  );
}

function stopsWhenTold({ ends }: History): string[] {
  return ends.flatMap((end) => (end === 0 ? [] : [`a daemon ended with ${end} when it was told to stop`]));
}

/** All that is wrong, with the name of the invariant that says so. */
export function violationsOf(history: History): { invariant: string; detail: string }[] {
  return Object.entries(invariants).flatMap(([invariant, check]) =>
    check(history).map((detail) => ({ invariant, detail })),
  );
}
