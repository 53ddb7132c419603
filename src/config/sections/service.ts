import { z } from 'zod';
import type { Partly, Report } from '../configuration-error.js';
import type { CustomersSettings } from './customers.js';
import type { OrdersSettings } from './orders.js';
import {
  acknowledgementSettings,
  adoptionSettings,
  answersSettings,
  errorBodySettings,
  statesSettings,
} from './service-answers.js';
import { credentialSettings, proxySettings, tlsSettings } from './service-credential.js';
import { endpointSettings } from './service-endpoints.js';
import { withPemPaths } from './tls-files.js';
import {
  choice,
  flag,
  group,
  headerName,
  httpAddress,
  isReadableOnTheWay,
  positive,
  secret,
  secretFile,
  text,
  textLike,
  whole,
} from './value-types.js';

/** The service's demands on one field. */
export const fieldRule = z
  .strictObject({
    required: flag(false, 'true: a record without it is not sent.'),
    maxLength: whole(1)
      .meta({ unit: 'characters or entries' })
      .optional()
      .describe('Most characters of a text, or most entries of a list.'),
  })
  .meta({ shape: 'Field rule', allowed: 'a field rule: {required: true, maxLength: 140}' });

const rules = (meaning: string) =>
  z
    .record(text, fieldRule)
    .default({})
    .describe(meaning)
    .meta({ allowed: 'names and field rules, such as {note: {maxLength: 140}}' });

export const fieldRuleSettings = group(
  'What the service demands of fields. A record that breaks a rule is parked as unmapped, unsent.',
  {
    customer: rules('Fields of a customer. customer_code is always required.'),
    order: rules(
      'Fields of an order. customer_code and items are always required; maxLength of items limits the lines.',
    ),
    item: rules('Fields of an order line. sku, qty and price are always required.'),
  },
);

export type FieldRules = Readonly<Record<string, z.output<typeof fieldRule>>>;
export type FieldRuleSettings = z.output<typeof fieldRuleSettings>;

const baseUrl = httpAddress('https://api.example.com', 'credentials go into service.tokenFile').refine(
  (address) => !/[?#]/.test(address),
  { error: 'has a query or a fragment; paths are appended to it' },
);

/** A second line in the token's file, or a typographic quote, would otherwise fail at the first request. */
const bearerToken = secret.refine((token) => /^[\x21-\x7e]+$/.test(token.reveal()), {
  error: 'holds a space, a line break or a letter outside ASCII, which no header carries',
});

const idempotency = group('How the service recognises a request that it has seen before.', {
  in: choice(
    ['header', 'body'],
    'Where the key travels. body: as a field of every JSON body, as part of the frozen bytes; a removal has no body and so carries no key.',
  ),
  header: headerName.default('Idempotency-Key').describe('Header that carries the key, where `in` is header.'),
  field: textLike(/^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/, 'a name of at most 64 letters, digits and _ . -')
    .default('idempotency_key')
    .describe('Field of the body that carries the key, where `in` is body. No mapped field may have its name.'),
  keptInRecord: flag(
    false,
    'true: the service keeps the key of a create as a field of the record (`in` is body), so updates carry none: they would write over the key by which a repeated create is recognised. Also assumed where a look-up compares that field with {idempotency_key}.',
  ),
  quoted: flag(false, 'true: the key stands in the header in double quotes, as in the IETF draft.'),
  lifetimeHours: positive()
    .optional()
    .describe(
      'How long the service remembers a key; ask its operator, never guess. After that no create is resent blindly. Absent: unknown, so a create whose outcome is unknown is never resent, but looked up or parked for a person.',
    ),
  replaysRefusals: flag(
    false,
    'true: the service answers a refused key with the same refusal for ever, so that a corrected record needs a new key.',
  ),
  comparesBodies: flag(
    true,
    'Whether the service notices that a key comes with another body. false: it repeats its first answer, and no answer counts as service.answers.keyReused.',
  ),
});

export const serviceSettings = group('The service that receives customers and orders.', {
  environment: z
    .enum(['sandbox', 'production'])
    .describe('production delivers only after `waybill go-live`. Never guessed.'),
  baseUrl: baseUrl.describe(
    'Address of the service, without the version. http is refused unless it stays on this machine or environment is sandbox.',
  ),
  sandboxUrl: baseUrl
    .optional()
    .describe(
      'Address of the test environment, used instead of baseUrl where environment is sandbox. Absent: baseUrl is used for both.',
    ),
  credential: credentialSettings,
  tls: tlsSettings,
  proxy: proxySettings,
  token: bearerToken.optional().describe('Bearer token or API key. Only from the environment; prefer tokenFile.'),
  tokenFile: secretFile('the bearer token or API key', 'service-token'),
  deadlineSeconds: positive(300).default(10).describe('Longest time of one request: connect, headers and body.'),
  maxProcessingSeconds: positive(86_400)
    .default(300)
    .describe(
      'How long the service may still work on a request that Waybill has given up, counted from its end here. Only after it does a look-up that finds nothing count (absenceProves), or a person who says that nothing arrived. Much longer than the slowest request, also on a bad day: too short a time makes second records.',
    ),
  maxResponseBytes: whole(1).default(1_048_576).describe('Largest answer that is read, after decompression.'),
  concurrency: whole(1, 256, 'requests')
    .optional()
    .describe('Requests under way at once. Absent: 16, or as many as the limits need at answers of half a second.'),
  blockedSeconds: positive(86_400)
    .default(900)
    .describe('How long everything rests after an answer of service.answers.blocked that names no time.'),
  limits: z
    .array(
      z.strictObject({
        requests: whole(1, 1_000_000, 'requests').describe('Most requests in the window.'),
        perSeconds: positive(2_678_400).default(1).describe('Length of the window.'),
      }),
    )
    .max(5)
    .default([])
    .describe(
      'Most requests in any window of so many seconds; all limits apply together. Empty: no limit is known, and Waybill finds the pace by trial.',
    )
    .meta({ allowed: 'limits: [{requests: 10, perSeconds: 1}, {requests: 10000, perSeconds: 86400}]' }),
  idempotency,
  endpoints: endpointSettings,
  acknowledgement: acknowledgementSettings,
  checkTotal: choice(
    ['exact', 'off'],
    'exact: an order whose acknowledged total is not the sum of qty × price is delivered with a flag for review.',
  ),
  answers: answersSettings,
  adoption: adoptionSettings,
  errorBody: errorBodySettings,
  states: statesSettings,
  fields: fieldRuleSettings,
  maxRequestBytes: whole(1, 10_000_000)
    .default(1_048_576)
    .describe('Largest body that the service accepts. A larger record is parked as unmapped, unsent.'),
  traceparent: z
    .boolean()
    .default(false)
    .describe(
      'Whether each attempt carries a W3C header traceparent with a random trace id, which the log and the story of its record name: for a service that traces its requests.',
    ),
});

export type ServiceSettings = z.output<typeof serviceSettings>;

/** The settings that are checked together. */
type Relevant = Partly<{ service: ServiceSettings; customers: CustomersSettings; orders: OrdersSettings }>;

export function checkService({ service = {}, customers, orders }: Relevant, report: Report): void {
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

/** A required field that is not mapped would park every record. */
export function checkFieldRules({ service, customers, orders }: Relevant, report: Report): void {
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

/** The service with absolute paths, and with one address: that of the environment in use. */
export function resolveService(service: ServiceSettings, configDir: string): ServiceSettings {
  const { environment, sandboxUrl, baseUrl, tls } = service;
  return {
    ...service,
    baseUrl: environment === 'sandbox' ? (sandboxUrl ?? baseUrl) : baseUrl,
    tls: withPemPaths(tls, configDir),
  };
}
