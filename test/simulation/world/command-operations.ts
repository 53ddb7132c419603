import { join } from 'node:path';
import type { Command, Option } from 'commander';
import { realFs } from '../machine/intercept.js';
import type { Strike } from '../machine/process.js';
import type { Dice } from './dice.js';
import type { Operation, Operations } from './operation.js';
import type { World } from './world.js';

/** Commands that are never run in a history, each with the reason. A test asks that no other is missing. */
export const leftOut: Readonly<Record<string, string>> = {
  init: 'asks about an ERP that is not configured yet; it writes settings and touches no record',
  daemon: 'has operations of its own: it is started, stopped, killed and frozen',
  demo: 'is a world of its own, with its own service and its own ERP',
  sandbox: 'is a service itself',
  probe: 'writes test records to learn what a service is like, before any record is sent',
  doctor: 'looks at sockets and programs of the real machine',
  completion: 'prints a script',
  man: 'prints a page',
  'desk user': 'asks for a password on a terminal',
  'desk token': 'prints a token of the desk',
};

/** Options that are never given, each with the reason. */
export const optionsLeftOut: Readonly<Record<string, string>> = {
  '--config': 'every command gets the one of its history',
  '--watch': 'never ends',
  '--from': 'of `erp side-tables` is the host of an account; elsewhere it is given',
};

/** Once something waited for a yes, these would say what may not be so: what is true is said by `operatorOperations`. */
const claims = /^(outbox resolve|adopt|rekey|recover|go-live|confirm)$/;

interface Described {
  /** Such as `outbox resolve`. */
  name: string;
  command: Command;
}

export function everyCommand(commands: readonly Command[], path = ''): Described[] {
  return commands.flatMap((command) => {
    const name = `${path}${command.name()}`;
    const within = everyCommand(command.commands, `${name} `);
    // Those that only hold others do nothing by themselves.
    const acts = (command as unknown as { _actionHandler: unknown })._actionHandler !== null;
    return [...(acts ? [{ name, command }] : []), ...within];
  });
}

/** Every command with every option, as the product's own table has them. */
export function commandOperations(commands: readonly Command[]): Operations {
  const described = everyCommand(commands).filter(({ name }) => leftOut[name] === undefined && leftOut[name.split(' ')[0] as string] === undefined);
  return Object.fromEntries(described.map(({ name, command }) => [`waybill ${name}`, operationOf(name, command)]));
}

function operationOf(name: string, command: Command): Operation {
  return async (world, dice) => {
    const argv = name.split(' ');
    for (const argument of command.registeredArguments)
      if (argument.required || dice.chance(0.5)) argv.push(valueOf(world, dice, argument.name(), argument.argChoices));
    const dryRun = command.options.find(({ long }) => long === '--dry-run');
    for (const option of command.options) argv.push(...given(world, dice, option));
    if (claims.test(name)) {
      if (dryRun && !argv.includes('--dry-run')) argv.push('--dry-run');
      return told(await world.command(argv.filter((one) => one !== '--yes'), drawStrike(dice)));
    }
    return told(await world.command(argv, drawStrike(dice)));
  };
}

function given(world: World, dice: Dice, option: Option): string[] {
  const long = option.long ?? '';
  if (long === '--config' || long === '--watch') return [];
  if (!option.mandatory && !dice.chance(long === '--yes' || long === '--reason' ? 0.7 : 0.2)) return [];
  if (!option.required && !option.optional) return [long];
  return [long, valueOf(world, dice, long, option.argChoices)];
}

const day = (world: World, dice: Dice) =>
  new Date(world.machine.wallMs - dice.pick([-1, 0, 0, 1, 2, 30]) * 86_400_000).toISOString().slice(0, 10);

/** Sensible values for an option or an argument, and wrong ones. By its name, because commander knows no more of it. */
function valueOf(world: World, dice: Dice, name: string, choices: readonly string[] | undefined): string {
  if (choices) return dice.pick(choices);
  const { erp, service, folder } = world;
  switch (name) {
    case '--key':
    case 'key':
    case 'old':
    case 'new': {
      const known = [...erp.orders().flatMap(({ id, number }) => [String(id), number]), ...erp.customers().map(({ id }) => String(id))];
      return dice.chance(0.1) ? 'nobody' : (dice.pickOrNull(known.filter(Boolean)) ?? '1');
    }
    case '--limit':
      return String(1 + dice.below(5));
    case '--from':
    case '--to':
    case '--since':
    case '--until':
    case '--sent-since':
      return day(world, dice);
    case '--month':
      return day(world, dice).slice(0, 7);
    case '--source':
      return dice.pick(['default', 'default', 'elsewhere']);
    case '--service-id':
      return dice.pickOrNull(service.records)?.id ?? 'O-0';
    case '--list':
      return world.lastFingerprint ?? 'abcdef';
    case '--file':
    case '--bindings':
    case '--heads': {
      const file = join(folder, 'files', 'given.csv');
      const rows = erp.orders().map(({ id }) => `${id},${dice.pickOrNull(service.live('orders'))?.id ?? 'O-0'}`);
      realFs.writeFileSync(file, `${rows.join('\n')}\n`);
      return dice.chance(0.1) ? join(folder, 'files', 'no-such-file') : file;
    }
    case '--csv':
    case '--report':
    case 'file':
      return join(folder, 'files', `written-${dice.below(3)}`);
    default:
      return dice.pick(['a reason', 'e', '1']);
  }
}

/** Where a command is struck: anywhere, or not at all. */
export function drawStrike(dice: Dice): Strike | null {
  if (!dice.chance(0.2)) return null;
  // As often between 4 and 8 as between 40 and 80.
  return { nth: Math.ceil(2 ** (dice.next() * 8)), what: dice.chance(0.6) ? 'kill' : 'freeze' };
}

/** For the story. */
export function told({ argv, process }: { argv: readonly string[]; process: { state: string; exitCode: number | undefined; err: string } }): string {
  const end =
    process.state === 'ended' ? `exit ${process.exitCode}` : process.state === 'killed' ? 'killed under way' : 'stands still under way';
  const error = process.exitCode ? `: ${process.err.split('\n')[0]?.slice(0, 160)}` : '';
  return `waybill ${argv.map((one) => (/^[\w./:-]+$/.test(one) ? one : JSON.stringify(one))).join(' ')} (${end}${error})`;
}
