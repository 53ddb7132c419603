import { checkCredential } from './credential-checks.js';
import type { CrossProblem, Partly, Report } from './cross-problem.js';
import { isLoopback } from './is-loopback.js';
import { checkProfile } from './profile-checks.js';
import type { FieldMapping } from './sections/field-mapping.js';
import type { AnswerPattern } from './sections/service-answers.js';
import type { Settings } from './settings.js';
import { checkWriteBack } from './write-back-checks.js';

type Fields = Record<string, Partly<FieldMapping> | undefined>;

function checkMapping(place: string, fields: Fields | undefined, report: Report): void {
  for (const [name, mapping] of Object.entries(fields ?? {})) {
    if (typeof mapping !== 'object') continue;
    const given = [mapping.column, mapping.constant].filter((part) => part !== undefined).length;
    if (given === 1) continue;
    const message = given === 0 ? 'names neither a column nor a constant' : 'names a column and a constant';
    report(`${place}.${name}`, message, { allowed: 'exactly one of column and constant' });
  }
}

/** A field that the service can not do without has to be mapped, and can not be left out of single records. */
function requireField(place: string, fields: Fields | undefined, name: string, why: string, report: Report): void {
  const mapping = fields?.[name];
  if (mapping === undefined) report(`${place}.${name}`, 'required, but not set', { allowed: why });
  else if (typeof mapping === 'object' && mapping.optional) {
    report(`${place}.${name}.optional`, 'must not be true', { found: 'true', allowed: `false, because ${why}` });
  }
}

function checkSameLength(
  place: string,
  columns: string[] | undefined,
  keyPlace: string,
  key: string[] | undefined,
  report: Report,
): void {
  if (columns === undefined || key === undefined || columns.length === key.length) return;
  const parts = (names: string[]) => (names.length === 1 ? 'one column' : `${names.length} columns`);
  report(place, `has ${parts(columns)}, but ${keyPlace} has ${parts(key)}`, {
    found: columns.join(', '),
    allowed: 'the same columns in the same order',
  });
}

function checkCustomers({ customers, orders }: Partly<Settings>, report: Report): void {
  checkMapping('customers.fields', customers?.fields as Fields | undefined, report);
  if (customers?.send === undefined) return;
  if (customers.send === 'none') {
    const why = 'a column, because customers.send is none and so no customer says its code';
    requireField('orders.fields', orders?.fields as Fields | undefined, 'customer_code', why, report);
    return;
  }
  const required = 'because customers.send is not none';
  if (customers.query === undefined) {
    report('customers.query', 'required, but not set', { allowed: `a SELECT, ${required}` });
  }
  if (customers.key === undefined) {
    report('customers.key', 'required, but not set', { allowed: `a column or a list of columns, ${required}` });
  }
  const code = `a column, ${required}`;
  requireField('customers.fields', customers.fields as Fields | undefined, 'customer_code', code, report);
  if (orders?.customerKey === undefined) {
    const allowed = `a column or a list of columns, ${required}`;
    report('orders.customerKey', 'required, but not set', { allowed });
  }
  checkSameLength('orders.customerKey', orders?.customerKey, 'customers.key', customers.key, report);
}

function checkOrders({ orders }: Partly<Settings>, report: Report): void {
  checkMapping('orders.fields', orders?.fields as Fields | undefined, report);
  if (orders?.fields?.items !== undefined) {
    report('orders.fields.items', 'can not be mapped', { hint: 'map the lines in orders.lines.fields' });
  }
  const lines = orders?.lines;
  checkMapping('orders.lines.fields', lines?.fields as Fields | undefined, report);
  for (const name of ['sku', 'qty', 'price']) {
    const why = 'a column, because every order line has one';
    requireField('orders.lines.fields', lines?.fields as Fields | undefined, name, why, report);
  }
  checkSameLength('orders.lines.orderKey', lines?.orderKey, 'orders.key', orders?.key, report);
}

/** Without a mark nothing is ever cancelled, and an effect that was configured for it would wait for ever. */
function checkRemovals(settings: Partly<Settings>, report: Report): void {
  for (const name of ['customers', 'orders'] as const) {
    const { cancelled, onCancelled } = settings[name] ?? {};
    if (onCancelled === undefined || onCancelled === 'nothing' || cancelled !== undefined) continue;
    report(`${name}.cancelled`, 'required, but not set', {
      allowed: `a column and its values, because ${name}.onCancelled is set`,
    });
  }
}

/** The class of an answer decides what is done about it, so one answer can not have two. */
function checkAnswers({ service }: Partly<Settings>, report: Report): void {
  const seen = new Map<string, string>();
  for (const [meaning, patterns] of Object.entries(service?.answers ?? {})) {
    // Removals alone ask for this one.
    if (meaning === 'gone') continue;
    for (const [index, entry] of ((patterns ?? []) as (Partly<AnswerPattern> | undefined)[]).entries()) {
      if (entry?.status === undefined) continue;
      const key = JSON.stringify([entry.status, entry.code, entry.pattern]);
      const place = `service.answers.${meaning}.${index}`;
      const other = seen.get(key);
      if (other === undefined) seen.set(key, place);
      else report(place, `is the same answer as ${other.replace(/\.(\d+)$/, '[$1]')}`, { hint: 'remove one of them' });
    }
  }
}

function checkService({ service, delivery }: Partly<Settings>, report: Report): void {
  if (service?.baseUrl !== undefined && service.environment !== undefined) {
    const { protocol, hostname } = new URL(service.baseUrl);
    if (protocol === 'http:' && service.environment !== 'sandbox' && !isLoopback(hostname)) {
      report('service.baseUrl', 'begins with http, so the token would travel in the clear', {
        found: service.baseUrl,
        allowed: 'https, unless the service is on this machine or service.environment is sandbox',
      });
    }
  }
  if (service !== undefined) checkCredential(service, report);
  const deadline = service?.deadlineSeconds;
  const lease = delivery?.leaseSeconds;
  if (deadline !== undefined && lease !== undefined && deadline >= lease / 2) {
    report('service.deadlineSeconds', 'is not below half of delivery.leaseSeconds', {
      found: `${deadline}, with a lease of ${lease}`,
      allowed: `a number below ${lease / 2}, so that a request ends well before its lease does`,
    });
  }
  const drain = delivery?.drainSeconds;
  if (deadline !== undefined && drain !== undefined && drain <= deadline)
    report('delivery.drainSeconds', 'is not above service.deadlineSeconds', {
      found: `${drain}, with a deadline of ${deadline}`,
      allowed: `a number above ${deadline}, so that a stop can wait for the requests under way`,
    });
  const base = delivery?.backoffBaseSeconds;
  const most = delivery?.backoffMaxSeconds;
  if (base !== undefined && most !== undefined && base > most) {
    const allowed = 'at most delivery.backoffMaxSeconds';
    report('delivery.backoffBaseSeconds', 'is above delivery.backoffMaxSeconds', {
      found: `${base} > ${most}`,
      allowed,
    });
  }
}

/** The customers that were delivered are those with a binding: where none is sent, no invoice would ever be asked for. */
function checkInvoices({ customers, invoices }: Partly<Settings>, report: Report): void {
  if (invoices?.scope !== 'per-customer' || customers?.send !== 'none') return;
  report('invoices.scope', 'asks for the invoices of customers, and none is ever sent', {
    found: 'per-customer, with customers.send: none',
    allowed: 'all, unless customers.send is not none',
  });
}

/** Within the key's lifetime a message is what proves that a resend makes no second record. */
function checkRetention({ retention, service }: Partly<Settings>, report: Report): void {
  const hours = service?.idempotency?.lifetimeHours;
  if (hours === undefined) return;
  for (const name of ['messagesDays', 'bodiesDays', 'auditDays'] as const) {
    const days = retention?.[name];
    if (days === undefined || days * 24 >= hours) continue;
    report(`retention.${name}`, 'is shorter than the lifetime of a key', {
      found: `${days} days, with a lifetime of ${hours} hours`,
      allowed: `at least ${Math.ceil(hours / 24)}, because service.idempotency.lifetimeHours is ${hours}`,
    });
  }
}

/** What was sent is counted from its attempts, so that they have to outlive every window. */
function checkLimits({ retention, service }: Partly<Settings>, report: Report): void {
  for (const [index, limit] of (service?.limits ?? []).entries()) {
    const seconds = (limit as Partial<typeof limit> | undefined)?.perSeconds;
    if (seconds === undefined) continue;
    for (const name of ['messagesDays', 'auditDays'] as const) {
      const days = retention?.[name];
      if (days === undefined || days * 86_400 >= seconds) continue;
      report(`service.limits.${index}.perSeconds`, 'is longer than what was sent stays on record', {
        found: `${seconds}, with retention.${name}: ${days}`,
        allowed: `at most ${days * 86_400}, or a longer retention.${name}`,
      });
    }
  }
}

function checkSchedule({ schedule }: Partly<Settings>, report: Report): void {
  for (const [index, entry] of (schedule?.quietHours ?? []).entries()) {
    const { from, to } = (entry ?? {}) as Partial<typeof entry>;
    if (from !== undefined && from === to)
      report(`schedule.quietHours.${index}.to`, 'is when it begins', {
        found: to,
        allowed: 'another time; a whole day is from "00:00" to "24:00"',
      });
  }
}

function checkStore({ store }: Partly<Settings>, report: Report): void {
  if (store?.type !== 'sqlite' || !/^(:memory:|file:)/.test(store.file ?? '')) return;
  report('store.file', 'is not the name of a file', {
    found: store.file ?? '',
    allowed: 'a file, because what Waybill knows has to outlive it',
  });
}

function checkWebhooks({ webhooks }: Partly<Settings>, report: Report): void {
  if (webhooks?.enabled !== true) return;
  if (webhooks.secretFiles?.length === 0)
    report('webhooks.secretFiles', 'required, but not set', {
      allowed: 'at least one file with a signing secret, because webhooks.enabled is true',
    });
  const { timestampHeader, signedPayload } = webhooks.hmac ?? {};
  if (webhooks.scheme !== 'hmac' || signedPayload === undefined) return;
  const signsTime = signedPayload.includes('{timestamp}');
  if (signsTime && timestampHeader === undefined)
    report('webhooks.hmac.timestampHeader', 'required, but not set', {
      allowed: 'a header, because webhooks.hmac.signedPayload names {timestamp}',
    });
  // A time that nobody signed proves no age: whoever repeats an old event writes a new one.
  if (!signsTime && timestampHeader !== undefined)
    report('webhooks.hmac.signedPayload', 'does not hold {timestamp}', {
      found: signedPayload,
      allowed: 'a text with {timestamp}, because webhooks.hmac.timestampHeader is set',
    });
}

/** What only several settings together can get wrong. Runs on whatever was right on its own. */
export function crossChecks(settings: Partly<Settings>): CrossProblem[] {
  const problems: CrossProblem[] = [];
  const report: Report = (place, message, more = {}) => {
    const segments = place.split('.').map((part) => (/^\d+$/.test(part) ? Number(part) : part));
    problems.push({ segments, message, ...more });
  };
  for (const check of [
    checkCustomers,
    checkOrders,
    checkRemovals,
    checkService,
    checkAnswers,
    checkInvoices,
    checkWriteBack,
    checkWebhooks,
    checkProfile,
    checkRetention,
    checkLimits,
    checkSchedule,
    checkStore,
  ])
    check(settings, report);
  return problems;
}

/** What is allowed and probably not meant. */
export function advice(settings: Settings): string[] {
  const warnings: string[] = [];
  const { enabled, host } = settings.webhooks;
  if (enabled && !isLoopback(host) && host !== '::1')
    warnings.push(
      `webhooks.host is ${host}: webhooks are listened for without https on an address that others reach; put a reverse proxy in front of 127.0.0.1 instead`,
    );
  if (settings.orders.number === undefined && settings.orders.fields.note === undefined) {
    warnings.push(
      'neither orders.number nor orders.fields.note is set: at the service no order says which one it is here',
    );
  }
  return warnings;
}
