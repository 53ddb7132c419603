import { appendAudit } from '../../audit/audit-log.js';
import type { JobContext } from '../../ops/job-context.js';
import type { ServiceClient } from '../../service/service-client.js';
import { listPauses, pauseLane, resumeLane } from '../../store/lane-pauses.js';
import type { ServiceLease } from './service-lease.js';

const reason = 'the credential may be another one; one request goes to see whether the service takes it';

/**
 * After our credential was refused everything waits. When its files have changed since, one request goes as a probe: an answer
 * other than 401 ends the pause, and another 401 begins it anew.
 * @param begins a daemon that begins also tries what stands in no file and may be new; a command that cron repeats would
 * knock with the same wrong token for ever
 */
export async function tryNewCredential(
  context: JobContext,
  client: Pick<ServiceClient, 'credentialReplacedSince'>,
  lease: Pick<ServiceLease, 'lease'>,
  begins = false,
): Promise<boolean> {
  const { store, nowMs, actor, log } = context;
  const pauses = await store.read('look whether the credential was refused', listPauses);
  const pause = pauses.find(({ lane, cause }) => lane === 'service' && cause === 'credential');
  if (!pause || !client.credentialReplacedSince(pause.since_at, begins)) return false;
  await lease.lease.write('try the new credential', async (tx) => {
    const at = nowMs();
    if ((await resumeLane(tx, 'service', ['credential'])) === 0) return;
    // An outage is what lets one request at a time go, and ends with the first answer.
    await pauseLane(tx, { lane: 'service', cause: 'outage', until_at: at, reason, actor, since_at: at });
    const detail = { lane: 'service', reason };
    await appendAudit(tx, [{ event: 'resume', outcome: 'credential', actor, detail }], at);
  });
  log.info('The credential may be another one; trying it');
  return true;
}
