import { expect } from 'chai';
import { loadSettings } from '../../src/config/load-settings.js';
import { folderWith, load, pathsOf, problemsOf, removeFolders, tokenInEnvironment, validSettings } from './folder.js';

const berlin = () => {
  const { customers, orders } = validSettings();
  const erp: Record<string, unknown> = { type: 'sqlite', file: 'berlin.sqlite', timeZone: 'Europe/Berlin' };
  return { erp, customers: { ...customers }, orders: { ...orders } };
};

describe('the settings of several sources', () => {
  afterEach(removeFolders);

  it('are those of the one with its own sections in their places', () => {
    const { settings, configDir } = load({ ...validSettings(), sources: { berlin: { ...berlin(), priority: 3 } } });
    const [named] = settings.named ?? [];
    expect(named).to.include({ source: 'berlin', installation: 'test-office' });
    expect(named?.erp).to.include({ type: 'sqlite', file: `${configDir}/berlin.sqlite` });
    expect(settings.sources.berlin?.priority).to.equal(3);
    expect(load(validSettings()).settings).to.not.have.any.keys('named', 'source');
  });

  it('have their faults named at their places, once', () => {
    const faulty = { ...berlin(), erp: { type: 'sqlite', timeZone: 'Europe/Berlin', fil: 'x' } };
    const problems = problemsOf({ ...validSettings(), sources: { berlin: faulty, Köln: berlin() } });
    const expected = ['sources["Köln"]', 'sources.berlin.erp.fil', 'sources.berlin.erp.file'];
    expect(pathsOf(problems)).to.have.members(expected);
  });

  it('hold no password, but the file of one', () => {
    const erp = { type: 'mysql', database: 'erp_berlin', user: 'reader', timeZone: 'Europe/Berlin' };
    const folder = folderWith({
      'local.yaml': { ...validSettings(), sources: { berlin: { ...berlin(), erp: { ...erp, passwordFile: 'pw' } } } },
      pw: 'secret of Berlin',
    });
    const { settings } = loadSettings({ configDir: folder, env: tokenInEnvironment });
    const own = settings.named?.[0]?.erp;
    expect(own?.type === 'mysql' && own.password?.reveal()).to.equal('secret of Berlin');
    expect(settings.erp.type === 'mysql' && settings.erp.password).to.equal(undefined);
    const open = { ...berlin(), erp: { ...erp, password: 'in the open' } };
    const [problem] = problemsOf({ ...validSettings(), sources: { berlin: open } });
    expect(problem?.path).to.equal('sources.berlin.erp.password');
    expect(problem?.message).to.equal('a secret does not belong in a settings file');
    expect(JSON.stringify(problem)).to.not.include('in the open');
  });

  it('never read the same orders twice', () => {
    const same = { ...berlin(), erp: validSettings().erp };
    const [problem] = problemsOf({ ...validSettings(), sources: { berlin: same } });
    expect(problem).to.include({ path: 'sources.berlin', message: 'reads the same orders as the section erp' });
    const own = { ...same, orders: { ...same.orders, pending: "branch = 'Berlin'" } };
    expect(load({ ...validSettings(), sources: { berlin: own } }).settings.named).to.have.length(1);
  });
});
