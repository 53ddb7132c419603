import type { RepairPlan } from '../operator/reconcile/repair.js';
import type { Summary } from '../operator/reconcile/summary.js';
import { tell } from '../words/words.js';

/**
 * The facts beside the list: the records that were not compared, the proof, and the findings that a repair leaves to a
 * person.
 */
export function remarksOf({ subject, filtered, unshown, proof }: Summary, left: RepairPlan['left']): string[] {
  const hidden = Object.entries(unshown).map(([name, count]) => `${name} (${count})`);
  return [
    filtered !== null &&
      filtered > 0 &&
      `${filtered} rows of the ERP may not be sent now (${subject}.pending, startFrom, cancelled); those that the service has were compared all the same.`,
    hidden.length > 0 && `The service never shows these fields, so that they were not compared: ${hidden.join(', ')}.`,
    tell(proof),
    ...left.map(({ count, why }) => `${count} × ${tell(why)}.`),
  ].filter((line) => typeof line === 'string');
}
