import { expect } from 'chai';
import type { RefusalFact } from '../../../src/model/facts/actions.js';
import {
  decideOperatorAction,
  type OperatedMessage,
  type OperatorAction,
  type OperatorContext,
  type OperatorDecision,
  operatorActions,
} from '../../../src/operator/actions/decide-message-action.js';
import { type MessageState, messageStates, type ParkClass } from '../../../src/outbound/outbox/message.js';
import { tell } from '../../../src/words/words.js';

const hour = 3_600_000;
const now = 1_000 * hour;
const context: OperatorContext = {
  now: { bootId: 'a', bootMs: now, wallMs: now },
  keyLifetimeMs: 24 * hour,
  maxProcessingMs: hour / 12,
  replaysRefusals: false,
  serviceId: null,
  canLookUp: ['order'],
  ownIds: ['customer', 'order'],
};

const message: OperatedMessage = {
  entity: 'order',
  operation: 'create',
  state: 'pending',
  parkClass: null,
  generation: 0,
  nextAttemptAt: now + hour,
  waitsFor: null,
  wasSent: 0,
  firstSentAt: null,
  ended: null,
  claimedAt: null,
  boundServiceId: null,
  customerCode: null,
  number: null,
  newerRevision: false,
};

const parkClasses: ParkClass[] = ['unmapped', 'refused', 'conflict', 'unproven'];
const places: [MessageState, ParkClass | null][] = messageStates.flatMap((state): [MessageState, ParkClass | null][] =>
  state === 'parked' ? parkClasses.map((parkClass) => [state, parkClass]) : [[state, null]],
);

/** A message that may have been sent was sent two hours ago, within the lifetime of its key. */
function at(state: MessageState, parkClass: ParkClass | null, changes: Partial<OperatedMessage> = {}): OperatedMessage {
  const sent = state === 'in_doubt' || parkClass === 'unproven' || parkClass === 'conflict' || parkClass === 'refused';
  return { ...message, state, parkClass, wasSent: sent ? 1 : 0, firstSentAt: sent ? now - 2 * hour : null, ...changes };
}

function decide(action: OperatorAction, subject: OperatedMessage, changes: Partial<OperatorContext> = {}) {
  return decideOperatorAction(action, subject, { ...context, ...changes });
}

function whyNot(decision: OperatorDecision): RefusalFact {
  if (decision.to !== null) throw new Error(`expected a refusal, but it goes to ${decision.to}`);
  return decision.why;
}

describe('an operator’s action on a message', () => {
  const leadsTo: Record<OperatorAction, Record<string, string>> = {
    retry: { pending: 'pending', in_doubt: 'in_doubt', 'parked refused': 'pending', 'parked unproven': 'in_doubt' },
    discard: {
      pending: 'discarded',
      'parked unmapped': 'discarded',
      'parked refused': 'discarded',
      'parked conflict': 'discarded',
      'parked unproven': 'discarded',
    },
    delivered: { in_doubt: 'delivered', 'parked conflict': 'delivered', 'parked unproven': 'delivered' },
    not_delivered: { in_doubt: 'pending', 'parked conflict': 'pending', 'parked unproven': 'pending' },
    look_up: { in_doubt: 'in_doubt', 'parked unproven': 'in_doubt' },
  };
  for (const action of operatorActions) {
    for (const [state, parkClass] of places) {
      const place = parkClass ? `${state} ${parkClass}` : state;
      const expected = leadsTo[action][place] ?? null;
      it(`${action} takes ${place} to ${expected ?? 'nowhere, and says why'}`, () => {
        const decision = decide(action, at(state, parkClass), { serviceId: action === 'delivered' ? 'ord_1' : null });
        expect(decision.to).to.equal(expected);
        if (decision.to === null) expect(tell(decision.why)).to.have.length.above(10);
      });
    }
  }

  describe('retry', () => {
    it('keeps key, generation and first try of what only waits for its time', () => {
      expect(decide('retry', at('in_doubt', null))).to.deep.equal({
        to: 'in_doubt',
        generation: 0,
        newKey: false,
        wasSent: 1,
        firstSentAt: now - 2 * hour,
      });
    });
    it('leaves alone what is due already', () => {
      expect(whyNot(decide('retry', at('pending', null, { nextAttemptAt: now })))).to.have.property(
        'code',
        'already_due',
      );
    });
    it('leaves a change to the end of the scan that found it, which shows whether it is put on hold', () => {
      const found = at('pending', null, { nextAttemptAt: null, waitsFor: 'scan' });
      expect(whyNot(decide('retry', found))).to.deep.equal({ code: 'scan_unfinished' });
    });
    it('keeps the key of a refused create where the service forgets refusals', () => {
      expect(decide('retry', at('parked', 'refused', { generation: 2 }))).to.deep.include({
        generation: 2,
        newKey: false,
      });
    });
    it('gives a refused create a new key where the service replays refusals', () => {
      const decision = decide('retry', at('parked', 'refused', { generation: 2 }), { replaysRefusals: true });
      expect(decision).to.deep.equal({ to: 'pending', generation: 3, newKey: true, wasSent: 0, firstSentAt: null });
    });
    it('gives an update a new key, and no new generation, where the service would repeat its refusal for ever', () => {
      const update = at('parked', 'refused', { operation: 'update', boundServiceId: 'ord_1', generation: 2 });
      for (const replaysRefusals of [false, true])
        expect(decide('retry', update, { replaysRefusals })).to.deep.include({
          to: 'pending',
          newKey: replaysRefusals,
          generation: 2,
        });
    });
    it('never sends a create of a record that is acknowledged already', () => {
      for (const replaysRefusals of [false, true])
        expect(
          whyNot(decide('retry', at('parked', 'refused', { boundServiceId: 'ord_1' }), { replaysRefusals })),
        ).to.have.property('code', 'would_be_second');
    });
    it('never sends an update that a newer one has overtaken', () => {
      for (const parkClass of ['refused', 'unproven'] as const)
        expect(
          whyNot(decide('retry', at('parked', parkClass, { operation: 'update', newerRevision: true }))),
        ).to.have.property('code', 'newer_revision');
    });
    for (const [state, parkClass] of [
      ['in_doubt', null],
      ['parked', 'unproven'],
    ] as const) {
      it(`resends a create (${parkClass ?? state}) up to the end of its key's lifetime and not after it`, () => {
        const lastMoment = now - 24 * hour;
        expect(decide('retry', at(state, parkClass, { wasSent: 1, firstSentAt: lastMoment })).to).to.equal('in_doubt');
        expect(
          whyNot(decide('retry', at(state, parkClass, { wasSent: 1, firstSentAt: lastMoment - 1 }))),
        ).to.have.property('code', 'key_forgotten');
      });
    }
    it('does not resend a create of which nobody knows when it was sent', () => {
      expect(whyNot(decide('retry', at('parked', 'unproven', { wasSent: 0, firstSentAt: null })))).to.have.property(
        'code',
        'key_forgotten',
      );
      // The clock ran ahead when it was sent, and was set right since.
      const ahead = { wasSent: 1, firstSentAt: now + 3 * hour } as const;
      expect(whyNot(decide('retry', at('parked', 'unproven', ahead)))).to.have.property('code', 'key_forgotten');
      expect(whyNot(decide('retry', at('in_doubt', null, ahead)))).to.have.property('code', 'key_forgotten');
    });
    it('resends an unproven update at any time: it sets absolute values', () => {
      const old = at('parked', 'unproven', {
        operation: 'update',
        boundServiceId: 'ord_1',
        wasSent: 1,
        firstSentAt: 0,
      });
      expect(decide('retry', old).to).to.equal('in_doubt');
    });
  });

  it('neither overwrites nor loses a record by resolving one whose key was another record’s before', () => {
    const other = at('parked', 'conflict', {
      operation: 'update',
      boundServiceId: 'ord_1',
      wasSent: 0,
      firstSentAt: null,
    });
    for (const action of ['retry', 'delivered', 'not_delivered'] as const)
      expect(whyNot(decide(action, other, { serviceId: 'ord_1' })), action).to.have.property(
        'code',
        'key_of_other_record',
      );
    expect(decide('discard', other).to).to.equal('discarded');
    // A message that the service itself refused as a conflict was sent, and is looked at there.
    expect(decide('delivered', { ...other, wasSent: 1, firstSentAt: now }).to).to.equal('delivered');
  });

  describe('discard', () => {
    it('leaves alone a pending message whose key the service has seen', () => {
      expect(whyNot(decide('discard', at('pending', null, { wasSent: 1, firstSentAt: now - hour })))).to.have.property(
        'code',
        'key_seen',
      );
    });
  });

  describe('resolve --delivered', () => {
    it('needs the service’s id of an order', () => {
      expect(whyNot(decide('delivered', at('parked', 'unproven')))).to.have.property('code', 'needs_service_id');
    });
    it('knows a customer by its code', () => {
      const customer = at('parked', 'conflict', { entity: 'customer', customerCode: 'K10001' });
      expect(decide('delivered', customer)).to.deep.equal({ to: 'delivered', serviceId: 'K10001' });
    });
    it('takes the id that an update’s record has, and no other', () => {
      const update = at('in_doubt', null, { operation: 'update', boundServiceId: 'ord_7' });
      expect(decide('delivered', update)).to.deep.equal({ to: 'delivered', serviceId: 'ord_7' });
      expect(whyNot(decide('delivered', update, { serviceId: 'ord_8' }))).to.deep.equal({
        code: 'other_service_id',
        serviceId: 'ord_7',
        said: 'ord_8',
      });
    });
  });

  for (const [entity, named] of [
    ['customer', { customerCode: 'K9' }],
    ['order', { number: 'K9' }],
  ] as const)
    it(`resolve --delivered moves no ${entity} whose id is its own name: the old one may be another record by now`, () => {
      const parked = at('parked', 'unproven', { entity, operation: 'update', boundServiceId: 'K1', ...named });
      for (const serviceId of [null, 'K1', 'K9'])
        expect(whyNot(decide('delivered', parked, { serviceId }))).to.deep.equal({
          code: 'moves_to_new_id',
          entity,
          from: 'K1',
          to: 'K9',
        });
      const delivered = { to: 'delivered', serviceId: 'K1' };
      expect(decide('delivered', { ...parked, customerCode: 'K1', number: 'K1' })).to.deep.equal(delivered);
      expect(decide('delivered', parked, { ownIds: [] })).to.deep.equal(delivered);
    });

  describe('resolve --not-delivered', () => {
    it('is refused while the service may still work on the last request, and says until when', () => {
      const ended = { bootId: 'a', bootMs: now - hour / 12 + 1_000, wallMs: now - hour / 12 + 1_000 };
      for (const [state, parkClass] of [
        ['in_doubt', null],
        ['parked', 'unproven'],
        ['parked', 'conflict'],
      ] as const) {
        expect(whyNot(decide('not_delivered', at(state, parkClass, { ended })))).to.deep.equal({
          code: 'still_working',
          until: now + 1_000,
        });
        const update = at(state, parkClass, { ended, operation: 'update' });
        expect(decide('not_delivered', update).to, 'it sets absolute values').to.equal('pending');
      }
      const earlier = { ...ended, bootMs: ended.bootMs - 1_000 };
      expect(decide('not_delivered', at('in_doubt', null, { ended: earlier })).to).to.equal('pending');
    });

    it('gives a create a new key: the service may keep an answer or other bytes with the old one', () => {
      for (const [state, parkClass] of [
        ['in_doubt', null],
        ['parked', 'unproven'],
        ['parked', 'conflict'],
      ] as const)
        expect(decide('not_delivered', at(state, parkClass, { wasSent: 1, firstSentAt: 0 }))).to.deep.equal({
          to: 'pending',
          generation: 1,
          newKey: true,
          wasSent: 0,
          firstSentAt: null,
        });
    });
    it('gives an update a new key, and leaves the generation of its record as it is', () => {
      const update = at('parked', 'conflict', { operation: 'update', boundServiceId: 'ord_1' });
      expect(decide('not_delivered', update)).to.deep.include({ to: 'pending', generation: 0, newKey: true });
    });
    it('never sends a create of a record that is acknowledged already, nor an overtaken update', () => {
      for (const [state, parkClass] of [
        ['in_doubt', null],
        ['parked', 'unproven'],
        ['parked', 'conflict'],
      ] as const) {
        expect(whyNot(decide('not_delivered', at(state, parkClass, { boundServiceId: 'ord_1' })))).to.have.property(
          'code',
          'would_be_second',
        );
        const overtaken = at(state, parkClass, { operation: 'update', newerRevision: true });
        expect(whyNot(decide('not_delivered', overtaken))).to.have.property('code', 'newer_revision');
      }
    });
  });

  it('names the way out of what is on hold and of a row that can not be mapped: a retry is none', () => {
    for (const action of ['delivered', 'not_delivered'] as const) {
      const whyNot = (parkClass: ParkClass) => decideOperatorAction(action, at('parked', parkClass), context);
      expect(whyNot('held')).to.deep.equal({ to: null, why: { code: 'held_for_review' } });
      expect(whyNot('unmapped')).to.deep.equal({ to: null, why: { code: 'row_unmapped' } });
      expect(whyNot('refused')).to.deep.equal({ to: null, why: { code: 'nothing_in_doubt' } });
    }
  });

  it('settles what can not be mapped only where a lost store may have sent it', () => {
    const unmapped = at('parked', 'unmapped', { wasSent: 1, firstSentAt: 1 });
    expect(decide('delivered', unmapped, { serviceId: 'o1' })).to.deep.equal({ to: 'delivered', serviceId: 'o1' });
    expect(decide('delivered', at('parked', 'unmapped'), { serviceId: 'o1' })).to.have.property('to', null);
    for (const action of ['not_delivered', 'retry'] as const)
      expect(whyNot(decide(action, unmapped)), action).to.deep.equal({ code: 'row_unmapped' });
  });
});
