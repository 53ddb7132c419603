import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSampleErp } from '../src/lab/sample-erp/create-sample-erp.js';
import type { LedgerRequest } from '../src/lab/sandbox/ledger.js';
import { type Sandbox, startSandbox } from '../src/lab/sandbox/start-sandbox.js';
import { lastRun, type Reconciliation } from '../src/operator/reconcile/reconcile-rows.js';
import { askForReconcile } from '../src/operator/reconcile/start-run.js';
import { openStore } from '../src/store/open-store.js';
import { type Daemon, eventually, Installation, peakRss } from '../test/e2e/installation.js';
import { openSqlite } from '../test/support/sqlite-file.js';
import { utilisation } from './limits.js';

export interface ReconcileOptions {
  /** Orders that both sides have, and that are compared. */
  orders: number;
  /** The number of these that differ: gone at the service, with another total, with another note. */
  differing: number;
  /** Requests a second that the service allows. */
  limit: number;
  /** Orders that are delivered meanwhile, in one go. */
  waiting: number;
  /** The number of times the daemon is killed, at most ten. */
  kills: number;
  /** Told what is being done. */
  onStep?: (what: string) => void;
}

export interface ReconcileResult {
  orders: number;
  seconds: number;
  requests: number;
  found: number;
  kills: number;
  /** The number of orders compared before the kill. */
  killedAt: number[];
  /** Answers of 429. */
  throttled: number;
  duplicates: number;
  /** While orders waited: of what the limit allows, how much delivery used, and its share of all requests. */
  deliveryUse: number;
  deliveryShare: number;
  /** Highest resident set of a daemon, and of the command that compares everything once more without being disturbed. */
  daemonPeakMiB: number;
  commandPeakMiB: number;
  /** Differences between what was found and what the undisturbed comparison finds; sums by day and counts among them. */
  unequal: string[];
}

const month = '2026-01';
const asks = { from: '2026-01-01', to: '2026-02-01' };

/** The place of the kill: at the nth page or request of a comparison, or when it delivers what is entered after so many pages. */
const places: readonly (readonly [point: string, counted: 'pages' | 'requests' | 'deliveries' | 'starts'])[] = [
  ['before-reconcile-commit', 'pages'],
  ['after-answer', 'deliveries'],
  ['before-send', 'requests'],
  ['after-reconcile-commit', 'pages'],
  ['after-claim-commit', 'deliveries'],
  ['before-settle-commit', 'deliveries'],
  ['after-takeover', 'starts'],
  ['before-capture-commit', 'deliveries'],
  ['after-settle-commit', 'deliveries'],
  ['before-claim-commit', 'deliveries'],
];
const pageSize = 40;

/**
 * Both sides of many orders are compared by a daemon that delivers others meanwhile, and that is killed again and again. In the
 * end they are compared once more, undisturbed and without a limit: that must find the same.
 */
export async function compareUnderLoad(options: ReconcileOptions): Promise<ReconcileResult> {
  const { orders, differing, limit, kills, onStep = () => undefined } = options;
  // They are taken from those that both sides have.
  const waiting = Math.min(options.waiting, orders);
  const folder = await mkdtemp(join(tmpdir(), 'waybill-reconcile-'));
  const sandbox = await startSandbox({});
  const erp = join(folder, 'erp.sqlite');
  const install = (requests: number) =>
    new Installation({
      folder,
      serviceUrl: sandbox.url,
      token: 'sandbox-token',
      nodeFlags: [],
      erp: { type: 'sqlite', file: erp },
      store: { type: 'sqlite' },
      settings: {
        service: {
          environment: 'sandbox',
          baseUrl: sandbox.url,
          limits: [{ requests, perSeconds: 1 }],
          endpoints: { readOrder: {} },
        },
        invoices: { enabled: false },
        schedule: { capture: '* * * * * *' },
      },
    });
  try {
    onStep(`delivering ${orders} orders`);
    await createSampleErp({ target: { type: 'sqlite', file: erp }, customers: Math.min(100, orders), orders });
    const unlimited = install(1_000_000);
    const { code, stdout, stderr } = await unlimited
      .start('sync', 'capture')
      .ended.then(() => unlimited.start('sync', 'deliver').ended);
    if (code !== 0) throw new Error(`The orders were not delivered: ${stdout}${stderr}`);
    await seed(sandbox, differing);

    sandbox.setLimit({ requests: limit, windowMs: 1000 });
    const waybill = install(limit);
    const run = await ask(waybill);
    const before = sandbox.ledger().requests.length;
    const startedAt = performance.now();
    const killedAt: number[] = [];
    let daemonPeakMiB = 0;
    const pages = Math.ceil(orders / pageSize);
    const perKill = Math.max(1, Math.floor(pages / (kills + 2)));
    let entered = 0;
    const enter = (count: number) => {
      enterOrders(erp, entered, count);
      entered += count;
    };
    const alive = async <T>(work: (daemon: Daemon) => Promise<T>): Promise<T> => {
      const daemon = waybill.daemon();
      const look = setInterval(() => {
        daemonPeakMiB = Math.max(daemonPeakMiB, peakRss(daemon.pid));
      }, 100);
      try {
        return await work(daemon);
      } finally {
        clearInterval(look);
        daemon.kill('SIGKILL');
        await daemon.ended;
      }
    };

    onStep(`delivering ${waiting} others while both sides are compared`);
    const delivered = await alive(async () => {
      const since = sandbox.ledger().requests.length;
      const wanted = sandbox.counts().orders + waiting;
      await eventually('the comparison begins', () => sandbox.ledger().requests.length > since, 60_000);
      enter(waiting);
      const mostMs = 60_000 + (10 * waiting * 1000) / limit;
      await eventually('all are delivered', () => sandbox.counts().orders >= wanted, mostMs);
      return sandbox.ledger().requests.slice(since);
    });

    const mostMs = 60_000 + (20 * perKill * pageSize * 1000) / limit;
    for (const [point, counted] of places.slice(0, kills)) {
      const nth = { pages: perKill, requests: perKill * pageSize, deliveries: 1, starts: 1 }[counted];
      waybill.env.TORTURE_KILL_POINT = `${point}:${nth}`;
      await alive(async (daemon) => {
        const isReached = () => daemon.output().includes(`reached ${point} SIGKILL`);
        if (counted === 'deliveries') {
          const wanted = sandbox.counts().requests + perKill * pageSize;
          // Leftovers of the run before may lead to this place at once.
          const isAt = () => isReached() || sandbox.counts().requests >= wanted;
          await eventually('some pages are compared', isAt, mostMs);
          enter(3);
        }
        await eventually(`${point} is reached`, isReached, mostMs).catch((error: Error) => {
          throw new Error(`${error.message}\n${daemon.output()}`);
        });
        await daemon.ended;
      });
      delete waybill.env.TORTURE_KILL_POINT;
      killedAt.push((await readRunOf(waybill)).tally.read);
      const { throttled } = sandbox.counts();
      onStep(`killed at ${point}, ${killedAt.at(-1)} compared, ${throttled} × 429, ${Math.round(daemonPeakMiB)} MiB`);
    }

    const ended = await alive(async () =>
      eventually(
        'the comparison ends',
        async () => {
          const now = await readRunOf(waybill);
          if (now.state === 'stopped') throw new Error(`The comparison stopped: ${now.reason}`);
          return now.state === 'done' && now;
        },
        120_000 + (20 * orders * 1000) / limit,
      ),
    );
    const seconds = (performance.now() - startedAt) / 1000;
    const requests = sandbox.ledger().requests.length - before;

    onStep('comparing once more, undisturbed');
    sandbox.setLimit(null);
    const again = await install(1_000_000).start('reconcile', 'orders', '--month', month, '--again', '--json').ended;
    if (again.code !== 3) throw new Error(`The undisturbed comparison failed: ${again.stdout}${again.stderr}`);
    return {
      orders,
      seconds: Math.round(seconds),
      requests,
      found: Object.values(ended.tally.found).reduce((sum, count) => sum + count, 0),
      kills: killedAt.length,
      killedAt,
      throttled: sandbox.counts().throttled,
      duplicates: sandbox.counts().duplicateReferences,
      ...shareOf(delivered, limit),
      daemonPeakMiB: Math.round(daemonPeakMiB),
      commandPeakMiB: Math.round(again.peakRssMiB),
      unequal: differences(waybill.storeFile, run.id, (await readRunOf(waybill)).id),
    };
  } finally {
    await sandbox.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Edits by the service's own staff: each third of the records in another way. */
async function seed(sandbox: Sandbox, differing: number): Promise<void> {
  const { orders } = sandbox.ledger();
  const step = Math.floor(orders.length / differing);
  for (let nth = 0; nth < differing; nth++) {
    const { order_id: id = '' } = orders[nth * step] ?? {};
    if (nth % 3 === 0) sandbox.removeOrder(id);
    else if (nth % 3 === 1) sandbox.setOrder(id, { total: 13 });
    else await changeNote(sandbox.url, id, `by hand ${nth}`);
  }
}

async function changeNote(url: string, id: string, note: string): Promise<void> {
  const headers = {
    authorization: 'Bearer sandbox-token',
    'content-type': 'application/json',
    'idempotency-key': crypto.randomUUID(),
  };
  const body = JSON.stringify({ note });
  const { status } = await fetch(`${url}/v1/orders/${id}`, { method: 'PATCH', headers, body });
  if (status !== 200) throw new Error(`The order ${id} was not changed: ${status}`);
}

/** Orders of the next month, copied from those that are there, as if somebody entered them now. */
function enterOrders(file: string, from: number, count: number): void {
  const erp = openSqlite(file, { timeout: 30_000 });
  const zone = { timeZone: 'Europe/Berlin', dateStyle: 'short', timeStyle: 'medium' } as const;
  const now = new Intl.DateTimeFormat('sv-SE', zone).format(Date.now());
  const places =
    "SELECT id, ROW_NUMBER() OVER (ORDER BY id) AS nth FROM sales_orders WHERE status='confirmed' AND created_at>='2026-01-01' AND created_at<'2026-02-01'";
  erp.exec(`BEGIN IMMEDIATE;
    INSERT INTO sales_orders
      SELECT 10000000+${from}+p.nth, 'B-'||(${from}+p.nth), customer_id, status, '2026-02-01', currency, total, remark, '2026-02-01 08:00:00', '${now}'
        FROM sales_orders o JOIN (${places} LIMIT ${count}) p ON p.id=o.id;
    INSERT INTO sales_order_lines
      SELECT (10000000+${from}+p.nth)*10+line_no, 10000000+${from}+p.nth, line_no, product_id, qty, unit_price
        FROM sales_order_lines l JOIN (${places} LIMIT ${count}) p ON p.id=l.order_id;
    COMMIT`);
  erp.close();
}

async function withStoreOf<T>(
  waybill: Installation,
  work: (store: Awaited<ReturnType<typeof openStore>>['store']) => Promise<T>,
): Promise<T> {
  const { store } = await openStore({ type: 'sqlite', file: waybill.storeFile });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** Has the daemon compare, as a person does at the desk. */
function ask(waybill: Installation): Promise<Reconciliation> {
  const [fromMs, toMs] = [asks.from, asks.to].map((day) => Date.parse(`${day}T00:00:00+01:00`));
  return withStoreOf(waybill, (store) =>
    askForReconcile(
      { store, actor: 'bench', nowMs: Date.now },
      { subject: 'orders', asks: { ...asks, fromMs: fromMs ?? null, toMs: toMs ?? null }, reason: 'a measurement' },
    ),
  );
}

function readRunOf(waybill: Installation): Promise<Reconciliation> {
  return withStoreOf(
    waybill,
    async (store) => (await store.read('look', (tx) => lastRun(tx, 'orders'))) as Reconciliation,
  );
}

/** The requests of delivery, from its first to its last. */
function shareOf(requests: readonly LedgerRequest[], limit: number): { deliveryUse: number; deliveryShare: number } {
  const sorted = requests.filter(({ throttled }) => !throttled).sort((a, b) => a.monotonic_ms - b.monotonic_ms);
  const isCreate = ({ method }: LedgerRequest) => method === 'POST';
  const span = sorted.slice(sorted.findIndex(isCreate), sorted.findLastIndex(isCreate) + 1);
  const creates = span.filter(isCreate).map(({ monotonic_ms: at }) => at);
  const windows = Math.floor((creates.length - 1) / limit);
  const round = (value: number) => Math.round(value * 1000) / 1000;
  return {
    deliveryUse: round(utilisation(creates, { requests: limit, perSeconds: 1 }, windows)),
    deliveryShare: round(creates.length / span.length),
  };
}

/** The differences between two comparisons. */
function differences(storeFile: string, one: number, other: number): string[] {
  const store = openSqlite(storeFile);
  try {
    const linesOf = (runId: number) => {
      const rows = (sql: string) => store.prepare(sql).all(runId) as Record<string, unknown>[];
      const [run] = rows('SELECT tally FROM reconciliation WHERE id=?');
      const { requests: _, total: __, ...tally } = JSON.parse(String(run?.tally));
      return [
        tally,
        ...rows(
          `SELECT kind, cause, source_key, number, service_id, reason_code, reason_data, fields, day, currency, erp_total, service_total
             FROM reconcile_finding WHERE run_id=? ORDER BY source_key`,
        ),
        ...rows(
          'SELECT day, currency, erp_records, erp_total, service_records, service_total FROM reconcile_day_sum WHERE run_id=? ORDER BY day',
        ),
      ].map((line) => JSON.stringify(line));
    };
    const [ours, theirs] = [linesOf(one), linesOf(other)];
    return [
      ...ours.filter((line) => !theirs.includes(line)).map((line) => `only disturbed: ${line}`),
      ...theirs.filter((line) => !ours.includes(line)).map((line) => `only undisturbed: ${line}`),
    ];
  } finally {
    store.close();
  }
}
