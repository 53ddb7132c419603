import { join } from 'node:path';
import { expect } from 'chai';
import { stringify } from 'yaml';
import { loadSettings } from '../../src/config/load-settings.js';
import {
  errorOf,
  folderWith,
  load,
  pathsOf,
  problemsOf,
  removeFolders,
  tokenInEnvironment,
  validSettings,
} from './folder.js';

const standard = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;

/** Problems of a configuration with these webhooks and files beside it. */
function folder(webhooks: object, files: Record<string, string> = { one: standard }) {
  return folderWith({ 'local.yaml': stringify({ ...validSettings(), webhooks }), ...files });
}
const loadFrom = (configDir: string) => loadSettings({ configDir, env: tokenInEnvironment });
const problems = (webhooks: object, files?: Record<string, string>) =>
  errorOf(() => loadFrom(folder(webhooks, files))).problems;

describe('the settings of webhooks', () => {
  after(removeFolders);

  it('leave the listener off, and on this machine', () => {
    const { webhooks } = load(validSettings()).settings;
    expect(webhooks).to.include({
      enabled: false,
      host: '127.0.0.1',
      port: 8787,
      path: '/webhooks',
      scheme: 'standard',
    });
    expect(webhooks).to.include({
      maxBodyBytes: 65_536,
      toleranceSeconds: 300,
      maxConnections: 256,
      requestSeconds: 5,
    });
    expect(webhooks.events).to.deep.equal({
      paymentSucceeded: ['payment.succeeded'],
      orderStatusChanged: ['order.status_changed'],
    });
    expect(webhooks.fields).to.deep.equal({
      id: 'id',
      type: 'type',
      invoiceNo: 'data.invoice_no',
      orderId: 'data.order_id',
    });
  });

  it('may all be changed', () => {
    const changed = {
      enabled: true,
      host: '::1',
      port: 9000,
      path: '/in',
      maxBodyBytes: 2_048,
      toleranceSeconds: 60,
      maxConnections: 8,
      requestSeconds: 2,
      scheme: 'hmac',
      hmac: {
        header: 'X-Sign',
        algorithm: 'sha512',
        encoding: 'base64',
        prefix: 'v1=',
        timestampHeader: 'X-Time',
        signedPayload: '{timestamp}:{body}',
      },
      events: { paymentSucceeded: ['PAID'], orderStatusChanged: [] },
      fields: { id: 'a', type: 'b', invoiceNo: 'c.d', orderId: 'e' },
    };
    const configDir = folder({ ...changed, secretFiles: ['one', 'two'] }, { one: 'x'.repeat(16), two: 'y'.repeat(20) });
    const { settings, warnings } = loadFrom(configDir);
    expect(settings.webhooks).to.deep.equal({
      ...changed,
      secretFiles: [join(configDir, 'one'), join(configDir, 'two')],
    });
    expect(warnings).to.deep.equal([]);
  });

  it('need a secret that can be read and used, where webhooks are listened for', () => {
    expect(pathsOf(problems({ enabled: true }))).to.deep.equal(['webhooks.secretFiles']);
    const wrong: [string, string][] = [
      ['too short', `whsec_${Buffer.alloc(23).toString('base64')}`],
      ['no base64', 'not base64 at all'],
      ['empty', '\n'],
    ];
    for (const [what, secret] of wrong)
      expect(pathsOf(problems({ enabled: true, secretFiles: ['one'] }, { one: secret })), what).to.deep.equal([
        'webhooks.secretFiles.0',
      ]);
    expect(pathsOf(problems({ enabled: true, secretFiles: ['one', 'gone'] }))).to.deep.equal([
      'webhooks.secretFiles.1',
    ]);
    expect(pathsOf(problems({ enabled: true, scheme: 'hmac', secretFiles: ['one'] }, { one: 'short' }))).to.deep.equal([
      'webhooks.secretFiles.0',
    ]);
    loadFrom(folder({ secretFiles: ['gone'] }));
  });

  it('hold no secret themselves, and show none', () => {
    expect(pathsOf(problemsOf({ ...validSettings(), webhooks: { secrets: [standard] } }))).to.deep.equal([
      'webhooks.secrets',
    ]);
    const said = JSON.stringify(problems({ enabled: true, secretFiles: ['one'] }, { one: 'a-bad-secret-in-here' }));
    expect(said).not.to.include('a-bad-secret');
  });

  it('sign the time that they name, and name the time that they sign', () => {
    const hmac = (more: object) => ({ enabled: true, scheme: 'hmac', secretFiles: ['one'], hmac: more });
    expect(pathsOf(problems(hmac({ signedPayload: '{timestamp}.{body}' })))).to.deep.equal([
      'webhooks.hmac.timestampHeader',
    ]);
    expect(pathsOf(problems(hmac({ timestampHeader: 'X-Time' })))).to.deep.equal(['webhooks.hmac.signedPayload']);
    expect(pathsOf(problems(hmac({ signedPayload: 'nothing' })))).to.deep.equal(['webhooks.hmac.signedPayload']);
  });

  it('warn of an address that others reach', () => {
    const { warnings } = loadFrom(folder({ enabled: true, host: '0.0.0.0', secretFiles: ['one'] }));
    expect(warnings).to.have.length(1);
    expect(warnings[0]).to.include('webhooks.host is 0.0.0.0');
  });
});
