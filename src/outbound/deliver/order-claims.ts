/** Of so many messages one is of the backlog, as long as there is one. */
export const backlogTurn = 10;

export interface ClaimOrder {
  /** In the order of sending. `isUrgent`: goes before whatever of the backlog still waits for its slot. */
  claims: { id: number; isUrgent: boolean }[];
  /** Messages of news since the backlog had its turn. */
  newsSinceTurn: number;
}

/**
 * What goes next: news first, and in every tenth place one of the backlog, which goes then as if it were news, so that it still
 * moves however much is new. What is left of the room is filled with the backlog, which lets pass all that comes meanwhile. Pure.
 * @param news what is due, in its order
 * @param backlog the same of the backlog
 * @param newsSinceTurn as the last call returned it
 */
export function orderClaims(
  news: readonly number[],
  backlog: readonly number[],
  room: number,
  backlogRoom: number,
  newsSinceTurn: number,
): ClaimOrder {
  const claims: ClaimOrder['claims'] = [];
  let since = newsSinceTurn;
  let taken = 0;
  for (const id of news) {
    if (since >= backlogTurn - 1 && taken < backlog.length && claims.length < room) {
      claims.push({ id: backlog[taken++] as number, isUrgent: true });
      since = 0;
    }
    if (claims.length >= room) break;
    claims.push({ id, isUrgent: true });
    since = Math.min(since + 1, backlogTurn - 1);
  }
  while (taken < backlog.length && taken < backlogRoom && claims.length < room)
    claims.push({ id: backlog[taken++] as number, isUrgent: false });
  return { claims, newsSinceTurn: since };
}

export type ProbeKind = 'pending' | 'in_doubt' | 'look_up';

/** So many in doubt are a price that an outage may have; each may have to be looked at by a person if it lasts for days. */
const freelyInDoubt = 50;
const newOneEvery = 11;
const lookUpEvery = 6;

/**
 * What goes to see whether the service is back, the first that there is. Pure. What was not tried yet goes first: the service
 * may fail at the records that are in doubt, and at no other. But where it is down for all, each new one is one more in doubt.
 * @param probe counts the probes, from 0
 * @param inDoubt how many messages are in doubt
 */
export function probeOrder(probe: number, inDoubt: number): ProbeKind[] {
  if (probe % lookUpEvery === lookUpEvery - 1) return ['look_up', 'pending', 'in_doubt'];
  const newFirst = inDoubt < freelyInDoubt || probe % newOneEvery === 0;
  return newFirst ? ['pending', 'in_doubt', 'look_up'] : ['in_doubt', 'pending', 'look_up'];
}
