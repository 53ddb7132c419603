import { type AuditEntry, appendAudit } from '../../audit/audit-log.js';
import type { Fact } from '../../model/facts/fact.js';
import { type Entity, inSource, sourceOf } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import type { ErpPresence } from '../capture/capture-removals.js';
import { confirmedRemovals, findRenamed, renamedReason } from '../capture/removed-records.js';
import { isBack } from '../outbox/message.js';
import { closeAsSettled, holdMessages, scheduleMessages } from '../outbox/transitions.js';
import type { UnaskedRemoval } from './claim-messages.js';
import type { DeliveryTally } from './delivery-tally.js';
import type { ServiceLease } from './service-lease.js';
import { erpAwayMs } from './waiting-creates.js';

const isThereAgain: Fact = { code: 'back_in_erp' };

/** Asks the ERP once more about removals before they leave: their records may be back, or go on under another key. */
export class WaitingRemovals {
  /** Removals that came up for sending. They are asked for before the next claim, while what was claimed is sent. */
  #unasked: readonly UnaskedRemoval[] = [];

  constructor(
    private readonly context: JobContext,
    private readonly lease: ServiceLease,
    private readonly tally: DeliveryTally,
    private readonly erp: ErpPresence,
  ) {}

  /** Removals wait to be asked for. */
  get isAsking(): boolean {
    return this.#unasked.length > 0;
  }

  /** These came up with the last claim; no others do any more. */
  setUnasked(unasked: readonly UnaskedRemoval[]): void {
    this.#unasked = unasked;
  }

  /**
   * A removal may have waited for days, behind a hold, a pause or a limit: its record may be back. All that came up with the
   * last claim are asked for at once. @returns those that may leave
   */
  async mayLeave(): Promise<ReadonlySet<number>> {
    const { nowMs, actor, log } = this.context;
    const stillRemoved = new Set<number>();
    // A source that is away keeps only its own removals waiting.
    const kindOf = ({ entity, sourceKey }: UnaskedRemoval) => inSource(entity, sourceOf(sourceKey));
    for (const kind of new Set(this.#unasked.map(kindOf))) {
      const removals = this.#unasked.filter((one) => kindOf(one) === kind);
      const [{ entity }] = removals as [UnaskedRemoval];
      const ids = removals.map(({ id }) => id);
      const answer = await this.#askErp(entity, removals).catch((error: Error) => error);
      if (answer instanceof Error) {
        log.warn('The ERP can not say whether removed records are back: they wait', { entity, error: answer.message });
        await this.lease.write('put off removals', (tx) => scheduleMessages(tx, ids, nowMs() + erpAwayMs));
        continue;
      }
      const { existing, cancelled, renamed } = answer;
      const back = removals.filter(({ removal, sourceKey }) =>
        isBack(removal, existing?.has(sourceKey) ?? false, cancelled.has(sourceKey)),
      );
      const entries = back.map(({ id: messageId, sourceKey }): AuditEntry => {
        const detail = { reason: isThereAgain };
        return { event: 'superseded', outcome: 'withdrawn', entity, sourceKey, messageId, actor, detail };
      });
      if (back.length > 0)
        await this.lease.write('close removals of records that are back', async (tx) => {
          await closeAsSettled(
            tx,
            entries.map(({ messageId }) => messageId as number),
            isThereAgain,
            nowMs(),
          );
          await appendAudit(tx, entries, nowMs());
        });
      const held = removals.filter(({ sourceKey }) => renamed.has(sourceKey));
      if (held.length > 0) await this.#holdRenamed(entity, held, renamed);
      for (const one of removals) if (!back.includes(one) && !held.includes(one)) stillRemoved.add(one.id);
    }
    return stillRemoved;
  }

  /** The ERP's answer about these records: are they back, and under which key another row seems to go on for one. */
  async #askErp(entity: Entity, removals: readonly UnaskedRemoval[]) {
    const { store } = this.context;
    const ids = removals.map(({ id }) => id);
    const keys = removals.map(({ sourceKey }) => sourceKey);
    const presence = await this.erp.presence(entity, keys, true);
    // A person who let one go has seen the other row.
    const looked = await store.read('look which removals a person let go', (tx) => confirmedRemovals(tx, ids));
    const gone = removals.filter(({ id, removal }) => removal === 'deleted' && !looked.has(id));
    const goneKeys = gone.map(({ sourceKey }) => sourceKey).filter((key) => !presence.existing?.has(key));
    return { ...presence, renamed: await findRenamed(this.context, this.erp, entity, goneKeys) };
  }

  async #holdRenamed(entity: Entity, held: readonly UnaskedRemoval[], renamed: ReadonlyMap<string, string | null>) {
    const { actor, nowMs } = this.context;
    await this.lease.write('hold removals of records that go on under another key', async (tx) => {
      const lines: AuditEntry[] = [];
      for (const { id: messageId, sourceKey } of held) {
        const reason = renamedReason(entity, sourceKey, renamed.get(sourceKey) ?? null);
        await holdMessages(tx, [messageId], reason);
        lines.push({ event: 'parked', outcome: 'held', entity, sourceKey, messageId, actor, detail: { reason } });
      }
      await appendAudit(tx, lines, nowMs());
    });
    this.tally.result.parked += held.length;
  }
}
