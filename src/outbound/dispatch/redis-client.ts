import type { Cluster, Redis } from 'ioredis';
import type { RedisSettings } from '../../config/sections/cluster.js';
import type { Settings } from '../../config/settings.js';
import { hostAndPort, secureOptions } from '../../model/database-place.js';

export type RedisClient = Redis | Cluster;

/** The server's facts about itself. */
export interface ServerFacts {
  version: string;
  /** Why it can not be used, or null. */
  problem: string | null;
  /** Faults that do no harm yet. */
  warning: string | null;
}

const connectMs = 1_000;
/** A server that stands still takes connections, and answers nothing. */
const openMs = 2_000;

/** The prefix of all keys of this installation. Braces: on a Redis Cluster all keys of a queue have to lie on one node. */
export function keyPrefix({ cluster, installation, service }: Settings): string {
  return `{${cluster.redis.prefix ?? `waybill-${installation}-${service.environment}`}}`;
}

/**
 * Connects once, and not again when the connection is lost.
 * @throws Error in words when the server is out of reach, or can not be used
 */
export async function connectToRedis(settings: Settings): Promise<{ client: RedisClient; facts: ServerFacts }> {
  const { redis } = settings.cluster;
  const client = clientOf(await import('ioredis'), redis);
  let fault: string | null = null;
  // The first error says what is wrong, and those after it that the connection is closed.
  client.on('error', (error: Error) => {
    fault ??= error.message;
  });
  try {
    const facts = factsOf(
      await within(
        openMs,
        client.connect().then(() => client.info()),
      ),
    );
    if (facts.problem) throw new Error(facts.problem);
    // A server without memory, or an account without rights, answers INFO and takes no jobs.
    await within(openMs, client.set(`${keyPrefix(settings)}:probe`, '', 'PX', connectMs));
    return { client, facts };
  } catch (error) {
    client.disconnect();
    throw new Error(inOneLine(fault ?? (error as Error).message));
  }
}

/** Reads the answer to INFO of a server. Pure. */
export function factsOf(info: string): ServerFacts {
  const fact = (name: string) => new RegExp(`^${name}:(.{0,40})`, 'm').exec(info)?.[1]?.trim();
  const valkey = fact('valkey_version');
  const version = valkey ? `Valkey ${valkey}` : `Redis ${fact('redis_version') ?? '?'}`;
  const [major = 0, minor = 0] = (fact('redis_version') ?? '').split('.').map(Number);
  const isOld = !valkey && (major < 6 || (major === 6 && minor < 2));
  const replica = fact('role') === 'slave' ? 'it is a replica, which takes no writes' : null;
  const policy = fact('maxmemory_policy') ?? 'noeviction';
  return {
    version,
    problem: isOld ? `${version} is too old: BullMQ needs Redis 6.2 or newer, or Valkey` : replica,
    warning:
      policy === 'noeviction'
        ? null
        : `its maxmemory-policy is ${policy}: it drops jobs when its memory is full, and they are found again later; set it to noeviction`,
  };
}

/** A client that connects when told to, once, and waits for nothing without end. */
function clientOf(
  { Redis, Cluster }: Pick<typeof import('ioredis'), 'Redis' | 'Cluster'>,
  redis: RedisSettings,
): Redis | Cluster {
  const places = (redis.hosts ?? []).map((text) => hostAndPort(text, redis.mode === 'sentinel' ? 26_379 : 6379));
  const place = places[0] ?? hostAndPort('127.0.0.1', 6379);
  const secure = secureOptions({ ...place, tls: redis.tls });
  const { serverName } = redis.tls;
  const tls = secure && { ...secure, ...(serverName === undefined ? {} : { servername: serverName }) };
  const never = () => null;
  const nodeOptions = {
    ...(redis.user === undefined ? {} : { username: redis.user }),
    ...(redis.password === undefined ? {} : { password: redis.password.reveal() }),
    ...(tls ? { tls } : {}),
    lazyConnect: true,
    connectTimeout: connectMs,
    commandTimeout: connectMs,
    maxRetriesPerRequest: null,
  };
  if (redis.mode === 'cluster')
    return new Cluster(places, {
      redisOptions: nodeOptions,
      lazyConnect: true,
      clusterRetryStrategy: never,
      slotsRefreshTimeout: connectMs,
    });
  const options = { ...nodeOptions, enableOfflineQueue: false, retryStrategy: never };
  if (redis.mode === 'single') return new Redis({ ...options, ...place });
  return new Redis({
    ...options,
    sentinels: places,
    name: redis.sentinelName ?? '',
    sentinelRetryStrategy: never,
    ...(redis.sentinelPassword === undefined ? {} : { sentinelPassword: redis.sentinelPassword.reveal() }),
    ...(tls ? { sentinelTLS: tls, enableTLSForSentinelMode: true } : {}),
  });
}

/** A server's words are not ours. */
export function inOneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ').slice(0, 200);
}

/** @throws Error when it takes longer */
export async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
