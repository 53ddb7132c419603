import { expect } from 'chai';
import fc from 'fast-check';
import {
  decideRemoval,
  type KnownBinding,
  type NewestMessage,
  nextRevision,
} from '../../../src/outbound/capture/next-revision.js';
import {
  type MessageState,
  messageStates,
  type Operation,
  openStates,
  type ParkClass,
} from '../../../src/outbound/outbox/message.js';

const newest = (changes: Partial<NewestMessage> = {}): NewestMessage => ({
  id: 7,
  revision: 1,
  operation: 'create',
  generation: 0,
  state: 'delivered',
  parkClass: null,
  contentHash: 'A',
  wasSent: 1,
  firstSentAt: 1,
  foundAt: null,
  ...changes,
});
const binding: KnownBinding = { revision: 1, generation: 0, contentHash: 'A' };

describe('the removal of a record', () => {
  it('is a message with its own revision, when the service has the record', () => {
    expect(decideRemoval('delete', newest(), binding, null)).to.deep.equal({
      action: 'write',
      operation: 'delete',
      revision: 2,
      generation: 0,
      supersedes: null,
    });
    expect(decideRemoval('patch', null, binding, 'P')).to.deep.include({ operation: 'update', revision: 2 });
  });

  it('is written anew where an earlier one was closed unsent, and not where the service holds its fields', () => {
    const closed = newest({
      operation: 'update',
      revision: 2,
      contentHash: 'P',
      state: 'superseded',
      wasSent: 0,
      firstSentAt: null,
    });
    expect(decideRemoval('patch', closed, binding, 'P')).to.deep.include({ action: 'write', revision: 3 });
    const settled = { ...binding, revision: 2, contentHash: 'P' };
    expect(decideRemoval('patch', closed, settled, 'P')).to.deep.equal({ action: 'none' });
  });

  it('is nothing by default, and nothing for what the service never had', () => {
    expect(decideRemoval('nothing', newest(), binding, null)).to.deep.equal({ action: 'none' });
    expect(decideRemoval('delete', null, null, null)).to.deep.equal({ action: 'none' });
  });

  it('closes an unsent create without sending it, whatever is configured', () => {
    for (const effect of ['nothing', 'delete', 'patch'] as const)
      expect(
        decideRemoval(effect, newest({ state: 'pending', wasSent: 0, firstSentAt: null }), null, 'P'),
      ).to.deep.equal({
        action: 'withdraw',
        closes: 7,
      });
  });

  it('withdraws no create that a lost store may have sent, and asks nothing of what is gone', () => {
    const unmapped = newest({ state: 'parked', parkClass: 'unmapped', wasSent: 1, firstSentAt: 1 });
    for (const effect of ['nothing', 'delete', 'patch'] as const)
      expect(decideRemoval(effect, unmapped, null, 'P'), effect).to.deep.equal({ action: 'none' });
    for (const state of ['delivered', 'discarded', 'superseded'] as const)
      expect(decideRemoval('delete', newest({ operation: 'update', state }), null, null), state).to.deep.equal({
        action: 'none',
      });
  });

  it('is said again of a record that came back, as an imported binding tells', () => {
    for (const state of ['delivered', 'parked', 'discarded'] as const) {
      const gone = newest({ operation: 'delete', state, revision: 2 });
      expect(
        decideRemoval('delete', gone, { revision: 3, generation: 1, contentHash: 'A' }, null),
        state,
      ).to.deep.include({
        operation: 'delete',
        revision: 4,
        generation: 1,
      });
    }
  });

  it('waits behind a create that may have been sent', () => {
    for (const state of ['sending', 'in_doubt', 'pending'] as const)
      expect(decideRemoval('delete', newest({ state }), null, null)).to.deep.include({
        operation: 'delete',
        supersedes: null,
      });
  });

  it('waits also where an update waits for that create already, and is nothing where that update was closed with it', () => {
    const update = newest({
      operation: 'update',
      revision: 2,
      state: 'pending',
      wasSent: 0,
      firstSentAt: null,
      contentHash: 'B',
    });
    expect(decideRemoval('delete', update, null, null)).to.deep.include({
      action: 'write',
      revision: 3,
      supersedes: 7,
    });
    expect(decideRemoval('patch', { ...update, state: 'superseded' }, null, 'P')).to.deep.equal({ action: 'none' });
  });

  it('takes the place of an update that was never sent', () => {
    const update = newest({
      operation: 'update',
      revision: 2,
      state: 'pending',
      wasSent: 0,
      firstSentAt: null,
      contentHash: 'B',
    });
    expect(decideRemoval('delete', update, binding, null)).to.deep.include({ revision: 3, supersedes: 7 });
  });

  it('is asked for once, and not again when a person said no', () => {
    for (const state of ['pending', 'sending', 'in_doubt', 'parked', 'discarded'] as const)
      expect(
        decideRemoval('delete', newest({ operation: 'delete', state, revision: 2 }), binding, null).action,
      ).to.equal('none');
    expect(decideRemoval('patch', newest({ operation: 'update', contentHash: 'P' }), binding, 'P').action).to.equal(
      'none',
    );
  });

  it('leaves a record alone whose key belongs to another one by now', () => {
    const other = newest({
      operation: 'update',
      state: 'parked',
      parkClass: 'conflict',
      wasSent: 0,
      firstSentAt: null,
      revision: 2,
    });
    expect(decideRemoval('delete', other, binding, null).action).to.equal('none');
  });

  it('never names a revision twice, and never supersedes what may have been sent', () => {
    fc.assert(
      fc.property(
        fc.record({
          state: fc.constantFrom<MessageState>(...messageStates),
          operation: fc.constantFrom<Operation>('create', 'update', 'delete'),
          parkClass: fc.constantFrom<ParkClass | null>(null, 'unmapped', 'refused', 'conflict', 'unproven', 'held'),
          wasSent: fc.constantFrom(0 as const, 1 as const),
          isBound: fc.boolean(),
          effect: fc.constantFrom('nothing' as const, 'delete' as const, 'patch' as const),
        }),
        ({ state, operation, parkClass, wasSent, isBound, effect }) => {
          const message = newest({
            state,
            operation,
            parkClass: state === 'parked' ? parkClass : null,
            wasSent,
            firstSentAt: null,
            revision: 3,
          });
          const decision = decideRemoval(effect, message, isBound ? binding : null, 'P');
          if (decision.action === 'write') {
            expect(decision.revision).to.be.greaterThan(3);
            if (decision.supersedes !== null) {
              expect(operation).to.equal('update');
              expect(['pending', 'parked']).to.include(state);
              if (state === 'pending') expect(wasSent).to.equal(0);
            }
          }
          if (decision.action === 'withdraw') {
            expect(operation).to.equal('create');
            expect(isBound).to.equal(false);
            if (state === 'pending') expect(wasSent).to.equal(0);
          }
        },
      ),
    );
  });
});

describe('a row that comes back', () => {
  const removal = (changes: Partial<NewestMessage>) =>
    newest({ operation: 'delete', revision: 2, contentHash: 'gone', ...changes });

  it('after its removal was delivered is a new create, with the key of the next generation', () => {
    const created = { action: 'write', operation: 'create', generation: 1, revision: 3, supersedes: null };
    expect(nextRevision('A', removal({ state: 'delivered' }), null, false)).to.deep.equal(created);
    expect(nextRevision('A', null, null, false, { revision: 2, generation: 0 })).to.deep.equal(created);
  });

  it('while its removal is under way waits until that has ended', () => {
    for (const state of openStates)
      expect(nextRevision('A', removal({ state }), binding, false)).to.deep.equal({ action: 'none' });
  });

  it('before its removal was sent takes the removal back', () => {
    for (const state of ['pending', 'parked'] as const)
      expect(
        nextRevision('A', removal({ state, parkClass: 'held', wasSent: 0, firstSentAt: null }), binding, false),
      ).to.deep.equal({
        action: 'write',
        operation: 'update',
        generation: 0,
        revision: 3,
        supersedes: 7,
      });
  });

  it('after its create was withdrawn is that create again', () => {
    const withdrawn = newest({ state: 'superseded', wasSent: 0, firstSentAt: null });
    expect(nextRevision('A', withdrawn, null, false)).to.deep.include({
      operation: 'create',
      generation: 0,
      revision: 2,
    });
    expect(nextRevision('A', { ...withdrawn, parkClass: 'refused' }, null, true)).to.deep.include({ generation: 1 });
  });
});
