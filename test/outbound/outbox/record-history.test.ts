import { expect } from 'chai';
import fc from 'fast-check';
import { type Fate, isOpen, RecordModel, type Step } from './record-model.js';

const content = fc.constantFrom('A', 'B', 'C', 'bad row');
const fate = fc.constantFrom<Fate>(
  'ok',
  'ok',
  'lost-before',
  'lost-after',
  'refused',
  'throttled',
  'unavailable',
  'html',
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('edit' as const), content }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('capture' as const) }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('send' as const), fate }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('send-while-captured' as const), fate }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('discard' as const) }) },
);

/** Everything works again, and nobody edits any more. */
function heal(model: RecordModel): void {
  model.capture();
  for (let i = 0; i < 20 && model.send('ok'); i++);
}

const deliver = (model: RecordModel): void => {
  model.capture();
  while (model.send('ok'));
};

describe('the history of one record', () => {
  it('makes it at the service once at most, whatever is edited, refused and lost on the way', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.boolean(), (steps, replaysRefusals) => {
        const model = new RecordModel('A', replaysRefusals);
        for (const one of steps) {
          model.run(one);
          expect(model.made.length, 'records at the service').to.be.at.most(1);
          // Not even where luck would have prevented the second: one key, one body, that may have taken effect.
          expect(model.maybe.size, 'keys that may have taken effect').to.be.at.most(1);
          for (const bodies of model.maybe.values()) expect(bodies.size, 'bodies of one key').to.be.at.most(1);
        }
        heal(model);
        expect(model.made.length).to.be.at.most(1);
        expect(model.maybe.size).to.be.at.most(1);
      }),
      { numRuns: 4_000 },
    );
  });

  it('ends with what the ERP says, or with a message that waits for a person', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.boolean(), (steps, replaysRefusals) => {
        const model = new RecordModel('A', replaysRefusals);
        for (const one of steps) model.run(one);
        heal(model);
        const visible = model.messages.some(({ state }) => state === 'parked' || state === 'discarded');
        if (visible) return;
        expect(model.messages.filter(({ state }) => isOpen(state))).to.deep.equal([]);
        expect(model.made.at(-1)?.content).to.equal(model.erp);
      }),
      { numRuns: 2_000 },
    );
  });

  it('gets a corrected row through, unless it may exist already or a person closed it', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.boolean(), (steps, replaysRefusals) => {
        const model = new RecordModel('A', replaysRefusals);
        for (const one of steps) model.run(one);
        heal(model);
        model.erp = 'corrected';
        heal(model);
        const mayExist = (one: string | null) => one === 'unproven' || one === 'conflict';
        if (model.messages.some((one) => one.state === 'discarded' || mayExist(one.parkClass))) return;
        expect(model.made.at(-1)?.content).to.equal('corrected');
      }),
      { numRuns: 6_000 },
    );
  });

  it('keeps revisions in order, one newest message a record, and generations that never go back', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.boolean(), (steps, replaysRefusals) => {
        const model = new RecordModel('A', replaysRefusals);
        for (const one of steps) model.run(one);
        const { messages } = model;
        messages.forEach((message, i) => {
          expect(message.revision).to.equal(i + 1);
          expect(message.generation).to.be.at.least(messages[i - 1]?.generation ?? 0);
          if (!replaysRefusals) expect(message.generation).to.equal(0);
        });
      }),
      { numRuns: 1_000 },
    );
  });

  for (const [title, between] of [
    ['delivered each time', deliver],
    ['only captured in between', (model: RecordModel) => model.capture()],
    [
      'in doubt in between',
      (model: RecordModel) => {
        model.capture();
        model.send('lost-after');
      },
    ],
  ] as const) {
    it(`ends at B after A, B, A, B, ${title}`, () => {
      const model = new RecordModel('A', false);
      for (const text of ['A', 'B', 'A', 'B']) {
        model.erp = text;
        between(model);
      }
      heal(model);
      expect(model.made).to.deep.equal([{ generation: 0, content: 'B' }]);
    });
  }

  it('gives a corrected row a new key only where the old one would be refused for ever', () => {
    for (const replaysRefusals of [false, true]) {
      const model = new RecordModel('A', replaysRefusals);
      model.capture();
      model.send('refused');
      model.erp = 'B';
      deliver(model);
      expect(model.made).to.deep.equal([{ generation: replaysRefusals ? 1 : 0, content: 'B' }]);
    }
  });

  it('sends the correction that came in while the create was being refused', () => {
    for (const replaysRefusals of [false, true]) {
      const model = new RecordModel('A', replaysRefusals);
      model.capture();
      model.erp = 'B';
      model.send('refused', () => model.capture());
      deliver(model);
      expect(model.made).to.deep.equal([{ generation: replaysRefusals ? 1 : 0, content: 'B' }]);
    }
  });

  const withRemovals = fc.oneof(
    { weight: 8, arbitrary: step },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('remove' as const) }) },
  );

  it('has it at the service once at most when it is cancelled and comes back, with a new key each time', () => {
    fc.assert(
      fc.property(fc.array(withRemovals, { maxLength: 40 }), fc.boolean(), (steps, replaysRefusals) => {
        const model = new RecordModel('A', replaysRefusals);
        for (const one of steps) {
          model.run(one);
          expect(model.made.length, 'records at the service').to.be.at.most(1);
          for (const bodies of model.maybe.values()) expect(bodies.size, 'bodies of one key').to.be.at.most(1);
        }
        // A notice that had to wait for a removal is given when the row is met again.
        for (let i = 0; i < 4; i++) heal(model);
        expect(model.made.length).to.be.at.most(1);
        const visible = model.messages.some(({ state }) => state === 'parked' || state === 'discarded');
        if (visible) return;
        expect(model.made.at(-1)?.content ?? null).to.equal(model.isRemoved ? null : model.erp);
      }),
      { numRuns: 6_000 },
    );
  });
});
