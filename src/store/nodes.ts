import { hostname } from 'node:os';
import type { SettingsPart, StandsBy } from '../model/facts/alerts.js';
import type { PartFact } from '../model/facts/fact-of.js';
import { isOutside, shortened } from '../model/outside.js';
import { version } from '../model/version.js';
import type { AlertCause } from './alerts.js';
import type { Clocks } from './elapsed-time.js';
import { afterLastWords, Lease, type LeaseAnswer, systemClocks } from './lease.js';
import {
  endedHolder,
  endLeases,
  insertRow,
  type LeaseRow,
  lockRow,
  longestLeaseMs,
  msLeft,
  type NodeLeaseName,
  type NodeRow,
  nodeNameOf,
  occupantOf,
  readNodes,
  type StandByName,
  thisProcess,
} from './lease-rows.js';
import type { Store, Tx } from './store.js';

/**
 * The nodes of a cluster. Each has a lease of its own, under an epoch from the one counter of the `service` row, whose lock makes
 * of joining, of ending what is over, of leading and of changing places one thing after the other. A node that only delivers
 * locks nothing but its own row.
 */

/** A node's share of the limits, as it stands in its row. */
export interface Share {
  /** The limits that it keeps, in one text: all nodes have to keep the same. */
  limits: string;
  /** The sources that it captures and delivers, the same for all nodes: who leads without one would never read it. Absent in older versions. */
  sources?: string;
  /** The number of places that it may use, by limit. No two nodes may use one. */
  places: number[];
  /** The number of places that it could use, by limit. */
  demand: number[];
  /** When it said so, by the database's clock. */
  at: number;
  /** A hash of each part of the settings that all nodes should have alike. Absent in older versions. */
  settings?: SettingsHashes;
  /** The length of its lease. Older versions leave it out. */
  leaseMs?: number;
  /** The lead of its wall clock over the store's; negative if it is behind. Older versions leave it out. */
  clockLeadMs?: number;
  /** Why it could not read the ERP when it led, for as long as that keeps it from leading; null or absent: it may lead. */
  cannotLead?: PartFact | null;
  /** Why it sends nothing and has no place, although it is there; null or absent: it works. */
  rests?: RestCause | null;
  /** The reason behind `credential` or `outage`. */
  cannotSend?: PartFact | null;
  /** It rests, and needs a place for one request that sees whether it may go on. */
  tries?: boolean;
  /** Until when a long limit lets it send nothing, by the same clock; null or absent: it may send, or has no place at all. */
  usedUpUntil?: number | null;
}

type SettingsHashes = Partial<Record<SettingsPart, string>>;

/** What a node meets on its own way to the service: its credential is refused, or nothing gets through. */
export type WayCause = 'credential' | 'outage';

/** Why a node that is there sends nothing, while others may. `clock`: others would miscount what it sent. */
export type RestCause = 'clock' | WayCause;

/** A node as people see it. */
export interface NodeView {
  name: string;
  /** Its process; that of one that is gone is not known any more. */
  holder: string | null;
  /** `silent`: its time is over, and no other node has noticed yet. */
  state: 'at work' | 'silent' | 'gone' | 'left' | 'standing by';
  /** Why it stands by, or null. */
  standsBy: StandsBy | null;
  /** The time of the store's clock when it was looked at. */
  lookedAt: number;
  leads: boolean;
  version: string | null;
  sinceAt: number | null;
  /** When it last said that it was there. */
  beatAt: number | null;
  /** Its share of the limits, as `67 of 200/1s`. */
  places: string[];
  /** See `Share`. */
  usedUpUntil: number | null;
  clockLeadMs: number;
  settings: SettingsHashes;
  cannotLead: PartFact | null;
  rests: RestCause | null;
  cannotSend: PartFact | null;
  /** It may send nothing before another node leaves a place to it. */
  hasNoPlace: boolean;
}

function stateOf(row: NodeRow): NodeView['state'] {
  if (row.holder === null) return row.expiresAt === null ? 'left' : 'gone';
  return msLeft(row) > 0 ? 'at work' : 'silent';
}

/** Every node that there is or was lately, and those that stand by; none where the store has a deliverer that shares it with none. */
export async function viewNodes(tx: Tx): Promise<NodeView[]> {
  // One that only stood by has had no epoch.
  const rows = (await readNodes(tx)).filter(({ epoch }) => epoch > 0);
  if (rows.length === 0) return [];
  const leader = await readLeader(tx);
  const standBys = (await readStandBys(tx)).map((row): NodeView => {
    const { process, why } = JSON.parse(row.share) as { process: string; why: StandsBy };
    return {
      ...inNoCluster,
      name: row.name.slice(standByName('').length),
      holder: process,
      state: 'standing by',
      standsBy: why,
      lookedAt: row.now,
      version: row.version,
      sinceAt: row.sinceAt,
    };
  });
  const nodes = rows.map((row): NodeView => {
    const share = shareOf(row);
    const state = stateOf(row);
    const limits = (share?.limits ?? '').split(', ');
    return {
      ...inNoCluster,
      name: nodeNameOf(row),
      holder: row.holder,
      state,
      lookedAt: row.now,
      leads: state === 'at work' && row.epoch === leader,
      version: row.version,
      sinceAt: row.sinceAt,
      beatAt: share?.at ?? null,
      places: (share?.places ?? []).map((places, nth) => `${places} of ${limits[nth]}`),
      usedUpUntil: share?.usedUpUntil ?? null,
      clockLeadMs: share?.clockLeadMs ?? 0,
      settings: share?.settings ?? {},
      cannotLead: share?.cannotLead ?? null,
      rests: share?.rests ?? null,
      cannotSend: share?.cannotSend ?? null,
      hasNoPlace: share?.places.includes(0) ?? false,
    };
  });
  return [...nodes, ...standBys];
}

/** What is so of a process that has no part in the cluster. */
const inNoCluster = {
  standsBy: null,
  leads: false,
  beatAt: null,
  places: [],
  usedUpUntil: null,
  clockLeadMs: 0,
  settings: {},
  cannotLead: null,
  rests: null,
  cannotSend: null,
  hasNoPlace: false,
} satisfies Partial<NodeView>;

/** The same with times by this machine's clock, not by the store's. Pure. */
export function byThisClock(node: NodeView, nowMs: number): NodeView {
  const shifted = (time: number | null) => time && time + nowMs - node.lookedAt;
  return {
    ...node,
    lookedAt: nowMs,
    sinceAt: shifted(node.sinceAt),
    beatAt: shifted(node.beatAt),
    usedUpUntil: shifted(node.usedUpUntil),
  };
}

/** Until when no node may send, because a long limit is used up; null: one may. Pure. */
export function limitsUsedUpUntil(nodes: readonly NodeView[]): number | null {
  const working = nodes.filter(({ state }) => state === 'at work');
  if (working.some(({ usedUpUntil, hasNoPlace }) => usedUpUntil === null && !hasNoPlace)) return null;
  const times = working.flatMap(({ usedUpUntil }) => usedUpUntil ?? []);
  return times.length > 0 ? Math.min(...times) : null;
}

export function shareOf({ share }: Pick<NodeRow, 'share'>): Share | null {
  return share === null ? null : (JSON.parse(share) as Share);
}

/** The name of the machine, as far as it may stand in the name of a node. */
export function nodeNameHere(given: string | undefined): string {
  return (
    given ??
    (hostname()
      .replace(/[^A-Za-z0-9._-]/g, '-')
      .replace(/^[^A-Za-z0-9]+/, '')
      .slice(0, 40) ||
      'node')
  );
}

/** The cause of the alert that a node is without Redis: each may be cut off by itself. */
export function redisAlertOf(node: string): AlertCause {
  return `redis.${node}`;
}

interface NewNode {
  node: string;
  holder: string;
  leaseMs: number;
  version: string;
  limits: string;
  sources: string;
  settings: SettingsHashes;
  /** For how long the service counts a request at most that no limit counts from the record. */
  restMs: number;
}

/** Nodes that are gone for so long are forgotten. */
const rememberMs = 7 * 86_400_000;

type Shared = Partial<Pick<Share, 'limits' | 'sources' | 'settings'>> | null;

/** Sections of the settings in which two nodes must agree; otherwise one of them stands by. */
const sharedSettings: readonly (readonly [setting: string, (shared: Shared) => string | undefined])[] = [
  ['service.limits', (shared) => shared?.limits],
  ['sources', (shared) => shared?.sources],
  ['installation', (shared) => shared?.settings?.installation],
  ['service.baseUrl', (shared) => shared?.settings?.address],
];

/**
 * Joins the cluster: the lease of this node, unless a process of its name has it, the store has a deliverer that shares it with
 * none, other nodes have other limits, sources, installation or service, or what a node of its name sent still counts.
 */
export async function joinCluster(store: Store, one: NewNode, clocks: Clocks = systemClocks): Promise<LeaseAnswer> {
  const name: NodeLeaseName = `node/${one.node}`;
  return afterLastWords(clocks.clock, async (ended) => {
    const askedAt = clocks.clock.monotonicMs();
    return store.transaction('join the cluster', async (tx) => {
      const rows = await lockCluster(tx);
      const alone = await occupantOf(tx, rows.service, ended);
      if (alone)
        return {
          answer: {
            held: false,
            holder: `${alone.holder} (no node of a cluster)`,
            freeInMs: alone.freeInMs,
            why: { code: 'alone' },
          },
          ended: alone.ended,
        };
      await endLeases(tx, [rows.service]);
      await insertRow(tx, name);
      const mine = (await lockRow(tx, name)) as NodeRow;
      const double = await occupantOf(tx, mine, ended);
      if (double)
        return {
          answer: {
            held: false,
            holder: `${double.holder} (also node ${one.node})`,
            freeInMs: double.freeInMs,
            why: { code: 'name_taken' },
          },
          ended: double.ended,
        };
      const others = rows.nodes.filter((row) => row.name !== name);
      for (const [setting, of] of sharedSettings) {
        const stranger = others.find((row) => isHeld(row) && (of(shareOf(row)) ?? of(one)) !== of(one));
        if (!stranger) continue;
        const holder = `${stranger.holder} (node ${nodeNameOf(stranger)}, which has other ${setting})`;
        const why = { code: 'other_settings', node: nodeNameOf(stranger), setting } as const;
        return { answer: { held: false, holder, freeInMs: msLeft(stranger), why }, ended: null };
      }
      // Other nodes count the places of its last process until they have rested. That process stays in the row, so that another node
      // takes over from it: this one may be stopped before it has joined.
      const { releasedAt } = mine;
      if (isHeld(mine) && releasedAt === null)
        await tx.run('UPDATE lease SET expires_at=?, released_at=? WHERE name=?', [mine.now, mine.now, name]);
      const withoutRelease = isHeld(mine) ? 0 : Infinity;
      const goneMs = releasedAt === null ? withoutRelease : mine.now - releasedAt;
      if (goneMs < one.restMs) {
        const holder = `node ${one.node} itself, whose last requests still count`;
        const why = { code: 'own_requests' } as const;
        return { answer: { held: false, holder, freeInMs: one.restMs - goneMs, why }, ended: null };
      }
      const epoch = rows.service.epoch + 1;
      const share: Share = {
        limits: one.limits,
        sources: one.sources,
        settings: one.settings,
        leaseMs: one.leaseMs,
        places: [],
        demand: [],
        at: mine.now,
      };
      await tx.run("UPDATE lease SET epoch=? WHERE name='service'", [epoch]);
      await tx.run(
        'UPDATE lease SET epoch=?, holder=?, holder_process=?, expires_at=?, released_at=NULL, since_at=?, version=?, share=? WHERE name=?',
        [epoch, one.holder, thisProcess(), mine.now + one.leaseMs, mine.now, one.version, JSON.stringify(share), name],
      );
      await tx.run("DELETE FROM lease WHERE name LIKE 'node/%' AND holder IS NULL AND released_at<?", [
        mine.now - rememberMs,
      ]);
      await tx.run("DELETE FROM lease WHERE name=? OR (name LIKE 'standby/%' AND expires_at<?)", [
        standByName(one.node),
        mine.now - rememberMs,
      ]);
      const lease = new Lease(store, clocks, { name, epoch, leaseMs: one.leaseMs, askedAtMonotonicMs: askedAt });
      return { answer: { held: true, lease, idleMs: null, ended: endedHolder(mine) }, ended: null };
    });
  });
}

const standByName = (node: string): StandByName => `standby/${node}`;
/** A process that stands by asks again within two seconds. */
const standByMs = 10_000;

/** Puts on record that a process stands by beside nodes, for those who look at them. */
export async function noteStandBy(store: Store, node: string, process: string, why: StandsBy): Promise<void> {
  await store.transaction('say that this node stands by', async (tx) => {
    const name = standByName(node);
    await insertRow(tx, name);
    await tx.run(
      `UPDATE lease SET since_at=CASE WHEN expires_at>${tx.nowMs} THEN since_at ELSE ${tx.nowMs} END,
              expires_at=${tx.nowMs}+?, version=?, share=? WHERE name=?`,
      [standByMs, version, JSON.stringify({ process, why }), name],
    );
  });
}

interface StandByRow {
  name: StandByName;
  sinceAt: number;
  version: string | null;
  share: string;
  now: number;
}

/** Processes that stand by at this moment. */
function readStandBys(tx: Tx): Promise<StandByRow[]> {
  return tx.rows<StandByRow>(
    `SELECT name, since_at, version, share, ${tx.nowMs} AS now FROM lease
      WHERE name LIKE 'standby/%' AND expires_at>${tx.nowMs} ORDER BY name`,
  );
}

type ServiceRow = NonNullable<Awaited<ReturnType<typeof lockRow>>>;

/** Has the lock of the cluster until the transaction ends. */
export async function lockCluster(tx: Tx): Promise<{ service: ServiceRow; nodes: NodeRow[]; leader: number | null }> {
  let service = await lockRow(tx, 'service');
  if (!service) {
    await insertRow(tx, 'service');
    service = (await lockRow(tx, 'service')) as ServiceRow;
  }
  const nodes = await readNodes(tx);
  for (const row of [service, ...nodes]) await boundTimes(tx, row);
  return { service, nodes, leader: await readLeader(tx) };
}

/**
 * The times of this row by a database's clock that was set back, or by that of another server, lie ahead: from now on they count from
 * this moment. A rest is never longer than the window then, and no lease longer than leases are. The caller has the lock of the cluster.
 */
async function boundTimes(tx: Tx, row: ServiceRow | NodeRow): Promise<void> {
  const { name, releasedAt, expiresAt, now } = row;
  const next = boundedTimes(row, 'share' in row ? shareOf(row)?.leaseMs : undefined);
  // A node renews its lease without the lock.
  if (next.expiresAt !== expiresAt)
    await tx.run('UPDATE lease SET expires_at=? WHERE name=? AND expires_at=?', [next.expiresAt, name, expiresAt]);
  if (next.releasedAt !== releasedAt)
    await tx.run('UPDATE lease SET released_at=? WHERE name=? AND released_at>?', [next.releasedAt, name, now]);
  Object.assign(row, next);
}

/** The times of a lease as far as they can be true at this moment of the database's clock. Pure. */
export function boundedTimes(
  { releasedAt, expiresAt, now }: Pick<LeaseRow, 'releasedAt' | 'expiresAt' | 'now'>,
  leaseMs: number = longestLeaseMs,
): Pick<LeaseRow, 'releasedAt' | 'expiresAt'> {
  const upTo = (time: number | null, most: number) => (time === null ? null : Math.min(time, most));
  return { releasedAt: upTo(releasedAt, now), expiresAt: upTo(expiresAt, now + leaseMs) };
}

/** True if nobody has ended it, or let it go. Its time may be over all the same. */
export function isHeld({ holder }: Pick<NodeRow, 'holder'>): boolean {
  return holder !== null;
}

/**
 * Ends nodes whose time is over by the database's clock, or whose processes are known to have ended. The caller has the lock of
 * the cluster. @returns those that it ended: one may have renewed its lease meanwhile
 */
export async function endNodes(tx: Tx, rows: readonly NodeRow[], ended: ReadonlySet<number>): Promise<NodeRow[]> {
  const over: NodeRow[] = [];
  for (const row of rows) {
    const isOver = ended.has(row.epoch) ? '' : `AND expires_at<=${tx.nowMs}`;
    const changed = await tx.run(
      `UPDATE lease SET holder=NULL, released_at=COALESCE(released_at, ${tx.nowMs}) WHERE name=? AND epoch=? AND holder IS NOT NULL ${isOver}`,
      [row.name, row.epoch],
    );
    if (changed > 0) over.push(row);
  }
  return over;
}

/** The width of its column, and of a text from outside in it. */
const mostOfShare = 1_000;
const mostOfText = 200;

/** The caller has the lock of the cluster. */
export async function writeShare(tx: Tx, { name }: Pick<Lease, 'name'>, share: Share): Promise<void> {
  const text = JSON.stringify(share, (_, value) => (isOutside(value) ? shortened(value, mostOfText) : value));
  // Whatever a failure carries along: what the others need has to fit.
  const fits = text.length <= mostOfShare;
  const [cannotLead, cannotSend] = [share.cannotLead, share.cannotSend].map((fact) => fact && { code: fact.code });
  const short = () => JSON.stringify({ ...share, cannotLead, cannotSend });
  await tx.run('UPDATE lease SET share=? WHERE name=?', [fits ? text : short(), name]);
}

/** The epoch of the node that leads, if nobody has taken that from it; null: none does. */
export async function readLeader(tx: Tx): Promise<number | null> {
  return (await tx.value<number>("SELECT epoch FROM lease WHERE name='leader' AND holder IS NOT NULL")) ?? null;
}

/** True if this node sends. Pure. */
export function isWorking(row: NodeRow): boolean {
  return !shareOf(row)?.rests;
}

/** True if all nodes have met the same on their way to the service, so that it is the service's. Pure. */
export function isOfAll(cause: WayCause, others: readonly Pick<Share, 'rests' | 'tries'>[]): boolean {
  // The answer to a node that tries a new credential may be another one.
  const mayPass = ({ rests, tries }: Pick<Share, 'rests' | 'tries'>) =>
    (rests !== cause && rests !== 'clock') || (cause === 'credential' && tries === true);
  return !others.some(mayPass);
}

/** The name of a node as the one that paused a lane. */
export function nodeActor(node: string): string {
  return `node ${node}`;
}

/** True if this pause was made by a node other than this one. Pure. */
export function isByOtherNode(actor: string, node: string): boolean {
  return actor.startsWith(nodeActor('')) && actor !== nodeActor(node);
}

/** True if this node may lead. Pure. */
export function isAble({ rests, cannotLead }: Pick<Share, 'rests' | 'cannotLead'>): boolean {
  return !rests && !cannotLead;
}

/**
 * The node that leads from now on: the one that does, as long as it is able to or no other one is. Pure.
 * @param alive nodes at work, the one that asks among them
 * @param leader the epoch of the one that leads; null or none of these: nobody does
 */
export function nextLeader<Node extends { epoch: number; isAble: boolean }>(
  alive: readonly Node[],
  leader: number | null,
): Node | undefined {
  const now = alive.find(({ epoch }) => epoch === leader);
  return now?.isAble ? now : (alive.find(({ isAble }) => isAble) ?? now ?? alive[0]);
}

/** The caller has the lock of the cluster. */
export async function takeLead(tx: Tx, { epoch, name }: Pick<Lease, 'epoch' | 'name'>): Promise<void> {
  await insertRow(tx, 'leader');
  await tx.run("UPDATE lease SET epoch=?, holder=?, released_at=NULL WHERE name='leader'", [epoch, name]);
}

/** Lets go of lease and lead at once. The places stay in the row: they rest until their windows have passed. */
export async function leaveCluster(store: Store, { epoch, name }: Pick<Lease, 'epoch' | 'name'>): Promise<void> {
  await store.transaction('leave the cluster', (tx) =>
    tx.run(
      `UPDATE lease SET holder=NULL, expires_at=NULL, released_at=${tx.nowMs} WHERE name IN (?, 'leader') AND epoch=?`,
      [name, epoch],
    ),
  );
}
