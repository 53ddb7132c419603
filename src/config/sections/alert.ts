import { z } from 'zod';
import { Secret } from '../../model/secret.js';
import type { Partly, Report } from '../configuration-error.js';
import { decimal, group, isReadableOnTheWay, positive, secret, secretFile, text, whole } from './value-types.js';

export const alertSettings = group('How people are told that something needs them.', {
  command: z
    .union([text, z.array(text).min(1)])
    .transform((value) => (typeof value === 'string' ? [value] : value))
    .optional()
    .describe(
      'Program that is told what is wrong, and when it is over, as JSON on its stdin. A path, or a list of program and arguments; there is no shell.',
    )
    .meta({ allowed: 'the path of a program, or a list of the program and its arguments' }),
  webhookUrl: secret
    .optional()
    .describe(
      'Address that is told the same as JSON by POST, such as a chat’s. Only from the environment; prefer webhookUrlFile.',
    ),
  webhookUrlFile: secretFile('the address of the webhook', 'alert-webhook-url'),
  timeoutSeconds: positive(600).default(30).describe('How long the program, or the webhook, may take.'),
  retrySeconds: positive()
    .default(60)
    .describe('Wait after the program or the webhook has failed; doubled with each further failure, up to an hour.'),
  outageMinutes: decimal(0)
    .default(5)
    .describe('How long the service may be out of reach, or make Waybill wait, before an alert is raised.'),
  failuresInRow: whole(1)
    .meta({ unit: 'runs' })
    .default(3)
    .describe(
      'Captures, pulls, or write-backs to an ERP out of reach that may fail in a row before an alert is raised.',
    ),
  maxSilenceHours: positive()
    .default(12)
    .describe(
      'How long capture, delivery and pull may all go without a success, or one record may wait for its acknowledgement, before an alert is raised.',
    ),
});

export type AlertSettings = z.output<typeof alertSettings>;

/** The settings that are checked together. */
type Relevant = Partly<{ alert: AlertSettings }>;

/** The address is a secret, so it is not repeated. */
export function checkAlert({ alert }: Relevant, report: Report): void {
  const url = alert?.webhookUrl;
  if (!(url instanceof Secret)) return;
  const address = URL.canParse(url.reveal()) ? new URL(url.reveal()) : null;
  if (address === null || !/^https?:$/.test(address.protocol) || isReadableOnTheWay(url.reveal()))
    report('alert.webhookUrlFile', 'holds no address that may be told of alerts', {
      allowed: 'an address with https, or with http on this machine',
    });
}
