import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { allowedInWords, settingGroups, settingList } from '../../src/config/setting-list.js';
import { printSettingsReference } from '../../src/config/settings-reference.js';

describe('the reference page of the settings', () => {
  it('is up to date; `npm run docs` writes it anew', () => {
    expect(readFileSync('docs/settings.md', 'utf8')).to.equal(printSettingsReference());
  });

  it('tells the meaning of every setting and every group', () => {
    const silent = settingList.filter((entry) => !entry.node.description?.trim());
    expect(silent.map(({ path }) => path)).to.deep.equal([]);
    const silentGroups = settingGroups.filter(({ path, meaning }) => path !== '' && meaning === '');
    expect(silentGroups.map(({ path }) => path)).to.deep.equal([]);
    expect(printSettingsReference()).not.to.match(/\| +\|$/m);
  });

  it('says what is allowed without repeating what the schema calls it', () => {
    for (const entry of settingList)
      expect(allowedInWords(entry.node), entry.path).not.to.match(/^$|undefined|\[object/);
  });
});
