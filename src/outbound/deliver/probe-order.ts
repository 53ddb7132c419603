type ProbeKind = 'pending' | 'in_doubt' | 'look_up';

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
