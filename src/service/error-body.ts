import { type ErrorPlaces, usualErrorPlaces, valueAt } from '../model/json-place.js';
import { parseJson } from './parse-json.js';

interface ErrorBody {
  code: string | null;
  /** One readable line of bounded length. */
  message: string;
}

const maxLength = 300;
/** What a person would read. The patterns below take time that grows with the square of a hostile text. */
const maxRead = 10_000;
const maxDetails = 5;
const deepest = 100;

/**
 * Makes one line of whatever a service calls an error: problem+json (RFC 9457), {error:{code,message}}, {message},
 * {errors:[{field,message}]}, text or a page of HTML.
 * @param places where a JSON body says it; see `service.errorBody`
 */
export function errorBody(body: string, places: ErrorPlaces = usualErrorPlaces): ErrorBody {
  const value = parseJson(body, deepest);
  if (typeof value === 'object' && value !== null) {
    const code = firstText(value, places.code);
    const words = firstText(value, places.message);
    const details = places.details.map((place) => inWords(valueAt(value, place))).find((found) => found !== '') ?? '';
    const message = words === null ? details : details === '' || details === words ? words : `${words} (${details})`;
    return { code: code && oneLine(code), message: oneLine(message || body.slice(0, maxRead)) };
  }
  const start = body.slice(0, maxRead);
  const text = /<html|<!doctype|<body/i.test(start)
    ? start.replace(/<(script|style)[\s\S]*?<\/\1>/gi, ' ').replace(/<[^>]*>/g, ' ')
    : start;
  return { code: null, message: oneLine(text) };
}

function firstText(value: unknown, places: readonly string[]): string | null {
  for (const place of places) {
    const found = plain(valueAt(value, place));
    if (found !== null) return found;
  }
  return null;
}

function plain(value: unknown): string | null {
  if (typeof value === 'string' && value !== '') return value.slice(0, maxLength);
  return typeof value === 'number' ? String(value) : null;
}

/** Which fields are wrong, in words: of texts, of objects with field and message, of a list of either, or of lists by field. */
function inWords(value: unknown): string {
  const text = plain(value);
  if (text !== null) return text;
  if (typeof value !== 'object' || value === null) return '';
  if (Array.isArray(value)) return listed(value.map(inWords));
  const says = firstText(value, ['message', 'detail', 'reason', 'title', 'msg']);
  const field = firstText(value, ['field', 'name', 'path', 'pointer', 'param']);
  if (says !== null) return field === null ? says : `${field}: ${says}`;
  const byField = Object.entries(value).map(([name, found]) => [
    name,
    Array.isArray(found) ? listed(found.map(plain)) : plain(found),
  ]);
  return listed(byField.map(([name, found]) => (found ? `${name?.slice(0, maxLength)}: ${found}` : '')));
}

function listed(found: readonly (string | null)[]): string {
  const said = found.filter((one) => one !== null && one !== '');
  const more = said.length > maxDetails ? [`${said.length - maxDetails} more`] : [];
  return [...said.slice(0, maxDetails), ...more].join('; ');
}

function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a service's control characters must not reach a terminal
  const line = text.replace(/[\s\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g, ' ').trim();
  // Half of a pair, which a cut may leave behind, is no text that every database takes.
  const cut = line.length > maxLength ? `${line.slice(0, maxLength - 1)}…` : line;
  return cut.replaceAll(/\p{Surrogate}/gu, '\ufffd');
}
