import type { Store } from '../../src/store/store.js';

/** The same store, with another way to make a transaction. */
export function withTransaction(store: Store, transaction: Store['transaction']): Store {
  return new Proxy(store, {
    get: (target, name) => {
      if (name === 'transaction') return transaction;
      const value = Reflect.get(target, name) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
