import { type Entity, entities } from '../../model/record.js';
import type { Action, ActionContext, Given, SubjectKind, Subjects } from '../../operator/actions/action.js';
import { pausableJobs } from '../../operator/actions/pause-jobs.js';
import { AmbiguousName, recordsMeant } from '../../operator/find-records.js';
import type { JobContext } from '../../ops/job-context.js';
import { parkClasses } from '../../outbound/outbox/message.js';
import { tell } from '../../words/words.js';
import { filterOf, nameIn } from '../filters.js';

/** The form or the address makes no sense: a sentence for the person. */
export class WrongForm extends Error {
  override readonly name = 'WrongForm';
}

/** One action of the desk touches no more messages: what is left can be done again. */
const mostAtOnce = 10_000;

/**
 * The desk's answers to the questions of an action: it shows what the service said, and takes the person's word with
 * the reason.
 */
export function deskContext(context: JobContext): ActionContext {
  return { ...context, client: null, reader: null, asksToInsist: true, most: mostAtOnce };
}

/** The subject of an action, as an address of the desk names it. @throws WrongForm */
export function subjectIn<S extends SubjectKind>(
  context: JobContext,
  { subject, entities: only = entities }: Pick<Action<S>, 'subject' | 'entities'>,
  query: URLSearchParams,
): Promise<Subjects[S]> {
  const entity = entities.find((one) => one === query.get('entity')) ?? (only.length === 1 ? only[0] : undefined);
  if (entity !== undefined && !only.includes(entity)) throw new WrongForm('It is not possible for such a record.');
  return readers[subject](context, query, entity);
}

type Readers = {
  [S in SubjectKind]: (context: JobContext, query: URLSearchParams, entity: Entity | undefined) => Promise<Subjects[S]>;
};

const readers: Readers = {
  messages: messagesIn,
  held: async (_context, query, entity) => {
    if (entity === undefined) throw new WrongForm('Say whether orders or customers are meant.');
    const sourceKey = decoded(query, 'record');
    return { entity, ...(sourceKey !== null && { records: [{ entity, sourceKey }] }) };
  },
  record: async (_context, query, entity) => {
    const sourceKey = decoded(query, 'record');
    if (entity === undefined || sourceKey === null) throw new WrongForm('Say which record is meant.');
    return { entity, sourceKey };
  },
  jobs: async (_context, query) => {
    const jobs = [...pausableJobs, 'service' as const].filter((one) => query.getAll('job').includes(one));
    if (jobs.length === 0) throw new WrongForm('Say which job is meant.');
    return jobs;
  },
  none: async () => null,
};

/** The extra fields that a person filled in, in the form that opens the preview. @throws WrongForm */
export function inputsIn({ inputs }: Pick<Action, 'inputs'>, query: URLSearchParams): Given {
  return Object.fromEntries(
    Object.entries(inputs).map(([name, input]) => {
      // A person insists on the page that shows what the service said, and nowhere else.
      if (input.kind !== 'text') return [name, input.kind === 'flag' && query.get(name) !== null];
      const text = query.get(name)?.trim() || null;
      if (text === null && input.isRequired) throw new WrongForm('The form is not complete: fill in every field.');
      return [name, text];
    }),
  ) as Given;
}

/** A value that a form of ours encoded, so that no character was changed on the page. */
function decoded(query: URLSearchParams, name: string): string | null {
  const value = query.get(name);
  try {
    return value === null ? null : decodeURIComponent(value);
  } catch {
    throw new WrongForm('The address makes no sense.');
  }
}

/** Messages of one record, of one cause, or of a filter. */
async function messagesIn(
  { store, settings }: JobContext,
  query: URLSearchParams,
  entity: Entity | undefined,
): Promise<Subjects['messages']> {
  const sourceKey = decoded(query, 'record');
  const reasonHash = query.get('cause');
  if (sourceKey !== null) {
    if (entity === undefined) throw new WrongForm('A record is named by what it is and by its key.');
    return { filter: { records: [{ entity, sourceKey }] } };
  }
  if (reasonHash !== null) {
    const parkClass = parkClasses.find((one) => one === query.get('class')) ?? null;
    return { filter: { states: ['parked'] }, cause: { parkClass, reasonHash } };
  }
  const filtered = new URLSearchParams(query);
  for (const name of ['key', 'reason']) if (query.has(name)) filtered.set(name, decoded(query, name) ?? '');
  const asked = nameIn(filtered, settings);
  const meant = asked && store.read('look for a record', (tx) => recordsMeant(tx, [asked.name], asked.naming));
  const records = await meant?.catch((error: unknown) => {
    if (!(error instanceof AmbiguousName)) throw error;
    throw new WrongForm(`${tell(error.fact)}. Nothing was done. Open the record that you mean, and act there.`);
  });
  const filter = { ...filterOf(filtered), ...(records && { records }) };
  if (Object.keys(filter).length === 0) throw new WrongForm('Say which records are meant.');
  return { filter };
}
