import { mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { StoreError } from '../../store/store-error.js';
import { writeWholeFile } from '../../store/whole-file.js';

/** What is known outside of the store about how far it had come: it shows when the store is lost, or an older copy of itself. */
export interface Witness {
  /** The name that the store gave to itself when it was made. */
  incarnation: string;
  /** Highest number of an audit line that was seen in it. */
  auditId: number;
  /** When it was seen, in milliseconds since 1970. */
  at: number;
  /** Incarnations that this one has replaced after a loss; absent: an earlier version wrote the file. */
  predecessors?: readonly string[];
}

/** @returns null when there is none: a first run. @throws StoreError when there is one that can't be read */
export async function readWitness(file: string): Promise<Witness | null> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new StoreError(
      `The witness file ${file} can not be read: ${(cause as Error).message}. Without it nobody can tell whether the store is the newest one. Check its owner.`,
      { cause },
    );
  }
  try {
    const { incarnation, auditId, at, predecessors } = JSON.parse(text) as Partial<Witness>;
    if (typeof incarnation === 'string' && Number.isSafeInteger(auditId) && Number.isSafeInteger(at))
      return {
        incarnation,
        auditId: auditId as number,
        at: at as number,
        ...(Array.isArray(predecessors) ? { predecessors } : {}),
      };
  } catch {
    // Told below, as any other content that is no witness.
  }
  throw new StoreError(
    `The file ${file} is no witness of a store. If the store is the newest one there is, delete that file and start again.`,
  );
}

/** Durable before it returns, and whole at every moment. */
export async function writeWitness(file: string, witness: Witness): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeWholeFile(file, (handle) => handle.writeFile(`${JSON.stringify(witness)}\n`), { replaces: true });
}

/** How the store sees itself. */
export interface StoreTrace {
  incarnation: string;
  auditId: number;
  /** Incarnations that a person has replaced by this one, after a loss. */
  predecessors: readonly string[];
}

export interface StoreLoss {
  kind: 'lost' | 'older';
  reason: string;
}

/** Whether the store is the one that ran here last, and no older copy of it. Pure; null when it is, and on a first run. */
export function compareWitness(witness: Witness | null, store: StoreTrace): StoreLoss | null {
  if (!witness) return null;
  // Another machine's witness may not know yet that the loss was dealt with.
  if (store.predecessors.includes(witness.incarnation)) return null;
  if (witness.predecessors?.includes(store.incarnation))
    return {
      kind: 'older',
      reason: `the store is a copy from before a recovery or a rekey: what took its place ran here until ${time(witness.at)}`,
    };
  if (witness.incarnation !== store.incarnation)
    return {
      kind: 'lost',
      reason: `the store is not the one that ran here until ${time(witness.at)} (it was lost, or the settings under \`store\` name another one)`,
    };
  if (store.auditId < witness.auditId)
    return {
      kind: 'older',
      reason: `the store is an older copy of itself: its last audit line is number ${store.auditId}, and ${witness.auditId} was there at ${time(witness.at)}`,
    };
  return null;
}

function time(ms: number): string {
  return new Date(ms).toISOString();
}
