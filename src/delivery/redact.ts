const maxExcerpt = 500;

/**
 * A bounded excerpt of a body for the audit, with everything taken out that looks like a credential, and without control
 * characters, which would reach the terminal of whoever reads it.
 * @param secrets the values that are known, e.g. the token in use
 */
export function excerptOf(body: string, secrets: readonly string[]): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: see above
  const plain = redact(body, secrets).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, ' ');
  return plain.slice(0, maxExcerpt);
}

/** Takes known secrets and bearer tokens out of a text. To be used before a text is cut: half a token is a leak too. */
export function redact(text: string, secrets: readonly string[]): string {
  let safe = text;
  for (const secret of secrets.flatMap(writings)) safe = safe.replaceAll(secret, '[secret]');
  return safe.replace(/\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi, '$1 [secret]');
}

/** A service that echoes a header may do so in JSON (some escape the slash as well) or in an address. */
function writings(secret: string): string[] {
  if (secret.length < 4) return [];
  const inJson = JSON.stringify(secret).slice(1, -1);
  return [...new Set([secret, inJson, inJson.replaceAll('/', '\\/'), encodeURIComponent(secret)])];
}
