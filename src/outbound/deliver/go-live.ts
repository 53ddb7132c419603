import type { Settings } from '../../config/settings.js';
import { Refused } from '../../model/facts/failure.js';
import type { LiveTerm, WorkFact } from '../../model/facts/work.js';
import { settingsOf, sourceNames } from '../../model/record.js';
import { machineIdentity } from '../../ops/machine-identity.js';
import type { Tx } from '../../store/store.js';
import { readStoreInfo, writeStoreInfo } from '../../store/store-info.js';
import { sourceKeysProblem } from '../recovery/source-keys.js';
import { recoveryProblem } from '../recovery/store-witness.js';

/** The agreement for which a store was allowed to deliver. When one of these changes, a person must say go-live again. */
export interface LiveIdentity {
  installation: string;
  environment: string;
  /** Host name and machine id. */
  machine: string;
  erp: string;
  service: string;
  /** Which orders may be sent (`orders.pending`, `orders.startFrom`). */
  orders: string;
}

/** `orders` is absent where an earlier version went live: nothing was agreed about it. */
interface GoLiveRecord extends Omit<LiveIdentity, 'orders'>, Partial<Pick<LiveIdentity, 'orders'>> {
  at: number;
  actor: string;
  /** Other machines on the same store that may take over, as a person said on each of them. */
  standbyMachines?: string[];
}

const terms: readonly LiveTerm[] = ['installation', 'environment', 'machine', 'erp', 'service', 'orders'];

export function liveIdentity(settings: Settings, erpIdentity: string): LiveIdentity {
  return {
    installation: settings.installation,
    environment: settings.service.environment,
    machine: machineIdentity(),
    erp: erpIdentity,
    service: settings.service.baseUrl,
    orders: ordersToSend(settings),
  };
}

/** The orders of each source that the settings send, in one line. */
function ordersToSend(settings: Settings): string {
  return sourceNames(settings)
    .map((source) => {
      const { pending, startFrom } = settingsOf(settings, source).orders;
      const parts = [
        pending ?? 'all',
        ...(typeof startFrom === 'object' ? [`${startFrom.column} from ${startFrom.from} on`] : []),
      ];
      return `${source ? `${source}: ` : ''}${parts.join(', ')}`;
    })
    .join('; ');
}

export async function readGoLive(tx: Tx): Promise<GoLiveRecord | null> {
  const value = await readStoreInfo(tx, 'go_live');
  return value === null ? null : (JSON.parse(value) as GoLiveRecord);
}

export async function writeGoLive(tx: Tx, identity: LiveIdentity, actor: string, nowMs: number): Promise<void> {
  await writeStoreInfo(tx, 'go_live', JSON.stringify({ ...identity, at: nowMs, actor } satisfies GoLiveRecord));
}

/** Why nothing may be delivered yet, or null. A sandbox needs no go-live, but what was sent to it has to be known too. */
export async function goLiveProblem(tx: Tx, settings: Settings, erpIdentity: string): Promise<WorkFact | null> {
  const lost = await recoveryProblem(tx);
  if (lost !== null) return lost;
  if (settings.service.environment === 'sandbox') return sourceKeysProblem(tx, settings, erpIdentity);
  const record = await readGoLive(tx);
  if (!record) return { code: 'not_live_yet' };
  const now = liveIdentity(settings, erpIdentity);
  // It names go-live as the last step, where that is needed as well.
  const keys = await sourceKeysProblem(tx, settings, erpIdentity);
  if (keys !== null) return keys;
  const changed = changedNames(record, now);
  if (changed.length === 0) return null;
  const changes = changed.map((term) => ({ term, was: record[term] ?? '', is: now[term] }));
  return { code: 'live_terms_changed', changes };
}

/**
 * Lets this machine take over from the one that is live. Says why not, or null when it is done: everything but the machine has
 * to be what a person looked at when the store went live.
 */
export async function allowStandby(tx: Tx, identity: LiveIdentity): Promise<WorkFact | null> {
  const record = await readGoLive(tx);
  if (!record) return { code: 'live_nowhere' };
  const other = changedNames(record, identity).find((name) => name !== 'machine');
  if (other) return { code: 'live_term_differs', term: other, was: record[other] ?? '', is: identity[other] };
  const machines = new Set([...(record.standbyMachines ?? []), identity.machine]);
  machines.delete(record.machine);
  await writeStoreInfo(tx, 'go_live', JSON.stringify({ ...record, standbyMachines: [...machines] }));
  return null;
}

function changedNames(record: GoLiveRecord, now: LiveIdentity): (keyof LiveIdentity)[] {
  const names = terms;
  const isStandby = record.standbyMachines?.includes(now.machine) ?? false;
  const isAgreed = (name: keyof LiveIdentity) =>
    record[name] === undefined || record[name] === now[name] || (name === 'machine' && isStandby);
  return names.filter((name) => !isAgreed(name));
}

/** Why this store can't be used with the configured environment, or null: a sandbox's ids mean nothing in production. */
export async function environmentProblem(tx: Tx, environment: string): Promise<WorkFact | null> {
  const bound = await readStoreInfo(tx, 'environment');
  if (bound === null || bound === environment) return null;
  return { code: 'store_of_other_environment', was: bound, is: environment };
}

/** From the first time that it talks to the service, a store belongs to that environment. @throws Refused */
export async function bindEnvironment(tx: Tx, environment: string): Promise<void> {
  const problem = await environmentProblem(tx, environment);
  // Two processes with other settings may have opened a new store at the same time.
  if (problem !== null) throw new Refused(problem);
  if ((await readStoreInfo(tx, 'environment')) === null) await writeStoreInfo(tx, 'environment', environment);
}
