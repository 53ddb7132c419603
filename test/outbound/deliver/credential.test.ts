import { writeFileSync } from 'node:fs';
import { expect } from 'chai';
import type { TokenRules } from '../../../src/lab/sandbox/options.js';
import { sync } from '../../../src/operator/sync.js';
import { deliver } from '../../../src/outbound/deliver/deliver.js';
import { tryNewCredential } from '../../../src/outbound/deliver/lane-keeper.js';
import { realFiles } from '../../../src/service/credential/watched-files.js';
import { ServiceClient } from '../../../src/service/service-client.js';
import { type Lab, onAnyLab, withServiceLease } from '../../support/jobs/job-lab.js';
import { expectAllAtService, pausesOf, statesOf } from '../../support/jobs/service-of.js';
import { useTempDir } from '../../support/temp-dir.js';
import { told } from '../../support/told.js';
import { waitFor } from '../../support/wait-for.js';

const rules: TokenRules = {
  clientId: 'waybill',
  clientSecret: 'right',
  authentication: 'basic',
  lifetimeMs: 3_600_000,
  saysLifetime: true,
  scope: null,
  trouble: null,
};

onAnyLab('a credential that is refused or replaced', (kit) => {
  const dir = useTempDir();
  const watching = (lab: Lab) => {
    const { service, delivery } = lab.settings;
    const files = { ...realFiles, lookEveryMs: 10 };
    return new ServiceClient({ service, quickResends: delivery.quickResends, nowMs: Date.now, files });
  };
  const oauthLab = async (trouble: Partial<TokenRules>) => {
    const lab = await kit.start({ customers: 2, orders: 6, sandbox: { oauth: { ...rules, ...trouble } } });
    const clientSecretFile = dir.file('client-secret');
    writeFileSync(clientSecretFile, 'right');
    const tokenUrl = `${lab.sandbox.url}/oauth/token`;
    const credential = { kind: 'oauth', tokenUrl, clientId: 'waybill', clientSecret: 'right', clientSecretFile };
    return lab.another({ settings: { service: { credential } } });
  };

  it('waits for a token endpoint that is down like for a service that is: no message is parked, and it goes on', async () => {
    const lab = await oauthLab({ trouble: 'down' });
    await lab.capture();
    const stopped = new AbortController();
    const running = lab.deliver({ untilDrained: false, signal: stopped.signal });
    await waitFor('the breaker', async () => (await pausesOf(kit)).some(({ cause }) => cause === 'outage'));
    // One may be under way at this moment, to see whether the service is back.
    expect(await statesOf(kit)).to.not.have.any.keys('parked', 'in_doubt', 'delivered');
    expect(lab.sandbox.counts().requests).to.equal(0);
    lab.sandbox.change({ oauth: rules });
    await waitFor('everything to go through', () => lab.sandbox.counts().orders >= 6);
    stopped.abort();
    await running;
    await expectAllAtService(lab);
    expect(lab.sandbox.tokenCounts().requests).to.be.below(6);
  });

  it('pauses everything and says what to do when the client is refused, and asks once', async () => {
    const lab = await oauthLab({ clientSecret: 'another' });
    await lab.capture();
    const { stopped } = await lab.deliver();
    expect(told(stopped)).to.include('service is paused (credential)').and.include('invalid_client');
    expect(await statesOf(kit)).to.have.all.keys('pending');
    expect(lab.sandbox.tokenCounts().requests).to.equal(1);
    const alert = lab.log.find((line) => line.includes('does not accept our credential')) ?? '';
    expect(alert).to.include('service.credential.clientSecretFile').and.include('waybill resume service');
    expect((await lab.pull()).outcome).to.equal('held');
  });

  it('tries a token from the environment once after a restart of the daemon, and goes on when it is the right one', async () => {
    const lab = await kit.start({ customers: 2, orders: 4 });
    const started = (token: string) => lab.another({ settings: { service: { token } } });
    const pass = (mine: Lab) =>
      sync(mine.context, { reader: mine.reader, client: () => mine.client }, { stages: ['capture', 'deliver'] });
    const begin = async (mine: Lab) => {
      await withServiceLease(mine.context, (lease) => tryNewCredential(mine.context, mine.client, lease, true));
      await mine.deliver();
    };
    const requests = () => lab.sandbox.counts().requests;
    await pass(started('wrong'));
    const before = requests();
    await pass(started('wrong'));
    expect(requests() - before, 'a command that cron repeats').to.equal(0);
    await begin(started('wrong-as-well'));
    expect(requests() - before, 'one probe').to.equal(1);
    expect((await pausesOf(kit)).map(({ cause }) => cause)).to.deep.equal(['credential']);
    await begin(started('sandbox-token'));
    await expectAllAtService(lab);
    expect(await pausesOf(kit)).to.deep.equal([]);
  });

  it('tries a replaced token by one request, and goes on when the service takes it', async () => {
    const lab = await kit.start({ customers: 2, orders: 6 });
    const tokenFile = dir.file('token');
    writeFileSync(tokenFile, 'wrong');
    const mine = lab.another({ settings: { service: { tokenFile, token: 'wrong' } } });
    await mine.capture();
    const client = watching(mine);
    try {
      const send = () =>
        withServiceLease(mine.context, (lease) =>
          deliver(mine.context, client, lease, {
            untilDrained: true,
            scope: { only: null },
            retryHorizonMs: 20_000,
            trial: false,
            erp: mine.reader,
          }),
        );
      const tried = () => withServiceLease(mine.context, (lease) => tryNewCredential(mine.context, client, lease));
      const requests = () => lab.sandbox.counts().requests;
      await send();
      expect((await pausesOf(kit)).map(({ cause }) => cause)).to.deep.equal(['credential']);
      expect(await tried(), 'nothing has changed').to.equal(false);

      const before = requests();
      writeFileSync(tokenFile, 'wrong-as-well');
      await waitFor('the new file is seen', tried);
      await send();
      expect(requests() - before, 'one probe').to.equal(1);
      expect((await pausesOf(kit)).map(({ cause }) => cause)).to.deep.equal(['credential']);
      expect(await tried(), 'that file was tried').to.equal(false);

      writeFileSync(tokenFile, 'sandbox-token');
      await waitFor('the right file is seen', tried);
      await send();
      await expectAllAtService(lab);
      expect(await pausesOf(kit)).to.deep.equal([]);
      const resumed = await kit.rows(
        "SELECT COUNT(*) AS n FROM audit_log WHERE event='resume' AND outcome='credential'",
      );
      expect(Number(resumed[0].n)).to.equal(2);
    } finally {
      client.close();
    }
  });
});
