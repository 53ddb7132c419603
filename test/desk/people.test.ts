import { expect } from 'chai';
import fc from 'fast-check';
import { foreignProblem, ownPath } from '../../src/desk/address.js';
import { hashToken, parseUsers } from '../../src/desk/people.js';

const token = hashToken('any');

describe('the users file', () => {
  it('names each person once, with a role and a proof', () => {
    const { users, wrongLines } = parseUsers(
      ['# people', '', `anna:act:${token}`, 'rita:read:proxy\r', 'x:admin:proxy', 'y:read:plain-text', 'z:read'].join(
        '\n',
      ),
    );
    expect([...users.values()]).to.deep.equal([
      { name: 'anna', role: 'act', proof: token },
      { name: 'rita', role: 'read', proof: 'proxy' },
    ]);
    expect(wrongLines).to.deep.equal([5, 6, 7]);
  });

  it('believes none of several lines of one name', () => {
    const { users, wrongLines } = parseUsers('anna:read:proxy\nanna:act:proxy\nanna:act:proxy\n');
    expect([users.size, wrongLines]).to.deep.equal([0, [2, 3]]);
  });

  it('gives a role to nobody by a line that makes no sense', () => {
    fc.assert(
      fc.property(fc.string(), (line) => {
        for (const { role, proof } of parseUsers(line).users.values()) {
          expect(role).to.be.oneOf(['read', 'act']);
          expect(proof).to.match(/^(proxy|sha256\$|scrypt\$)/);
        }
      }),
    );
  });
});

describe('where a request leads and comes from', () => {
  it('stays on the desk, whatever was asked for', () => {
    fc.assert(
      fc.property(fc.constantFrom('/', '/waybill/'), fc.webPath(), fc.string(), (base, path, rest) => {
        const to = ownPath(base, `${path}${rest}`);
        const { host, pathname } = new URL(to, 'http://desk.invalid');
        expect(host).to.equal('desk.invalid');
        expect(pathname.startsWith(base)).to.equal(true);
      }),
    );
  });

  it('does not climb out of the path of the desk', () => {
    expect(ownPath('/waybill/', '/waybill/../other')).to.equal('/waybill/');
    expect(ownPath('/waybill/', '/waybill/order/1?q=..')).to.equal('/waybill/order/1?q=..');
  });

  it('is a page of ours for every change', () => {
    const own = 'http://127.0.0.1:1';
    fc.assert(
      fc.property(
        fc.option(fc.string(), { nil: undefined }),
        fc.constantFrom('POST', 'PUT', 'DELETE'),
        (origin, method) => {
          const headers = origin === undefined ? {} : { origin };
          if (origin !== own) expect(foreignProblem({ method, headers }, own)).not.to.equal(null);
        },
      ),
    );
  });
});
