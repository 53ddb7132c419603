import { type Catalogue, type CatalogueTable, nameOf } from '../../../erp/catalogue.js';
import type { Evidence, SetupStep } from '../../../model/setup-questions.js';
import { refused, taken } from './asking.js';
import type { Schema } from './schema.js';

/** Offered at most; any other table can be named. */
const MOST_TABLES = 20;

export type TableRole = 'orders' | 'lines' | 'customers';

/** Words that order what is offered, and settle nothing: of three hundred tables, a few are called like orders. */
const tableWords: Record<TableRole, RegExp> = {
  orders: /order|auftr|bestellung|commande|pedido|ordine|vbak|^auf/i,
  lines: /line|item|detail|det$|pos(ition)?(en|s)?$|row|ligne|zeile|linea|riga|aufp|vbap/i,
  customers: /custom|client|kund|debit|debtor|klient|kdst|^kd|partner|account|societe|party|adress|buyer|user|entity/i,
};

/** As many rows of a table are counted: of three hundred tables, each is only placed. */
export const MOST_ROWS = 100_000;

export const tableCalled = ({ tables }: Catalogue, name: string) =>
  tables.find((table) => nameOf(table).toLowerCase() === name.toLowerCase());

/** @param likely tables that keys or values speak for: they are offered first */
export function askTable(
  { asking, catalogue }: Schema,
  rows: Readonly<Record<string, number | null>>,
  {
    role,
    step,
    likely,
    evidence,
  }: {
    role: TableRole;
    step: SetupStep;
    likely: readonly CatalogueTable[];
    evidence: ReadonlyMap<CatalogueTable, Evidence[]>;
  },
): CatalogueTable | undefined {
  const count = (table: CatalogueTable) => rows[nameOf(table)] ?? null;
  const isReferenced = ({ foreignKeys }: CatalogueTable, table: CatalogueTable) =>
    foreignKeys.some((key) => key.table === nameOf(table));
  const rank = (table: CatalogueTable) => {
    const at = likely.indexOf(table);
    const isKnown = role !== 'orders' || catalogue.tables.some((one) => isReferenced(one, table));
    const words = tableWords[role].test(table.name) ? 0 : 2000;
    return (at < 0 ? 4000 : at) + words + (table.isView ? 1000 : 0) + (isKnown ? 0 : 500);
  };
  const offered = catalogue.tables
    .filter((table) => count(table) !== 0)
    .sort((a, b) => rank(a) - rank(b) || (count(b) ?? 0) - (count(a) ?? 0));
  const candidates = offered.slice(0, MOST_TABLES).map((table) => ({
    ...{
      value: nameOf(table),
      evidence: [
        { of: 'rows' as const, rows: count(table), isAll: count(table) !== MOST_ROWS },
        ...(evidence.get(table) ?? []),
      ],
    },
  }));
  const hidden = catalogue.tables.length - candidates.length;
  return asking.one({ step, flag: `${role}-table`, about: { hidden }, candidates }, (name) => {
    const table = tableCalled(catalogue, name);
    return table === undefined ? refused({ code: 'no_such_table' }) : taken(table);
  });
}
