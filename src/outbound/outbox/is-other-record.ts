import type { MessageState, Operation, ParkClass } from './message.js';

/** Whether a message is parked because its key belongs to another record now than the one that the service has under it. */
export function isOtherRecord(message: {
  state: MessageState;
  parkClass: ParkClass | null;
  operation: Operation;
  firstSentAt: number | null;
}): boolean {
  const { state, parkClass, operation, firstSentAt } = message;
  return state === 'parked' && parkClass === 'conflict' && operation === 'update' && firstSentAt === null;
}
