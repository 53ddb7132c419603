import { expect } from 'chai';
import {
  forcedRevision,
  type KnownBinding,
  type NewestMessage,
  nextRevision,
  type RevisionDecision,
} from '../../../src/outbound/capture/next-revision.js';
import { tell } from '../../../src/words/words.js';

const sentAt = 1_800_000_000_000;
const newest = (changes: Partial<NewestMessage> = {}): NewestMessage => ({
  id: 70,
  revision: 3,
  operation: 'create',
  generation: 0,
  state: 'pending',
  parkClass: null,
  contentHash: 'A',
  wasSent: 0,
  firstSentAt: null,
  foundAt: null,
  ...changes,
});
const binding: KnownBinding = { revision: 3, generation: 1, contentHash: 'A' };
const write = (changes: Partial<Extract<RevisionDecision, { action: 'write' }>>): RevisionDecision => ({
  action: 'write',
  operation: 'create',
  revision: 4,
  generation: 0,
  supersedes: null,
  ...changes,
});
const sent = { wasSent: 1, firstSentAt: sentAt } as const;
const none: RevisionDecision = { action: 'none' };

describe('what capture does with a changed row', () => {
  const update = write({ operation: 'update' });
  const cases: [string, Partial<NewestMessage>, RevisionDecision, RevisionDecision?][] = [
    ['replaces a create that was never sent', {}, write({ supersedes: 70 })],
    ['replaces an update that was never sent', { operation: 'update' }, write({ operation: 'update', supersedes: 70 })],
    ['updates after a create that met a 429: its key belongs to its bytes', sent, update],
    ['updates after a create that is under way', { state: 'sending' }, update],
    ['updates after a create that is under way again', { state: 'sending', ...sent }, update],
    ['updates after a create in doubt', { state: 'in_doubt', ...sent }, update],
    ['updates what was delivered', { state: 'delivered', ...sent }, update],
    ['updates what was found to need nothing', { state: 'superseded', operation: 'update' }, update],
    ['creates again what could not be mapped', { state: 'parked', parkClass: 'unmapped' }, write({ supersedes: 70 })],
    [
      'updates again what could not be mapped',
      { state: 'parked', parkClass: 'unmapped', operation: 'update' },
      write({ operation: 'update', supersedes: 70 }),
    ],
    [
      'creates again what was refused, with a new generation only where refusals are replayed',
      { state: 'parked', parkClass: 'refused', ...sent },
      write({ supersedes: 70 }),
      write({ supersedes: 70, generation: 1 }),
    ],
    [
      'updates again what was refused, and leaves the generation alone',
      { state: 'parked', parkClass: 'refused', operation: 'update', generation: 2, ...sent },
      write({ operation: 'update', supersedes: 70, generation: 2 }),
    ],
    ['never creates after a conflict', { state: 'parked', parkClass: 'conflict', ...sent }, update],
    ['never creates after an unproven end', { state: 'parked', parkClass: 'unproven', ...sent }, update],
    ['never creates what another store may have sent', { state: 'parked', parkClass: 'unproven' }, update],
    [
      'never creates what another store may have sent, discarded',
      { state: 'discarded', parkClass: 'unproven' },
      update,
    ],
    // Its key was another record's, which has been removed: nothing of it was ever sent.
    [
      'creates again under a key of a removed record',
      { state: 'parked', parkClass: 'conflict' },
      write({ supersedes: 70 }),
    ],
    ['creates again what was discarded before it was sent', { state: 'discarded' }, write({})],
    ['never creates what was discarded in doubt', { state: 'discarded', parkClass: 'unproven', ...sent }, update],
    [
      'never creates what was discarded after a conflict',
      { state: 'discarded', parkClass: 'conflict', ...sent },
      update,
    ],
    ['never creates what was discarded after a 429', { state: 'discarded', ...sent }, update],
    [
      'creates again what was refused and discarded',
      { state: 'discarded', parkClass: 'refused', ...sent },
      write({}),
      write({ generation: 1 }),
    ],
  ];
  for (const [title, changes, expected, whenReplayed] of cases) {
    it(title, () => {
      expect(nextRevision('B', newest(changes), null, false)).to.deep.equal(expected);
      expect(nextRevision('B', newest(changes), null, true), 'refusals replayed').to.deep.equal(
        whenReplayed ?? expected,
      );
      expect(nextRevision('A', newest(changes), null, false), 'unchanged').to.deep.equal(none);
    });
  }

  it('begins with a create', () => {
    expect(nextRevision('A', null, null, false)).to.deep.equal(write({ revision: 1 }));
  });

  it('goes by the binding when the messages were pruned', () => {
    expect(nextRevision('A', null, binding, false)).to.deep.equal(none);
    expect(nextRevision('B', null, binding, false)).to.deep.equal(write({ operation: 'update', generation: 1 }));
  });

  it('has a revision above that of a binding that knows more than the messages', () => {
    const bound = newest({ state: 'superseded', revision: 1 });
    expect(nextRevision('B', bound, { ...binding, generation: 0 }, false)).to.deep.equal(
      write({ operation: 'update' }),
    );
  });

  it('believes an imported binding before a removal that the store knows', () => {
    const gone = newest({ operation: 'delete', state: 'delivered', revision: 2 });
    expect(nextRevision('A', gone, binding, false)).to.deep.equal(none);
    expect(nextRevision('B', gone, binding, false)).to.deep.equal(write({ operation: 'update', generation: 1 }));
    expect(nextRevision('A', gone, null, false)).to.deep.equal(write({ revision: 3, generation: 1 }));
  });

  it('never falls behind the generation of a binding', () => {
    for (const state of ['delivered', 'superseded', 'sending', 'in_doubt'] as const)
      expect(nextRevision('B', newest({ state, ...sent }), binding, false), state).to.deep.equal(
        write({ operation: 'update', generation: 1 }),
      );
    const waiting = newest({ operation: 'update', state: 'pending' });
    expect(nextRevision('B', waiting, binding, false)).to.deep.include({ operation: 'update', generation: 1 });
    const unmapped = newest({ operation: 'update', state: 'parked', parkClass: 'unmapped' });
    expect(nextRevision('B', unmapped, binding, true)).to.deep.include({ operation: 'update', generation: 1 });
  });

  it('is a new record where the service has it no more, whatever was said of it before', () => {
    const closed = { revision: 5, generation: 2 };
    for (const operation of ['create', 'update', 'delete'] as const)
      for (const state of ['delivered', 'superseded', 'discarded'] as const)
        for (const hash of ['A', 'B'])
          expect(nextRevision(hash, newest({ operation, state }), null, false, closed)).to.deep.equal(
            write({ revision: 6, generation: 3 }),
          );
    expect(
      nextRevision('A', newest({ state: 'discarded', revision: 6 }), null, false, closed),
      'a person said no since',
    ).to.deep.equal(none);
  });

  it('goes by the newest message before the binding, so that a row changed back is sent again', () => {
    const delivered = newest({ state: 'pending', operation: 'update', contentHash: 'B' });
    expect(nextRevision('A', delivered, { ...binding, generation: 0 }, false)).to.deep.equal(
      write({ operation: 'update', supersedes: 70 }),
    );
  });
});

describe('what resync --force does with a row that has not changed', () => {
  const day = 86_400_000;
  const forced = (changes: Partial<NewestMessage> | null, nowMs = sentAt + 1_000, replays = false) =>
    forcedRevision(changes && newest(changes), null, replays, nowMs, day);

  it('sends a delivered create again with the same key while the service remembers it', () => {
    expect(forced({ state: 'delivered', generation: 2, ...sent })).to.deep.equal(write({ generation: 2 }));
    expect(forced({ state: 'delivered', ...sent }, sentAt + day)).to.have.property('action', 'write');
  });

  it('never after the lifetime of the key, nor when nobody knows when it was first sent', () => {
    expect(forced({ state: 'delivered', ...sent }, sentAt + day + 1)).to.have.property('action', 'skip');
    expect(forced({ state: 'delivered' })).to.have.property('action', 'skip');
  });

  it('never what a person or a look-up found: the service never acknowledged its key', () => {
    const found = forced({ state: 'delivered', ...sent, foundAt: sentAt });
    expect(found).to.deep.include({ reason: { code: 'found_without_key' } });
  });

  it('sends again what was refused or could not be mapped', () => {
    expect(forced({ state: 'parked', parkClass: 'refused', ...sent })).to.deep.equal(write({ supersedes: 70 }));
    expect(forced({ state: 'parked', parkClass: 'refused', ...sent }, sentAt, true)).to.deep.equal(
      write({ supersedes: 70, generation: 1 }),
    );
    expect(forced({ state: 'parked', parkClass: 'unmapped' }, sentAt, true)).to.deep.equal(write({ supersedes: 70 }));
  });

  it('never repeats a refused create of a record that the service has acknowledged: a new key would make a second one', () => {
    const refused = newest({ state: 'parked', parkClass: 'refused', ...sent });
    expect(forcedRevision(refused, binding, true, sentAt, day)).to.have.property('action', 'skip');
  });

  it('leaves alone whatever may exist, is on its way, was discarded or pruned, and says why', () => {
    const left: (Partial<NewestMessage> | null)[] = [
      null,
      {},
      sent,
      { state: 'sending' },
      { state: 'in_doubt', ...sent },
      { state: 'parked', parkClass: 'conflict', ...sent },
      { state: 'parked', parkClass: 'unproven', ...sent },
      { state: 'discarded' },
      { state: 'discarded', parkClass: 'refused', ...sent },
      { state: 'superseded', operation: 'update' },
      { state: 'delivered', operation: 'update', ...sent },
    ];
    for (const changes of left) {
      const decision = forced(changes);
      expect(decision.action, JSON.stringify(changes)).to.equal('skip');
      expect('reason' in decision && tell(decision.reason))
        .to.be.a('string')
        .with.length.above(10);
    }
  });
});
