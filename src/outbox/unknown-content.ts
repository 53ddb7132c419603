/** Equal to no content, so that the next capture of the row writes an update. */
export const unknownContent = '?'.repeat(64);

/**
 * What the acknowledgement of a message proves that the service holds: its record, unless a store that is lost may have
 * changed it since; then nothing, and the next update carries every field.
 */
export function provenRecord(contentHash: string, record: string): string | null {
  return contentHash === unknownContent ? null : record;
}
