import { expect } from 'chai';
import { isFullMatrix } from '../store/stores.js';
import { isOfNodes } from './plan.js';
import { seedsThatCatch } from './planted-bugs.js';
import { torture } from './run-torture.js';

/** The whole machine on a seed; in the full matrix on all that catch planted bugs. Many more: `npm run torture -- --seeds 300`. */
describe('torture', function () {
  // A seed takes less than a minute; a machine that has nothing to spare may take its time.
  this.timeout(isFullMatrix ? 7_200_000 : 600_000);

  const few = [
    { store: 'sqlite', seeds: [18], lot: ['fault:store-lost'] },
    { store: 'sqlite', seeds: [14], lot: ['fault:store-restored'] },
    { store: 'mariadb', seeds: [18], lot: ['fault:store-lost', 'fault:database-network-cut'] },
  ] as const;
  for (const { store, seeds, lot } of isFullMatrix ? few : few.slice(0, 1))
    it(`breaks no promise on fixed seeds with a ${store} store: ${lot.join(', ')}`, async () => {
      const report = await torture({ seeds: [...seeds], store, parallel: 2 });
      expect(report.failures).to.deep.equal([]);
      expect(report.seeds).to.equal(seeds.length);
      expect(report.coverage).to.include.keys(...lot);
      expect(Object.keys(report.coverage).some((name) => name.startsWith('point:'))).to.equal(true);
    });

  if (isFullMatrix)
    for (const { store, dispatcher, seeds } of seedsThatCatch())
      it(`breaks no promise on the seeds that catch planted bugs: ${store}, ${dispatcher}`, async () => {
        const report = await torture({ seeds, store, dispatcher, parallel: isOfNodes({ dispatcher }) ? 1 : 2 });
        expect(report.failures).to.deep.equal([]);
      });
});
