import { hash } from 'node:crypto';
import stringify from 'safe-stable-stringify';
import type { Entity, JsonValue } from '../../model/record.js';
import { sweepAtNextPass } from '../../store/job-runs.js';
import { updateRows } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';

/**
 * JSON with sorted names: the same record gives the same bytes, whatever the order of the mapping.
 * The bytes of a create must be reproducible after the store was lost, or the service would answer
 * "key reused with another body".
 */
export function canonicalJson(value: JsonValue): string {
  const text = stringify(value);
  if (text === undefined) throw new Error('Only JSON values have a canonical form.');
  return text;
}

const contents = new WeakMap<object, { json: string; hash: string }>();

/** The canonical JSON of a mapped record and its hash: made once, for all who ask on the record's way. It is never changed. */
export function contentOf(record: JsonValue & object): { json: string; hash: string } {
  let content = contents.get(record);
  if (content === undefined) {
    const json = canonicalJson(record);
    content = { json, hash: sha256(json) };
    contents.set(record, content);
  }
  return content;
}

/** SHA-256 of a text as lower-case hex. */
export function sha256(text: string): string {
  return hash('sha256', text);
}

/** Equal to no content, so that the next capture of the row writes an update. */
export const unknownContent = '?'.repeat(64);

/**
 * What the acknowledgement of a message proves that the service holds: its record, unless a store
 * that is lost may have changed it since; then nothing, and the next update carries every field.
 */
export function provenRecord(contentHash: string, record: string | null): string | null {
  return contentHash === unknownContent ? null : record;
}

/** That these records exist says nothing of their fields: a sweep at the next pass compares them with the ERP. */
export async function doubtContents(tx: Tx, messages: readonly { id: number; entity: Entity }[]): Promise<void> {
  await setContentHashes(
    tx,
    messages.map(({ id }) => ({ id, contentHash: unknownContent })),
  );
  for (const entity of new Set(messages.map((message) => message.entity))) await sweepAtNextPass(tx, entity);
}

/** What capture compares the next rows of these records with. */
export async function setContentHashes(
  tx: Tx,
  messages: readonly { id: number; contentHash: string }[],
): Promise<void> {
  await updateRows(
    tx,
    'outbox_message',
    ['id'],
    messages.map(({ id, contentHash }) => ({ id, content_hash: contentHash })),
  );
}
