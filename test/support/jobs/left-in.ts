import type { LeftAlone } from '../../../src/operator/actions/action.js';
import type { ActionPlan } from '../../../src/operator/actions/message-actions.js';

/** The records that a plan leaves alone, as far as it names them. */
export function leftIn({ skipped }: Pick<ActionPlan, 'skipped'>): LeftAlone[] {
  return [...skipped.values()].flatMap(({ examples }) => examples);
}
