import { decimal, group, positive, whole } from './value-types.js';

export const captureSettings = group('How the ERP is read.', {
  pageSize: whole(1, 5000, 'records').default(500).describe('Records read in one snapshot.'),
  overlapSeconds: decimal(0)
    .default(600)
    .describe('How far behind the cursor each pass starts, so that it finds late commits.'),
  sweepMinutes: positive().default(60).describe('How often everything eligible is read, whatever the cursor says.'),
  deletedAfterMinutes: decimal(0)
    .default(10)
    .describe('A record counts as deleted when two or more sweeps in a row have missed it for at least this long.'),
  maxUpdates: whole(0)
    .meta({ unit: 'records' })
    .default(200)
    .describe('When one pass finds more changed records than this, they wait for `waybill confirm`.'),
  maxCreates: whole(0)
    .meta({ unit: 'records' })
    .default(100)
    .describe(
      'When one pass finds more new records than this that earlier passes should have met already, as after orders.startFrom was set back, they wait for `waybill confirm`. New rows of the ERP do not count.',
    ),
  maxRemovals: whole(0)
    .meta({ unit: 'records' })
    .default(10)
    .describe('When one pass finds more cancelled or deleted records than this, they wait for `waybill confirm`.'),
});
