import { z } from 'zod';
import { query } from './value-types.js';

export const changedAt = z
  .string()
  .min(1)
  .optional()
  .describe('Column that moves when the row changes. Without it only sweeps find changes.');

const cancelled = z
  .strictObject({
    column: z.string().min(1).describe('Column of the query that says so.'),
    values: z
      .array(z.union([z.string(), z.number().int()]))
      .min(1)
      .describe('Values of that column that mean cancelled.')
      .meta({ allowed: 'a list of texts or whole numbers' }),
  })
  .optional()
  .describe('What marks a cancelled record, also one that `pending` leaves out. Absent: nothing does.');

const removal = (when: string) =>
  z
    .union([
      z.literal('nothing'),
      z.literal('delete'),
      z.strictObject({
        patch: z
          .record(z.string().min(1), z.union([z.string(), z.number().int(), z.boolean()]))
          .describe('Fields that are set at the service.')
          .meta({ allowed: 'names and values, such as {status: cancelled}' }),
      }),
    ])
    .default('nothing')
    .describe(when)
    .meta({ allowed: 'nothing, delete, or fields that are set: {patch: {status: cancelled}}' });

export const removals = {
  cancelled,
  existence: query
    .optional()
    .describe('SELECT that yields the key of every record there is. Default: the query, without `pending`.'),
  onCancelled: removal('What follows at the service when a record that it has is cancelled.'),
  onDeleted: removal('What follows at the service when a record that it has is absent from `existence` in two sweeps.'),
};

export type RemovalSetting = z.output<ReturnType<typeof removal>>;
