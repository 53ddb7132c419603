import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { realFs } from '../machine/intercept.js';
import { drawStrike, told } from './command-operations.js';
import type { Dice } from './dice.js';
import type { Operations } from './operation.js';
import { customerRecord, orderRecord } from './records.js';
import type { ServiceRecord } from './service.js';
import type { Ended, World } from './world.js';

/** A message as `outbox --json` lists it. */
export interface Listed {
  id: number;
  entity: 'customer' | 'order';
  sourceKey: string;
  number: string | null;
  operation: 'create' | 'update' | 'delete';
  state: string;
  parkClass: string | null;
  reason: string | null;
}

export function jsonOf<T>({ process }: Ended): T | null {
  try {
    return JSON.parse(process.out) as T;
  } catch {
    return null;
  }
}

export async function listed(world: World, ...filter: string[]): Promise<Listed[] | null> {
  return (
    jsonOf<{ messages: Listed[] }>(await world.command(['outbox', ...filter, '--limit', '1000', '--json']))?.messages ??
    null
  );
}

/** The findings of a person who looks at the service for the record that the ERP has under this key. */
function lookFor(
  whole: World,
  { entity, sourceKey }: Pick<Listed, 'entity' | 'sourceKey'>,
): ServiceRecord | null | undefined {
  const world = whole.ofKey(sourceKey);
  const row =
    entity === 'order'
      ? world.erp.orders().find((one) => world.keyOf(one) === sourceKey)
      : world.erp.customers().find((one) => world.customerKeyOf(one) === sourceKey);
  // Whoever does not know which record is meant says nothing.
  if (!row) return undefined;
  const kind = entity === 'order' ? 'orders' : 'customers';
  return world.service.live(kind).findLast(({ fields }) => fields.ref === row.ref) ?? null;
}

/** The commands that a message names. */
const namedIn = (text: string | null) =>
  [...(text ?? '').matchAll(/`waybill ([^`]+)`/g)].map(([, command]) => (command as string).split(' '));

const rekeyNamed = ({ reason }: Listed) => namedIn(reason).find(([command]) => command === 'rekey');

/** The order is the one that had another key, as whoever changed the keys knows. */
function hasAnotherKey(whole: World, { entity, sourceKey }: Listed): boolean {
  const world = whole.ofKey(sourceKey);
  const { erp, keysWereRespelled } = world;
  const row = entity === 'order' && erp.orders().find((one) => world.keyOf(one) === sourceKey);
  return row !== undefined && row !== false && (keysWereRespelled || erp.moved.has(row.ref));
}

/** The choices of a person who has looked at a message's record. */
export type Verdict = 'confirm' | 'discard' | 'delivered' | 'not delivered' | 'rekey';

/** The truth, as a person finds it at the service. @returns null: there is nothing to say */
export async function judge(world: World, message: Listed): Promise<{ is: Verdict; serviceId: string | null } | null> {
  const found = lookFor(world, message);
  const { parkClass, operation } = message;
  const verdict = (is: Verdict) => ({ is, serviceId: is === 'delivered' ? (found?.id ?? null) : null });
  // A change of what may be another record waits for the same look as what is on hold.
  if (parkClass === 'held' || (parkClass === 'conflict' && operation !== 'create')) {
    const isRight = await isWhatIsBound(world, message, found);
    // Waybill names the command by which it learns that the record has another key.
    if (rekeyNamed(message) && (isRight ? hasAnotherKey(world, message) : found)) return verdict('rekey');
    return verdict(isRight ? 'confirm' : 'discard');
  }
  if (found === undefined) return verdict('discard');
  const isThere =
    operation === 'delete'
      ? found === null
      : found !== null && (operation === 'create' || holdsWhatTheErpSays(world, message, found));
  return verdict(isThere ? 'delivered' : 'not delivered');
}

/** Says of one message what became of it, having looked. @returns null: there is nothing to say */
export async function resolveTruthfully(world: World, message: Listed, dice: Dice): Promise<Ended | null> {
  const verdict = await judge(world, message);
  if (!verdict) return null;
  const { is, serviceId } = verdict;
  const { entity, sourceKey, state } = message;
  const says = ['--reason', 'looked there', '--yes'];
  const key = ['--key', sourceKey, ...world.sourceOption(sourceKey)];
  const about = ['--entity', entity, ...key, '--state', state, ...says];
  if (is === 'confirm') return world.command(['confirm', `${entity}s`, ...key, ...says], drawStrike(dice));
  if (is === 'rekey') return world.command([...(rekeyNamed(message) as string[]), ...says], drawStrike(dice));
  if (is === 'discard') {
    world.discarded.add(`${entity} ${sourceKey}`);
    return world.command(['outbox', 'discard', ...about], drawStrike(dice));
  }
  const said =
    is === 'delivered' ? ['--delivered', ...(serviceId ? ['--service-id', serviceId] : [])] : ['--not-delivered'];
  const ended = await world.command(['outbox', 'resolve', ...said, ...about], drawStrike(dice));
  // Waybill asks the service as well. Whoever has looked may know better: the record was changed meanwhile.
  if (!ended.process.out.includes('--unchecked')) return ended;
  return world.command(['outbox', 'resolve', ...said, '--unchecked', ...about], drawStrike(dice));
}

function holdsWhatTheErpSays(whole: World, { entity, sourceKey }: Listed, found: ServiceRecord): boolean {
  const world = whole.ofKey(sourceKey);
  const order = world.erp.orders().find((one) => world.keyOf(one) === sourceKey);
  const customer = world.erp.customers().find((one) => world.customerKeyOf(one) === sourceKey);
  const wanted = entity === 'order' ? order && orderRecord(world, order) : customer && customerRecord(world, customer);
  return isDeepStrictEqual(JSON.parse(JSON.stringify(found.fields)), JSON.parse(JSON.stringify(wanted ?? null)));
}

/**
 * True if a held change may go: a new record that is not there yet, a change of the very record, or the removal of one
 * that is gone.
 */
async function isWhatIsBound(world: World, message: Listed, found: ServiceRecord | null | undefined): Promise<boolean> {
  const { entity, sourceKey, operation } = message;
  if (operation === 'create') return found === null;
  const said = jsonOf<{ binding: { serviceId: string } | null }>(
    await world.command(['explain', entity, sourceKey, '--by', 'key', '--json', ...world.sourceOption(sourceKey)]),
  );
  const kind = entity === 'order' ? 'orders' : 'customers';
  const bound = world.service.live(kind).find(({ id }) => id === said?.binding?.serviceId);
  if (operation === 'update') return bound !== undefined && bound === found;
  const { erp } = world.ofKey(sourceKey);
  const rows = entity === 'order' ? erp.orders() : erp.customers();
  const row = rows.find(({ ref }) => ref === bound?.fields.ref);
  return row === undefined || row.status === 'cancelled' || row.status === 'closed';
}

/** A way out of a loss that the service and the settings allow. */
export function recoverOptions(world: World): string[] {
  const { keyLifetimeMs, lookUp } = world.personality;
  if (lookUp !== 'none') return ['--look-up'];
  if (keyLifetimeMs !== null) return ['--from-service', '--sent-since', '2026-06-01T08:00'];
  return realFs.existsSync(exported(world)) ? ['--bindings', exported(world)] : ['--park'];
}

const exported = ({ folder }: World) => join(folder, 'files', 'bindings.jsonl');

/** Nothing was ever sent from here. */
const isFirstInstallation = ({ service }: World) => service.arrivals.every(({ method }) => method === 'GET');

/** The deeds of a person who knows the work, and says only true things. */
export const operatorOperations: Operations = {
  'somebody looks at the service and resolves': async (world, dice) => {
    const waiting = (await listed(world, '--state', 'parked'))?.filter(
      ({ parkClass }) => parkClass === 'unproven' || parkClass === 'conflict',
    );
    const message = dice.pickOrNull(waiting ?? []);
    if (!message) return null;
    const ended = await resolveTruthfully(world, message, dice);
    return ended && told(ended);
  },
  'somebody resolves what is in doubt': async (world, dice) => {
    const message = dice.pickOrNull((await listed(world, '--state', 'in_doubt')) ?? []);
    if (!message) return null;
    const ended = await resolveTruthfully(world, message, dice);
    return ended && told(ended);
  },
  'somebody looks at what is held': async (world, dice) => {
    const message = dice.pickOrNull((await listed(world, '--class', 'held')) ?? []);
    const ended = message
      ? await resolveTruthfully(world, message, dice)
      : await world.command(['confirm', 'invoices', '--reason', 'looked at it', '--yes'], drawStrike(dice));
    return ended && told(ended);
  },
  'somebody retries': async (world, dice) => {
    const filter = dice.pick([
      ['--state', 'parked'],
      ['--class', 'refused'],
      ['--class', 'unmapped'],
      ['--entity', 'order'],
    ]);
    return told(await world.command(['outbox', 'retry', ...filter, '--reason', 'again', '--yes'], drawStrike(dice)));
  },
  'somebody recovers by the book': async (world, dice) => {
    const options = world.replacedAtMs === null && dice.chance(0.3) ? ['--same-store'] : recoverOptions(world);
    const argv = ['recover', ...options, '--reason', 'after the loss', '--yes'];
    return told(await world.command(argv, drawStrike(dice)));
  },
  'somebody exports the bindings': async (world) => {
    realFs.rmSync(exported(world), { force: true });
    return told(await world.command(['bindings', 'export', exported(world)]));
  },
  'somebody adopts what is there': async (world, dice) => {
    const entity = dice.pick(['order', 'customer'] as const);
    const { erp } = world;
    const keys =
      entity === 'order' ? erp.orders().map((one) => world.keyOf(one)) : erp.customers().map(({ id }) => String(id));
    const pairs = keys.flatMap((sourceKey) => {
      const found = lookFor(world, { entity, sourceKey });
      return found ? [`${sourceKey},${found.id}`] : [];
    });
    if (pairs.length === 0) return null;
    const file = join(world.folder, 'files', 'adopt.csv');
    realFs.writeFileSync(file, `${pairs.join('\n')}\n`);
    return told(
      await world.command(['adopt', `${entity}s`, '--file', file, '--reason', 'they are there'], drawStrike(dice)),
    );
  },
  'somebody lets it deliver': async (world, dice) => {
    const argv = ['go-live', '--yes', '--reason', 'all is well'];
    const asked = await world.command(argv, drawStrike(dice));
    if (!asked.process.err.includes('--first-installation') || !isFirstInstallation(world)) return told(asked);
    return told(await world.command([...argv, '--first-installation'], drawStrike(dice)));
  },
  'somebody compares and repairs': async (world, dice) => {
    const what = dice.pick(['orders', 'customers', 'invoices']);
    const shown = await world.command(['reconcile', what, '--again', '--json']);
    const list = jsonOf<{ list?: string; fingerprint?: string; repair?: { list?: string } }>(shown);
    world.lastFingerprint = /"(?:list|fingerprint)":"([^"]+)"/.exec(shown.process.out)?.[1] ?? world.lastFingerprint;
    if (!list || dice.chance(0.3)) return told(shown);
    const argv = ['reconcile', what, '--repair', '--reason', 'compared', '--yes'];
    if (world.lastFingerprint) argv.push('--list', world.lastFingerprint);
    return told(await world.command(argv, drawStrike(dice)));
  },
  'somebody says what the keys mean now': async (world, dice) => {
    const entity = dice.pick(['orders', 'customers']);
    return told(
      await world.command(['rekey', entity, '--rest-is-new', '--reason', 'other keys', '--yes'], drawStrike(dice)),
    );
  },
  'somebody resumes everything': async (world) => {
    for (const lane of ['capture', 'deliver', 'pull', 'service'])
      await world.command(['resume', lane, '--reason', 'go on']);
    return 'somebody resumes everything';
  },
};

/** The commands that run all day. */
export const workOperations: Operations = {
  'waybill sync, as by cron': async (world, dice) => told(await world.command(['sync'], drawStrike(dice))),
  'waybill captures': async (world, dice) => told(await world.command(['sync', 'capture'], drawStrike(dice))),
  'waybill delivers': async (world, dice) => told(await world.command(['sync', 'deliver'], drawStrike(dice))),
  'waybill pulls': async (world, dice) => told(await world.command(['sync', 'pull'], drawStrike(dice))),
};
