/** The value of a JSON text, or undefined when it is none. JSON has no `undefined`, so the two can't be mixed up. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
