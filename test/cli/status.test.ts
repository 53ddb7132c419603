import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { run } from '../../src/cli/run.js';
import { endPull, openPull } from '../../src/inbound/invoices/pull-record.js';
import { legacy } from '../../src/model/facts/fact.js';
import { outside } from '../../src/model/outside.js';
import { ServiceLease } from '../../src/outbound/deliver/service-lease.js';
import { raiseAlert } from '../../src/store/alerts.js';
import { recordSuccess, writeCursor, writeMarks } from '../../src/store/job-runs.js';
import { type LanePause, pauseLane } from '../../src/store/lane-pauses.js';
import { writeStoreInfo } from '../../src/store/store-info.js';
import { remedyFor, tell } from '../../src/words/words.js';
import { forged } from '../support/forged.js';
import { answers, onAnyStore } from './installation.js';

describe('waybill status', () => {
  onAnyStore((installation) => {
    const { waybill, json } = installation;
    const holdLease = async () => {
      const answer = await ServiceLease.acquire(installation.app.context);
      if (!(answer instanceof ServiceLease)) throw new Error('somebody has the lease');
      installation.onEnd(() => answer.release());
    };
    const pause = (changes: Partial<LanePause>) =>
      installation.app.store.transaction('pause', (tx) =>
        pauseLane(tx, {
          lane: 'deliver',
          cause: 'operator',
          until_at: null,
          reason: legacy('stocktaking'),
          actor: 'anna',
          since_at: Date.now(),
          ...changes,
        }),
      );

    it('tells who delivers, what waits, what is parked and why, and what came last', async () => {
      await installation.capture(
        { entity: 'customer', sourceKey: '1', unmapped: 'no name' },
        { entity: 'order', sourceKey: '1' },
        { entity: 'order', sourceKey: '2', customerKey: '1' },
      );
      await installation.deliver(() => answers.created('ord_1'));
      await installation.app.store.transaction('pull', async (tx) => {
        await writeCursor(tx, 'order', { changedAt: '2026-11-03 09:15:00', sweptAt: Date.now() });
        const open = await openPull(tx, installation.app.settings, Date.now());
        await endPull(
          tx,
          { ...open, progress: { ...open.progress, pages: 6, mostPasses: 3 } },
          {
            doubt: legacy('the list changed'),
            held: null,
            counts: { listed: 100, malformed: 2, added: 0, changed: 0, unlisted: 0, missed: 4 },
          },
          Date.now(),
        );
      });
      await holdLease();
      await pause({ lane: 'pull' });

      const { code, stdout } = await waybill('status');
      expect(code).to.equal(0);
      expect(stdout).to.match(/Installation +test-office, sandbox: https:\/\/sandbox\.example\.com/);
      expect(stdout).to.match(/Delivering +\S+ \(test\)@\S+, epoch 2/);
      expect(stdout).to.match(/Pauses +pull \(operator\) since .* by anna: stocktaking/);
      expect(stdout).to.match(/Last delivery +\d{4}-.*\(\d s ago\)/);
      expect(stdout).to.match(
        /Last pull +.*: unproven: the list changed; 6 pages in 3 readings, 100 invoices; 4 that were not met stay listed, .*; 2 are invalid .*; 0 unpaid now/,
      );
      expect(stdout).to.match(
        /Orders read +changes up to 2026-11-03 09:15:00 \(as changedAt writes it: local time, or UTC where the database keeps instants\); everything: \d{4}/,
      );
      expect(stdout)
        .to.match(/│ delivered +│ 0 +│ 1 +│/)
        .and.to.match(/│ parked +│ 1 +│ 0 +│/)
        .and.to.match(/│ pending +│ 0 +│ 1 +│/);
      expect(stdout).to.match(/│ 1 +│ unmapped +│ no name/);

      const status = await json('status');
      expect(status).to.include({
        level: 'WARNING',
        installation: 'test-office',
        environment: 'sandbox',
        notLive: null,
      });
      expect(status.lease.holder).to.contain('(test)@');
      expect(status.outbox.oldestPendingAt).to.match(/^\d{4}-.*T/);
      expect(status.lastPull).to.include({ outcome: 'unproven', isProven: false, pages: 6, missed: 4 });
    });

    it('shows what is on hold, and what to say', async () => {
      const evidence = { code: 'highest_key_fell', found: outside('15'), before: outside('17') } as const;
      const hold = { code: 'source_restored', evidence } as const;
      await installation.capture({ entity: 'order', sourceKey: '1' });
      await installation.app.store.transaction('put it on hold', async (tx) => {
        await writeMarks(tx, 'order', { highChangedAt: null, highKey: '17', sweptRows: 17, hold });
        await tx.run(`UPDATE outbox_message SET ${forged.parked}, park_class='held'`);
      });
      const { stdout } = await waybill('status');
      expect(stdout).to.match(
        /Held +all updates and removals of orders: the ERP seems to have been restored from a backup: its highest key is 15, and it was 17\n +1 change waits for a person\n +look: waybill confirm --dry-run/,
      );
      expect((await json('status')).holds).to.deep.equal([
        {
          entity: 'order',
          reason: tell(hold),
          reasonCode: 'source_restored',
          reasonData: {
            evidence: tell(evidence),
            evidenceCode: 'highest_key_fell',
            evidenceData: { found: '15', before: '17' },
          },
          reasonRemedy: remedyFor(hold),
        },
      ]);
    });

    it('does not say that a process delivers while delivery is held', async () => {
      await holdLease();
      const hold = { kind: 'empty', reason: 'the store is empty', since: 1, copyAt: null };
      await installation.app.store.transaction('hold', (tx) => writeStoreInfo(tx, 'recovery', JSON.stringify(hold)));
      const { stdout } = await waybill('status');
      expect(stdout).to.match(/Live +no: held because the store is empty\..*waybill recover/);
      expect(stdout).to.match(/Delivering +nothing \(see Live\); in charge is \S+ \(test\)@\S+, epoch 1/);
    });

    it('says what it means that nothing says how long the service remembers a key', async () => {
      expect((await waybill('status')).stdout).not.to.contain('Doubt');
      const file = join(installation.configDir, 'local.yaml');
      writeFileSync(file, readFileSync(file, 'utf8').replace('lifetimeHours: 24', 'quoted: false'));
      const { stdout } = await waybill('status');
      expect(stdout).to.match(/Doubt +service\.idempotency\.lifetimeHours is not set: .* looked up or parked/);
    });

    it('counts the changes that will never be sent, and explain says why', async () => {
      await holdLease();
      await installation.capture(
        { entity: 'order', sourceKey: '1' },
        { entity: 'order', sourceKey: '1', operation: 'update', revision: 2 },
        { entity: 'order', sourceKey: '2' },
        { entity: 'order', sourceKey: '2', operation: 'update', revision: 2 },
      );
      const discard = (key: string) =>
        installation.app.store.transaction('discard', (tx) =>
          tx.run(
            `UPDATE outbox_message SET ${forged.discarded}, park_class='unproven', reason_code='legacy', reason_data='{"text":{"outside":"not ours"}}' WHERE source_key=? AND revision=1`,
            [key],
          ),
        );
      await discard('1');
      expect((await waybill('status')).stdout).to.match(/Stranded +1 messages will never be sent: the record/);
      expect((await waybill('status', '--check')).stdout).to.contain('1 messages will never be sent');
      const { stdout } = await waybill('explain', 'order', '1');
      expect(stdout)
        .to.contain('revision 1 is discarded by an operator: not ours')
        .and.to.contain('it will never be sent')
        .and.to.contain('waybill outbox discard --entity order --key 1');
    });

    it('counts the orders of a customer whom nobody sends any more', async () => {
      await holdLease();
      await installation.capture(
        { entity: 'customer', sourceKey: '1' },
        { entity: 'order', sourceKey: '1', customerKey: '1' },
        { entity: 'order', sourceKey: '1', customerKey: '1', operation: 'update', revision: 2 },
        { entity: 'customer', sourceKey: '2' },
        { entity: 'order', sourceKey: '2', customerKey: '2' },
      );
      expect((await waybill('status', '--check')).stdout).not.to.contain('never be sent');
      const { code } = await waybill(
        'outbox',
        'discard',
        '--entity',
        'customer',
        '--key',
        '1',
        '--reason',
        'not ours',
        '--yes',
      );
      expect(code).to.equal(0);
      expect((await waybill('status', '--check')).stdout).to.contain('2 messages will never be sent');
    });

    describe('--check', () => {
      const check = async () => {
        const { code, stdout } = await waybill('status', '--check');
        expect(stdout.trim().split('\n'), 'one line').to.have.length(1);
        return `${code} ${stdout.trim()}`;
      };

      it('is 0 while somebody delivers and nothing is parked, also while the service says "slow down"', async () => {
        await holdLease();
        await pause({ lane: 'service', cause: 'throttled', until_at: Date.now() + 60_000 });
        expect(await check()).to.equal('0 WAYBILL OK: delivering; 0 open, nothing parked');
      });

      it('is 1 when something is parked or a lane is paused', async () => {
        await holdLease();
        await installation.capture({ entity: 'order', sourceKey: '1', unmapped: 'no lines' });
        expect(await check()).to.equal('1 WAYBILL WARNING: 1 parked (1 unmapped)');
        await pause({});
        expect(await check()).to.equal(
          '1 WAYBILL WARNING: Delivery is paused (operator): stocktaking; 1 parked (1 unmapped)',
        );
      });

      it('is 2 when nobody delivers', async () => {
        expect(await check()).to.equal('2 WAYBILL CRITICAL: nothing is delivered: no daemon is running');
        await holdLease();
        await installation.app.store.transaction('fall silent', (tx) => tx.run('UPDATE lease SET expires_at=1'));
        expect(await check()).to.match(/^2 WAYBILL CRITICAL: nothing is delivered: .*@.* stopped responding$/);
      });

      it('is 2 when nothing has succeeded for alert.maxSilenceHours, and 0 again when something does', async () => {
        await holdLease();
        const succeeded = (hoursAgo: number) =>
          installation.app.store.transaction('succeed', (tx) =>
            recordSuccess(tx, 'pull', Date.now() - hoursAgo * 3_600_000),
          );
        await succeeded(13);
        expect(await check()).to.equal('2 WAYBILL CRITICAL: no capture, delivery or pull has succeeded for 13 h');
        await succeeded(11);
        expect(await check()).to.match(/^0 WAYBILL OK/);
      });

      for (const state of ['pending', 'in_doubt', 'sending'])
        it(`is 1 when a record has been ${state} for alert.maxSilenceHours, and 0 again when it is delivered`, async () => {
          await holdLease();
          await installation.capture({ entity: 'order', sourceKey: '1' });
          const write = (sql: string, values: (string | number)[] = []) =>
            installation.app.store.transaction('test', (tx) => tx.run(sql, values));
          await write(
            'UPDATE outbox_message SET state=?, next_attempt_at=1, captured_at=?, was_sent=1, first_sent_at=NULL, claim_epoch=0',
            [state, Date.now() - 13 * 3_600_000],
          );
          expect(await check()).to.match(/^1 WAYBILL WARNING: The \w+ with the key \S+ has been waiting for 13 h/);
          await write('UPDATE outbox_message SET captured_at=?', [Date.now()]);
          expect(await check()).to.match(/^0 WAYBILL OK/);
        });

      it('is 1 when pulls have been unproven for alert.maxSilenceHours, and 0 again when one is proven', async () => {
        await holdLease();
        const pulled = (outcome: string, hoursAgo: number) =>
          installation.app.store.transaction('pull', (tx) =>
            tx.run("INSERT INTO invoice_pull (states, outcome, started_at, ended_at) VALUES ('unpaid', ?, ?, ?)", [
              outcome,
              Date.now() - hoursAgo * 3_600_000,
              Date.now() - hoursAgo * 3_600_000,
            ]),
          );
        await pulled('unproven', 11);
        expect(await check()).to.match(/^0 WAYBILL OK/);
        await installation.app.store.transaction('begin anew', (tx) => tx.run('DELETE FROM invoice_pull'));
        await pulled('proven', 13);
        await pulled('unproven', 2);
        await pulled('failed', 1);
        expect(await check()).to.match(/^1 WAYBILL WARNING: no pull has proven the list of invoices for 13 h, /);
        await pulled('proven', 0);
        expect(await check()).to.match(/^0 WAYBILL OK/);
      });

      it('is 1 with the words of an alert, which status shows with its age', async () => {
        await holdLease();
        const reason = legacy('11 removals');
        const held = { code: 'changes_held', entity: 'order', source: null, held: 11, reason } as const;
        await installation.app.store.transaction('raise', (tx) =>
          raiseAlert(tx, 'held.order', held, Date.now() - 60_000),
        );
        const words = '11 changes to orders are held: 11 removals. Look at them with `waybill confirm`.';
        expect(await check()).to.equal(`1 WAYBILL WARNING: ${words}`);
        expect((await waybill('status')).stdout).to.match(
          /Alerts +held\.order since .*ago\): 11 changes to orders are held/,
        );
        const [alert] = (await json('status')).alerts;
        expect(alert).to.include({ cause: 'held.order', messageCode: 'changes_held' });
        expect(alert.details).to.include({ held: 11, reason: '11 removals' });
      });

      it('is 2 when the service does not accept the credential', async () => {
        await holdLease();
        await pause({ lane: 'service', cause: 'credential', reason: legacy('HTTP 401') });
        expect(await check()).to.equal(
          '2 WAYBILL CRITICAL: Everything that talks to the service is paused (credential): HTTP 401',
        );
      });
    });
  });

  it('--check is 2, on stdout, when there is no configuration to read', async () => {
    const lines: string[] = [];
    const { write } = process.stdout;
    const before = process.exitCode;
    process.stdout.write = ((text: string) => lines.push(text) > 0) as typeof write;
    try {
      expect(await run(['node', 'waybill', 'status', '--check', '--config', '/nonexistent'])).to.equal(2);
    } finally {
      process.stdout.write = write;
      process.exitCode = before;
    }
    expect(lines.join('')).to.match(/^WAYBILL CRITICAL: .+\n$/);
  });
});
