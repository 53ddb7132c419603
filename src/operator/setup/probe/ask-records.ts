import { failureOf } from '../../../model/facts/failure.js';
import type { KeyPlace, ProbeFact } from '../../../model/facts/probe.js';
import type { Entity } from '../../../model/record.js';
import type { ProbeRequest } from '../../../service/service-client.js';
import { customerIdPlace, customerIdPlaces, orderIdPlace, orderIdPlaces, valuesOf } from './decide-acknowledgement.js';
import { patchIsEnough } from './decide-changes.js';
import {
  type ChangeTrial,
  type Evidence,
  inShort,
  isDone,
  type JsonObject,
  jsonOf,
  type ProbeEvidence,
} from './evidence.js';
import type { Ground } from './ground.js';
import type { Questions } from './questions.js';
import { type Made, withKey } from './test-records.js';

/** The number of names of an id to try in an address. */
const mostIds = 4;

/** Reads the order, and the customer, by what may be its id: the one that leads to it is the id. */
export async function askForRecords(ground: Ground): Promise<void> {
  const { order, orderRecord, customer, customerRecord } = ground.evidence;
  if (order && orderRecord) {
    const places = orderIdPlaces(jsonOf(order), valuesOf(orderRecord));
    await readBy(ground, places, { entity: 'order', record: orderRecord, answer: order });
  }
  if (customer && customerRecord)
    await readBy(ground, customerIdPlaces(customer), { entity: 'customer', record: customerRecord, answer: customer });
}

async function readBy(
  { evidence, records, questions }: Ground,
  places: string[],
  made: Omit<Made, 'name'>,
): Promise<void> {
  const { entity } = made;
  for (const place of places.slice(0, mostIds)) {
    const request = records.ofMade('GET', made, place);
    if (!request) continue;
    evidence.reads.push({
      entity,
      place,
      read: await questions.ask({ code: 'probe_asks_read', entity, place }, request),
    });
    if (idPlaceOf(evidence, entity) === place) return;
  }
}

/** The change to a test record, and the fields that have to stay; null: it has too few fields to see that. */
function changeOf(
  entity: Entity,
  record: JsonObject,
): (Pick<ChangeTrial, 'changed' | 'kept'> & { body: JsonObject }) | null {
  const names = Object.keys(record).filter((name) => typeof record[name] === 'string' && name !== 'customer_code');
  const [name, other] = names;
  const kept = entity === 'order' ? record.customer_code : other && record[other];
  if (name === undefined || typeof kept !== 'string') return null;
  const changed = `${record[name]} changed`;
  return { changed, kept, body: { [name]: changed } };
}

/** PATCH, and PUT where PATCH is not what Waybill needs. */
export async function askForChanges(ground: Ground, place: KeyPlace): Promise<void> {
  const { customer, customerRecord, order, orderRecord } = ground.evidence;
  if (order && orderRecord) await askForChange(ground, { entity: 'order', record: orderRecord, answer: order }, place);
  if (customer && customerRecord)
    await askForChange(ground, { entity: 'customer', record: customerRecord, answer: customer }, place);
}

async function askForChange(
  { evidence, records, questions }: Ground,
  made: Omit<Made, 'name'>,
  place: KeyPlace,
): Promise<void> {
  const { entity, record } = made;
  const id = idPlaceOf(evidence, made.entity);
  const change = changeOf(entity, record);
  const back = records.ofMade('GET', made, id);
  if (!change || !back) return;
  const write = async (method: 'PATCH' | 'PUT', body: JsonObject) => {
    const what = { code: 'probe_asks_change', entity, isWhole: method === 'PUT' } as const;
    const request = records.ofMade(method, made, id, body) as ProbeRequest;
    const done = await questions.ask(what, withKey(request, records.newKey(), place));
    return { done, ...(isDone(done) && { read: await questions.ask({ code: 'probe_asks_read_back' }, back) }) };
  };
  const { changed, kept, body } = change;
  const trial: ChangeTrial = { entity, changed, kept, patch: await write('PATCH', body) };
  evidence.changes.push(trial);
  if (!patchIsEnough(trial)) trial.put = await write('PUT', { ...record, ...body });
}

function idPlaceOf(evidence: ProbeEvidence, entity: Entity): string | undefined {
  return entity === 'order' ? orderIdPlace(evidence) : customerIdPlace(evidence);
}

/** A test record that is still at the service. */
export interface Left {
  entity: Entity;
  name: string;
  why: ProbeFact;
}

/**
 * Removes what the probe made: orders first, then customers.
 * @returns what is left
 */
export async function cleanUp(ground: Ground, questions: Questions, place: KeyPlace): Promise<Left[]> {
  const { evidence, records } = ground;
  // An interrupted probe may not have come to it.
  if (evidence.reads.length === 0) await askForRecords({ ...ground, questions }).catch(() => undefined);
  const left: Left[] = [];
  const orders = records.made.filter(({ entity }) => entity === 'order');
  const customers = records.made.filter(({ entity }) => entity === 'customer');
  for (const made of [...orders, ...customers]) {
    const { entity, name } = made;
    const request = records.ofMade('DELETE', made, idPlaceOf(evidence, entity));
    if (!request) {
      const why: ProbeFact = made.answer ? { code: 'probe_id_uncertain' } : { code: 'probe_may_exist' };
      left.push({ entity, name, why });
      continue;
    }
    const what = { code: 'probe_asks_removal', entity, name } as const;
    const remove = () =>
      questions
        .ask(what, withKey(request, records.newKey(), place))
        .catch((error): Evidence => ({ what, asked: request, answer: null, problem: failureOf(error) }));
    const removed = await remove();
    if (!isDone(removed)) left.push({ entity, name, why: { code: 'probe_delete_failed', exchange: inShort(removed) } });
    if (evidence.removals.some((one) => one.entity === entity)) continue;
    evidence.removals.push({ entity, removed, ...(isDone(removed) && { again: await remove() }) });
  }
  return left;
}
