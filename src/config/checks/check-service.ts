import { namesIn } from '../../model/placeholder.js';
import { type Given, type Partly, type Report, requireSetting } from '../configuration-error.js';
import type { AnswerPattern } from '../sections/service-answers.js';
import type { EndpointName } from '../sections/service-endpoints.js';
import { isReadableOnTheWay } from '../sections/value-types.js';

export function checkService({ service = {}, customers, orders }: Given, report: Report): void {
  const { baseUrl, environment, idempotency } = service;
  if (baseUrl !== undefined && environment === 'production' && isReadableOnTheWay(baseUrl))
    report('service.baseUrl', 'begins with http, so the token would travel in the clear', {
      found: baseUrl,
      allowed: 'https, unless the service is on this machine or service.environment is sandbox',
    });
  if (idempotency?.in !== 'body') return;
  if (idempotency.quoted)
    report('service.idempotency.quoted', 'is about a header, but the key travels in the body', {
      found: 'true',
      allowed: 'false, unless service.idempotency.in is header',
    });
  const { field } = idempotency;
  const taken = ['items', 'customer_code', ...Object.keys({ ...customers?.fields, ...orders?.fields })];
  if (field !== undefined && taken.includes(field))
    report('service.idempotency.field', 'is the name of a mapped field', {
      found: field,
      allowed: 'a name that no record uses',
    });
}

/** The settings that the chosen kind of credential still needs, and those that contradict it. */
export function checkCredential({ service }: Given, report: Report): void {
  if (service === undefined) return;
  const { credential, tls, proxy, environment, token } = service;
  const kind = credential?.kind ?? 'bearer';
  if ((kind === 'bearer' || kind === 'apiKey') && token === undefined)
    report('service.tokenFile', `a ${kind === 'bearer' ? 'token' : 'key'} is required, but there is none`, {
      allowed: `a file that holds the ${kind === 'bearer' ? 'bearer token' : 'API key'}`,
      hint: 'set service.tokenFile, or WAYBILL_SERVICE_TOKEN, or give systemd the credential service-token',
    });
  let byCertificate = kind === 'certificate';
  if (credential?.kind === 'oauth') {
    byCertificate = credential.authentication === 'certificate';
    if (credential.clientSecret === undefined && !byCertificate)
      report('service.credential.clientSecretFile', 'the secret of the client is required, but there is none', {
        allowed: 'a file that holds it, unless service.credential.authentication is certificate',
        hint: 'set it, or WAYBILL_SERVICE_CREDENTIAL_CLIENT_SECRET, or give systemd the credential service-credential-client-secret',
      });
    const { tokenUrl } = credential;
    if (tokenUrl !== undefined && environment === 'production' && isReadableOnTheWay(tokenUrl))
      report('service.credential.tokenUrl', 'begins with http, so the secret would travel in the clear', {
        found: tokenUrl,
        allowed: 'https, unless it is on this machine or service.environment is sandbox',
      });
  }
  if (tls?.certificateFile !== undefined) {
    const why = 'the file with the private key of service.tls.certificateFile';
    requireSetting(tls.key, 'service.tls.keyFile', why, report);
  } else if (byCertificate || tls?.key !== undefined) {
    const why = byCertificate
      ? 'a PEM file, because service.credential is a certificate'
      : 'the certificate that belongs to the private key';
    requireSetting(undefined, 'service.tls.certificateFile', why, report);
  }
  if (proxy?.user !== undefined)
    requireSetting(proxy.password, 'service.proxy.passwordFile', 'a file that holds the password', report);
}

/** The class of an answer decides what to do about it, so one answer can not have two. */
export function checkAnswers({ service }: Given, report: Report): void {
  const seen = new Map<string, string>();
  for (const [meaning, patterns] of Object.entries(service?.answers ?? {})) {
    // `gone` applies to removals only, so it contradicts no other class.
    if (meaning === 'gone') continue;
    for (const [index, entry] of ((patterns ?? []) as (Partly<AnswerPattern> | undefined)[]).entries()) {
      if (entry?.status === undefined) continue;
      const key = JSON.stringify([entry.status, entry.code, entry.pattern]);
      const other = seen.get(key);
      if (other === undefined) seen.set(key, `service.answers.${meaning}[${index}]`);
      else
        report(`service.answers.${meaning}.${index}`, `is the same answer as ${other}`, { hint: 'remove one of them' });
    }
  }
}

type Named = { [name: string]: string | undefined };
/** The settings of an endpoint that records fill. */
interface Templates {
  path?: string | undefined;
  query?: Named | undefined;
  match?: Named | undefined;
}

/** A template that no record can fill would park every record; reading orders back needs its endpoint. */
export function checkEndpoints({ service, customers, orders }: Given, report: Report): void {
  const endpoints = service?.endpoints;
  const check = (name: EndpointName, known: readonly string[]) => {
    const { path, query, match }: Templates = endpoints?.[name] ?? {};
    const inGroup = (group: string, templates: Templates['match'] = {}) =>
      Object.entries(templates).map(([of, template]) => [`${group}.${of}`, template] as const);
    const templates = [['path', path] as const, ...inGroup('query', query), ...inGroup('match', match)];
    for (const [setting, template = ''] of templates)
      for (const field of namesIn(template))
        if (!known.includes(field))
          report(`service.endpoints.${name}.${setting}`, `names {${field}}, which nothing fills`, {
            found: template,
            allowed: `any of ${[...new Set(known)].map((one) => `{${one}}`).join(', ')}`,
          });
  };
  if (customers?.send !== 'none') {
    const ofCustomer = [...Object.keys(customers?.fields ?? {}), 'customer_code'];
    check('createCustomer', ofCustomer);
    for (const name of ['updateCustomer', 'deleteCustomer'] as const) check(name, [...ofCustomer, 'id']);
    check('readCustomer', ofCustomer);
    check('lookUpCustomer', [...ofCustomer, 'idempotency_key']);
  }
  const ofOrder = [...Object.keys(orders?.fields ?? {}), 'customer_code', ...(orders?.number ? ['note'] : [])];
  check('createOrder', ofOrder);
  for (const name of ['updateOrder', 'deleteOrder'] as const) check(name, [...ofOrder, 'order_id', 'id']);
  check('lookUpOrder', [...ofOrder, 'idempotency_key']);
  check('readOrder', ['order_id', 'id']);

  if (orders?.readBack?.enabled && endpoints !== undefined && endpoints.readOrder === undefined)
    report('orders.readBack.enabled', 'is true, but nothing says where to read an order', {
      found: 'true',
      hint: 'set service.endpoints.readOrder; {} takes the usual path',
    });
}

/** A required field that is not mapped would park every record. */
export function checkFieldRules({ service, customers, orders }: Given, report: Report): void {
  const check = (of: 'customer' | 'order' | 'item', path: string, fields: object = {}, always: readonly string[]) => {
    for (const [name, rule] of Object.entries(service?.fields?.[of] ?? {}))
      if (rule?.required && !always.includes(name) && !Object.hasOwn(fields, name))
        report(`service.fields.${of}.${name}.required`, `is true, but ${path} does not map ${name}`, {
          found: 'true',
          hint: `map it, or every ${of} would be parked`,
        });
  };
  if (customers?.send !== 'none') check('customer', 'customers.fields', customers?.fields, ['customer_code']);
  const note = orders?.number ? ['note'] : [];
  check('order', 'orders.fields', orders?.fields, ['customer_code', 'items', ...note]);
  check('item', 'orders.lines.fields', orders?.lines?.fields, ['sku', 'qty', 'price']);
}
