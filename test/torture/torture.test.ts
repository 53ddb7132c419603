import { expect } from 'chai';
import { torture } from './run-torture.js';

/** The whole machine on a few seeds. Many more: `npm run torture -- --seeds 300`. */
describe('torture', function () {
  // They take ten seconds; a machine that has nothing to spare may take its time.
  this.timeout(600_000);

  for (const store of ['sqlite', 'mariadb'] as const)
    it(`breaks no promise on three fixed seeds with a ${store} store`, async () => {
      const report = await torture({ seeds: [3, 8, 11], store, parallel: store === 'sqlite' ? 3 : 2 });
      expect(report.failures).to.deep.equal([]);
      expect(report.seeds).to.equal(3);
      expect(Object.keys(report.coverage).some((name) => name.startsWith('point:'))).to.equal(true);
    });
});
