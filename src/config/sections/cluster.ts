import { z } from 'zod';
import { hostAndPort } from '../../model/database-place.js';
import { type Partly, type Report, requireSetting } from '../configuration-error.js';
import { fileKind, serverKinds } from './database-kinds.js';
import { checkServerTls, databaseTls } from './database-server.js';
import type { ServiceSettings } from './service.js';
import type { StoreSettings } from './store.js';
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

/** The settings that are checked together. */
type Relevant = Partly<{ cluster: ClusterSettings; store: StoreSettings; service: ServiceSettings }>;

export function checkRedis({ cluster }: Relevant, report: Report): void {
  if (cluster?.enabled !== true || cluster.redis?.hosts === undefined) return;
  const { mode, hosts, sentinelName, tls } = cluster.redis;
  for (const text of hosts) checkServerTls('cluster.redis', { host: hostAndPort(text ?? '', 0).host, tls }, report);
  if (mode === 'sentinel')
    requireSetting(
      sentinelName,
      'cluster.redis.sentinelName',
      'the name under which the Sentinels know the server',
      report,
    );
  if (mode === 'single' && hosts.length > 1)
    report('cluster.redis.hosts', 'names more than one server', {
      found: hosts.join(', '),
      allowed: 'one server where cluster.redis.mode is single',
    });
}

export function checkCluster({ cluster, store, service }: Relevant, report: Report): void {
  if (cluster?.enabled !== true) return;
  if (store?.type === fileKind)
    report('store.type', 'is a file on this machine, and cluster.enabled is true', {
      found: fileKind,
      allowed: `${serverKinds.join(' or ')}, because all nodes work on one store`,
    });
  // A pace that each node finds for itself is that of one node.
  if (service?.limits?.length === 0)
    report('service.limits', 'is empty, and cluster.enabled is true', {
      allowed: 'what the service allows, such as [{requests: 10, perSeconds: 1}], because the nodes share it out',
    });
}
