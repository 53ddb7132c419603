import { z } from 'zod';
import { headerName } from './value-types.js';

const field = (standard: string, meaning: string) =>
  z
    .string()
    .regex(/^[^.\s]+(\.[^.\s]+)*$/, 'not the name of a field')
    .default(standard)
    .describe(meaning)
    .meta({ allowed: 'the name of a field, or names joined by dots such as data.invoice_no' });

const eventNames = (standard: string, meaning: string) =>
  z
    .array(z.string().min(1).max(255))
    .max(20)
    .default([standard])
    .describe(meaning)
    .meta({ allowed: 'a list of names, such as [payment.succeeded]' });

/** What the service pushes to us. Every event only announces: what became of it is always read from the service. */
export const webhookSettings = z
  .strictObject({
    enabled: z.boolean().default(false).describe('true: the daemon listens for webhooks.'),
    host: z
      .string()
      .min(1)
      .default('127.0.0.1')
      .describe(
        'Address to listen on. Leave it on this machine, behind a reverse proxy that speaks https; anything else gives a warning.',
      ),
    port: z
      .number()
      .int()
      .min(0)
      .max(65_535)
      .default(8787)
      .describe('TCP port. 0: the system chooses, and the log says it.'),
    path: z
      .string()
      .regex(/^\/[^?#\s]*$/, 'not a path that begins with / and has no query')
      .default('/webhooks')
      .describe('The one path that is answered; all others are 404.')
      .meta({ allowed: 'a path such as /webhooks' }),
    maxBodyBytes: z
      .number()
      .int()
      .min(1_024)
      .max(1_048_576)
      .default(65_536)
      .describe('Largest body; 413 above it.')
      .meta({ unit: 'bytes' }),
    toleranceSeconds: z
      .number()
      .int()
      .min(1)
      .max(300)
      .default(300)
      .describe('How far the time of an event may be from ours, before or after. Older ones are refused.'),
    maxConnections: z
      .number()
      .int()
      .min(1)
      .max(10_000)
      .default(256)
      .describe('Connections at once; further ones are closed.')
      .meta({ unit: 'connections' }),
    requestSeconds: z
      .number()
      .min(1)
      .max(60)
      .default(5)
      .describe('How long a request may take to arrive, headers and body; slower ones are cut off.'),
    scheme: z
      .enum(['standard', 'hmac'])
      .default('standard')
      .describe('How events are signed. standard: Standard Webhooks. hmac: as webhooks.hmac says.'),
    secretFiles: z
      .array(z.string().min(1))
      .max(5)
      .default([])
      .describe(
        'Files with one signing secret each, relative to the configuration folder. Whatever any of them signed is accepted, so that secrets can be rotated. They are read again when they change.',
      )
      .meta({ allowed: 'a list of files, such as [webhook-secret, webhook-secret-old]' }),
    hmac: z
      .strictObject({
        header: headerName
          .default('X-Signature')
          .describe('Header with the signature, or several with commas between them.'),
        algorithm: z.enum(['sha256', 'sha384', 'sha512']).default('sha256').describe('Hash of the HMAC.'),
        encoding: z.enum(['hex', 'base64']).default('hex').describe('How the signature is written.'),
        prefix: z.string().max(64).default('').describe('Text before the signature, such as `sha256=`.'),
        timestampHeader: headerName
          .optional()
          .describe(
            'Header with the time of signing, in seconds or milliseconds since 1970. Absent: the age of an event can not be checked.',
          ),
        signedPayload: z
          .string()
          .max(200)
          .refine((text) => text.includes('{body}'), { error: 'does not hold {body}', abort: true })
          .default('{body}')
          .describe('What is signed. {body} is the body as it came, {timestamp} the text of timestampHeader.')
          .meta({ allowed: 'a text with {body}, such as {timestamp}.{body}' }),
      })
      .describe('A signature in a header. Used where scheme is hmac.')
      .prefault({}),
    events: z
      .strictObject({
        paymentSucceeded: eventNames('payment.succeeded', 'Types of events that say that an invoice was paid.'),
        orderStatusChanged: eventNames(
          'order.status_changed',
          'Types of events that say that an order changed its status.',
        ),
      })
      .describe('What the service calls the events that Waybill acts upon. All others are kept and shown.')
      .prefault({}),
    fields: z
      .strictObject({
        id: field(
          'id',
          'Field of the body with the id of the event, where scheme is hmac. An event without one is known by what was signed.',
        ),
        type: field('type', 'Field of the body with the type of the event.'),
        invoiceNo: field('data.invoice_no', 'Field of the body with the number of the invoice.'),
        orderId: field('data.order_id', 'Field of the body with the order’s id at the service.'),
      })
      .describe('Where an event says what.')
      .prefault({}),
  })
  .describe(
    'Webhooks in. An event only announces: invoices and orders change by what the service then answers, never by the event.',
  );

export type WebhookSettings = z.output<typeof webhookSettings>;
