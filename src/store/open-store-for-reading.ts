import { existsSync } from 'node:fs';
import type { StoreSettings } from '../config/settings.js';
import { migrations } from './data-source.js';
import { connect, type OpenedStore } from './open-store.js';
import { Store } from './store.js';
import { StoreError } from './store-error.js';

/**
 * Opens a store to look at it: nothing is created, migrated or written, so that a monitor that runs as somebody else, or a
 * minute before the daemon, changes nothing.
 * @throws StoreError when there is no store yet, or when its schema is not the one of this program
 */
export async function openStoreForReading(settings: StoreSettings): Promise<OpenedStore> {
  if (settings.type === 'sqlite' && !existsSync(settings.file))
    throw new StoreError(`There is no store ${settings.file} yet: the daemon makes it at its first start (npm start).`);
  const dataSource = await connect(settings, true);
  try {
    const runner = dataSource.createQueryRunner();
    try {
      const rows: { name: string }[] = (await runner.hasTable('migration'))
        ? await runner.query('SELECT name FROM migration')
        : [];
      if (rows.length === 0)
        throw new StoreError('The store is empty yet: the daemon fills it at its first start (npm start).');
      const done = new Set(rows.map((row) => row.name));
      const missing = migrations.filter(({ name }) => !done.has(name));
      if (missing.length > 0)
        throw new StoreError(
          'The store has an older schema than this version of Waybill: restart the daemon, or say `waybill migrate`.',
        );
      if (done.size > migrations.length)
        throw new StoreError(
          'The store has a newer schema than this version of Waybill. Install the version that made it.',
        );
    } finally {
      await runner.release();
    }
    return { store: new Store(dataSource), warnings: [] };
  } catch (error) {
    await dataSource.destroy();
    throw StoreError.wrap('open', error);
  }
}
