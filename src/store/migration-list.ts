import type { MigrationInterface } from 'typeorm';

/** A class of TypeORM, which has the name of its file in the order that TypeORM expects: `LookUps1795800002000`. */
interface Migration {
  name: string;
  load(): Promise<new () => MigrationInterface>;
}

/**
 * Oldest first. A migration that has shipped never changes. One whose name begins with `Expand` runs while nodes of the
 * older version are at work, and they go on beside it: it only adds, and what it adds may be NULL. A migration that
 * takes away, or asks more, comes a version later, under another name, and waits until they have left. MySQL and
 * MariaDB commit each statement that changes the schema: a migration has one of them, or goes on where an interrupted
 * run has left off, as the first one does.
 */
export const migrations: Migration[] = [
  '1700000000000-initial',
  '1795800000000-missing-by-elapsed-time',
  '1795800001000-expand-unsettled-by-elapsed-time',
  '1795800002000-look-ups',
  '1795800003000-expand-persons-word',
  '1795900000000-message-schedule',
  '1795900001000-unknowns-are-null',
  '1795900030000-expand-released-elapsed',
  '1795900031000-expand-absences',
  '1795900040000-left-orders-as-facts',
  '1795900050000-reasons-as-facts',
  '1795900060000-reading-as-facts',
  '1795900070000-alerts-as-facts',
  '1795900071000-job-failures-as-facts',
  '1795900072000-received-lists-as-facts',
  '1795900073000-comparisons-as-facts',
  '1795914000000-free-leases-have-no-end',
  '1795914001000-sweep-under-way',
  '1795914002000-place-of-the-key',
  '1795920001000-expand-removed-ids',
  '1795920002000-expand-presented-as',
  '1795920003000-expand-scanned-at',
  '1795930000000-first-send-known-or-not',
  '1795940000000-closed-bindings-know-or-not',
  '1795940001000-lists-by-kind',
  '1795940002000-sums-without-a-day',
].map((file) => {
  const [, at = '', words = ''] = /^(\d+)-(.*)$/.exec(file) ?? [];
  const name = words.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase()) + at;
  return { name, load: async () => (await import(`./migrations/${file}.js`))[name] };
});
