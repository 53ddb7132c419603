import { expect } from 'chai';
import fc from 'fast-check';
import { outside } from '../../../src/model/outside.js';
import { changedIdentity, type HoldInput, holdReason, passHold } from '../../../src/outbound/capture/safety-limits.js';

const empty = { code: 'source_empty' } as const;
const limits = { maxCreates: 100, maxUpdates: 200, maxRemovals: 10 };

describe('the hold of a pass', () => {
  it('lets through what a person may have done by hand', () => {
    expect(passHold({ creates: 0, updates: 200, removals: 10 }, limits, null)).to.equal(null);
    expect(passHold({ creates: 0, updates: 0, removals: 0 }, limits, empty)).to.equal(null);
  });

  it('holds more than that, and says which setting it was', () => {
    expect(passHold({ creates: 0, updates: 201, removals: 0 }, limits, null)).to.deep.equal({
      code: 'too_many_updates',
      count: 201,
      limit: 200,
    });
    expect(passHold({ creates: 0, updates: 1, removals: 11 }, limits, null)).to.deep.equal({
      code: 'too_many_removals',
      count: 11,
      limit: 10,
    });
  });

  it('holds records that earlier passes left out, where they are many', () => {
    const of = (creates: number) => passHold({ creates, updates: 0, removals: 0 }, limits, null);
    expect(of(100)).to.equal(null);
    expect(of(101)).to.deep.equal({ code: 'too_many_creates', count: 101, limit: 100 });
  });

  it('holds everything as long as something is wrong with the source', () => {
    expect(passHold({ creates: 0, updates: 1, removals: 0 }, limits, empty)).to.equal(empty);
  });

  it('never lets more than the limits through', () => {
    fc.assert(
      fc.property(fc.nat(400), fc.nat(20), fc.option(fc.constant(empty)), (updates, removals, standing) => {
        const free = passHold({ creates: 0, updates, removals }, limits, standing) === null;
        const few = updates <= 200 && removals <= 10 && standing === null;
        expect(free).to.equal(few || updates + removals === 0);
      }),
    );
  });
});

describe('the hold of a single message', () => {
  const newest = {
    id: 1,
    revision: 1,
    operation: 'create' as const,
    generation: 0,
    state: 'delivered' as const,
    parkClass: null,
    contentHash: 'A',
    wasSent: 1 as const,
    firstSentAt: 1,
    foundAt: null,
    mappingFingerprint: 'old',
    reason: null,
  };
  const binding = { revision: 1, generation: 0, contentHash: 'A', mappingFingerprint: 'old' };
  const update: HoldInput = {
    operation: 'update',
    contentHash: 'B',
    mappingFingerprint: 'old',
    newest,
    binding,
    replacesRecord: false,
    suspiciousCreate: null,
  };

  it('holds what would write over an adopted record, until somebody has looked', () => {
    const adopted = (differs: string[] | null, isReviewed = false, replacesRecord = false) =>
      holdReason({ ...update, replacesRecord, binding: { ...binding, adoption: { differs, isReviewed } } });
    expect(adopted(['name'])).to.deep.equal({ code: 'adopted_differs', clears: false });
    expect(adopted(['name'], true)).to.equal(null);
    expect(adopted([])).to.equal(null);
    expect(adopted(null), 'only what was edited since is sent').to.equal(null);
    const looked = { code: 'adopted_differs', clears: false };
    expect(adopted(null, false, true), 'a PUT writes over everything').to.deep.equal(looked);
    const doubted = { ...binding, contentHash: null, adoption: { differs: null, isReviewed: false } };
    expect(holdReason({ ...update, binding: doubted }), 'so does an update of every field').to.deep.equal(looked);
    const same = {
      ...update,
      contentHash: 'A',
      binding: { ...binding, adoption: { differs: ['x'], isReviewed: false } },
    };
    expect(holdReason(same), 'the service has it already').to.equal(null);
  });

  it('lets an edit under the same mapping go', () => {
    expect(holdReason(update)).to.equal(null);
    expect(holdReason({ ...update, newest: null })).to.equal(null);
  });

  it('holds an update that comes with another mapping', () => {
    expect(holdReason({ ...update, mappingFingerprint: 'new' })).to.deep.equal({ code: 'mapping_changed' });
    expect(holdReason({ ...update, mappingFingerprint: 'new', newest: null })).to.deep.equal({
      code: 'mapping_changed',
    });
  });

  it('goes by the mapping of what is on its way, once somebody let it go', () => {
    const onItsWay = { ...newest, revision: 2, state: 'pending' as const, mappingFingerprint: 'new' };
    expect(holdReason({ ...update, mappingFingerprint: 'new', newest: onItsWay })).to.equal(null);
  });

  it('holds the successor of what is held, unless it says what the service has', () => {
    const tooMany = { code: 'too_many_updates', count: 9, limit: 1 } as const;
    const held = { ...newest, revision: 2, state: 'parked' as const, parkClass: 'held' as const, reason: tooMany };
    expect(holdReason({ ...update, newest: held })).to.equal(tooMany);
    expect(holdReason({ ...update, newest: held, contentHash: 'A' })).to.equal(null);
  });

  it('holds a create only where its key is suspicious', () => {
    const create: HoldInput = {
      ...update,
      operation: 'create',
      newest: null,
      binding: null,
      mappingFingerprint: 'new',
    };
    expect(holdReason(create)).to.equal(null);
    expect(holdReason({ ...create, suspiciousCreate: { code: 'key_given_before' } })).to.have.property(
      'code',
      'key_given_before',
    );
  });
});

describe('the identity of a record', () => {
  const identity = (number: string, created = '2026-01-01') => JSON.stringify({ number, created });

  const turned = (before: string, now: string) => ({
    code: 'key_reused',
    columns: [{ column: 'number', before: outside(before), now: outside(now) }],
  });

  it('is another one when a column that never changes did', () => {
    expect(changedIdentity(identity('A-1'), identity('A-1'))).to.equal(null);
    expect(changedIdentity(identity('A-1'), identity('A-7'))).to.deep.equal(turned('A-1', 'A-7'));
  });

  it('is the same one when a time is written in another precision, cut or rounded', () => {
    const same = (a: string, b: string) => changedIdentity(identity('A-1', a), identity('A-1', b)) === null;
    for (const other of ['2026-01-02 10:00:00', '2026-01-02 10:00:01', '2026-01-02 10:00:00.60', '2026-01-02']) {
      expect(same('2026-01-02 10:00:00.600000', other), other).to.equal(true);
      expect(same(other, '2026-01-02 10:00:00.600000'), other).to.equal(true);
    }
    expect(same('1767348000', '1767348000600')).to.equal(true);
    expect(same('2026-01-02T10:00:00Z', '2026-01-02T11:00:00.000+01:00')).to.equal(true);
    for (const other of ['2026-01-02 10:00:02', '2026-01-02 10:00:00.5', '2026-01-02 10:00:00.600001', '2026-01-04'])
      expect(same('2026-01-02 10:00:00.600000', other), other).to.equal(false);
  });

  it('says nothing where it was not known, or where other columns were configured', () => {
    expect(changedIdentity(null, identity('A-1'))).to.equal(null);
    expect(changedIdentity(identity('A-1'), null)).to.equal(null);
    expect(changedIdentity(JSON.stringify({ order_no: 'A-1' }), identity('A-7'))).to.equal(null);
  });

  it('is told by the columns that both have', () => {
    const byNumber = JSON.stringify({ number: 'A-1' });
    expect(changedIdentity(byNumber, identity('A-1'))).to.equal(null);
    expect(changedIdentity(byNumber, identity('A-7'))).to.deep.equal(turned('A-1', 'A-7'));
    expect(changedIdentity(identity('A-7'), byNumber)).to.deep.equal(turned('A-7', 'A-1'));
  });
});
