import { expect } from 'chai';
import fc from 'fast-check';
import { backlogTurn, orderClaims } from '../../../src/outbound/deliver/due-messages.js';

const ids = (from: number, count: number) => Array.from({ length: count }, (_, i) => ({ id: from + i, attempts: 0 }));

describe('what is claimed next', () => {
  it('is news, then the backlog, which lets news pass', () => {
    const { claims } = orderClaims(ids(1, 2), ids(100, 5), 6, 3, 0);
    expect(claims.map(({ id, isUrgent }) => ({ id, isUrgent }))).to.deep.equal([
      { id: 1, isUrgent: true },
      { id: 2, isUrgent: true },
      { id: 100, isUrgent: false },
      { id: 101, isUrgent: false },
      { id: 102, isUrgent: false },
    ]);
  });

  it('is one of the backlog in every tenth place, however much is new', () => {
    const { claims } = orderClaims(ids(1, 100), ids(1_000, 100), 40, 20, 0);
    expect(claims).to.have.length(40);
    const places = claims.flatMap(({ id }, place) => (id >= 1_000 ? [place] : []));
    expect(places).to.deep.equal([9, 19, 29, 39]);
    expect(claims.every(({ isUrgent }) => isUrgent)).to.equal(true);
  });

  it('keeps the order of each, and the turn of the backlog over any number of small claims', () => {
    const step = fc.record({ news: fc.nat(30), room: fc.nat(40), backlogRoom: fc.nat(20) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let nextNews = 0;
        let nextBacklog = 1_000_000;
        let newsSinceTurn = 0;
        let inRow = 0;
        for (const { news, room, backlogRoom } of steps) {
          const order = orderClaims(ids(nextNews, news), ids(nextBacklog, 50), room, backlogRoom, newsSinceTurn);
          newsSinceTurn = order.newsSinceTurn;
          expect(order.claims.length).to.be.at.most(room);
          for (const { id, isUrgent } of order.claims) {
            const isNews = id < 1_000_000;
            expect(id).to.equal(isNews ? nextNews++ : nextBacklog++);
            if (isNews) expect(isUrgent).to.equal(true);
            if (isUrgent) inRow = isNews ? inRow + 1 : 0;
            expect(inRow, 'news in a row').to.be.below(backlogTurn);
          }
          // News that was not taken comes again: it is still the first.
        }
      }),
    );
  });

  it('takes all the news that there is room for, less the turns of the backlog', () => {
    fc.assert(
      fc.property(fc.nat(200), fc.nat(200), fc.nat(100), (news, backlog, room) => {
        const { claims } = orderClaims(ids(0, news), ids(1_000, backlog), room, 100, 0);
        const taken = claims.filter(({ id }) => id < 1_000).length;
        expect(taken).to.be.at.least(Math.min(news, room - Math.ceil(room / backlogTurn)));
        expect(claims).to.have.length(Math.min(room, news + Math.min(backlog, 100 + Math.floor(news / 9))), 'filled');
      }),
    );
  });
});
