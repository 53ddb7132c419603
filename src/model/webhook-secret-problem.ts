/** Why a text can't be the secret that signs webhooks, or null. The standard's secrets are base64 of 24 to 64 bytes. Pure. */
export function webhookSecretProblem(scheme: 'standard' | 'hmac', secret: string): string | null {
  if (scheme === 'hmac') return secret.length < 16 ? 'has fewer than 16 characters' : null;
  const text = secret.replace(/^whsec_/, '');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text) || text.length % 4 !== 0)
    return 'is not base64, with or without whsec_ before it';
  const bytes = Buffer.from(text, 'base64').length;
  return bytes < 24 || bytes > 64 ? `has ${bytes} bytes; Standard Webhooks asks for 24 to 64` : null;
}
