import type { JobContext } from '../../ops/job-context.js';
import { killPoint } from '../../ops/kill-point.js';
import type { Sent, ServiceClient } from '../../service/service-client.js';
import { LeaseLost } from '../../store/lease.js';
import type { ClaimedMessage } from './claim-messages.js';
import type { ClaimScope } from './due-messages.js';
import { lookUp, takeLookUps } from './look-up.js';
import type { SendGate } from './send-gate.js';
import type { ServiceLease } from './service-lease.js';
import type { Settler } from './settler.js';

/** How a claimed message goes out: to see whether the service is back; or as one of a backlog that lets everything else pass. */
export interface Manner {
  isProbe?: boolean;
  isPatient?: boolean;
}

/** What delivery has sent and is waiting for. Each request ends with its outcome at the settler. */
export class RequestsUnderWay {
  readonly #context: JobContext;
  readonly #client: ServiceClient;
  readonly #lease: ServiceLease;
  readonly #gate: SendGate;
  readonly #settler: Settler;
  readonly #all = new Set<Promise<void>>();
  #patient = 0;
  #oneEnded: () => void = () => undefined;

  constructor(context: JobContext, client: ServiceClient, lease: ServiceLease, gate: SendGate, settler: Settler) {
    this.#context = context;
    this.#client = client;
    this.#lease = lease;
    this.#gate = gate;
    this.#settler = settler;
  }

  get count(): number {
    return this.#all.size;
  }

  /** Those of the backlog that let everything else pass. */
  get patient(): number {
    return this.#patient;
  }

  async allEnded(): Promise<void> {
    await Promise.all(this.#all);
  }

  /** Resolves when the next one ends. Not a race of all: each that ends would cost as many reactions as there are others. */
  oneEnds(): Promise<void> {
    return new Promise((resolve) => {
      this.#oneEnded = resolve;
    });
  }

  send(message: ClaimedMessage, manner: Manner = {}): void {
    if (manner.isPatient) this.#patient++;
    this.#follow(
      this.#send(message, manner).finally(() => {
        if (manner.isPatient) this.#patient--;
      }),
    );
  }

  /** Creates that must not be resent blindly are looked for at the service, where it can be asked. @returns how many */
  async lookUp(most: number, only: ClaimScope['only'], isProbe = false): Promise<number> {
    const messages = await takeLookUps(this.#context, this.#lease, most, only);
    for (const message of messages) {
      const asking = { gate: this.#gate.of('deliver', isProbe), isProbe };
      const looking = lookUp(this.#context, this.#client, this.#lease, this.#settler.lane, message, asking)
        .then((state) => this.#settler.countLookUp(message, state))
        .catch((error: Error) => {
          // Its attempt stays without an outcome: this process or its successor calls it in doubt again.
          if (error instanceof LeaseLost) this.#lease.markLost();
          else this.#context.log.error('A look-up is not on record', { error: error.message });
        });
      this.#follow(looking);
    }
    return messages.length;
  }

  #follow(work: Promise<void>): void {
    const followed = work.finally(() => {
      this.#all.delete(followed);
      this.#oneEnded();
    });
    this.#all.add(followed);
  }

  async #send(message: ClaimedMessage, manner: Manner): Promise<void> {
    const sent = await this.#exchange(message, manner);
    if (sent.startedAtMs !== null) killPoint('after-answer');
    this.#settler.add({ message, sent, isProbe: manner.isProbe ?? false });
    // A "slow down" or a refusal is heeded by the very next request, not by the one after the next commit.
    if (sent.verdict.kind !== 'delivered' && sent.verdict.kind !== 'not_sent')
      this.#gate.holdUntil(this.#settler.flushed());
  }

  /** Never throws: whatever goes wrong unforeseen, the message may have been sent, and its outcome goes on record. */
  async #exchange(message: ClaimedMessage, { isProbe = false, isPatient = false }: Manner): Promise<Sent> {
    const sending = this.#client.send({
      entity: message.entity,
      operation: message.operation,
      idempotencyKey: message.idempotencyKey,
      body: message.body,
      keyField: message.keyField,
      method: message.method,
      record: message.record,
      serviceId: message.boundServiceId,
      isPatient,
      isProbe,
      gate: this.#gate.of('deliver', isProbe, message.keyGoodUntilMs),
    });
    return sending.catch((error: Error) => {
      this.#context.log.error('A request failed in a way that nobody foresaw', {
        entity: message.entity,
        key: message.sourceKey,
        error: error.message,
      });
      const verdict = { kind: 'in_doubt' as const, reason: error.message };
      return { verdict, startedAtMs: null, durationMs: null, status: null, requestId: null, excerpt: null };
    });
  }
}
