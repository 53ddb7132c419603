const columns =
  'message_id, number, epoch, purpose, idempotency_key, body_hash, intended_at, started_at, verdict, status, reason_code, reason_data, request_id, trace_id';

/** A message that an attempt has delivered, as that attempt: its id is the message's, below 0. @param table of messages, or of those that were pruned */
export const deliveriesIn = (table: string) =>
  `SELECT -id AS id, id AS message_id, attempts AS number, claim_epoch AS epoch, operation AS purpose, idempotency_key, body_hash,
          claimed_at AS intended_at, started_at, 'delivered' AS verdict, status, NULL AS reason_code, NULL AS reason_data, request_id, trace_id
     FROM ${table} WHERE state='delivered' AND started_at IS NOT NULL`;

/** Every attempt that has ended, and reads and look-ups under way: for a FROM clause, under the name of the table. */
export const everyAttempt = `(SELECT id, ${columns} FROM attempt UNION ALL ${deliveriesIn('outbox_message')}) AS attempt`;
