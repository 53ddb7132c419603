/**
 * The value of a JSON text, or undefined when it is none. JSON has no `undefined`, so the two can't be mixed up.
 * A byte order mark before it is no reason to doubt an acknowledgement (RFC 8259, 8.1).
 */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    return undefined;
  }
}
