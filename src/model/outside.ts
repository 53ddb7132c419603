declare const opaque: unique symbol;

/**
 * Text from outside: a service's words, a database's message, a value of the ERP. Opaque, so that nothing can be decided by
 * it: comparing or searching it does not compile. `openOutside` reads it, and only the places that
 * `test/architecture.test.ts` lists may import that. At run time it is `{ outside: text }`, which JSON carries as it is.
 */
export interface Outside {
  readonly [opaque]: true;
}

/** Longest text that is kept, in characters as people count them. */
const defaultMaxLength = 300;

/**
 * Takes a text in from outside: one line of bounded length, without characters that a terminal obeys. Secrets must be masked
 * before, because a cut may leave half of one.
 */
export function outside(text: string, maxLength = defaultMaxLength): Outside {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters must not reach a terminal
  const line = text.replace(/[\s\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g, ' ').trim();
  // Half of a surrogate pair is no text that every database takes.
  return opened(cut(line, maxLength).replaceAll(/\p{Surrogate}/gu, '\ufffd'));
}

/** Shortens a text from outside further. */
export function shortened(text: Outside, maxLength: number): Outside {
  return opened(cut(openOutside(text), maxLength));
}

/** Reads a text from outside, for the few that may: see `Outside`. */
export function openOutside(text: Outside): string {
  return (text as unknown as { outside: string }).outside;
}

export function isOutside(value: unknown): value is Outside {
  return typeof value === 'object' && value !== null && typeof (value as { outside?: unknown }).outside === 'string';
}

/** A copy of data with each text from outside changed. */
export function mapOutside<T>(data: T, change: (text: Outside) => Outside): T {
  const map = (value: unknown): unknown => {
    if (isOutside(value)) return change(value);
    if (Array.isArray(value)) return value.map(map);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, map(member)]));
  };
  return map(data) as T;
}

/**
 * A copy without the texts from outside: each becomes `…`. For what names a person where nothing of that person may be kept.
 */
export function withoutOutside<T>(value: T): T {
  return mapOutside(value, () => outside('…'));
}

function opened(text: string): Outside {
  return { outside: text } as unknown as Outside;
}

function cut(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const characters = Array.from(text);
  return characters.length > maxLength ? `${characters.slice(0, maxLength - 1).join('')}…` : text;
}
