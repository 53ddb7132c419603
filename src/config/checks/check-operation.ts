import { isIP } from 'node:net';
import { hostAndPort, isTlsRequired } from '../../model/database-place.js';
import { Secret } from '../../model/secret.js';
import { type Given, type Partly, type Report, requireSetting } from '../configuration-error.js';
import { type DatabaseTls, onServer } from '../sections/database-server.js';
import type { QuietHours } from '../sections/schedule.js';
import { isReadableOnTheWay } from '../sections/value-types.js';

export function checkDelivery({ delivery = {}, service = {} }: Given, report: Report): void {
  const { leaseSeconds, drainSeconds, backoffBaseSeconds, backoffMaxSeconds } = delivery;
  const deadline = service.deadlineSeconds;
  if (deadline !== undefined && leaseSeconds !== undefined && deadline >= leaseSeconds / 2)
    report('service.deadlineSeconds', 'is not below half of delivery.leaseSeconds', {
      found: `${deadline}, with a lease of ${leaseSeconds}`,
      allowed: `a number below ${leaseSeconds / 2}, so that a request ends well before its lease does`,
    });
  if (deadline !== undefined && drainSeconds !== undefined && drainSeconds <= deadline)
    report('delivery.drainSeconds', 'is not above service.deadlineSeconds', {
      found: `${drainSeconds}, with a deadline of ${deadline}`,
      allowed: `a number above ${deadline}, so that a stop can wait for the requests under way`,
    });
  if (backoffBaseSeconds !== undefined && backoffMaxSeconds !== undefined && backoffBaseSeconds > backoffMaxSeconds)
    report('delivery.backoffBaseSeconds', 'is above delivery.backoffMaxSeconds', {
      found: `${backoffBaseSeconds} > ${backoffMaxSeconds}`,
      allowed: 'at most delivery.backoffMaxSeconds',
    });
}

export function checkWebhooks({ webhooks }: Given, report: Report): void {
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

/** The address is a secret, so it is not repeated. */
export function checkAlert({ alert }: Given, report: Report): void {
  const url = alert?.webhookUrl;
  if (!(url instanceof Secret)) return;
  const address = URL.canParse(url.reveal()) ? new URL(url.reveal()) : null;
  if (address === null || !/^https?:$/.test(address.protocol) || isReadableOnTheWay(url.reveal()))
    report('alert.webhookUrlFile', 'holds no address that may be told of alerts', {
      allowed: 'an address with https, or with http on this machine',
    });
}

/** Shorter ones can be guessed. */
const shortestProxySecret = 16;

export function checkDesk({ desk }: Given, report: Report): void {
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

export function checkRetention({ retention = {}, service = {} }: Given, report: Report): void {
  // Within the key's lifetime a message is what proves that a resend makes no second record.
  const hours = service.idempotency?.lifetimeHours;
  for (const name of ['messagesDays', 'bodiesDays', 'auditDays'] as const) {
    const kept = retention[name];
    if (hours === undefined || kept === undefined || kept * 24 >= hours) continue;
    report(`retention.${name}`, 'is shorter than the lifetime of a key', {
      found: `${kept} days, with a lifetime of ${hours} hours`,
      allowed: `at least ${Math.ceil(hours / 24)}, because service.idempotency.lifetimeHours is ${hours}`,
    });
  }
  // The rate limiter counts past requests from their attempts, which therefore have to outlive every window.
  for (const [index, limit] of (service.limits ?? []).entries()) {
    const seconds = (limit as Partial<typeof limit> | undefined)?.perSeconds;
    for (const name of ['messagesDays', 'auditDays'] as const) {
      const kept = retention[name];
      if (seconds === undefined || kept === undefined || kept * 86_400 >= seconds) continue;
      report(`service.limits.${index}.perSeconds`, 'is longer than past requests stay on record', {
        found: `${seconds}, with retention.${name}: ${kept}`,
        allowed: `at most ${kept * 86_400}, or a longer retention.${name}`,
      });
    }
  }
}

export function checkSchedule({ schedule }: Given, report: Report): void {
  for (const [index, entry] of (schedule?.quietHours ?? []).entries()) {
    const { from, to } = (entry ?? {}) as Partial<QuietHours>;
    if (from !== undefined && from === to)
      report(`schedule.quietHours.${index}.to`, 'is when it begins', {
        found: to,
        allowed: 'another time; a whole day is from "00:00" to "24:00"',
      });
  }
}

/** The requirements of a secure connection to a server of ours. */
export function checkServerTls({ erp, store, writeBack, cluster }: Given, report: Report): void {
  const check = (group: string, server: { host?: string | undefined; tls?: Partly<DatabaseTls> } | undefined) => {
    const { host, tls } = server ?? {};
    if (host === undefined || !isTlsRequired(host, tls?.mode)) return;
    if (isIP(host) !== 0)
      requireSetting(
        tls?.serverName,
        `${group}.tls.serverName`,
        `the name in the server’s certificate, because its host ${host} is an address`,
        report,
      );
    if (tls?.certificateFile !== undefined)
      requireSetting(
        tls.key,
        `${group}.tls.keyFile`,
        `the file with the private key of ${group}.tls.certificateFile`,
        report,
      );
  };
  const server = onServer(erp);
  check('erp', server);
  check('store', onServer(store));
  const { hosts, tls } = cluster?.redis ?? {};
  for (const text of cluster?.enabled === true ? (hosts ?? []) : [])
    check('cluster.redis', { host: hostAndPort(text ?? '', 0).host, tls });
  if (server !== undefined && writeBack?.enabled === true)
    check(
      'writeBack',
      writeBack.host === undefined ? { host: server.host, tls: { ...server.tls, ...writeBack.tls } } : writeBack,
    );
}

export function checkRedis({ cluster }: Given, report: Report): void {
  if (cluster?.enabled !== true || cluster.redis?.hosts === undefined) return;
  const { mode, hosts, sentinelName } = cluster.redis;
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

export function checkStore({ store }: Given, report: Report): void {
  if (store?.type !== 'sqlite' || !/^(:memory:|file:)/.test(store.file ?? '')) return;
  report('store.file', 'is not the name of a file', {
    found: store.file ?? '',
    allowed: 'a file, because what Waybill knows has to outlive it',
  });
}

export function checkCluster({ cluster, store, service }: Given, report: Report): void {
  if (cluster?.enabled !== true) return;
  if (store?.type === 'sqlite')
    report('store.type', 'is a file on this machine, and cluster.enabled is true', {
      found: 'sqlite',
      allowed: 'mysql or postgres, because all nodes work on one store',
    });
  // A pace that each node finds for itself is that of one node.
  if (service?.limits?.length === 0)
    report('service.limits', 'is empty, and cluster.enabled is true', {
      allowed: 'what the service allows, such as [{requests: 10, perSeconds: 1}], because the nodes share it out',
    });
}
