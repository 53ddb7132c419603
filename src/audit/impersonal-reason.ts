/**
 * A reason as it may stand in a log that is never rewritten: for a customer without the words of the service or the values of
 * the row, which may be about a person. The words themselves stand with the message and its attempts, where `waybill forget`
 * can erase them. Orders name their customer by its code alone. Pure.
 */
export function impersonalReason(event: string, outcome: string | null, reason: string): string {
  if (event === 'parked' && outcome === 'unmapped')
    return 'Its row in the ERP could not become a record; `waybill explain` says why.';
  if (event !== 'attempt' && event !== 'parked') return reason;
  // `HTTP 422 invalid_field: words of the service`
  return /^(HTTP \d{3}[^:]*):/.exec(reason)?.[1] ?? reason;
}
