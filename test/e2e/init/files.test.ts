import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { openSqlite } from '../../support/sqlite-file.js';
import { useTempDir } from '../../support/temp-dir.js';
import { init, initJson, recordsBy } from './init-lab.js';
import { terse, terseChoices } from './unknown-schemas.js';

describe('where waybill init writes', function () {
  this.timeout(30_000);
  const dir = useTempDir();
  let flags: string[] = [];
  before(() => {
    const erp = openSqlite(dir.file('erp.sqlite'));
    for (const statement of terse) erp.exec(statement);
    erp.close();
    flags = ['--type', 'sqlite', '--file', dir.file('erp.sqlite'), '--time-zone', 'UTC'];
    flags.push(...terseChoices, '--status', 'F', '--start-from', 'all');
  });

  it('says before anything else where no configuration can be, and what to do', async () => {
    writeFileSync(dir.file('file'), '');
    symlinkSync(dir.file('nowhere'), dir.file('link'));
    for (const [place, reason] of [
      [dir.file('file'), 'a file stands where a folder is needed'],
      [join(dir.file('file'), 'config'), 'a file stands where a folder is needed'],
      [dir.file('link'), 'no folder can be made there'],
    ] as const) {
      const { code, stderr } = await init(place, ...flags);
      expect([code, stderr.split('\n').length], stderr).to.deep.equal([2, 2]);
      expect(stderr).to.match(
        new RegExp(`^waybill: .*local.yaml can not be written: ${reason}. Name another folder with --config, or `),
      );
    }
  });

  it('takes the secrets that are left there, once the configuration is moved away as it says', async () => {
    const config = dir.file('moved');
    expect((await init(config, ...flags)).code).to.equal(0);
    const again = await init(config, ...flags);
    expect([again.code, again.stderr]).to.satisfy(
      ([code, stderr]: [number, string]) => code === 2 && /Move/.test(stderr),
    );
    renameSync(join(config, 'local.yaml'), join(config, 'old.yaml'));
    expect((await initJson(config, ...flags)).files).to.deep.equal([join(config, 'local.yaml')]);
    expect((await recordsBy(config)).records.size).to.equal(9);
  });

  it('never takes the token of one service for another, and says which file is in the way', async () => {
    const config = dir.file('other');
    mkdirSync(config);
    const token = join(config, 'service-token');
    const said = async (...more: string[]) => (await init(config, ...flags, ...more)).stderr;
    writeFileSync(token, 'of-a-service', { mode: 0o600 });
    expect(await said()).to.equal(
      `waybill: ${token} exists already and holds something else than the token of \`waybill sandbox\`. Move it away too, or give --token-file.\n`,
    );
    writeFileSync(token, 'sandbox-token', { mode: 0o600 });
    expect(await said('--service-url', 'https://service.test')).to.match(/else than a token of your service\. Move it/);
    expect(readFileSync(token, 'utf8')).to.equal('sandbox-token');
    writeFileSync(join(config, 'erp-password'), 'left', { mode: 0o600 });
    const { open, settled } = await initJson(config, '--type', 'mysql', '--host', '127.0.0.1');
    expect(open.map(({ name }: { name: string }) => name)).to.deep.equal(['database', 'user']);
    expect(settled).to.deep.equal([{ name: 'password-file', value: 'erp-password', reason: 'it is there already' }]);
  });

  it('refuses a file that holds no token by its flag, and names nothing else', async () => {
    const file = dir.file('bad-token');
    writeFileSync(file, 'two words', { mode: 0o600 });
    const { code, stderr } = await init(dir.file('bad'), ...flags, '--token-file', file);
    expect([code, stderr]).to.deep.equal([
      2,
      `waybill: --token-file ${file}: it holds a space, a line break or a letter outside ASCII, which no header carries. Give the token and nothing else.\n`,
    ]);
  });
});
