import { appendAudit } from '../../audit/audit-log.js';
import type { ErpReader } from '../../erp/erp-reader.js';
import { clearPendingOf } from '../../erp/write-back/erp-writer.js';
import type { AlertFact, HeldFact } from '../../model/facts/alerts.js';
import type { Fact } from '../../model/facts/fact.js';
import type { SourceFact } from '../../model/facts/records.js';
import { defaultSource, type Entity, entities, inSource } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { killPoint } from '../../ops/kill-point.js';
import { type AlertCause, endAlert, raiseAlert } from '../../store/alerts.js';
import { readMarks, readMarksOf, type SourceMarks, writeMarks } from '../../store/job-runs.js';
import type { Lease } from '../../store/lease.js';
import type { Tx } from '../../store/store.js';
import { holdMessages } from '../outbox/transitions.js';
import type { ReadRow } from './plan-row.js';
import {
  believedMarks,
  endOf,
  laterEnd,
  nextMarks,
  nothingSeen,
  type PassCounts,
  passHold,
  type SeenEnd,
  type SourceLook,
  sourceHold,
  toleranceSeconds,
  turnedKeysHold,
} from './safety-limits.js';

const batchSize = 500;

/**
 * Holds the changes of one pass for a person: for a fault of a source as a whole, for the number of changes, and for
 * single records. `safety-limits.ts` decides; this is the one place that raises and ends holds.
 */
export class PassHolds {
  /** The reasons for which single messages were held as they were written. */
  readonly #held: Partial<Record<Entity, { count: number; reason: Fact }>> = {};
  /** The fault of a source as a whole. A restored ERP was restored with all its tables. */
  readonly #standing: Partial<Record<Entity, SourceFact>> = {};
  /** The highest key before the ERP was restored: a new record with a lower key is suspicious. */
  readonly givenUpTo: Partial<Record<Entity, string>> = {};
  /** Known keys that belong to other records now. */
  turnedKeys = 0;
  /** The reasons for which the pass is on hold, or would be if a dry run were none. */
  readonly reasons: HeldFact[] = [];
  /** The messages that a dry run would write. */
  readonly #planned: Record<Entity, PassCounts> = {
    customer: { creates: 0, updates: 0, removals: 0 },
    order: { creates: 0, updates: 0, removals: 0 },
  };
  readonly #seen: Partial<Record<Entity, SeenEnd>> = {};
  readonly #ends: Partial<Record<Entity, { countsKeys: boolean; clock: string | null }>> = {};
  /** A pass over everything also ends for what an earlier one has left (0); a partial pass only for its own messages. */
  #afterId = 0;

  constructor(private readonly context: JobContext) {}

  /** Heeds what earlier passes have found. */
  async begin(isPartial: boolean): Promise<void> {
    const { store } = this.context;
    await store.read('read the holds', (tx) => this.#recall(tx));
    if (!isPartial) return;
    const [newest] = await store.read('read the newest message', (tx) =>
      tx.rows<{ id: number | null }>('SELECT MAX(id) AS id FROM outbox_message'),
    );
    this.#afterId = newest?.id ?? 0;
  }

  /**
   * Looks where a source ends, and raises or ends its hold.
   * @param lease null in a dry run, which writes nothing
   */
  async watch(reader: ErpReader, lease: Lease | null, entity: Entity, look: SourceLook): Promise<SourceMarks> {
    const { store, settings, log, nowMs } = this.context;
    const end = await reader.sourceEnd(entity);
    this.#ends[entity] = { countsKeys: end.key !== null, clock: look.clock };
    const judge = async (tx: Tx) => {
      const before = await readMarks(tx, this.#of(entity));
      const believed = believedMarks(before, look);
      // If we set the flag back ourselves, it is right that no row is pending any more.
      const isCleared = settings.writeBack.enabled && clearPendingOf(settings.writeBack, entity);
      const marks = isCleared ? { ...believed, sweptRows: null } : believed;
      const hold = sourceHold(marks, end, look.sweptRows, toleranceSeconds(marks, settings));
      return { before, hold, marks: nextMarks(believed, null, look.sweptRows, hold) };
    };
    const differs = (before: SourceMarks, marks: SourceMarks) => JSON.stringify(marks) !== JSON.stringify(before);
    if (lease !== null && look.sweptRows !== null)
      await this.#watchKeys(lease, entity, await reader.countWithoutKey(entity));
    const found = await store.read('look where the ERP ends', judge);
    const isNews = found.hold !== null || found.before.hold !== null || differs(found.before, found.marks);
    if (lease === null || !isNews) {
      this.#heed(entity, found.marks);
      return found.marks;
    }
    const { marks, alert } = await lease.write('note where the ERP ends', async (tx) => {
      const { before, hold, marks } = await judge(tx);
      if (hold !== null) return { marks, alert: await holdSource(tx, this.context, entity, hold) };
      if (differs(before, marks)) await writeMarks(tx, this.#of(entity), marks);
      if (before.hold !== null) await endAlert(tx, `source.${this.#of(entity)}`, nowMs());
      return { marks, alert: null };
    });
    if (alert !== null) log.error('Updates and removals are held', { alert });
    this.#heed(entity, marks);
    return marks;
  }

  /** Rows without a key can't be sent, and no other row waits for them. */
  async #watchKeys(lease: Lease, entity: Entity, rows: number): Promise<void> {
    const { log, nowMs } = this.context;
    const cause = `keyless.${this.#of(entity)}` as const;
    const source = this.context.settings.source || null;
    const alert: AlertFact = { code: 'rows_without_key', entity, source, rows };
    const isNew = await lease.write('note the rows without a key', async (tx) => {
      if (rows > 0) return raiseAlert(tx, cause, alert, nowMs());
      await endAlert(tx, cause, nowMs());
      return false;
    });
    if (isNew) log.warn('Rows have no key', { alert });
  }

  /** @param rows of a page that the outbox knows by now */
  see(entity: Entity, rows: readonly ReadRow[]): void {
    const clock = this.#ends[entity]?.clock ?? null;
    this.#seen[entity] = laterEnd(this.#seen[entity] ?? nothingSeen, endOf(rows, clock));
  }

  /** Raises the marks to what the pass has seen; keys that are no counter have no order in time. */
  async #raiseMarks(lease: Lease, entity: Entity): Promise<void> {
    const seen = this.#seen[entity];
    const end = this.#ends[entity];
    if (seen === undefined || end === undefined) return;
    await lease.write('note what was read of the ERP', async (tx) => {
      const before = await readMarks(tx, this.#of(entity));
      const marks = nextMarks(before, end.countsKeys ? seen : { ...seen, key: null }, null, before.hold);
      if (JSON.stringify(marks) !== JSON.stringify(before)) await writeMarks(tx, this.#of(entity), marks);
    });
  }

  /** @param held what a page has held as it was written */
  count(held: readonly { entity: Entity; reason: Fact }[], turnedKeys: number): void {
    this.turnedKeys += turnedKeys;
    for (const { entity, reason } of held) this.#held[entity] = { count: (this.#held[entity]?.count ?? 0) + 1, reason };
  }

  /**
   * Lets the updates and removals of the pass go, or holds them. Those of a pass that did not end
   * wait for the next one over everything, and are counted with it. @returns how many are held
   */
  async end(lease: Lease): Promise<number> {
    // The findings of the pass itself count as well.
    if (this.turnedKeys > 0) await this.context.store.read('read the holds', (tx) => this.#recall(tx));
    const counts = await this.#count();
    let held = 0;
    for (const entity of entities) {
      await this.#raiseMarks(lease, entity);
      const one = this.#held[entity];
      if (one) await this.#alertHeld(this.#heldFact(entity, one.count, one.reason));
      held += await this.#endOf(lease, entity, counts[entity]);
    }
    return held;
  }

  async #endOf(lease: Lease, entity: Entity, counts: PassCounts): Promise<number> {
    const { settings, nowMs } = this.context;
    const write = async <T>(action: string, work: (tx: Tx) => Promise<T>) => {
      const done = await lease.write(action, async (tx) => {
        const result = await work(tx);
        killPoint('before-pass-end');
        return result;
      });
      killPoint('after-pass-end');
      return done;
    };
    const parameters = this.#ofPass(entity);
    if (counts.creates + counts.updates + counts.removals === 0) return 0;
    const reason = passHold(counts, settings.capture, this.#standing.order ?? this.#standing.customer ?? null);
    if (reason === null) {
      await write('let the pass go', (tx) =>
        tx.run(`UPDATE outbox_message SET next_attempt_at=?, waits_for=NULL WHERE ${ofPass}`, [nowMs(), ...parameters]),
      );
      return 0;
    }
    let held = 0;
    for (let batch = batchSize; batch === batchSize; held += batch)
      batch = await write('hold the pass', async (tx) => {
        const messages = await tx.rows<{ id: number; sourceKey: string }>(
          `SELECT id, source_key FROM outbox_message WHERE ${ofPass} ORDER BY id LIMIT ${batchSize}${tx.forUpdate}`,
          parameters,
        );
        const ids = messages.map(({ id }) => id);
        await holdMessages(tx, ids, reason);
        const { actor } = this.context;
        await appendAudit(
          tx,
          messages.map(({ id, sourceKey }) => ({
            event: 'parked',
            outcome: 'held',
            entity,
            sourceKey,
            messageId: id,
            actor,
            detail: { reason },
          })),
          nowMs(),
        );
        return messages.length;
      });
    const alert = this.#heldFact(entity, held, reason);
    await this.#alertHeld(alert);
    this.reasons.push(alert);
    return held;
  }

  /** The messages that a dry run would write, for `foresee`. */
  plan(touched: readonly { entity: Entity; counts: keyof PassCounts | null }[]): void {
    for (const { entity, counts } of touched) if (counts !== null) this.#planned[entity][counts]++;
  }

  /** The holds of `end` if a dry run were none. Writes nothing. @returns how many */
  async foresee(): Promise<number> {
    const { settings } = this.context;
    const turned = turnedKeysHold(this.turnedKeys);
    // The rest of an earlier pass counts as well.
    const left = await this.#count();
    let held = 0;
    for (const entity of entities) {
      const { creates, updates, removals } = left[entity];
      const planned = this.#planned[entity];
      const counts = {
        creates: planned.creates + creates,
        updates: planned.updates + updates,
        removals: planned.removals + removals,
      };
      const reason = passHold(counts, settings.capture, this.#standing.order ?? this.#standing.customer ?? turned);
      if (reason === null) continue;
      const changes = counts.creates + counts.updates + counts.removals;
      held += changes;
      this.reasons.push(this.#heldFact(entity, changes, reason));
    }
    return held;
  }

  /** Says once that something waits for `waybill confirm`; over when nothing of the entity is held any more. */
  async #alertHeld(alert: HeldFact): Promise<void> {
    const { entity } = alert;
    await this.context.store.transaction('say what is held', (tx) =>
      raiseHold(tx, this.context, { entity, cause: `held.${this.#of(entity)}`, outcome: 'held', alert }),
    );
    this.context.log.error('Changes are held', { alert });
  }

  #heldFact(entity: Entity, held: number, reason: Fact): HeldFact {
    return { code: 'changes_held', entity, source: this.context.settings.source || null, held, reason };
  }

  async #recall(tx: Tx): Promise<void> {
    const names = entities.map((entity) => this.#of(entity));
    const marks = await readMarksOf(tx, names);
    for (const [at, entity] of entities.entries()) this.#heed(entity, marks[at] as SourceMarks);
  }

  #of(entity: Entity) {
    return inSource(entity, this.context.settings.source);
  }

  #count(): Promise<Record<Entity, PassCounts>> {
    const { source = defaultSource } = this.context.settings;
    return this.context.store.read('count what the pass would change', (tx) => countOfPass(tx, source, this.#afterId));
  }

  #ofPass(entity: Entity): (string | number)[] {
    return [entity, this.context.settings.source ?? defaultSource, this.#afterId];
  }

  #heed(entity: Entity, { hold, highKey }: SourceMarks): void {
    delete this.#standing[entity];
    delete this.givenUpTo[entity];
    if (hold !== null) this.#standing[entity] = hold;
    if (hold?.code === 'source_restored' && highKey !== null) this.givenUpTo[entity] = highKey;
  }
}

/** Messages that wait for the end of a pass, after an id. Each column of the index is named, or all that is pending is read. */
const waitsForEnd = "source=? AND is_backlog IN (0,1) AND next_attempt_at IS NULL AND waits_for='scan' AND id>?";
/** The same of one entity. */
const ofPass = `state='pending' AND entity=? AND ${waitsForEnd}`;

/** The number of changes the pass has written that wait for its end. */
async function countOfPass(tx: Tx, source: string, afterId: number): Promise<Record<Entity, PassCounts>> {
  const rows = await tx.rows<{ entity: Entity } & PassCounts>(
    `SELECT entity, COUNT(CASE WHEN operation='create' THEN 1 END) AS creates,
            COUNT(CASE WHEN operation<>'create' AND removal IS NULL THEN 1 END) AS updates, COUNT(removal) AS removals
       FROM outbox_message
      WHERE state='pending' AND entity IN ('customer','order') AND ${waitsForEnd} GROUP BY entity`,
    [source, afterId],
  );
  const of = (wanted: Entity): PassCounts => {
    const { creates = 0, updates = 0, removals = 0 } = rows.find(({ entity }) => entity === wanted) ?? {};
    return { creates, updates, removals };
  };
  return { customer: of('customer'), order: of('order') };
}

/**
 * Puts a source on hold, so that its updates and removals wait until a person confirms, and
 * alerts once.
 * @returns the alert, for the log when the transaction is committed; null where it was on hold already
 */
export async function holdSource(
  tx: Tx,
  context: JobContext,
  entity: Entity,
  hold: SourceFact,
): Promise<AlertFact | null> {
  const { source } = context.settings;
  const name = inSource(entity, source);
  const before = await readMarks(tx, name);
  await writeMarks(tx, name, { ...before, hold });
  if (before.hold?.code === hold.code) return null;
  const cause = causes[hold.code];
  const alert: AlertFact = { code: 'source_held', entity, source: source || null, cause, reason: hold };
  await raiseHold(tx, context, { entity, cause: `source.${name}`, outcome: cause, alert });
  return alert;
}

/** The names of these holds in alerts and the audit log. */
const causes = { source_empty: 'empty', source_drained: 'drained', source_restored: 'restored' } as const;

async function raiseHold(
  tx: Tx,
  { actor, nowMs }: JobContext,
  raised: {
    entity: Entity;
    cause: AlertCause;
    outcome: string;
    alert: AlertFact;
  },
): Promise<void> {
  const { entity, cause, outcome, alert } = raised;
  await raiseAlert(tx, cause, alert, nowMs());
  await appendAudit(tx, [{ event: 'alert', outcome, entity, actor, detail: { message: alert } }], nowMs());
}
