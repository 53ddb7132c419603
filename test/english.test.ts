import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { projectRoot } from './support/project-root.js';

describe('the English of comments', () => {
  it('names the subject first: few sentences open with a clause that stands for it', () => {
    const files = ['src', 'test', 'bench'].flatMap((folder) =>
      readdirSync(join(projectRoot, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
    );
    const sentences = files
      .filter((file) => /\.tsx?$/.test(file))
      .flatMap((file) =>
        sentencesOf(readFileSync(join(projectRoot, file), 'utf8')).map((sentence) => `${file}: ${sentence}`),
      );
    const clauses = sentences.filter((one) => /^\S+: (What|Whether|How|So|Who|Of|Where|By)\b/.test(one));
    expect(sentences.length).to.be.above(5000);
    expect(clauses.length / sentences.length, clauses.join('\n')).to.be.below(0.02);
  });

  it('is read from blocks, from lines that belong together, and from ends of lines', () => {
    const source = [
      '/** A block. What follows. */',
      'const a = 1; // An end.',
      '// A line that goes',
      '// on. Another one.',
      '/**',
      ' * A longer block.',
      ' * @returns a number',
      ' */',
      "const b = 'http://example';",
    ].join('\n');
    expect(sentencesOf(source)).to.deep.equal([
      'A block.',
      'What follows.',
      'An end.',
      'A line that goes on.',
      'Another one.',
      'A longer block.',
      'a number',
    ]);
  });
});

/** The sentences of all comments in a source file, in order. Texts behind tags such as `@returns` count as their own. */
function sentencesOf(source: string): string[] {
  const comments: string[] = [];
  let isGoingOn = false;
  let inBlock = false;
  for (const line of source.split('\n')) {
    const block = inBlock ? /^\s*(?:\*(?!\/))?(.*)/.exec(line) : /(?:^\s*|[\s{])\/\*+(.*)/.exec(line);
    const text = block?.[1] ?? /(?:^\s*|[;,{}\])]\s+)\/\/\s(.*)/.exec(line)?.[1];
    const isAlone = /^\s*\/\//.test(line);
    if (text !== undefined && !/biome-ignore/.test(text)) {
      const said = text.replace(/\*\/.*/, '');
      if (inBlock || (isAlone && isGoingOn)) comments.push(`${comments.pop() ?? ''}\n${said}`);
      else comments.push(said);
    }
    isGoingOn = isAlone;
    if (block) inBlock = !line.includes('*/');
  }
  return comments
    .flatMap((comment) => comment.replace(/@(param\s+\S+|returns|throws(\s+\S+)?)/g, '\n\n').split(/\n\s*\n/))
    .flatMap((paragraph) => paragraph.replace(/\s+/g, ' ').split(/(?<=[.!?:])\s+(?=[A-Z`'"])/))
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence.length > 2);
}
