import { legacy } from '../../../src/model/facts/fact.js';
import type { Verdict } from '../../../src/model/verdict.js';
import {
  decideRemoval,
  type NewestMessage,
  nextRevision,
  type RemovalDecision,
  type RevisionDecision,
} from '../../../src/outbound/capture/next-revision.js';
import { type MessageState, openStates, type SendingMessage, settle } from '../../../src/outbound/outbox/message.js';

/** The fate of a request on its way; `ok` lets the service answer as it will. */
export type Fate = 'ok' | 'lost-before' | 'lost-after' | 'refused' | 'throttled' | 'unavailable' | 'html';

export type Step =
  /** Somebody edits the row in the ERP; a row that reads `bad…` can't be mapped. */
  | { kind: 'edit'; content: string }
  /** Somebody cancels the row; an edit takes that back. */
  | { kind: 'remove' }
  | { kind: 'capture' }
  | { kind: 'send'; fate: Fate }
  /** Two things at once: captured while the request is under way. */
  | { kind: 'send-while-captured'; fate: Fate }
  | { kind: 'discard' };

interface Message extends NewestMessage {
  contentHash: string;
  failures: number;
  invalidAnswers: number;
  customerWaits: number;
}

/**
 * One record between an ERP row and a service, with the real decisions in between and everything else as simple as can be.
 * The service makes a record for each key that it has not seen, as services do: two keys, two records.
 */
export class RecordModel {
  /** Contents at the service: one for each create that took effect. */
  readonly made: { generation: number; content: string }[] = [];
  /** The bodies that may have taken effect under each generation's key. */
  readonly maybe = new Map<number, Set<string>>();
  readonly messages: Message[] = [];
  binding: { revision: number; generation: number; contentHash: string } | null = null;
  erp: string;
  /** The row is cancelled, and that deletes the record at the service. */
  isRemoved = false;
  #closed: { revision: number; generation: number } | null = null;
  /** The service's answer to each generation's key: it repeats that, whatever became of the record. */
  readonly #answered = new Map<number, string>();
  readonly #replaysRefusals: boolean;
  readonly #refusedKeys = new Set<number>();
  #now = 1_800_000_000_000;

  constructor(content: string, replaysRefusals: boolean) {
    this.erp = content;
    this.#replaysRefusals = replaysRefusals;
  }

  run(step: Step): void {
    this.#now += 1_000;
    switch (step.kind) {
      case 'edit':
        this.erp = step.content;
        this.isRemoved = false;
        break;
      case 'remove':
        this.isRemoved = true;
        break;
      case 'capture':
        this.capture();
        break;
      case 'send':
        this.send(step.fate);
        break;
      case 'send-while-captured':
        this.send(step.fate, () => this.capture());
        break;
      case 'discard':
        this.#discard();
        break;
    }
  }

  /** As the capture job does it. */
  capture(): void {
    const newest = this.messages.at(-1) ?? null;
    if (this.isRemoved) {
      const removal = decideRemoval('delete', newest, this.binding, null);
      if (removal.action === 'withdraw' && newest) newest.state = 'superseded';
      if (removal.action === 'write') this.#write(removal, 'gone');
      return;
    }
    const decision = nextRevision(this.erp, newest, this.binding, this.#replaysRefusals, this.#closed);
    if (decision.action === 'write') this.#write(decision, this.erp);
  }

  #write(decision: Extract<RevisionDecision | RemovalDecision, { action: 'write' }>, content: string): void {
    const older = this.messages.find(({ id }) => id === decision.supersedes);
    if (older) {
      const mayBeSuperseded = (older.state === 'pending' && !older.wasSent) || older.state === 'parked';
      if (!mayBeSuperseded) throw new Error(`supersedes a message that is ${older.state}`);
      older.state = 'superseded';
    }
    const unmapped = content.startsWith('bad');
    this.messages.push({
      id: this.messages.length + 1,
      revision: decision.revision,
      operation: decision.operation,
      generation: decision.generation,
      state: unmapped ? 'parked' : 'pending',
      parkClass: unmapped ? 'unmapped' : null,
      contentHash: content,
      wasSent: 0,
      firstSentAt: null,
      foundAt: null,
      failures: 0,
      invalidAnswers: 0,
      customerWaits: 0,
    });
  }

  /** As the delivery job does it: the oldest open message, if it may be sent. Returns whether there was one. */
  send(fate: Fate, meanwhile: () => void = () => undefined): boolean {
    const message = this.messages.find((m) => isOpen(m.state));
    if (!message || (message.operation !== 'create' && !this.binding)) return false;
    const claimedFrom = message.state as 'pending' | 'in_doubt';
    message.state = 'sending';
    const verdict = this.#serve(message, fate);
    meanwhile();
    const sending: SendingMessage = { ...message, entity: 'order', claimedFrom };
    const next = settle(sending, verdict, {
      nowMs: this.#now,
      random: 0.5,
      backoff: { baseMs: 1_000, maxMs: 60_000 },
      sentAtMs: this.#now,
      tries: 1,
    });
    const { state, parkClass, failures, invalidAnswers, customerWaits, wasSent, firstSentAt } = next;
    Object.assign(message, { state, parkClass, failures, invalidAnswers, customerWaits, wasSent, firstSentAt });
    if (state === 'delivered') {
      const { revision, generation, contentHash } = message;
      this.binding = message.operation === 'delete' ? null : { revision, generation, contentHash };
      if (message.operation === 'delete') this.#closed = { revision, generation };
    }
    if (message.operation === 'create' && parkClass === 'refused') this.#promote(message);
    return true;
  }

  /** An update that waited behind a create that was refused with proof takes its place. */
  #promote(refused: Message): void {
    const next = this.messages.findLast(
      (m) =>
        m.revision > refused.revision &&
        m.operation !== 'create' &&
        (m.state === 'pending' || (m.state === 'parked' && m.parkClass === 'unmapped')) &&
        !m.wasSent,
    );
    if (!next) return;
    refused.state = 'superseded';
    if (next.operation === 'delete') {
      next.state = 'superseded';
      return;
    }
    next.operation = 'create';
    next.generation = refused.generation + (this.#replaysRefusals ? 1 : 0);
    refused.state = 'superseded';
  }

  /** Messages that operators may discard: never sent, or parked. */
  #discard(): void {
    const message = this.messages.at(-1);
    if (!message) return;
    if (message.state === 'parked' || (message.state === 'pending' && !message.wasSent)) message.state = 'discarded';
  }

  #serve(message: Message, fate: Fate): Verdict {
    if (fate === 'unavailable') return { kind: 'unavailable', reason: legacy(fate), tls: false };
    if (fate === 'throttled') return { kind: 'throttled', reason: legacy(fate), retryAfterMs: null };
    if (fate === 'lost-before') {
      this.#mayTakeEffect(message);
      return { kind: 'in_doubt', reason: legacy(fate) };
    }
    const answer = this.#serveOperation(message, fate);
    if (answer.kind !== 'delivered') return answer;
    if (fate === 'lost-after') return { kind: 'in_doubt', reason: legacy(fate) };
    if (fate === 'html') return { kind: 'invalid', reason: legacy(fate) };
    return answer;
  }

  #serveOperation(message: Message, fate: Fate): Verdict {
    if (message.operation === 'create') return this.#create(message, fate);
    if (message.operation === 'update') return this.#update(message, fate);
    if (fate === 'refused') return { kind: 'refused', reason: legacy('not now') };
    this.made.splice(0);
    return { kind: 'delivered', serviceId: 'O-1', flag: null };
  }

  #create({ generation, contentHash }: Message, fate: Fate): Verdict {
    if (this.#answered.has(generation)) {
      const first = [...(this.maybe.get(generation) ?? [])][0];
      if (first !== contentHash) return { kind: 'conflict', reason: legacy('another body'), what: 'key_reused' };
      return { kind: 'delivered', serviceId: 'O-1', flag: null };
    }
    if (this.#refusedKeys.has(generation)) return { kind: 'refused', reason: legacy('replayed') };
    if (fate === 'refused') {
      if (this.#replaysRefusals) this.#refusedKeys.add(generation);
      return { kind: 'refused', reason: legacy('these bytes') };
    }
    this.#mayTakeEffect({ operation: 'create', generation, contentHash });
    this.#answered.set(generation, contentHash);
    this.made.push({ generation, content: contentHash });
    return { kind: 'delivered', serviceId: 'O-1', flag: null };
  }

  #update({ contentHash }: Message, fate: Fate): Verdict {
    const record = this.made.at(-1);
    // Only where a removal may have taken effect unseen.
    if (!record) return { kind: 'refused', reason: legacy('not found') };
    if (fate === 'refused') return { kind: 'refused', reason: legacy('these bytes') };
    record.content = contentHash;
    return { kind: 'delivered', serviceId: 'O-1', flag: null };
  }

  #mayTakeEffect({
    operation,
    generation,
    contentHash,
  }: Pick<Message, 'operation' | 'generation' | 'contentHash'>): void {
    if (operation !== 'create') return;
    const bodies = this.maybe.get(generation) ?? new Set();
    this.maybe.set(generation, bodies.add(contentHash));
  }
}

export function isOpen(state: MessageState): boolean {
  return (openStates as readonly MessageState[]).includes(state);
}
