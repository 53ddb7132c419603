import { expect } from 'chai';
import type { LedgerRequest } from '../../../src/lab/sandbox/ledger.js';
import { everyAttempt } from '../every-attempt.js';
import type { Lab, LabKit } from './job-lab.js';

/** Every eligible order of the ERP is at the service once, field by field, and so are the customers. */
export async function expectAllAtService(lab: Lab, without: readonly string[] = []): Promise<void> {
  const { orders, duplicates } = lab.sandbox.ledger();
  const expected = await lab.expectedOrders();
  for (const number of without) expected.delete(number);
  expect(new Map(orders.map(({ reference, record }) => [reference, record]))).to.deep.equal(expected);
  expect(duplicates).to.deep.equal([]);
  expect(orders).to.have.length(expected.size);
}

/** No order's first byte came in before its customer had been acknowledged. */
export function expectCustomersFirst(lab: Lab): void {
  const { requests, customers, orders } = lab.sandbox.ledger();
  const byId = new Map(requests.map((request) => [request.request_id, request]));
  const acknowledgedAt = new Map(
    customers.map(({ customer_code, requests: ids }) => [
      customer_code,
      Math.min(...ids.map((id) => byId.get(id)?.answered_at_ms ?? Number.POSITIVE_INFINITY)),
    ]),
  );
  for (const order of orders) {
    const first = byId.get(order.requests[0] as string) as LedgerRequest;
    expect(first.received_at_ms).to.be.at.least(acknowledgedAt.get(order.record.customer_code) as number);
  }
}

/** One key, one body, whatever was resent. */
export function expectOneBodyPerKey(lab: Lab): void {
  const bodies = new Map<string, string | null>();
  for (const { idempotency_key: key, body_sha256: body } of lab.sandbox.ledger().requests) {
    if (key === null) continue;
    if (!bodies.has(key)) bodies.set(key, body);
    expect(body).to.equal(bodies.get(key));
  }
}

/** Every request at the service is one attempt on record, and every attempt has an outcome. */
export async function expectAttemptsFor(kit: LabKit, lab: Lab): Promise<void> {
  const attempts = await kit.rows(`SELECT idempotency_key, started_at, verdict FROM ${everyAttempt}`);
  expect(attempts.filter(({ verdict }) => verdict === null)).to.deep.equal([]);
  const sent = attempts.filter(({ started_at: at }) => at !== null).map((row) => row.idempotency_key ?? null);
  const received = lab.sandbox.ledger().requests.map((request) => request.idempotency_key);
  expect(sent.sort()).to.deep.equal(received.sort());
}

export const statesOf = async (kit: LabKit): Promise<Record<string, number>> =>
  Object.fromEntries(
    (await kit.rows('SELECT state, COUNT(*) AS n FROM outbox_message GROUP BY state')).map((row) => [row.state, row.n]),
  );

export const pausesOf = (kit: LabKit) =>
  kit.rows('SELECT lane, cause, until_at, reason_code, reason_data FROM lane_pause ORDER BY lane, cause');

export const messageOf = async (kit: LabKit, number: string) =>
  (await kit.rows('SELECT * FROM outbox_message WHERE number=? ORDER BY revision DESC LIMIT 1', [number]))[0];

/** The numbers of the eligible orders, as the ERP counts them. */
export const orderNumbers = async (lab: Lab): Promise<string[]> => [...(await lab.expectedOrders()).keys()];
