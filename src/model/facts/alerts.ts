import type { Outside } from '../outside.js';
import type { Entity } from '../record.js';
import type { WriteBackKind } from '../write-back.js';
import type { FactOf, NoData, PartFact } from './fact-of.js';
import type { DropFact } from './lists.js';
import type { LeftFact } from './records.js';

/** A part of the settings that nodes of a cluster should have alike. */
export type SettingsPart = 'installation' | 'address' | 'mapping' | 'sources' | 'keys' | 'quiet_hours';

/** Why a process does not join the nodes at work. */
export type StandsBy =
  /** Another process has its name. */
  | { code: 'name_taken' }
  /** A deliverer shares the store with none, or this is one and there are nodes. */
  | { code: 'alone' }
  | { code: 'other_settings'; node: string; setting: string }
  /** Its last process was ended, and the service still counts that one's requests. */
  | { code: 'own_requests' };

/** Something that a person should know of. The default source is null. */
export interface AlertFacts {
  /** `until`: null where only a person ends it. */
  pause_in_force: { lane: string; pause: string; until: number | null; reason: PartFact };
  /** `isMore`: counting stopped there. */
  messages_parked: { count: number; isMore: boolean };
  job_failing: {
    job: 'capture' | 'pull';
    source: string | null;
    failures: number;
    failingSince: number | null;
    failure: PartFact | null;
  };
  /** Delivered orders that the service no longer has, and the key of one. */
  orders_gone: { count: number; sourceKey: string };
  /** The record that has been waiting for its acknowledgement longest. */
  record_waits: { entity: Entity; sourceKey: string; hours: number };
  nothing_succeeds: { hours: number; lastSuccess: number | null };
  /** Changes that one scan found, or that are suspicious by themselves. */
  changes_held: { entity: Entity; source: string | null; held: number; reason: PartFact };
  /** All updates and removals, because something is wrong with the source itself. */
  source_held: { entity: Entity; source: string | null; cause: string; reason: PartFact };
  rows_without_key: { entity: Entity; source: string | null; rows: number };
  orders_left: { source: string | null; orders: number; some: readonly { key: string; reason: LeftFact }[] };
  /** `isAsked`: the service is asked for each of the orders; otherwise a person has to look. */
  keys_forgotten: { acknowledged: number; existed: number; orders: number; isAsked: boolean };
  /** `deprecatedAt`: true where the service names no day. */
  endpoint_ends: {
    endpoint: string;
    baseUrl: string;
    address: string;
    deprecatedAt: number | true | null;
    sunsetAt: number | null;
  };
  states_unnamed: { entity: Entity; states: readonly string[] };
  read_forbidden: { endpoint: string; id: string; reason: PartFact; lastAt: number };
  /** Rows of the service's list of invoices that are set aside. `known`: those among them that stay listed with older values. */
  invoices_set_aside: {
    aside: number;
    understood: number;
    known: number;
    /** One of them. */
    invoiceNo: string | null;
    reason: PartFact | null;
  };
  /** `drop`: what the last list would take off at once; null: only what was held before is missing still. */
  invoices_held: { leaving: number; some: readonly string[]; drop: DropFact | null };
  webhooks_forged: NoData;
  write_back_failing: { targets: readonly WriteBackKind[]; failures: readonly PartFact[] };
  write_back_refused: {
    refusals: readonly { kind: WriteBackKind; count: number; recordKey: string; refusal: PartFact }[];
  };
  write_back_moves_changed_at: { kind: WriteBackKind };
  /** The clock of a machine differs from the store's; negative: it is behind. `rests`: so much that the node sends nothing. */
  node_clock_off: { node: string; aheadSeconds: number; rests: boolean };
  /** A node rests for what it alone has met on its way to the service. `others`: nodes that go on. */
  node_cannot_send: { node: string; cause: 'credential' | 'outage'; others: readonly string[]; failure: PartFact };
  /** A process has stood by for longer than a node that is gone keeps its lease. */
  node_stands_by: { node: string; process: string; why: StandsBy };
  /** A node that should be at work has not said so for some seconds. */
  node_silent: { node: string };
  /** A node has failed to read the ERP, and another one leads instead. */
  node_cannot_lead: { node: string; leader: string; failure: PartFact };
  /** A node has other settings than the one that leads. */
  node_settings_differ: { node: string; leader: string; parts: readonly SettingsPart[] };
  redis_away: { node: string; reason: Outside };
  witness_unwritten: { file: string; reason: Outside };
}

export type AlertFact = FactOf<AlertFacts>;
/** The changes that a pass holds, or would hold. */
export type HeldFact = Extract<AlertFact, { code: 'changes_held' }>;
