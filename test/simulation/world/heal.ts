import type { Dice } from './dice.js';
import { network } from './network.js';
import { jsonOf, listed, recoverOptions, resolveTruthfully } from './operator-operations.js';
import { wrongAtRest, wrongCommands, wrongHistory, wrongInvoices } from './oracle.js';
import { machineOperations } from './machine-operations.js';
import type { World } from './world.js';

const minuteMs = 60_000;
const mostRounds = 10;

/** Everything works again, and nobody does anything any more but what Waybill asks for. @returns what is wrong then */
export async function heal(world: World, dice: Dice, tell: (line: string) => void): Promise<string[]> {
  const { service, machine, erp, disk } = world;
  service.weather = [];
  network.isDown = false;
  disk.clear();
  machine.wallOffsetMs = 0;
  machine.erpOffsetMs = 0;
  erp.saveOtherHalves();
  erp.refill();
  await machineOperations['let all go on that stand still']?.(world, dice);
  await machineOperations['stop the daemon']?.(world, dice);
  for (const one of machine.processes) one.kill();
  for (const lane of ['capture', 'deliver', 'pull', 'service']) await world.command(['resume', lane, '--reason', 'all is well again']);
  // What the witness missed shows now.
  await world.pass(minuteMs);
  const quiet = await untilQuiet(world, async () => undefined);
  tell(`all is well again, and Waybill runs until nothing happens any more${quiet ? '' : ': it never rests'}`);
  const wrong = [...wrongCommands(world), ...wrongHistory(world)];
  wrong.push(...(await wrongAtRest(world, false)));
  if (!quiet) wrong.push('restless: something changes for ever');
  wrong.push(...wrongCommands(world));
  if (wrong.length > 0) return wrong;
  await untilQuiet(world, async () => help(world, dice, tell));
  tell('people have dealt with all that waited for them');
  wrong.push(...(await wrongAtRest(world, true)), ...(await wrongInvoices(world)));
  const verified = await world.command(['audit', 'verify']);
  if (verified.process.exitCode !== 0) wrong.push(`audit: ${verified.process.out.slice(0, 300)} ${verified.process.err.slice(0, 300)}`);
  wrong.push(...wrongCommands(world), ...wrongHistory(world));
  return wrong;
}

/** A person does what Waybill says. */
async function help(world: World, dice: Dice, tell: (line: string) => void): Promise<void> {
  const status = jsonOf<{ notLive: string | null; pauses: unknown[] }>(await world.command(['status', '--json']));
  if (status?.notLive && /recover/.test(status.notLive)) {
    const recovered = await world.command(['recover', ...recoverOptions(world), '--reason', 'after the loss', '--yes']);
    if (recovered.process.exitCode !== 0 && recovered.process.exitCode !== 3)
      await world.command(['recover', '--reason', 'after the loss', '--yes']);
    tell('somebody recovers');
  } else if (status?.notLive && /rekey/.test(status.notLive)) {
    for (const entity of ['orders', 'customers'])
      await world.command(['rekey', entity, '--rest-is-new', '--reason', 'other keys', '--yes']);
    tell('somebody says what the keys mean');
  }
  for (const lane of ['capture', 'deliver', 'pull', 'service']) await world.command(['resume', lane, '--reason', 'go on']);
  for (const what of ['customers', 'orders', 'invoices']) await world.command(['confirm', what, '--reason', 'looked at it', '--yes']);
  for (const message of (await listed(world, '--state', 'parked')) ?? []) {
    if (message.parkClass === 'unproven' || message.parkClass === 'conflict') {
      await resolveTruthfully(world, message, dice);
      tell(`somebody resolves ${message.entity} ${message.sourceKey}: ${message.reason?.slice(0, 120)}`);
    }
  }
  await world.command(['outbox', 'retry', '--state', 'parked', '--reason', 'again', '--yes']);
}

/** Round by round, until one has changed nothing. */
async function untilQuiet(world: World, help: () => Promise<void>): Promise<boolean> {
  let before = '';
  for (let round = 0; round < mostRounds; round++) {
    await help();
    await world.pass(21 * minuteMs);
    await world.command(['sync']);
    const open = await listed(world);
    const status = jsonOf<{ notLive: string | null; pauses: { reason?: string }[]; text: string }>(await world.command(['status', '--json']));
    world.heldReason = status?.notLive ?? status?.pauses?.[0]?.reason ?? null;
    const now = JSON.stringify([
      open?.map(({ id, state, parkClass }) => [id, state, parkClass]),
      world.service.records.map(({ id, fields, removedAtMs }) => [id, fields, removedAtMs]),
      world.heldReason,
    ]);
    if (now === before) return true;
    before = now;
  }
  return false;
}
