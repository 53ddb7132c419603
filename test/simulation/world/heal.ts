import { openReal, realFs } from '../machine/intercept.js';
import type { Dice } from './dice.js';
import { machineOperations } from './machine-operations.js';
import { network } from './network.js';
import { jsonOf, type Listed, listed, recoverOptions, resolveTruthfully } from './operator-operations.js';
import {
  heldReason,
  wrongAtRest,
  wrongBindings,
  wrongCommands,
  wrongHistory,
  wrongInvoices,
  wrongKeys,
  wrongStatus,
  wrongWritten,
} from './oracle.js';
import { maxProcessingMs } from './settings.js';
import type { Ended, World } from './world.js';

const minuteMs = 60_000;
const mostRounds = 10;

/**
 * Everything works again, and nobody does anything any more but what Waybill asks for.
 * @param doctor changes the world right before it is judged, to see that the oracle notices
 * @returns what is wrong then
 */
export async function heal(
  world: World,
  dice: Dice,
  tell: (line: string) => void,
  doctor: (world: World) => void = () => undefined,
): Promise<string[]> {
  const { service, machine, disk } = world;
  world.isSafe = true;
  service.weather = [];
  network.isDown = false;
  disk.clear();
  machine.wallOffsetMs = 0;
  machine.erpOffsetMs = 0;
  for (const { erp } of world.views) {
    erp.saveOtherHalves();
    erp.refill();
  }
  await machineOperations['let all go on that stand still']?.(world, dice);
  await machineOperations['stop the daemon']?.(world, dice);
  world.endQuietHours();
  for (const one of machine.processes) one.kill();
  // Lines that the witness missed show now.
  await world.pass(minuteMs);
  let rest = await untilQuiet(world, () => resume(world));
  const doubted = inStore(world, "SELECT 1 FROM outbox_message WHERE state='in_doubt'").length > 0;
  if (doubted) {
    // As long as the service remembers a key it repeats what it said.
    await world.pass((world.personality.keyLifetimeMs ?? 0) + 60 * minuteMs);
    rest = await untilQuiet(world, () => resume(world));
  }
  const { isQuiet } = rest;
  tell(`all is well again, and Waybill runs until nothing happens any more${isQuiet ? '' : ': it never rests'}`);
  wrongHistory(world);
  doctor(world);
  const wrong = [...world.wrong, ...world.service.wrong, ...wrongCommands(world), ...wrongHistory(world)];
  const atRest = await wrongAtRest(world, false);
  wrong.push(...atRest.wrong);
  wrong.push(...wrongKeys(world));
  if (!isQuiet) wrong.push('restless: something changes for ever');
  wrong.push(...wrongCommands(world));
  if (wrong.length > 0) return wrong;
  if (atRest.open > 0 || (await heldReason(world)) !== null) {
    rest = await untilQuiet(world, async () => help(world, dice, tell));
    tell('people have dealt with all that waited for them');
    wrong.push(...(await wrongAtRest(world, true)).wrong);
  }
  wrong.push(...wrongBindings(world), ...wrongWritten(world), ...(await wrongInvoices(world)));
  const { exitCode, err, state } = rest.lastSync.process;
  if (state === 'ended' && (exitCode === 1 || exitCode === 2) && err.startsWith('waybill:'))
    wrong.push(`fails: sync ends with ${exitCode}: ${err.slice(0, 300)}`);
  if (dice.chance(0.25)) wrong.push(...(await wrongStatus(world)));
  const verified = dice.chance(0.25) || doctor.length > 0 ? await world.command(['audit', 'verify']) : null;
  if (verified && verified.process.exitCode !== 0)
    wrong.push(`audit: ${verified.process.out.slice(0, 300)} ${verified.process.err.slice(0, 300)}`);
  wrong.push(...wrongCommands(world), ...wrongHistory(world));
  return wrong;
}

async function resume(world: World): Promise<void> {
  for (const lane of ['capture', 'deliver', 'pull', 'service'])
    if (inStore(world, `SELECT 1 FROM lane_pause WHERE lane LIKE '${lane}%'`).length > 0)
      await world.command(['resume', lane, '--reason', 'all is well again']);
}

/** A person does what Waybill says. */
async function help(world: World, dice: Dice, tell: (line: string) => void): Promise<void> {
  const status = jsonOf<{ notLive: string | null; holds: unknown[] }>(await world.command(['status', '--json']));
  if (status?.notLive && /recover/.test(status.notLive)) {
    // The store is the one that ran last where nobody replaced it.
    const options = world.replacedAtMs === null ? ['--same-store'] : recoverOptions(world);
    const recovered = await world.command(['recover', ...options, '--reason', 'after the loss', '--yes']);
    if (recovered.process.exitCode !== 0 && recovered.process.exitCode !== 3)
      await world.command(['recover', '--park', '--reason', 'after the loss', '--yes']);
    tell('somebody recovers');
  } else if (status?.notLive && /rekey/.test(status.notLive)) {
    for (const entity of ['orders', 'customers'])
      await world.command(['rekey', entity, '--rest-is-new', '--reason', 'other keys', '--yes']);
    tell('somebody says what the keys mean');
  }
  await resume(world);
  // Nobody says that a record is not there while the service may still be working on it.
  await world.pass(maxProcessingMs + minuteMs);
  const parked = (await listed(world, '--state', 'parked')) ?? [];
  const isForPerson = ({ parkClass }: Listed) => ['unproven', 'conflict', 'held'].includes(parkClass ?? '');
  for (const message of parked.filter(isForPerson)) {
    await resolveTruthfully(world, message, dice);
    tell(`somebody resolves ${message.entity} ${message.sourceKey}: ${message.reason?.slice(0, 120)}`);
  }
  // Each was looked at: what a hold on all of them still keeps back may go.
  if ((status?.holds ?? []).length > 0)
    for (const entity of ['customers', 'orders'])
      await world.command(['confirm', entity, '--reason', 'looked at all of them', '--yes']);
  // Holds without a message of their own.
  await world.command(['confirm', 'invoices', '--reason', 'looked at it', '--yes']);
  if (parked.length > 0) await world.command(['outbox', 'retry', '--state', 'parked', '--reason', 'again', '--yes']);
}

/** Round by round, until one has changed nothing. */
async function untilQuiet(world: World, prepare: () => Promise<void>): Promise<{ isQuiet: boolean; lastSync: Ended }> {
  const look = () =>
    JSON.stringify([
      inStore(world, 'SELECT id, state, park_class FROM outbox_message ORDER BY id'),
      inStore(world, 'SELECT entity, source_key, missing_since IS NULL FROM binding ORDER BY 1, 2'),
      world.service.records.map(({ id, fields, removedAtMs }) => [id, fields, removedAtMs]),
    ]);
  let before = look();
  for (let round = 1; ; round++) {
    await prepare();
    await world.pass(21 * minuteMs);
    const lastSync = await world.command(['sync']);
    const now = look();
    if (now === before || round === mostRounds) return { isQuiet: now === before, lastSync };
    before = now;
  }
}

/** For whoever waits until nothing happens any more; the oracle believes nothing of it. */
function inStore(world: World, sql: string): unknown[] {
  const file = world.settings.store.file as string;
  if (!realFs.existsSync(file)) return [];
  const database = openReal(file);
  try {
    return database.prepare(sql).all();
  } catch {
    return [];
  } finally {
    database.close();
  }
}
