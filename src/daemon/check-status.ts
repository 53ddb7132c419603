import { pauseFact } from '../store/lane-pauses.js';
import { doAllRest, nodeTroubles } from '../store/node-troubles.js';
import { limitsUsedUpUntil } from '../store/nodes.js';
import { tell, tellWhole } from '../words/words.js';
import type { Status } from './read-status.js';

interface StatusCheck {
  level: 'OK' | 'WARNING' | 'CRITICAL';
  text: string;
}

/**
 * One line for a monitor: the worst first. Pure.
 * @param most where the counts of this status stop: so many or more
 */
export function checkStatus(status: Status, most = Infinity): StatusCheck {
  const critical: string[] = [];
  const warning: string[] = [];
  const { lease, nodes, pauses, outbox } = status;

  if (lease.holder === null && !nodes.some(({ state }) => state === 'at work'))
    critical.push(
      `nothing is delivered: ${lease.lapsed ? `${lease.lapsed} stopped responding` : 'no daemon is running'}`,
    );
  for (const { name, state } of nodes)
    if (state === 'silent' || state === 'gone') warning.push(`node ${name} stopped without a word`);
  const ofNodes = doAllRest(nodes) ? critical : warning;
  for (const { message } of nodeTroubles(nodes)) ofNodes.push(tellWhole(message));
  const usedUpUntil = limitsUsedUpUntil(nodes);
  if (usedUpUntil !== null)
    warning.push(`the limits are used up: no node sends anything before ${new Date(usedUpUntil).toISOString()}`);
  if (status.silence) critical.push(tell(status.silence));
  if (status.waiting) warning.push(tell(status.waiting));
  for (const pause of pauses) {
    const text = tell(pauseFact(pause));
    if (pause.cause === 'credential') critical.push(text);
    // Throttling is routine, and quiet hours are our own wish.
    else if (pause.cause !== 'throttled' && pause.cause !== 'quiet') warning.push(text);
  }
  if (status.webhooks?.stopped) warning.push(tellWhole(status.webhooks.stopped));
  if (status.unproven) warning.push(status.unproven);
  if (status.notLive) warning.push(tell(status.notLive));
  if (status.retentionWaits) warning.push(status.retentionWaits);
  const parked = outbox.parked.reduce((sum, { count }) => sum + count, 0);
  // The count of each class is not known then.
  if (parked >= most) warning.push(`${most}+ parked`);
  else if (parked > 0)
    warning.push(`${parked} parked (${outbox.parked.map((p) => `${p.count} ${p.parkClass}`).join(', ')})`);
  if (outbox.stranded !== null && outbox.stranded > 0)
    warning.push(
      `${outbox.stranded} messages will never be sent: the record or the customer that they wait for is not being sent`,
    );

  // Pauses, nodes, parked messages, silence and long waits are said above, as they are at this moment.
  const said = new Set(['pause', 'parked', 'silence', 'waiting', 'node']);
  for (const { cause, message } of status.alerts)
    if (!said.has(cause.split('.')[0] as string)) warning.push(tellWhole(message));

  const problems = [...critical, ...warning];
  const noCritical = warning.length > 0 ? 'WARNING' : 'OK';
  const level = critical.length > 0 ? 'CRITICAL' : noCritical;
  const open = outbox.byState
    .filter(({ state }) => state === 'pending' || state === 'sending' || state === 'in_doubt')
    .reduce((sum, { count }) => sum + count, 0);
  const quiet = pauses.find(({ lane, cause }) => lane === 'deliver' && cause === 'quiet');
  const doing = quiet ? tell(quiet.reason) : 'delivering';
  return {
    level,
    text:
      problems.length > 0 ? problems.join('; ') : `${doing}; ${open}${open >= most ? '+' : ''} open, nothing parked`,
  };
}
