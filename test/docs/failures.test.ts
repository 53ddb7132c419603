import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { projectRoot } from '../support/project-root.js';
import { type Document, documents, typedLines, waybillCommands } from './documents.js';
import { failureProofs } from './failure-proofs.js';
import { parseCommand } from './parse-command.js';

describe('docs/failures.md', () => {
  const page = documents().find(({ path }) => path === 'docs/failures.md') as Document;
  const sections = sectionsOf(page.text);

  it('has a section for each thing that may happen to its reader', () => {
    expect(sections.length).to.be.at.least(30);
  });

  it('has the tests of each section in failure-proofs.ts, and of no other', () => {
    expect(Object.keys(failureProofs).sort()).to.deep.equal(sections.map(({ heading }) => heading).sort());
  });

  it('begins with a table that leads to each section', () => {
    const table = page.text.split('\n## ')[0] as string;
    const linked = [...table.matchAll(/^\| \[([^\]]+)\]\(#([^)]+)\) \|/gm)].map(([, title, anchor]) => ({
      title,
      anchor,
    }));
    expect(linked).to.deep.equal(sections.map(({ heading }) => ({ title: heading, anchor: anchorOf(heading) })));
  });

  for (const [heading, proofs] of Object.entries(failureProofs)) {
    it(`proves what it says: ${heading}`, () => {
      expect(proofs, 'no test is named').to.not.be.empty;
      for (const [file, title] of proofs)
        expect(
          titlesOf(join('test', file)).some((pattern) => pattern.test(title)),
          `${file} has no test “${title}”`,
        ).to.equal(true);
    });
  }

  it('shows only commands that can be typed', () => {
    const inline = [...page.prose.matchAll(/`(waybill [^`\n]+)`/g)].map(([, code = '']) => code);
    const typed = [...page.fences.flatMap(typedLines), ...inline];
    expect(typed).to.have.length.above(30);
    for (const line of typed)
      for (const words of waybillCommands(line).filter(({ length }) => length > 1))
        expect(() => parseCommand(words), line).not.to.throw();
  });
});

function sectionsOf(text: string): { heading: string; text: string }[] {
  return text
    .split(/^### /m)
    .slice(1)
    .map((section) => {
      const end = section.indexOf('\n');
      return { heading: section.slice(0, end), text: section.slice(end).split(/^## /m)[0] as string };
    });
}

/** The anchor of a heading, as the usual renderers of Markdown name it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} -]/gu, '')
    .replaceAll(' ', '-');
}

/** The titles of tests and their groups in a file; what is filled in while it runs may be any text, written as … in the page. */
function titlesOf(file: string): RegExp[] {
  const source = readFileSync(join(projectRoot, file), 'utf8');
  const found = [...source.matchAll(/\b(?:it|describe)\(\s*(['"`])([\s\S]*?)\1,/g)];
  return found.map(([, , title = '']) => {
    const parts = title.replaceAll("\\'", "'").split(/\$\{[^}]*\}/);
    return new RegExp(`^${parts.map((part) => part.replaceAll(/[.*+?^$()[\]{}|\\]/g, '\\$&')).join('.+')}$`);
  });
}
