import { type WriteBackKind, writeBackKinds } from '../../model/write-back.js';
import { endAlert, raiseAlert } from '../../store/alerts.js';
import type { Tx } from '../../store/store.js';
import { countRefusals, listWriteBack, type WriteBackProgress } from './write-back-state.js';

export const writeBackCauses = {
  failing: 'write-back.failing',
  refused: 'write-back.refused',
  moves: 'write-back.moves',
} as const;

/** The message about targets that fail; null when none does. Pure. */
function failureInWords(progress: readonly WriteBackProgress[]): string | null {
  const failures = new Set(progress.flatMap(({ failures, failure }) => (failures > 0 && failure ? [failure] : [])));
  if (failures.size === 0) return null;
  return `${[...failures].join(' / ')} Capture, delivery and pull go on; what could not be written is written when this works again.`;
}

/**
 * Brings the alerts of the write-back in line with how it is, in the caller's transaction.
 * @param isCertain something needs a person now, and not only after several failures in a row
 */
export async function noteWriteBackAlerts(
  tx: Tx,
  used: readonly WriteBackKind[],
  { failuresInRow, isCertain, nowMs }: { failuresInRow: number; isCertain: boolean; nowMs: number },
): Promise<void> {
  const progress = (await listWriteBack(tx)).filter(({ kind }) => used.includes(kind));
  const failure = failureInWords(progress);
  if (failure === null) await endAlert(tx, writeBackCauses.failing, nowMs);
  else if (isCertain || progress.some(({ failures }) => failures >= failuresInRow))
    await raiseAlert(tx, writeBackCauses.failing, failure, nowMs, {
      targets: progress.filter(({ failures }) => failures > 0).map(({ kind }) => kind),
    });
  const refusals = (await countRefusals(tx)).filter(({ kind }) => used.includes(kind));
  if (refusals.length === 0) await endAlert(tx, writeBackCauses.refused, nowMs);
  else {
    const words = refusals.map(
      ({ kind, count, recordKey, refusal }) =>
        `${count} ${kind} could not be written back, among them ${recordKey}: ${refusal}`,
    );
    const message = `${words.join(' / ')} The others are written; these are tried again every quarter of an hour.`;
    await raiseAlert(tx, writeBackCauses.refused, message, nowMs);
  }
}

/** Ends all of them: where the write-back is off, nothing else would. */
export async function endWriteBackAlerts(tx: Tx, nowMs: number): Promise<void> {
  const { failing, refused, moves } = writeBackCauses;
  const causes = [failing, refused, ...writeBackKinds.map((kind) => `${moves}.${kind}`)];
  for (const cause of causes) await endAlert(tx, cause, nowMs);
}
