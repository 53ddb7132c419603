import type { ErpDialect } from '../../../../db/erp-database.js';
import type { Catalogue } from '../../../../erp/catalogue.js';
import type { Draft } from '../draft.js';
import { dolibarr } from './dolibarr.js';
import { erpnext } from './erpnext.js';
import { frontaccounting } from './frontaccounting.js';
import { odoo } from './odoo.js';
import { type Preset, prefixesOf, presetTables } from './preset.js';
import { weberp } from './weberp.js';

const presets: readonly Preset[] = [dolibarr, odoo, erpnext, weberp, frontaccounting];

export const presetNames = presets.map(({ name }) => name);

/** An ERP whose tables are there. */
export interface KnownErp {
  name: string;
  title: string;
  prefix: string;
  draft(): Draft;
}

/** Every ERP that is known and whose tables are there: a database may hold several, or one of them several times. */
export function knownErps(catalogue: Catalogue, dialect: ErpDialect): KnownErp[] {
  return presets.flatMap(({ name, title, ...preset }) =>
    prefixesOf({ name, title, ...preset }, catalogue).map((prefix) => ({
      ...{ name, title, prefix },
      draft: () => preset.draft(presetTables(catalogue, dialect, prefix)),
    })),
  );
}
