/**
 * The bytes that leave for the service: the frozen body, with the key as its first field where the service wants it there.
 * Made from the text, not from the value, so that the same body and key are the same bytes for ever.
 * @param body a JSON object, or nothing for a removal, which then carries no key
 * @param keyField null where a header carries the key
 */
export function wireBody(body: string, key: string, keyField: string | null): string {
  if (keyField === null || body === '') return body;
  const field = `${JSON.stringify(keyField)}:${JSON.stringify(key)}`;
  return body === '{}' ? `{${field}}` : `{${field},${body.slice(1)}`;
}
