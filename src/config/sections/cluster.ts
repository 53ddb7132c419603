import { z } from 'zod';
import { databaseTls } from './database-server.js';
import { choice, flag, group, secret, secretFile, text, textLike } from './value-types.js';

const host = textLike(
  /^(\[[0-9A-Fa-f:.]+\]|[^\s:@/[\]]+)(:\d{1,5})?$/,
  'a host, with its port or without: redis-1.example.com:6379',
);

export const clusterSettings = group('Several machines, or processes, that deliver from one store together.', {
  enabled: flag(
    false,
    'true: this process is one node of several that share the store, and the limits of the service. Needs a store in MySQL, MariaDB or PostgreSQL.',
  ),
  node: textLike(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/,
    '1 to 40 letters, digits, dots, dashes or underscores, the first of them a letter or digit',
  )
    .optional()
    .describe('Name of this node; each has its own. Absent: the name of the machine.'),
  redis: group(
    'Redis (6.2 or newer) or Valkey, over which the nodes share out the work. Nothing in it matters: without it, delivery goes on straight from the store.',
    {
      mode: choice(
        ['single', 'sentinel', 'cluster'],
        'single: one server. sentinel: hosts are Sentinels, which know the server. cluster: hosts are nodes of a Redis Cluster.',
      ),
      hosts: z
        .array(host)
        .min(1)
        .max(20)
        .optional()
        .describe(
          'Servers, each with its port if that is not 6379 (of a Sentinel: 26379). Absent: the nodes do without Redis.',
        )
        .meta({ allowed: 'a list of hosts, such as [redis-1.example.com:6379]' }),
      sentinelName: text.optional().describe('With mode sentinel: the name under which the Sentinels know the server.'),
      user: text.optional().describe('Account of Redis. Default: its default account.'),
      password: secret.optional().describe('Password of that account. Only from the environment; prefer passwordFile.'),
      passwordFile: secretFile('the password', 'cluster-redis-password'),
      sentinelPassword: secret
        .optional()
        .describe(
          'Password of the Sentinels, where they have one. Only from the environment; prefer sentinelPasswordFile.',
        ),
      sentinelPasswordFile: secretFile('the password of the Sentinels', 'cluster-redis-sentinel-password'),
      tls: databaseTls('cluster-redis-tls-key'),
      prefix: textLike(/^[A-Za-z0-9._-]{1,100}$/, 'letters, digits, dots, dashes and underscores')
        .optional()
        .describe(
          'What the keys in Redis begin with, in braces. Only the nodes of one store share it. Default: waybill, the installation and the environment.',
        ),
    },
  ),
});

type ClusterSettings = z.output<typeof clusterSettings>;
export type RedisSettings = ClusterSettings['redis'];
