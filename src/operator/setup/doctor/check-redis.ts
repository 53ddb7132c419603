import type { Settings } from '../../../config/settings.js';
import { connectToRedis } from '../../../outbound/dispatch/redis-client.js';
import { type Finding, findingsOf } from './finding.js';

const finding = findingsOf('store');

/** Redis, where nodes share out the work over it. @throws Error when it can not be used; delivery goes on without it */
export async function checkRedis(settings: Settings): Promise<Finding[]> {
  const { enabled, redis } = settings.cluster;
  if (!enabled || !redis.hosts) return [];
  const { client, facts } = await connectToRedis(settings).catch((error: Error) => {
    throw new Error(`Redis can not be used, so delivery would go on without it: ${error.message}`);
  });
  client.disconnect();
  const { version, warning } = facts;
  return [warning === null ? finding('ok', `${version} answers.`) : finding('warning', `${version}: ${warning}.`)];
}
