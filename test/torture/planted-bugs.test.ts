import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { projectRoot } from '../support/project-root.js';
import { invariants } from './invariants.js';
import { plantedBugs, testedBugs } from './planted-bugs.js';

/** That each is caught takes minutes: `npm run torture:proof`. That each still can be planted is asked here. */
describe('the planted bugs', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'waybill-planted-'));
    cpSync(join(projectRoot, 'src'), join(folder, 'src'), { recursive: true });
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('are at least twenty', () => {
    expect(plantedBugs()).to.have.length.of.at.least(20);
  });

  const canBePlanted = (file: string) =>
    execFileSync('git', ['apply', '--check', file], {
      cwd: folder,
      // Not the repository around it: only the copy counts.
      env: { PATH: process.env.PATH, GIT_CEILING_DIRECTORIES: tmpdir() },
      stdio: 'pipe',
    });

  for (const { name, file, caughtBy, seeds, store, what } of plantedBugs())
    it(`can still be planted: ${name}`, () => {
      canBePlanted(file);
      for (const invariant of caughtBy) expect(invariants).to.have.property(invariant);
      expect(seeds.every((seed) => Number.isSafeInteger(seed) && seed > 0)).to.equal(true);
      expect(['sqlite', 'mariadb']).to.include(store);
      expect(what).to.match(/\.$/);
    });

  for (const { name, file, test, title, what } of testedBugs())
    it(`can still be planted, and has its test: ${name}`, () => {
      canBePlanted(file);
      // A title is often put together, so only its own words stand in the source.
      expect(readFileSync(join(projectRoot, test), 'utf8')).to.include(title);
      expect(title).to.match(/.{10}/);
      expect(what).to.match(/\.$/);
    });
});
