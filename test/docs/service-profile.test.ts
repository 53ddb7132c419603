import { expect } from 'chai';
import { parse } from 'yaml';
import { settingGroups, settingList } from '../../src/config/setting-list.js';
import { load, removeFolders, validSettings } from '../config/folder.js';
import { documents } from './documents.js';
import { openPoints } from './open-points.js';

describe('the page on the profile of a service', () => {
  const page = documents().find(({ path }) => path === 'docs/service-profile.md');
  const parts = (page?.prose ?? '').split(/^## (?=\d\. )/m).slice(1);
  const named = (text: string) => new Set([...text.matchAll(/`([^`\n]+)`/g)].map(([, code]) => code));
  const paths = [...settingList.map(({ path }) => path), ...settingGroups.map(({ path }) => path)];
  after(removeFolders);

  it('has the nine parts of the conventions, in their order', () => {
    expect(parts.map((part) => Number(part[0]))).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  for (const { part, point, settings, fixed } of openPoints)
    it(`answers part ${part}: ${point}`, () => {
      const text = parts[part - 1] ?? '';
      expect(settings.length > 0 || fixed !== undefined, 'neither a setting nor a reason').to.equal(true);
      if (fixed !== undefined) expect(text).to.include(fixed);
      const names = named(text);
      for (const setting of settings) {
        expect(paths, 'a setting that exists').to.include(setting);
        expect([...names], 'named in its part').to.include(setting);
      }
    });

  it('has an open point in each part', () => {
    expect(new Set(openPoints.map(({ part }) => part)).size).to.equal(9);
  });

  it('names every setting of the service, alone or as a part of a group that it names', () => {
    const names = named(page?.prose ?? '');
    const missing = settingList
      .filter(({ segments }) => segments[0] === 'service' || segments.join('.').startsWith('invoices.paging'))
      .filter(({ path, segments }) => {
        const group = segments.slice(0, -1).join('.');
        return !names.has(path) && !(names.has(group) && names.has(segments.at(-1) ?? ''));
      });
    expect(missing.map(({ path }) => path)).to.deep.equal([]);
  });

  it('shows settings that are accepted', () => {
    const examples = (page?.fences ?? []).filter(({ language }) => language === 'yaml');
    expect(examples.length).to.be.at.least(4);
    for (const { text } of examples) {
      const base = validSettings();
      const { service } = parse(text) as { service: object };
      Object.assign(base.service, service);
      base.customers.fields = { customer_code: 'code', name: 'name' };
      load(base);
    }
  });
});
