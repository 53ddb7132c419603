import type { Settings } from '../../../config/settings.js';
import { erpDatabase } from '../../../erp/dialects/erp-kinds.js';
import { checkErp } from './check-erp.js';
import { type AskSystemd, checkMachine } from './check-machine.js';
import { checkConnection } from './check-service.js';
import { checkStore } from './check-store.js';
import type { Finding } from './finding.js';
import { guarded } from './guarded.js';

interface Surroundings {
  nowMs: () => number;
  askSystemd?: AskSystemd;
}

/**
 * Looks at everything that the settings name, part by part; a part that can't be reached does not keep the others back. Writes
 * nothing, and sends the service nothing.
 */
export async function* examine(settings: Settings, { nowMs, askSystemd }: Surroundings): AsyncGenerator<Finding[]> {
  const database = await erpDatabase(settings.erp);
  try {
    yield await guarded('erp', () => checkErp(database, settings, nowMs));
  } finally {
    await database.close().catch(() => undefined);
  }
  yield await guarded('store', () => checkStore(settings, nowMs));
  yield await guarded('service', () => checkConnection(settings, nowMs()));
  yield await checkMachine(settings, askSystemd);
}
