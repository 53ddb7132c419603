import { expect } from 'chai';
import { allowStandby, liveIdentity, writeGoLive } from '../../../src/outbound/deliver/go-live.js';
import { onAnyLab } from '../../support/jobs/job-lab.js';
import { expectAllAtService } from '../../support/jobs/service-of.js';
import { told } from '../../support/told.js';

onAnyLab('a standby on another machine', (kit) => {
  const started = async () => {
    const lab = (await kit.start()).another({ settings: { service: { environment: 'production' } } });
    await lab.capture();
    const here = liveIdentity(lab.settings, lab.reader.identity());
    const goLive = (identity = here) =>
      kit.store.transaction('go live', (tx) => writeGoLive(tx, identity, 'an operator', Date.now()));
    const allow = (identity = here) => kit.store.transaction('allow', (tx) => allowStandby(tx, identity));
    return { lab, here, goLive, allow };
  };

  it('sends nothing until a person allows this very machine', async () => {
    const { lab, here, goLive, allow } = await started();
    await goLive({ ...here, machine: 'office-1' });
    expect(told((await lab.deliver()).stopped)).to.contain('the machine was office-1');
    expect(await allow({ ...here, machine: 'office-3' })).to.equal(null);
    expect(told((await lab.deliver()).stopped)).to.contain('the machine was office-1');
    expect(lab.sandbox.counts().requests).to.equal(0);
    expect(await allow()).to.equal(null);
    await lab.deliver();
    await expectAllAtService(lab);
  });

  it('is not allowed where anything else differs, nor before somebody went live', async () => {
    const { here, goLive, allow } = await started();
    expect(told(await allow())).to.contain('not live on any machine yet');
    await goLive({ ...here, machine: 'office-1', erp: 'another ERP' });
    expect(told(await allow())).to.contain('the ERP database was another ERP');
  });

  it('needs the word again when the store went live anew', async () => {
    const { lab, here, goLive, allow } = await started();
    await goLive({ ...here, machine: 'office-1' });
    await allow();
    await goLive({ ...here, machine: 'office-2' });
    expect(told((await lab.deliver()).stopped)).to.contain('the machine was office-2');
    expect(lab.sandbox.counts().requests).to.equal(0);
  });
});
