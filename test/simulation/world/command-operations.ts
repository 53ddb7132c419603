import { join } from 'node:path';
import type { Command, Option } from 'commander';
import { realFs } from '../machine/intercept.js';
import type { Strike } from '../machine/machine.js';
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
};

/** Once something waited for a yes, these would say what may not be so: what is true is said by `operatorOperations`. */
const claims = /^(outbox resolve|adopt|rekey|recover|go-live|confirm|bindings move)$/;

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
  return Object.fromEntries(
    described(commands).map(({ name, command }) => [`waybill ${name}`, operationOf(name, command)]),
  );
}

function described(commands: readonly Command[]): Described[] {
  const isLeftOut = (name: string) =>
    leftOut[name] !== undefined || leftOut[name.split(' ')[0] as string] !== undefined;
  return everyCommand(commands).filter(({ name }) => !isLeftOut(name));
}

function operationOf(name: string, command: Command): Operation {
  return async (world, dice) => {
    const argv = name.split(' ');
    for (const argument of command.registeredArguments)
      if (argument.required || dice.chance(0.5)) argv.push(valueFor(world, dice, argument.name(), argument.argChoices));
    const dryRun = command.options.find(({ long }) => long === '--dry-run');
    for (const option of command.options) argv.push(...given(world, dice, option));
    if (claims.test(name)) {
      if (dryRun && !argv.includes('--dry-run')) argv.push('--dry-run');
      return told(
        await world.command(
          argv.filter((one) => one !== '--yes'),
          drawStrike(dice),
        ),
      );
    }
    return told(await world.command(argv, drawStrike(dice)));
  };
}

function given(world: World, dice: Dice, option: Option): string[] {
  const long = option.long ?? '';
  if (long === '--config' || long === '--watch') return [];
  if (!option.mandatory && !dice.chance(long === '--yes' || long === '--reason' ? 0.7 : 0.2)) return [];
  if (!option.required && !option.optional) return [long];
  return [long, valueFor(world, dice, long, option.argChoices)];
}

const day: Value = (world, dice) =>
  new Date(world.machine.wallMs - dice.pick([-1, 0, 0, 1, 2, 30]) * 86_400_000).toISOString().slice(0, 10);

type Value = (world: World, dice: Dice) => string;

const key: Value = ({ erp }, dice) => {
  const known = [
    ...erp.orders().flatMap(({ id, number }) => [String(id), number]),
    ...erp.customers().map(({ id }) => String(id)),
  ];
  return dice.chance(0.1) ? 'nobody' : (dice.pickOrNull(known.filter(Boolean)) ?? '1');
};
const givenFile: Value = ({ erp, service, folder }, dice) => {
  const file = join(folder, 'files', 'given.csv');
  const rows = erp.orders().map(({ id }) => `${id},${dice.pickOrNull(service.live('orders'))?.id ?? 'O-0'}`);
  realFs.writeFileSync(file, `${rows.join('\n')}\n`);
  return dice.chance(0.1) ? join(folder, 'files', 'no-such-file') : file;
};
const newFile: Value = ({ folder }, dice) => join(folder, 'files', `written-${dice.below(3)}`);
const text: Value = (_world, dice) => dice.pick(['a reason', 'e', '1']);

/** Sensible values of options and arguments, and wrong ones, by name: commander knows no more of them. */
export const values: Readonly<Record<string, Value>> = {
  '--key': key,
  key,
  old: key,
  new: key,
  '--limit': (_world, dice) => String(1 + dice.below(5)),
  '--from': day,
  '--to': day,
  '--since': day,
  '--until': day,
  '--sent-since': day,
  '--month': (world, dice) => day(world, dice).slice(0, 7),
  '--source': (_world, dice) => dice.pick(['default', 'default', 'elsewhere']),
  '--service-id': ({ service }, dice) => dice.pickOrNull(service.records)?.id ?? 'O-0',
  '--list': ({ lastFingerprint }) => lastFingerprint ?? 'abcdef',
  '--file': givenFile,
  '--bindings': givenFile,
  '--heads': givenFile,
  '--csv': newFile,
  '--report': newFile,
  file: newFile,
  '--reason': text,
  '--reason-like': text,
  '--outcome': text,
  '--event': text,
};

function valueFor(world: World, dice: Dice, name: string, choices: readonly string[] | undefined): string {
  return choices ? dice.pick(choices) : (values[name] ?? text)(world, dice);
}

/** Options and arguments of which nobody has said what to give. */
export function unknownValues(commands: readonly Command[]): string[] {
  const isKnown = (name: string) => values[name] !== undefined || optionsLeftOut[name] !== undefined;
  return described(commands).flatMap(({ name, command }) => [
    ...command.registeredArguments
      .filter((one) => !one.argChoices && !isKnown(one.name()))
      .map((one) => `${name} ${one.name()}`),
    ...command.options
      .filter((one) => (one.required || one.optional) && !one.argChoices && !isKnown(one.long ?? ''))
      .map((one) => `${name} ${one.long}`),
  ]);
}

/** Left out, and absent from the tables. */
export function staleNames(commands: readonly Command[]): string[] {
  const names = new Set(everyCommand(commands).flatMap(({ name }) => [name, name.split(' ')[0] as string]));
  return Object.keys(leftOut).filter((name) => !names.has(name));
}

/** The place of the strike on a command: anywhere, or none. */
export function drawStrike(dice: Dice): Strike | null {
  if (!dice.chance(0.2)) return null;
  // As often between 4 and 8 as between 40 and 80.
  return { nth: Math.ceil(2 ** (dice.next() * 8)), what: dice.chance(0.6) ? 'kill' : 'freeze' };
}

/** For the story. */
export function told({
  argv,
  process,
}: {
  argv: readonly string[];
  process: { state: string; exitCode: number | undefined; err: string };
}): string {
  const struck = process.state === 'killed' ? 'killed under way' : 'stands still under way';
  const end = process.state === 'ended' ? `exit ${process.exitCode}` : struck;
  const error = process.exitCode ? `: ${process.err.split('\n')[0]?.slice(0, 160)}` : '';
  return `waybill ${argv.map((one) => (/^[\w./:-]+$/.test(one) ? one : JSON.stringify(one))).join(' ')} (${end}${error})`;
}
