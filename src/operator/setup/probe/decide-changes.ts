import type { Entity } from '../../../model/record.js';
import {
  type ChangeTrial,
  type Evidence,
  type Finding,
  holds,
  inShort,
  isDone,
  type ProbeEvidence,
} from './evidence.js';

/** The effect of PATCH on the other fields; null: it can't be seen. */
function keepsOthers({ patch: { done, read }, changed, kept }: ChangeTrial): boolean | null {
  if (!isDone(done) || !read || !isDone(read) || !holds(read, changed)) return null;
  return holds(read, kept);
}

/** True if PATCH is enough for Waybill, so that PUT need not be tried. Pure. */
export function patchIsEnough(trial: ChangeTrial): boolean {
  return keepsOthers(trial) === true;
}

const nouns = { order: 'an order', customer: 'a customer' } as const;
const settingOf = {
  order: { update: 'service.endpoints.updateOrder', remove: 'service.endpoints.deleteOrder' },
  customer: { update: 'service.endpoints.updateCustomer', remove: 'service.endpoints.deleteCustomer' },
} as const;

/** PATCH, PUT and DELETE. */
export function decideChanges({ changes, removals }: ProbeEvidence): Finding[] {
  return (['order', 'customer'] as const).flatMap((entity) => [
    update(
      entity,
      changes.find((one) => one.entity === entity),
    ),
    removal(
      entity,
      removals.find((one) => one.entity === entity),
    ),
  ]);
}

function update(entity: Entity, trial: ChangeTrial | undefined): Finding {
  const point = `change of ${nouns[entity]}`;
  const ask = `How is ${nouns[entity]} changed: by PATCH with the fields that change, or by PUT with all of them?`;
  if (!trial) {
    const hint = entity === 'customer' ? ' It takes two fields of text: --customer.' : '';
    return { point, found: `It was not tried.${hint}`, settings: {}, ask, evidence: [] };
  }
  const { patch, put } = trial;
  const asked = [patch.done, patch.read, put?.done, put?.read];
  const evidence = asked.flatMap((one) => (one ? [inShort(one)] : []));
  const is = (method: 'PATCH' | 'PUT', { answer }: Evidence, found: string): Finding => ({
    point,
    found,
    settings: {
      [`${settingOf[entity].update}.method`]: method,
      [`${settingOf[entity].update}.successStatus`]: answer?.status ?? 200,
    },
    ask: null,
    evidence,
  });
  const keeps = keepsOthers(trial);
  if (keeps) return is('PATCH', patch.done, 'PATCH changes the fields that it carries and keeps the others.');
  if (put && isDone(put.done)) {
    const loses =
      keeps === false
        ? 'PATCH does not keep the other fields'
        : 'It cannot be seen whether PATCH keeps the other fields';
    return is('PUT', put.done, `${isDone(patch.done) ? loses : 'PATCH is refused'}; PUT takes the whole record.`);
  }
  const found = isDone(patch.done) ? 'PATCH is taken, but what it does can not be seen.' : 'No change was taken.';
  return { point, found, settings: {}, ask, evidence };
}

function removal(entity: Entity, one: ProbeEvidence['removals'][number] | undefined): Finding {
  const point = `removal of ${nouns[entity]}`;
  const ask = `How is ${nouns[entity]} removed, if at all?`;
  if (!one) return { point, found: 'It was not tried.', settings: {}, ask, evidence: [] };
  const { removed, again } = one;
  const evidence = [removed, again].flatMap((each) => (each ? [inShort(each)] : []));
  if (!isDone(removed)) return { point, found: 'DELETE is refused.', settings: {}, ask, evidence };
  return {
    point,
    found: `DELETE removes it.${again?.answer ? ` The second time it is answered ${again.answer.status}.` : ''}`,
    settings: { [`${settingOf[entity].remove}.successStatus`]: removed.answer?.status ?? 204 },
    ask: null,
    evidence,
  };
}
