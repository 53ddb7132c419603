import type { WebhookSettings } from '../../config/sections/webhooks.js';
import { contentId, headerOf, hmacVerify, standardVerify, type Verify, type WebhookRequest } from './verify.js';

/** Why a request was turned away, as it is counted, with the status of the answer. */
const refusalStatus = {
  other_path: 404,
  other_method: 405,
  too_large: 413,
  compressed: 415,
  other_type: 415,
  forged: 401,
  stale: 401,
  no_event: 400,
  busy: 503,
  store_away: 503,
} as const;

type Refusal = keyof typeof refusalStatus;

/** The refusal that is possible before a byte of the body was read, or null. Pure. */
function refuseByHeaders(
  request: Pick<WebhookRequest, 'method' | 'url' | 'headers'>,
  { path, maxBodyBytes }: Pick<WebhookSettings, 'path' | 'maxBodyBytes'>,
): Refusal | null {
  const query = request.url.indexOf('?');
  if ((query < 0 ? request.url : request.url.slice(0, query)) !== path) return 'other_path';
  if (request.method !== 'POST') return 'other_method';
  // A stranger could make us unpack, and the signature covers the bytes as they were sent.
  const encoding = headerOf(request, 'content-encoding');
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') return 'compressed';
  const type = headerOf(request, 'content-type') ?? '';
  if (!/^application\/([a-z0-9.+-]+\+)?json\s*(;|$)/i.test(type)) return 'other_type';
  if (Number(headerOf(request, 'content-length') ?? 0) > maxBodyBytes) return 'too_large';
  return null;
}

/** The content of an event: something happened, and to which record. */
export interface WebhookEvent {
  id: string;
  /** It has neither an id nor a time of its own, so that a later event of the same content has the same `id`. */
  isNameless?: boolean;
  type: string;
  /** The record that Waybill reads because of it. */
  about: 'invoice' | 'order';
  /** Number of the invoice, or the order's id at the service. */
  subject: string | null;
}

/**
 * Reads the body of a verified request. Pure.
 * @param id the id that the signature covers, or null: then it stands in the body
 * @param unnamed what an event without any id is known by
 * @returns `unread`: the type of an event that Waybill does not act upon; null when it is no JSON object with a type
 */
export function readWebhookEvent(
  body: Buffer,
  id: string | null,
  unnamed: () => Pick<WebhookEvent, 'id' | 'isNameless'>,
  { events, fields }: Pick<WebhookSettings, 'events' | 'fields'>,
): WebhookEvent | { unread: string } | null {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return null;
  }
  const type = textAt(value, fields.type);
  if (type === null) return null;
  const orderOrNone = events.orderStatusChanged.includes(type) ? 'order' : null;
  const about = events.paymentSucceeded.includes(type) ? 'invoice' : orderOrNone;
  if (about === null) return { unread: type };
  const ownId = id ?? textAt(value, fields.id);
  return {
    ...(ownId === null ? unnamed() : { id: ownId }),
    type,
    about,
    subject: textAt(value, about === 'invoice' ? fields.invoiceNo : fields.orderId),
  };
}

/** A text, or a whole number as text, of a length that the store takes. */
function textAt(value: unknown, path: string): string | null {
  let part: unknown = value;
  for (const name of path.split('.')) {
    if (typeof part !== 'object' || part === null || !Object.hasOwn(part, name)) return null;
    part = (part as Record<string, unknown>)[name];
  }
  const text = Number.isSafeInteger(part) ? String(part) : part;
  return typeof text === 'string' && text !== '' && text.length <= 255 ? text : null;
}

/** The ids that were stored last, at most `most`: a repetition is recognised without asking the store. */
export class RecentIds {
  readonly #ids = new Set<string>();

  constructor(private readonly most: number) {}

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  add(id: string): void {
    this.#ids.add(id);
    if (this.#ids.size > this.most) this.#ids.delete(this.#ids.values().next().value as string);
  }
}

interface WebhookHandlerOptions {
  settings: WebhookSettings;
  /** The secrets as they are now. */
  secrets: () => readonly string[];
  /** Stores an event durably. @returns false: it is a repetition */
  keep: (event: WebhookEvent) => Promise<boolean>;
  /** True if a text must not be kept. */
  holdsCredential?: (text: string) => boolean;
  /** Tells a person of a type of events that Waybill does not act upon, once. */
  tellUnread?: (type: string) => void;
  nowMs: () => number;
}

const rememberedIds = 10_000;
/** A sender may make up types without end; these are enough to find one that the settings misspell. */
const mostUnreadTypes = 20;
/** Events that may wait for the store at once: a store that hangs must not fill the memory. */
const mostUnderWay = 64;

/** Judges requests, one by one. A refusal costs no more than the signature, and never asks the store. */
export class WebhookHandler {
  readonly #verify: Verify;
  readonly #recent = new RecentIds(rememberedIds);
  #counts = new Map<string, number>();
  readonly #unreadTypes = new Set<string>();
  #underWay = 0;

  constructor(private readonly options: WebhookHandlerOptions) {
    const { settings } = options;
    this.#verify = settings.scheme === 'standard' ? standardVerify(settings.toleranceSeconds) : hmacVerify(settings);
  }

  /** The refusals before the body is read. Counted. */
  refuse(request: Pick<WebhookRequest, 'method' | 'url' | 'headers'>): number | null {
    const refusal = refuseByHeaders(request, this.options.settings);
    return refusal === null ? null : this.turnAway(refusal);
  }

  /** Counts a refusal. @returns its status */
  turnAway(refusal: Refusal): number {
    this.#count(refusal);
    return refusalStatus[refusal];
  }

  /** @returns the status of the answer: 2xx only when the event is stored, now or earlier, or asks for nothing */
  async handle(request: WebhookRequest): Promise<number> {
    const { settings, secrets, keep, holdsCredential = () => false, nowMs } = this.options;
    const refused = this.refuse(request);
    if (refused !== null) return refused;
    if (request.body.length > settings.maxBodyBytes) return this.turnAway('too_large');
    const verified = this.#verify(request, secrets(), nowMs());
    if ('refused' in verified) return this.turnAway(verified.refused);
    const { timestampHeader } = settings.hmac;
    const time = timestampHeader === undefined ? undefined : headerOf(request, timestampHeader);
    // The same content signed at the same time is the very same event.
    const unnamed = () => ({
      id: contentId(request.body, time),
      ...(time === undefined && { isNameless: true }),
    });
    const event = readWebhookEvent(request.body, verified.id, unnamed, settings);
    if (!event) return this.turnAway('no_event');
    if ('unread' in event) return this.#unread(event.unread);
    // A sender that names our credential is heard, but not quoted. The content tells one such event from another.
    if (holdsCredential(event.id)) event.id = contentId(request.body, event.id);
    if (event.subject !== null && holdsCredential(event.subject)) event.subject = null;
    if (this.#recent.has(event.id)) return this.#repeated();
    if (this.#underWay >= mostUnderWay) return this.turnAway('busy');
    this.#underWay++;
    try {
      const isNew = await keep(event);
      // Only the store knows whether an event of the same content was handled meanwhile.
      if (!event.isNameless) this.#recent.add(event.id);
      if (!isNew) return this.#repeated();
      this.#count('stored');
      return 204;
    } catch {
      // The sender tries again; `keep` says what is wrong with the store.
      return this.turnAway('store_away');
    } finally {
      this.#underWay--;
    }
  }

  /** The counts since the last call. */
  takeCounts(): Map<string, number> {
    const counts = this.#counts;
    this.#counts = new Map();
    return counts;
  }

  #unread(type: string): number {
    this.#count('unread');
    if (!this.#unreadTypes.has(type) && this.#unreadTypes.size < mostUnreadTypes) {
      this.#unreadTypes.add(type);
      this.options.tellUnread?.(type);
    }
    return 204;
  }

  #repeated(): number {
    this.#count('repeated');
    return 204;
  }

  #count(name: string): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }
}
