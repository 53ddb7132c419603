import { expect } from 'chai';
import { eachStore, useStore } from '../store/stores.js';
import { useLab } from '../support/jobs/job-lab.js';
import { Browser, deskSettings, openDesk } from './desk-client.js';
import { fillStore, pathsOf } from './filled-store.js';

const messages = 300_000;
/** Counts stop at 10,000, and a page that filters looks through 100,000 ids. Queries that read a whole table are above. */
const mostRead = 280_000;

eachStore({ usual: ['mysql'], possible: ['mysql'] }, (store, name) =>
  describe(`a desk before a large store (${name}, riverui#106)`, () => {
    const kit = useStore(store);
    const labs = useLab(kit);

    /** Rows that the server has read so far, for everybody. */
    async function rowsRead(): Promise<number> {
      const rows = await kit.rows("SHOW GLOBAL STATUS LIKE 'Handler_read_%'");
      return rows.reduce((sum, { Value }) => sum + Number(Value), 0);
    }

    it('reads no more than a bounded part of it for any page', async function () {
      this.timeout(180_000);
      const lab = await labs.start({ customers: 1, orders: 1, settings: await deskSettings(kit.folder) });
      await fillStore(lab.context.store, messages);
      const desk = await openDesk(lab);
      try {
        const anna = new Browser(desk.url);
        await anna.signIn('anna');
        const read: [path: string, rows: number][] = [];
        // The metrics count up to 100,000 of each state.
        for (const path of pathsOf(messages).filter((one) => one !== 'metrics')) {
          const before = await rowsRead();
          expect((await anna.open(path)).status, path).to.be.oneOf([200, 303, 404]);
          read.push([path, (await rowsRead()) - before]);
        }
        expect(read.filter(([, rows]) => rows > mostRead)).to.deep.equal([]);
        if (process.env.DESK_ROWS) console.table(read);
      } finally {
        await desk.close();
      }
    });
  }),
);
