import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { shellWords } from '../docs/documents.js';
import { parseCommand } from '../docs/parse-command.js';
import { projectRoot } from '../support/project-root.js';

const placeholder = /\$\{(?:[^{}`]|`[^`]*`)*\}/;
/** In backticks, or at the end of a sentence, after a colon. */
const command = new RegExp(`(?:\`|: )(waybill [a-z](?:${placeholder.source}|[^\`'\\n\\\\])*)[\`'\\\\]`, 'g');

/** Values for the placeholders of a template. */
function filled(template: string): string {
  const value = (one: string) => {
    if (one.includes('plural') || one.includes('subject')) return 'orders';
    if (/^..(entity|one).$/.test(one)) return 'order';
    // An option that may be left out, and is.
    if (one.includes('?')) return '';
    return one.includes('lane') ? 'pull' : '1';
  };
  const [first = ''] = template.replaceAll(new RegExp(placeholder, 'g'), value).split(/, | \(|\.$| --help/);
  return first.replaceAll(/<(\w+)\|\w+>/g, '$1');
}

/** A sentence may leave out the reason that every action wants; a command without options is named, and not typed. */
function parse(words: readonly string[]): void {
  try {
    parseCommand(words);
  } catch (error) {
    const { code } = error as { code?: string };
    const lacksReason = code === 'commander.missingMandatoryOptionValue';
    if (lacksReason) parseCommand([...words, '--reason', 'a test']);
    const isName = code === 'commander.missingArgument' && words.every((word) => !word.startsWith('-'));
    if (!isName && !lacksReason) throw error;
  }
}

describe('the commands that sentences recommend', () => {
  for (const room of ['words', 'telling', 'cli', 'desk'])
    it(`are commands with options that exist: ${room}`, () => {
      const folder = join(projectRoot, 'src', room);
      const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name));
      const wrong: string[] = [];
      for (const file of files) {
        const text = readFileSync(join(folder, file), 'utf8').replaceAll(/^ *(\/?\*|\/\/).*$/gm, '');
        for (const [, found = ''] of text.matchAll(command)) {
          const [, ...words] = shellWords(filled(found));
          // A command alone is a name.
          if (words.length < 2 || words.includes('…')) continue;
          try {
            parse(words);
          } catch (error) {
            wrong.push(`${file}: ${words.join(' ')}: ${(error as Error).message}`);
          }
        }
      }
      expect(wrong).to.deep.equal([]);
    });
});
