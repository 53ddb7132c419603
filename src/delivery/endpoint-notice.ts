import type { EndpointName, EndpointSettings } from '../config/endpoint-settings.js';
import { type EndpointLifecycle, readLifecycle } from './lifecycle-headers.js';

/** That the service announces the end of an endpoint. */
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

/** What a service says changes rarely; what changes with every answer is heard once a day. */
const tellEveryMs = 86_400_000;

/** Reads the answers of each endpoint for notices, and passes on what is new to this process, once a day at most. */
export class EndpointWatch {
  readonly #endpoints: EndpointSettings;
  readonly #tell: (notice: EndpointNotice) => void;
  readonly #nowMs: () => number;
  readonly #told = new Map<EndpointName, { said: string; atMs: number }>();

  constructor(endpoints: EndpointSettings, tell: (notice: EndpointNotice) => void, nowMs: () => number) {
    this.#endpoints = endpoints;
    this.#tell = tell;
    this.#nowMs = nowMs;
  }

  heed(endpoint: EndpointName, headers: Readonly<Record<string, string>>): void {
    const lifecycle = readLifecycle(headers);
    const address = endpointAddress(this.#endpoints, endpoint);
    if (lifecycle === null || address === null) return;
    const said = JSON.stringify(lifecycle);
    const told = this.#told.get(endpoint);
    const atMs = this.#nowMs();
    if (told && (told.said === said || atMs < told.atMs + tellEveryMs)) return;
    this.#told.set(endpoint, { said, atMs });
    this.#tell({ endpoint, address, lifecycle });
  }
}
