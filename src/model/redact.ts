/** Takes known secrets and bearer tokens out of a text. To be used before a text is cut: half a token is a leak too. */
export function redact(text: string, secrets: readonly string[]): string {
  let safe = text;
  for (const secret of secrets.flatMap(writings)) safe = safe.replaceAll(secret, '[secret]');
  return safe.replace(/\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi, '$1 [secret]');
}

/** A service that echoes a header may do so in JSON (some escape the slash as well) or in an address, and a log line is JSON again. */
function writings(secret: string): string[] {
  if (secret.length < 4) return [];
  const echoed = [secret, inJson(secret), inJson(secret).replaceAll('/', '\\/'), encodeURIComponent(secret)];
  const all = new Set([...echoed, ...echoed.map(inJson)]);
  // The longest first: a shorter one may be a part of it.
  return [...all].sort((a, b) => b.length - a.length);
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
