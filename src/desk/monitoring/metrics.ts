import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { countLastMinute } from '../../operator/figures/attempt-figures.js';
import { countStatesUpTo } from '../../operator/figures/bounded-counts.js';
import { readMilestones } from '../../operator/figures/read-milestones.js';
import type { JobContext } from '../../ops/job-context.js';
import { type RequestEnded, requestEnded } from '../../ops/request-ended.js';
import { listPauses } from '../../store/lane-pauses.js';
import { nodeTroubles } from '../../store/node-troubles.js';
import { viewNodes } from '../../store/nodes.js';

/** Gauges of the backlog stop here, so that reading them stays cheap while a million messages wait. */
const mostCounted = 100_000;
const seconds = (ms: number) => ms / 1_000;
/** Upper ends of the histogram of answers. */
const latencyBucketsS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** The metrics for a monitor. Figures of the past begin with the process, as Prometheus expects of counters. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #loop = monitorEventLoopDelay({ resolution: 20 });
  readonly #backlog = this.#gauge('waybill_backlog_messages', 'Messages by state; 100000: that many or more.', [
    'state',
    'entity',
  ]);
  readonly #oldest = this.#gauge('waybill_backlog_oldest_seconds', 'Age of the oldest message in this state.', [
    'state',
  ]);
  readonly #pauses = this.#gauge('waybill_pause', '1 while this pause holds.', ['lane', 'cause']);
  readonly #ages = this.#gauge(
    'waybill_last_success_age_seconds',
    'Since the last success of a job; absent before it.',
    ['job'],
  );
  readonly #nodes = this.#gauge('waybill_node', '1 for each node of a cluster; leads: the one that captures.', [
    'node',
    'state',
    'leads',
  ]);
  readonly #troubles = this.#gauge(
    'waybill_node_trouble',
    '1 while something keeps a node from doing what a node should.',
    ['node', 'trouble'],
  );
  readonly #proven = this.#gauge('waybill_pull_proven', '1: the last pull of invoices was proven; 0: it was not.');
  readonly #minute = this.#gauge('waybill_requests_last_minute', 'Requests to the service in the last minute.');
  readonly #limit = this.#gauge(
    'waybill_limit_requests_per_minute',
    'What the tightest configured limit allows a minute.',
  );
  readonly #lag = this.#gauge('waybill_event_loop_lag_seconds', 'Delay of the event loop since the last reading.', [
    'quantile',
  ]);
  readonly #memory = this.#gauge('process_resident_memory_bytes', 'Resident memory of the daemon.');
  readonly #attempts = new Counter({
    name: 'waybill_attempts_total',
    help: 'Attempts of this process by verdict.',
    labelNames: ['verdict', 'purpose'],
    registers: [this.#registry],
  });
  readonly #latency = new Histogram({
    name: 'waybill_request_duration_seconds',
    help: 'How long the service took to answer.',
    labelNames: ['purpose'],
    buckets: latencyBucketsS,
    registers: [this.#registry],
  });
  #reading: Promise<string> | null = null;

  constructor(private readonly context: JobContext) {
    this.#loop.enable();
    requestEnded.subscribe(this.#count);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** The figures of now. Those who ask at the same time share one reading. */
  read(): Promise<string> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  close(): void {
    requestEnded.unsubscribe(this.#count);
    this.#loop.disable();
  }

  readonly #count = (message: unknown): void => {
    const { purpose, verdict, durationMs } = message as RequestEnded;
    this.#attempts.inc({ verdict, purpose });
    if (durationMs !== null) this.#latency.observe({ purpose }, seconds(durationMs));
  };

  async #read(): Promise<string> {
    const { store, settings, nowMs: clock } = this.context;
    const nowMs = clock();
    const perMinute = tightest(settings.service.limits);
    const { outbox, pauses, nodes, milestones, lastMinute } = await store.read('read the metrics', async (tx) => ({
      outbox: await countStatesUpTo(tx, mostCounted, ['pending', 'sending', 'in_doubt', 'parked']),
      pauses: await listPauses(tx),
      nodes: await viewNodes(tx),
      milestones: await readMilestones(tx),
      lastMinute: await countLastMinute(tx, nowMs, 20_000),
    }));
    for (const gauge of [this.#backlog, this.#oldest, this.#pauses, this.#ages, this.#nodes, this.#troubles])
      gauge.reset();
    for (const { name: node, state, leads } of nodes) this.#nodes.set({ node, state, leads: String(leads) }, 1);
    for (const { node, cause } of nodeTroubles(nodes))
      this.#troubles.set({ node, trouble: cause.slice(`node.${node}.`.length) }, 1);
    for (const state of ['pending', 'sending', 'in_doubt', 'parked'])
      for (const entity of ['customer', 'order'])
        this.#backlog.set(
          { state, entity },
          outbox.byState.find((one) => one.state === state && one.entity === entity)?.count ?? 0,
        );
    const age = (at: number | null) => (at === null ? 0 : Math.max(0, seconds(nowMs - at)));
    this.#oldest.set({ state: 'pending' }, age(outbox.oldestPendingAt));
    this.#oldest.set({ state: 'in_doubt' }, age(outbox.oldestInDoubtAt));
    for (const { lane, cause, until_at } of pauses)
      if (cause === 'outage' || until_at === null || until_at > nowMs) this.#pauses.set({ lane, cause }, 1);
    for (const [job, at] of milestones.succeededAt) this.#ages.set({ job }, age(at));
    this.#proven.set(milestones.isPullProven ? 1 : 0);
    this.#minute.set(lastMinute);
    if (perMinute !== null) this.#limit.set(perMinute);
    this.#lag.set({ quantile: '0.5' }, this.#loop.percentile(50) / 1e9);
    this.#lag.set({ quantile: '0.99' }, this.#loop.percentile(99) / 1e9);
    this.#lag.set({ quantile: '1' }, this.#loop.max / 1e9);
    this.#loop.reset();
    this.#memory.set(process.memoryUsage.rss());
    return this.#registry.metrics();
  }

  #gauge<Label extends string = never>(name: string, help: string, labelNames: Label[] = []): Gauge<Label> {
    return new Gauge({ name, help, labelNames, registers: [this.#registry] });
  }
}

/** The fewest requests a minute that one of the limits allows over its whole window; null: no limit is known. Pure. */
export function tightest(limits: readonly { requests: number; perSeconds: number }[]): number | null {
  const rates = limits.map(({ requests, perSeconds }) => (requests / perSeconds) * 60);
  return rates.length === 0 ? null : Math.min(...rates);
}
