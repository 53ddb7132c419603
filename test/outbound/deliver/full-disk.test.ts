import { expect } from 'chai';
import { mostUnsettled } from '../../../src/outbound/deliver/lane-keeper.js';
import { StoreError } from '../../../src/store/store-error.js';
import { useStore } from '../../store/stores.js';
import { useLab } from '../../support/jobs/job-lab.js';
import { expectAllAtService, expectAttemptsFor, expectOneBodyPerKey, statesOf } from '../../support/jobs/service-of.js';
import { waitFor } from '../../support/wait-for.js';
import { attemptsSql } from '../../torture/store-witness.js';

describe('delivery from a store whose disk is full', () => {
  const kit = useLab(useStore('sqlite'));

  const leaveRoom = async (pages: number) => {
    // Else there are free pages within the file.
    await kit.rows('VACUUM');
    const [row] = await kit.rows('PRAGMA page_count');
    await kit.rows(`PRAGMA max_page_count=${Number(row.page_count) + pages}`);
  };

  // The disk is full for the claims, for their outcomes, or in the middle.
  for (const pages of [0, 3, 6])
    it(`sends nothing that is not on record, and goes on when there is room again (${pages} pages were left)`, async () => {
      // Few at a time are claimed, so that there are claims after the first outcomes; more than may be sent without an outcome.
      const orders = mostUnsettled({ limits: [] }, kit.store.dialect.messagesAtOnce) + 200;
      const lab = await kit.start({ customers: 6, orders, settings: { service: { concurrency: 1 } } });
      await lab.capture({ sweep: true });
      const { pending: captured = 0 } = await statesOf(kit);
      await leaveRoom(pages);
      let ended = false;
      const running = lab
        .deliver()
        .then(() => null)
        .catch((error: Error) => error)
        .finally(() => {
          ended = true;
        });
      await waitFor('the full disk', () => ended || lab.log.some((line) => line.includes('is full')));
      // Whatever is under way comes to its end.
      await waitFor('the answers', () => lab.sandbox.ledger().requests.every(({ answered_at_ms: at }) => at !== null));
      // In this order: what is sent meanwhile is on record before.
      const sent = lab.sandbox.ledger().requests.map((request) => request.idempotency_key);
      const onRecord = await kit.rows(attemptsSql);
      expect(onRecord.map((row) => row.idempotency_key)).to.include.members(sent);
      expect(sent.length).to.be.below(captured);

      await kit.rows('PRAGMA max_page_count=1000000');
      const trouble = await running;
      if (trouble !== null)
        expect(trouble).to.be.instanceOf(StoreError).and.to.have.property('message').that.contains('full');
      // As the schedule does.
      await lab.deliver();
      expect(await statesOf(kit)).to.deep.equal({ delivered: captured });
      await expectAllAtService(lab);
      expectOneBodyPerKey(lab);
      await expectAttemptsFor(kit, lab);
    });
});
