import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { StoreError } from '../../store/store-error.js';

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

/** Durable before it returns, and whole at every moment: written beside it and renamed over it. */
export async function writeWitness(file: string, witness: Witness): Promise<void> {
  const folder = dirname(file);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await removeStaleDrafts(file);
  // Several may write at the same time, and in containers each of them is process 1.
  const draft = `${file}.${randomUUID()}`;
  try {
    const handle = await open(draft, 'w', 0o600);
    try {
      await handle.writeFile(`${JSON.stringify(witness)}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  const entry = await open(folder, 'r');
  try {
    await entry.sync();
  } finally {
    await entry.close();
  }
}

/** A draft is written within seconds: an older one was left by a process that was killed. */
const staleDraftMs = 60 * 60_000;
const draftSuffix = /^\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

async function removeStaleDrafts(file: string): Promise<void> {
  const name = basename(file);
  for (const entry of await readdir(dirname(file))) {
    if (!entry.startsWith(name) || !draftSuffix.test(entry.slice(name.length))) continue;
    const draft = join(dirname(file), entry);
    // Another process may remove it first.
    const found = await stat(draft).catch(() => null);
    if (found && Date.now() - found.mtimeMs > staleDraftMs) await rm(draft, { force: true });
  }
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
