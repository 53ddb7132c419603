import type { BadRows } from '../../../src/lab/sample-erp/sample-rows.js';

/** One row of each kind that can't be sent. */
export const oneOfEachBadRow: Required<BadRows> = {
  ordersWithoutLines: 1,
  fractionalQuantities: 1,
  negativeQuantities: 1,
  pricesWithThreeDecimals: 1,
  missingCustomers: 1,
  totalMismatches: 1,
};
