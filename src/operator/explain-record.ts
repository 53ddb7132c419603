import { readAuditPage, startOfLast } from '../audit/read-audit.js';
import { sentCurrency } from '../erp/mapping/money.js';
import { type Entity, inSource } from '../model/record.js';
import type { JobContext } from '../ops/job-context.js';
import { acknowledgedRecords } from '../outbound/capture/known-records.js';
import { goLiveProblem } from '../outbound/deliver/go-live.js';
import { QuietClock } from '../outbound/deliver/quiet-hours.js';
import { keyLifetimeMs } from '../outbound/outbox/idempotency-key.js';
import { readCursor } from '../store/job-runs.js';
import { activePauses, listPauses } from '../store/lane-pauses.js';
import { describeStory } from './describe-story.js';
import type { FindBy } from './find-records.js';
import { inErpTime } from './format.js';
import { tellStory } from './tell-story.js';

export type Explanation = Awaited<ReturnType<typeof explainRecord>>;

/** The newest audit lines of a record are shown; `waybill audit` prints the older ones. */
const maxAuditLines = 500;

/** Everything that the store knows about one record, and what follows from it. */
export async function explainRecord(
  { store, settings, nowMs }: JobContext,
  { entity, sourceKey, erpIdentity }: { entity: Entity; sourceKey: string; erpIdentity: string },
  time: (ms: number) => string,
) {
  const now = nowMs();
  return store.read('tell the story of a record', async (tx) => {
    const filter = { records: [{ entity, sourceKey }] };
    const start = await startOfLast(tx, filter, maxAuditLines);
    const pauses = [...(await listPauses(tx)), ...new QuietClock(settings.schedule).pauses(now)];
    const story = await tellStory(tx, entity, sourceKey);
    const words = describeStory(story, {
      nowMs: now,
      keyLifetimeMs: keyLifetimeMs(settings.service),
      maxProcessingMs: settings.service.maxProcessingSeconds * 1000,
      canLookUpOrders: settings.service.endpoints.lookUpOrder !== undefined,
      pauses: activePauses(pauses, 'deliver', now),
      notLive: await goLiveProblem(tx, settings, erpIdentity),
      time,
    });
    const audit = await readAuditPage(tx, filter, start.afterId, maxAuditLines);
    const acknowledged = await acknowledgedRecords(tx, entity, [sourceKey]);
    const currency = sentCurrency(settings, acknowledged.get(sourceKey) ?? null);
    // `currency`: of the order's amounts, null where nothing tells. `olderAudit`: the audit holds older lines of the record than these.
    return { story, words, audit, currency, olderAudit: start.older };
  });
}

/** Why nothing may be known of a record that `findRecords` did not find: as what its key was looked up, and hints. */
export async function explainUnknown(
  { store, settings }: JobContext,
  entity: Entity,
  by: FindBy,
  time: (ms: number) => string,
) {
  const { orders, customers } = settings;
  const { cursor, hasBegun } = await store.read('read the cursor', async (tx) => ({
    cursor: await readCursor(tx, inSource(entity, settings.source)),
    hasBegun: (await tx.value('SELECT id FROM outbox_message WHERE entity=? LIMIT 1', [entity])) !== undefined,
  }));
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
