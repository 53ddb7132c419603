import { z } from 'zod';
import { adoptionSettings } from './adoption-settings.js';
import { acknowledgementSettings, answersSettings, errorBodySettings, statesSettings } from './answer-settings.js';
import { credentialSettings, proxySettings, tlsSettings } from './credential-settings.js';
import { endpointSettings } from './endpoint-settings.js';
import { idempotencySettings } from './idempotency-settings.js';
import { recordSettings } from './record-settings.js';
import { secret } from './value-types.js';

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
export type { AnswerPattern } from './answer-settings.js';
export type { LookUpEndpoint } from './endpoint-settings.js';
