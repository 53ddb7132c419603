import { expect } from 'chai';
import { crossChecks } from '../../src/config/cross-checks.js';
import { alertSettings } from '../../src/config/sections/alert.js';

describe('the settings of alerts and retention', () => {
  it('take a program as a path or as a list with its arguments', () => {
    expect(alertSettings.parse({ command: '/usr/local/bin/tell' }).command).to.deep.equal(['/usr/local/bin/tell']);
    expect(alertSettings.parse({ command: ['mail', '-s', 'Waybill'] }).command).to.deep.equal([
      'mail',
      '-s',
      'Waybill',
    ]);
    expect(alertSettings.parse({}).command).to.equal(undefined);
  });

  it('never forget a message while the service still remembers its key', () => {
    const idempotency = { header: 'Idempotency-Key', quoted: false, lifetimeHours: 72, replaysRefusals: false };
    const problems = crossChecks({
      retention: { messagesDays: 2, bodiesDays: 3, auditDays: 730, batchSize: 500 },
      service: { idempotency, token: 'x' as never },
    });
    const found = problems.map(({ segments, allowed }) => [segments.join('.'), allowed] as const);
    expect(found.filter(([path]) => path.startsWith('retention'))).to.deep.equal([
      ['retention.messagesDays', 'at least 3, because service.idempotency.lifetimeHours is 72'],
    ]);
  });
});
