import { Store } from '../../../src/store/store.js';
import { running } from './machine.js';

/** Around every transaction, and right before its end, a process may be struck. */
export function interceptStore(): void {
  for (const how of ['transaction', 'statement', 'read', 'snapshot'] as const) {
    const original = Store.prototype[how] as (
      action: string,
      work: (tx: never) => Promise<unknown>,
    ) => Promise<unknown>;
    const struck = async function (this: Store, action: string, work: (tx: never) => Promise<unknown>) {
      const one = running.getStore();
      if (!one) return original.call(this, action, work);
      await one.pass();
      const result = await original.call(this, action, async (tx) => {
        const done = await work(tx);
        if (how === 'transaction') await one.pass(false);
        return done;
      });
      await one.pass();
      return result;
    };
    Store.prototype[how] = struck as never;
  }
}
