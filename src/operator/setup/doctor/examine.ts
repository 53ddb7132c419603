import type { Settings } from '../../../config/settings.js';
import { erpDatabase } from '../../../db/databases.js';
import { defaultSource } from '../../../model/record.js';
import { checkErp } from './check-erp.js';
import { type AskSystemd, checkMachine } from './check-machine.js';
import { checkRedis } from './check-redis.js';
import { checkConnection } from './check-service.js';
import { checkStore } from './check-store.js';
import { checkWriteBack } from './check-write-back.js';
import type { Finding } from './finding.js';
import { guarded } from './finding.js';
import { checkStoreAccount } from './store-account.js';

interface Surroundings {
  nowMs: () => number;
  askSystemd?: AskSystemd;
  /** Only this one's ERP, if there are several sources. */
  source?: string | undefined;
}

/**
 * Looks at everything that the settings name, part by part; a part that can't be reached does not keep the others back. Writes
 * nothing, and sends the service nothing.
 */
export async function* examine(
  settings: Settings,
  { nowMs, askSystemd, source }: Surroundings,
): AsyncGenerator<Finding[]> {
  for (const own of [settings, ...(settings.named ?? [])]) {
    if (source !== undefined && source !== (own.source ?? defaultSource)) continue;
    const database = await erpDatabase(own.erp);
    const of = own.source ? [`source ${own.source}`] : [];
    try {
      const found = await guarded('erp', () => checkErp(database, own, nowMs));
      yield found.map((one) => ({ ...one, what: [...of, ...(one.what === '' ? [] : [one.what])].join(': ') }));
    } finally {
      await database.close().catch(() => undefined);
    }
  }
  yield await guarded('erp', () => checkWriteBack(settings));
  yield await guarded('store', () => checkStore(settings, nowMs));
  yield await guarded('store', () => checkStoreAccount(settings.store), 'warning');
  yield await guarded('store', () => checkRedis(settings), 'warning');
  yield await guarded('service', () => checkConnection(settings, nowMs()));
  yield await checkMachine(settings, askSystemd);
}
