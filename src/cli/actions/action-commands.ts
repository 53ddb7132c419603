import { type Command, Option } from 'commander';
import { entities } from '../../model/record.js';
import type { Action, Given } from '../../operator/actions/action.js';
import { type ActionName, actionNames, actionOf } from '../../operator/actions/actions.js';
import { labelsOf } from '../../words/en/action-labels.js';
import { type CommandApp, checkReason, inApp, jsonCommand, UsageError } from '../command.js';
import { actionContext, asUsage, carryOut } from './carry-out.js';
import { type SubjectReader, subjectReaders } from './subjects.js';

type Options = { readonly [name: string]: unknown } & { reason: string; yes?: boolean };

/** The commands of actions that stand behind these words: behind `outbox` those that act on messages. */
export function actionCommands(...parents: readonly string[]): Command[] {
  const byName = new Map<string, ActionName[]>();
  for (const name of actionNames) {
    const path = actionOf(name).command?.path ?? [];
    const [leaf] = path.slice(parents.length);
    if (leaf === undefined || path.length !== parents.length + 1 || !parents.every((one, at) => path[at] === one))
      continue;
    byName.set(leaf, [...(byName.get(leaf) ?? []), name]);
  }
  return [...byName].map(([leaf, names]) => actionCommand(leaf, names));
}

/** One command for an action, or for several of which an option chooses one. */
function actionCommand(leaf: string, names: readonly ActionName[]): Command {
  const [first] = names as [ActionName];
  const { subject, entities: only = entities } = actionOf(first);
  const subjects = subjectReaders[subject] as SubjectReader<typeof subject> | undefined;
  if (subjects === undefined) throw new Error(`No command can name the subject of the action ${first}.`);
  const { summary = '', example = '' } = labelsOf(first).command ?? {};
  const command = subjects.declare(jsonCommand(leaf, summary, example), only);
  for (const name of names) addOptions(command, name, actionOf(name));
  command.requiredOption('--reason <text>', 'why, for the audit').option('--yes', 'do it without asking');
  const act = async (app: CommandApp, options: Options, ...given: string[]) => {
    const name = chosen(names, options)[0] as ActionName;
    const action = actionOf(name);
    const meant = await subjects.read(app, options, given);
    const preview = await action.preview(actionContext(app), meant, inputsIn(action, options)).catch(asUsage);
    return carryOut(app, name, preview, options);
  };
  const check = (options: Options, typed: Command) => {
    checkChoice(names, options);
    subjects.check?.(options, typed);
    checkReason(options);
  };
  return command.action(inApp(act, { needsStore: true, check }));
}

function addOptions(command: Command, name: ActionName, { inputs, command: own }: Action): void {
  const { choice, inputs: words = {} } = labelsOf(name);
  if (own?.choice !== undefined) command.option(`--${own.choice}`, choice);
  for (const [input, about] of Object.entries(inputs)) {
    const value = about.kind === 'text' ? ` <${about.placeholder}>` : '';
    const option = new Option(`${flagOf(input)}${value}`, words[input]?.help);
    const isRequired = about.kind === 'text' && about.isRequired === true && own?.choice === undefined;
    command.addOption(isRequired ? option.makeOptionMandatory() : option);
  }
}

/** `serviceId` → `--service-id`. */
function flagOf(input: string): string {
  return `--${input.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** `not-delivered` → `notDelivered`. */
function propertyOf(choice: string): string {
  return choice.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function chosen(names: readonly ActionName[], options: Options): ActionName[] {
  if (names.length === 1) return [...names];
  return names.filter((name) => options[propertyOf(actionOf(name).command?.choice ?? '')] === true);
}

/** An input of another action than the one that is chosen would be ignored. @throws UsageError */
function checkChoice(names: readonly ActionName[], options: Options): void {
  const [name, ...others] = chosen(names, options);
  if (name === undefined || others.length > 0)
    throw new UsageError(`Say one of ${names.map((one) => `--${actionOf(one).command?.choice}`).join(', ')}.`);
  for (const one of names)
    for (const input of Object.keys(actionOf(one).inputs))
      if (options[input] !== undefined && !(input in actionOf(name).inputs))
        throw new UsageError(`${flagOf(input)} belongs to --${actionOf(one).command?.choice}.`);
}

function inputsIn({ inputs }: Action, options: Options): Given {
  return Object.fromEntries(
    Object.entries(inputs).map(([input, { kind }]) => {
      const value = options[input];
      if (kind !== 'text') return [input, value === true];
      return [input, typeof value === 'string' ? value : null];
    }),
  ) as Given;
}
