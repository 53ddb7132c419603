import type { Catalogue } from '../../../../erp/catalogue.js';
import type { ErpDialect } from '../../../../erp/erp-database.js';
import type { Draft } from '../draft.js';
import { dolibarr } from './dolibarr.js';
import { erpnext } from './erpnext.js';
import { frontaccounting } from './frontaccounting.js';
import { odoo } from './odoo.js';
import { type Preset, presetTables, recognise } from './preset.js';
import { weberp } from './weberp.js';

const presets: readonly Preset[] = [dolibarr, odoo, erpnext, weberp, frontaccounting];

export const presetNames = presets.map(({ name }) => name);

/** The draft of the ERP that a catalogue belongs to; null: none that is known. */
export function knownErp(catalogue: Catalogue, dialect: ErpDialect, wanted?: string): Draft | null {
  for (const preset of presets) {
    if (wanted !== undefined && wanted !== preset.name) continue;
    const prefix = recognise(preset, catalogue);
    if (prefix !== null) return preset.draft(presetTables(catalogue, dialect, prefix));
  }
  return null;
}
