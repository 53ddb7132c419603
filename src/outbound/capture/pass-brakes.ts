import { appendAudit } from '../../audit/audit-log.js';
import type { ErpReader } from '../../erp/erp-reader.js';
import type { Entity } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { killPoint } from '../../ops/kill-point.js';
import { endAlert, raiseAlert } from '../../store/alerts.js';
import { readMarks, type SourceMarks, writeMarks } from '../../store/cursors.js';
import type { Lease } from '../../store/lease.js';
import type { Tx } from '../../store/store.js';
import { afterThisPass, removalAfterThisPass } from '../outbox/message.js';
import { holdMessages } from '../outbox/transitions.js';
import { nextMarks, type PassCounts, passBrake, sourceBrake } from './brake.js';

/** Which messages a pass may let go or hold when it ends. */
export interface PassScope {
  entity: Entity;
  /** 0 for a pass over everything, which answers also for what one before it has left; else the newest message that was there when it began. */
  afterId: number;
}

/** The newest message there is; 0 where there is none. */
export async function newestMessageId(tx: Tx): Promise<number> {
  const [row] = await tx.select('SELECT MAX(id) AS id FROM outbox_message');
  return Number(row?.id ?? 0);
}

/** What the pass would change at the service. */
export async function countOfPass(tx: Tx, { entity, afterId }: PassScope): Promise<PassCounts> {
  const rows = await tx.select(
    `SELECT next_attempt_at AS due, COUNT(*) AS n FROM outbox_message
      WHERE state='pending' AND entity=? AND next_attempt_at>=? AND id>? GROUP BY next_attempt_at`,
    [entity, removalAfterThisPass, afterId],
  );
  const dueAt = (due: number) => Number(rows.find((row) => Number(row.due) === due)?.n ?? 0);
  return { updates: dueAt(afterThisPass), removals: dueAt(removalAfterThisPass) };
}

/** Lets go what the pass wrote. */
export async function releaseOfPass(tx: Tx, { entity, afterId }: PassScope, nowMs: number): Promise<number> {
  return tx.run(
    "UPDATE outbox_message SET next_attempt_at=? WHERE state='pending' AND entity=? AND next_attempt_at>=? AND id>?",
    [nowMs, entity, removalAfterThisPass, afterId],
  );
}

/** Holds some of what the pass wrote: parked until a person confirms. Returns them; none when all are held. */
export async function holdOfPass(
  tx: Tx,
  { entity, afterId }: PassScope,
  reason: string,
  nowMs: number,
  limit: number,
): Promise<{ id: number; sourceKey: string }[]> {
  const rows = await tx.rows<{ id: number; sourceKey: string }>(
    `SELECT id, source_key FROM outbox_message WHERE state='pending' AND entity=? AND next_attempt_at>=? AND id>?
      ORDER BY id LIMIT ${Math.trunc(limit)}${tx.forUpdate}`,
    [entity, removalAfterThisPass, afterId],
  );
  await holdMessages(
    tx,
    rows.map(({ id }) => id),
    reason,
    nowMs,
  );
  return rows;
}

/**
 * Puts a brake on a source, which holds its updates and removals until a person confirms, and alerts once.
 * @returns what to say in the log when the transaction is committed; null when the brake was on already
 */
export async function brakeSource(
  tx: Tx,
  { actor, nowMs }: Pick<JobContext, 'actor' | 'nowMs'>,
  entity: Entity,
  brake: NonNullable<SourceMarks['brake']>,
): Promise<string | null> {
  const before = await readMarks(tx, entity);
  await writeMarks(tx, entity, { ...before, brake });
  if (before.brake?.cause === brake.cause) return null;
  const message = `Updates and removals of ${entity}s are held: ${brake.reason}. Look at the ERP, then \`waybill confirm\`.`;
  await raiseAlert(tx, `source.${entity}`, message, nowMs(), { cause: brake.cause });
  await appendAudit(tx, [{ event: 'alert', outcome: brake.cause, entity, actor, detail: { message } }], nowMs());
  return message;
}

/** Looks where a source ends, and puts the brake on (or takes it off) in the store. Alerts once, and when it is over. */
export async function watchSource(
  context: JobContext,
  reader: ErpReader,
  lease: Lease,
  entity: Entity,
  sweptRows: number | null,
): Promise<SourceMarks> {
  const { settings, log, nowMs } = context;
  const end = await reader.sourceEnd(entity);
  const { marks, alert } = await lease.write('note where the ERP ends', async (tx) => {
    const before = await readMarks(tx, entity);
    const brake = sourceBrake(before, end, sweptRows, settings.capture.overlapSeconds);
    const marks = nextMarks(before, end, sweptRows, brake);
    if (brake !== null) return { marks, alert: await brakeSource(tx, context, entity, brake) };
    if (JSON.stringify(marks) !== JSON.stringify(before)) await writeMarks(tx, entity, marks);
    if (before.brake !== null) await endAlert(tx, `source.${entity}`, nowMs());
    return { marks, alert: null };
  });
  if (alert !== null) log.error(alert);
  return marks;
}

const batchSize = 500;

/**
 * Lets the updates and removals of a pass go, or holds them for a person when they are more than anybody would make by hand.
 * @param standing what is wrong with the source as a whole, or null
 * @returns how many are held
 */
export async function endPass(
  context: JobContext,
  lease: Lease,
  scope: PassScope,
  standing: string | null,
): Promise<number> {
  const { entity } = scope;
  const { store, settings, nowMs } = context;
  const guarded = <T>(action: string, work: (tx: Tx) => Promise<T>) =>
    lease.write(action, async (tx) => {
      const done = await work(tx);
      killPoint('before-pass-end');
      return done;
    });
  const counts = await store.read('count what the pass would change', (tx) => countOfPass(tx, scope));
  if (counts.updates + counts.removals === 0) return 0;
  const reason = passBrake(counts, settings.capture, standing);
  if (reason === null) {
    await guarded('let the pass go', (tx) => releaseOfPass(tx, scope, nowMs()));
    killPoint('after-pass-end');
    return 0;
  }
  let held = 0;
  for (;;) {
    const batch = await guarded('hold the pass', async (tx) => {
      const messages = await holdOfPass(tx, scope, reason, nowMs(), batchSize);
      await appendAudit(
        tx,
        messages.map(({ id, sourceKey }) => ({
          event: 'parked',
          outcome: 'held',
          entity,
          sourceKey,
          messageId: id,
          actor: context.actor,
          detail: { reason },
        })),
        nowMs(),
      );
      return messages.length;
    });
    killPoint('after-pass-end');
    held += batch;
    if (batch < batchSize) break;
  }
  await alertHeld(context, entity, held, reason);
  return held;
}

/** Says once that something waits for `waybill confirm`; over when nothing of the entity is held any more. */
export async function alertHeld(context: JobContext, entity: Entity, held: number, reason: string): Promise<void> {
  const { store, log, actor, nowMs } = context;
  const message = `${held} changes to ${entity === 'order' ? 'orders' : 'customers'} are held: ${reason}. Look at them with \`waybill confirm\`.`;
  await store.transaction('say what is held', async (tx) => {
    await raiseAlert(tx, `held.${entity}`, message, nowMs(), { held });
    await appendAudit(tx, [{ event: 'alert', outcome: 'held', entity, actor, detail: { message } }], nowMs());
  });
  log.error(message);
}

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
  async watch(reader: ErpReader, lease: Lease, entity: Entity, sweptRows: number | null): Promise<SourceMarks> {
    const marks = await watchSource(this.#context, reader, lease, entity, sweptRows);
    this.#heed(entity, marks);
    return marks;
  }

  /** @param held what a page has held as it was written */
  count(held: readonly { entity: Entity; reason: string }[], turnedKeys: number): void {
    this.turnedKeys += turnedKeys;
    for (const { entity, reason } of held) this.#held[entity] = { count: (this.#held[entity]?.count ?? 0) + 1, reason };
  }

  /**
   * Lets go or holds what was written after `afterId`. What a pass that did not end has written waits for the next one over
   * everything, and is counted with it. @returns how many are held
   */
  async end(lease: Lease, afterId: number): Promise<number> {
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
