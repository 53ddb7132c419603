import { expect } from 'chai';
import { openApp } from '../src/app.js';
import { settingsFrom } from '../src/config/load-settings.js';
import type { Settings } from '../src/config/settings.js';
import { settingsAround } from './store/store-settings.js';
import { useTempDir } from './support/temp-dir.js';

describe('a program that ends', () => {
  const dir = useTempDir();

  it('closes its store although the ERP could not be opened', async () => {
    const around = settingsAround({ store: { type: 'sqlite', file: dir.file('store.sqlite') } });
    const sound = settingsFrom({ ...around, service: { ...around.service, token: 'test-token' } });
    // A kind of database that nothing can open.
    const settings = { ...sound, erp: { ...sound.erp, type: 'none' } } as unknown as Settings;
    const app = await openApp({ settings, role: 'test', log: 'stderr' });
    expect(await app.reader().catch((error) => error)).to.be.instanceOf(Error);
    await app.close();
    expect(await app.store.read('look', (tx) => tx.select('SELECT 1')).catch(({ message }) => message)).to.match(
      /closed|not open/,
    );
  });
});
