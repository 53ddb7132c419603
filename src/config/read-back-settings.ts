import { z } from 'zod';
import { httpStatus } from './http-status.js';

/** Where one order can be read by the id that the service gave. Only a service that offers this has one. */
export const readOrderEndpoint = z
  .strictObject({
    path: z
      .string()
      .regex(/^\/(?!\/)(?=[^?#\s]*\{(order_id|id)\})[^?#\s]*$/, 'not a path that begins with one / and has {order_id}')
      .default('/v1/orders/{order_id}')
      .describe('Path with its version. {order_id} (or {id}) is replaced by the id that the service gave.')
      .meta({ allowed: 'a path with {order_id}, such as /v1/orders/{order_id}' }),
    successStatus: httpStatus(200, 299).default(200).describe('Status of an answer with the order.'),
    absentStatus: httpStatus(400, 499)
      .default(404)
      .describe('Status that says that there is no such order (any more).'),
  })
  .optional()
  .describe(
    'One order by its id; service.acknowledgement.orderId, orderState and orderTotal say where its answer says what. Absent: orders are not read back. `readOrder: {}` takes the usual path.',
  );

export const readBackSettings = z
  .strictObject({
    enabled: z
      .boolean()
      .default(false)
      .describe('true: the status of delivered orders is read again and again (service.endpoints.readOrder).'),
    everyHours: z
      .number()
      .min(0.1)
      .max(8_760)
      .default(24)
      .describe('How long an order that was read rests before it is read again.'),
    finalStates: z
      .array(z.string().min(1).max(255))
      .max(100)
      .default([])
      .describe('States after which nothing more happens: such an order is not read any more.')
      .meta({ allowed: 'a list of states, such as [completed, cancelled]' }),
    maxShare: z
      .number()
      .min(0.001)
      .max(0.5)
      .default(0.05)
      .describe(
        'Largest part of service.limits that reading back takes. Where no limit is known, it reads one order a second.',
      )
      .meta({ unit: 'of 1' }),
  })
  .describe('How the status of delivered orders is read back from the service.');

export type ReadOrderEndpoint = NonNullable<z.output<typeof readOrderEndpoint>>;
export type ReadBackSettings = z.output<typeof readBackSettings>;
