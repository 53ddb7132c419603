import { type AuditEntry, appendAudit } from '../../audit/audit-log.js';
import type { Fact } from '../../model/facts/fact.js';
import { type Entity, inSource, sourceOf } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { readScans } from '../../store/job-runs.js';
import { padded, placeholders } from '../../store/rows.js';
import type { ErpPresence } from '../capture/capture-removals.js';
import { type MessageName, scheduleMessages, supersedeUnsent } from '../outbox/transitions.js';
import type { ServiceLease } from './service-lease.js';

/** Age up to which it counts as known which scans have ended. */
const scansKnownForMs = 1_000;
/** Wait of creates and removals whose ERP can't be asked. */
export const erpAwayMs = 60_000;

const leftUnsent: Fact = { code: 'left_before_sending' };
const erpNotAsked: Fact = { code: 'erp_not_asked' };

/**
 * Asks the ERP once more about creates that waited: behind a limit, a pause, an outage or a hold. A captured row may
 * be gone by then, or not to be sent any more; nothing of it is at the service, so it is withdrawn. A create that was
 * captured after the last completed scan began leaves unasked.
 */
export class WaitingCreates {
  /** When the last completed scan of each kind began. */
  #scans: ReadonlyMap<string, number> = new Map();
  #scansReadAtMs = Number.NEGATIVE_INFINITY;
  /** Until when each ERP that could not be asked is left alone, by the monotonic clock. */
  readonly #awayUntilMs = new Map<string, number>();

  constructor(
    private readonly context: JobContext,
    private readonly lease: ServiceLease,
    private readonly erp: Pick<ErpPresence, 'eligible'>,
  ) {}

  /** @returns those of these messages that need no answer or have one: they may be claimed */
  async mayLeave(ids: readonly number[]): Promise<number[]> {
    const waiting = await this.#waiting(ids);
    if (waiting.length === 0) return [...ids];
    const kindOf = ({ entity, sourceKey }: MessageName) => inSource(entity, sourceOf(sourceKey));
    const stay = new Set<number>();
    // A source that is away keeps only its own creates waiting.
    for (const kind of new Set(waiting.map(kindOf)))
      for (const id of await this.#ask(
        kind,
        waiting.filter((one) => kindOf(one) === kind),
      ))
        stay.add(id);
    return ids.filter((id) => !stay.has(id));
  }

  async #waiting(ids: readonly number[]): Promise<MessageName[]> {
    const { store, clock } = this.context;
    if (clock.monotonicMs() - this.#scansReadAtMs >= scansKnownForMs) {
      this.#scans = await store.read('read which scans have ended', readScans);
      this.#scansReadAtMs = clock.monotonicMs();
    }
    if (this.#scans.size === 0 || ids.length === 0) return [];
    const listed = padded(ids);
    const found = await store.read('look which creates have waited', (tx) =>
      tx.rows<MessageName & { capturedAt: number }>(
        `SELECT id, entity, source_key, captured_at FROM outbox_message
          WHERE id IN ${placeholders(listed.length)} AND captured_at<?
            AND CASE WHEN state='pending' AND operation='create' AND was_sent=0 THEN 1 ELSE 0 END=1`,
        [...listed, Math.max(...this.#scans.values())],
      ),
    );
    return found.filter(
      ({ entity, sourceKey, capturedAt }) =>
        capturedAt < (this.#scans.get(inSource(entity, sourceOf(sourceKey))) ?? Number.NEGATIVE_INFINITY),
    );
  }

  /** @returns ids of those that stay */
  async #ask(kind: string, creates: readonly MessageName[]): Promise<number[]> {
    const { log, nowMs, clock } = this.context;
    const [{ entity }] = creates as [MessageName];
    const isAway = clock.monotonicMs() < (this.#awayUntilMs.get(kind) ?? Number.NEGATIVE_INFINITY);
    const keys = creates.map(({ sourceKey }) => sourceKey);
    const eligible = isAway ? null : await this.erp.eligible(entity, keys).catch((error: Error) => error);
    if (eligible === null || eligible instanceof Error) {
      if (eligible !== null) {
        log.warn('The ERP can not say whether what has waited is still to be sent: it waits', {
          entity,
          error: eligible.message,
        });
        this.#awayUntilMs.set(kind, clock.monotonicMs() + erpAwayMs);
      }
      const ids = creates.map(({ id }) => id);
      await this.lease.write('put off creates', (tx) => scheduleMessages(tx, ids, nowMs() + erpAwayMs, erpNotAsked));
      return ids;
    }
    this.#awayUntilMs.delete(kind);
    const gone = creates.filter(({ sourceKey }) => !eligible.has(sourceKey));
    if (gone.length > 0) await this.#withdraw(entity, gone);
    return gone.map(({ id }) => id);
  }

  async #withdraw(entity: Entity, gone: readonly MessageName[]): Promise<void> {
    const { actor, nowMs } = this.context;
    await this.lease.write('withdraw creates whose rows have left the ERP', async (tx) => {
      const listed = placeholders(gone.length);
      // A pass may have replaced one of them meanwhile.
      const still = await tx.rows<{ id: number }>(
        `SELECT id FROM outbox_message WHERE id IN ${listed} AND state='pending' AND was_sent=0${tx.forUpdate}`,
        gone.map(({ id }) => id),
      );
      const ids = new Set(still.map(({ id }) => id));
      await supersedeUnsent(tx, [...ids], leftUnsent, nowMs());
      const lines = gone.flatMap(({ id: messageId, sourceKey }): AuditEntry[] => {
        const line = { event: 'superseded', outcome: 'withdrawn', entity, sourceKey, messageId, actor } as const;
        return ids.has(messageId) ? [{ ...line, detail: { reason: leftUnsent } }] : [];
      });
      await appendAudit(tx, lines, nowMs());
    });
  }
}
