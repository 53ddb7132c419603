import { doDeed } from './do-deed.js';
import { firstMixedOrder, readErp } from './erp-desk.js';
import type { Stage } from './stage.js';
import { patienceMs, until } from './until.js';

const open = ['pending', 'sending', 'in_doubt'];

/**
 * A person has a customer forgotten whose row changes meanwhile: while a change of it is on its way that is refused, and
 * nothing of the change is lost; afterwards nothing is left of what the customer was called.
 */
export async function forgetCustomer(stage: Stage, pick: number): Promise<void> {
  const { plan, erp, sandbox, store, operator, coverage, forgotten, nextOrder } = stage;
  const states = async (key: string) =>
    (
      await store.rows<{ state: string }>(
        `SELECT state FROM outbox_message WHERE entity='customer' AND source_key='${key}' ORDER BY revision`,
      )
    ).map(({ state }) => state);
  const isDelivered = (key: string) => async () => (await states(key)).at(-1) === 'delivered';
  const rename = async (name: string) => {
    const done = await doDeed(erp, { kind: 'edit-customer', pick, name, key }, nextOrder);
    return done !== null;
  };
  const first = (await readErp(erp)).orders.filter(
    ({ id, status }) => Number(id) < firstMixedOrder && status === 'confirmed',
  );
  const key = `${first[pick % Math.max(first.length, 1)]?.customer_id}`;
  if (!(await until(patienceMs, isDelivered(key), 50))) return;

  const names = [`Erased ${plan.seed} Alpha`, `Erased ${plan.seed} Beta`];
  for (const [index, name] of names.entries()) {
    const isLast = index === names.length - 1;
    const revisions = (await states(key)).length;
    // It stays on its way for so long that a person can ask meanwhile.
    if (isLast) sandbox.addFaults([{ kind: 'status', status: 500, match: { bodyIncludes: name }, times: 6 }]);
    if (!(await rename(name))) return;
    const isCaptured = async () => (await states(key)).length > revisions;
    if (!(await until(patienceMs, isCaptured, 10))) return;
    if (!isLast) await until(patienceMs, isDelivered(key), 50);
  }
  const wasOpen = (await states(key)).some((state) => open.includes(state));
  const forget = () => operator.run('forget', 'customer', key, '--reason', 'asked for it', '--yes');
  const early = await forget();
  if (wasOpen && early.code === 1) coverage.count('operator:forget-refused');
  // From now on it has another name, and each try meets a change.
  for (let tries = 0, code = early.code; tries < 12 && code !== 0; tries++) {
    await rename(`Renamed ${plan.seed} time ${tries}`);
    await until(patienceMs, isDelivered(key), 50);
    const [{ code: ended }] = await Promise.all([forget(), tries % 2 === 0 ? rename(`Kept ${tries}`) : null]);
    code = ended;
    if (code !== 0) continue;
    forgotten.push(...names);
    coverage.count('fault:operator-forget');
  }
}
