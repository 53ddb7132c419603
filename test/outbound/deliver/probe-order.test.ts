import { expect } from 'chai';
import { probeOrder } from '../../../src/outbound/deliver/lane-keeper.js';

describe('what goes to see whether the service is back', () => {
  const firsts = (inDoubt: number) => Array.from({ length: 66 }, (_, probe) => probeOrder(probe, inDoubt)[0]);

  it('is a new one first: the service may fail only at those that are in doubt', () => {
    expect(probeOrder(0, 20)).to.deep.equal(['pending', 'in_doubt', 'look_up']);
    expect(firsts(20)).to.not.include('in_doubt');
  });

  it('is seldom a new one when many are in doubt already, yet one a minute', () => {
    const some = firsts(50);
    expect(some.filter((kind) => kind === 'pending')).to.have.length.within(5, 6);
    expect(some.filter((kind) => kind === 'in_doubt')).to.have.length.above(45);
  });

  it('is a look-up now and then, and whatever there is where nothing else is', () => {
    expect(firsts(20).filter((kind) => kind === 'look_up')).to.have.length(11);
    for (let probe = 0; probe < 66; probe++)
      for (const inDoubt of [0, 50])
        expect(probeOrder(probe, inDoubt)).to.have.members(['pending', 'in_doubt', 'look_up']);
  });
});
