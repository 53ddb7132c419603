import { impersonalReason } from '../../audit/audit-log.js';
import type { Entity } from '../../model/record.js';

/**
 * A reason as it may stand in pauses and alerts, which `waybill forget` does not search: without the words of the service
 * where they may be about a person. Pure.
 */
export function shownReason(entity: Entity, reason: string): string {
  return entity === 'customer' ? impersonalReason('attempt', null, reason) : reason;
}
