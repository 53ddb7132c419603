import type { Entity } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { type OperatorAction, operatorActions } from './decide-message.js';
import type { Confirmation } from './held-changes.js';
import { isHeld } from './held-changes.js';
import { planAction } from './message-actions.js';

/** What a person can do with a record now. */
export interface PossibleActions {
  possible: (OperatorAction | `held_${Confirmation}`)[];
  /** To say that it is delivered takes the service's id. */
  needsServiceId: boolean;
  /** What can't be done, and why. */
  impossible: { action: OperatorAction; why: string }[];
}

/** Stands for the id that a person has not named yet. */
const anyId = '?';

/** What each action would do with the newest message of a record, from the decision that the action itself takes. */
export async function possibleActions(
  context: JobContext,
  { entity, sourceKey }: { entity: Entity; sourceKey: string },
): Promise<PossibleActions> {
  const filter = { records: [{ entity, sourceKey }] };
  const found: PossibleActions = { possible: [], needsServiceId: false, impossible: [] };
  for (const action of operatorActions) {
    const plan = async (serviceId: string | null) =>
      planAction(context, { action, filter, serviceId, unchecked: true, reason: 'to look what is possible' });
    const { ids, leftExamples } = await plan(null);
    const isPossible = ids.length > 0;
    const takesId = !isPossible && action === 'delivered' && (await plan(anyId)).ids.length > 0;
    if (takesId) found.needsServiceId = true;
    if (isPossible || takesId) found.possible.push(action);
    else found.impossible.push({ action, why: leftExamples.at(-1)?.why ?? 'no message of it is kept' });
  }
  if (await context.store.read('look whether it is held', (tx) => isHeld(tx, entity, sourceKey)))
    found.possible.push('held_send', 'held_adopt', 'held_discard');
  return found;
}
