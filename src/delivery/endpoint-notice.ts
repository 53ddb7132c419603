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

/** Reads the answers of each endpoint for notices, and passes on what is new to this process. */
export class EndpointWatch {
  readonly #endpoints: EndpointSettings;
  readonly #tell: (notice: EndpointNotice) => void;
  readonly #told = new Map<EndpointName, string>();

  constructor(endpoints: EndpointSettings, tell: (notice: EndpointNotice) => void) {
    this.#endpoints = endpoints;
    this.#tell = tell;
  }

  heed(endpoint: EndpointName, headers: Readonly<Record<string, string>>): void {
    const lifecycle = readLifecycle(headers);
    const address = endpointAddress(this.#endpoints, endpoint);
    if (lifecycle === null || address === null) return;
    const said = JSON.stringify(lifecycle);
    if (this.#told.get(endpoint) === said) return;
    this.#told.set(endpoint, said);
    this.#tell({ endpoint, address, lifecycle });
  }
}
