import { literalPattern } from '../../model/literal-pattern.js';
import type { Entity, JsonValue } from '../../model/record.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';

/** Stands where personal data is not shown. */
const mask = '•••';

/** Names of fields that say which record it is, not who. */
const naming = new Set(['customer_code', 'code', 'number', 'currency', 'country', 'language', 'status']);
/** Shorter texts are words, codes and countries. */
const shortest = 4;
const mostRecords = 500;

/** The store's personal data about the people behind these records: names, addresses and the like, as they were captured. */
export async function personalValues(
  tx: Tx,
  records: readonly { entity: Entity | null; sourceKey: string | null }[],
): Promise<string[]> {
  const keysOf = (entity: Entity) => [
    ...new Set(records.flatMap((one) => (one.entity === entity && one.sourceKey !== null ? [one.sourceKey] : []))),
  ];
  const [orders, customers] = [keysOf('order'), keysOf('customer')];
  if (orders.length > 0) {
    const rows = await tx.rows<{ customerKey: string }>(
      `SELECT DISTINCT customer_key FROM outbox_message
        WHERE entity='order' AND source_key IN ${placeholders(orders.length)} AND customer_key IS NOT NULL`,
      orders,
    );
    customers.push(...rows.map(({ customerKey }) => customerKey));
  }
  const keys = [...new Set(customers)];
  if (keys.length === 0) return [];
  const bodies = await tx.rows<{ record: string }>(
    `SELECT b.record FROM outbox_message m JOIN message_body b ON b.message_id=m.id
      WHERE m.entity='customer' AND m.source_key IN ${placeholders(keys.length)} ORDER BY m.id DESC LIMIT ${mostRecords}`,
    keys,
  );
  const acknowledged = await tx.rows<{ record: string }>(
    `SELECT acknowledged AS record FROM binding
      WHERE entity='customer' AND source_key IN ${placeholders(keys.length)} AND acknowledged IS NOT NULL`,
    keys,
  );
  return [...new Set([...bodies, ...acknowledged].flatMap(({ record }) => textsOf(record)))];
}

/** The texts of a customer's record that may tell who it is. Pure. */
export function textsOf(record: string): string[] {
  const texts: string[] = [];
  const collect = (value: JsonValue, name: string): void => {
    if (typeof value === 'string') {
      if (value.trim().length >= shortest && !naming.has(name)) texts.push(value.trim());
    } else if (Array.isArray(value)) for (const one of value) collect(one, name);
    else if (typeof value === 'object' && value !== null)
      for (const [inner, one] of Object.entries(value)) collect(one, inner);
  };
  collect(JSON.parse(record) as JsonValue, '');
  return texts;
}

const mail = String.raw`[\w.+-]+@[\w-]+(?:\.[\w-]+)+`;
const phone = String.raw`\+\d[\d ()./-]{6,}\d|\b0\d{1,5}[ /-][\d /-]{4,}\d`;

/**
 * Puts a mask over what may be about people: the known texts, mail addresses and telephone numbers. Pure.
 * @returns a function, because the texts are many
 */
export function masker(known: readonly string[]): (text: string) => string {
  const words = [...known]
    .sort((a, b) => b.length - a.length)
    .map((one) => `(?<![\\p{L}\\p{N}])${literalPattern(one)}(?![\\p{L}\\p{N}])`);
  const pattern = new RegExp([...words, mail, phone].join('|'), 'giu');
  return (text) => text.replace(pattern, mask);
}
