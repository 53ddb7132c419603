import { expect } from 'chai';
import { postgresReadFailure, postgresWriteFailure } from '../../src/db/postgres/postgres-failure.js';

const failureOf = (code: string | undefined, words = 'its words') => Object.assign(new Error(words), { code });

describe('what a failure of PostgreSQL means', () => {
  for (const [name, code, kind] of [
    ['a value that an enum does not name', '22P02', 'row'],
    ['a text that is too long', '22001', 'row'],
    ['what a trigger of the ERP raises', 'P0001', 'row'],
    ['a key that is there already', '23505', 'row'],
    ['a missing grant', '42501', 'target'],
    ['a table that is not there', '42P01', 'target'],
    ['a standby', '25006', 'target'],
    ['a lock that somebody holds', '55P03', 'unreachable'],
    ['a transaction that another one stopped', '40001', 'unreachable'],
    ['a server that shuts down', '57P01', 'unreachable'],
    ['a server without room', '53100', 'unreachable'],
    ['a server that is away', 'ECONNREFUSED', 'unreachable'],
    ['a pipe that broke', 'EPIPE', 'unreachable'],
    ['a driver that lost its connection', undefined, 'unreachable'],
  ] as const)
    it(`for the write-back is "${kind}" for ${name}`, () => {
      expect(postgresWriteFailure(failureOf(code), 'invoices', 'the ERP')).to.include({ kind });
    });

  for (const [name, code, words, kind, advice] of [
    ['a wrong password', '28P01', 'its words', 'unreachable', /erp\.user and its password/],
    ['an account that may not connect from here', '28000', 'its words', 'unreachable', /pg_hba\.conf/],
    ['a server that is starting', '57P03', 'its words', 'unreachable', /tried again later/],
    ['a server that shuts down', '57P01', 'its words', 'unreachable', /tried again later/],
    ['a standby that had to give way', '40001', 'its words', 'unreachable', /tried again later/],
    ['a certificate of nobody we trust', 'SELF_SIGNED_CERT_IN_CHAIN', 'its words', 'unreachable', /erp\.tls\.caFile/],
    ['a column that is not there', '42703', 'its words', 'query', /Check the name/],
    [
      'a zone that it does not know',
      '22023',
      'invalid value for parameter "TimeZone": "X"',
      'mapping',
      /erp\.timeZone/,
    ],
    ['a value that a row holds', '22P02', 'its words', 'query', /One row can stop all of them/],
  ] as const)
    it(`for capture is "${kind}" for ${name}, and says what to do`, () => {
      const failure = postgresReadFailure(failureOf(code, words), 'read rows', 'the ERP', 'query');
      expect(failure).to.include({ kind });
      expect(failure.message).to.match(advice);
    });

  it('tells a statement that ran too long from one that somebody stopped, in whatever language the server speaks', () => {
    const endedAfter = (ranMs: number) =>
      postgresReadFailure(failureOf('57014', 'Anweisung abgebrochen'), 'read', 'the ERP', 'query', {
        ranMs,
        limitMs: 500,
      });
    expect(endedAfter(501).message).to.include('raise erp.queryTimeoutSeconds');
    expect(endedAfter(20))
      .to.include({ kind: 'unreachable' })
      .and.have.property('message')
      .that.includes('stopped on the server');
  });
});
