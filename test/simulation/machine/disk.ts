import type { Database } from 'better-sqlite3';

export type DiskFault = 'ENOSPC' | 'EROFS' | 'EACCES';

/** The disk of the machine as its processes see it: whole folders may refuse to be written, or to be read. */
export class Disk {
  host = 'node-1';
  readonly #faults = new Map<string, DiskFault>();
  readonly #open = new Map<string, Set<Database>>();

  /** @param folder everything in it */
  set(folder: string, fault: DiskFault | null): void {
    if (fault === null) this.#faults.delete(folder);
    else this.#faults.set(folder, fault);
    for (const [file, databases] of this.#open)
      if (file.startsWith(folder)) for (const database of databases) this.#limit(file, database);
  }

  clear(): void {
    for (const folder of [...this.#faults.keys()]) this.set(folder, null);
  }

  faultAt(path: string, how: 'read' | 'write' | 'open'): DiskFault | null {
    for (const [folder, code] of this.#faults) {
      if (!path.startsWith(folder)) continue;
      if (code === 'EACCES') return code;
      // SQLite opens a file on a full disk, and only its writes fail.
      if (how === 'write') return code;
    }
    return null;
  }

  opened(file: string, database: Database): void {
    const known = this.#open.get(file) ?? new Set();
    known.add(database);
    this.#open.set(file, known);
    this.#limit(file, database);
  }

  #limit(file: string, database: Database): void {
    if (!database.open) return;
    const code = this.faultAt(file, 'write');
    if (code === null && this.#faults.size === 0 && !touched.has(database)) return;
    touched.add(database);
    try {
      // The nearest that a connection can be told: a write fails, and what was there is still readable.
      database.pragma(`query_only = ${code === null ? 0 : 1}`);
    } catch {
      // It is in a transaction.
    }
  }
}

const touched = new WeakSet<Database>();

let current = new Disk();
export const disk = () => current;
export function replaceDisk(next: Disk): void {
  current = next;
}
