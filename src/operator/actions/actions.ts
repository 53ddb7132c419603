import { compare, repairFindings } from '../reconcile/reconcile-actions.js';
import type { Action, ActionContext, NamedRecord, Offer } from './action.js';
import { forget } from './forget-customer.js';
import { heldAdopt, heldDiscard, heldSend } from './held-changes.js';
import { heldInvoices } from './held-invoices.js';
import { delivered, discard, lookUp, notDelivered, retry } from './message-actions.js';
import { moveRecord } from './move-binding.js';
import { pause, resume } from './pause-jobs.js';

/** All that people do, in the order of their buttons. Command line, desk and `src/words` draw each by its name. */
export const actions = {
  retry,
  discard,
  look_up: lookUp,
  delivered,
  not_delivered: notDelivered,
  held_send: heldSend,
  held_adopt: heldAdopt,
  held_discard: heldDiscard,
  held_invoices: heldInvoices,
  forget,
  move: moveRecord,
  pause,
  resume,
  reconcile: compare,
  reconcile_repair: repairFindings,
};

type Actions = typeof actions;
export type ActionName = keyof Actions;
export const actionNames = Object.keys(actions) as ActionName[];

/** An action without the types of its own subject and inputs: whoever draws it knows neither. */
export function actionOf(name: ActionName): Action {
  return actions[name] as unknown as Action;
}

/** The actions that are possible for a record now, and the reason against each of the others. Writes nothing. */
export async function offersFor(
  context: ActionContext,
  record: NamedRecord,
): Promise<{ name: ActionName; offer: Offer }[]> {
  const found: { name: ActionName; offer: Offer }[] = [];
  for (const name of actionNames) {
    const { entities, offer } = actionOf(name);
    if (offer === undefined || (entities && !entities.includes(record.entity))) continue;
    const made = await offer(context, record);
    if (made !== null) found.push({ name, offer: made });
  }
  return found;
}
