import { expect } from 'chai';
import { mysqlWriteFailure } from '../../src/db/mysql/mysql-failure.js';

describe('what a failure of MySQL or MariaDB means for the write-back', () => {
  for (const [name, errno, code, sqlState, kind] of [
    ['a value that an ENUM does not name', 1265, 'WARN_DATA_TRUNCATED', '01000', 'row'],
    ['a text that its column can not hold', 1366, 'ER_TRUNCATED_WRONG_VALUE_FOR_FIELD', 'HY000', 'row'],
    ['a text that is too long', 1406, 'ER_DATA_TOO_LONG', '22001', 'row'],
    ['a missing grant', 1142, 'ER_TABLEACCESS_DENIED_ERROR', '42000', 'target'],
    ['a lock that somebody holds', 1205, 'ER_LOCK_WAIT_TIMEOUT', 'HY000', 'unreachable'],
    ['a server that is away', undefined, 'ECONNREFUSED', '', 'unreachable'],
  ] as const)
    it(`is "${kind}" for ${name}`, () => {
      const failure = Object.assign(new Error('its words'), { errno, code, sqlState });
      expect(mysqlWriteFailure(failure, 'invoices', 'the ERP')).to.include({ kind });
    });
});
