import { expect } from 'chai';
import {
  adoptCustomer,
  closeWhatCopySent,
  first,
  last,
  loseStore,
  parkAs,
  released,
  resolveAs,
  slowDown,
  unpark,
} from './doctor.js';
import { doctored } from './doctored-histories.js';
import { invariants, violationsOf } from './invariants.js';
import { soundHistory } from './sound-history.js';

describe('the invariants', () => {
  it('have nothing to say against a sound history', () => {
    expect(violationsOf(soundHistory())).to.deep.equal([]);
  });

  it('judge each store by what it knew, when the first one was lost', () => {
    const history = soundHistory();
    loseStore(history, 150);
    history.recoveredAtMs = 170;
    expect(violationsOf(history)).to.deep.equal([]);
  });

  it('let a record wait for a person that was in doubt for as long as keys live', () => {
    const history = soundHistory();
    history.keyLifetimeMs = 2_000;
    Object.assign(last(history.messages), { state: 'parked', park_class: 'unproven' });
    parkAs(history, 'unproven', 2_000);
    expect(invariants['every-row-accounted-for']?.(history)).to.deep.equal([]);
  });

  it('let a customer in conflict be adopted that was found at the service, and orders follow it', () => {
    const judged = (finding: string) => {
      const history = soundHistory();
      adoptCustomer(history, finding);
      return ['customer-before-order', 'delivered-means-acknowledged', 'legal-transitions'].map(
        (name) => invariants[name]?.(history).length,
      );
    };
    expect(judged('found')).to.deep.equal([0, 0, 0]);
    expect(judged('none')).to.deep.equal([1, 1, 1]);
  });

  it('let an export close what a copy was sending, of records that the lost store knew, before the recovery is on record', () => {
    const judged = (exportedAtMs: number | null, atMs: number, bound = true) => {
      const history = soundHistory();
      if (!bound) history.bindings = [];
      closeWhatCopySent(history, exportedAtMs, atMs);
      return ['legal-transitions', 'no-stale-epoch'].map((name) => invariants[name]?.(history).length);
    };
    expect(judged(140, 300)).to.deep.equal([0, 0]);
    expect(judged(null, 300), 'no export').to.deep.equal([1, 1]);
    expect(judged(140, 500), 'too late').to.deep.equal([1, 1]);
    expect(judged(140, 300, false), 'not known').to.deep.equal([1, 1]);
  });

  it('let a pass go that changes no more than it may', () => {
    const history = soundHistory();
    history.events = [...history.events, ...released(2, 'update'), ...released(10, 'removal')];
    expect(violationsOf(history)).to.deep.equal([]);
  });

  it('let go what a person confirmed', () => {
    const history = soundHistory();
    const { message_id: id, at_ms: at } = unpark(history, 'held');
    history.operated = [{ message_id: id as number, at, outcome: 'confirm_send' }];
    expect(violationsOf(history)).to.deep.equal([]);
  });

  it('let requests go that were under way, or for which the time had come, or a person', () => {
    const judged = (form: string, afterMs: number, resumedAt: number[] = []) => {
      const history = { ...soundHistory(), resumedAt };
      slowDown(history, form, afterMs);
      return invariants['waits-when-told']?.(history);
    };
    expect(judged('seconds', 200)).to.deep.equal([]);
    expect(judged('seconds', 1_000)).to.deep.equal([]);
    expect(judged('junk', 500)).to.deep.equal([]);
    expect(judged('absurd', 50_000, [40_000])).to.deep.equal([]);
  });

  it('let a conflict go of which a person said that nothing is there', () => {
    const history = soundHistory();
    unpark(history, 'conflict');
    resolveAs(history, 'not_delivered');
    expect(violationsOf(history)).to.deep.equal([]);
  });

  it('let an order go that a look-up found with another total, and then a person', () => {
    const history = soundHistory();
    last(history.attempts).purpose = 'look_up';
    last(history.attempts).verdict = 'found';
    resolveAs(history, 'delivered');
    expect(invariants['delivered-means-acknowledged']?.(history)).to.deep.equal([]);
  });

  it('let an attempt go whose request never arrived, whatever it is called', () => {
    for (const verdict of ['in_doubt', 'unknown', 'unavailable', 'not_sent']) {
      const history = soundHistory();
      const cut = { ...last(history.attempts), id: 3, intended_at: 202, verdict, request_id: null };
      history.attempts = [...history.attempts, cut];
      expect(invariants['every-request-has-its-attempt']?.(history), verdict).to.deep.equal([]);
    }
  });

  it('allow the second store other bytes under the key of the first', () => {
    const history = soundHistory();
    loseStore(history, 200);
    history.recoveredAtMs = 205;
    const again = { ...first(history.ledger.requests), request_id: 'r3', received_at_ms: 230, body_sha256: 'another' };
    history.ledger = { ...history.ledger, requests: [...history.ledger.requests, again] };
    expect(invariants['one-key-one-body']?.(history)).to.deep.equal([]);
  });

  it('are all proven to notice something', () => {
    expect(Object.keys(doctored).sort()).to.deep.equal(Object.keys(invariants).sort());
  });

  for (const [invariant, cases] of Object.entries(doctored))
    for (const [what, doctor] of Object.entries(cases))
      it(`${invariant} notices: ${what}`, () => {
        const history = soundHistory();
        doctor(history);
        expect(invariants[invariant]?.(history)).to.not.deep.equal([]);
      });
});
