import type { Command } from 'commander';

/** The `--help` of a command as data: completion and the manual page are made of the same words. */
export interface HelpNode {
  /** The words after `waybill` that call it; none for the program itself. */
  words: readonly string[];
  usage: string;
  summary: string;
  arguments: readonly { term: string; description: string; choices: readonly string[]; isVariadic: boolean }[];
  options: readonly OptionHelp[];
  /** The text below the options, such as the example. */
  after: string;
  commands: readonly HelpNode[];
}

interface OptionHelp {
  /** As it is typed: `-h, --help` or `--state <state>`. */
  term: string;
  /** Its spellings without the value. */
  flags: readonly string[];
  description: string;
  takesValue: boolean;
  choices: readonly string[];
}

/** @param command its output is captured from here on: take one that is not run */
export function helpTree(command: Command, words: readonly string[] = []): HelpNode {
  const help = command.createHelp();
  return {
    words,
    usage: help.commandUsage(command),
    summary: command.description(),
    arguments: command.registeredArguments.map((argument) => ({
      term: help.argumentTerm(argument),
      description: help.argumentDescription(argument),
      choices: argument.argChoices ?? [],
      isVariadic: argument.variadic,
    })),
    options: help.visibleOptions(command).map((option) => ({
      term: help.optionTerm(option),
      flags: [option.short, option.long].filter((flag) => flag !== undefined),
      description: help.optionDescription(option),
      takesValue: option.required || option.optional,
      choices: option.argChoices ?? [],
    })),
    after: textAfter(command),
    commands: help.visibleCommands(command).map((one) => helpTree(one, [...words, one.name()])),
  };
}

/** A node with all below it. */
export function allNodes(node: HelpNode): HelpNode[] {
  return [node, ...node.commands.flatMap(allNodes)];
}

/** The text that `addHelpText` put below the help. */
function textAfter(command: Command): string {
  let text = '';
  const write = (part: string) => {
    text += part;
  };
  command.configureOutput({ writeOut: write, writeErr: write }).outputHelp();
  return text.slice(command.helpInformation().length).trim();
}
