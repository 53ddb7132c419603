/** The code in a customer's mapped record; null: it has none, or its bytes are no longer kept. */
export function customerCodeOf(record: string | null): string | null {
  if (record === null) return null;
  const { customer_code: code } = JSON.parse(record) as { customer_code?: unknown };
  return typeof code === 'string' ? code : null;
}
