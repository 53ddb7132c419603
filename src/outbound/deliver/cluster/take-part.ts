import { appendAudit } from '../../../audit/audit-log.js';
import type { JobContext } from '../../../ops/job-context.js';
import { killPoint } from '../../../ops/kill-point.js';
import { longestRestMs, type RateLimiter } from '../../../service/rate-limit/rate-limiter.js';
import { endAlert } from '../../../store/alerts.js';
import { listPauses, pauseLane } from '../../../store/lane-pauses.js';
import { type Lease, LeaseLost } from '../../../store/lease.js';
import { endedHolder, hasEnded, type NodeRow, nodeNameOf } from '../../../store/lease-rows.js';
import { endNodes, isHeld, lockCluster, nodeActor, redisAlertOf, takeLead, writeShare } from '../../../store/nodes.js';
import type { Tx } from '../../../store/store.js';
import { type LeftMarks, readLeftMarks } from '../send-marks.js';
import { takeOver } from '../take-over.js';
import { comparedSettings } from './compared-settings.js';
import { type Decision, decideBeat, type OwnFacts, overNodes } from './decide-beat.js';
import type { NodeWay } from './node-way.js';
import { RecalledRequests } from './recalled-requests.js';
import { takePlaces } from './take-places.js';

/** A node's part in the cluster as it stands in the store now. */
export interface Part extends Decision {
  /** The places that it may use from now on, by limit. */
  use: number[];
  isAlone: boolean;
  /** Other nodes that it has ended, and the messages that it took over from them; null: it ended none. */
  ended: readonly NodeRow[];
  taken: Awaited<ReturnType<typeof takeOver>> | null;
}

/** Reads what the nodes say, decides this one's part, and writes it, in one transaction under the lock of the cluster. */
export class PartTaker {
  readonly #compared: ReturnType<typeof comparedSettings>;
  readonly #recalled: RecalledRequests;
  /** Epochs whose processes were gone at the last beat: what they sent has arrived by now. */
  #goneEpochs: ReadonlySet<number> = new Set();

  constructor(
    private readonly context: JobContext,
    private readonly lease: Lease,
    readonly limiter: RateLimiter,
  ) {
    this.#compared = comparedSettings(context.settings);
    this.#recalled = new RecalledRequests(context);
  }

  /**
   * @param own asked once this node has the lock, for which it may have waited
   * @throws LeaseLost when another node has ended this one
   */
  async take(own: () => Pick<OwnFacts, 'trouble' | 'mayTry' | 'cannotLead'>): Promise<Part> {
    const { store, nowMs } = this.context;
    const { share: limits, waiting } = this.limiter;
    if (waiting > 0) limits.want();
    const wanted = limits.takeDemand();
    const { alive, me, ...part } = await store.transaction('say that this node is there', async (tx) => {
      const beforeMs = nowMs();
      const { service, nodes, leader } = await lockCluster(tx);
      const clock = { beforeMs, afterMs: nowMs() };
      const me = nodes.find(({ name }) => name === this.lease.name);
      if (me?.epoch !== this.lease.epoch || !isHeld(me)) throw new LeaseLost(this.lease.name);
      const ended = await endNodes(tx, overNodes(me, nodes, this.#goneEpochs), this.#goneEpochs);
      for (const one of ended) await endAlert(tx, redisAlertOf(nodeNameOf(one)), nowMs());
      const alive = nodes.filter((one) => isHeld(one) && !ended.includes(one));
      const taken = ended.length > 0 ? await this.#takeOver(tx, ended, alive, service.epoch) : null;
      const decision = decideBeat({ ...own(), clock, limits: limits.limits }, { me, alive, leader });
      if (decision.pause) await this.#pauseAll(tx, decision.pause);
      if (decision.newLeader) await takeLead(tx, decision.newLeader);
      const little = decision.part === 'tries' ? limits.forOneMore : wanted.map(() => 0);
      const demand = decision.part === 'works' ? wanted : little;
      const gone = [...nodes.filter((one) => !alive.includes(one)), service];
      const counted: (number | null)[] = [];
      for (const limit of limits.limits)
        counted.push(limit.windowMs > longestRestMs ? await this.#recalled.count(tx, limit, alive) : null);
      const view = { me, alive, gone, part: decision.part, demand, limits: this.#compared.limits, counted };
      const { share, use } = takePlaces(limits, view);
      const { usedUp } = this.limiter;
      await writeShare(tx, this.lease, {
        ...this.#compared,
        ...share,
        ...decision.told,
        leaseMs: this.lease.leaseMs,
        usedUpUntil: usedUp && me.now + Math.ceil(usedUp.waitMs),
      });
      if (taken) killPoint('before-takeover');
      return { ...decision, me, alive, use, isAlone: alive.length === 1, ended, taken };
    });
    if (part.taken) killPoint('after-takeover');
    const others = alive.filter((one) => one !== me);
    this.#goneEpochs = new Set(others.filter((one) => hasEnded(one.holderProcess)).map(({ epoch }) => epoch));
    return part;
  }

  /** Turns what ended nodes were sending into "may have been sent", unless they noted that it never left. */
  #takeOver(tx: Tx, ended: readonly NodeRow[], alive: readonly NodeRow[], lastEpoch: number) {
    const holders = ended.flatMap((one) => this.#leftBy(one));
    const epochs = alive.map(({ epoch }) => epoch);
    return takeOver(tx, this.context, lastEpoch + 1, holders, epochs);
  }

  /** The sends that a node has noted, if its process ran on this machine, and beside the same witness. */
  #leftBy(row: NodeRow): { epoch: number; left: LeftMarks }[] {
    const holder = endedHolder(row);
    const left = holder && readLeftMarks(this.context.settings.store.witnessFile, holder);
    return left ? [{ epoch: row.epoch, left }] : [];
  }

  /** Pauses the service for all nodes, unless it is paused for this cause. */
  async #pauseAll(tx: Tx, { cause, reason }: NonNullable<NodeWay['trouble']>): Promise<void> {
    const pauses = await listPauses(tx);
    if (pauses.some((pause) => pause.lane === 'service' && pause.cause === cause)) return;
    const at = this.context.nowMs();
    const until_at = cause === 'outage' ? at + this.context.settings.delivery.probeSeconds * 1_000 : null;
    const actor = nodeActor(nodeNameOf(this.lease));
    await pauseLane(tx, { lane: 'service', cause, until_at, reason, actor, since_at: at });
    const detail = { lane: 'service', reason, until: until_at };
    await appendAudit(tx, [{ event: 'pause', outcome: cause, actor: this.context.actor, detail }], at);
  }
}
