import type { z } from 'zod';
import { Secret } from '../../model/secret.js';
import { type ConfigurationProblem, type Partly, type Report, requireSetting } from '../configuration-error.js';
import { readSecretFile } from './secret-file.js';
import {
  decimal,
  flag,
  group,
  headerName,
  httpAddress,
  isReadableOnTheWay,
  secret,
  secretFile,
  text,
  whole,
} from './value-types.js';

export const deskSettings = group(
  'The operator’s desk: web pages and metrics, served by the daemon to this machine alone. Others reach it through a reverse proxy.',
  {
    enabled: flag(false, 'true: the daemon serves the desk.'),
    port: whole(0, 65_535)
      .default(8788)
      .describe('TCP port on 127.0.0.1. 0: the system chooses one, and the log names it.'),
    publicUrl: httpAddress('https://erp.example.com/waybill/', 'people sign in on the page')
      .optional()
      .describe(
        'Address of the desk behind a reverse proxy, with the path that the proxy passes on whole. Absent: people on this machine alone use it.',
      ),
    usersFile: text
      .default('desk-users')
      .describe(
        'File with a line for each person and script that may sign in, relative to the configuration folder. `waybill desk user NAME --role read` prints such a line. It is read again when it changes.',
      ),
    sessionHours: decimal(0.25, 168).default(12).describe('How long a person stays signed in.'),
    proxy: group('A reverse proxy that signs people in.', {
      userHeader: headerName
        .optional()
        .describe(
          'Header with the name of the person, who has a line in the users file. Absent: no proxy is believed.',
        ),
      secret: secret
        .optional()
        .describe(
          'Secret that the proxy sends in the header X-Waybill-Proxy, because any account of this machine can send headers. Only from the environment; prefer secretFile.',
        ),
      secretFile: secretFile('the secret of the proxy', 'desk-proxy-secret'),
    }),
  },
);

export type DeskSettings = z.output<typeof deskSettings>;

/** Shorter ones can be guessed. */
const shortestProxySecret = 16;

/** The settings that are checked together. */
type Relevant = Partly<{ desk: DeskSettings }>;

export function checkDesk({ desk }: Relevant, report: Report): void {
  const { publicUrl, proxy } = desk ?? {};
  if (desk?.enabled !== true) return;
  if (publicUrl !== undefined && /[?#]/.test(publicUrl))
    report('desk.publicUrl', 'holds more than a path', {
      found: publicUrl,
      allowed: 'an address that ends with its path, such as https://erp.example.com/waybill/',
    });
  if (publicUrl !== undefined && isReadableOnTheWay(publicUrl))
    report('desk.publicUrl', 'sends passwords in plain text', { found: publicUrl, allowed: 'an address with https' });
  if (proxy?.userHeader === undefined) return;
  requireSetting(proxy.secret, 'desk.proxy.secretFile', 'the file with the secret that the proxy sends', report);
  if (
    proxy.secret !== undefined &&
    proxy.secret instanceof Secret &&
    proxy.secret.reveal().length < shortestProxySecret
  )
    report('desk.proxy.secretFile', 'holds too short a secret', {
      allowed: `at least ${shortestProxySecret} characters, such as those of: openssl rand -hex 32`,
    });
}

/** Checks that the file of `desk.usersFile` can be read: without it no person can sign in. */
export function checkDeskUsers({ enabled, usersFile }: DeskSettings) {
  const problems: ConfigurationProblem[] = [];
  const warnings: string[] = [];
  const read = enabled ? readSecretFile(usersFile) : { warning: undefined };
  if ('fault' in read) {
    const hint = 'put the line into it that `waybill desk user NAME --role act` prints';
    problems.push({ path: 'desk.usersFile', message: `the file ${read.fault}`, found: usersFile, hint });
  } else if (read.warning !== undefined) warnings.push(read.warning);
  return { problems, warnings };
}
