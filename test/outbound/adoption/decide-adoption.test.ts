import { expect } from 'chai';
import fc from 'fast-check';
import { legacy } from '../../../src/model/facts/fact.js';
import { compareWithShown } from '../../../src/outbound/adoption/adopt-found.js';
import {
  type AdoptableMessage,
  type AdoptableRecord,
  decideAdoption,
} from '../../../src/outbound/adoption/decide-adoption.js';
import { nextRevision } from '../../../src/outbound/capture/next-revision.js';
import { composePatch } from '../../../src/outbound/outbox/compose-update.js';
import { messageStates, neverSent } from '../../../src/outbound/outbox/message.js';
import { told } from '../../support/told.js';

const claim = { entity: 'customer' as const, sourceKey: '7', serviceId: 'K7' };
const record: AdoptableRecord = {
  row: { unmapped: null, customerCode: 'K7' },
  binding: null,
  closed: null,
  messages: [],
  idBelongsTo: null,
  isRemoved: false,
};
const message = (over: Partial<AdoptableMessage> = {}): AdoptableMessage => ({
  id: 1,
  revision: 1,
  operation: 'create',
  generation: 0,
  state: 'pending',
  parkClass: null,
  ...over,
});
const why = (over: Partial<AdoptableRecord>, what = claim as Parameters<typeof decideAdoption>[0]) => {
  const decision = decideAdoption(what, { ...record, ...over }, true);
  return decision.to === 'refused' ? told(decision.why) : decision.to;
};

describe('what follows when a person says which record at the service is ours', () => {
  it('binds what nobody has sent', () => {
    expect(decideAdoption(claim, record, true)).to.deep.equal({
      to: 'bound',
      revision: 0,
      generation: 0,
      supersedes: [],
      newest: null,
      isOurs: false,
    });
    expect(decideAdoption(claim, { ...record, closed: { revision: 4, generation: 1 } }, true)).to.deep.include({
      revision: 4,
      generation: 1,
    });
  });

  it('counts on from a removal that was imported, whatever this store has said of the record', () => {
    for (const closed of [
      { revision: 4, generation: 1 },
      { revision: 1, generation: 0 },
    ])
      expect(decideAdoption(claim, { ...record, closed, messages: [message({ revision: 2 })] }, true)).to.deep.include({
        revision: Math.max(2, closed.revision),
        generation: closed.generation,
      });
  });

  it('does nothing about what is bound to this id already, and refuses every other one', () => {
    expect(why({ binding: { serviceId: 'K7' }, row: null })).to.equal('known');
    expect(why({ binding: { serviceId: 'K8' } })).to.contain('bound to K8');
    expect(why({ idBelongsTo: '9' })).to.contain('key 9');
  });

  it('refuses what the ERP does not have, or can not say', () => {
    expect(why({ row: null })).to.contain('letter by letter');
    expect(why({ row: { unmapped: legacy('no name'), customerCode: null } })).to.contain('no name');
    expect(why({ row: { unmapped: null, customerCode: 'k7' } })).to.contain('k7');
    expect(
      why({ row: { unmapped: null, customerCode: 'K1' } }, { ...claim, entity: 'order', serviceId: 'ord_1' }),
    ).to.equal('bound');
  });

  it('takes any id of a customer where the service gives its own', () => {
    const given = { ...claim, serviceId: 'cus_991' };
    expect(decideAdoption(given, record, false)).to.deep.include({ to: 'bound' });
    expect(decideAdoption(given, record, true).to).to.equal('refused');
  });

  it('closes what waits, also a conflict with what waits behind it', () => {
    expect(decideAdoption(claim, { ...record, messages: [message()] }, true)).to.deep.include({
      to: 'bound',
      revision: 1,
      supersedes: [1],
      newest: 1,
    });
    const messages = [
      message({ state: 'parked', parkClass: 'conflict' }),
      message({ id: 2, revision: 2, operation: 'update' }),
    ];
    expect(decideAdoption(claim, { ...record, messages }, true)).to.deep.include({
      revision: 2,
      supersedes: [1, 2],
      newest: 2,
    });
  });

  it('takes what may exist for ours, whose fields are unknown', () => {
    for (const open of [{ state: 'in_doubt' }, { state: 'parked', parkClass: 'unproven' }] as const) {
      const messages = [message(open), message({ id: 2, revision: 2, operation: 'update' })];
      expect(decideAdoption(claim, { ...record, messages }, true)).to.deep.equal({
        to: 'bound',
        revision: 2,
        generation: 0,
        supersedes: [1, 2],
        newest: 2,
        isOurs: true,
      });
    }
  });

  it('leaves what is being sent to its outcome, and what was removed to a new create', () => {
    expect(why({ messages: [message({ state: 'sending' })] })).to.contain('being sent');
    expect(why({ messages: [message({ state: 'delivered', operation: 'delete' })] })).to.contain('removed');
  });

  it('never lets a create of an adopted record go out again, whatever the ERP says then', () => {
    const states = fc.constantFrom(...messageStates);
    const classes = fc.constantFrom('unmapped', 'refused', 'conflict', 'unproven', 'held', null);
    const operations = fc.constantFrom('create', 'update', 'delete');
    const messages = fc.array(fc.tuple(states, classes, operations), { maxLength: 3 }).map((all) =>
      all.map(([state, parkClass, operation], i) =>
        message({
          id: i + 1,
          revision: i + 1,
          state,
          operation,
          parkClass: state === 'parked' ? (parkClass ?? 'held') : null,
        } as Partial<AdoptableMessage>),
      ),
    );
    fc.assert(
      fc.property(messages, fc.boolean(), fc.boolean(), (all, isEdited, replays) => {
        const decision = decideAdoption(claim, { ...record, messages: all }, true);
        if (decision.to !== 'bound') return;
        const open = all.filter(
          ({ id, state }) =>
            ['pending', 'sending', 'in_doubt', 'parked'].includes(state) && !decision.supersedes.includes(id),
        );
        expect(open, 'nothing is left that could go out').to.deep.equal([]);
        const last = all.at(-1);
        const known = decision.isOurs ? null : 'A';
        const newest = last && {
          ...last,
          state: decision.supersedes.includes(last.id) ? ('superseded' as const) : last.state,
          parkClass: null,
          contentHash: known,
          ...neverSent,
          foundAt: null,
        };
        const binding = { revision: decision.revision, generation: decision.generation, contentHash: known };
        const next = nextRevision(isEdited ? 'B' : 'A', newest ?? null, binding, replays);
        if (next.action === 'write') {
          expect(next.operation).to.equal('update');
          expect(next.revision).to.be.greaterThan(decision.revision);
        } else expect(isEdited || decision.isOurs).to.equal(false);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('the comparison of our record with the one at the service', () => {
  const value = fc.oneof(fc.string({ maxLength: 3 }), fc.integer({ min: 0, max: 2 }), fc.constant(null));
  const fields = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd', '__proto__', 'constructor'), value);

  it('names exactly the fields that an update would write over, and takes nothing into the base that we do not send', () => {
    fc.assert(
      fc.property(fields, fields, (wanted, shown) => {
        const { base, baseHash, differs } = compareWithShown(wanted, shown, 'PATCH');
        for (const name of Object.keys(base)) expect(Object.hasOwn(wanted, name)).to.equal(true);
        const patch = composePatch(base, wanted);
        expect(differs).to.deep.equal(Object.keys(patch ?? {}).sort());
        const equal = Object.keys(wanted).every((name) =>
          Object.hasOwn(shown, name) ? Object.is(shown[name], wanted[name]) : wanted[name] === null,
        );
        expect(differs.length === 0).to.equal(equal);
        const isWhole = Object.keys(wanted).every((name) => Object.hasOwn(shown, name) || wanted[name] === null);
        expect(baseHash === null).to.equal(!isWhole);
      }),
      { numRuns: 2_000 },
    );
  });

  it('also names what a PUT would clear', () => {
    const shown = { name: 'Ann', loyalty: 'gold', fax: null };
    expect(compareWithShown({ name: 'Ann' }, shown, 'PATCH').differs).to.deep.equal([]);
    expect(compareWithShown({ name: 'Ann' }, shown, 'PUT')).to.deep.include({
      differs: ['loyalty'],
      cleared: ['loyalty'],
    });
  });

  it('does not take for such a field what is no content, and compares it where we send it', () => {
    const shown = { name: 'Ann', id: 'cus_1', loyalty: 'gold' };
    const own = new Set(['id']);
    expect(compareWithShown({ name: 'Ann' }, shown, 'PUT', own).differs).to.deep.equal(['loyalty']);
    const named = compareWithShown({ name: 'Ann', id: 'K1' }, shown, 'PUT', own);
    expect(named).to.deep.include({ differs: ['id', 'loyalty'], cleared: ['loyalty'] });
  });
});
