import type { MigrationInterface } from 'typeorm';
// The package's index has Node read three hundred files to learn their names: a tenth of what a start costs.
import { DataSource } from 'typeorm/data-source/DataSource.js';
import type { StoreSettings } from '../config/sections/store.js';
import { storeDialect } from '../db/databases.js';
import { Initial1700000000000 } from './migrations/1700000000000-initial.js';
import { MissingByElapsedTime1795800000000 } from './migrations/1795800000000-missing-by-elapsed-time.js';
import { ExpandUnsettledByElapsedTime1795800001000 } from './migrations/1795800001000-expand-unsettled-by-elapsed-time.js';
import { LookUps1795800002000 } from './migrations/1795800002000-look-ups.js';
import { ExpandPersonsWord1795800003000 } from './migrations/1795800003000-expand-persons-word.js';
import { MessageSchedule1795900000000 } from './migrations/1795900000000-message-schedule.js';
import { UnknownsAreNull1795900001000 } from './migrations/1795900001000-unknowns-are-null.js';
import { ExpandReleasedElapsed1795900030000 } from './migrations/1795900030000-expand-released-elapsed.js';
import { ExpandAbsences1795900031000 } from './migrations/1795900031000-expand-absences.js';
import { LeftOrdersAsFacts1795900040000 } from './migrations/1795900040000-left-orders-as-facts.js';
import { ReasonsAsFacts1795900050000 } from './migrations/1795900050000-reasons-as-facts.js';
import { ReadingAsFacts1795900060000 } from './migrations/1795900060000-reading-as-facts.js';
import { AlertsAsFacts1795900070000 } from './migrations/1795900070000-alerts-as-facts.js';
import { JobFailuresAsFacts1795900071000 } from './migrations/1795900071000-job-failures-as-facts.js';
import { ReceivedListsAsFacts1795900072000 } from './migrations/1795900072000-received-lists-as-facts.js';
import { ComparisonsAsFacts1795900073000 } from './migrations/1795900073000-comparisons-as-facts.js';
import { FreeLeasesHaveNoEnd1795914000000 } from './migrations/1795914000000-free-leases-have-no-end.js';
import { SweepUnderWay1795914001000 } from './migrations/1795914001000-sweep-under-way.js';
import { PlaceOfTheKey1795914002000 } from './migrations/1795914002000-place-of-the-key.js';
import { ExpandRemovedIds1795920001000 } from './migrations/1795920001000-expand-removed-ids.js';
import { ExpandPresentedAs1795920002000 } from './migrations/1795920002000-expand-presented-as.js';
import { ExpandScannedAt1795920003000 } from './migrations/1795920003000-expand-scanned-at.js';
import { FirstSendKnownOrNot1795930000000 } from './migrations/1795930000000-first-send-known-or-not.js';
import { ClosedBindingsKnowOrNot1795940000000 } from './migrations/1795940000000-closed-bindings-know-or-not.js';
import { ListsByKind1795940001000 } from './migrations/1795940001000-lists-by-kind.js';
import { SumsWithoutADay1795940002000 } from './migrations/1795940002000-sums-without-a-day.js';

/**
 * Oldest first. A migration that has shipped never changes. One whose name begins with `Expand` runs while nodes of the
 * older version are at work, and they go on beside it: it only adds, and what it adds may be NULL. A migration that
 * takes away, or asks more, comes a version later, under another name, and waits until they have left. MySQL and
 * MariaDB commit each statement that changes the schema: a migration has one of them, or goes on where an interrupted
 * run has left off, as the first one does.
 */
export const migrations: (new () => MigrationInterface)[] = [
  Initial1700000000000,
  MissingByElapsedTime1795800000000,
  ExpandUnsettledByElapsedTime1795800001000,
  LookUps1795800002000,
  ExpandPersonsWord1795800003000,
  MessageSchedule1795900000000,
  UnknownsAreNull1795900001000,
  ExpandReleasedElapsed1795900030000,
  ExpandAbsences1795900031000,
  LeftOrdersAsFacts1795900040000,
  ReasonsAsFacts1795900050000,
  ReadingAsFacts1795900060000,
  AlertsAsFacts1795900070000,
  JobFailuresAsFacts1795900071000,
  ReceivedListsAsFacts1795900072000,
  ComparisonsAsFacts1795900073000,
  FreeLeasesHaveNoEnd1795914000000,
  SweepUnderWay1795914001000,
  PlaceOfTheKey1795914002000,
  ExpandRemovedIds1795920001000,
  ExpandPresentedAs1795920002000,
  ExpandScannedAt1795920003000,
  FirstSendKnownOrNot1795930000000,
  ClosedBindingsKnowOrNot1795940000000,
  ListsByKind1795940001000,
  SumsWithoutADay1795940002000,
];

/**
 * TypeORM's data source for the store. Not yet connected; the schema comes from migrations alone, never from `synchronize`.
 * A SQLite file is created with mode 0600, unless it is only to be read.
 */
export async function storeDataSource(settings: StoreSettings, readOnly = false): Promise<DataSource> {
  const common = { migrations, migrationsTableName: 'migration', synchronize: false, logging: false } as const;
  return new DataSource({ ...(await storeDialect(settings)).options(settings, readOnly), ...common });
}
