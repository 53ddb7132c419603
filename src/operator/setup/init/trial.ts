import type { ErpDatabase } from '../../../db/erp-database.js';
import { databaseErpReader } from '../../../erp/database-erp-reader.js';
import { ErpError, type ErpSource } from '../../../erp/erp-reader.js';

/** The mapping applied to some real orders: read the way capture reads them. */
export interface Trial {
  orders: number;
  /** Orders whose header has a total that could be compared, and how many of these agree with their lines. */
  compared: number;
  agreeing: number;
  /** Sum of the lines of the orders that agree, in minor units. */
  linesTotal: bigint;
  /** The objections of the database or the reader to the mapping itself. */
  error: ErpError | null;
}

/** Reads some orders with these settings. Writes nothing, anywhere. */
export async function tryMapping(database: ErpDatabase, source: ErpSource, limit: number): Promise<Trial> {
  const trial: Trial = { orders: 0, compared: 0, agreeing: 0, linesTotal: 0n, error: null };
  const reader = databaseErpReader(database, source);
  try {
    await reader.check();
    const { rows } = await reader.sweep('order', null, limit);
    trial.orders = rows.length;
    for (const { totals } of rows) {
      if (totals === null) continue;
      trial.compared++;
      if (totals.lines !== totals.header) continue;
      trial.agreeing++;
      trial.linesTotal += BigInt(totals.lines);
    }
  } catch (error) {
    if (!(error instanceof ErpError) || error.kind === 'unreachable') throw error;
    trial.error = error;
  }
  return trial;
}
