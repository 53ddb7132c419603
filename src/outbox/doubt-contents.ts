import type { Entity } from '../model/entity.js';
import { sweepAtNextPass } from '../store/cursors.js';
import { updateRows } from '../store/rows.js';
import type { Tx } from '../store/store.js';
import { unknownContent } from './unknown-content.js';

/** That these records exist says nothing of their fields: a sweep at the next pass compares them with the ERP. */
export async function doubtContents(tx: Tx, messages: readonly { id: number; entity: Entity }[]): Promise<void> {
  await updateRows(
    tx,
    'outbox_message',
    ['id'],
    messages.map(({ id }) => ({ id, content_hash: unknownContent })),
  );
  for (const entity of new Set(messages.map((message) => message.entity))) await sweepAtNextPass(tx, entity);
}
