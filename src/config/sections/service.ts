import { z } from 'zod';
import {
  acknowledgementSettings,
  adoptionSettings,
  answersSettings,
  errorBodySettings,
  statesSettings,
} from './service-answers.js';
import { credentialSettings, proxySettings, tlsSettings } from './service-credential.js';
import { endpointSettings } from './service-endpoints.js';
import { headerName, secret } from './value-types.js';

export const idempotencySettings = z
  .strictObject({
    in: z
      .enum(['header', 'body'])
      .default('header')
      .describe(
        'Where the key travels. body: as a field of every JSON body, which belongs to the frozen bytes; a removal has no body and then carries no key.',
      ),
    header: headerName.default('Idempotency-Key').describe('Header that carries the key, where it travels in one.'),
    field: z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/)
      .default('idempotency_key')
      .describe(
        'Field of the body that carries the key, where it travels in the body. No mapped field may have its name.',
      )
      .meta({ allowed: 'a name of at most 64 letters, digits and _ . -' }),
    quoted: z
      .boolean()
      .default(false)
      .describe('true sends the key of the header in double quotes, as the IETF draft has it.'),
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
    comparesBodies: z
      .boolean()
      .default(true)
      .describe(
        'Whether the service notices a key that comes with another body. false: it answers as the first time, and no answer is taken for service.answers.keyReused.',
      ),
  })
  .prefault({})
  .describe('How the service recognises a request that it has seen before.');

export type IdempotencySettings = z.output<typeof idempotencySettings>;

/** What the service demands of one field. */
export const fieldRule = z
  .strictObject({
    required: z.boolean().default(false).describe('true: a record without it is not sent.'),
    maxLength: z
      .number()
      .int()
      .positive()
      .optional()
      .describe('Most characters of a text, or most entries of a list.')
      .meta({ unit: 'characters or entries' }),
  })
  .meta({ shape: 'Field rule', allowed: 'a field rule: {required: true, maxLength: 140}' });

const rules = (meaning: string) =>
  z
    .record(z.string().min(1), fieldRule)
    .default({})
    .describe(meaning)
    .meta({ allowed: 'names and field rules, such as {note: {maxLength: 140}}' });

export const recordSettings = z
  .strictObject({
    customer: rules('Fields of a customer. customer_code is required anyway.'),
    order: rules(
      'Fields of an order. customer_code and items are required anyway; maxLength of items limits the lines.',
    ),
    item: rules('Fields of an order line. sku, qty and price are required anyway.'),
  })
  .prefault({})
  .describe('What the service demands of fields. A record that breaks a rule is parked as unmapped, unsent.');

export type FieldRules = Readonly<Record<string, z.output<typeof fieldRule>>>;
export type RecordSettings = z.output<typeof recordSettings>;

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
    sandboxUrl: baseUrl
      .optional()
      .describe(
        'Address of the test environment, used in place of baseUrl where environment is sandbox. Absent: baseUrl is the address of either.',
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
    blockedSeconds: z
      .number()
      .positive()
      .max(86_400)
      .default(900)
      .describe('How long everything rests after an answer of service.answers.blocked that names no time.'),
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
    idempotency: idempotencySettings,
    endpoints: endpointSettings,
    acknowledgement: acknowledgementSettings,
    checkTotal: z
      .enum(['exact', 'off'])
      .default('exact')
      .describe('exact: an acknowledged total other than the sum of qty × price is delivered with a flag for review.'),
    answers: answersSettings,
    adoption: adoptionSettings,
    errorBody: errorBodySettings,
    states: statesSettings,
    fields: recordSettings,
    maxRequestBytes: z
      .number()
      .int()
      .positive()
      .max(10_000_000)
      .default(1_048_576)
      .describe('Largest body that the service takes. A larger record is parked as unmapped, unsent.'),
  })
  .describe('The service that receives customers and orders.');

export type ServiceSettings = z.output<typeof serviceSettings>;
