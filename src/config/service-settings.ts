import { z } from 'zod';
import { adoptionSettings } from './adoption-settings.js';
import { credentialSettings, proxySettings, tlsSettings } from './credential-settings.js';
import { readInvoiceEndpoint } from './invoices-settings.js';
import { headerName, regularExpression, secret } from './value-types.js';

const endpoint = (
  method: 'POST' | 'GET' | 'PATCH' | 'PUT' | 'DELETE',
  path: string,
  successStatus: number,
  meaning: string,
) =>
  z
    .strictObject({
      method: z.enum(['POST', 'GET', 'PATCH', 'PUT', 'DELETE']).default(method).describe('HTTP method.'),
      path: z
        .string()
        .regex(/^\/(?!\/)[^?#\s]*$/, 'not a path that begins with one / and has no query')
        .default(path)
        .describe('Path with its version. {field} is replaced by a field that the service acknowledged.')
        .meta({ allowed: 'a path that begins with one / and has no query' }),
      successStatus: z
        .number()
        .int()
        .min(200)
        .max(299)
        .default(successStatus)
        .describe('The one status that means done.'),
    })
    .prefault({})
    .describe(meaning);

const changeEndpoint = (path: string, meaning: string) =>
  endpoint('PATCH', path, 200, meaning)
    .unwrap()
    .extend({
      method: z
        .enum(['PATCH', 'PUT', 'POST'])
        .default('PATCH')
        .describe('HTTP method. PUT carries the whole record, every other one the fields that changed.'),
    })
    .prefault({})
    .describe(meaning);

const templates = z
  .record(z.string().min(1), z.string().min(1))
  .meta({ allowed: 'names and values, such as {note: "{note}"}' });

/** Where the service can be asked whether it has a record. Only a service that offers this has one. */
const lookUp = (meaning: string) =>
  z
    .strictObject({
      path: z
        .string()
        .regex(/^\/(?!\/)[^?#\s]*$/, 'not a path that begins with one / and has no query')
        .describe('Path with its version. {field} is replaced by a text field of the record, or {idempotency_key}.')
        .meta({ allowed: 'a path that begins with one / and has no query' }),
      query: templates.default({}).describe('Query parameters; {field} and {idempotency_key} as in the path.'),
      successStatus: z
        .number()
        .int()
        .min(200)
        .max(299)
        .default(200)
        .describe('Status of an answer with what was found.'),
      absentStatus: z
        .number()
        .int()
        .min(400)
        .max(499)
        .default(404)
        .describe('Status that says that there is nothing, besides an empty list.'),
      list: z
        .string()
        .optional()
        .describe(
          'Field of the answer that holds the list of what was found. Absent: the answer is the one record itself.',
        ),
      id: z.string().min(1).describe('Field of a found record that holds its id at the service.'),
      match: templates.describe(
        'Fields of a found record that have to equal a field of ours, exactly; a record with other values is another one. Without any nothing is ever found.',
      ),
      total: z.string().min(1).optional().describe('Field of a found order that holds its total, to be compared.'),
      absenceProves: z
        .boolean()
        .default(false)
        .describe(
          'true: finding nothing proves that it does not exist, so that it is sent again. Only for a look-up that sees at once what was created. false: a person decides.',
        ),
    })
    .optional()
    .describe(meaning);

/** One way to recognise an answer: its status, and if given its error code or a pattern found in its body. */
export const answer = z
  .strictObject({
    status: z.number().int().min(300).max(599).describe('Status of the answer.'),
    code: z.string().min(1).optional().describe('Error code in the body: error.code, code or type.'),
    pattern: regularExpression.optional().describe('Regular expression searched for in the body.'),
  })
  .meta({ shape: 'Answer', allowed: 'an answer: {status: 409, pattern: "already.exists"}' });

const answers = (defaults: z.input<typeof answer>[], meaning: string) =>
  z.array(answer).default(defaults).describe(meaning);

/** A base address carries no credentials (they would be logged) and no query (paths are appended to it). */
const baseUrl = z
  .url({ protocol: /^https?$/, error: 'not an address that begins with https:// (or http://)', abort: true })
  .refine((address) => new URL(address).username === '' && new URL(address).password === '', {
    error: 'holds a user name or password; credentials go into service.tokenFile',
  })
  .refine((address) => !/[?#]/.test(address), { error: 'has a query or a fragment; paths are appended to it' })
  .meta({ allowed: 'an address such as https://api.example.com', mayHoldSecret: true });

/** A second line in the token's file, or a typographic quote, would otherwise fail at the first request. */
const bearerToken = secret.refine((token) => /^[\x21-\x7e]+$/.test(token.reveal()), {
  error: 'holds a space, a line break or a letter outside ASCII, which no header carries',
});

export const serviceSettings = z
  .strictObject({
    environment: z
      .enum(['sandbox', 'production'])
      .describe('production delivers only after `waybill go-live`. Never guessed.'),
    baseUrl: baseUrl.describe(
      'Address of the service, without the version. http is refused unless it stays on this machine or environment is sandbox.',
    ),
    credential: credentialSettings.prefault({ kind: 'bearer' }),
    tls: tlsSettings.prefault({}),
    proxy: proxySettings,
    token: bearerToken.optional().describe('Bearer token or API key. Only from the environment; prefer tokenFile.'),
    tokenFile: z
      .string()
      .min(1)
      .optional()
      .describe(
        'File that holds the bearer token or API key, relative to the configuration folder; credential `service-token` under systemd.',
      ),
    deadlineSeconds: z
      .number()
      .positive()
      .max(300)
      .default(10)
      .describe('Whole time of one request: connect, headers and body.'),
    maxResponseBytes: z.number().int().positive().default(1_048_576).describe('Largest answer that is read, unpacked.'),
    concurrency: z
      .number()
      .int()
      .min(1)
      .max(256)
      .optional()
      .describe('Requests under way at once. Absent: 16, or as many as the limits need at answers of half a second.')
      .meta({ unit: 'requests' }),
    limits: z
      .array(
        z.strictObject({
          requests: z
            .number()
            .int()
            .min(1)
            .max(1_000_000)
            .describe('Most requests in the window.')
            .meta({ unit: 'requests' }),
          perSeconds: z.number().positive().max(2_678_400).default(1).describe('Length of the window.'),
        }),
      )
      .max(5)
      .default([])
      .describe(
        'Most requests in any window of so many seconds; several hold at once. Empty: no limit is known, and the pace is felt for.',
      )
      .meta({ allowed: 'limits: [{requests: 10, perSeconds: 1}, {requests: 10000, perSeconds: 86400}]' }),
    idempotency: z
      .strictObject({
        header: headerName.default('Idempotency-Key').describe('Header that carries the key.'),
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
      .prefault({})
      .describe('How the service recognises a request that it has seen before.'),
    endpoints: z
      .strictObject({
        createCustomer: endpoint('POST', '/v1/customers', 201, 'A new customer.'),
        createOrder: endpoint('POST', '/v1/orders', 201, 'A new order.'),
        updateCustomer: changeEndpoint('/v1/customers/{customer_code}', 'A change to a customer.'),
        updateOrder: changeEndpoint('/v1/orders/{order_id}', 'A change to an order.'),
        deleteCustomer: endpoint('DELETE', '/v1/customers/{customer_code}', 204, 'A customer that is withdrawn.'),
        deleteOrder: endpoint('DELETE', '/v1/orders/{order_id}', 204, 'An order that is withdrawn.'),
        listInvoices: endpoint('GET', '/v2/invoices', 200, 'Unpaid invoices, page by page.'),
        readInvoice: readInvoiceEndpoint,
        readCustomer: z
          .strictObject({
            path: z
              .string()
              .regex(/^\/(?!\/)[^?#\s]*$/, 'not a path that begins with one / and has no query')
              .default('/v1/customers/{customer_code}')
              .describe('Path with its version. {field} is replaced by a text field of the record.')
              .meta({ allowed: 'a path that begins with one / and has no query' }),
            successStatus: z
              .number()
              .int()
              .min(200)
              .max(299)
              .default(200)
              .describe('Status of an answer with the customer.'),
          })
          .prefault({})
          .describe(
            'One customer by its code. Asked when the service says that a customer is there already, unless lookUpCustomer is set.',
          ),
        lookUpCustomer: lookUp('Whether a customer exists. Absent: the service can not be asked.'),
        lookUpOrder: lookUp('Whether an order exists. Absent: the service can not be asked.'),
      })
      .prefault({})
      .describe('Where each kind of request goes.'),
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
        gone: answers(
          [{ status: 404 }, { status: 410 }],
          'Only for a removal: the record is not there any more, so that nothing is left to do.',
        ),
      })
      .prefault({})
      .describe('Which answers mean something that a status alone does not say.'),
    adoption: adoptionSettings,
  })
  .describe('The service that receives customers and orders.');

export const deliverySettings = z
  .strictObject({
    leaseSeconds: z
      .number()
      .min(2)
      .max(600)
      .default(30)
      .describe('How long a deliverer that fell silent keeps its place.'),
    drainSeconds: z.number().positive().max(300).default(20).describe('How long a stop waits for requests under way.'),
    backoffBaseSeconds: z
      .number()
      .positive()
      .default(2)
      .describe('Longest wait before the second attempt; doubled with each further one.'),
    backoffMaxSeconds: z.number().positive().default(900).describe('Longest wait between two attempts of one record.'),
    quickResends: z
      .number()
      .int()
      .min(0)
      .max(5)
      .default(2)
      .describe('Resends at once of what provably never left.')
      .meta({ unit: 'requests' }),
    outageAfterFailures: z
      .number()
      .int()
      .min(1)
      .default(5)
      .describe('Failed requests in a row, of whichever messages, that open the breaker.')
      .meta({ unit: 'requests' }),
    probeSeconds: z.number().positive().default(5).describe('Time between two probes of a service that is down.'),
  })
  .describe('How messages are delivered.');

export type ServiceSettings = z.output<typeof serviceSettings>;
export type LookUpEndpoint = NonNullable<ServiceSettings['endpoints']['lookUpOrder']>;
export type AnswerPattern = z.output<typeof answer>;
