import type { Settings } from '../../../config/settings.js';
import { openStoreIfAny } from '../../../store/open-store.js';
import type { Store } from '../../../store/store.js';
import { type Finding, findingsOf } from './finding.js';
import { judgeServer } from './judge-server.js';

const finding = findingsOf('store');

interface ServerFacts {
  version: string;
  charset: string;
  zone: string;
  /** The first damage that the database finds in its own file; `ok`: none, or the server looks after its files. */
  damage: string;
}

/** Selects the facts about the store's server. */
const facts: Record<Store['dialect']['name'], string> = {
  sqlite: `SELECT 'SQLite ' || sqlite_version() AS version, (SELECT encoding FROM pragma_encoding) AS charset, 'none' AS zone,
      (SELECT quick_check FROM pragma_quick_check LIMIT 1) AS damage`,
  mysql: `SELECT VERSION() AS version, @@character_set_database AS charset, @@global.time_zone AS zone, 'ok' AS damage`,
  postgres: `SELECT current_setting('server_version') AS version, current_setting('server_encoding') AS charset,
      current_setting('TimeZone') AS zone, 'ok' AS damage`,
};

/** The store, as far as it can be looked at without writing into it. */
export async function checkStore({ store: settings }: Settings, nowMs: () => number): Promise<Finding[]> {
  const { store, warnings, isAbsent = false } = await openStoreIfAny(settings);
  try {
    if (isAbsent)
      return [
        finding('note', 'There is no store yet: the daemon makes it at its first start.', 'npm start, or waybill sync'),
      ];
    const before = nowMs();
    const read = await store.read('look at the server', async (tx) => ({
      facts: (await tx.rows<ServerFacts>(facts[store.dialect.name]))[0],
      clockMs: Number(await tx.value(`SELECT ${tx.nowMs}`)),
    }));
    const clockAheadMs = read.clockMs - (before + nowMs()) / 2;
    const { version = '?', charset = '?', zone = '?', damage = 'ok' } = read.facts ?? {};
    return [
      ...(damage === 'ok'
        ? []
        : [
            finding(
              'error',
              `The file of the store is damaged: ${damage}.`,
              'docs/failures.md, "The file of the store is damaged", says how to go on',
            ),
          ]),
      ...judgeServer('store', { version, charset, zone, clockAheadMs }),
      ...warnings.map((warning) => finding('warning', warning)),
    ];
  } finally {
    await store.close();
  }
}
