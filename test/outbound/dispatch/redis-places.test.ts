import { join } from 'node:path';
import { expect } from 'chai';
import { settingsFrom } from '../../../src/config/load-settings.js';
import { checkRedis } from '../../../src/operator/setup/doctor/check-redis.js';
import { guarded } from '../../../src/operator/setup/doctor/finding.js';
import { RedisQueue } from '../../../src/outbound/dispatch/redis-queue.js';
import { systemClock } from '../../../src/store/clock.js';
import { validSettings } from '../../config/folder.js';
import { Authority } from '../../support/certificates.js';
import { freePort } from '../../support/free-port.js';
import { type Redis, startRedis } from '../../support/redis.js';
import { useTempDir } from '../../support/temp-dir.js';
import { waitFor } from '../../support/wait-for.js';

describe('Redis is reached', () => {
  const dir = useTempDir();
  const servers: Redis[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0).reverse()) await server.stop();
  });
  const start = async (options: Parameters<typeof startRedis>[0]) => {
    const server = await startRedis(options);
    servers.push(server);
    return server;
  };
  const open = (redis: object, incarnation = 'incarnation') => {
    const given = validSettings();
    Object.assign(given.service, { token: 'a-token' });
    return RedisQueue.open(settingsFrom({ ...given, cluster: { redis } }), incarnation, systemClock);
  };
  const expectToWork = async (queue: RedisQueue) => {
    const space = { room: 8, backlogRoom: 4, perSecond: 8 };
    try {
      expect(await queue.wantsMore(space)).to.equal(true);
      await queue.add({ news: [{ id: 7, attempts: 1 }], backlog: [{ id: 8, attempts: 0 }] }, space);
      expect(await queue.take(space)).to.deep.equal([
        { id: 7, attempts: 1, isUrgent: true },
        { id: 8, attempts: 0, isUrgent: false },
      ]);
      await queue.finish();
      expect(await queue.take(space)).to.deep.equal([]);
    } finally {
      queue.close();
    }
  };
  const failure = async (opening: Promise<RedisQueue>) => {
    const opened = await opening.catch((error: Error) => error.message);
    if (typeof opened === 'string') return opened;
    opened.close();
    return 'it was opened';
  };

  it('over TLS, by the certificate of an authority of its own', async () => {
    const authority = new Authority(join(dir.path, 'ours'));
    const server = await start({ tls: { ...authority.issue('redis'), caFile: authority.certFile } });
    const place = { hosts: [`localhost:${server.port}`], password: server.password };
    await expectToWork(await open({ ...place, tls: { mode: 'required', caFile: authority.certFile } }));
    const stranger = new Authority(join(dir.path, 'theirs'));
    const refused = await failure(open({ ...place, tls: { mode: 'required', caFile: stranger.certFile } }));
    expect(refused).to.match(/certificate/);
    const misnamed = { mode: 'required', caFile: authority.certFile, serverName: 'redis.example.com' };
    expect(await failure(open({ ...place, tls: misnamed }))).to.match(/altnames|redis\.example\.com/);
  });

  it('as an account that may use its keys alone', async () => {
    const server = await start({});
    const commands = ['+@all', '-@dangerous', '+info', '+keys'];
    await server.run('ACL', 'SETUSER', 'waybill', 'on', '>of-waybill', '~{mine}*', '&*', ...commands);
    const place = { hosts: [`127.0.0.1:${server.port}`], user: 'waybill', prefix: 'mine' };
    await expectToWork(await open({ ...place, password: 'of-waybill' }));
    const refused = await failure(open({ ...place, password: 'not-its-password' }));
    expect(refused).to.include('WRONGPASS').and.not.include('not-its-password');
  });

  it('by two stores of one name, each with a queue of its own', async () => {
    const server = await start({});
    const place = { hosts: [`127.0.0.1:${server.port}`], password: server.password };
    const space = { room: 8, backlogRoom: 4, perSecond: 8 };
    const [one, other] = [await open(place, 'one'), await open(place, 'other')];
    expect([await one.wantsMore(space), await other.wantsMore(space)]).to.deep.equal([true, true]);
    await one.add({ news: [{ id: 7, attempts: 1 }], backlog: [] }, space);
    await other.add({ news: [{ id: 7, attempts: 1 }], backlog: [] }, space);
    for (const queue of [one, other]) {
      expect(await queue.take(space)).to.have.length(1);
      queue.close();
    }
  });

  it('as a Redis Cluster', async () => {
    // Its second port would be 10,000 above the first, which may be no port at all.
    const settings = { 'cluster-port': String(await freePort()), 'cluster-announce-ip': '127.0.0.1' };
    const server = await start({ settings: { 'cluster-enabled': 'yes', ...settings } });
    await server.run('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    await waitFor('the cluster is up', async () =>
      String(await server.run('CLUSTER', 'INFO')).includes('cluster_state:ok'),
    );
    const place = { hosts: [`127.0.0.1:${server.port}`], password: server.password };
    await expectToWork(await open({ mode: 'cluster', ...place }));
  });

  it('through Sentinels, which know where it is', async () => {
    const server = await start({});
    const sentinel = await start({ sentinelOf: server });
    const place = { hosts: [`127.0.0.1:${sentinel.port}`], password: server.password };
    const sentinels = { mode: 'sentinel', sentinelName: 'main', sentinelPassword: sentinel.password };
    await expectToWork(await open({ ...place, ...sentinels }));
    expect(await failure(open({ ...place, ...sentinels, sentinelName: 'other' }))).to.match(/sentinel/i);
  });

  it('by the doctor, who says what he finds', async () => {
    const server = await start({});
    const find = async (port: number) => {
      const given = validSettings();
      Object.assign(given.service, { token: 'a-token', limits: [{ requests: 10 }] });
      const store = { type: 'mysql', host: '127.0.0.1', database: 'waybill', user: 'waybill' };
      const redis = { hosts: [`127.0.0.1:${port}`], password: server.password };
      const settings = settingsFrom({ ...given, store, cluster: { enabled: true, redis } });
      const [finding] = await guarded('store', () => checkRedis(settings), 'warning');
      return [finding?.severity, finding?.what];
    };
    const [severity, what] = await find(server.port);
    expect(severity).to.equal('ok');
    expect(what).to.match(/^(Redis|Valkey) \d.* answers\.$/);
    await server.run('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
    expect((await find(server.port))[1]).to.include('allkeys-lru');
    // It answers INFO all the same.
    await server.run('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    await server.run('CONFIG', 'SET', 'maxmemory', '1');
    expect((await find(server.port))[1]).to.match(/^Redis can not be used, .*OOM/);
    await server.kill();
    expect(await find(server.port)).to.deep.equal([
      'warning',
      `Redis can not be used, so delivery would go on without it: connect ECONNREFUSED 127.0.0.1:${server.port}`,
    ]);
  });
});
