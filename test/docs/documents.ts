import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../support/project-root.js';

export interface Fence {
  language: string;
  text: string;
}

export interface Document {
  /** Relative to the project. */
  path: string;
  text: string;
  fences: Fence[];
  /** The text without its fences. */
  prose: string;
}

const fence = /^```(\S*)\n([\s\S]*?)^```$/gm;

/** The pages that people read, the README first: whoever starts there finds the rest in this order. */
export function documents(): Document[] {
  const docs = ['operating', 'failures', 'mapping', 'sandbox', 'invoices', 'settings', 'architecture', 'measurements'];
  const found = readdirSync(join(projectRoot, 'docs')).filter((name) => name.endsWith('.md'));
  const others = found.filter((name) => !docs.includes(name.replace(/\.md$/, '')));
  const paths = ['README.md', ...docs.map((name) => `docs/${name}.md`), ...others.map((name) => `docs/${name}`)];
  return [...paths, 'CHANGELOG.md'].map(readDocument);
}

function readDocument(path: string): Document {
  const text = readFileSync(join(projectRoot, path), 'utf8');
  const fences = [...text.matchAll(fence)].map(([, language = '', body = '']) => ({ language, text: body }));
  return { path, text, fences, prose: text.replace(fence, '') };
}

/** The anchors that GitHub gives to the headings of a page. */
export function anchors({ prose }: Document): string[] {
  return [...prose.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** The lines of a fence that somebody types, with what is continued on the next line. */
export function typedLines({ language, text }: Fence): string[] {
  const lines = text.replaceAll('\\\n', ' ').split('\n');
  if (language === 'sh') return lines.filter((line) => line.trim() !== '');
  if (language === 'console') return lines.filter((line) => /^[#$] /.test(line)).map((line) => line.slice(2));
  return [];
}

/** The `waybill` commands of a typed line, as words, however they are called. */
export function waybillCommands(line: string): string[][] {
  return line.split('&&').flatMap((part) => {
    // The shell decides about the output's destination, and about waiting.
    const words = shellWords(part.replace(/ (> \S+|&)$/, '').trim());
    if (words[0] === 'waybill') return [words.slice(1)];
    if (words[0] !== 'npm' || words[1] !== 'run') return [];
    const [script = '', ...rest] = words.slice(2).filter((word) => word !== '--silent');
    const given = rest[0] === '--' ? rest.slice(1) : rest;
    if (script === 'waybill') return [given];
    return ['audit', 'resync', 'sandbox', 'demo'].includes(script) ? [[script, ...given]] : [];
  });
}

/** Words as a shell takes them, without expansions. */
export function shellWords(text: string): string[] {
  return [...text.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)].map(([word]) =>
    word.replaceAll(/"([^"]*)"|'([^']*)'/g, '$1$2'),
  );
}
