import { z } from 'zod';

const endpoint = (method: 'POST' | 'GET' | 'PATCH' | 'PUT' | 'DELETE', path: string, successStatus: number) =>
  z
    .strictObject({
      method: z.enum(['POST', 'GET', 'PATCH', 'PUT', 'DELETE']).default(method),
      path: z
        .string()
        .regex(/^\/[^?#]*$/, 'a path that begins with / and has no query')
        .default(path)
        .describe('Path with its version. {field} is replaced by a field that the service acknowledged.'),
      successStatus: z.number().int().min(200).max(299).default(successStatus),
    })
    .prefault({});

/** One way to recognise an answer: its status, and if given its error code or a pattern found in its body. */
const answer = z.strictObject({
  status: z.number().int().min(300).max(599),
  code: z.string().min(1).optional().describe('Error code in the body: error.code, code or type.'),
  pattern: z.string().min(1).optional().describe('Regular expression searched for in the body.'),
});

const answers = (defaults: z.input<typeof answer>[], meaning: string) =>
  z.array(answer).default(defaults).describe(meaning);

export const serviceSettings = z.strictObject({
  environment: z
    .enum(['sandbox', 'production'])
    .describe('production delivers only after `waybill go-live`. Never guessed.'),
  baseUrl: z.url({ protocol: /^https?$/ }).describe('Address of the service, without the version.'),
  token: z.string().min(1).optional().describe('Bearer token. Only from the environment; prefer tokenFile.'),
  tokenFile: z
    .string()
    .min(1)
    .optional()
    .describe('File that holds the bearer token; credential `service-token` under systemd.'),
  deadlineSeconds: z
    .number()
    .positive()
    .max(300)
    .default(10)
    .describe('Whole time of one request: connect, headers and body.'),
  maxResponseBytes: z.number().int().positive().default(1_048_576),
  concurrency: z.number().int().min(1).max(256).default(16).describe('Requests under way at once.'),
  limit: z
    .strictObject({
      requests: z.number().int().min(1),
      perSeconds: z.number().positive().default(1),
    })
    .optional()
    .describe('Most requests in any window of perSeconds. Absent: no limit is known.'),
  idempotency: z
    .strictObject({
      header: z.string().min(1).default('Idempotency-Key'),
      quoted: z.boolean().default(false).describe('true sends the key in double quotes, as the IETF draft has it.'),
      lifetimeHours: z
        .number()
        .positive()
        .default(24)
        .describe('How long the service remembers a key. Later nothing is resent blindly.'),
      replaysRefusals: z
        .boolean()
        .default(false)
        .describe(
          'true when the service answers a refused key with the same refusal for ever, so that a corrected record needs a new key.',
        ),
    })
    .prefault({}),
  endpoints: z
    .strictObject({
      createCustomer: endpoint('POST', '/v1/customers', 201),
      createOrder: endpoint('POST', '/v1/orders', 201),
      updateCustomer: endpoint('PATCH', '/v1/customers/{customer_code}', 200),
      updateOrder: endpoint('PATCH', '/v1/orders/{order_id}', 200),
      listInvoices: endpoint('GET', '/v2/invoices', 200),
    })
    .prefault({}),
  checkTotal: z
    .enum(['exact', 'off'])
    .default('exact')
    .describe('exact: an acknowledged total other than the sum of qty × price is delivered with a flag for review.'),
  answers: z
    .strictObject({
      inProgress: answers(
        [{ status: 409, pattern: 'in.progress' }],
        'The first request with this key is still running.',
      ),
      keyReused: answers([{ status: 422, pattern: 'idempotency' }], 'The key was used before with another body.'),
      alreadyExists: answers([{ status: 409, pattern: 'already.exists' }], 'The record is there under another key.'),
      unknownCustomer: answers(
        [{ status: 404, pattern: 'customer' }],
        'The order names a customer that the service does not know.',
      ),
    })
    .prefault({}),
});

export const invoicesSettings = z.strictObject({
  enabled: z.boolean().default(true),
  status: z.string().min(1).default('unpaid').describe('State that means money is due.'),
  pageSize: z
    .number()
    .int()
    .min(1)
    .max(10_000)
    .default(100)
    .describe('Value of `limit`; a service that gives less is followed.'),
});

export const deliverySettings = z.strictObject({
  leaseSeconds: z
    .number()
    .min(2)
    .max(600)
    .default(30)
    .describe('How long a deliverer that fell silent keeps its place.'),
  drainSeconds: z.number().positive().max(300).default(20).describe('How long a stop waits for requests under way.'),
  backoffBaseSeconds: z.number().positive().default(2),
  backoffMaxSeconds: z.number().positive().default(900),
  quickResends: z.number().int().min(0).max(5).default(2).describe('Resends at once of what provably never left.'),
  outageAfterFailures: z
    .number()
    .int()
    .min(1)
    .default(5)
    .describe('Failures of distinct messages in a row that open the breaker.'),
  probeSeconds: z.number().positive().default(5).describe('Time between two probes of a service that is down.'),
});

export type ServiceSettings = z.output<typeof serviceSettings>;
export type AnswerPattern = z.output<typeof answer>;
export type InvoicesSettings = z.output<typeof invoicesSettings>;
export type DeliverySettings = z.output<typeof deliverySettings>;
