import { join } from 'node:path';
import { type SettingEntry, settingList } from '../../../src/config/setting-list.js';
import { Dice } from './dice.js';
import type { Operations } from './operation.js';
import { presentations } from './settings.js';
import type { World } from './world.js';

/** Settings that no history changes, by how their names begin, each with the reason. A test asks that no other is missing. */
export const settingsLeftOut: Readonly<Record<string, string>> = {
  installation: 'may never change: every key is made from it, and the settings say so',
  sources: 'a history has a branch, or none',
  'erp.': 'the ERP is one SQLite file',
  'store.': 'the store is one SQLite file; it is lost, copied and replaced by operations on the machine',
  'cluster.': 'several nodes need a store on a server',
  'service.environment': 'a store belongs to one environment',
  'service.baseUrl': 'there is one service',
  'service.sandboxUrl': 'there is one service',
  'service.token': 'the service asks for no proof',
  'service.credential.': 'the service asks for no proof',
  'service.tls.': 'the network is simulated above TLS',
  'service.proxy.': 'the network is simulated above it',
  'service.maxProcessingSeconds': 'must be true of the service',
  'service.limits': 'must be true of the service',
  'service.idempotency.': 'must be true of the service',
  'service.endpoints.': 'must be true of the service',
  'service.answers.': 'must be true of the service',
  'service.acknowledgement.': 'must be true of the service',
  'service.adoption.codeField': 'must be true of the service',
  'service.adoption.idField': 'must be true of the service',
  'service.adoption.answerRecord': 'must be true of the service',
  'service.adoption.ownFields': 'must be true of the service',
  'service.errorBody.': 'must be true of the service',
  'service.states.': 'must be true of the service',
  'service.fields.': 'must be true of the service',
  'service.maxResponseBytes': 'no answer is that large',
  'service.maxRequestBytes': 'no record is that large',
  'invoices.paging.': 'must be true of the service',
  'invoices.states': 'must be true of the service',
  'invoices.settledStates': 'must be true of the service',
  'writeBack.enabled': 'needs tables in the ERP',
  'writeBack.host': 'the ERP is one SQLite file',
  'writeBack.port': 'the ERP is one SQLite file',
  'writeBack.database': 'the ERP is one SQLite file',
  'writeBack.user': 'the ERP is one SQLite file',
  'writeBack.password': 'the ERP is one SQLite file',
  'writeBack.tls.': 'the ERP is one SQLite file',
  'writeBack.orders.': 'must be true of the ERP',
  'writeBack.customers.': 'must be true of the ERP',
  'writeBack.invoices.': 'must be true of the ERP',
  'webhooks.enabled': 'must be true of the service',
  'webhooks.host': 'there is one machine',
  'webhooks.port': 'must be true of the service',
  'webhooks.path': 'must be true of the service',
  'webhooks.scheme': 'must be true of the service',
  'webhooks.hmac.': 'must be true of the service',
  'webhooks.secretFiles': 'must be true of the service',
  'webhooks.events.': 'must be true of the service',
  'webhooks.fields.': 'must be true of the service',
  'webhooks.requestSeconds': 'sockets are real or not there',
  'webhooks.maxConnections': 'sockets are real or not there',
  'desk.': 'the desk is not opened yet',
  'alert.command': 'no programs run on the simulated machine',
  'alert.webhookUrl': 'there is one service',
  'orders.completed.': 'needs a column of its own',
  'orders.currency.': 'one currency a history',
  'orders.lines.': 'the lines are mapped in one way',
  'orders.readBack.finalStates': 'must be true of the service',
  'orders.existence': 'says what the query says',
  'orders.replaces': 'needs a column of its own',
  'orders.query': 'changed by operations of their own',
  'orders.fields': 'changed by operations of their own',
  'orders.number': 'the number people know is one column',
  'orders.total': 'the total is one column',
  'orders.changedAt': 'changed by operations of their own',
  'orders.key': 'changed by operations of their own',
  'orders.customerKey': 'the customer is one column',
  'orders.identity': 'changed by operations of their own',
  'orders.startFrom': 'changed by operations of their own',
  'orders.pending': 'changed by operations of their own',
  'orders.cancelled.': 'which orders are cancelled is one column',
  'customers.existence': 'says what the query says',
  'customers.replaces': 'needs a column of its own',
  'customers.query': 'changed by operations of their own',
  'customers.fields': 'changed by operations of their own',
  'customers.changedAt': 'changed by operations of their own',
  'customers.key': 'changed by operations of their own',
  'customers.pending': 'changed by operations of their own',
  'customers.cancelled.': 'which customers are closed is one column',
  'amounts.currenc': 'one currency a history',
  'amounts.scale': 'must be true of the service',
  'schedule.timeZone': 'the histories are in UTC',
};

export const isLeftOut = (path: string) => Object.keys(settingsLeftOut).some((start) => path.startsWith(start));

/** Left out, absent from the tables, or not drawable by anybody. */
export function settingsAmiss(): string[] {
  const paths = settingList.map(({ path }) => path);
  const stale = Object.keys(settingsLeftOut).filter((start) => !paths.some((path) => path.startsWith(start)));
  const undrawn = drawnSettings.filter((entry) =>
    Array.from({ length: 20 }, (_, i) => draw(entry, new Dice(i))).every((value) => value === undefined),
  );
  return [...stale, ...undrawn.map(({ path }) => path)];
}

/** Those of one value each, that the schema itself says how to draw. */
export const drawnSettings = settingList.filter(({ path }) => !isLeftOut(path));

function draw({ path, node }: SettingEntry, dice: Dice): unknown {
  // Whatever else a value may be, the simplest forms come first.
  const forms = [node, ...(node.anyOf ?? [])];
  const choices = forms.flatMap((form) => form.enum ?? (form.const === undefined ? [] : [form.const]));
  if (choices.length > 0) return dice.pick(choices);
  if (node.type === 'boolean') return dice.chance(0.5);
  if (node.type === 'number' || node.type === 'integer') {
    const least = node.minimum ?? node.exclusiveMinimum ?? 0;
    const most = node.maximum ?? Number.POSITIVE_INFINITY;
    const usual = typeof node.default === 'number' ? node.default : 10;
    const value = dice.pick([least, 1, 2, usual / 10, usual, usual * 3]);
    const whole = node.type === 'integer' ? Math.round(value) : value;
    return Math.min(most, Math.max(node.exclusiveMinimum === undefined ? least : least + 1, whole));
  }
  if (path === 'schedule.quietHours')
    return dice.pick([[], [{ from: '08:30', to: '09:30' }], [{ from: '00:00', to: '23:59', lanes: ['deliver'] }]]);
  if (path.startsWith('schedule.'))
    return dice.pick(['*/30 * * * * *', '0 * * * * *', '0 */15 * * * *', '0 30 3 * * *']);
  return undefined;
}

function set(world: World, path: string, value: unknown): void {
  const segments = path.split('.');
  let at = world.settings;
  for (const name of segments.slice(0, -1)) {
    at[name] ??= {};
    at = at[name];
  }
  const last = segments.at(-1) as string;
  if (value === undefined) delete at[last];
  else at[last] = value;
}

/** The new settings hold from the next start on. */
async function apply(world: World, dice: Dice, what: string): Promise<string> {
  if (!world.writeSettings()) return `settings: ${what}, which is refused and taken back`;
  const { daemon } = world;
  if (daemon?.state !== 'running' || !dice.chance(0.7)) return `settings: ${what}`;
  daemon.signal('SIGTERM');
  await world.machine.run(60_000, () => !daemon.isThere);
  daemon.kill();
  world.daemon = null;
  world.startDaemon();
  await world.pass(10_000);
  return `settings: ${what}; the daemon starts again`;
}

const change = (values: readonly unknown[], path: string) => async (world: World, dice: Dice) => {
  const value = dice.pick(values);
  set(world, path, value);
  return apply(world, dice, `${path}: ${JSON.stringify(value)}`);
};

/** Which orders may be sent, as the settings say it and as the world knows it. */
export const pendings: Record<string, (status: string) => boolean> = {
  "status = 'confirmed'": (status) => status === 'confirmed',
  "status IN ('confirmed', 'draft')": (status) => status === 'confirmed' || status === 'draft',
  "status <> 'cancelled'": (status) => status !== 'cancelled',
};

/** The changes that administrators make in the settings. */
export const settingsOperations: Operations = {
  ...Object.fromEntries(
    drawnSettings.map((entry) => [
      `set ${entry.path}`,
      async (world: World, dice: Dice) => {
        const value = dice.chance(0.2) ? undefined : draw(entry, dice);
        if (value === undefined && entry.required) return null;
        set(world, entry.path, value);
        return apply(world, dice, `${entry.path}: ${JSON.stringify(value) ?? 'not set'}`);
      },
    ]),
  ),
  'set orders.pending': change(Object.keys(pendings), 'orders.pending'),
  'set orders.startFrom': change(
    [
      { column: 'created_at', from: '2026-01-01' },
      { column: 'created_at', from: '2026-06-01 09:00' },
      { column: 'created_at', from: '2026-06-02' },
      'all',
    ],
    'orders.startFrom',
  ),
  'set orders.query': async (world, dice) => {
    const shown = dice.pick(Object.keys(presentations));
    const columns = 'okey, number, customer_id, status, currency, total, remark, ref, created_at, updated_at';
    set(world, 'orders.query', `SELECT ${shown} AS id, ${columns} FROM orders`);
    const lines = `SELECT ${shown.replace('id', 'order_id')} AS order_id, o.okey, l.line_no, l.sku, l.qty, l.price`;
    set(world, 'orders.lines.query', `${lines} FROM lines l JOIN orders o ON o.id = l.order_id`);
    world.presentation = shown;
    world.keysWereRespelled = true;
    return apply(world, dice, `orders.query: the key as ${shown}`);
  },
  'set orders.changedAt': change([undefined, 'updated_at', 'updated_at'], 'orders.changedAt'),
  'set orders.identity': change([undefined, 'ref', ['number', 'ref']], 'orders.identity'),
  'set orders.key': async (world, dice) => {
    const key = dice.pick(['id', 'okey', ['id', 'okey']]);
    world.keysWereRespelled = true;
    set(world, 'orders.key', key);
    set(
      world,
      'orders.lines.orderKey',
      [key].flat().map((one) => (one === 'id' ? 'order_id' : one)),
    );
    return apply(world, dice, `orders.key: ${JSON.stringify(key)}`);
  },
  'set orders.fields': async (world, dice) => {
    const more = dice.pick([{}, { kind: { constant: 'sale' } }, { remark: { column: 'remark', optional: true } }]);
    set(world, 'orders.fields', { ref: 'ref', ...more });
    return apply(world, dice, `orders.fields: ${JSON.stringify(more)}`);
  },
  'set customers.fields': async (world, dice) => {
    const more = dice.pick([
      {},
      { email: { column: 'email', optional: true } },
      { mail: { column: 'email', optional: true } },
    ]);
    set(world, 'customers.fields', { customer_code: 'code', name: 'name', ref: 'ref', ...more });
    return apply(world, dice, `customers.fields: ${JSON.stringify(more)}`);
  },
  'set customers.pending': change([undefined, "status = 'active'"], 'customers.pending'),
  'set customers.changedAt': change([undefined, 'updated_at', 'updated_at'], 'customers.changedAt'),
  'move the store': async (world, dice) => {
    const file = join(world.folder, 'store', dice.pick(['waybill.sqlite', 'waybill.sqlite', 'other.sqlite']));
    // The witness stands beside the store, so that another one has none.
    if (file !== world.settings.store.file) world.lostWitness = true;
    set(world, 'store.file', file);
    world.storeWasReplaced();
    return apply(world, dice, `store.file: ${file}`);
  },
};
