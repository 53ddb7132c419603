import type { Store } from '../../src/store/store.js';

const digit = `(${[...'0123456789'].map((d, nth) => `SELECT ${d}${nth === 0 ? ' AS d' : ''}`).join(' UNION ALL ')})`;
const numbers = `(SELECT a.d+10*b.d+100*c.d+1000*e.d+10000*f.d+100000*g.d AS n
  FROM ${digit} a, ${digit} b, ${digit} c, ${digit} e, ${digit} f, ${digit} g) AS s`;

/** Fourteen of twenty messages are delivered; the others are in every other state. */
const state = `CASE n%20 WHEN 0 THEN 'parked' WHEN 1 THEN 'in_doubt' WHEN 2 THEN 'pending' WHEN 3 THEN 'pending'
  WHEN 4 THEN 'superseded' WHEN 5 THEN 'discarded' ELSE 'delivered' END`;
const entity = "CASE WHEN n%10<8 THEN 'order' ELSE 'customer' END";
const isDelivered = 'n%20>=6';

/** Fills every table that grows, as years would. @param count a million at most */
export async function fillStore(store: Store, count: number): Promise<void> {
  for (const sql of fillings(count)) await store.transaction('fill the store', (tx) => tx.run(sql));
  // A server counts by itself, a while after.
  const { name } = store.dialect;
  const analyze = {
    sqlite: null,
    mysql: 'ANALYZE TABLE outbox_message, binding, attempt, audit_log, invoice',
    postgres: 'ANALYZE',
  }[name];
  if (analyze) await store.transaction('count the rows', (tx) => tx.run(analyze));
}

const fillings = (count: number) => [
  `INSERT INTO outbox_message (entity, source_key, revision, operation, generation, number, content_hash, mapping_fingerprint, state,
     park_class, reason_code, reason_data, next_attempt_at, waits_for, delivered_at, captured_at, closed_at, folded_key, attempts, claimed_at, started_at,
     requests, status)
   SELECT ${entity}, CONCAT('k',n), 1, 'create', 0, CONCAT('SO-',n), 'h', 'm', ${state},
     CASE WHEN n%20=0 THEN CASE WHEN n%40=0 THEN 'refused' ELSE 'conflict' END END,
     CASE WHEN n%20=0 THEN 'legacy' END, CASE WHEN n%20=0 THEN CONCAT('{"text":{"outside":"HTTP 422: order ',n,': unknown sku"}}') END,
     CASE WHEN n%40=20 OR n%20 IN (1,2,3) THEN 1700000000000+n END, CASE WHEN n%40=0 THEN 'person' END,
     CASE WHEN ${isDelivered} THEN 1700000000000+n END, 1700000000000+n, CASE WHEN ${isDelivered} THEN 1700000000000+n END, CONCAT('k',n), 1, 1700000000000+n,
     CASE WHEN ${isDelivered} THEN 1700000000000+n END, 1, 201 FROM ${numbers} WHERE n<${count}`,
  `INSERT INTO message_body (message_id, record) SELECT id, '{"items":[{"sku":"A","qty":2,"price":1050}]}' FROM outbox_message
    WHERE state IN ('parked','pending')`,
  `INSERT INTO binding (entity, source_key, service_id, revision, generation, content_hash, mapping_fingerprint, acknowledged_at, folded_key)
   SELECT ${entity}, CONCAT('k',n), CONCAT('id_',n), 1, 0, 'h', 'm', n, CONCAT('k',n) FROM ${numbers} WHERE n<${count} AND ${isDelivered}`,
  `INSERT INTO attempt (message_id, purpose, number, epoch, intended_at, started_at, verdict, status)
   SELECT id, 'create', 1, 1, captured_at, captured_at, 'refused', 422 FROM outbox_message WHERE state='parked'`,
  `INSERT INTO audit_log (chain, seq, hash, at, event, outcome, entity, source_key, actor, detail)
   SELECT 1, n, 'h', 1700000000000+n, CASE n%3 WHEN 0 THEN 'captured' ELSE 'attempt' END, CASE n%3 WHEN 1 THEN 'delivered' END,
     ${entity}, CONCAT('k',n), 'daemon', '{}' FROM ${numbers} WHERE n<${count}`,
  `INSERT INTO invoice (invoice_no, amount, due_date, status, first_listed_at, last_listed_at, unlisted_at)
   SELECT CONCAT('INV-',n), n, CASE n%2 WHEN 0 THEN '2026-11-01' ELSE '2026-12-01' END, 'unpaid', 1, 1, CASE WHEN n%5>0 THEN n END
     FROM ${numbers} WHERE n<${count / 10}`,
  `INSERT INTO webhook_event (event_id, type, about, subject, state, received_at)
   SELECT CONCAT('e',n), 'invoice.paid', 'invoice', CONCAT('i',n), 'done', n FROM ${numbers} WHERE n<${count / 10}`,
];

/** Every page of a store with so many messages, and every way to search, filter and turn the leaves. */
export function pathsOf(count: number): string[] {
  const half = Math.floor(count / 40) * 20;
  const delivered = half + 17;
  return [
    '',
    '?range=week',
    '?range=quarter',
    `?q=SO-${delivered}`,
    `?q=id_${delivered}`,
    `?q=INV-${Math.floor(count / 20)}`,
    '?q=there-is-no-such-thing',
    `order/k${delivered}`,
    `order/k${half}`,
    `customer/k${delivered + 2}`,
    'customer/unknown',
    'needs-a-person',
    'outbox',
    `outbox?before=${half}`,
    'outbox?state=delivered&entity=order',
    'outbox?state=pending&entity=customer',
    'outbox?state=parked&class=refused',
    'outbox?class=unproven',
    'outbox?state=parked&reason=there+is+no+such+reason',
    'outbox?reason=there+is+no+such+reason',
    `outbox?key=SO-${delivered}`,
    'invoices',
    'invoices?list=credit',
    'invoices?list=held',
    'invoices?list=left',
    'audit',
    `audit?before=${half}`,
    'audit?event=attempt',
    'audit?event=desk',
    'audit?event=attempt&outcome=lost',
    'audit?outcome=lost',
    `audit?key=SO-${delivered}`,
    'webhooks',
    'reconcile',
    'settings',
    'metrics',
  ];
}
