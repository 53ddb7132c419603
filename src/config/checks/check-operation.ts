import { isIP } from 'node:net';
import { isTlsRequired } from '../../model/database-place.js';
import { type Given, type Partly, type Report, requireSetting } from '../configuration-error.js';
import { type DatabaseTls, onServer } from '../sections/database-server.js';
import type { QuietHours } from '../sections/schedule.js';

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

/** What a secure connection to a database needs. */
export function checkDatabaseTls({ erp, store, writeBack }: Given, report: Report): void {
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
  if (server !== undefined && writeBack?.enabled === true)
    check(
      'writeBack',
      writeBack.host === undefined ? { host: server.host, tls: { ...server.tls, ...writeBack.tls } } : writeBack,
    );
}

export function checkStore({ store }: Given, report: Report): void {
  if (store?.type !== 'sqlite' || !/^(:memory:|file:)/.test(store.file ?? '')) return;
  report('store.file', 'is not the name of a file', {
    found: store.file ?? '',
    allowed: 'a file, because what Waybill knows has to outlive it',
  });
}
