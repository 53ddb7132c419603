import { type AxiosAdapter, AxiosError, AxiosHeaders } from 'axios';
import type { VirtualClock } from '../virtual-clock.js';

export type Outage = 'refused' | 'no name' | 'hang' | '502' | '503' | '503 with Retry-After';

export interface InjectedService {
  /** The kind of outage; null: the service is there. */
  away: Outage | null;
  /** The headers beside its answers. */
  headers: Record<string, string>;
  /** Records at which it fails with a 500, whenever it is asked to take them. */
  isPoison: (body: { [field: string]: unknown }) => boolean;
  /** When each request began, and whether it was served. */
  readonly requests: { atMs: number; method: string; served: boolean }[];
  readonly adapter: AxiosAdapter;
}

const latencyMs = 50;

/** A service on injected time: it takes every record, or it is away in one of the ways that a service can be. */
export function injectedService(clock: VirtualClock, deadlineMs: number): InjectedService {
  const service: InjectedService = {
    away: null,
    headers: {},
    isPoison: () => false,
    requests: [],
    adapter: async (config) => {
      const method = (config.method ?? 'get').toUpperCase();
      const { away } = service;
      // Several that are under way at once each get an id of their own.
      const id = `o-${service.requests.push({ atMs: clock.nowMs(), method, served: away === null })}`;
      const fail = (message: string, code: string) => new AxiosError(message, code, config);
      const answer = (status: number, body: object, headers: Record<string, string> = {}) => ({
        status,
        statusText: '',
        headers: new AxiosHeaders({ ...service.headers, ...headers }),
        config,
        data: JSON.stringify(body),
      });
      switch (away) {
        case 'refused':
          throw fail('connect ECONNREFUSED', 'ECONNREFUSED');
        case 'no name':
          throw fail('getaddrinfo ENOTFOUND', 'ENOTFOUND');
        case 'hang':
          await clock.sleep(deadlineMs);
          throw fail('canceled', 'ERR_CANCELED');
        case '502':
        case '503':
          return answer(Number(away), { error: { code: 'bad_gateway', message: 'try later' } });
        case '503 with Retry-After':
          return answer(503, {}, { 'retry-after': '7' });
      }
      if (method === 'GET') return answer(200, { data: [], total: 0 });
      const body = JSON.parse(String(config.data));
      // Long enough that several are under way at once.
      await clock.sleep(latencyMs);
      if (service.isPoison(body)) return answer(500, { error: { code: 'internal', message: 'an error of ours' } });
      if (!body.items) return answer(201, { customer_code: body.customer_code });
      const total = body.items.reduce(
        (sum: number, item: { qty: number; price: number }) => sum + item.qty * item.price,
        0,
      );
      return answer(201, { order_id: id, status: 'accepted', created_at: '2026-01-01T00:00:00Z', total });
    },
  };
  return service;
}
