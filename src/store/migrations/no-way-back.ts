/**
 * Refuses to undo a migration: what it did to the data cannot be taken back, and an emptied store would send everything again.
 * @throws Error that says what to do instead
 */
export async function noWayBack(): Promise<void> {
  throw new Error('A migration of the store cannot be undone. Restore the copy that was made before the upgrade.');
}
