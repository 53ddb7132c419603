import type { AlertFact } from '../../model/facts/alerts.js';
import type { Fact } from '../../model/facts/fact.js';
import { type WriteBackKind, writeBackKinds } from '../../model/write-back.js';
import { endAlert, raiseAlert } from '../../store/alerts.js';
import type { Tx } from '../../store/store.js';
import { countRefusals, listWriteBack, type WriteBackProgress } from './write-back-state.js';

export const writeBackCauses = {
  failing: 'write-back.failing',
  refused: 'write-back.refused',
  moves: 'write-back.moves',
} as const;

/** The alert about targets that fail; null when none does. Pure. */
function failingAlert(progress: readonly WriteBackProgress[]): AlertFact | null {
  const failing = progress.filter(({ failures, failure }) => failures > 0 && failure);
  if (failing.length === 0) return null;
  const failures = new Map(failing.map(({ failure }) => [JSON.stringify(failure), failure as Fact]));
  return {
    code: 'write_back_failing',
    targets: failing.map(({ kind }) => kind),
    failures: [...failures.values()],
  };
}

interface NoteTerms {
  failuresInRow: number;
  /** Something needs a person now, and not only after several failures in a row. */
  isCertain: boolean;
  /** Kinds that are written into a side table. */
  bySideTable: readonly WriteBackKind[];
  nowMs: number;
}

/**
 * Brings the alerts of the write-back in line with how it is, in the caller's transaction.
 */
export async function noteWriteBackAlerts(
  tx: Tx,
  used: readonly WriteBackKind[],
  { failuresInRow, isCertain, bySideTable, nowMs }: NoteTerms,
): Promise<void> {
  // No statement of the settings writes these any more.
  for (const kind of bySideTable) await endAlert(tx, `${writeBackCauses.moves}.${kind}`, nowMs);
  const progress = (await listWriteBack(tx)).filter(({ kind }) => used.includes(kind));
  const failing = failingAlert(progress);
  if (failing === null) await endAlert(tx, writeBackCauses.failing, nowMs);
  else if (isCertain || progress.some(({ failures }) => failures >= failuresInRow))
    await raiseAlert(tx, writeBackCauses.failing, failing, nowMs);
  const refusals = (await countRefusals(tx)).filter(({ kind }) => used.includes(kind));
  if (refusals.length === 0) await endAlert(tx, writeBackCauses.refused, nowMs);
  else
    await raiseAlert(
      tx,
      writeBackCauses.refused,
      {
        code: 'write_back_refused',
        refusals,
      },
      nowMs,
    );
}

/** Ends all of them: where the write-back is off, nothing else would. */
export async function endWriteBackAlerts(tx: Tx, nowMs: number): Promise<void> {
  const { failing, refused, moves } = writeBackCauses;
  const causes = [failing, refused, ...writeBackKinds.map((kind) => `${moves}.${kind}`)];
  for (const cause of causes) await endAlert(tx, cause, nowMs);
}
