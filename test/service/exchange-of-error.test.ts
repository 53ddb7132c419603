import { AxiosError } from 'axios';
import { expect } from 'chai';
import { exchangeOfError } from '../../src/service/wire/wire-exchange.js';
import { told } from '../support/told.js';

describe('what an error on the way to the service proves', () => {
  /** As Node says it, and axios wraps it. */
  const failed = (syscall: string, code: string) =>
    AxiosError.from(Object.assign(new Error(`${syscall} ${code}`), { code, syscall }), undefined);
  const kindOf = (error: AxiosError, neverConnected?: boolean) => exchangeOfError(error, neverConnected).kind;

  for (const code of ['EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN']) {
    it(`takes ${code} for proof that nothing left while it was connecting`, () => {
      expect(told(exchangeOfError(failed('connect', code)))).to.deep.equal({
        kind: 'unreachable',
        reason: `connect ${code}`,
        tls: false,
      });
    });

    it(`takes ${code} for proof when the connection was seen not to come about, whoever says it`, () => {
      // Several addresses: what each of them came to has a syscall, what is said of all of them has none.
      const ofAll = Object.assign(new AggregateError([new Error(`connect ${code}`)]), { code });
      expect(kindOf(AxiosError.from(ofAll, undefined), true)).to.equal('unreachable');
    });

    for (const syscall of ['read', 'write'])
      it(`is in doubt about ${code} at a ${syscall}: the way there was lost after bytes may have left`, () => {
        expect(told(exchangeOfError(failed(syscall, code), false))).to.deep.equal({
          kind: 'broken',
          reason: `${syscall} ${code}`,
        });
      });
  }

  it('asks nothing else where no connection can have been there', () => {
    expect(kindOf(failed('connect', 'ECONNREFUSED'))).to.equal('unreachable');
    expect(kindOf(failed('getaddrinfo', 'ENOTFOUND'))).to.equal('unreachable');
    expect(kindOf(failed('getaddrinfo', 'EAI_AGAIN'))).to.equal('unreachable');
  });

  it('tells a connection that was not made in time from an answer that did not come in time', () => {
    expect(kindOf(failed('connect', 'ETIMEDOUT'))).to.equal('unreachable');
    expect(kindOf(failed('read', 'ETIMEDOUT'))).to.equal('timeout');
  });
});
