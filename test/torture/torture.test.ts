import { expect } from 'chai';
import { torture } from './run-torture.js';

/** The whole machine on a few seeds. Many more: `npm run torture -- --seeds 300`. */
describe('torture', function () {
  // They take less than a minute; a machine that has nothing to spare may take its time.
  this.timeout(600_000);

  for (const store of ['sqlite', 'mariadb'] as const)
    it(`breaks no promise on three fixed seeds with a ${store} store, one of them lost and one restored`, async () => {
      const report = await torture({ seeds: [18, 14, 11], store, parallel: 3 });
      expect(report.failures).to.deep.equal([]);
      expect(report.seeds).to.equal(3);
      expect(report.coverage).to.include.keys('fault:store-lost', 'fault:store-restored');
      expect(Object.keys(report.coverage).some((name) => name.startsWith('point:'))).to.equal(true);
    });
});
