import type { Settings } from '../config/settings.js';
import type { Entity } from '../model/record.js';
import type { readCaptured } from '../operator/explain-record.js';
import type { FindBy } from '../operator/find-records.js';
import { inErpTime } from '../operator/format.js';
import type { Reader } from '../words/sentence.js';

/** Why nothing may be known of a record that `findRecords` did not find: as what its key was looked up, and hints. Pure. */
export function describeUnknown(
  { entity, by }: { entity: Entity; by: FindBy },
  { cursor, hasBegun }: Awaited<ReturnType<typeof readCaptured>>,
  { orders, customers }: Pick<Settings, 'orders' | 'customers'>,
  { time }: Reader,
): { lookedUp: string[]; hints: string[] } {
  const lookedUp = [
    ...(by === 'number' ? [] : [`the ERP's key of ${entity === 'order' ? 'an order' : 'a customer'}`]),
    ...(by === 'key' || entity === 'customer' ? [] : ['an order number']),
    ...(by === 'any' ? ["the service's id"] : []),
  ];
  const hints: string[] = [];
  if (entity === 'order' && orders.startFrom !== 'all')
    hints.push(
      `It is older than orders.startFrom (${orders.startFrom.column} from ${orders.startFrom.from}). Waybill never sends such orders.`,
      `Its ${orders.startFrom.column} is empty, so that orders.startFrom leaves it out: give it a value in the ERP.`,
    );
  if (entity === 'customer' && customers.send === 'referenced')
    hints.push(
      'No eligible order names it. With customers.send `referenced`, Waybill sends a customer together with its orders.',
    );
  if (entity === 'customer' && customers.send === 'none')
    hints.push('customers.send is `none`: the service knows the customers already, and Waybill sends none.');
  const { pending } = entity === 'order' ? orders : customers;
  if (pending) hints.push(`It is not pending: its row does not meet the condition ${entity}s.pending (${pending}).`);
  const swept = cursor.sweptAt === null ? '' : `, and everything on ${time(cursor.sweptAt)}`;
  hints.push(
    cursor.changedAt === null && cursor.sweptAt === null
      ? `Waybill has not read it yet: capture has not ${hasBegun ? 'come to the end of the ERP' : 'run'} on this store.`
      : `Waybill has not read it yet: capture has read changes up to ${cursor.changedAt === null ? '(no change column)' : `${cursor.changedAt} ${inErpTime}`}${swept}.`,
    'The ERP writes it differently: keys are compared letter by letter.',
  );
  return { lookedUp, hints };
}
