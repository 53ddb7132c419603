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
const known = new Map<string, string[]>();
const mostKnown = 100;

function writings(secret: string): string[] {
  let all = known.get(secret);
  if (!all) {
    if (known.size >= mostKnown) known.clear();
    all = writingsOf(secret);
    known.set(secret, all);
  }
  return all;
}

/** A service that echoes a header may do so in JSON (some escape the slash as well) or in an address, and a log line is JSON again. */
function writingsOf(secret: string): string[] {
  if (secret.length < 4) return [];
  const echoed = [
    secret,
    inJson(secret),
    inJson(secret).replaceAll('/', '\\/'),
    encodeURIComponent(secret),
    inBase64(secret),
  ];
  const all = new Set([...echoed, ...echoed.map(inJson)]);
  // The longest first: a shorter one may be a part of it.
  return [...all].sort((a, b) => b.length - a.length);
}

/** Without its padding, so that it is also found as the beginning of something longer. */
function inBase64(text: string): string {
  return Buffer.from(text).toString('base64').replace(/=+$/, '').slice(0, -1);
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
