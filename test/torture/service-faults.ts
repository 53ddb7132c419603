import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultInput } from '../../src/lab/sandbox/fault-plan.js';
import type { Shift } from './crew.js';
import { readErp, wallTime } from './erp-desk.js';
import { judgeOrder } from './judge-erp.js';
import type { Fault, RetryAfterForm } from './plan.js';
import { onItsWayMs, type Stage, token } from './stage.js';
import { until } from './until.js';

const writes = { path: { regex: '^/v1/' } };
/** Invoices too: a slow-down is meant for every request. */
const requests = { path: { regex: '^/v[12]/' } };

/** A request id that stands in no ledger. */
export const longIdStart = 'torture-long-id-';
const longId = longIdStart.padEnd(600, '0');

/** The fault that the service is told to make; null if it is no fault of the service. */
export function serviceFault(fault: Fault): FaultInput | null {
  switch (fault.kind) {
    case 'service-429':
      return {
        kind: 'status',
        status: 429,
        headers: retryAfter(fault.form),
        match: requests,
        times: fault.times,
        body: { error: { code: 'too_many_requests', message: `torture ${fault.form}` } },
      };
    case 'service-5xx':
      return { kind: 'status', status: fault.status, match: requests, times: fault.times };
    case 'service-echoes-token':
      return {
        kind: 'status',
        status: 500,
        match: requests,
        times: fault.times,
        body: { error: { code: 'internal', message: `request with Bearer ${token} failed` } },
      };
    case 'service-long-id':
      return {
        kind: 'status',
        status: 503,
        headers: { 'x-request-id': longId },
        match: requests,
        times: fault.times,
      };
    case 'service-hang':
      return { kind: 'hang', effect: fault.times % 2 === 0 ? 'done' : 'none', match: writes, times: fault.times };
    case 'service-trickle':
      return { kind: 'trickle', intervalMs: 20, match: writes, times: fault.times };
    case 'service-wrong-total':
      return { kind: 'wrong-total', match: { path: '/v1/orders' }, times: fault.times };
    case 'service-reset-before':
    case 'service-reset-after-commit':
    case 'service-cut-off':
    case 'service-html':
      return { kind: fault.kind.slice('service-'.length) as 'cut-off', match: writes, times: fault.times };
    default:
      return null;
  }
}

/**
 * An order takes effect, and then nobody gets an answer until its key is forgotten. Whoever has claimed it once more sleeps until
 * then.
 */
export async function forgetKeys(stage: Stage): Promise<void> {
  const { plan, erp, sandbox, coverage } = stage;
  const startedAt = performance.now();
  const rows = await readErp(erp);
  // One of the first to go out: later ones may wait for a customer whose key is forgotten as well.
  const sent = new Set(sandbox.ledger().orders.map(({ reference }) => reference));
  const order = rows.orders.filter(
    (one) => judgeOrder(one, rows).kind === 'good' && !sent.has(one.order_no ?? null),
  )[2];
  const match = { method: 'POST', bodyIncludes: order?.order_no as string };
  sandbox.addFaults([
    { kind: 'reset-after-commit', match, times: 1 },
    { kind: 'status', status: 500, match, times: 1_000 },
  ]);
  const sleeper = await sleepWhileItWaits(stage, `${order?.id}`);
  const forgottenMs = (plan.keyLifetimeSeconds as number) * 1000 + onItsWayMs;
  await sleep(sleeper ? forgottenMs + 300 : forgottenMs + 4_000 - (performance.now() - startedAt));
  const [reset] = sandbox.faults().filter(({ fault }) => fault.match.bodyIncludes !== undefined);
  coverage.count('fault:service-forgets-keys', reset?.fired ?? 0);
  countServiceFaults(stage);
  sandbox.clearFaults();
  if (sleeper && stage.crew.signal(sleeper.name, 'SIGCONT')?.pid === sleeper.pid)
    coverage.count('fault:process-freeze-over-a-lifetime');
  // Nobody knows whether it is there. A change to it must not make another one.
  await erp.run([
    ["UPDATE sales_orders SET remark='changed', updated_at=? WHERE id=?", wallTime(Date.now()), Number(order?.id)],
  ]);
  await sleep(1_500);
}

/** Freezes who has claimed this order once more, before it is sent. @returns null where nobody was met */
async function sleepWhileItWaits({ crew, store }: Stage, key: string): Promise<Shift | null> {
  const isWaiting = async () =>
    (
      await store.rows(
        `SELECT 1 FROM outbox_message WHERE entity='order' AND source_key='${key}' AND state='sending' AND claimed_from='in_doubt'`,
      )
    ).length > 0;
  return (await until(6_000, isWaiting, 5)) ? crew.signal(crew.deliverer(), 'SIGSTOP') : null;
}

/** The service's faults so far, by the names of the plan. */
export function countServiceFaults({ sandbox, coverage }: Stage): void {
  for (const { fault, fired } of sandbox.faults())
    if (fault.match.bodyIncludes === undefined && fault.match.key === undefined)
      coverage.count(`fault:${faultName(fault)}`, fired);
}

function faultName(fault: { kind: string; status?: number; body?: unknown; headers?: object }): string {
  if (fault.kind !== 'status') return `service-${fault.kind}`;
  if (Object.hasOwn(fault.headers ?? {}, 'x-request-id')) return 'service-long-id';
  const message = (fault.body as { error?: { message?: string } } | undefined)?.error?.message ?? '';
  if (fault.status === 429) return `service-429-${message.split(' ')[1]}`;
  return message.includes('Bearer') ? 'service-echoes-token' : 'service-5xx';
}

const namedSeconds = { seconds: 1, absurd: 86_400 } as const;

/** The time for which a "slow down" with these words has to be heeded; null if it names no stretch of time. */
export function namedWaitMs(reason: string): number | null {
  for (const [form, seconds] of Object.entries(namedSeconds))
    if (reason.endsWith(`torture ${form}`)) return seconds * 1000;
  return null;
}

function retryAfter(form: RetryAfterForm): Record<string, string> {
  switch (form) {
    case 'seconds':
      return { 'retry-after': `${namedSeconds.seconds}` };
    case 'http-date':
      return { 'retry-after': new Date(Date.now() + 1_500).toUTCString() };
    case 'junk':
      return { 'retry-after': 'soon, we hope' };
    case 'past':
      return { 'retry-after': new Date(Date.now() - 3_600_000).toUTCString() };
    case 'absurd':
      return { 'retry-after': `${namedSeconds.absurd}` };
    case 'absent':
      return {};
  }
}
