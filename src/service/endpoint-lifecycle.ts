import type { EndpointName, EndpointSettings } from '../config/sections/service-endpoints.js';
import { httpDateMs } from './rate-limit/rate-limit-headers.js';

/** The service's notice of an endpoint's end. At least one of the two is there. */
interface EndpointLifecycle {
  /** Since when, or from when, it is deprecated, in milliseconds since 1970; `true` without a date; null: it is not said. */
  deprecatedAt: number | true | null;
  /** When it is expected to stop working, in milliseconds since 1970; null: it is not said. */
  sunsetAt: number | null;
}

const latestMs = Date.UTC(9999, 11, 31);

/**
 * Reads `Deprecation` (RFC 9745: a structured date; before that `true` or an HTTP date) and `Sunset` (RFC 8594: an HTTP date).
 * Pure. @returns null where neither says anything that can be read
 */
export function readLifecycle(headers: Readonly<Record<string, string>>): EndpointLifecycle | null {
  const deprecation = headers.deprecation?.trim() ?? '';
  const isBare = /^(true|\?1)(;|$)/i.test(deprecation);
  const deprecatedAt = isBare ? true : dateMs(deprecation);
  const sunsetAt = dateMs(headers.sunset?.trim() ?? '');
  return deprecatedAt === null && sunsetAt === null ? null : { deprecatedAt, sunsetAt };
}

/** A structured date, `@` and seconds, with or without parameters (RFC 9651, 3.3.7), or an HTTP date. */
function dateMs(text: string): number | null {
  const seconds = /^@(-?\d{1,12})(?:[;,]|$)/.exec(text)?.[1];
  const ms = seconds === undefined ? httpDateMs(text) : Number(seconds) * 1000;
  return ms !== null && ms >= 0 && ms <= latestMs ? ms : null;
}

/** A notice from the service that an endpoint ends. */
export interface EndpointNotice {
  endpoint: EndpointName;
  /** Method and path template, as configured: another one is another endpoint. */
  address: string;
  lifecycle: EndpointLifecycle;
}

/** Method and path template of a configured endpoint; null where it is not configured. */
export function endpointAddress(endpoints: EndpointSettings, name: EndpointName): string | null {
  const endpoint = endpoints[name];
  if (!endpoint) return null;
  return `${'method' in endpoint ? endpoint.method : 'GET'} ${endpoint.path}`;
}

/** Such a notice changes rarely; one that changes with every answer is heard once a day. */
const tellEveryMs = 86_400_000;

/** Reads the answers of each endpoint for notices, and passes on what is new to this process, once a day at most. */
export class EndpointWatch {
  readonly #told = new Map<EndpointName, { said: string; atMs: number }>();

  constructor(
    private readonly endpoints: EndpointSettings,
    private readonly tell: (notice: EndpointNotice) => void,
    private readonly nowMs: () => number,
  ) {}

  heed(endpoint: EndpointName, headers: Readonly<Record<string, string>>): void {
    const lifecycle = readLifecycle(headers);
    const address = endpointAddress(this.endpoints, endpoint);
    if (lifecycle === null || address === null) return;
    const said = JSON.stringify(lifecycle);
    const told = this.#told.get(endpoint);
    const atMs = this.nowMs();
    if (told && (told.said === said || atMs < told.atMs + tellEveryMs)) return;
    this.#told.set(endpoint, { said, atMs });
    this.tell({ endpoint, address, lifecycle });
  }
}
