import { expect } from 'chai';
import { alertSettings } from '../../src/config/sections/alert.js';
import { scheduleSettings } from '../../src/config/sections/schedule.js';
import { type Circumstances, compareAlerts, troubles, type WatchSettings } from '../../src/daemon/watch-alerts.js';
import { legacy } from '../../src/model/facts/fact.js';
import { outside } from '../../src/model/outside.js';
import type { Alert } from '../../src/store/alerts.js';
import type { JobRun } from '../../src/store/job-runs.js';
import type { LanePause } from '../../src/store/lane-pauses.js';
import { tellWhole } from '../../src/words/words.js';

const now = 1_000_000_000;
const minute = 60_000;
const settings = {
  alert: alertSettings.parse({ outageMinutes: 5, failuresInRow: 3, maxSilenceHours: 12 }),
  schedule: scheduleSettings.parse({}),
  invoices: { enabled: true } as WatchSettings['invoices'],
};
const well: Circumstances = {
  pauses: [],
  parked: 0,
  oldest: null,
  runs: [],
  nodes: [],
  gone: { count: 0, sourceKey: null },
  firstAuditAt: now,
};
const causes = (changes: Partial<Circumstances>) =>
  troubles({ ...well, ...changes }, settings, now).map(({ cause }) => cause);
const pause = (changes: Partial<LanePause>): LanePause => ({
  lane: 'service',
  cause: 'credential',
  until_at: null,
  reason: legacy('HTTP 401'),
  actor: 'daemon',
  since_at: now,
  ...changes,
});
const run = (changes: Partial<JobRun>): JobRun => ({
  job: 'capture',
  succeededAt: now,
  failures: 0,
  failingSince: null,
  failure: null,
  ...changes,
});

describe('what needs a person', () => {
  it('comes with what to do about a credential or a permission that is refused', () => {
    const messages = troubles(
      { ...well, pauses: [pause({}), pause({ lane: 'pull', cause: 'misconfigured' })] },
      settings,
      now,
    ).map(({ message }) => tellWhole(message));
    expect(messages[0]).to.include('`waybill resume service`');
    expect(messages[1]).to.include('`waybill resume pull`');
  });

  it('is an order that the service has no more, with the key of one', () => {
    const [one, ...others] = troubles({ ...well, gone: { count: 1, sourceKey: '4711' } }, settings, now);
    expect(others).to.deep.equal([]);
    expect(one?.cause).to.equal('orders.gone');
    expect(one && tellWhole(one.message)).to.include('A delivered order is no longer at the service (key 4711)');
    const [many] = troubles({ ...well, gone: { count: 3, sourceKey: '4711' } }, settings, now);
    expect(many && tellWhole(many.message)).to.include('3 delivered orders are');
  });

  it('is nothing when all is well', () => {
    expect(causes({ runs: [run({}), run({ job: 'pull' })] })).to.deep.equal([]);
  });

  for (const cause of ['credential', 'misconfigured', 'refusals', 'unproven'] as const)
    it(`is a lane that is paused for ${cause}, at once`, () => {
      expect(causes({ pauses: [pause({ cause })] })).to.deep.equal([`pause.service.${cause}`]);
    });

  it('is no pause by an operator: whoever paused it knows', () => {
    expect(causes({ pauses: [pause({ cause: 'operator' })] })).to.deep.equal([]);
  });

  it('is an outage only after some minutes, also between two probes', () => {
    const outage = (sinceMinutes: number) =>
      pause({ cause: 'outage', since_at: now - sinceMinutes * minute, until_at: now - 1 });
    expect(causes({ pauses: [outage(4.9)] })).to.deep.equal([]);
    expect(causes({ pauses: [outage(5)] })).to.deep.equal(['pause.service.outage']);
  });

  it('is a long wait that the service asked for, from its first moment to its end, and no short one', () => {
    const wait = (from: number, until: number) =>
      pause({ cause: 'throttled', since_at: now + from * minute, until_at: now + until * minute });
    expect(causes({ pauses: [wait(0, 0.1)] })).to.deep.equal([]);
    expect(causes({ pauses: [wait(0, 60)] })).to.deep.equal(['pause.service.throttled']);
    expect(causes({ pauses: [wait(-59, 1)] })).to.deep.equal(['pause.service.throttled']);
    expect(causes({ pauses: [wait(-60, 0)] })).to.deep.equal([]);
  });

  it('is a parked message', () => {
    expect(causes({ parked: 1 })).to.deep.equal(['parked']);
    const [one] = troubles({ ...well, parked: 1 }, settings, now);
    const [two] = troubles({ ...well, parked: 2 }, settings, now);
    expect(one && tellWhole(one.message)).to.match(/^1 message is parked/);
    expect(two && tellWhole(two.message)).to.match(/^2 messages are parked/);
  });

  it('is a record that has been open for hours, in whatever state, and no pause explains it', () => {
    const oldest = (hours: number) =>
      ({ entity: 'order', sourceKey: '4711', capturedAt: now - hours * 60 * minute }) as const;
    expect(causes({ oldest: oldest(11.9) })).to.deep.equal([]);
    expect(causes({ oldest: oldest(12.1) })).to.deep.equal(['waiting']);
    const [one] = troubles({ ...well, oldest: oldest(50) }, settings, now);
    expect(one && tellWhole(one.message)).to.equal(
      'The order with the key 4711 has been waiting for 50 h, and is neither acknowledged nor parked. See what it waits for: waybill explain order 4711',
    );
  });

  for (const job of ['capture', 'pull'] as const)
    it(`is a ${job} that failed several times in a row`, () => {
      expect(causes({ runs: [run({ job, failures: 2 })] })).to.deep.equal([]);
      expect(causes({ runs: [run({ job, failures: 3, failure: legacy('no route') })] })).to.deep.equal([
        `${job}.failing`,
      ]);
    });

  it('is silence: nothing at all has succeeded for hours, or ever', () => {
    const hours = (n: number) => now - n * 60 * minute;
    expect(causes({ firstAuditAt: hours(13) })).to.deep.equal(['silence']);
    expect(causes({ firstAuditAt: hours(11) })).to.deep.equal([]);
    expect(causes({ firstAuditAt: null })).to.deep.equal([]);
    const old = run({ job: 'capture', succeededAt: hours(13) });
    expect(causes({ runs: [old] })).to.deep.equal(['silence']);
    expect(causes({ runs: [old, run({ job: 'deliver', succeededAt: hours(1) })] })).to.deep.equal([]);
    expect(causes({ runs: [old, run({ job: 'prune', succeededAt: hours(1) })] })).to.deep.equal(['silence']);
  });

  it('is no silence as far as everything that talks to the service had quiet hours', () => {
    const at = Date.UTC(2026, 5, 10, 12);
    const silent = (hours: number, lanes: string[], pulls = true) => {
      const schedule = scheduleSettings.parse({ quietHours: [{ lanes, from: '20:00', to: '06:00' }] });
      const invoices = { enabled: pulls } as WatchSettings['invoices'];
      const since = { ...well, firstAuditAt: at - hours * 60 * minute };
      return troubles(since, { ...settings, schedule, invoices }, at).length > 0;
    };
    expect(silent(22, ['deliver', 'pull'])).to.equal(false);
    expect(silent(23, ['deliver', 'pull'])).to.equal(true);
    expect(silent(13, ['deliver'])).to.equal(true);
    expect(silent(22, ['deliver'], false)).to.equal(false);
  });
});

describe('the difference between what is wrong and what is known to be wrong', () => {
  const known = (cause: string, message: Alert['message']) => ({ cause, message }) as Alert;
  const parked = (count: number) => ({ code: 'messages_parked', count, isMore: false }) as const;
  const silent = () => ({ code: 'nothing_succeeds', hours: 13, lastSuccess: null }) as const;
  const old = { code: 'legacy', text: outside('in the words of an earlier version') } as const;

  it('raises what is new or has other data, and ends what is gone', () => {
    const changes = compareAlerts(
      [
        { cause: 'parked', message: parked(2) },
        { cause: 'silence', message: silent() },
      ],
      [known('parked', parked(1)), known('silence', silent()), known('capture.failing', old)],
    );
    expect(changes.raise.map(({ cause }) => cause)).to.deep.equal(['parked']);
    expect(changes.end).to.deep.equal(['capture.failing']);
  });

  it('gives its facts to an alert that an earlier version raised', () => {
    const changes = compareAlerts([{ cause: 'parked', message: parked(2) }], [known('parked', old)]);
    expect(changes).to.deep.equal({ raise: [{ cause: 'parked', message: parked(2) }], end: [] });
  });

  it('leaves the alerts of others alone', () => {
    expect(
      compareAlerts([], [known('held.order', old), known('webhooks.forged', { code: 'webhooks_forged' })]).end,
    ).to.deep.equal([]);
  });
});
