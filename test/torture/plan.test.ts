import { expect } from 'chai';
import { expectedCoverage, missingCoverage, seldom } from './coverage.js';
import { nodeFaults, redisFaults } from './draw-cluster.js';
import { drawPlan } from './draw-plan.js';
import { type Plan, storeKinds } from './plan.js';

/** The draws of a plan, by the names of the coverage. Consequences, such as a takeover, are not in it. */
function drawnIn({ traps, faults, storeFault, standby, deeds, mixUps, maxUpdates }: Plan): string[] {
  const all = [...traps.A, ...traps.B];
  const isTyped = (command: string) => (command === 'confirm' ? maxUpdates < 10 : storeFault !== null);
  return [
    ...[...all, ...traps.operator.filter(({ command }) => isTyped(command))].map(({ point }) => `point:${point}`),
    ...mixUps.map(({ kind }) => `mix-up:${kind}`),
    ...deeds.map(({ deed }) => `deed:${deed.kind}`),
    ...faults.map(({ fault }) => `fault:${fault.kind}${fault.kind === 'service-429' ? `-${fault.form}` : ''}`),
    ...(all.some(({ signal }) => signal === 'SIGSTOP') ? ['fault:process-freeze-at-point'] : []),
    ...(storeFault ? [`fault:${storeFault.kind}`] : []),
    ...(standby ? ['fault:standby'] : []),
    ...(all.some(({ signal }) => signal === 'SIGKILL') ? ['fault:takeover'] : []),
  ];
}

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

  for (const store of storeKinds)
    it(`names every point, fault and deed at least ten times in any hundred seeds with a ${store} store`, () => {
      const drawn = Array.from({ length: 400 }, (_, index) => new Set(drawnIn(drawPlan(index + 1, store))));
      for (const name of expectedCoverage(store))
        for (let first = 0; first + 100 <= drawn.length; first++)
          expect(drawn.slice(first, first + 100).filter((names) => names.has(name)).length, name).to.be.at.least(10);
    });

  for (const store of storeKinds)
    it(`names what is seldom at least five times in any hundred seeds with a ${store} store`, () => {
      const drawn = Array.from({ length: 400 }, (_, index) => new Set(drawnIn(drawPlan(index + 1, store))));
      for (const name of seldom)
        for (let first = 0; first + 100 <= drawn.length; first++)
          expect(drawn.slice(first, first + 100).filter((names) => names.has(name)).length, name).to.be.at.least(5);
    });

  for (const [dispatcher, kinds] of [
    ['cluster', [...redisFaults, ...nodeFaults]],
    ['nodes', nodeFaults],
  ] as const)
    it(`draws each fault of nodes at least five times in any sixty seeds of ${dispatcher}, and all else as without one`, () => {
      const plans = Array.from({ length: 300 }, (_, index) => drawPlan(index + 1, 'mariadb', dispatcher));
      const drawn = plans.map((plan) => new Set(drawnIn(plan)));
      const times = (name: string, first: number, seeds: number) =>
        drawn.slice(first, first + seeds).filter((names) => names.has(name)).length;
      for (const name of kinds)
        for (let first = 0; first + 60 <= drawn.length; first++)
          expect(times(`fault:${name}`, first, 60), name).to.be.at.least(5);
      for (const name of expectedCoverage('mariadb', dispatcher)) expect(times(name, 0, 100), name).to.be.at.least(10);
      const leads = plans.flatMap(({ faults }) =>
        faults.flatMap(({ fault }) => (fault.kind === 'node-clock' ? [fault.aheadMs] : [])),
      );
      expect(new Set(leads)).to.deep.equal(new Set([20_000, -20_000, 400_000, -400_000]));
    });

  it('draws every way of recovery and every effect of a removal', () => {
    const plans = Array.from({ length: 100 }, (_, index) => drawPlan(index + 1, 'sqlite'));
    const count = (name: string, chosen: (plan: Plan) => boolean) =>
      expect(plans.filter(chosen).length, name).to.be.at.least(2);
    for (const kind of ['store-lost', 'store-restored'])
      for (const recovery of ['from-service', 'bindings', 'look-up', 'by-hand'])
        count(`${kind} ${recovery}`, ({ storeFault }) => storeFault?.kind === kind && storeFault.recovery === recovery);
    for (const effect of ['nothing', 'delete', 'patch']) {
      const is = (chosen: Plan['removals']['onDeleted']) => (typeof chosen === 'object' ? 'patch' : chosen) === effect;
      count(`cancelled: ${effect}`, ({ removals }) => is(removals.onCancelled));
      count(`deleted: ${effect}`, ({ removals, sweeps }) => is(removals.onDeleted) && (sweeps || effect === 'nothing'));
    }
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

describe('the coverage of a torture run', () => {
  it('misses what came up less than once in ten seeds', () => {
    const all = Object.fromEntries([...expectedCoverage('mariadb'), ...seldom].map((name) => [name, 30]));
    expect(missingCoverage(all, 300, 'mariadb')).to.deep.equal([]);
    expect(missingCoverage({ ...all, 'point:before-send': 29 }, 300, 'mariadb')).to.deep.equal(['point:before-send']);
    const { 'fault:store-lost': _, ...less } = all;
    expect(missingCoverage(less, 100, 'mariadb')).to.deep.equal(['fault:store-lost']);
  });

  it('does not ask a file for the faults of a server', () => {
    const all = Object.fromEntries([...expectedCoverage('sqlite'), ...seldom].map((name) => [name, 10]));
    expect(missingCoverage(all, 100, 'sqlite')).to.deep.equal([]);
    expect(missingCoverage(all, 100, 'mariadb')).to.include('fault:database-deadlock');
  });

  it('says nothing of fewer than a hundred seeds', () => {
    expect(missingCoverage({}, 99, 'sqlite')).to.deep.equal([]);
  });
});
