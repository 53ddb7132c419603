import { mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { secretText } from '../../../src/service/credential/credential.js';
import { realFiles, WatchedFiles } from '../../../src/service/credential/watched-files.js';

describe('files of secrets', () => {
  let folder: string;
  let now: number;
  let warnings: string[];
  let reads: number;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'waybill-watched-'));
    now = 0;
    warnings = [];
    reads = 0;
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const at = (name: string) => join(folder, name);
  const watch = (...names: string[]) =>
    new WatchedFiles({
      paths: names.map(at),
      initial: 'initial',
      load: (texts) => texts.map(secretText).join('+'),
      monotonicMs: () => now,
      warn: (message) => warnings.push(message),
      files: {
        ...realFiles,
        read: (path) => {
          reads++;
          return realFiles.read(path);
        },
      },
    });
  /** Two looks a second apart, as in operation: what changed has to hold still. */
  const looks = (files: { look(): boolean }) => {
    now += 1_000;
    const first = files.look();
    now += 1_000;
    return files.look() || first;
  };

  it('are read once, and not again while nothing changes', () => {
    writeFileSync(at('token'), 'one\n');
    const files = watch('token');
    expect(files.value).to.equal('one');
    for (let i = 0; i < 50; i++) looks(files);
    expect(reads).to.equal(1);
    expect(files.version).to.equal(0);
  });

  it('are looked at once a second at most', () => {
    writeFileSync(at('token'), 'one');
    const files = watch('token');
    writeFileSync(at('token'), 'another');
    now += 999;
    for (let i = 0; i < 5; i++) expect(files.look()).to.equal(false);
    expect(looks(files)).to.equal(true);
    expect(files.value).to.equal('another');
    expect(files.version).to.equal(1);
  });

  const replacements: [string, (file: string) => void][] = [
    ['written in place', (file) => writeFileSync(file, 'two')],
    [
      'renamed over it, with an old time of change',
      (file) => {
        writeFileSync(`${file}.new`, 'two');
        utimesSync(`${file}.new`, new Date(1_000_000), new Date(1_000_000));
        renameSync(`${file}.new`, file);
      },
    ],
    [
      'deleted and made anew',
      (file) => {
        unlinkSync(file);
        writeFileSync(file, 'two');
      },
    ],
    [
      'a link that points elsewhere',
      (file) => {
        writeFileSync(`${file}.target`, 'two');
        symlinkSync(`${file}.target`, `${file}.link`);
        renameSync(`${file}.link`, file);
      },
    ],
  ];
  for (const [how, replace] of replacements)
    it(`are taken anew when they were ${how}`, () => {
      writeFileSync(at('token'), 'one');
      const files = watch('token');
      replace(at('token'));
      expect(looks(files)).to.equal(true);
      expect(files.value).to.equal('two');
      expect(warnings).to.deep.equal([]);
    });

  it('are not taken while they are still being written', () => {
    writeFileSync(at('token'), 'one');
    const files = watch('token');
    for (const part of ['n', 'ne', 'new-t', 'new-tok']) {
      writeFileSync(at('token'), part);
      now += 1_000;
      expect(files.look()).to.equal(false);
    }
    writeFileSync(at('token'), 'new-token');
    expect(looks(files)).to.equal(true);
    expect(files.value).to.equal('new-token');
  });

  it('are taken at once when what we have was refused', () => {
    writeFileSync(at('token'), 'one');
    const files = watch('token');
    writeFileSync(at('token'), 'two');
    expect(files.look(true)).to.equal(true);
    expect(files.value).to.equal('two');
  });

  it('leave the old secret in use while the new one is empty or gone, and say so once', () => {
    writeFileSync(at('token'), 'one');
    const files = watch('token');
    for (const spoil of [() => writeFileSync(at('token'), '\n'), () => unlinkSync(at('token'))]) {
      warnings = [];
      spoil();
      for (let i = 0; i < 5; i++) expect(looks(files)).to.equal(false);
      expect(files.value).to.equal('one');
      expect(warnings).to.have.length(1);
      expect(warnings[0]).to.include(at('token'));
    }
    writeFileSync(at('token'), 'two');
    expect(looks(files)).to.equal(true);
    expect(files.value).to.equal('two');
  });

  it('count as unchanged when they hold the same', () => {
    writeFileSync(at('token'), 'one');
    const files = watch('token');
    utimesSync(at('token'), new Date(), new Date(Date.now() + 60_000));
    expect(looks(files)).to.equal(false);
    expect(files.version).to.equal(0);
  });

  it('are taken together or not at all', () => {
    writeFileSync(at('cert'), 'cert1');
    writeFileSync(at('key'), 'key1');
    const files = watch('cert', 'key');
    expect(files.value).to.equal('cert1+key1');
    writeFileSync(at('cert'), 'cert2');
    writeFileSync(at('key'), '');
    looks(files);
    expect(files.value).to.equal('cert1+key1');
    writeFileSync(at('key'), 'key2');
    looks(files);
    expect(files.value).to.equal('cert2+key2');
  });

  it('need not be there: then what the settings hold is used', () => {
    const files = watch();
    expect(files.value).to.equal('initial');
    expect(files.look(true)).to.equal(false);
    expect(files.changedAtMs()).to.equal(null);
  });
});
