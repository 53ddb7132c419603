import { Command } from 'commander';
import { exitCode } from '../command.js';
import { writeOut } from '../terminal/streams.js';
import { allNodes, type HelpNode, helpTree } from './help-tree.js';

/** @param program makes the program with all its commands */
export function manCommand(program: () => Promise<Command>): Command {
  return new Command('man')
    .description('Print the manual page, which has the help of all commands, for the program man.')
    .addHelpText('after', '\nExample:\n  waybill man')
    .action(async () => {
      const all = await program();
      await writeOut(manPage(helpTree(all), all.version() ?? ''));
    });
}

const exitCodes: Record<keyof typeof exitCode, string> = {
  done: 'Done.',
  failed: 'Failed.',
  usage: 'Wrong usage, or a wrong configuration.',
  waitsForPerson: 'Done, but something waits for a person.',
};

/** The page in the words of man(7). Pure. */
export function manPage(root: HelpNode, version: string): string {
  const [, ...commands] = allNodes(root);
  const codes = Object.entries(exitCodes) as [keyof typeof exitCode, string][];
  return [
    `.TH WAYBILL 1 "" "Waybill ${text(version)}" "Waybill"`,
    '.SH NAME',
    'waybill \\- carries orders from an ERP to a service, each exactly once',
    '.SH SYNOPSIS',
    `.B ${text(root.usage)}`,
    '.SH DESCRIPTION',
    line(root.summary),
    ...options(root),
    ...below(root),
    '.SH COMMANDS',
    ...commands.flatMap((node) => [
      `.SS "waybill ${text(node.words.join(' '))}"`,
      line(node.summary),
      '.PP',
      `.B ${text(`waybill ${node.usage.replace(/^waybill /, '')}`)}`,
      ...node.arguments.flatMap(({ term, description }) => item(term, description)),
      ...options(node),
      ...below(node),
    ]),
    '.SH EXIT STATUS',
    ...codes.flatMap(([name, meaning]) => item(String(exitCode[name]), meaning)),
    '.SH ENVIRONMENT',
    ...item('WAYBILL_CONFIG', 'The configuration folder, where --config does not name one.'),
    ...item('WAYBILL_…', 'Most settings can be set by a variable of their own: docs/settings.md names them.'),
    '',
  ].join('\n');
}

function options(node: HelpNode): string[] {
  return node.options.flatMap(({ term, description }) => item(term, description));
}

function item(term: string, description: string): string[] {
  return ['.TP', `.B ${text(term)}`, line(description)];
}

/** The text below the options: the example, in its own lines. */
function below({ after }: HelpNode): string[] {
  return after === '' ? [] : ['.PP', '.nf', ...after.split('\n').map(line), '.fi'];
}

/** A line of text: it must not begin like a request of roff. */
function line(words: string): string {
  return text(words).replace(/^(?=[.'])/, '\\&');
}

/** A hyphen would become a dash, which can't be typed; a backslash begins an escape. */
function text(words: string): string {
  return words
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('…', '\\[u2026]')
    .replace(/\s*\n\s*/g, ' ');
}
