/** Names of characters in HTML that a key may hold. */
const named: Readonly<Record<string, string>> = {
  '&': 'amp',
  '<': 'lt',
  '>': 'gt',
  '"': 'quot',
  "'": 'apos',
  '+': 'plus',
  '=': 'equals',
  '/': 'sol',
};
const inJson: Readonly<Record<string, string>> = { '\n': 'n', '\r': 'r', '\t': 't', '\b': 'b', '\f': 'f' };
const longestPiece = 1_000;

/**
 * The ways in which a secret may be echoed: as it is, in hexadecimal, or in base64, also as a part of something longer; in JSON,
 * whichever characters that escapes and however often it is JSON again (a log line); in an address, a form or HTML. Letters and
 * digits stand for themselves in all of them.
 */
function writingsOf(secret: string): RegExp[] {
  if (secret.length < 4) return [];
  const hex = Buffer.from(secret).toString('hex');
  // In base64 it looks different after one or two other bytes. A short one would leave too little to tell it by.
  const base64 = secret.length < 8 ? [inBase64(secret, 0)] : [0, 1, 2].map((before) => inBase64(secret, before));
  const forAddresses = base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'));
  const echoed = new Set([secret, hex, hex.toUpperCase(), ...base64, ...forAddresses]);
  // The longest first: a shorter one may be a part of it.
  return [...echoed]
    .sort((a, b) => b.length - a.length)
    .flatMap(pieces)
    .map((characters) => new RegExp(characters.map(writingsOfCharacter).join(''), 'g'));
}

/** The characters of base64 that the secret alone decides, where so many bytes stand before it, and any behind it. */
function inBase64(secret: string, before: number): string {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
  return bytes.toString('base64').slice(Math.ceil((before * 4) / 3), Math.floor((bytes.length * 4) / 3));
}

/** A pattern for a secret of many thousands of characters would run out of stack: each piece of it is looked for by itself. */
function pieces(text: string): string[][] {
  const characters = Array.from(text);
  const size = Math.ceil(characters.length / Math.ceil(characters.length / longestPiece));
  const starts = Array.from({ length: Math.ceil(characters.length / size) }, (_, nth) => nth * size);
  return starts.map((start) => characters.slice(start, start + size));
}

function writingsOfCharacter(character: string): string {
  if (/[A-Za-z0-9]/.test(character)) return character;
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  const short = inJson[character];
  const name = named[character];
  const code = character.codePointAt(0) as number;
  return `(?:${[
    ...(short === undefined ? [] : [`\\\\{1,8}${short}`]),
    units.map((unit) => `\\\\{1,8}u${hex(unit, 4)}`).join(''),
    Array.from(Buffer.from(character), (byte) => `%(?:25){0,4}${hex(byte, 2)}`).join(''),
    `&(?:amp;){0,4}#0{0,8}${code};`,
    `&(?:amp;){0,4}#[xX]0{0,8}${hex(code, 1)};`,
    ...(name === undefined ? [] : [`&(?:amp;){0,4}${name};`]),
    ...(character === ' ' ? ['\\+'] : []),
    // Within a word that a shell reads.
    ...(character === "'" ? ["'\\\\{1,8}''"] : []),
    // Last, because an & begins what was tried before. A backslash before it, or several where JSON stands in JSON.
    `\\\\{0,8}${character.replace(/[^\w\s]/, '\\$&')}`,
  ].join('|')})`;
}

/** In either case. */
function hex(number: number, digits: number): string {
  return number
    .toString(16)
    .padStart(digits, '0')
    .replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

/** The text in the place of a secret. */
export const secretMark = '[secret]';

/** No shorter text names a bearer token: `basic`, a space and eight characters of it. */
const leastBearer = 14;

/** Takes known secrets and bearer tokens out of a text. To be used before a text is cut: half a token is a leak too. */
export function redact(text: string, secrets: readonly string[]): string {
  let safe = text;
  for (const secret of secrets) {
    // Every writing of a character is one character at least, of which some secrets have half as many as units, and a piece has 500.
    if (safe.length < Math.min(secret.length, longestPiece) / 2) continue;
    for (const writing of writings(secret)) safe = safe.replaceAll(writing, secretMark);
  }
  if (safe.length < leastBearer) return safe;
  safe = safe.replace(privateKey, secretMark);
  return safe.replace(/\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi, `$1 ${secretMark}`);
}

/**
 * A part of JSON whose text is redacted as a whole afterwards: a bare word, such as a number, that holds a secret becomes a text,
 * so that it stays JSON. Passwords such as 2026 exist.
 */
export function quotedWhereSecret(part: unknown, secrets: readonly string[]): unknown {
  if (typeof part !== 'number' && typeof part !== 'boolean' && part !== null) return part;
  return redact(String(part), secrets) === String(part) ? part : String(part);
}

/** A private key in PEM, also where its line breaks were escaped, and where its end is missing. */
const privateKey = /-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|$)/gs;

/** The same few secrets are looked for in every answer. */
const known = new Map<string, RegExp[]>();
const mostKnown = 100;

function writings(secret: string): RegExp[] {
  let all = known.get(secret);
  if (!all) {
    if (known.size >= mostKnown) known.clear();
    all = writingsOf(secret);
    known.set(secret, all);
  }
  return all;
}

/**
 * Characters that a terminal obeys, that begin a new line where we began none, that turn the direction of writing, or that
 * stand unseen between others, so that two texts look the same. The line feed alone is not among them, nor are the joiners that
 * writings and emoji need.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern finds control characters
const obeyed = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** Shows each of these characters as JSON writes it (`\u202e`), so that JSON stays the same JSON. Line feeds stay. */
export function harmless(text: string): string {
  return text.replace(obeyed, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The same, of a text that must not begin a line: its line breaks and tabs become spaces. */
export function harmlessLine(text: string): string {
  return harmless(text.replace(/[\t\n\r]+/g, ' '));
}
