import { databaseErpReader } from '../../../erp/database-erp-reader.js';
import type { ErpDatabase } from '../../../erp/erp-database.js';
import { ErpError, type ErpSource, type ReadCustomer, type ReadOrder } from '../../../erp/erp-reader.js';

/** What the mapping makes of some real orders: read the way capture reads them. */
export interface Trial {
  orders: number;
  mapped: number;
  /** Orders whose header has a total that could be compared, and how many of these agree with their lines. */
  compared: number;
  agreeing: number;
  /** Sum of the lines of the orders that agree, in minor units. */
  linesTotal: bigint;
  /** The first orders that could be sent, and their customers. */
  samples: { order: ReadOrder; customer: ReadCustomer | null }[];
  /** Why rows can't be sent, each once. */
  reasons: string[];
  /** What the database or the reader has against the mapping itself. */
  error: ErpError | null;
}

const SAMPLES = 3;
const REASONS = 5;

/** Reads some orders with these settings. Writes nothing, anywhere. */
export async function tryMapping(database: ErpDatabase, source: ErpSource, limit: number): Promise<Trial> {
  const trial: Trial = {
    ...{ orders: 0, mapped: 0, compared: 0, agreeing: 0, linesTotal: 0n },
    ...{ samples: [], reasons: [], error: null },
  };
  const reader = databaseErpReader(database, source);
  try {
    await reader.check();
    const { rows, customers } = await reader.sweep('order', null, limit);
    for (const order of rows) {
      const { content, totals } = order;
      trial.orders++;
      if (totals !== null) trial.compared++;
      if (totals !== null && totals.lines === totals.header) {
        trial.agreeing++;
        trial.linesTotal += BigInt(totals.lines);
      }
      if (!content.mapped) {
        if (trial.reasons.length < REASONS) trial.reasons.push(content.reason);
        continue;
      }
      trial.mapped++;
      const customer = customers.find(({ sourceKey }) => sourceKey === order.customerKey) ?? null;
      if (trial.samples.length < SAMPLES) trial.samples.push({ order, customer });
    }
  } catch (error) {
    if (!(error instanceof ErpError) || error.kind === 'unreachable') throw error;
    trial.error = error;
  }
  return trial;
}
