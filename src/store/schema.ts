import { initialTables } from './migrations/1700000000000-initial.js';
import { lookUpColumns } from './migrations/1795800002000-look-ups.js';
import { personsWordColumns, personsWordTables } from './migrations/1795800003000-expand-persons-word.js';
import { scheduleColumns } from './migrations/1795900000000-message-schedule.js';
import { sweepColumns } from './migrations/1795900001000-unknowns-are-null.js';
import { releasedElapsedColumns } from './migrations/1795900030000-expand-released-elapsed.js';
import { absenceColumns } from './migrations/1795900031000-expand-absences.js';
import { leftOrderFacts } from './migrations/1795900040000-left-orders-as-facts.js';
import { reasonFacts } from './migrations/1795900050000-reasons-as-facts.js';
import { readingFacts } from './migrations/1795900060000-reading-as-facts.js';
import { alertFacts } from './migrations/1795900070000-alerts-as-facts.js';
import { jobFailureFacts } from './migrations/1795900071000-job-failures-as-facts.js';
import { receivedFacts } from './migrations/1795900072000-received-lists-as-facts.js';
import { comparisonFacts } from './migrations/1795900073000-comparisons-as-facts.js';
import { sweepBegunColumns } from './migrations/1795914001000-sweep-under-way.js';
import { keyPlaceColumns } from './migrations/1795914002000-place-of-the-key.js';
import { removedIdTables } from './migrations/1795920001000-expand-removed-ids.js';
import { presentedAsColumn } from './migrations/1795920002000-expand-presented-as.js';
import { scannedAtColumn } from './migrations/1795920003000-expand-scanned-at.js';
import { wasSentColumn } from './migrations/1795930000000-first-send-known-or-not.js';
import { listKindColumn } from './migrations/1795940001000-lists-by-kind.js';
import { daySumTables } from './migrations/1795940002000-sums-without-a-day.js';
import { type FactColumn, factColumnTypes } from './migrations/sentences-to-facts.js';

/** Columns that migrations added to a table of the first schema. */
const added: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  outbox_message: {
    ...wasSentColumn,
    ...keyPlaceColumns,
    ...presentedAsColumn,
    ...lookUpColumns,
    ...scheduleColumns,
    ...absenceColumns,
  },
  binding: personsWordColumns,
  lease: releasedElapsedColumns,
  capture_cursor: { ...sweepBegunColumns, ...scannedAtColumn },
  write_back_target: sweepColumns,
  invoice_group: listKindColumn,
  invoice_staging: listKindColumn,
  invoice_malformed: listKindColumn,
  unsettled: { first_seen_elapsed: 'BIGINT NULL' },
};

/** Words of a definition that a migration changed. */
const changed: Readonly<Record<string, readonly (readonly [from: string, to: string])[]>> = {
  binding: [
    ['missing_since', 'missing_since_elapsed'],
    ['read_asked_at BIGINT NOT NULL DEFAULT 0', 'read_asked_at BIGINT NULL'],
    ['content_hash CHAR(64) NOT NULL', 'content_hash CHAR(64) NULL'],
  ],
  outbox_message: [
    ['next_attempt_at BIGINT NOT NULL', 'next_attempt_at BIGINT NULL'],
    ['content_hash CHAR(64) NOT NULL', 'content_hash CHAR(64) NULL'],
  ],
  closed_binding: [
    ['service_id VARCHAR(255) NOT NULL', 'service_id VARCHAR(255) NULL'],
    ['revision INT NOT NULL', 'revision INT NULL'],
  ],
  lease: [['expires_at BIGINT NOT NULL', 'expires_at BIGINT NULL']],
  write_back_row: [['content_hash CHAR(64) NOT NULL', 'content_hash CHAR(64) NULL']],
  write_back_target: [['next_try_at BIGINT NOT NULL DEFAULT 0', 'next_try_at BIGINT NULL']],
};

/** Columns of sentences that became facts. */
const facts: readonly FactColumn[] = [
  ...leftOrderFacts,
  ...reasonFacts,
  ...readingFacts,
  ...alertFacts,
  ...jobFailureFacts,
  ...receivedFacts,
  ...comparisonFacts,
];

/** Columns that a migration dropped. */
const dropped: Readonly<Record<string, string>> = { alert: 'details', capture_cursor: 'brake' };

const { reconcile_sum: _, ...kept } = initialTables;

/** Today's tables with their definitions, for code that needs a column's type or width. */
export const schemaTables: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({ ...kept, ...personsWordTables(''), ...removedIdTables, ...daySumTables('') }).map(
    ([table, definition]) => {
      const renamed = (changed[table] ?? []).reduce((words, [from, to]) => words.replace(from, to), definition);
      const today = withFacts(table, withColumns(renamed, added[table] ?? {}));
      return [table, dropped[table] === undefined ? today : without(today, dropped[table])];
    },
  ),
);

function withFacts(table: string, definition: string): string {
  return facts
    .filter((column) => column.table === table)
    .reduce((all, { sentences, name }) => {
      return withColumns(without(all, sentences), factColumnTypes(name));
    }, definition);
}

function without(definition: string, column: string): string {
  return definition.replace(new RegExp(`,\\s*${column} [A-Z]+(\\(\\d+\\))?[^,]*`), '');
}

/** Puts columns before the keys of a definition, which come last. */
function withColumns(definition: string, columns: Readonly<Record<string, string>>): string {
  const words = Object.entries(columns).map(([name, type]) => `${name} ${type},`);
  const [, own = '', keys = ''] = /^(.*?),?\s*((?:PRIMARY KEY \(|UNIQUE \().*)?$/s.exec(definition) ?? [];
  return `${own}, ${words.join(' ')} ${keys}`.replace(/,\s*$/, '');
}
