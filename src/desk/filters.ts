import type { Settings } from '../config/settings.js';
import { entities, sourceNames } from '../model/record.js';
import { findRecords, type NamedRecord, type Naming } from '../operator/find-records.js';
import type { MessageFilter } from '../operator/list-messages.js';
import { messageStates, parkClasses } from '../outbound/outbox/message.js';
import type { Tx } from '../store/store.js';
import { says } from '../words/words.js';

/** A filter that names a value which does not exist. The message says which. */
export class WrongFilter extends Error {
  override readonly name = 'WrongFilter';
}

/**
 * The value of a filter that has a few values; undefined: it is not set.
 * @throws WrongFilter for any other value, because to ignore it would show, or prepare, more than was asked for
 */
export function choiceIn<Value extends string>(
  query: URLSearchParams,
  name: string,
  values: readonly Value[],
): Value | undefined {
  const given = query.get(name);
  if (given === null || given === '') return undefined;
  const found = values.find((one) => one === given);
  if (found === undefined) throw new WrongFilter(`There is no such value of the filter ${name}.`);
  return found;
}

/** Text of a filter, as a person typed it. */
export function textIn(query: URLSearchParams, name: string): string | undefined {
  return query.get(name)?.trim().slice(0, 255) || undefined;
}

/** The name of a record in a filter, and where it is looked up; null: the filter names none. */
export function nameIn(query: URLSearchParams, settings: Settings): { name: string; naming: Naming } | null {
  const name = textIn(query, 'key');
  if (name === undefined) return null;
  const entity = choiceIn(query, 'entity', entities);
  return { name, naming: { by: 'any', entity, sources: sourceNames(settings) } };
}

/** Messages that a page of the outbox lists: of all records that the name in its filter fits. */
export async function listedBy(
  tx: Tx,
  query: URLSearchParams,
  settings: Settings,
): Promise<{ filter: MessageFilter; named: NamedRecord[] }> {
  const asked = nameIn(query, settings);
  const named = asked === null ? [] : await findRecords(tx, asked.name, asked.naming);
  return { filter: { ...filterOf(query), ...(asked && { records: named }) }, named };
}

/**
 * The filter that the address of a page of the outbox names, but for the name of a record. Pure.
 * @throws WrongFilter
 */
export function filterOf(query: URLSearchParams): MessageFilter {
  const state = choiceIn(query, 'state', messageStates);
  const entity = choiceIn(query, 'entity', entities);
  const parkClass = choiceIn(query, 'class', parkClasses);
  const reason = textIn(query, 'reason');
  return {
    ...(state && { states: [state] }),
    ...(entity && { entity }),
    ...(parkClass && { parkClass }),
    ...(reason !== undefined && { isReason: says(reason) }),
  };
}

/** The part of an address behind `?`, as given. */
export function queryOf({ url }: { url: string }): URLSearchParams {
  const mark = url.indexOf('?');
  return new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1));
}
