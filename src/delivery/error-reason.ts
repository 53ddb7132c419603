import { parseJson } from './parse-json.js';

export interface ErrorBody {
  code: string | null;
  /** One readable line of bounded length. */
  message: string;
}

const maxLength = 300;
/** What a person would read. The patterns below take time that grows with the square of a hostile text. */
const maxRead = 10_000;

/** Makes one line of whatever a service calls an error: problem+json, {error:{…}}, {message}, text or a page of HTML. */
export function errorBody(body: string): ErrorBody {
  const value = parseJson(body);
  if (typeof value === 'object' && value !== null) {
    const outer = value as Record<string, unknown>;
    const inner = (typeof outer.error === 'object' && outer.error !== null ? outer.error : outer) as Record<
      string,
      unknown
    >;
    const code = firstText(
      inner.code,
      outer.code,
      outer.type,
      typeof outer.error === 'string' ? outer.error : undefined,
    );
    const message =
      firstText(inner.message, inner.detail, inner.title, outer.error_description, outer.error) ??
      body.slice(0, maxRead);
    return { code: code && oneLine(code), message: oneLine(message) };
  }
  const start = body.slice(0, maxRead);
  const text = /<html|<!doctype|<body/i.test(start)
    ? start.replace(/<(script|style)[\s\S]*?<\/\1>/gi, ' ').replace(/<[^>]*>/g, ' ')
    : start;
  return { code: null, message: oneLine(text) };
}

function firstText(...candidates: unknown[]): string | null {
  for (const candidate of candidates) {
    if (typeof candidate === 'string' && candidate !== '') return candidate.slice(0, maxLength);
    if (typeof candidate === 'number') return String(candidate);
  }
  return null;
}

function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a service's control characters must not reach a terminal
  const line = text.replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ').trim();
  return line.length > maxLength ? `${line.slice(0, maxLength - 1)}…` : line;
}
