import { expect } from 'chai';
import { nextRevision } from '../../../src/outbound/capture/next-revision.js';
import type { ParkClass } from '../../../src/outbound/outbox/message.js';

/** A record that may exist once more stays visible to a person. */
const nothingWasDone = (parkClass: ParkClass, firstSentAt: number | null) =>
  parkClass === 'refused' || parkClass === 'unmapped' || (firstSentAt === null && parkClass !== 'unproven');

describe('a change to a record that the service acknowledged', () => {
  for (const parkClass of ['refused', 'unmapped', 'conflict', 'unproven'] as ParkClass[])
    for (const state of ['parked', 'discarded'] as const)
      it(`is an update, also after a repeated create was ${state} as ${parkClass}`, () => {
        const newest = {
          id: 7,
          revision: 2,
          operation: 'create',
          generation: 0,
          state,
          parkClass,
          contentHash: 'a',
          foundAt: null,
        } as const;
        const binding = { revision: 1, generation: 0, contentHash: 'a' };
        for (const replaysRefusals of [false, true])
          for (const firstSentAt of [null, 1])
            expect(nextRevision('b', { ...newest, firstSentAt }, binding, replaysRefusals)).to.deep.equal({
              action: 'write',
              operation: 'update',
              revision: 3,
              generation: 0,
              supersedes: state === 'parked' && nothingWasDone(parkClass, firstSentAt) ? 7 : null,
            });
      });
});
