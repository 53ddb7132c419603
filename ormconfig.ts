import { loadSettings } from './src/config/load-settings.js';
import { storeDataSource } from './src/store/data-source.js';

/**
 * The TypeORM command line's door to the store, e.g. `npm run typeorm -- migration:show -d ormconfig.ts`. It reads the
 * configuration as every command does: the folder `config`, or the one that $WAYBILL_CONFIG names.
 */
const { settings } = loadSettings();

export default await storeDataSource(settings.store);
