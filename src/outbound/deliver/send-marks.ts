import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, unlinkSync, writeSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { JobContext } from '../../ops/job-context.js';
import type { EndedHolder } from '../../store/lease-rows.js';
import { thisProcess } from '../../store/lease-rows.js';

/** The place of a message is its id modulo this: far more than are under way at once. One more is for all reads. */
const places = 16_384;
/** A mark and its time, both as 64 bits. */
const placeBytes = 16;
/** Whose marks they are stands before them. */
const headBytes = 256;

/**
 * Which of the claimed messages have left, noted in a file of this machine in the moment before their bytes leave. The
 * marks that a process has written into a file stay there when it is killed, without waiting for the disk. The
 * successor of a process that is known to have ended here can therefore tell which messages it never sent.
 *
 * The file only ever proves that a message has not left: where it says nothing of it, is missing or is another
 * process's, the message may have been sent. The second of two that share a place says nothing of the first.
 */
export class SendMarks {
  readonly #head: Buffer | null;
  readonly #file: string;
  /** Null: the file is not there, so that it proves nothing. */
  #descriptor: number | null = null;
  #isOpened = false;
  /** It could be neither written nor removed: nothing may leave, and nothing need be claimed, until `leave` can. */
  isStuck = false;
  /** Most marks are written one by one. */
  readonly #one = new Float64Array(2);

  /** @param witnessFile the file that remembers the store outside of it: the marks lie beside it. Absent: nothing is noted */
  constructor(
    witnessFile: string | undefined,
    epoch: number,
    private readonly context: Pick<JobContext, 'log' | 'clock'>,
    process = thisProcess(),
  ) {
    this.#head = witnessFile === undefined || process === null ? null : headOf({ process, epoch });
    this.#file = marksFile(witnessFile ?? '', process ?? '');
  }

  /** Notes that these messages are about to be claimed, and have not left. To be called before the commit. */
  hold(messageIds: readonly number[]): void {
    if (!this.#isOpened && messageIds.length > 0) this.#open();
    const ids = [...messageIds].sort((a, b) => a - b);
    while (ids.length > 0) {
      const first = ids[0] as number;
      const next = ids.findIndex((id, i) => i > 0 && (id !== first + i || id % places === 0));
      const run = ids.splice(0, next < 0 ? ids.length : next);
      if (!this.#write(placeOf(first), run.map(heldMark))) return;
    }
  }

  /**
   * Notes that this message leaves now.
   * @param messageId null: it is a request to read
   * @returns whether it may: a file that can't be written must not prove anything
   */
  leave(messageId: number | null): boolean {
    return messageId === null ? this.#write(places, [1]) : this.#write(placeOf(messageId), [heldMark(messageId) + 1]);
  }

  /** Nothing is under way any more: there is nothing left to prove. */
  close(): void {
    this.#remove();
  }

  #open(): void {
    this.#isOpened = true;
    if (this.#head === null) return;
    try {
      mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 });
      removeOutdated(this.#file, this.#head);
      remove(this.#file);
      this.#descriptor = openSync(this.#file, 'wx', 0o600);
      // All of it, so that no later mark needs room on the disk.
      const empty = Buffer.concat([this.#head, Buffer.alloc((places + 1) * placeBytes)]);
      if (writeSync(this.#descriptor, empty) !== empty.length) throw new Error('there is no room for it');
    } catch (error) {
      this.#giveUp(error as Error);
    }
  }

  #write(place: number, marks: readonly number[]): boolean {
    if (this.#descriptor === null) return true;
    try {
      const atMs = this.context.clock.sinceBoot().bootMs;
      const bytes = marks.length === 1 ? this.#one : new Float64Array(marks.length * 2);
      for (let nth = 0; nth < marks.length; nth++) {
        bytes[nth * 2] = marks[nth] as number;
        bytes[nth * 2 + 1] = atMs;
      }
      const at = headBytes + place * placeBytes;
      if (writeSync(this.#descriptor, bytes, 0, bytes.byteLength, at) === bytes.byteLength) {
        this.isStuck = false;
        return true;
      }
      throw new Error('there is no room for it');
    } catch (error) {
      return this.#giveUp(error as Error);
    }
  }

  /** @returns whether the file proves nothing from now on */
  #giveUp({ message }: Error): boolean {
    const wasStuck = this.isStuck;
    this.isStuck = !this.#remove();
    const about = { file: this.#file, error: message };
    if (!this.isStuck)
      this.context.log.warn(
        'What leaves can not be noted beside the store: a kill will leave more in doubt than it must',
        about,
      );
    else if (!wasStuck)
      this.context.log.error(
        'Nothing is sent: what leaves can be neither noted beside the store, nor can the file be removed. Look after its disk, or restart Waybill',
        about,
      );
    return !this.isStuck;
  }

  #remove(): boolean {
    if (this.#descriptor === null) return true;
    try {
      remove(this.#file);
    } catch {
      return false;
    }
    const descriptor = this.#descriptor;
    this.#descriptor = null;
    try {
      closeSync(descriptor);
    } catch {
      // A disk that fails may say so once more. The file is gone.
    }
    return true;
  }
}

/** The marks of a process that has ended. */
export interface LeftMarks {
  /** Those of these messages, claimed by it, that had not left. */
  neverLeft(messageIds: readonly number[]): ReadonlySet<number>;
  /** When something left for the last time, at the latest, in milliseconds since the machine started. */
  lastLeftMs: number;
}

/** @returns null where there is nothing that proves anything */
export function readLeftMarks(witnessFile: string | undefined, holder: EndedHolder): LeftMarks | null {
  const file = readMarks(marksFile(witnessFile ?? '', holder.process));
  if (file === null || !file.subarray(0, headBytes).equals(headOf(holder))) return null;
  const markAt = (place: number) => file.readDoubleLE(headBytes + place * placeBytes);
  const timeAt = (place: number) => file.readDoubleLE(headBytes + place * placeBytes + placeBytes / 2);
  let lastLeftMs = 0;
  for (let place = 0; place <= places; place++) lastLeftMs = Math.max(lastLeftMs, timeAt(place));
  return { neverLeft: (ids) => new Set(ids.filter((id) => markAt(placeOf(id)) === heldMark(id))), lastLeftMs };
}

/** Their proof is on record. */
export function forgetMarks(witnessFile: string | undefined, { process }: EndedHolder): void {
  try {
    remove(marksFile(witnessFile ?? '', process));
  } catch {
    // It is of no use any more, and a process of the same number takes its place.
  }
}

function placeOf(messageId: number): number {
  return messageId % places;
}

/** One more: it has left. */
function heldMark(messageId: number): number {
  return messageId * 2;
}

function marksFile(witnessFile: string, process: string): string {
  return `${witnessFile}.sending-${process.split(' ')[2]}`;
}

function headOf({ process, epoch }: EndedHolder): Buffer {
  const head = Buffer.alloc(headBytes);
  head.write(`Waybill: messages that left under epoch ${epoch} of ${process}\n`);
  return head;
}

/** Marks from before the machine started are of no use: its power may have gone before they were on the disk. */
function removeOutdated(file: string, head: Buffer): void {
  const [name] = basename(file).split(/\d+$/) as [string];
  const bootOf = (marks: Buffer) => marks.toString('utf8', 0, headBytes).split(' ')[8];
  for (const other of readdirSync(dirname(file)).filter((one) => one.startsWith(name))) {
    const marks = readMarks(join(dirname(file), other));
    if (marks && bootOf(marks) !== bootOf(head)) remove(join(dirname(file), other));
  }
}

/** @returns null when there are none, or not all of them */
function readMarks(file: string): Buffer | null {
  try {
    const marks = readFileSync(file);
    return marks.length === headBytes + (places + 1) * placeBytes ? marks : null;
  } catch {
    return null;
  }
}

function remove(file: string): void {
  try {
    unlinkSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
