import { readFileSync, statSync } from 'node:fs';

/** The reader of files; tests hand in another one. */
export interface FileSource {
  /** A text that changes whenever the file does, and the time of that change; null: there is no such file. */
  look(path: string): { stamp: string; changedAtMs: number } | null;
  read(path: string): string;
  /** The interval at which files are looked at. */
  lookEveryMs: number;
}

export const realFiles: FileSource = {
  look(path) {
    const facts = statSync(path, { throwIfNoEntry: false });
    if (!facts) return null;
    // The change time too: a file that was moved here brings its old modification time along.
    const stamp = [facts.ino, facts.size, facts.mtimeMs, facts.ctimeMs].join(' ');
    return { stamp, changedAtMs: Math.max(facts.mtimeMs, facts.ctimeMs) };
  },
  read: (path) => readFileSync(path, 'utf8'),
  lookEveryMs: 1_000,
};

export interface WatchedFilesOptions<T> {
  /** Files that make one thing together, such as a certificate and its key. */
  paths: readonly string[];
  /** The credential of the settings: it stays until the files give something that can be used. */
  initial: T;
  /** Makes of the files' texts what is used. Throws when that is impossible: then the old one stays. */
  load: (texts: readonly string[]) => T;
  monotonicMs: () => number;
  warn: (message: string) => void;
  files?: FileSource;
}

/**
 * Secrets that may be replaced at any time. A look costs no read, and what changed is taken only when it held still from one
 * look to the next, because a file that is written in place is half a secret for a moment.
 */
export class WatchedFiles<T> {
  readonly #files: FileSource;
  #value: T;
  #version = 0;
  #texts: string | null = null;
  #taken = '';
  #seen = '';
  #refused = '';
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly options: WatchedFilesOptions<T>) {
    this.#files = options.files ?? realFiles;
    this.#value = options.initial;
    this.look(true);
    this.#version = 0;
  }

  get value(): T {
    return this.#value;
  }

  /** Grows with every change that was taken. */
  get version(): number {
    return this.#version;
  }

  /** When the files changed last, in milliseconds since 1970; null: there are none. */
  changedAtMs(): number | null {
    const times = this.options.paths.flatMap((path) => this.#look(path)?.changedAtMs ?? []);
    return times.length === 0 ? null : Math.max(...times);
  }

  /**
   * Takes what has changed.
   * @param atOnce without waiting for it to hold still, because what we have was refused
   * @returns whether there is something new
   */
  look(atOnce = false): boolean {
    const { paths, monotonicMs } = this.options;
    if (paths.length === 0) return false;
    const now = monotonicMs();
    if (!atOnce && now - this.#lookedAtMs < this.#files.lookEveryMs) return false;
    this.#lookedAtMs = now;
    const stamp = this.#stamp();
    if (stamp === this.#taken || stamp === this.#refused) return false;
    if (!atOnce && stamp !== this.#seen) {
      this.#seen = stamp;
      return false;
    }
    return this.#take(stamp);
  }

  #take(stamp: string): boolean {
    const { paths, load, warn } = this.options;
    try {
      const texts = paths.map((path) => this.#files.read(path));
      const value = load(texts);
      if (this.#stamp() !== stamp) return false;
      this.#taken = stamp;
      const joined = texts.join('\0');
      // Touched or moved here with the same content.
      if (joined === this.#texts) return false;
      this.#texts = joined;
      this.#value = value;
      this.#version++;
      return true;
    } catch (error) {
      this.#refused = stamp;
      const { code, message } = error as NodeJS.ErrnoException;
      warn(`${paths.join(', ')} can not be used (${code ?? message}); what was read before stays in use`);
      return false;
    }
  }

  #stamp(): string {
    return this.options.paths.map((path) => this.#look(path)?.stamp ?? 'absent').join('\n');
  }

  #look(path: string): { stamp: string; changedAtMs: number } | null {
    try {
      return this.#files.look(path);
    } catch (error) {
      return { stamp: (error as NodeJS.ErrnoException).code ?? 'unknown', changedAtMs: 0 };
    }
  }
}
