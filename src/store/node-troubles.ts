import type { AlertFact, SettingsPart } from '../model/facts/alerts.js';
import type { AlertCause } from './alerts.js';
import type { NodeView } from './nodes.js';

/** From here on people are told that the clock of a node is off. */
const tellOffMs = 5_000;

/** A node says about once a second that it is there. */
const tellSilentMs = 5_000;
/** Longer than most leases: a name may be that of a dead process for so long. */
const tellStandByMs = 60_000;

export interface NodeTrouble {
  node: string;
  cause: AlertCause;
  message: AlertFact;
}

/** All that keeps nodes at work from doing what a node should. Pure. */
export function nodeTroubles(nodes: readonly NodeView[]): NodeTrouble[] {
  const working = nodes.filter(({ state }) => state === 'at work');
  const leader = working.find(({ leads }) => leads);
  return [
    ...working.flatMap((node) => [...troublesOf(node, leader ?? node), ...wayTroubleOf(node, working)]),
    ...nodes.flatMap(standByOf),
  ];
}

/** One that stands by for longer than a dead node keeps its lease does not join by itself. */
function standByOf({ name: node, holder, standsBy: why, sinceAt, lookedAt }: NodeView): NodeTrouble[] {
  if (why === null || holder === null || lookedAt - (sinceAt ?? lookedAt) < tellStandByMs) return [];
  const message = { code: 'node_stands_by', node, process: holder, why } as const;
  return [{ node, cause: `node.${node}.standby`, message }];
}

/** True if there are nodes, and each of them rests. Pure. */
export function doAllRest(nodes: readonly NodeView[]): boolean {
  const working = nodes.filter(({ state }) => state === 'at work');
  return working.length > 0 && working.every(({ rests }) => rests !== null);
}

/** A node's own way to the service; what all of them have met is paused for all. */
function wayTroubleOf({ name: node, rests, cannotSend }: NodeView, working: readonly NodeView[]): NodeTrouble[] {
  if (rests === null || rests === 'clock' || cannotSend === null) return [];
  if (working.every((one) => one.rests === rests)) return [];
  const others = working.flatMap((one) => (one.rests === null ? [one.name] : []));
  const message = { code: 'node_cannot_send', node, cause: rests, others, failure: cannotSend } as const;
  return [{ node, cause: `node.${node}.service`, message }];
}

function troublesOf(
  { name: node, clockLeadMs, rests, settings, cannotLead, leads, beatAt, lookedAt }: NodeView,
  leader: NodeView,
): NodeTrouble[] {
  const found: NodeTrouble[] = [];
  if (beatAt !== null && lookedAt - beatAt > tellSilentMs)
    found.push({ node, cause: `node.${node}.silent`, message: { code: 'node_silent', node } });
  if (Math.abs(clockLeadMs) > tellOffMs) {
    const aheadSeconds = Math.round(clockLeadMs / 1_000);
    const message = { code: 'node_clock_off', node, aheadSeconds, rests: rests === 'clock' } as const;
    found.push({ node, cause: `node.${node}.clock`, message });
  }
  const parts = (Object.keys(settings) as SettingsPart[]).filter(
    (part) => (leader.settings[part] ?? settings[part]) !== settings[part],
  );
  if (parts.length > 0) {
    const message = { code: 'node_settings_differ', node, leader: leader.name, parts } as const;
    found.push({ node, cause: `node.${node}.settings`, message });
  }
  // One that leads although it cannot has failures of its own on record.
  if (cannotLead !== null && !leads) {
    const message = { code: 'node_cannot_lead', node, leader: leader.name, failure: cannotLead } as const;
    found.push({ node, cause: `node.${node}.lead`, message });
  }
  return found;
}
