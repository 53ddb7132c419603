/**
 * The value of a JSON text, or undefined when it is none. JSON has no `undefined`, so the two can't be mixed up.
 *
 * Stricter than JSON.parse, because what is read here decides whether something counts:
 * - A name that stands twice in one object makes the whole ambiguous (RFC 8259, 4): no JSON.
 * - A number that JavaScript would round comes as the text of its digits. An id therefore keeps every digit, and an
 * amount is
 *   refused by a caller that asks for a number.
 * - An amount that is written with a decimal point or an exponent may come as text as well, and does if its value is whole:
 *   1200.0 is 1200 to JavaScript, and nobody could tell any more that the service does not count in the smallest unit.
 * - What is nested deeper than `deepest` is no JSON: code that walks through it would run out of stack.
 *
 * A byte order mark before it is no reason to doubt an acknowledgement (RFC 8259, 8.1).
 * @param isAmount tells by its name whether a field holds an amount of money
 */
export function parseJson(text: string, isAmount: (name: string) => boolean = () => false): unknown {
  const json = text.startsWith('\uFEFF') ? text.slice(1) : text;
  try {
    const value: unknown = JSON.parse(json);
    // Text that JSON.stringify repeats to the letter has no name twice and no whole number with a decimal point, and rounds only
    // long numbers. A short text is not deep.
    if (json.length < 2 * deepest && !/\d{16}/.test(json) && JSON.stringify(value) === json) return value;
    const exact = withExactNumbers(json, isAmount);
    if (exact === json) return value;
    return exact === null ? undefined : JSON.parse(exact);
  } catch {
    return undefined;
  }
}

const deepest = 100;
const number = /-?\d[\d.eE+-]*/y;

/**
 * The same JSON with quotes around every number that JavaScript would round, and around amounts that are decimals; null when a
 * name is repeated, or all is nested too deep. Walks by hand: a pattern for strings runs out of stack on long ones.
 * @param json known to be well-formed
 */
function withExactNumbers(json: string, isAmount: (name: string) => boolean): string | null {
  /** For each open object the names so far; null for an open list. */
  const open: (Set<string> | null)[] = [];
  let isName = false;
  let lastName = '';
  let exact = '';
  let copied = 0;
  for (let at = 0; at < json.length; at++) {
    const char = json[at] as string;
    if (char === '"') {
      const end = endOfString(json, at);
      const names = isName ? open.at(-1) : null;
      if (names) {
        const name = unescaped(json.slice(at + 1, end));
        if (names.has(name)) return null;
        names.add(name);
        lastName = name;
        isName = false;
      }
      at = end;
    } else if (char === '{' || char === '[') {
      open.push(char === '{' ? new Set() : null);
      if (open.length > deepest) return null;
      isName = char === '{';
    } else if (char === '}' || char === ']') {
      open.pop();
      isName = false;
    } else if (char === ',') isName = open.at(-1) !== null;
    else if (startsNumber(char)) {
      number.lastIndex = at;
      const digits = number.exec(json)?.[0] ?? char;
      const end = at + digits.length;
      if (!isExact(digits) || (/[.eE]/.test(digits) && isAmount(lastName))) {
        exact += `${json.slice(copied, at)}"${digits}"`;
        copied = end;
      }
      at = end - 1;
    }
  }
  return copied === 0 ? json : exact + json.slice(copied);
}

function startsNumber(char: string): boolean {
  return char === '-' || (char >= '0' && char <= '9');
}

function unescaped(written: string): string {
  return written.includes('\\') ? (JSON.parse(`"${written}"`) as string) : written;
}

function endOfString(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); ; end = json.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (json[end - 1 - backslashes] === '\\') backslashes++;
    if (backslashes % 2 === 0) return end;
  }
}

/** A decimal of up to fifteen digits survives the way into a double and back, and so does what a double is written as. */
export function isExact(digits: string): boolean {
  if (/^-?\d{1,15}$/.test(digits)) return true;
  const value = Number(digits);
  if (/^-?\d+$/.test(digits)) return Number.isSafeInteger(value);
  if (String(value) === digits) return true;
  const significant = digits
    .replace(/[eE].*$/, '')
    .replaceAll(/[-.]/g, '')
    .replace(/^0+/, '')
    .replace(/0+$/, '');
  return Number.isFinite(value) && significant.length <= 15 && (value !== 0 || significant === '');
}
