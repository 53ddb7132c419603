import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { deliverySettings } from '../../src/config/sections/delivery.js';
import { ensure } from '../support/needed-programs.js';
import { projectRoot } from '../support/project-root.js';
import { readUnit } from '../support/stand-in-systemd.js';
import { useTempDir } from '../support/temp-dir.js';

const UNIT_FILE = join(projectRoot, 'systemd/waybill.service');
/** In tenths, as systemd-analyze wants it: 1.2, of which 0.5 are the network itself, 0.1 is V8's compiler and 0.2 is systemd-notify. */
const HIGHEST_EXPOSURE_TENTHS = 12;

const run = promisify(execFile);

describe('waybill.service', () => {
  const tempDir = useTempDir();
  let text = '';
  let copy = '';

  before(async () => {
    text = await readFile(UNIT_FILE, 'utf8');
    // systemd looks for node in the system's folders only, and the node of these tests may lie elsewhere.
    copy = tempDir.file('waybill.service');
    await writeFile(copy, text.replace('ExecStart=node ', `ExecStart=${process.execPath} `));
  });

  describe('by systemd’s own judgement', () => {
    before(function () {
      try {
        ensure('systemdAnalyze');
      } catch (error) {
        console.error(error instanceof Error ? error.message : error);
        this.skip();
      }
    });

    it('is a valid unit without a warning', async () => {
      const { stderr } = await run('systemd-analyze', ['verify', '--man=no', '--recursive-errors=no', copy]);
      // The machine's own units may earn warnings too; those are not ours.
      expect(stderr.split('\n').filter((line) => line.includes('waybill'))).to.deep.equal([]);
    });

    it('is exposed no more than a Node program that calls a remote service must be', async () => {
      const threshold = `--threshold=${HIGHEST_EXPOSURE_TENTHS}`;
      await run('systemd-analyze', ['security', '--offline=true', '--no-pager', threshold, copy]);
    });
  });

  it('starts the daemon with the settings in /etc/waybill, as a user of its own', () => {
    const unit = readUnit(text);
    expect(unit.get('ExecStart')).to.deep.equal(['node dist/src/main.js daemon --config /etc/waybill']);
    expect(unit.get('User')).to.deep.equal(['waybill']);
    expect(unit.get('StateDirectory')).to.deep.equal(['waybill waybill-witness']);
  });

  it('takes secrets from files that only the service manager reads', () => {
    expect(readUnit(text).get('LoadCredential')).to.deep.equal([
      'service-token:/etc/waybill/service-token',
      'erp-password:/etc/waybill/erp-password',
    ]);
  });

  it('is started again after a failure, but not with a wrong configuration', () => {
    const unit = readUnit(text);
    expect(unit.get('Restart')).to.deep.equal(['on-failure']);
    expect(unit.get('RestartPreventExitStatus')?.[0]?.split(' ')).to.include('2');
  });

  it('is given the time to drain before it is killed', () => {
    const unit = readUnit(text);
    const { drainSeconds } = deliverySettings.parse({});
    expect(unit.get('KillSignal')).to.deep.equal(['SIGTERM']);
    expect(Number.parseInt(unit.get('TimeoutStopSec')?.[0] ?? '', 10)).to.be.within(
      drainSeconds + 5,
      drainSeconds + 30,
    );
  });

  it('hears from the daemon how it is, restarts it when it stands still, and lets it reload', () => {
    const unit = readUnit(text);
    const of = (name: string) => unit.get(name)?.join(' ');
    // The messages come from a child of the daemon.
    expect([of('Type'), of('NotifyAccess')]).to.deep.equal(['notify', 'all']);
    expect([of('WatchdogSec'), of('WatchdogSignal')]).to.deep.equal(['60s', 'SIGKILL']);
    expect(of('ExecReload')).to.equal('kill -HUP $MAINPID');
  });

  it('lets V8 compile', () => {
    expect(readUnit(text).has('MemoryDenyWriteExecute')).to.equal(false);
  });
});
