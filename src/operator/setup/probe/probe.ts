import type { Settings } from '../../../config/settings.js';
import type { Fact } from '../../../model/facts/fact.js';
import { failureOf, Refused } from '../../../model/facts/failure.js';
import type { KeyPlace, ProbeFact } from '../../../model/facts/probe.js';
import type { JobContext } from '../../../ops/job-context.js';
import { recallRequests } from '../../../outbound/deliver/lane-keeper.js';
import { ServiceLease } from '../../../outbound/deliver/service-lease.js';
import type { ProbeRequest, ServiceClient } from '../../../service/service-client.js';
import { askAboutKey, findKey, keyPlaces } from './ask-key.js';
import { askForPages, pageRequest } from './ask-pages.js';
import { askForChanges, askForRecords, cleanUp, type Left } from './ask-records.js';
import { decideAcknowledgement } from './decide-acknowledgement.js';
import { decideChanges } from './decide-changes.js';
import { decideErrors, decideSlowDown } from './decide-errors.js';
import { decideKey, recognisedTrial } from './decide-key.js';
import { decidePages } from './decide-pages.js';
import { decideSpecialAnswers } from './decide-special-answers.js';
import { type Finding, inShort, isDone, type ProbeEvidence } from './evidence.js';
import { type Ground, prepare } from './ground.js';
import { type Budget, newBudget, ProbeStopped, Questions } from './questions.js';
import type { RecordOptions } from './test-records.js';

export interface ProbeOptions extends RecordOptions {
  /** Places of the key that a person names. */
  headers: readonly string[];
  fields: readonly string[];
  /** An address that the account may not read. */
  forbiddenPath?: string | undefined;
  /** The number of reads at once, to hear "slow down". */
  burst?: number | undefined;
  signal: AbortSignal;
  onStep?: (step: ProbeFact) => void;
}

export interface ProbeResult {
  findings: Finding[];
  requests: number;
  /** Records that the probe made and could not remove. */
  left: Left[];
  /** Why it ended early; null: it did not. */
  stopped: Fact | null;
}

/** Why this service may not be probed, or null. @param confirmed the address that a person called a sandbox */
export function probeProblem(
  { environment, baseUrl }: Settings['service'],
  confirmed: string | undefined,
): ProbeFact | null {
  if (environment !== 'sandbox') return { code: 'probe_not_in_sandbox', environment };
  const plain = (address: string) => address.replace(/\/+$/, '');
  if (confirmed !== undefined && plain(confirmed) !== plain(baseUrl))
    return { code: 'probe_other_address', baseUrl, confirmed };
  return null;
}

/**
 * Finds out what a service's documentation leaves open, by test records in its sandbox, and removes them again.
 * @returns the holder's name when another process talks to the service
 */
export async function probe(
  context: JobContext,
  client: ServiceClient,
  options: ProbeOptions,
): Promise<ProbeResult | { holder: string }> {
  const lease = await ServiceLease.acquire(context, options.signal);
  if (!(lease instanceof ServiceLease)) return { holder: lease.holder };
  try {
    await recallRequests(context, client.rateLimiter, lease);
    const budget = newBudget(context);
    const questions = new Questions(context, client, lease, budget, options.signal);
    const cleaning = new Questions(context, client, lease, budget);
    return await askAll(prepare(context, questions, budget.throttled, options), cleaning, budget, options);
  } finally {
    await lease.release();
  }
}

async function askAll(
  ground: Ground,
  cleaning: Questions,
  budget: Budget,
  options: ProbeOptions,
): Promise<ProbeResult> {
  const { evidence, settings } = ground;
  const { idempotency } = settings.service;
  const places = keyPlaces(idempotency, options);
  const step = options.onStep ?? (() => undefined);
  const stoppedAt = await untilStopped(async () => {
    step({ code: 'probe_step_greet' });
    await greet(ground);
    step({ code: 'probe_step_key_place' });
    const place = await findKey(ground, places);
    if (!evidence.order) throw new ProbeStopped(whyNoOrder(ground));
    step({ code: 'probe_step_ids' });
    await askForRecords(ground);
    if (place) {
      step({ code: 'probe_step_key' });
      await askAboutKey(ground, place);
    }
    step({ code: 'probe_step_changes' });
    await askForChanges(ground, usedPlace());
    if (settings.invoices.enabled) {
      step({ code: 'probe_step_pages' });
      evidence.pages = await askForPages(settings, ground.questions);
    }
  });
  step({ code: 'probe_step_removal' });
  const left = await cleanUp(ground, cleaning, usedPlace());
  // Requests that the service might see twice come when everything else is done.
  const error =
    stoppedAt ??
    (await untilStopped(async () => {
      step({ code: 'probe_step_refusals' });
      await askForRefusals(ground, options);
      if (options.burst) step({ code: 'probe_step_burst' });
      await askForSlowDown(ground, options);
    }));
  if (error && !(error instanceof ProbeStopped)) throw left.length === 0 ? error : new ProbeFailed(error, left);
  return { findings: decide(ground), requests: budget.requests, left, stopped: error?.fact ?? null };

  /** The place where the key is recognised; else one where it did no harm. */
  function usedPlace(): KeyPlace {
    const trial = recognisedTrial(evidence) ?? evidence.trials.find(({ first }) => isDone(first));
    return trial?.place ?? (places[0] as KeyPlace);
  }
}

/** Something else failed, and test records are left at the service. */
class ProbeFailed extends Refused {
  override readonly name = 'ProbeFailed';

  constructor(error: Error, left: readonly Left[]) {
    super({ code: 'probe_failed', failure: failureOf(error), left: left.map(({ name }) => name) });
    this.cause = error;
  }
}

/** @returns what ended it, or null: first what was made has to be removed */
async function untilStopped(work: () => Promise<void>): Promise<Error | null> {
  return work().then(
    () => null,
    (error: Error) => error,
  );
}

/** A read of the list, or of an order, that shows whether the service takes our credential. */
async function greet({ settings, questions, evidence, records }: Ground): Promise<void> {
  const { invoices } = settings;
  const request = invoices.enabled ? pageRequest(settings, invoices.paging.firstPage, 1) : records.readMissing();
  const first = await questions.ask({ code: 'probe_asks_first_read' }, request);
  if (first.answer === null) throw new ProbeStopped({ code: 'probe_no_answer', problem: first.problem });
  if (first.answer.status === 401)
    throw new ProbeStopped({ code: 'probe_credential_refused', exchange: inShort(first) });
  if (first.answer.status === 403) evidence.forbidden = first;
}

function whyNoOrder({ evidence: { trials }, refusedCustomers }: Ground): ProbeFact {
  const entity = trials.length > 0 ? 'order' : 'customer';
  const refused = trials.length > 0 ? trials.map(({ first }) => first) : refusedCustomers;
  // One of them tells what a record lacks, the others that the key stood in the wrong place.
  const refusals = [...new Map(refused.map((one) => [one.answer?.body, inShort(one)])).values()].slice(0, 4);
  return { code: 'probe_no_record_taken', entity, refusals };
}

async function askForRefusals(
  { settings, questions, evidence, records }: Ground,
  options: ProbeOptions,
): Promise<void> {
  const removed = evidence.removals.find(({ entity }) => entity === 'order')?.removed;
  // An id of the service's own form, where there was one: another form may be refused before it is looked for.
  const gone: ProbeRequest =
    removed && isDone(removed) ? { method: 'GET', path: removed.asked.path } : records.readMissing();
  evidence.missing = await questions.ask({ code: 'probe_asks_missing' }, gone);
  const nowhere = settings.service.endpoints.createOrder.path.replace(/[^/]*$/, 'waybill-probe-nothing');
  evidence.unknownAddress = await questions.ask(
    { code: 'probe_asks_unknown_address' },
    { method: 'GET', path: nowhere },
  );
  if (options.forbiddenPath)
    evidence.forbidden = await questions.ask(
      { code: 'probe_asks_forbidden' },
      { method: 'GET', path: options.forbiddenPath },
    );
  if (settings.service.credential.kind !== 'certificate')
    evidence.wrongCredential = await questions.ask(
      { code: 'probe_asks_wrong_credential' },
      {
        ...harmlessRead(settings, evidence),
        isWrong: true,
      },
    );
}

async function askForSlowDown({ questions, evidence, settings }: Ground, { burst = 0 }: ProbeOptions): Promise<void> {
  const read = harmlessRead(settings, evidence);
  const reads = Array.from({ length: burst }, (_, n) =>
    questions.ask({ code: 'probe_asks_burst', nth: n + 1 }, read, true),
  );
  await Promise.all(reads);
}

/** A read that shows nothing of ours and changes nothing. */
function harmlessRead(settings: Settings, { missing }: ProbeEvidence): ProbeRequest {
  const { invoices } = settings;
  return invoices.enabled || !missing ? pageRequest(settings, invoices.paging.firstPage, 1) : missing.asked;
}

function decide({ evidence }: Ground): Finding[] {
  return [
    ...decideKey(evidence),
    ...decideSpecialAnswers(evidence),
    ...decideAcknowledgement(evidence),
    ...decideChanges(evidence),
    ...decidePages(evidence.pages),
    ...decideErrors(evidence),
    decideSlowDown(evidence),
  ];
}
