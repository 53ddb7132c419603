import { stopSharedMariaDb } from './shared-mariadb.js';

export const mochaHooks = {
  async afterAll(): Promise<void> {
    await stopSharedMariaDb();
  },
};
