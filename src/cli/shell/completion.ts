// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders are the shells' own
import { Argument, Command } from 'commander';
import { writeOut } from '../terminal/streams.js';
import { allNodes, type HelpNode, helpTree } from './help-tree.js';

const shells = ['bash', 'zsh'] as const;
type Shell = (typeof shells)[number];

/** @param program makes the program with all its commands */
export function completionCommand(program: () => Promise<Command>): Command {
  return new Command('completion')
    .description('Print a script that makes a shell complete commands, options and their values.')
    .addArgument(new Argument('<shell>', 'the shell that is to read it').choices(shells))
    .addHelpText('after', '\nExample:\n  waybill completion bash')
    .action(async (shell: Shell) => writeOut(completionScript(shell, helpTree(await program()))));
}

/** The script for a shell. Words that it does not know, such as a file's name, are left to the shell. Pure. */
export function completionScript(shell: Shell, root: HelpNode): string {
  const nodes = allNodes(root);
  const of = { bash: bashWords, zsh: zshWords }[shell];
  const words = nodes.map((node) => `    ${quoted(node.words.join(' '))}) ${of(node)} ;;`);
  const values = nodes.flatMap((node) =>
    node.options.flatMap(({ flags, choices }) =>
      choices.length === 0
        ? []
        : [
            `    ${flags.map((flag) => quoted(`${node.words.join(' ')} ${flag}`)).join('|')}) values=${list(choices)} ;;`,
          ],
    ),
  );
  const head = { bash: bashHead, zsh: zshHead }[shell];
  const tail = { bash: bashTail, zsh: zshTail }[shell];
  return [
    ...head,
    '# Sets what may follow the command "$1".',
    '_waybill_words() {',
    '  subcommands=() options=() valued=() arguments=()',
    '  case "$1" in',
    ...words,
    '  esac',
    '}',
    '',
    '# Sets what the option may be given that "$1" names after its command.',
    '_waybill_values() {',
    '  values=()',
    '  case "$1" in',
    ...values,
    '  esac',
    '}',
    '',
    ...tail,
    '',
  ].join('\n');
}

function bashWords(node: HelpNode): string {
  return [
    `subcommands=${list(node.commands.map(nameOf))}`,
    `options=${list(node.options.flatMap(({ flags }) => flags))}`,
    `valued=${list(node.options.filter(({ takesValue }) => takesValue).flatMap(({ flags }) => flags))}`,
    `arguments=${list(argumentChoices(node))}`,
  ].join(' ');
}

/** Also with what each word means, which zsh shows beside it. */
function zshWords(node: HelpNode): string {
  const described = (word: string, meaning: string) =>
    `${word.replaceAll(':', '\\:')}:${meaning.replaceAll('\n', ' ')}`;
  const options = node.options.flatMap(({ flags, description }) => flags.map((flag) => described(flag, description)));
  return [
    bashWords(node),
    `described=${list(node.commands.map((one) => described(nameOf(one), one.summary)))}`,
    `described_options=${list(options)}`,
  ].join(' ');
}

/** One element an argument: the words that it may be. The last one stands nine times more where it may be repeated. */
function argumentChoices(node: HelpNode): string[] {
  const choices = node.arguments.map((argument) => argument.choices.join(' '));
  return node.arguments.at(-1)?.isVariadic ? [...choices, ...Array<string>(9).fill(choices.at(-1) ?? '')] : choices;
}

function nameOf(node: HelpNode): string {
  return node.words.at(-1) ?? '';
}

function list(words: readonly string[]): string {
  return `(${words.map(quoted).join(' ')})`;
}

function quoted(word: string): string {
  return /^[\w-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

const walk = (words: string, first: number, current: string) => [
  `  local command='' given=0 word i skip=''`,
  '  local -a subcommands options valued arguments values described described_options',
  "  _waybill_words ''",
  `  for ((i = ${first}; i < ${current}; i++)); do`,
  `    word=\${${words}[i]}`,
  "    if [[ -n $skip && $word != '=' ]]; then",
  "      skip=''",
  '    elif [[ $word == -* ]]; then',
  '      [[ " ${valued[*]} " == *" $word "* ]] && skip=1',
  '    elif [[ " ${subcommands[*]} " == *" $word "* ]]; then',
  '      command="${command:+$command }$word"',
  '      given=0',
  '      _waybill_words "$command"',
  "    elif [[ $word != '=' ]]; then",
  '      ((given += 1))',
  '    fi',
  '  done',
];

const bashHead = [
  '# Completion of waybill for bash, made by `waybill completion bash`.',
  '# Read it in ~/.bashrc, or keep it as /usr/share/bash-completion/completions/waybill.',
  '',
];

const bashTail = [
  '_waybill() {',
  '  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}',
  ...walk('COMP_WORDS', 1, 'COMP_CWORD'),
  '  # bash takes `--state=parked` for three words.',
  '  if [[ $current == = ]]; then',
  "    current=''",
  '  elif [[ $before == = ]]; then',
  '    before=${COMP_WORDS[COMP_CWORD - 2]}',
  '  fi',
  '  COMPREPLY=()',
  '  if [[ -n $skip ]]; then',
  '    _waybill_values "$command $before"',
  '    COMPREPLY=($(compgen -W "${values[*]}" -- "$current"))',
  '  elif [[ $current == -* ]]; then',
  '    COMPREPLY=($(compgen -W "${options[*]}" -- "$current"))',
  '  else',
  '    COMPREPLY=($(compgen -W "${subcommands[*]} ${arguments[given]}" -- "$current"))',
  '  fi',
  '}',
  '',
  '# Where nothing fits, bash offers files.',
  'complete -o default -F _waybill waybill',
];

const zshHead = [
  '#compdef waybill',
  '# Completion of waybill for zsh, made by `waybill completion zsh`.',
  '# Keep it as `_waybill` in a folder of $fpath, such as /usr/share/zsh/vendor-completions.',
  '',
];

const zshTail = [
  '_waybill() {',
  '  local current=${words[CURRENT]} before=${words[CURRENT - 1]}',
  ...walk('words', 2, 'CURRENT'),
  '  if [[ -z $skip && $current == --*=* ]]; then',
  '    before=${current%%=*} skip=1',
  "    compset -P '*='",
  '  fi',
  '  if [[ -n $skip ]]; then',
  '    _waybill_values "$command $before"',
  '    if ((${#values})); then compadd -- $values; else _files; fi',
  '  elif [[ $current == -* ]]; then',
  "    _describe -o 'option' described_options",
  '  else',
  '    local -a choices=(${=arguments[given + 1]})',
  "    ((${#subcommands})) && _describe 'command' described",
  '    ((${#choices})) && compadd -- $choices',
  '    ((${#subcommands} + ${#choices})) || _files',
  '  fi',
  '}',
  '',
  '# The first call loads this file; its function then completes.',
  'if [[ ${funcstack[1]} == _waybill ]]; then _waybill "$@"; else compdef _waybill waybill; fi',
];
