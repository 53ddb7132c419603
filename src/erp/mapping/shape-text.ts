/** How a text of the ERP is put into the form that the service wants. What is not given leaves it as it stands. */
export interface TextShape {
  trim?: boolean | undefined;
  case?: 'upper' | 'lower' | undefined;
}

const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' });

/** The same for every locale of this machine, so that a record reads the same on all of them. */
export function shapeText(text: string, { trim, case: letters }: TextShape): string {
  const trimmed = trim ? text.trim() : text;
  if (letters === undefined) return trimmed;
  return letters === 'upper' ? trimmed.toUpperCase() : trimmed.toLowerCase();
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
