import type { WebhookSettings } from '../../config/sections/webhooks.js';
import { contentId, hmacVerify, standardVerify, type Verify } from './verify.js';
import { readWebhookEvent, type WebhookEvent } from './webhook-event.js';
import { headerOf, type Refusal, refusalStatus, refuseByHeaders, type WebhookRequest } from './webhook-request.js';

/** The ids that were stored last, so that a repetition is known without asking the store. Never more than `most`. */
export class RecentIds {
  readonly #most: number;
  readonly #ids = new Set<string>();

  constructor(most: number) {
    this.#most = most;
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  add(id: string): void {
    this.#ids.add(id);
    if (this.#ids.size > this.#most) this.#ids.delete(this.#ids.values().next().value as string);
  }
}

export interface WebhookHandlerOptions {
  settings: WebhookSettings;
  /** The secrets as they are now. */
  secrets: () => readonly string[];
  /** Stores an event durably. @returns false: its id is there already */
  keep: (event: WebhookEvent, payload: string) => Promise<boolean>;
  nowMs: () => number;
}

const rememberedIds = 10_000;
/** Events that wait for the store at once: a store that hangs must not fill the memory. */
const mostUnderWay = 64;

/** Judges requests, one by one. Whatever is refused costs no more than the signature, and never asks the store. */
export class WebhookHandler {
  readonly #options: WebhookHandlerOptions;
  readonly #verify: Verify;
  readonly #recent = new RecentIds(rememberedIds);
  #counts = new Map<string, number>();
  #underWay = 0;

  constructor(options: WebhookHandlerOptions) {
    this.#options = options;
    const { settings } = options;
    this.#verify = settings.scheme === 'standard' ? standardVerify(settings.toleranceSeconds) : hmacVerify(settings);
  }

  /** What can be refused before the body is read. Counted. */
  refuse(request: Pick<WebhookRequest, 'method' | 'url' | 'headers'>): number | null {
    const refusal = refuseByHeaders(request, this.#options.settings);
    return refusal === null ? null : this.turnAway(refusal);
  }

  /** Counts a refusal. @returns its status */
  turnAway(refusal: Refusal): number {
    this.#count(refusal);
    return refusalStatus[refusal];
  }

  /** @returns the status of the answer: 2xx only when the event is stored, now or earlier */
  async handle(request: WebhookRequest): Promise<number> {
    const { settings, secrets, keep, nowMs } = this.#options;
    const refused = this.refuse(request);
    if (refused !== null) return refused;
    if (request.body.length > settings.maxBodyBytes) return this.turnAway('too_large');
    const verified = this.#verify(request, secrets(), nowMs());
    if ('refused' in verified) return this.turnAway(verified.refused);
    const { timestampHeader } = settings.hmac;
    const time = timestampHeader === undefined ? undefined : headerOf(request, timestampHeader);
    const event = readWebhookEvent(request.body, verified.id, () => contentId(request.body, time), settings);
    if (!event) return this.turnAway('no_event');
    if (this.#recent.has(event.id)) return this.#repeated();
    if (this.#underWay >= mostUnderWay) return this.turnAway('busy');
    this.#underWay++;
    try {
      const isNew = await keep(event, request.body.toString('utf8'));
      this.#recent.add(event.id);
      if (!isNew) return this.#repeated();
      this.#count('stored');
      return 204;
    } catch {
      // The sender tries again; whoever keeps events says what is wrong with the store.
      return this.turnAway('store_away');
    } finally {
      this.#underWay--;
    }
  }

  /** What was counted since the last call. */
  takeCounts(): Map<string, number> {
    const counts = this.#counts;
    this.#counts = new Map();
    return counts;
  }

  #repeated(): number {
    this.#count('repeated');
    return 204;
  }

  #count(name: string): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }
}
