/**
 * Characters that a terminal obeys, that begin a new line where we began none, or that turn the direction of writing. The
 * line feed alone is not among them.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern finds control characters
const obeyed = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** Shows each of these characters as JSON writes it (`\u202e`), so that JSON stays the same JSON. Line feeds stay. */
export function harmless(text: string): string {
  return text.replace(obeyed, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The same, of a text that must not begin a line: its line breaks and tabs become spaces. */
export function harmlessLine(text: string): string {
  return harmless(text.replace(/[\t\n\r]+/g, ' '));
}
