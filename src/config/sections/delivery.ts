import type { z } from 'zod';
import type { Partly, Report } from '../configuration-error.js';
import type { ServiceSettings } from './service.js';
import { decimal, group, positive, whole } from './value-types.js';

export const deliverySettings = group('How messages are delivered.', {
  leaseSeconds: decimal(2, 600).default(30).describe('How long a deliverer that has gone silent keeps its place.'),
  drainSeconds: positive(300).default(20).describe('How long a stop waits for requests under way.'),
  backoffBaseSeconds: positive()
    .default(2)
    .describe('Longest wait before the second attempt; doubled with each further one.'),
  backoffMaxSeconds: positive().default(900).describe('Longest wait between two attempts of one record.'),
  quickResends: whole(0, 5, 'requests').default(2).describe('Immediate resends of a request that provably never left.'),
  outageAfterFailures: whole(1)
    .meta({ unit: 'requests' })
    .default(5)
    .describe('Failed requests in a row, of any messages, that open the breaker.'),
  probeSeconds: positive().default(5).describe('Time between two probes of a service that is down.'),
});

/** The settings that are checked together. */
type Relevant = Partly<{ delivery: z.output<typeof deliverySettings>; service: ServiceSettings }>;

export function checkDelivery({ delivery = {}, service = {} }: Relevant, report: Report): void {
  const { leaseSeconds, drainSeconds, backoffBaseSeconds, backoffMaxSeconds } = delivery;
  const deadline = service.deadlineSeconds;
  if (deadline !== undefined && leaseSeconds !== undefined && deadline >= leaseSeconds / 2)
    report('service.deadlineSeconds', 'is not below half of delivery.leaseSeconds', {
      found: `${deadline}, with a lease of ${leaseSeconds}`,
      allowed: `a number below ${leaseSeconds / 2}, so that a request ends well before its lease does`,
    });
  if (deadline !== undefined && drainSeconds !== undefined && drainSeconds <= deadline)
    report('delivery.drainSeconds', 'is not above service.deadlineSeconds', {
      found: `${drainSeconds}, with a deadline of ${deadline}`,
      allowed: `a number above ${deadline}, so that a stop can wait for the requests under way`,
    });
  if (backoffBaseSeconds !== undefined && backoffMaxSeconds !== undefined && backoffBaseSeconds > backoffMaxSeconds)
    report('delivery.backoffBaseSeconds', 'is above delivery.backoffMaxSeconds', {
      found: `${backoffBaseSeconds} > ${backoffMaxSeconds}`,
      allowed: 'at most delivery.backoffMaxSeconds',
    });
}
