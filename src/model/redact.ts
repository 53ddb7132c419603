import { writingsOf } from './writings-of.js';

/** Takes known secrets and bearer tokens out of a text. To be used before a text is cut: half a token is a leak too. */
export function redact(text: string, secrets: readonly string[]): string {
  let safe = text;
  for (const secret of secrets.flatMap(writings)) safe = safe.replaceAll(secret, '[secret]');
  safe = safe.replace(privateKey, '[secret]');
  return safe.replace(/\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi, '$1 [secret]');
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
