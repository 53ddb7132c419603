import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import { allCommands } from '../../src/cli/run.js';
import { settingList } from '../../src/config/setting-list.js';
import { alertKinds } from '../../src/store/alerts.js';
import { projectRoot } from '../support/project-root.js';
import { anchors, documents, shellWords, typedLines, waybillCommands } from './documents.js';
import { parseCommand, withSubcommands } from './parse-command.js';

/**
 * The blocks that are shown and not run, with the reason. Everything else that is typed stands in `sh` blocks, which a
 * test runs.
 */
const notRun: [RegExp, string][] = [
  [/^npm (ci|prune|run build|test)\b/, 'it installs or tests the project itself'],
  [/^npm run sandbox\b/, 'it runs until it is stopped; the tests start the sandbox'],
  [/^(useradd|install|systemctl|cp -r|cp -a|cp systemd)/, 'it changes the machine'],
  [
    /^apt (install|remove)\b|^npm install\b|^editor\b/,
    'it changes the machine; `npm run package:try` does it in a clean one',
  ],
  [/^journalctl\b/, 'it needs a running systemd'],
  [/^(cd|git pull)\b/, 'it belongs to its neighbours'],
  [/^npm run demo\b/, 'its output is compared by a test of its own'],
  [/^(before=|(mkdir|echo|git checkout|rm) )/, 'upgrade.test.ts runs it'],
  [/^waybill /, 'the README shows it already, or it needs a daemon or a parked record; it is parsed'],
];

const commands = await allCommands();

describe('the documents', () => {
  const all = documents();

  it('lead to pages and headings that are there', () => {
    const broken: string[] = [];
    for (const document of all) {
      for (const [, target = ''] of document.prose.matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^https?:/.test(target)) continue;
        const [file = '', anchor] = target.split('#');
        const path = file === '' ? document.path : normalize(join(dirname(document.path), file));
        const page = all.find((one) => one.path === path);
        if (!existsSync(join(projectRoot, path))) broken.push(`${document.path}: ${target}`);
        else if (anchor !== undefined && !(page && anchors(page).includes(anchor)))
          broken.push(`${document.path}: ${target}`);
      }
    }
    expect(broken).to.deep.equal([]);
  });

  const alerts = [...(all.find(({ path }) => path === 'docs/operating.md')?.prose ?? '').matchAll(/^\| (`[^|]+) \|/gm)]
    .flatMap(([, cell = '']) => [...cell.matchAll(/`([a-z_-]+\.[a-z_*.-]+|parked|silence|waiting)`/g)])
    .map(([, cause = '']) => cause);

  it('say what to do at each alert', () => {
    expect([...new Set(alerts.map((cause) => cause.split('.')[0]))]).to.have.members([...alertKinds]);
  });

  it('name only settings that exist', () => {
    const paths = settingList.map(({ path }) => path);
    const groups = [...new Set(paths.map((path) => path.split('.')[0]))];
    const setting = new RegExp(`^(${groups.join('|')})\\.[A-Za-z.]+$`);
    const unknown = all.flatMap(({ path: page, prose }) =>
      [...prose.matchAll(/`([^`\n]+)`/g)]
        .map(([, code = '']) => code.split(':')[0] ?? '')
        .filter((code) => !alerts.includes(code) && !/^capture\.SOURCE/.test(code))
        .filter((code) => setting.test(code) && !/\.(ts|sqlite|yaml)$/.test(code))
        .filter((code) => !paths.some((path) => path === code || path.startsWith(`${code}.`)))
        // Below a group of names (fields) everything is the reader's.
        .filter((code) => !paths.some((path) => path.endsWith('fields') && code.startsWith(`${path}.`)))
        .map((code) => `${page}: ${code}`),
    );
    expect(unknown).to.deep.equal([]);
  });

  it('show YAML that can be read', () => {
    for (const { fences, path } of all)
      for (const { language, text } of fences) if (language === 'yaml') expect(() => parse(text), path).not.to.throw();
  });

  it('say of each block what it is, so that what can be run is run', () => {
    const known = ['sh', 'console', 'text', 'yaml', 'sql', 'json', 'ini', 'mermaid', 'python'];
    for (const { fences, path } of all) for (const { language } of fences) expect(known, path).to.include(language);
  });

  it('show without running it only what a test can not run', () => {
    // quickstart.test.ts types all of its page.
    for (const { fences, path } of all.filter((one) => one.path !== 'docs/quickstart.md'))
      for (const fence of fences.filter(({ language }) => language === 'console'))
        for (const line of typedLines(fence))
          for (const part of line.split(' && '))
            expect(
              notRun.some(([pattern]) => pattern.test(part)),
              `${path}: ${part}`,
            ).to.equal(true);
  });

  it('call commands with options that exist', () => {
    for (const { fences, prose, path } of all) {
      const inline = [...prose.matchAll(/`((?:waybill|npm run) [^`\n]+)`/g)].map(([, code = '']) => code);
      for (const line of [...fences.flatMap(typedLines), ...inline])
        for (const words of waybillCommands(line)) {
          // `waybill …` and `waybill explain` speak of commands and call none.
          if (words.includes('…') || words.length === 1) continue;
          expect(() => parseCommand(words), `${path}: ${line}`).not.to.throw();
        }
    }
  });

  it('mention every command and subcommand', () => {
    const text = all.map((document) => document.text).join('\n');
    for (const { words } of commands.flatMap((command) => withSubcommands(command))) {
      const name = words.join(' ');
      expect(text, name).to.match(new RegExp(`(waybill|npm run|waybill --) ${name}\\b`));
    }
  });
});

describe('the help of every command', () => {
  for (const { words, command } of commands.flatMap((one) => withSubcommands(one))) {
    it(`has an example that can be typed: waybill ${words.join(' ')}`, () => {
      let help = '';
      command.configureOutput({
        writeOut: (text) => {
          help += text;
        },
      });
      command.outputHelp();
      const example = /\nExample:\n {2}waybill (.+)\n?$/.exec(help)?.[1] ?? '';
      expect(example.startsWith(words.join(' ')), help).to.equal(true);
      expect(() => parseCommand(shellWords(example))).not.to.throw();
    });
  }
});
