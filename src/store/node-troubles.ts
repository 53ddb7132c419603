import type { AlertFact } from '../model/facts/alerts.js';
import type { AlertCause } from './alerts.js';
import type { NodeView } from './nodes.js';

/** From here on people are told that the clock of a node is off. */
const tellOffMs = 5_000;

export interface NodeTrouble {
  node: string;
  cause: AlertCause;
  message: AlertFact;
}

/** All that keeps nodes at work from doing what a node should. Pure. */
export function nodeTroubles(nodes: readonly NodeView[]): NodeTrouble[] {
  return nodes.filter(({ state }) => state === 'at work').flatMap(troublesOf);
}

function troublesOf({ name: node, clockLeadMs, rests }: NodeView): NodeTrouble[] {
  const found: NodeTrouble[] = [];
  if (Math.abs(clockLeadMs) > tellOffMs) {
    const aheadSeconds = Math.round(clockLeadMs / 1_000);
    const message = { code: 'node_clock_off', node, aheadSeconds, rests: rests === 'clock' } as const;
    found.push({ node, cause: `node.${node}.clock`, message });
  }
  return found;
}
