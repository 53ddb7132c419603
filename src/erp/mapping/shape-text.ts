import { decodeHTMLStrict } from 'entities';
import { Parser } from 'htmlparser2';

/** The form that the service wants of a text of the ERP. A setting that is not given leaves it as it stands. */
export interface TextShape {
  /** strip: the text of an HTML note. decode: characters for entities, in a text that is no HTML otherwise. */
  html?: 'strip' | 'decode' | undefined;
  trim?: boolean | undefined;
  case?: 'upper' | 'lower' | undefined;
}

const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' });

/** The same for every locale of this machine, so that a record reads the same on all of them. */
export function shapeText(text: string, { html, trim, case: letters }: TextShape): string {
  const plain = html === undefined ? text : withoutHtml(text, html);
  const trimmed = trim ? plain.trim() : plain;
  if (letters === undefined) return trimmed;
  return letters === 'upper' ? trimmed.toUpperCase() : trimmed.toLowerCase();
}

function withoutHtml(text: string, html: NonNullable<TextShape['html']>): string {
  return html === 'strip' ? stripHtml(text) : decodeHTMLStrict(text);
}

const UNSEEN = new Set(['script', 'style', 'head', 'template']);
const INLINE = new Set(
  'a abbr b bdi bdo big cite code del dfn em font i ins kbd mark q s samp small span strike strong sub sup tt u var wbr'.split(
    ' ',
  ),
);
/** Text in angle brackets in a plain text, such as an address of mail or of the web, is no tag. */
const TAG_NAME = /^[a-z][a-z0-9]*([:_-][a-z0-9]+)*$/;

/** The lines that a reader of the HTML sees. A text without tags and entities stays as it is. */
function stripHtml(text: string): string {
  if (!/[<&]/.test(text)) return text;
  // A tag that never ends is text: a parser would drop everything behind it.
  const last = text.lastIndexOf('<');
  const html = last < 0 || text.includes('>', last) ? text : `${text.slice(0, last)}&lt;${text.slice(last + 1)}`;
  let seen = '';
  let unseen = 0;
  const parser = new Parser({
    ontext(piece) {
      if (unseen === 0) seen += piece.replace(/[ \t\r\n\f]+/g, ' ');
    },
    onopentag(name) {
      if (UNSEEN.has(name)) unseen += 1;
      if (!TAG_NAME.test(name)) seen += html.slice(parser.startIndex, parser.endIndex + 1);
      else if (!INLINE.has(name)) seen += '\n';
    },
    onclosetag(name) {
      if (UNSEEN.has(name)) unseen -= 1;
      if (TAG_NAME.test(name) && !INLINE.has(name)) seen += '\n';
    },
  });
  parser.end(html);
  const lines = seen.split('\n').map((line) => line.replace(/ +/g, ' ').trim());
  return lines.filter((line) => line !== '').join('\n');
}

/** Characters as people and services count them: code points. */
export function lengthOf(text: string): number {
  return [...text].length;
}

/** The beginning of a text that is too long, with the mark at its end: at most `maxLength` code points, no character split. */
export function cutText(text: string, maxLength: number, mark: string): string {
  const room = maxLength - lengthOf(mark);
  let kept = '';
  let length = 0;
  for (const { segment } of graphemes.segment(text)) {
    length += lengthOf(segment);
    if (length > room) break;
    kept += segment;
  }
  return kept + mark;
}
