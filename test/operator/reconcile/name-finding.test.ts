import { expect } from 'chai';
import fc from 'fast-check';
import { type Fact, legacy } from '../../../src/model/facts/fact.js';
import {
  type ErpSide,
  judgeBound,
  judgeUnbound,
  type NewestOf,
  type ServiceSide,
} from '../../../src/operator/reconcile/name-finding.js';
import { addSums, type RecordAmounts, sumsOf, totalsByCurrency } from '../../../src/operator/reconcile/sums.js';

const record = { customer_code: 'K1', items: [] };
const row: ErpSide = { kind: 'row', record, total: 100n };
const shown: ServiceSide = { kind: 'shown', fields: record, total: 100n };
const about = {
  hasMoved: false,
  isRecent: false,
  onCancelled: 'nothing',
  optional: [],
  shownBefore: new Set<string>(),
};
const newest = (state: NewestOf['state'], parkClass: NewestOf['parkClass'] = null): NewestOf => ({
  state,
  operation: 'update',
  parkClass,
  reason: legacy('why'),
});
const of = (erp: ErpSide, service: ServiceSide, message: NewestOf | null = null, more: Partial<typeof about> = {}) => {
  const { finding } = judgeBound(erp, service, message, { ...about, ...more });
  return finding && `${finding.kind} ${finding.cause}`;
};

describe('the judgement of a record on both sides', () => {
  it('finds what is missing, different and extra', () => {
    expect(of(row, shown)).to.equal(null);
    expect(of(row, { kind: 'absent' })).to.equal('missing gone_at_service');
    expect(of({ ...row, record: { customer_code: 'K2', items: [] } }, shown)).to.equal('different changed');
    expect(of({ kind: 'gone' }, shown)).to.equal('extra deleted_in_erp');
  });

  it('finds another total where every field is the same, unless one of them is not known', () => {
    expect(of(row, { ...shown, total: 101n })).to.equal('different changed');
    expect(of(row, { ...shown, total: null })).to.equal(null);
    expect(of({ ...row, total: null }, { ...shown, total: 101n })).to.equal(null);
  });

  it('finds nothing wrong where neither side has it', () => {
    expect(of({ kind: 'gone' }, { kind: 'absent' })).to.equal(null);
    expect(of({ kind: 'cancelled' }, { kind: 'absent' })).to.equal(null);
  });

  it('says why it can not judge', () => {
    expect(of({ kind: 'cancelled' }, shown)).to.equal('unjudged filtered');
    expect(of({ kind: 'unmapped', reason: legacy('no lines') }, shown)).to.equal('unjudged unmapped');
    expect(of(row, { kind: 'unread', reason: legacy('HTTP 403') })).to.equal('unjudged unread');
    expect(of(row, { kind: 'absent' }, null, { hasMoved: true })).to.equal('unjudged under_way');
  });

  it('calls nothing missing whose last request may still take effect', () => {
    expect(of(row, { kind: 'absent' }, null, { isRecent: true })).to.equal('unjudged unproven');
    expect(of({ kind: 'gone' }, { kind: 'absent' }, null, { isRecent: true }), 'neither has it').to.equal(null);
    for (const state of ['discarded', 'superseded'] as const)
      expect(judgeUnbound(row, newest(state), null, true)).to.include({ kind: 'unjudged', cause: 'unproven' });
  });

  it('says nothing of a record with an open message, whatever the two sides show', () => {
    const erp = fc.constantFrom<ErpSide>(
      row,
      { kind: 'gone' },
      { kind: 'cancelled' },
      { kind: 'unmapped', reason: legacy('') },
    );
    const service = fc.constantFrom<ServiceSide>(shown, { kind: 'absent' }, { kind: 'unread', reason: legacy('') });
    const open = fc.constantFrom(
      newest('pending'),
      newest('sending'),
      newest('in_doubt'),
      newest('parked', 'held'),
      newest('parked', 'conflict'),
      newest('parked', 'unproven'),
      newest('parked', 'refused'),
    );
    fc.assert(
      fc.property(erp, service, open, (one, other, message) => {
        const cause = { pending: 'under_way', sending: 'under_way', in_doubt: 'in_doubt' }[message.state as string];
        const expected = cause ?? (message.parkClass === 'held' ? 'held' : 'parked');
        expect(of(one, other, message)).to.equal(`unjudged ${expected}`);
      }),
    );
  });

  it('finds a row that was never sent missing, unless something of it is open', () => {
    const unbound = (message: NewestOf | null, waits: Fact | null = null) =>
      judgeUnbound(row, message, waits, false).cause;
    expect(unbound(null)).to.equal('never_sent');
    expect(unbound(null, legacy('its lines do not add up'))).to.equal('waiting');
    expect(unbound(newest('discarded'))).to.equal('discarded');
    expect(unbound(newest('superseded'))).to.equal('withdrawn');
    expect(unbound(newest('delivered'))).to.equal('withdrawn');
    expect(unbound(newest('in_doubt'))).to.equal('in_doubt');
    expect(unbound(newest('parked', 'held'))).to.equal('held');
  });
});

describe('the sums of both sides', () => {
  const amounts: fc.Arbitrary<RecordAmounts> = fc.record({
    day: fc.constantFrom('2026-10-01', '2026-10-02', null),
    currency: fc.constantFrom('EUR', 'JPY'),
    isInErp: fc.boolean(),
    erpTotal: fc.option(fc.bigInt(-(10n ** 18n), 10n ** 18n)),
    isAtService: fc.boolean(),
    serviceTotal: fc.option(fc.bigInt(-(10n ** 18n), 10n ** 18n)),
  });

  it('are the same however the records are cut into pages, and lose no unit', () => {
    fc.assert(
      fc.property(fc.array(amounts), fc.nat(20), (all, cut) => {
        const whole = sumsOf(all);
        const parts = addSums(sumsOf(all.slice(0, cut)), sumsOf(all.slice(cut)));
        const sorted = (sums: typeof whole) => new Map(sums.map((one) => [`${one.day} ${one.currency}`, one]));
        expect(sorted(parts)).to.deep.equal(sorted(whole));
        const erp = all.reduce((sum, one) => sum + (one.isInErp ? (one.erpTotal ?? 0n) : 0n), 0n);
        expect(totalsByCurrency(whole).reduce((sum, one) => sum + one.erpTotal, 0n)).to.equal(erp);
        expect(totalsByCurrency(whole).reduce((sum, one) => sum + one.serviceRecords, 0)).to.equal(
          all.filter(({ isAtService }) => isAtService).length,
        );
      }),
    );
  });
});
