import { isDeepStrictEqual } from 'node:util';
import type { OperatorAction } from '../../src/operator/actions/decide-message-action.js';
import { confirmHeld, summariseHeld } from '../../src/operator/actions/held-changes.js';
import {
  decideForMessages,
  matchingIds,
  writeOperatorDecisions,
} from '../../src/operator/actions/operated-messages.js';
import type { MessageFilter } from '../../src/operator/list-messages.js';
import { readClock } from '../../src/store/clock.js';
import { resumeLane } from '../../src/store/lane-pauses.js';
import type { HistoryStore } from './history-store.js';
import type { ModelService } from './model-service.js';
import { keyLifetimeMs } from './profile.js';
import type { Setup } from './step.js';
import type { VirtualTime } from './virtual-time.js';
import type { Worker } from './worker.js';

interface OpenMessage {
  id: number;
  entity: 'customer' | 'order';
  source_key: string;
  operation: string;
  record: string | null;
}

/** The items on the desk. */
export interface Desk {
  kept: HistoryStore;
  time: VirtualTime;
  service: ModelService;
  setup: Setup;
  worker(): Worker;
}

/** People with the command line: they do what it lets them do, and they tell the truth about what they find at the service. */
export class OperatorDesk {
  /** Messages that somebody acted upon. */
  readonly touched = new Set<number>();
  readonly discarded = new Set<number>();
  /** Keys of which somebody said that nothing exists under them. */
  readonly releasedKeys = new Set<string>();
  readonly #world: Desk;

  constructor(world: Desk) {
    this.#world = world;
  }

  async operate(action: 'retry' | 'discard' | 'resolve'): Promise<void> {
    if (action === 'resolve') return this.resolve();
    await this.#act(action, action === 'discard' ? { states: ['parked', 'pending'] } : { states: ['parked'] });
  }

  /** Whoever looks at the service knows what became of a message; what may not be sent again is discarded, as the program says. */
  async resolve(): Promise<void> {
    const rows = this.#world.kept.rows<OpenMessage>(
      `SELECT m.id, m.entity, m.source_key, m.operation, b.record FROM outbox_message m JOIN message_body b ON b.message_id=m.id
        WHERE m.state='parked' AND m.park_class IN ('unproven','conflict') ORDER BY m.id`,
    );
    for (const message of rows) {
      const found = this.#find(message);
      const isDone =
        message.operation === 'delete'
          ? found === null
          : found !== null && (message.operation === 'create' || includes(found.record, message.record));
      const done = isDone
        ? await this.#act('delivered', {}, [message.id], found?.id ?? null)
        : await this.#act('not_delivered', {}, [message.id]);
      if (done === 0) await this.#act('discard', {}, [message.id]);
    }
  }

  async confirm(): Promise<void> {
    const { context } = this.#world.worker();
    const { shown } = await summariseHeld(context, {});
    await confirmHeld(context, {}, 'send', shown, 'looked at');
  }

  async resume(): Promise<void> {
    const { context } = this.#world.worker();
    await context.store.transaction('resume', async (tx) => {
      for (const lane of ['service', 'deliver', 'pull', 'capture'] as const) await resumeLane(tx, lane);
    });
  }

  async #act(
    action: OperatorAction,
    filter: MessageFilter,
    only?: number[],
    serviceId: string | null = null,
  ): Promise<number> {
    const { kept, time, setup } = this.#world;
    const { replaysRefusals } = setup;
    const { context: parts } = this.#world.worker();
    const { installation, service } = parts.settings;
    const maxProcessingMs = service.maxProcessingSeconds * 1000;
    return kept.store.transaction('operate', async (tx) => {
      const ids = only ?? (await matchingIds(tx, filter, 0, 100));
      const keys = new Map(
        kept
          .rows<{ id: number; idempotency_key: string }>('SELECT id, idempotency_key FROM outbox_message')
          .map((row) => [row.id, row.idempotency_key]),
      );
      const remembers = { keyLifetimeMs, maxProcessingMs, replaysRefusals };
      const context = { now: readClock(parts), ...remembers, serviceId, canLookUp: [], ownIds: ['customer'] as const };
      const operated = (await decideForMessages(tx, ids, { action, filter, context, rows: 'lock' })).filter(
        ({ decision }) => decision.to !== null,
      );
      await writeOperatorDecisions(
        tx,
        operated,
        { installation, reason: 'somebody looked', saidOf: () => ({ by: 'a person', check: 'unasked' }) },
        time.nowMs,
      );
      for (const { message, decision } of operated) {
        this.touched.add(message.id);
        if (decision.to === 'discarded') this.discarded.add(message.id);
        if (action === 'not_delivered') this.releasedKeys.add(keys.get(message.id) as string);
      }
      return operated.length;
    });
  }

  #find({ entity, source_key: key }: OpenMessage): { id: string; record: object } | null {
    const { service } = this.#world;
    if (entity === 'order') return service.ordersOf(`SO-${key}`)[0] ?? null;
    const record = service.customers.get(`C-${key}`);
    return record ? { id: `C-${key}`, record } : null;
  }
}

function includes(found: object, record: string | null): boolean {
  return record !== null && isDeepStrictEqual(found, JSON.parse(record));
}
