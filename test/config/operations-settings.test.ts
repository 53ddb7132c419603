import { expect } from 'chai';
import { alertSettings } from '../../src/config/sections/alert.js';
import { problemsOf, removeFolders, validSettings } from './folder.js';

describe('the settings of alerts and retention', () => {
  after(removeFolders);

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
    const settings = validSettings();
    Object.assign(settings.service, { idempotency: { lifetimeHours: 72 } });
    const problems = problemsOf({ ...settings, retention: { messagesDays: 2, bodiesDays: 3 } });
    expect(problems.map(({ path, allowed }) => [path, allowed])).to.deep.equal([
      ['retention.messagesDays', 'at least 3, because service.idempotency.lifetimeHours is 72'],
    ]);
  });
});
