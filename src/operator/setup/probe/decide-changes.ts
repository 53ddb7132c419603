import type { ProbeFact } from '../../../model/facts/probe.js';
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
  const point = { code: 'probe_of_change', entity } as const;
  const ask = { code: 'probe_ask_change', entity } as const;
  if (!trial) return { point, found: { code: 'probe_change_not_tried', entity }, settings: {}, ask, evidence: [] };
  const { patch, put } = trial;
  const asked = [patch.done, patch.read, put?.done, put?.read];
  const evidence = asked.flatMap((one) => (one ? [inShort(one)] : []));
  const is = (method: 'PATCH' | 'PUT', { answer }: Evidence, found: ProbeFact): Finding => ({
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
  if (keeps) return is('PATCH', patch.done, { code: 'probe_patch_keeps' });
  if (put && isDone(put.done)) {
    const others = keeps === false ? 'lost' : 'unseen';
    return is('PUT', put.done, { code: 'probe_put', patch: isDone(patch.done) ? others : 'refused' });
  }
  const found: ProbeFact = isDone(patch.done) ? { code: 'probe_patch_unseen' } : { code: 'probe_no_change_taken' };
  return { point, found, settings: {}, ask, evidence };
}

function removal(entity: Entity, one: ProbeEvidence['removals'][number] | undefined): Finding {
  const point = { code: 'probe_of_removal', entity } as const;
  const ask = { code: 'probe_ask_removal', entity } as const;
  if (!one) return { point, found: { code: 'probe_not_tried' }, settings: {}, ask, evidence: [] };
  const { removed, again } = one;
  const evidence = [removed, again].flatMap((each) => (each ? [inShort(each)] : []));
  if (!isDone(removed)) return { point, found: { code: 'probe_delete_refused' }, settings: {}, ask, evidence };
  return {
    point,
    found: { code: 'probe_delete_removes', again: again?.answer?.status ?? null },
    settings: { [`${settingOf[entity].remove}.successStatus`]: removed.answer?.status ?? 204 },
    ask: null,
    evidence,
  };
}
