import { isDeepStrictEqual } from 'node:util';
import { openReal, realFs } from '../machine/intercept.js';
import type { CustomerRow, OrderRow } from './erp.js';
import { jsonOf, type Listed } from './operator-operations.js';
import { customerRecord, orderRecord } from './records.js';
import { type Request, type ServiceRecord, totalOf } from './service.js';
import { pendings } from './settings-operations.js';
import type { World } from './world.js';

/*
 * The truths of a sound world, judged by the world alone: by the ERP's rows, the service's records and requests, and
 * Waybill's own words to whoever asks. Each finding begins with its kind and a colon.
 */

const dayMs = 86_400_000;

/** Watches every write that takes effect at the service. */
export function watchEffects(world: World): void {
  const { service } = world;
  /** Refs that some request has carried, so that an order may be there already. */
  const tried = new Set<string>();
  const seen = new Map<ServiceRecord, unknown>();
  service.onEffect = (request, record, what) => {
    const ref = String(record.fields.ref ?? '');
    const source = world.ofRef(ref);
    const { erp } = source;
    const before = seen.get(record);
    seen.set(record, record.fields.ref);
    if (what === 'create') {
      const twins = service.live(record.kind).filter((one) => one.fields.ref === ref && one !== record);
      if (ref !== '' && twins.length > 0 && !world.excused.has(ref) && !isUnrecognisable(source, ref))
        world.wrong.push(
          `double: ${record.kind} ${ref} is at the service as ${[...twins, record].map(({ id }) => id).join(' and ')}`,
        );
      if (record.kind === 'orders' && !tried.has(ref)) judgeCreate(source, ref, record);
      tried.add(ref);
      return;
    }
    if (record.madeBy === 'hand' && !isKnownAsOurs(world, record))
      world.wrong.push(`foreign: ${request.method} ${request.path} changed ${record.id}, which somebody else made`);
    if (what === 'update' && before !== undefined && before !== record.fields.ref && !world.excused.has(String(before)))
      world.wrong.push(`overwritten: ${request.path} was ${String(before)}, and holds ${ref} now`);
    if (what === 'delete' && record.kind === 'orders') {
      const order = erp.orders().find((one) => one.ref === ref);
      const removedLately = world.machine.elapsedMs - (erp.changedAtMs.get(ref) ?? 0) < 60_000;
      if (order && order.status !== 'cancelled' && !removedLately && !world.excused.has(ref))
        world.wrong.push(`removed: ${record.id} was removed at the service, and ${ref} is ${order.status} in the ERP`);
    }
  };
}

/**
 * Nobody could know that it is the same record: it got another key, and nothing else tells that it was sent, neither number or
 * code nor the store.
 */
function isUnrecognisable({ erp, replacedAtMs, lostWitness, keysWereRespelled }: World, ref: string): boolean {
  const isStoreSure = replacedAtMs === null;
  if ((erp.moved.has(ref) || keysWereRespelled) && (erp.renamed.has(ref) || !isStoreSure)) return true;
  return !isStoreSure && (lostWitness || keysWereRespelled);
}

/** An order that a whole pass had seen to be gone or not eligible must not be sent for the first time after it. */
function judgeCreate(world: World, ref: string, record: ServiceRecord): void {
  const { erp } = world;
  const order = erp.orders().find((one) => one.ref === ref);
  const since = erp.changedAtMs.get(ref) ?? 0;
  if (order && isEligible(world, order)) return;
  // Settings that hold from the next start on would make it so as well.
  if (world.settingsChangedAtMs >= since) return;
  // It may have been about to leave when its process was struck: then it has to go on.
  if (world.struckMs <= since) return;
  // Only sweeps notice that a row is gone, and only when they have missed it for a while.
  const [first = -1, last = -1] = [world.passes.find((at) => at > since + dayMs), world.passes.at(-1)];
  if (!order && last < first + dayMs) return;
  if (world.capturedFromMs > since && !world.excused.has(ref))
    world.wrong.push(
      `ineligible: ${ref} was sent as ${record.id} after a pass had seen it ${order ? order.status : 'gone'}`,
    );
}

/** A customer of the same code is adopted, as the settings say. */
function isKnownAsOurs({ views, excused }: World, record: ServiceRecord): boolean {
  if (record.kind === 'customers')
    return views.some(({ erp }) => erp.customers().some(({ code }) => code === record.fields.customer_code));
  return excused.has(record.id);
}

export function isEligible({ settings, lastPendings }: World, order: OrderRow): boolean {
  const { pending, startFrom } = settings.orders;
  const from = startFrom === 'all' ? '' : String(startFrom.from);
  return lastPendings.has(pending) && (pendings[pending] ?? (() => true))(order.status) && order.created_at >= from;
}

/** Rows that no ERP should hold: Waybill may park them, and nothing is asked of what it sends. */
function isOdd(world: World, order: OrderRow): boolean {
  const lines = world.erp.linesOf(order.id);
  const isText = (text: string | null) =>
    text !== null && /^[\w.\-@ ]{1,40}$/.test(text) && text.trim() === text && text !== '';
  const cents = lines.reduce((sum, { qty, price }) => sum + Number(qty) * Math.round(Number(price) * 100), 0);
  const customer = world.erp.customer(order.customer_id);
  return (
    lines.length === 0 ||
    lines.some(
      ({ sku, qty, price }) =>
        !isText(sku) || !/^[1-9]\d?$/.test(qty ?? '') || Number(qty) >= 90 || !/^\d+\.\d\d$/.test(price ?? ''),
    ) ||
    (cents / 100).toFixed(2) !== order.total ||
    !isText(order.number) ||
    order.currency !== 'EUR' ||
    (order.remark !== null && !isText(order.remark)) ||
    !customer ||
    isOddCustomer(world, customer)
  );
}

function isOddCustomer({ erp, views }: World, customer: CustomerRow): boolean {
  const isPlain = (text: string | null) =>
    text !== null && /^[\p{L}\p{N}.\-@& ]{1,40}$/u.test(text) && text.trim() === text && text !== '';
  if (!isPlain(customer.code) || !isPlain(customer.name) || (customer.email !== null && !isPlain(customer.email)))
    return true;
  // Two customers with one code are one customer at the service.
  const fold = (code: string | null) => code?.trim().toLowerCase();
  return views.some((view) =>
    view.erp
      .customers()
      .some(({ id, code }) => (view.erp !== erp || id !== customer.id) && fold(code) === fold(customer.code)),
  );
}

/** The service has another record under the code of its customer, and refuses to have a second one: only people there help. */
function isCodeTaken({ erp, service }: World, order: OrderRow): boolean {
  const customer = erp.customer(order.customer_id);
  return service
    .live('customers')
    .some(({ fields }) => fields.customer_code === customer?.code && fields.ref !== customer?.ref);
}

/** Somebody closed a change of its customer unsent, so that the service does not get to know the code that the order names. */
function isCustomerClosed(world: World, { customer_id: id }: OrderRow): boolean {
  return id !== null && world.discarded.has(`customer ${world.customerKeyOf({ id })}`);
}

/** Waybill's words about a record to whoever asks. */
interface Explained {
  where: string;
  why: string[];
  todo: string[];
  binding: { serviceId: string } | null;
  messages: { state: string; parkClass: string | null; reason: string | null; operation: string }[];
}

/** The truths when everything works again, nobody does anything, and time has passed. */
export async function wrongAtRest(world: World, isHelped: boolean): Promise<{ wrong: string[]; open: number }> {
  const open = jsonOf<{ messages: Listed[] }>(await world.command(['outbox', '--limit', '1000', '--json']))?.messages;
  if (!open) {
    const said = world.commands.at(-1)?.process.out.slice(0, 200);
    return { wrong: [`mute: outbox says ${said}: ${lastError(world)}`], open: 0 };
  }
  const wrong = [
    ...(await everywhere(world, (view) => wrongOrders(view, isHelped))),
    ...(await everywhere(world, wrongCustomers)),
    ...(await wrongMessages(world, open, isHelped)),
  ];
  return { wrong, open: open.length };
}

/** Asks it of each source. */
async function everywhere(world: World, ask: (view: World) => Promise<string[]>): Promise<string[]> {
  const wrong: string[] = [];
  for (const view of world.views) wrong.push(...(await ask(view)));
  return wrong;
}

function mustBeAtService(world: World, order: OrderRow): boolean {
  if (!isEligible(world, order) || isOdd(world, order)) return false;
  if (world.discarded.has(`order ${world.keyOf(order)}`)) return false;
  // Edits by hand there are their makers' business.
  return !world.service.records.some(({ fields, isEdited }) => isEdited && fields.ref === order.ref);
}

async function wrongOrders(world: World, isHelped: boolean): Promise<string[]> {
  const { service, erp, excused } = world;
  const wrong: string[] = [];
  for (const order of erp.orders()) {
    if (excused.has(order.ref) || isUnrecognisable(world, order.ref)) continue;
    const there = service.live('orders').filter(({ fields }) => fields.ref === order.ref);
    if (there.length > 1)
      wrong.push(`double: ${order.ref} is at the service as ${there.map(({ id }) => id).join(' and ')}`);
    if (!mustBeAtService(world, order)) continue;
    const [held] = there;
    const wanted = orderRecord(world, order);
    if (held && isDeepStrictEqual(plain(held.fields), plain(wanted))) continue;
    const said = await explain(world, 'order', world.keyOf(order));
    const state = said?.messages?.at(-1) ?? said?.messages?.[0];
    const isOpen = said?.messages?.some((one) => ['pending', 'sending', 'in_doubt', 'parked'].includes(one.state));
    const isDiscarded = said?.messages?.some((one) => one.state === 'discarded');
    if (isDiscarded) continue;
    if (isOpen) {
      const why = `${said?.where} ${said?.why?.join(' ')} [${state?.state} ${state?.parkClass} ${state?.reason}]`;
      if (isHelped && !isCodeTaken(world, order) && !isCustomerClosed(world, order) && said && waitsForPerson(said))
        wrong.push(
          `unhelped: ${order.ref} (key ${world.keyOf(order)}) ${held ? 'differs' : 'is not'} at the service, and what people say of it changes nothing: ${why}`,
        );
      continue;
    }
    if ((await heldReason(world)) !== null) continue;
    wrong.push(
      `${held ? 'differs' : 'missing'}: ${order.ref} (key ${world.keyOf(order)}) is ${held ? JSON.stringify(held.fields) : 'not'} at the service${held ? `, ${JSON.stringify(wanted)} in the ERP` : ''}; Waybill says: ${said ? `${said.where} ${said.why?.join(' ')} [${state?.state} ${state?.operation}]` : lastError(world)}`,
    );
  }
  return wrong;
}

function waitsForPerson({ messages }: Explained): boolean {
  return messages.some(({ parkClass }) => ['unproven', 'conflict', 'held'].includes(parkClass ?? ''));
}

async function wrongCustomers(world: World): Promise<string[]> {
  const { service, erp, excused, discarded } = world;
  const wrong: string[] = [];
  for (const customer of erp.customers()) {
    if (
      excused.has(customer.ref) ||
      isUnrecognisable(world, customer.ref) ||
      discarded.has(`customer ${world.customerKeyOf(customer)}`) ||
      isOddCustomer(world, customer)
    )
      continue;
    const there = service.live('customers').filter(({ fields }) => fields.ref === customer.ref);
    if (there.length > 1)
      wrong.push(`double: customer ${customer.ref} is at the service as ${there.map(({ id }) => id).join(' and ')}`);
    const [held] = there;
    // A closed one is not sent any more.
    if (!held || held.isEdited || customer.status === 'closed') continue;
    const wanted = customerRecord(world, customer);
    if (isDeepStrictEqual(plain(held.fields), plain(wanted))) continue;
    // One that no eligible order names is not read any more.
    if (!erp.orders().some((one) => one.customer_id === customer.id && isEligible(world, one) && !isOdd(world, one)))
      continue;
    const said = await explain(world, 'customer', world.customerKeyOf(customer));
    if (said?.messages?.some((one) => ['pending', 'sending', 'in_doubt', 'parked', 'discarded'].includes(one.state)))
      continue;
    if ((await heldReason(world)) !== null) continue;
    wrong.push(
      `differs: customer ${customer.ref} is ${JSON.stringify(held.fields)} at the service, ${JSON.stringify(wanted)} in the ERP; Waybill says: ${said?.where} ${said?.why?.join(' ')}`,
    );
  }
  return wrong;
}

async function wrongMessages(world: World, open: readonly Listed[], isHelped: boolean): Promise<string[]> {
  const wrong: string[] = [];
  const doubted = open.filter(({ state }) => state === 'in_doubt').length;
  const isForPerson =
    doubted > 0 && ((await countStranded(world)) >= doubted || (!isHelped && (await isNotLive(world))));
  for (const message of open) {
    if (message.state === 'sending') wrong.push(`stuck: ${message.entity} ${message.sourceKey} is still sending`);
    // A decision that a person has to make first is named.
    if (message.state === 'in_doubt' && !isForPerson)
      wrong.push(`stuck: ${message.entity} ${message.sourceKey} is still in doubt`);
    if (isHelped && message.state === 'pending') {
      const said = await explain(world, message.entity, message.sourceKey);
      if (said && said.why?.length === 0)
        wrong.push(`stuck: ${message.entity} ${message.sourceKey} is pending, and explain says no reason`);
    }
  }
  return wrong;
}

/** Waybill's view of a record of the service. */
export function wrongBindings(whole: World): string[] {
  const { service, excused } = whole;
  const bindings = readStore<{ entity: string; source_key: string; service_id: string }>(
    whole,
    'SELECT entity, source_key, service_id FROM binding',
  );
  const wrong: string[] = [];
  for (const { entity, source_key: key, service_id: id } of bindings) {
    const isOrder = entity === 'order';
    const world = whole.ofKey(key);
    const { erp } = world;
    const row = isOrder
      ? erp.orders().find((one) => world.keyOf(one) === key)
      : erp.customers().find((one) => world.customerKeyOf(one) === key);
    const record = service.records.findLast((one) => one.id === id && one.kind === (isOrder ? 'orders' : 'customers'));
    if (!row || excused.has(row.ref) || isUnrecognisable(world, row.ref) || record?.isEdited) continue;
    if (!record) wrong.push(`bound: ${entity} ${key} is said to be ${id}, which the service never had`);
    else if (
      isOrder &&
      record.fields.ref !== undefined &&
      record.fields.ref !== row.ref &&
      isEligible(world, row as OrderRow)
    )
      wrong.push(`bound: order ${key} (${row.ref}) is said to be ${id}, which is ${String(record.fields.ref)}`);
  }
  return wrong;
}

/** Waybill's writes into the ERP about an order are about that order. */
export function wrongWritten(world: World): string[] {
  const { erp, service, excused } = world;
  return erp.written().flatMap(({ order_key: key, service_order_id: id }) => {
    const order = erp.orders().find((one) => world.keyOf(one) === key);
    const record = service.records.findLast((one) => one.kind === 'orders' && one.id === id);
    const { ref } = record?.fields ?? {};
    if (!order || id === null || excused.has(order.ref) || isUnrecognisable(world, order.ref)) return [];
    if (record && (record.isEdited || ref === undefined || ref === order.ref || !isEligible(world, order))) return [];
    return [`written: the ERP is told that order ${key} (${order.ref}) is ${id}, which is ${String(ref ?? 'nothing')}`];
  });
}

/** While the daemon runs, whoever watches it is told of all that waits, and of nothing else. */
export async function wrongStatus(world: World): Promise<string[]> {
  world.startDaemon();
  await world.pass(75_000);
  const checked = await world.command(['status', '--check']);
  const waiting = readStore<{ state: string; n: number }>(
    world,
    "SELECT state, COUNT(*) AS n FROM outbox_message WHERE state IN ('parked','in_doubt','pending','sending') GROUP BY state",
  );
  const { daemon } = world;
  const daemonSays = daemon?.isThere ? '' : `; the daemon: ${daemon?.exitCode} ${daemon?.err.slice(0, 300)}`;
  const said = `${checked.process.out.trim()} (exit ${checked.process.exitCode}${daemonSays})`;
  // A pending message may wait for an hour that somebody chose.
  if (checked.process.exitCode === 0 && waiting.some(({ state }) => state === 'parked' || state === 'in_doubt'))
    return [`silent: status --check says ${said}, and ${waiting.map(({ state, n }) => `${n} ${state}`).join(', ')}`];
  if (checked.process.exitCode === 2 && waiting.length === 0)
    return [`alarm: status --check says ${said}, and nothing waits`];
  return [];
}

function readStore<Row>(world: World, sql: string): Row[] {
  const file = world.settings.store.file as string;
  if (!realFs.existsSync(file)) return [];
  const database = openReal(file);
  try {
    return database.prepare(sql).all() as Row[];
  } catch {
    return [];
  } finally {
    database.close();
  }
}

/** Why Waybill says that nothing goes on; null: it says no such thing. */
export async function heldReason(world: World): Promise<string | null> {
  const said = jsonOf<{
    notLive: string | null;
    pauses: { reason?: string; lane?: string }[];
    holds: { reason?: string }[];
  }>(await world.command(['status', '--json']));
  if (!said) return null;
  return said.notLive ?? said.pauses[0]?.reason ?? (said.holds.length > 0 ? JSON.stringify(said.holds[0]) : null);
}

/** Messages of which `status` says that nothing sends them until a person sees to the record that they wait for. */
async function countStranded(world: World): Promise<number> {
  return jsonOf<{ outbox: { stranded?: number } }>(await world.command(['status', '--json']))?.outbox.stranded ?? 0;
}

/** Nothing is sent until a person has said what became of a store, or of the keys. */
async function isNotLive(world: World): Promise<boolean> {
  const said = jsonOf<{ notLive: string | null }>(await world.command(['status', '--json']));
  return (said?.notLive ?? null) !== null;
}

const lastError = ({ commands }: World) => {
  const last = commands.at(-1);
  return `exit ${last?.process.exitCode}: ${last?.process.err.slice(0, 300)}`;
};

async function explain(world: World, entity: string, key: string): Promise<Explained | null> {
  return jsonOf<Explained>(
    await world.command(['explain', entity, '--by', 'key', '--json', ...world.sourceOption(key), key]),
  );
}

/** The same without what was never there. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** The ends that no command may have. */
export function wrongCommands(world: World): string[] {
  const wrong: string[] = [];
  for (const { argv, process, hangs } of world.commands.splice(0)) {
    if (hangs) wrong.push(`hang: waybill ${argv.join(' ')} does not end, not even when asked to`);
    const bug =
      /^waybill: ((?:Type|Range|Reference|Syntax)?Error: .*)$/m.exec(process.err) ??
      /^(uncaught: .*)$/m.exec(process.err);
    if (bug && process.state === 'ended')
      wrong.push(`bug: waybill ${argv.join(' ')} says ${bug[1]} ${/^ +at .*$/m.exec(process.err)?.[0] ?? ''}`);
    if (/ (undefined|NaN|\[object Object\])[ .,]/.test(process.out))
      wrong.push(
        `words: waybill ${argv.join(' ')} says ${/.{0,60} (undefined|NaN|\[object Object\]).{0,40}/.exec(process.out)?.[0]}`,
      );
  }
  return wrong;
}

/** After a create that may have had its effect, another one of the same record has the same key, unless a person has spoken. */
export function wrongKeys({ service, personality, peopleSpoke, replacedAtMs, views }: World): string[] {
  if (personality.keyLifetimeMs === null || peopleSpoke || replacedAtMs !== null) return [];
  const wrong: string[] = [];
  const doubted = new Map<string, string | null>();
  for (const { method, path, body, key, status, fate } of service.arrivals) {
    const ref = /"ref":"(ref-\d+)"/.exec(body)?.[1];
    if (method !== 'POST' || ref === undefined || views.some(({ erp }) => erp.moved.has(ref))) continue;
    const name = `${path} ${ref}`;
    const before = doubted.get(name);
    if (before !== undefined && before !== key)
      wrong.push(`key: a create of ${ref} may have had its effect under ${before}, and goes out under ${key}`);
    if (status === null || status >= 500 || fate === 'cut off' || fate === '200 as HTML') doubted.set(name, key);
    else doubted.delete(name);
  }
  return wrong;
}

/** A clock that was ahead for long costs a twentieth of the log in a night, as docs/failures.md says. */
function mayBeGone({ machine, wallWasAhead, auditLookedAtMs, auditSeen, leastAuditDays }: World): number {
  if (!wallWasAhead) return 0;
  const nights = 1 + Math.floor((machine.elapsedMs - auditLookedAtMs) / (20 * 3_600_000));
  return nights * Math.ceil(auditSeen.size * Math.max(0.05, 2 / leastAuditDays));
}

/** Lines of the audit that are gone although nobody may have pruned them yet. */
export function wrongHistory(world: World): string[] {
  const file = world.settings.store.file as string;
  if (!realFs.existsSync(file)) return [];
  let lines: { id: number }[];
  try {
    const database = openReal(file);
    try {
      lines = database.prepare('SELECT id FROM audit_log').all() as { id: number }[];
    } finally {
      database.close();
    }
  } catch {
    return [];
  }
  const there = new Set(lines.map(({ id }) => id));
  const wrong: string[] = [];
  const leastMs = world.leastAuditDays * 86_400_000;
  const gone: number[] = [];
  for (const [id, atMs] of world.auditSeen)
    if (!there.has(id) && world.machine.elapsedMs - atMs < leastMs) gone.push(id);
  if (gone.length > mayBeGone(world))
    wrong.push(`history: ${gone.length} lines of the audit are gone before their time`);
  world.auditLookedAtMs = world.machine.elapsedMs;
  world.auditSeen.clear();
  for (const id of there) world.auditSeen.set(id, world.auditSince.get(id) ?? world.machine.elapsedMs);
  for (const [id, atMs] of world.auditSeen) world.auditSince.set(id, atMs);
  return wrong;
}

/** A list that is called complete is the service's. */
export async function wrongInvoices(world: World): Promise<string[]> {
  const { service } = world;
  if (
    service.invoices.length === 0 ||
    world.settings.invoices?.enabled === false ||
    world.settings.invoices?.scope === 'per-customer'
  )
    return [];
  const pulled = await world.command(['sync', 'pull', '--json']);
  const pull = jsonOf<{ pull?: { outcome?: string; leaving?: number; malformed?: number } }>(pulled)?.pull;
  if (pull?.outcome !== 'proven' || pull.leaving || pull.malformed) return [];
  const said = jsonOf<{ invoices: { invoice_no: string; amount: number }[] }>(
    await world.command(['invoices', '--limit', '1000', '--json']),
  );
  const ours = (said?.invoices ?? []).map(({ invoice_no: no, amount }) => `${no} ${amount}`).sort();
  const theirs = service
    .unpaid()
    .map(({ no, amount, paid }) => `${no} ${amount - paid}`)
    .sort();
  return isDeepStrictEqual(ours, theirs)
    ? []
    : [`invoices: the list is called complete, and is ${ours.join(', ')}; the service has ${theirs.join(', ')}`];
}

export type { Request };
export { totalOf };
