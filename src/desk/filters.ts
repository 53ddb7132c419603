import { entities } from '../model/record.js';
import type { MessageFilter } from '../operator/list-messages.js';
import { messageStates, parkClasses } from '../outbound/outbox/message.js';

/** The filter that the address of a page of the outbox names. What makes no sense in it filters nothing. Pure. */
export function filterOf(query: URLSearchParams): MessageFilter {
  const pick = <Value extends string>(name: string, values: readonly Value[]) =>
    values.find((one) => one === query.get(name));
  const state = pick('state', messageStates);
  const entity = pick('entity', entities);
  const parkClass = pick('class', parkClasses);
  const text = (name: string) => query.get(name)?.trim().slice(0, 255) || undefined;
  const [key, reasonLike] = [text('key'), text('reason')];
  return {
    ...(state && { states: [state] }),
    ...(entity && { entity }),
    ...(parkClass && { parkClass }),
    ...(key !== undefined && { keys: [key] }),
    ...(reasonLike !== undefined && { reasonLike }),
  };
}

/** The part of an address behind `?`, as given. */
export function queryOf({ url }: { url: string }): URLSearchParams {
  const mark = url.indexOf('?');
  return new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1));
}
