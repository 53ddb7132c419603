import type { KeyPlace, ProbeFact } from '../../../model/facts/probe.js';
import { isSameRecord, recognisedTrial } from './decide-key.js';
import { type Evidence, isDone, isRefused, type JsonObject, type KeyTrial } from './evidence.js';
import type { Ground } from './ground.js';

const otherHeaders = ['Idempotency-Key', 'X-Idempotency-Key', 'X-Request-Id', 'X-Request-Code'];
const otherFields = ['idempotency_key', 'request_code', 'request_id', 'external_id', 'client_reference'];

/** The places where the key may be wanted, the likeliest first: the settings' own, one that a person names, and usual names. */
export function keyPlaces(
  configured: { in: 'header' | 'body'; header: string; field: string; quoted: boolean },
  named: { headers: readonly string[]; fields: readonly string[] },
): KeyPlace[] {
  const headers = (names: readonly string[], quoted: boolean) =>
    names.map((name): KeyPlace => ({ in: 'header', name, quoted }));
  const fields = (names: readonly string[]) => names.map((name): KeyPlace => ({ in: 'body', name }));
  const first: KeyPlace =
    configured.in === 'body'
      ? { in: 'body', name: configured.field }
      : { in: 'header', name: configured.header, quoted: false };
  const bare = [...headers(named.headers, false), ...fields(named.fields), ...headers(otherHeaders, false)];
  const inHeader = [...(configured.in === 'header' ? [configured.header] : []), ...named.headers, 'Idempotency-Key'];
  // Quotes only after the bare key was not recognised: few services want them.
  const all = [first, ...bare, ...headers(inHeader, true), ...fields(otherFields)];
  const name = (place: KeyPlace) => JSON.stringify(place).toLowerCase();
  return all.filter((place, at) => all.findIndex((one) => name(one) === name(place)) === at);
}

/** Tries one place after the other, until the service recognises a repeated order by it. @returns the place, or null */
export async function findKey(ground: Ground, places: readonly KeyPlace[]): Promise<KeyPlace | null> {
  const { evidence } = ground;
  for (const place of places) {
    if (!ground.hasCustomer && !(await makeCustomer(ground, place))) continue;
    const trial = await tryPlace(ground, place);
    evidence.trials.push(trial);
    if (recognisedTrial(evidence)) return place;
  }
  return null;
}

async function makeCustomer(ground: Ground, place: KeyPlace): Promise<boolean> {
  const { evidence, records } = ground;
  const record = records.customer(ground.customerCode);
  const made = await ground.create({ code: 'probe_asks_customer', place }, 'customer', record, records.newKey(), place);
  if (!isDone(made)) ground.refusedCustomers.push(made);
  else Object.assign(evidence, { customer: made, customerRecord: record });
  ground.hasCustomer = isDone(made);
  return ground.hasCustomer;
}

async function tryPlace(ground: Ground, place: KeyPlace): Promise<KeyTrial> {
  const { evidence, records, customerCode } = ground;
  const record = records.order(customerCode);
  const key = records.newKey();
  const send = (what: ProbeFact, sentKey: string) => ground.create(what, 'order', record, sentKey, place);
  const first = await send({ code: 'probe_asks_order', place }, key);
  if (!isDone(first)) return { place, first };
  Object.assign(evidence, { order: first, orderRecord: record });
  const again = await send({ code: 'probe_asks_same_key' }, key);
  ground.key = key;
  if (!isRefused(again) && !(isDone(again) && isSameRecord(first, again))) return { place, first, again };
  return { place, first, again, otherKey: await send({ code: 'probe_asks_other_key' }, records.newKey()) };
}

/** The conclusions about the key once its place is known. */
export async function askAboutKey(ground: Ground, place: KeyPlace): Promise<void> {
  const { evidence, records, key, customerCode } = ground;
  const order = evidence.orderRecord as JsonObject;
  const send = (what: ProbeFact, record: JsonObject, sentKey: string, where: KeyPlace = place) =>
    ground.create(what, 'order', record, sentKey, where);

  if (place.in === 'header')
    evidence.otherForm = await send(
      place.quoted ? { code: 'probe_asks_without_quotes' } : { code: 'probe_asks_in_quotes' },
      order,
      key,
      { ...place, quoted: !place.quoted },
    );
  evidence.otherBody = await send({ code: 'probe_asks_other_body' }, records.order(customerCode), key);

  for (let nth = 0; nth < 3 && !evidence.atOnce.some((pair) => !pair.every(isDone)); nth++) {
    const record = records.order(customerCode);
    const sharedKey = records.newKey();
    const twice = (['probe_asks_one_of_two', 'probe_asks_other_of_two'] as const).map((code) =>
      send({ code }, record, sharedKey),
    );
    evidence.atOnce.push(await both(twice));
  }

  const refusedKey = records.newKey();
  const right = records.order(customerCode);
  const refused = await send({ code: 'probe_asks_without_lines' }, { ...right, items: [] }, refusedKey);
  evidence.invalid = { refused };
  if (isRefused(refused)) evidence.invalid.corrected = await send({ code: 'probe_asks_corrected' }, right, refusedKey);

  const newCode = records.newName();
  const early = records.order(newCode);
  const earlyKey = records.newKey();
  const unknown = await send({ code: 'probe_asks_unknown_customer' }, early, earlyKey);
  evidence.unknownCustomer = { refused: unknown };
  if (isRefused(unknown)) {
    const made = await ground.create(
      { code: 'probe_asks_that_customer' },
      'customer',
      records.customer(newCode),
      records.newKey(),
      place,
    );
    evidence.unknownCustomer.customerMade = made;
    if (isDone(made)) evidence.unknownCustomer.again = await send({ code: 'probe_asks_same_key' }, early, earlyKey);
  }

  if (!evidence.customer) return;
  evidence.exists = await ground.create(
    { code: 'probe_asks_customer_again' },
    'customer',
    records.customer(customerCode),
    records.newKey(),
    place,
  );
}

/** Waits for both, also when one fails: what they made has to be noted before it is removed. */
async function both(asked: readonly Promise<Evidence>[]): Promise<[Evidence, Evidence]> {
  await Promise.allSettled(asked);
  return (await Promise.all(asked)) as [Evidence, Evidence];
}
