import type { Settings } from '../../../config/settings.js';
import { failureOf } from '../../../model/facts/failure.js';
import type { KeyPlace, ProbeFact } from '../../../model/facts/probe.js';
import type { Entity } from '../../../model/record.js';
import type { JobContext } from '../../../ops/job-context.js';
import { type Evidence, inShort, type JsonObject, type ProbeEvidence } from './evidence.js';
import { ProbeStopped, type Questions } from './questions.js';
import { type RecordOptions, TestRecords } from './test-records.js';

/** The tools of every step of a probe. */
export interface Ground {
  settings: Settings;
  evidence: ProbeEvidence;
  records: TestRecords;
  questions: Questions;
  /** Whose orders are made. */
  customerCode: string;
  hasCustomer: boolean;
  /** The key of `evidence.order`. */
  key: string;
  refusedCustomers: Evidence[];
  /** Sends a create, and notes what it made. */
  create(what: ProbeFact, entity: Entity, record: JsonObject, key: string, place: KeyPlace): Promise<Evidence>;
}

/** The number of creates that may be left in doubt by a service that fails. */
const mostInDoubt = 2;

/** @param throttled fills while questions are asked */
export function prepare(
  { settings, random }: JobContext,
  questions: Questions,
  throttled: Evidence[],
  options: RecordOptions,
): Ground {
  const evidence: ProbeEvidence = {
    own: [],
    trials: [],
    atOnce: [],
    reads: [],
    changes: [],
    removals: [],
    throttled,
  };
  const run = Math.floor(random() * 36 ** 6)
    .toString(36)
    .padStart(6, '0');
  const records = new TestRecords(settings.service, options, evidence, run);
  return {
    settings,
    evidence,
    records,
    questions,
    customerCode: options.existingCustomer ?? records.newName(),
    hasCustomer: options.existingCustomer !== undefined,
    key: '',
    refusedCustomers: [],
    async create(what, entity, record, key, place) {
      const request = records.write(entity === 'order' ? 'createOrder' : 'createCustomer', record, key, place);
      try {
        const answer = await questions.ask(what, request);
        records.note(entity, record, answer);
        if (records.inDoubt > mostInDoubt)
          throw new ProbeStopped({ code: 'probe_creates_fail', exchange: inShort(answer) });
        return answer;
      } catch (error) {
        // The stop of the probe held the request back; any other error may have come after it left.
        if (!(error instanceof ProbeStopped))
          records.note(entity, record, { what, asked: request, answer: null, problem: failureOf(error) });
        throw error;
      }
    },
  };
}
