import type { Partly } from './cross-problem.js';
import type { Settings } from './settings.js';

type Report = (place: string, message: string, more?: { found?: string; allowed?: string; hint?: string }) => void;
type Names = Readonly<Record<string, unknown>> | undefined;

/** What the profile of the service says has to fit the records that are mapped. */
export function checkProfile(settings: Partly<Settings>, report: Report): void {
  checkKeyField(settings, report);
  checkTemplates(settings, report);
  checkFieldRules(settings, report);
  checkReadBack(settings, report);
}

function checkKeyField({ service, customers, orders }: Partly<Settings>, report: Report): void {
  const idempotency = service?.idempotency;
  if (idempotency?.in !== 'body') return;
  if (idempotency.quoted)
    report('service.idempotency.quoted', 'is about a header, and the key travels in the body', {
      found: 'true',
      allowed: 'false, unless service.idempotency.in is header',
    });
  const { field } = idempotency;
  const taken = field !== undefined && [customers?.fields, orders?.fields].some((fields) => named(fields, field));
  if (taken || field === 'items' || field === 'customer_code')
    report('service.idempotency.field', 'is the name of a mapped field', {
      found: field,
      allowed: 'a name that no record uses',
    });
}

/** A template that no record can fill would park every record. */
function checkTemplates({ service, customers, orders }: Partly<Settings>, report: Report): void {
  const endpoints = service?.endpoints;
  const ofCustomer = [...Object.keys(customers?.fields ?? {}), 'customer_code'];
  const ofOrder = [...Object.keys(orders?.fields ?? {}), 'customer_code', ...(orders?.number ? ['note'] : [])];
  const check = (name: keyof NonNullable<typeof endpoints>, known: readonly string[]) => {
    const path = endpoints?.[name]?.path;
    for (const [, field = ''] of path?.matchAll(/\{([^}]+)\}/g) ?? [])
      if (!known.includes(field))
        report(`service.endpoints.${name}.path`, `names {${field}}, which nothing fills`, {
          found: path as string,
          allowed: `any of ${known.map((one) => `{${one}}`).join(', ')}`,
        });
  };
  if (customers?.send !== 'none') {
    check('createCustomer', ofCustomer);
    for (const name of ['updateCustomer', 'deleteCustomer'] as const) check(name, [...ofCustomer, 'id']);
    check('readCustomer', ofCustomer);
    check('lookUpCustomer', [...ofCustomer, 'idempotency_key']);
  }
  check('createOrder', ofOrder);
  for (const name of ['updateOrder', 'deleteOrder'] as const) check(name, [...ofOrder, 'order_id', 'id']);
  check('lookUpOrder', [...ofOrder, 'idempotency_key']);
  check('readOrder', ['order_id', 'id']);
}

function checkReadBack({ service, orders }: Partly<Settings>, report: Report): void {
  if (orders?.readBack?.enabled !== true || service?.endpoints === undefined || service.endpoints.readOrder) return;
  report('orders.readBack.enabled', 'is true, and nothing says where an order is read', {
    found: 'true',
    hint: 'set service.endpoints.readOrder, {} takes the usual path',
  });
}

function checkFieldRules({ service, customers, orders }: Partly<Settings>, report: Report): void {
  const check = (of: 'customer' | 'order' | 'item', place: string, fields: Names, always: readonly string[]) => {
    for (const [name, rule] of Object.entries(service?.fields?.[of] ?? {}))
      if (rule?.required && !always.includes(name) && !named(fields, name))
        report(`service.fields.${of}.${name}.required`, `is true, and ${place} does not map ${name}`, {
          found: 'true',
          hint: `map it, or every ${of} would be parked`,
        });
  };
  if (customers?.send !== 'none') check('customer', 'customers.fields', customers?.fields, ['customer_code']);
  const note = orders?.number ? ['note'] : [];
  check('order', 'orders.fields', orders?.fields, ['customer_code', 'items', ...note]);
  check('item', 'orders.lines.fields', orders?.lines?.fields, ['sku', 'qty', 'price']);
}

function named(fields: Names, name: string): boolean {
  return fields !== undefined && Object.hasOwn(fields, name);
}
