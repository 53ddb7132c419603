import { expect } from 'chai';
import { settingsFrom } from '../../src/config/load-settings.js';
import { alertSettings } from '../../src/config/sections/alert.js';
import { problemsOf, removeFolders, validSettings } from './folder.js';

describe('the settings of alerts and retention', () => {
  after(removeFolders);

  it('take a program as a path or as a list with its arguments', () => {
    expect(alertSettings.parse({ command: '/usr/local/bin/tell' }).command).to.deep.equal(['/usr/local/bin/tell']);
    expect(alertSettings.parse({ command: ['mail', '-s', 'Waybill'] }).command).to.deep.equal([
      'mail',
      '-s',
      'Waybill',
    ]);
    expect(alertSettings.parse({}).command).to.equal(undefined);
  });

  it('never forget a message while the service still remembers its key', () => {
    const settings = validSettings();
    Object.assign(settings.service, { idempotency: { lifetimeHours: 72 } });
    const problems = problemsOf({ ...settings, retention: { messagesDays: 2, bodiesDays: 3 } });
    expect(problems.map(({ path, allowed }) => [path, allowed])).to.deep.equal([
      ['retention.messagesDays', 'at least 3, because service.idempotency.lifetimeHours is 72'],
    ]);
  });

  it('of a cluster need a store that all nodes reach, limits to share out, and a name that fits everywhere', () => {
    const cluster = { enabled: true, node: 'branch-1.example' };
    const mysql = { type: 'mysql', host: '127.0.0.1', database: 'waybill', user: 'waybill' };
    const settings = validSettings();
    Object.assign(settings.service, { limits: [{ requests: 10 }], token: 'a-token' });
    expect(settingsFrom({ ...settings, store: mysql, cluster }).cluster).to.include(cluster);
    const onFile = { ...validSettings(), store: { type: 'sqlite' } };
    expect(problemsOf({ ...onFile, cluster }).map(({ path, allowed }) => [path, allowed])).to.deep.equal([
      ['store.type', 'mysql or postgres, because all nodes work on one store'],
      [
        'service.limits',
        'what the service allows, such as [{requests: 10, perSeconds: 1}], because the nodes share it out',
      ],
    ]);
    for (const node of ['', '-a', 'two words', 'a/b', 'n'.repeat(41), 'n\n'])
      expect(problemsOf({ ...validSettings(), cluster: { node } }), JSON.stringify(node)).to.have.length(1);
  });

  it('of Redis name one server, or what knows the servers, and a name to check where hosts are addresses', () => {
    const cluster = (redis: object) => {
      const settings = validSettings();
      Object.assign(settings.service, { limits: [{ requests: 10 }], token: 'a-token' });
      const store = { type: 'mysql', host: '127.0.0.1', database: 'waybill', user: 'waybill' };
      return { ...settings, store, cluster: { enabled: true, redis } };
    };
    const pathsOf = (redis: object) => {
      const paths = problemsOf(cluster(redis)).map(({ path }) => path);
      return paths.filter((path) => path.startsWith('cluster'));
    };
    const hosts = ['127.0.0.1:6380', 'localhost', '[::1]:6379'];
    expect(settingsFrom(cluster({ mode: 'cluster', hosts })).cluster.redis.hosts).to.deep.equal(hosts);
    expect(pathsOf({ hosts })).to.deep.equal(['cluster.redis.hosts']);
    expect(pathsOf({ mode: 'sentinel', hosts })).to.deep.equal(['cluster.redis.sentinelName']);
    expect(pathsOf({ hosts: ['10.0.0.1'] })).to.deep.equal(['cluster.redis.tls.serverName']);
    expect(pathsOf({ hosts: ['10.0.0.1'], tls: { mode: 'off' } })).to.deep.equal([]);
    expect(pathsOf({ hosts: ['redis-1.example.com'], tls: { certificateFile: 'c.pem' } })).to.deep.equal([
      'cluster.redis.tls.keyFile',
    ]);
    for (const host of ['', 'a b', 'redis://user:secret@a', 'a:123456', 'a/0'])
      expect(pathsOf({ hosts: [host] }), JSON.stringify(host)).to.deep.equal(['cluster.redis.hosts[0]']);
    expect(JSON.stringify(problemsOf(cluster({ hosts: ['user:hunter2@127.0.0.1'] })))).not.to.include('hunter2');
  });
});
