/**
 * Assignments that put messages into a state behind the outbox's back, with the columns that go with it: `UPDATE
 * outbox_message SET ${forged.parked}, park_class='held'`. Every message that waits is due.
 */
export const forged = {
  pending: waiting('pending'),
  sending: waiting('sending'),
  in_doubt: waiting('in_doubt'),
  parked: ended('parked', "'person'"),
  superseded: ended('superseded'),
  discarded: ended('discarded'),
  /** Found at the service, unless a request has delivered it. */
  delivered:
    "state='delivered', next_attempt_at=NULL, waits_for=NULL, delivered_at=CASE WHEN started_at IS NULL THEN NULL ELSE started_at+COALESCE(duration_ms, 0) END",
} as const;

function waiting(state: string): string {
  return `state='${state}', next_attempt_at=COALESCE(next_attempt_at, 1), waits_for=NULL, delivered_at=NULL`;
}

function ended(state: string, waitsFor = 'NULL'): string {
  return `state='${state}', next_attempt_at=NULL, waits_for=${waitsFor}, started_at=NULL, delivered_at=NULL`;
}
