import { type Redis, startRedis } from './redis.js';

/** Called inside a describe block: gives its tests a Redis server of their own, empty before each of them. */
export function useRedis(): { readonly server: Redis } {
  let server: Redis | undefined;

  before(async () => {
    server = await startRedis();
  });
  beforeEach(() => server?.empty());
  after(async () => {
    await server?.stop();
    server = undefined;
  });

  return {
    get server() {
      if (server === undefined) throw new Error('useRedis() has a server only while tests and their hooks run.');
      return server;
    },
  };
}
