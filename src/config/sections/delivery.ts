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
