import { z } from 'zod';

export const captureSettings = z
  .strictObject({
    pageSize: z
      .number()
      .int()
      .min(1)
      .max(5000)
      .default(500)
      .describe('Records read in one snapshot.')
      .meta({ unit: 'records' }),
    overlapSeconds: z
      .number()
      .min(0)
      .default(600)
      .describe('How far behind the cursor each pass starts, so that late commits are found.'),
    sweepMinutes: z
      .number()
      .positive()
      .default(60)
      .describe('How often everything eligible is read, whatever the cursor says.'),
    maxUpdates: z
      .number()
      .int()
      .min(0)
      .default(200)
      .describe('More changed records in one pass wait for `waybill confirm`.')
      .meta({ unit: 'records' }),
    maxRemovals: z
      .number()
      .int()
      .min(0)
      .default(10)
      .describe('More cancelled or deleted records in one pass wait for `waybill confirm`.')
      .meta({ unit: 'records' }),
  })
  .describe('How the ERP is read.');

export type CaptureSettings = z.output<typeof captureSettings>;
