import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import type { Command } from 'commander';
import { wholeProgram } from '../../../src/cli/run.js';
import { completionScript } from '../../../src/cli/shell/completion.js';
import { helpTree } from '../../../src/cli/shell/help-tree.js';
import { manPage } from '../../../src/cli/shell/man-page.js';
import { ensure } from '../../support/needed-programs.js';
import { useTempDir } from '../../support/temp-dir.js';

/** The `--help` of a command: the commands and options that it lists, as they are typed. */
interface Printed {
  words: string[];
  commands: string[];
  options: string[];
}

function printedHelp(command: Command, words: string[] = []): Printed[] {
  const sections = command.helpInformation().split(/\n(?=\w[\w ]*:\n)/);
  const lines = (title: string) => (sections.find((one) => one.startsWith(`${title}:`)) ?? '').split('\n').slice(1);
  const commands = lines('Commands').flatMap((line) => /^ {2}([a-z][\w-]*)/.exec(line)?.[1] ?? []);
  const options = lines('Options').flatMap((line) => /^ {2}(-.*?)(?: {2}|$)/.exec(line)?.[1]?.match(/-[\w-]+/g) ?? []);
  // `help` is commander's own and has no help of its own.
  const below = command.commands.flatMap((one) => printedHelp(one, [...words, one.name()]));
  return [{ words, commands, options }, ...below];
}

/** Asks the completion in a real shell, one line of words each; the last word is the one that is being typed. */
const drivers = {
  bash: `COMP_WORDS=("\${typed[@]}") COMP_CWORD=$((\${#typed[@]} - 1)); _waybill; echo "\${COMPREPLY[*]}"`,
  // Outside of a completion zsh has none of these; what they are given is what it would offer.
  zsh: `words=("\${typed[@]}") CURRENT=\${#typed}; offered=(); _waybill; echo "\${offered[*]}"`,
};

const zshStubs = `compdef() { :; }
compset() { :; }
_files() { offered+=(FILES); }
compadd() { shift; offered+=("$@"); }
_describe() { [[ $1 == -o ]] && shift; local one; for one in "\${(@P)2}"; do offered+=("\${one%%:*}"); done; }`;

describe('completion and the manual page', () => {
  const dir = useTempDir();
  let program: Command;
  let printed: Printed[];

  before(async () => {
    ensure('zsh');
    program = await wholeProgram();
    printed = printedHelp(program);
    expect(printed.length).to.be.above(30);
  });

  function ask(shell: 'bash' | 'zsh', lines: readonly string[][]): string[][] {
    const script = dir.file(`completion.${shell}`);
    writeFileSync(script, completionScript(shell, helpTree(program)));
    const each = lines.map((line) => `typed=(${line.map((word) => `'${word}'`).join(' ')}); ${drivers[shell]}`);
    const file = dir.file(`ask.${shell}`);
    writeFileSync(file, [...(shell === 'zsh' ? [zshStubs] : []), `source ${script}`, ...each].join('\n'));
    const clean = shell === 'zsh' ? ['-f'] : ['--norc', '--noprofile'];
    const said = execFileSync(shell, [...clean, file], { encoding: 'utf8' }).split('\n');
    return lines.map((_, i) => (said[i] ?? '').split(' ').filter(Boolean));
  }

  for (const shell of ['bash', 'zsh'] as const) {
    it(`offers in ${shell} what --help prints, for every command`, () => {
      const lines = printed.flatMap(({ words }) => [
        ['waybill', ...words, ''],
        ['waybill', ...words, '-'],
      ]);
      const offered = ask(shell, lines);
      printed.forEach(({ words, commands, options }, i) => {
        expect(offered[2 * i], words.join(' ')).to.include.members(commands);
        expect(offered[2 * i + 1], words.join(' ')).to.have.members(options);
      });
    });

    it(`offers in ${shell} the values of an option and of an argument, and nothing where a file may stand`, () => {
      const [states, sortOf, afterValue, entity, behindOption, file] = ask(shell, [
        ['waybill', 'outbox', '--state', shell === 'bash' ? 'pa' : ''],
        ['waybill', 'outbox', 'retry', '--entity', ''],
        ['waybill', 'outbox', '--state', 'retry', ''],
        ['waybill', 'resync', ''],
        ['waybill', 'resync', '--key', 'orders', ''],
        ['waybill', 'backup', ''],
      ]);
      if (shell === 'bash') expect(states).to.deep.equal(['parked']);
      else expect(states).to.include.members(['parked', 'pending']);
      expect(sortOf).to.deep.equal(['customer', 'order']);
      expect(afterValue, 'a value is no command').to.include('retry');
      expect(entity).to.deep.equal(['customers', 'orders']);
      expect(behindOption).to.deep.equal(['customers', 'orders']);
      expect(file).to.deep.equal(shell === 'bash' ? [] : ['FILES']);
    });
  }

  it('offers in bash the values behind an equals sign', () => {
    const line = ['waybill', 'outbox', '--state', '='];
    const [all, some] = ask('bash', [line, [...line, 'pa']]);
    expect(all).to.include('delivered');
    expect(some).to.deep.equal(['parked']);
  });

  it('is registered in both shells', () => {
    const script = dir.file('completion');
    writeFileSync(script, completionScript('bash', helpTree(program)));
    expect(
      execFileSync('bash', ['--norc', '-c', `source ${script}; complete -p waybill`], { encoding: 'utf8' }),
    ).to.equal('complete -o default -F _waybill waybill\n');
    writeFileSync(script, completionScript('zsh', helpTree(program)));
    const load = `compdef() { echo "$@"; }; source ${script}`;
    expect(execFileSync('zsh', ['-f', '-c', load], { encoding: 'utf8' })).to.equal('_waybill waybill\n');
    // The first line lets zsh find it in a folder of completions.
    expect(readFileSync(script, 'utf8')).to.match(/^#compdef waybill\n/);
  });

  it('has a manual page with every command, option and argument of --help', () => {
    const page = manPage(helpTree(program), '1.2.3').replaceAll('\\-', '-');
    const sections = page.split(/^\.S[HS] /m);
    for (const { words, commands, options } of printed) {
      const title = words.length === 0 ? 'DESCRIPTION' : `"waybill ${words.join(' ')}"`;
      const section = sections.find((one) => one.startsWith(`${title}\n`)) ?? '';
      expect(section, words.join(' ')).to.not.equal('');
      const terms = [...section.matchAll(/^\.TP\n\.B (.*)\n/gm)].flatMap(
        ([, term = '']) => term.match(/(?<!\S)-[\w-]+/g) ?? [],
      );
      expect(terms, words.join(' ')).to.have.members(options);
      for (const name of commands) if (name !== 'help') expect(page).to.contain(name);
    }
    // A line that begins with a full stop or an apostrophe is a request, and only ours may be one.
    expect(page.match(/^[.'].*/gm)?.filter((line) => !/^\.(TH|SH|SS|TP|PP|B|nf|fi)\b/.test(line))).to.deep.equal([]);
  });
});
