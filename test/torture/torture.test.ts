import { expect } from 'chai';
import { torture } from './run-torture.js';

/** The whole machine on a few seeds. Many more: `npm run torture -- --seeds 300`. */
describe('torture', function () {
  // They take less than a minute; a machine that has nothing to spare may take its time.
  this.timeout(600_000);

  for (const { store, seeds, lot } of [
    { store: 'sqlite', seeds: [18, 14], lot: ['fault:store-lost', 'fault:store-restored'] },
    { store: 'mariadb', seeds: [18], lot: ['fault:store-lost', 'fault:database-network-cut'] },
  ] as const)
    it(`breaks no promise on fixed seeds with a ${store} store: ${lot.join(', ')}`, async () => {
      const report = await torture({ seeds: [...seeds], store, parallel: 2 });
      expect(report.failures).to.deep.equal([]);
      expect(report.seeds).to.equal(seeds.length);
      expect(report.coverage).to.include.keys(...lot);
      expect(Object.keys(report.coverage).some((name) => name.startsWith('point:'))).to.equal(true);
    });
});
