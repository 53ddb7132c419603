import { createHmac } from 'node:crypto';
import type { Dice } from './dice.js';
import { ask, network } from './network.js';
import type { Operations } from './operation.js';
import { fates, type Weather } from './service.js';
import { webhookPort, webhookSecret } from './settings.js';
import type { World } from './world.js';

const scopes: Weather['only'][] = ['all', 'writes', 'reads', 'orders', 'customers', 'invoices'];

/** The fates of single requests. */
const weather: Operations = Object.fromEntries(
  fates.map((fate) => [
    `the service: ${fate}`,
    ({ service, erp }, dice) => {
      const ofOne = dice.chance(0.25) ? dice.pickOrNull(erp.orders()) : null;
      const left = dice.pick([1, 1, 1, 2, 3, 8]);
      const only = dice.chance(0.5) ? 'all' : dice.pick(scopes);
      service.weather.push({ fate, left, only, holding: ofOne?.ref ?? null });
      return `the next ${left} requests (${ofOne ? `of ${ofOne.ref}` : only}) meet: ${fate}`;
    },
  ]),
);

/** Tells whoever listens of what happened, as Standard Webhooks has it. */
async function announce(
  world: World,
  id: string,
  type: string,
  data: object,
  { signedAgoMs = 0, isForged = false } = {},
): Promise<string> {
  const seconds = String(Math.floor((world.machine.wallMs - world.machine.wallOffsetMs - signedAgoMs) / 1000));
  const body = JSON.stringify({ type, data });
  const key = Buffer.from(isForged ? 'somebody else' : webhookSecret, 'base64');
  const signature = `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`;
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': seconds,
    'webhook-signature': signature,
    'content-type': 'application/json',
  };
  const answer = await ask(webhookPort, { method: 'POST', path: '/webhooks', headers, body });
  return `it announces ${type} ${JSON.stringify(data)} (${answer?.status ?? 'nobody listens'})`;
}

async function announcePayment(world: World, dice: Dice): Promise<string | null> {
  const invoice = dice.pickOrNull(world.service.invoices);
  if (!invoice) return null;
  return announce(
    world,
    `event-${invoice.no}-${invoice.paid}`,
    'payment.succeeded',
    { invoice_no: invoice.no },
    { signedAgoMs: dice.pick([0, 0, 0, 600_000]), isForged: dice.chance(0.1) },
  );
}

/** The deeds of the service, the people there, and the way to it. */
export const serviceOperations: Operations = {
  ...weather,
  'the service is well again': ({ service }) => {
    service.weather = [];
    network.isDown = false;
    return 'the service is well again';
  },
  'the network is down': () => {
    network.isDown = true;
    return 'the network is down';
  },
  'an order by hand at the service': ({ service, erp }, dice) => {
    const like = dice.pickOrNull(erp.orders());
    const customer = dice.pickOrNull(service.live('customers'));
    if (!like || !customer) return null;
    const items = [{ sku: 'S-9', qty: 1, price: 100 }];
    service.createByHand('orders', { customer_code: customer.fields.customer_code, note: like.number, items });
    return `somebody enters an order ${like.number} at the service by hand`;
  },
  'a customer by hand at the service': ({ service, erp }, dice) => {
    const like = dice.pickOrNull(erp.customers());
    if (!like?.code || service.live('customers').some(({ fields }) => fields.customer_code === like.code)) return null;
    service.createByHand('customers', { customer_code: like.code, name: 'By hand' });
    return `somebody enters the customer ${like.code} at the service by hand`;
  },
  'an edit by hand at the service': ({ service }, dice) => {
    const record = dice.pickOrNull([...service.live('orders'), ...service.live('customers')]);
    if (!record) return null;
    if (record.kind === 'orders') record.fields = { ...record.fields, remark: 'edited there' };
    else record.fields = { ...record.fields, name: 'Edited there' };
    record.isEdited = true;
    return `somebody edits ${record.id} at the service`;
  },
  'a removal by hand at the service': ({ service, machine }, dice) => {
    const record = dice.pickOrNull([...service.live('orders'), ...service.live('customers')]);
    if (!record) return null;
    record.removedAtMs = machine.elapsedMs;
    record.isEdited = true;
    return `somebody removes ${record.id} at the service`;
  },
  'a new invoice': ({ service }, dice) => {
    const customer = dice.pickOrNull(service.live('customers'));
    const repeated = service.personality.repeatsNumbers && dice.chance(0.3) ? dice.pickOrNull(service.invoices) : null;
    const no = repeated?.no ?? `I-${service.invoices.length + 1}`;
    service.invoices.push({
      no,
      customer: String(customer?.fields.customer_code ?? 'C-1'),
      amount: 100 + dice.below(900),
      paid: 0,
    });
    return `the service writes the invoice ${no}`;
  },
  'a part payment': ({ service }, dice) => {
    const invoice = dice.pickOrNull(service.unpaid());
    if (!invoice) return null;
    invoice.paid += Math.ceil((invoice.amount - invoice.paid) / 3);
    return `part of ${invoice.no} is paid`;
  },
  'a payment': async (world, dice) => {
    const invoice = dice.pickOrNull(world.service.unpaid());
    if (!invoice) return null;
    invoice.paid = invoice.amount;
    if (!world.personality.announces) return `${invoice.no} is paid`;
    return `${invoice.no} is paid; ${await announce(world, `event-${invoice.no}-${invoice.paid}`, 'payment.succeeded', { invoice_no: invoice.no })}`;
  },
  'an announcement of a payment, perhaps late, old or forged': (world, dice) =>
    world.personality.announces ? announcePayment(world, dice) : null,
  'an announcement of an order': (world, dice) => {
    const order = world.personality.announces
      ? dice.pickOrNull(world.service.records.filter(({ kind }) => kind === 'orders'))
      : null;
    return (
      order &&
      announce(world, `event-${order.id}-${world.machine.elapsedMs}`, 'order.status_changed', { order_id: order.id })
    );
  },
};
