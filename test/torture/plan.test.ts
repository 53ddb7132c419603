import { expect } from 'chai';
import { killPoints } from '../../src/jobs/kill-point.js';
import { drawPlan, serviceFaults } from './plan.js';

describe('the plan of a torture run', () => {
  it('is the same for the same seed, and another one for the next', () => {
    expect(drawPlan(17, 'sqlite')).to.deep.equal(drawPlan(17, 'sqlite'));
    expect(drawPlan(17, 'sqlite')).to.not.deep.equal(drawPlan(18, 'sqlite'));
  });

  it('holds at least 100 records and five faults', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const { erp, deeds, faults } = drawPlan(seed, 'sqlite');
      expect(erp.customers + erp.orders + deeds.length).to.be.at.least(100);
      expect(faults.length).to.be.at.least(5);
    }
  });

  it('names every point and every fault of the service at least ten times in a hundred seeds', () => {
    const named = new Map<string, number>();
    const count = (name: string) => named.set(name, (named.get(name) ?? 0) + 1);
    for (let seed = 1; seed <= 100; seed++) {
      const { traps, faults } = drawPlan(seed, 'mariadb');
      for (const { point } of [...traps.A, ...traps.B]) count(point);
      for (const { fault } of faults) count(fault.kind);
    }
    for (const name of [...killPoints, ...serviceFaults]) expect(named.get(name), name).to.be.at.least(10);
  });

  it('never lets one record meet three answers that are no acknowledgement', () => {
    for (let seed = 1; seed <= 300; seed++) {
      const pages = drawPlan(seed, 'sqlite').faults.map(({ fault }) =>
        fault.kind === 'service-html' ? fault.times : 0,
      );
      expect(pages.reduce((sum, times) => sum + times, 0)).to.be.below(3);
    }
  });
});
