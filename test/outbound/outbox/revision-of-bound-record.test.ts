import { expect } from 'chai';
import { nextRevision } from '../../../src/outbound/capture/next-revision.js';
import type { ParkClass } from '../../../src/outbound/outbox/message.js';

/** A record that may exist once more stays visible to a person. */
const nothingWasDone = (parkClass: ParkClass, wasSent: 0 | 1) =>
  parkClass === 'refused' || parkClass === 'unmapped' || (wasSent === 0 && parkClass !== 'unproven');

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
          for (const wasSent of [0, 1] as const)
            expect(
              nextRevision('b', { ...newest, wasSent, firstSentAt: null }, binding, replaysRefusals),
            ).to.deep.equal({
              action: 'write',
              operation: 'update',
              revision: 3,
              generation: 0,
              supersedes: state === 'parked' && nothingWasDone(parkClass, wasSent) ? 7 : null,
            });
      });
});
