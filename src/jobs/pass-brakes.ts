import type { ErpReader } from '../erp/erp-reader.js';
import type { Entity } from '../model/entity.js';
import { readMarks, type SourceMarks } from '../store/cursors.js';
import type { Lease } from '../store/lease.js';
import type { CapturePageResult } from './capture-page.js';
import { alertHeld, endPass } from './end-pass.js';
import type { JobContext } from './job-context.js';
import { watchSource } from './watch-source.js';

const entities = ['customer', 'order'] as const;

/** What holds the changes of one pass for a person: what is wrong with a source as a whole, and what single records were held for. */
export class PassBrakes {
  readonly #context: JobContext;
  /** What single messages were held for as they were written. */
  readonly #held: Partial<Record<Entity, { count: number; reason: string }>> = {};
  /** What is wrong with a source as a whole. An ERP that was restored was restored with all its tables. */
  readonly #standing: Partial<Record<Entity, string>> = {};
  /** Of a restored ERP: up to which key records were given up, so that a new one below it is suspicious. */
  readonly givenUpTo: Partial<Record<Entity, string>> = {};
  /** Known keys that belong to other records now. */
  turnedKeys = 0;

  constructor(context: JobContext) {
    this.#context = context;
  }

  /** Heeds what earlier passes have found. */
  async recall(): Promise<void> {
    for (const entity of entities)
      this.#heed(entity, await this.#context.store.read('read the brakes', (tx) => readMarks(tx, entity)));
  }

  /** Notes where the source ends, and what that says of the ERP. */
  async watch(reader: ErpReader, lease: Lease | null, entity: Entity, sweptRows: number | null): Promise<SourceMarks> {
    const marks = await watchSource(this.#context, reader, lease, entity, sweptRows);
    this.#heed(entity, marks);
    return marks;
  }

  /** @param held what a page has held as it was written */
  count(held: CapturePageResult['held'], turnedKeys: number): void {
    this.turnedKeys += turnedKeys;
    for (const { entity, reason } of held) this.#held[entity] = { count: (this.#held[entity]?.count ?? 0) + 1, reason };
  }

  /**
   * Lets go or holds what was written after `afterId`. What a pass that did not end has written waits for the next one over
   * everything, and is counted with it. @returns how many are held
   */
  async end(lease: Lease | null, afterId: number): Promise<number> {
    // What the pass itself has found out counts as well.
    if (this.turnedKeys > 0) await this.recall();
    const standing = this.#standing.order ?? this.#standing.customer ?? null;
    let held = 0;
    for (const entity of entities) {
      const one = this.#held[entity];
      if (one) await alertHeld(this.#context, entity, one.count, one.reason);
      held += await endPass(this.#context, lease, { entity, afterId }, standing);
    }
    return held;
  }

  #heed(entity: Entity, { brake, highKey }: SourceMarks): void {
    delete this.#standing[entity];
    delete this.givenUpTo[entity];
    if (brake !== null) this.#standing[entity] = brake.reason;
    if (brake?.cause === 'restored' && highKey !== null) this.givenUpTo[entity] = highKey;
  }
}
