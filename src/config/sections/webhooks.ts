import { z } from 'zod';
import { isLoopback } from '../../model/database-place.js';
import { webhookSecretProblem } from '../../model/secret.js';
import { type ConfigurationProblem, type Partly, type Report, requireSetting } from '../configuration-error.js';
import { readSecretFile } from './secret-file.js';
import { choice, decimal, flag, group, headerName, place, text, textLike, whole } from './value-types.js';

const field = (standard: string, meaning: string) => place('data.invoice_no').default(standard).describe(meaning);

const eventNames = (standard: string, meaning: string) =>
  z
    .array(text.max(255))
    .max(20)
    .default([standard])
    .describe(meaning)
    .meta({ allowed: 'a list of names, such as [payment.succeeded]' });

export const webhookSettings = group(
  'Webhooks in. An event only announces: an invoice or an order changes by what the service then answers, never by the event.',
  {
    enabled: flag(false, 'true: the daemon listens for webhooks.'),
    host: text
      .default('127.0.0.1')
      .describe(
        'Address to listen on. Leave it on this machine, behind a reverse proxy that speaks https; anything else gives a warning.',
      ),
    port: whole(0, 65_535).default(8787).describe('TCP port. 0: the system chooses one, and the log names it.'),
    path: textLike(/^\/[^?#\s]*$/, 'a path such as /webhooks, without a query')
      .default('/webhooks')
      .describe('The only path that is answered; every other one gets a 404.'),
    maxBodyBytes: whole(1_024, 1_048_576, 'bytes').default(65_536).describe('Largest body; a larger one gets a 413.'),
    toleranceSeconds: whole(1, 300)
      .default(300)
      .describe('How far the time of an event may be from ours, before or after. Other events are refused.'),
    maxConnections: whole(1, 10_000, 'connections')
      .default(256)
      .describe(
        'Connections at once. If there are more, the one that has kept us waiting longest for a request is closed.',
      ),
    requestSeconds: decimal(1, 60)
      .default(5)
      .describe('How long a request may take to arrive, headers and body; slower ones are cut off.'),
    scheme: choice(
      ['standard', 'hmac'],
      'How events are signed. standard: Standard Webhooks. hmac: as webhooks.hmac says.',
    ),
    secretFiles: z
      .array(text)
      .max(5)
      .default([])
      .describe(
        'Files with one signing secret each, relative to the configuration folder. A signature by any of them is accepted, so that secrets can be rotated. The files are read again when they change.',
      )
      .meta({ allowed: 'a list of files, such as [webhook-secret, webhook-secret-old]' }),
    hmac: group('A signature in a header. Used where scheme is hmac.', {
      header: headerName
        .default('X-Signature')
        .describe('Header with the signature, or with several separated by commas.'),
      algorithm: choice(['sha256', 'sha384', 'sha512'], 'Hash of the HMAC.'),
      encoding: choice(['hex', 'base64'], 'How the signature is written.'),
      prefix: z.string().max(64).default('').describe('Text before the signature, such as `sha256=`.'),
      timestampHeader: headerName
        .optional()
        .describe(
          'Header with the time of signing, in seconds or milliseconds since 1970. Absent: the age of an event can not be checked.',
        ),
      signedPayload: z
        .string()
        .max(200)
        .refine((payload) => payload.includes('{body}'), { error: 'does not hold {body}', abort: true })
        .default('{body}')
        .describe('What is signed. {body} is the body as received, {timestamp} the text of timestampHeader.')
        .meta({ allowed: 'a text with {body}, such as {timestamp}.{body}' }),
    }),
    events: group(
      'What the service calls the events that Waybill acts upon. All others are answered and counted, and not stored.',
      {
        paymentSucceeded: eventNames('payment.succeeded', 'Types of events that say that an invoice was paid.'),
        orderStatusChanged: eventNames(
          'order.status_changed',
          'Types of events that say that the status of an order changed.',
        ),
      },
    ),
    fields: group('Where the parts of an event are.', {
      id: field(
        'id',
        'Field of the body with the id of the event, where scheme is hmac. An event without one is identified by its signed payload.',
      ),
      type: field('type', 'Field of the body with the type of the event.'),
      invoiceNo: field('data.invoice_no', 'Field of the body with the number of the invoice.'),
      orderId: field('data.order_id', 'Field of the body with the order’s id at the service.'),
    }),
  },
);

export type WebhookSettings = z.output<typeof webhookSettings>;

/** The settings that are checked together. */
type Relevant = Partly<{ webhooks: WebhookSettings }>;

export function checkWebhooks({ webhooks }: Relevant, report: Report): void {
  if (webhooks?.enabled !== true) return;
  if (webhooks.secretFiles?.length === 0) {
    const why = 'at least one file with a signing secret, because webhooks.enabled is true';
    requireSetting(undefined, 'webhooks.secretFiles', why, report);
  }
  const { timestampHeader, signedPayload } = webhooks.hmac ?? {};
  if (webhooks.scheme !== 'hmac' || signedPayload === undefined) return;
  const signsTime = signedPayload.includes('{timestamp}');
  if (signsTime) {
    const why = 'a header, because webhooks.hmac.signedPayload names {timestamp}';
    requireSetting(timestampHeader, 'webhooks.hmac.timestampHeader', why, report);
  }
  // An unsigned time proves no age: an attacker who replays an old event can write a new one.
  if (!signsTime && timestampHeader !== undefined)
    report('webhooks.hmac.signedPayload', 'does not hold {timestamp}', {
      found: signedPayload,
      allowed: 'a text with {timestamp}, because webhooks.hmac.timestampHeader is set',
    });
}

/** Checks that the files of `webhooks.secretFiles` hold secrets that can be used. */
export function checkWebhookSecrets(webhooks: WebhookSettings) {
  const problems: ConfigurationProblem[] = [];
  const warnings: string[] = [];
  for (const [index, file] of webhooks.enabled ? webhooks.secretFiles.entries() : []) {
    const path = `webhooks.secretFiles.${index}`;
    const read = readSecretFile(file);
    if ('fault' in read) {
      problems.push({ path, message: `the file ${read.fault}`, found: file, hint: read.hint });
      continue;
    }
    const problem = webhookSecretProblem(webhooks.scheme, read.secret.reveal());
    if (problem)
      problems.push({ path, message: `the secret in the file ${problem}`, found: file, hint: 'copy it again' });
    if (read.warning !== undefined) warnings.push(read.warning);
  }
  return { problems, warnings };
}

/** @returns settings that are allowed and probably not meant */
export function adviseWebhooks({ enabled, host }: Pick<WebhookSettings, 'enabled' | 'host'>): string[] {
  if (!enabled || isLoopback(host)) return [];
  return [
    `webhooks.host is ${host}: others can reach this address, and the listener does not speak https; put a reverse proxy in front of 127.0.0.1 instead`,
  ];
}
