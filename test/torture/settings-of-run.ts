import { sampleErpMapping } from '../../src/lab/sample-erp/create-sample-erp.js';
import { sandboxLookUps } from '../support/sandbox-look-ups.js';
import { isOfNodes, type Plan } from './plan.js';

export const leaseSeconds = 2;

export const installationOf = ({ seed }: Plan): string => `torture-${seed}`;

/** The configuration of a run, without its databases. */
export function settingsOf(plan: Plan, serviceUrl: string): Record<string, unknown> {
  const { onCancelled, onDeleted, maxRemovals } = plan.removals;
  return {
    installation: installationOf(plan),
    customers: sampleErpMapping.customers,
    orders: {
      ...sampleErpMapping.orders,
      ...orderKeyOf(plan),
      ...(plan.tellsBack ? { readBack: { enabled: true, maxShare: 0.5 } } : {}),
      settleSeconds: 1,
      fields: { remark: { column: 'remark', optional: true } },
      cancelled: { column: 'status', values: ['cancelled'] },
      onCancelled,
      onDeleted,
    },
    amounts: sampleErpMapping.amounts,
    cluster: { enabled: isOfNodes(plan) },
    service: {
      environment: 'sandbox',
      baseUrl: serviceUrl,
      deadlineSeconds: 0.6,
      maxProcessingSeconds: 1,
      concurrency: plan.concurrency,
      limits: [plan.limit],
      idempotency: {
        replaysRefusals: plan.replaysRefusals,
        lifetimeHours: plan.keyLifetimeSeconds === null ? 24 : plan.keyLifetimeSeconds / 3600,
      },
      endpoints: { ...(plan.lookUps ? sandboxLookUps : {}), ...(plan.tellsBack ? { readOrder: {} } : {}) },
    },
    capture: {
      overlapSeconds: plan.overlapSeconds,
      sweepMinutes: plan.sweepSeconds / 60,
      deletedAfterMinutes: 0,
      pageSize: 40,
      maxRemovals,
      maxUpdates: plan.maxUpdates,
    },
    delivery: {
      leaseSeconds,
      drainSeconds: 4,
      backoffBaseSeconds: 0.1,
      backoffMaxSeconds: 0.5,
      probeSeconds: 0.4,
    },
    schedule: {
      capture: '* * * * * *',
      pull: '*/2 * * * * *',
      writeBack: '* * * * * *',
      ...(plan.faults.some(({ fault }) => fault.kind === 'store-pruned') ? { prune: '*/2 * * * * *' } : {}),
    },
  };
}

/** The reading of orders by the column that is their key. */
function orderKeyOf({ orderKey }: Plan) {
  const { query, lines } = sampleErpMapping.orders;
  if (orderKey === 'id') return { existence: 'SELECT id FROM sales_orders' };
  return {
    key: 'order_key',
    query: query.replace('SELECT id,', 'SELECT order_key,'),
    existence: 'SELECT order_key FROM sales_orders',
    lines: {
      ...lines,
      query: `SELECT o.order_key, l.line_no, p.sku, l.qty, l.unit_price FROM sales_order_lines l
        JOIN sales_orders o ON o.id = l.order_id LEFT JOIN products p ON p.id = l.product_id`,
      orderKey: 'order_key',
    },
  };
}
