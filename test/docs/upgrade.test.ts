import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { useTempDir } from '../support/temp-dir.js';
import { documents, typedLines } from './documents.js';

describe('the upgrade in docs/operating.md', () => {
  const dir = useTempDir();
  const operating = documents().find(({ path }) => path === 'docs/operating.md');
  const section = operating?.text.slice(operating.text.indexOf('\n## Upgrade\n')) ?? '';
  const [upgrade = [], goBack = []] = [...section.matchAll(/^```console\n([\s\S]*?)^```$/gm)].map(([, text = '']) =>
    typedLines({ language: 'console', text }),
  );
  const state = () => dir.file('lib/waybill');
  const program = () => dir.file('opt/waybill');
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', program(), '-c', 'user.name=x', '-c', 'user.email=x@example.com', ...args], {
      encoding: 'utf8',
      stdio: 'pipe',
    });

  before(() => {
    for (const folder of [`${state()}/witness`, program()]) mkdirSync(folder, { recursive: true });
    git('init', '-q');
    git('commit', '-q', '--allow-empty', '-m', 'first');
  });

  /** Types lines in the folders of the test. `date` stands still, and what is not on every machine does nothing. */
  const type = (lines: readonly string[], before = '') => {
    const stubs = 'date() { echo 2026-11-21T100000; }; systemctl() { :; }; npm() { :; }; waybill() { :; };';
    const text = lines
      .join('\n')
      .replaceAll('/var/lib/', dir.file('lib/'))
      .replaceAll('/opt/waybill', program())
      .replaceAll('git pull', 'git rev-parse');
    return spawnSync('sh', ['-e', '-c', `${stubs}\nbefore='${before}'\n${text}`], { encoding: 'utf8' });
  };
  const copies = () =>
    readdirSync(dir.file('lib'))
      .filter((name) => name !== 'waybill')
      .sort()
      .map((name) => [name, readFileSync(dir.file(`lib/${name}/waybill.sqlite`), 'utf8')] as const);

  it('leaves a copy to roll back to each time, and never touches an older one', () => {
    const commits: string[] = [];
    for (const version of ['one', 'two', 'three']) {
      git('commit', '-q', '--allow-empty', '-m', version);
      commits.push(git('rev-parse', '--short', 'HEAD').trim());
      writeFileSync(`${state()}/waybill.sqlite`, `the store of ${version}`);
      writeFileSync(`${state()}/witness/waybill.json`, version);
      expect(type(upgrade)).to.include({ status: 0 });
    }
    const made = new Map(copies());
    for (const [i, version] of ['one', 'two', 'three'].entries())
      expect(made.get(`waybill.2026-11-21T100000.${commits[i]}`)).to.equal(`the store of ${version}`);
    expect(made.size).to.equal(3);

    // The same name again.
    writeFileSync(`${state()}/waybill.sqlite`, 'another store');
    expect(type(upgrade).stderr).to.contain(`waybill.2026-11-21T100000.${commits[2]}`);
    expect(new Map(copies())).to.deep.equal(made);

    writeFileSync(`${state()}/waybill.sqlite-wal`, 'of another store');
    const back = type(goBack, dir.file(`lib/waybill.2026-11-21T100000.${commits[1]}`));
    expect(back, back.stderr).to.include({ status: 0 });
    expect(readFileSync(`${state()}/waybill.sqlite`, 'utf8')).to.equal('the store of two');
    expect(readdirSync(state()).sort()).to.deep.equal(['waybill.sqlite', 'witness']);
    expect(readFileSync(`${state()}/witness/waybill.json`, 'utf8'), 'the witness stays').to.equal('three');
    expect(git('rev-parse', '--short', 'HEAD').trim()).to.equal(commits[1]);
  });
});
