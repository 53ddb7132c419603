import type { AcknowledgementSettings } from '../config/answer-settings.js';

/** Whether the service knows customers by the code that we send; otherwise it gives each an id of its own. */
export function idIsCode({ customerId }: Pick<AcknowledgementSettings, 'customerId'>): boolean {
  return customerId === 'customer_code';
}
