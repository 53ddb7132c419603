import type { z } from 'zod';
import { decimal, flag, group, headerName, httpAddress, secret, secretFile, text, whole } from './value-types.js';

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
