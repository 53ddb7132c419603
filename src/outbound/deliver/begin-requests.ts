import type { JobContext } from '../../ops/job-context.js';
import type { ServiceClient } from '../../service/service-client.js';
import type { ClaimedMessage } from './claim-messages.js';
import type { Claims } from './claims.js';
import type { DeliverOptions, DeliveryTally } from './delivery-tally.js';
import type { Dispatcher, ListDue } from './dispatcher.js';
import { listDue, StoreDispatcher } from './due-messages.js';
import type { Exchange, Manner } from './exchange.js';
import { countInDoubt, probeMessageId, probeOrder } from './lane-keeper.js';
import { LookUps } from './look-up.js';
import { maxIdleMs, type Step } from './next-step.js';
import type { SendGate } from './send-gate.js';
import type { ServiceLease } from './service-lease.js';
import { MessageSettler } from './settle-messages.js';

/** Claims in a row that may come back empty before the loop rests. */
const mostInVain = 5;
/** Look-ups under way at once: they are few. */
const maxLookUps = 50;

/** The parts of a delivery. */
export interface DeliveryParts {
  context: JobContext;
  client: ServiceClient;
  lease: ServiceLease;
  options: DeliverOptions;
  gate: SendGate;
  exchange: Exchange;
  tally: DeliveryTally;
  claims: Claims;
}

/** Begins delivery's requests: claims messages that are due, chooses the one that goes as a probe, and takes look-ups. */
export class Requests {
  readonly #settler: MessageSettler;
  readonly #lookUps: LookUps;
  readonly #dispatcher: Dispatcher;
  /** The number of times in a row that all that the dispatcher named was gone. */
  #inVain = 0;
  #claimedAtMs = Number.NEGATIVE_INFINITY;
  #probes = 0;
  /** The number of conflicts when none was left to look up, and the time to look again. */
  #conflictsLookedUp = 0;
  #lookUpsAtMs = 0;

  constructor(private readonly parts: DeliveryParts) {
    const { context, lease, options, tally } = parts;
    this.#settler = new MessageSettler(context, lease.epoch, tally);
    this.#lookUps = new LookUps(context, lease, parts, options.scope.only);
    this.#dispatcher = options.dispatcher ?? new StoreDispatcher(context.clock);
  }

  /** The time since the last claim of messages that were due. */
  get sinceClaimedMs(): number {
    return this.parts.context.clock.monotonicMs() - this.#claimedAtMs;
  }

  /** Nothing may leave for so long: the dispatcher tells other nodes. */
  slowDown(forMs: number): void {
    this.#dispatcher.slowDown(forMs);
  }

  /** @returns how many requests it began; 1 also where others were faster, and there may be more at once */
  async claim({ room, backlogRoom, target }: Extract<Step, { do: 'claim' }>): Promise<number> {
    const { context, claims } = this.parts;
    await context.thread.turn();
    this.#claimedAtMs = context.clock.monotonicMs();
    const due = await this.#dispatcher.next({ room, backlogRoom, perSecond: target }, listFor(this.parts));
    const ids = due.map(({ id }) => id);
    let claimed: ClaimedMessage[] = [];
    try {
      claimed = await claims.claim(ids, 'due');
    } finally {
      this.#dispatcher.claimed(claimed.length);
    }
    const patient = new Set(due.flatMap(({ id, isUrgent }) => (isUrgent ? [] : [id])));
    // In one turn: then they share the one look at the gate that none of them may do without.
    for (const message of claimed) this.#begin(message, { isPatient: patient.has(message.id) });
    this.#inVain = due.length > 0 && claimed.length === 0 ? this.#inVain + 1 : 0;
    const begun = claimed.length + (await this.#lookUpsBesides(Math.min(room - claimed.length, maxLookUps)));
    return begun === 0 && this.#inVain > 0 && this.#inVain <= mostInVain ? 1 : begun;
  }

  /**
   * One request that goes to see whether the service is back. It does not wait until one is due again: after hours of outage
   * that may be long after the service is back. @returns how many it began
   */
  async claimProbe(): Promise<number> {
    const { context, claims, options } = this.parts;
    const inDoubt = await context.store.read('count what is in doubt', (tx) => countInDoubt(tx));
    const probe = this.#probes++;
    for (const kind of probeOrder(probe, inDoubt)) {
      if (kind === 'look_up') {
        if ((await this.#lookUps.begin(1, true)) > 0) return 1;
        continue;
      }
      // If the oldest of the new ones are those at which it fails, the latest may not be.
      const which = kind === 'pending' && probe % 2 === 1 ? 'last untried' : 'first';
      const id = await context.store.read('look for a message to probe with', (tx) =>
        probeMessageId(tx, kind, which, options.scope, claims.resends),
      );
      const [message] = await claims.claim(id === null ? [] : [id], 'ever');
      if (!message) continue;
      this.#begin(message, { isProbe: true });
      return 1;
    }
    return 0;
  }

  /** @returns how many look-ups it began */
  lookUp(): Promise<number> {
    return this.#lookUps.begin(maxLookUps);
  }

  #begin(message: ClaimedMessage, manner: Manner): void {
    // Made when its turn comes, so that what waits is little.
    this.parts.exchange.begin(this.#settler, message, (one, how) => this.#send(one, how), manner);
  }

  #send(message: ClaimedMessage, { isProbe = false, isPatient = false }: Manner) {
    const { entity, operation, idempotencyKey, method, body, keyField } = message;
    const { record, total, boundServiceId: serviceId } = message;
    const gate = this.parts.gate.of('deliver', isProbe, message);
    // If the first answer was odd as well, the settings are wrong, and a person has to hear of it.
    const isRepeated = message.wasSent === 1 && message.invalidAnswers === 0;
    const frozen = { idempotencyKey, method, body, keyField, record, total, serviceId, isRepeated };
    return this.parts.client.send({ entity, operation, ...frozen, gate, isProbe, priority: isPatient ? -1 : 0 });
  }

  /** Looking for look-ups is a transaction: where none was found, it is left out for a while, or until there is a conflict. */
  async #lookUpsBesides(room: number): Promise<number> {
    const { conflictsMet } = this.parts.tally;
    const now = this.parts.context.clock.monotonicMs();
    if (conflictsMet === this.#conflictsLookedUp && now < this.#lookUpsAtMs) return 0;
    const started = await this.#lookUps.begin(room);
    if (started > 0 || room < 1) return started;
    this.#conflictsLookedUp = conflictsMet;
    this.#lookUpsAtMs = now + maxIdleMs;
    return 0;
  }
}

/** Lists what is due for this process: in a cluster its own part first. */
function listFor({ context, claims, lease, options }: DeliveryParts): ListDue {
  const list: ListDue = (...wider) => listDue(context, wider, options.scope, claims.resends);
  return async (most, mostOfBacklog, isForAll = false) => {
    // A list for all nodes sees to it by itself that they do not reach for the same.
    const membership = isForAll ? null : lease.membership;
    return membership?.part([most, mostOfBacklog], list) ?? list(most, mostOfBacklog);
  };
}
