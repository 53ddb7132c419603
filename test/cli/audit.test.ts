import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { appendAudit } from '../../src/audit/audit-log.js';
import { documents } from '../docs/documents.js';
import { ensure } from '../support/needed-programs.js';
import { answers, onAnyStore } from './installation.js';

describe('waybill audit', () => {
  onAnyStore((installation) => {
    const { waybill, json } = installation;
    const append = (at: number, reason: string, count = 1) =>
      installation.app.store.transaction('arrange a test', (tx) =>
        appendAudit(
          tx,
          Array.from({ length: count }, (_, i) => ({
            event: 'alert' as const,
            actor: 'daemon@host:1',
            detail: { reason, i },
          })),
          at,
        ),
      );

    it('shows what was done to a record, newest last, by its key or its number', async () => {
      await installation.capture(
        { entity: 'order', sourceKey: '4711', number: 'SO-1' },
        { entity: 'order', sourceKey: '4712' },
      );
      await installation.deliver(() => answers.created('ord_1'));
      for (const key of ['4711', 'SO-1']) {
        const { code, stdout } = await waybill('audit', '--key', key);
        expect(code).to.equal(0);
        const events = stdout
          .trim()
          .split('\n')
          .map((line) => line.slice(28).split(/ +/).slice(0, 2).join(' '));
        expect(events).to.deep.equal(['captured create', 'delivered order']);
        expect(stdout).to.match(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0[12]:00 {2}captured create /);
        expect(stdout).not.to.contain('4712');
      }
    });

    it('filters by event, outcome and entity', async () => {
      await installation.capture(
        { entity: 'order', sourceKey: '1' },
        { entity: 'customer', sourceKey: '2', unmapped: 'no code' },
      );
      await installation.deliver(() => answers.refused('no'));
      const lines = async (...filter: string[]) =>
        (await json('audit', ...filter)).map(
          (line: { event: string; outcome: string }) => `${line.event} ${line.outcome}`,
        );
      expect(await lines('--outcome', 'refused')).to.deep.equal(['attempt refused', 'parked refused']);
      expect(await lines('--event', 'parked')).to.deep.equal(['parked unmapped', 'parked refused']);
      expect(await lines('--entity', 'customer')).to.deep.equal(['captured create', 'parked unmapped']);
    });

    it('takes dates as half-open ranges in the time zone of the ERP, also where the clock changes', async () => {
      await append(Date.parse('2026-10-24T21:59:59.999Z'), 'the day before');
      await append(Date.parse('2026-10-24T22:00:00Z'), 'first moment');
      await append(Date.parse('2026-10-25T22:59:59.999Z'), 'last moment of a day of 25 hours');
      await append(Date.parse('2026-10-25T23:00:00Z'), 'the day after');
      const reasons = async (...range: string[]) =>
        (await json('audit', ...range)).map((line: { detail: { reason: string } }) => line.detail.reason);
      expect(await reasons('--since', '2026-10-25', '--until', '2026-10-26')).to.deep.equal([
        'first moment',
        'last moment of a day of 25 hours',
      ]);
      expect(await reasons('--since', '2026-10-26 00:00')).to.deep.equal(['the day after']);
      expect(await reasons('--until', '2026-10-24T22:00:00Z')).to.deep.equal(['the day before']);
    });

    it('refuses what is no date, and a range that is empty', async () => {
      for (const range of [
        ['--since', 'yesterday'],
        ['--since', '2026-02-30'],
        ['--until', '2026'],
        ['--since', '2026-11-02', '--until', '2026-11-02'],
      ])
        expect((await waybill('audit', ...range)).code, range.join(' ')).to.equal(2);
    });

    it('shows the last hundred lines, and says how to see more', async () => {
      await append(1_000, 'older', 20);
      await append(2_000, 'newer', 100);
      const { stdout } = await waybill('audit');
      expect(stdout.match(/reason=newer/g)).to.have.length(100);
      expect(stdout).not.to.contain('reason=older');
      expect(stdout).to.contain('The last 100 lines. For more use --limit');
      const all = await waybill('audit', '--limit', '120');
      expect(all.stdout.trim().split('\n')).to.have.length(120);
      expect(
        (await json('audit', '--limit', '3')).map((line: { detail: { i: number } }) => line.detail.i),
      ).to.deep.equal([97, 98, 99]);
    });

    it('streams a long log in pages, each line once', async () => {
      await append(1_000, 'many', 1_234);
      const lines = await json('audit', '--limit', '5000');
      expect(lines.map((line: { detail: { i: number } }) => line.detail.i)).to.deep.equal(
        Array.from({ length: 1_234 }, (_, i) => i),
      );
      const { stdout } = await waybill('audit', '--csv');
      expect(stdout.trim().split('\n')).to.have.length(1_235);
    });

    it('ends quietly when its reader has seen enough', async () => {
      await append(1_000, 'many', 5_000);
      const main = join(import.meta.dirname, '../../src/main.js');
      const command = `"${process.execPath}" "${main}" audit --csv --config "${installation.configDir}" | head -n 1`;
      const printed = execFileSync('bash', ['-o', 'pipefail', '-c', `{ ${command}; } 2>&1`], { encoding: 'utf8' });
      expect(printed).to.equal('id,at,event,outcome,entity,sourceKey,messageId,attemptId,actor,detail\n');
    });

    it('prints an empty list as JSON when nothing matches', async () => {
      expect(await json('audit', '--event', 'takeover')).to.deep.equal([]);
    });

    it('quotes CSV and disarms what a spreadsheet would run', async () => {
      await installation.app.store.transaction('arrange a test', (tx) =>
        appendAudit(
          tx,
          [
            {
              event: 'operator',
              outcome: 'retry',
              entity: 'order',
              sourceKey: '=HYPERLINK("http://x")',
              actor: '+cmd, "me"',
              detail: { reason: 'a;b' },
            },
          ],
          Date.parse('2026-11-03T08:15:02Z'),
        ),
      );
      const { stdout } = await waybill('audit', '--csv');
      expect(stdout).to.equal(
        'id,at,event,outcome,entity,sourceKey,messageId,attemptId,actor,detail\n' +
          `1,2026-11-03T09:15:02.000+01:00,operator,retry,order,"'=HYPERLINK(""http://x"")",,,"'+cmd, ""me""","{""reason"":""a;b""}"\n`,
      );
      expect((await waybill('audit', '--csv', '--json')).code).to.equal(2);
    });

    it('is not said to agree with a noted head whose lines are gone', async () => {
      const { configDir, app } = installation;
      await append(1, 'one', 3);
      const heads = join(configDir, 'heads.txt');
      const { stdout: head } = await waybill('audit', 'head');
      writeFileSync(heads, head);
      await append(2, 'two', 2);
      expect((await waybill('audit', 'verify', '--heads', heads)).code).to.equal(0);
      await app.store.transaction('forge a checkpoint', async (tx) => {
        const [line] = await tx.rows<{ hash: string }>('SELECT hash FROM audit_log WHERE seq=4');
        await tx.run('UPDATE audit_chain SET pruned_seq=4, pruned_hash=?', [line?.hash ?? '']);
        await tx.run('DELETE FROM audit_log WHERE seq<=4');
      });
      const { code, stdout } = await waybill('audit', 'verify', '--heads', heads);
      expect(code).to.equal(3);
      expect(stdout).to.contain('1 of 1 noted heads could not be compared');
      expect((await json('audit', 'verify', '--heads', heads)).uncompared).to.deep.equal([head.trim()]);
      expect((await waybill('audit', 'verify')).code).to.equal(0);
    });

    it('is proven to be whole, here and in a file without Waybill, until a line is changed', async () => {
      ensure('python');
      const { configDir, app } = installation;
      const proof = documents().find(({ path }) => path === 'docs/audit.md');
      const program = proof?.fences.find(({ language }) => language === 'python')?.text ?? '';
      // Not in this process' own time: the server closes connections of one that stands still.
      const python = (...words: string[]) =>
        new Promise<{ status: unknown; stdout: string; stderr: string }>((resolve) => {
          execFile('python3', ['-c', program, ...words], (error, stdout, stderr) =>
            resolve({ status: error ? error.code : 0, stdout, stderr }),
          );
        });

      await append(1, 'one ü "…"', 3);
      const heads = join(configDir, 'heads.txt');
      const { stdout: head } = await waybill('audit', 'head');
      expect(head).to.match(/^1:3:[0-9a-f]{64}\n$/);
      writeFileSync(heads, head);
      await append(2, 'two', 2);
      expect(await json('audit', 'verify', '--heads', heads)).to.deep.equal({
        whole: true,
        lines: 5,
        chains: 1,
        flaws: [],
        uncompared: [],
      });
      const file = join(configDir, 'audit.txt');
      expect((await waybill('audit', 'export', file)).stdout).to.equal(`5 lines are in ${file}.\n`);
      expect((await python(file, head.trim())).stdout).to.equal('Whole.\n');
      // The shell's way, for one line.
      const [, first = '', second = ''] = readFileSync(file, 'utf8').split('\n');
      const shell = spawnSync('sh', ['-c', `printf '%s %s' "$before" "$text" | sha256sum`], {
        encoding: 'utf8',
        env: { ...process.env, before: first.slice(0, 64), text: second.slice(65) },
      });
      expect(shell.stdout.slice(0, 64)).to.equal(second.slice(0, 64));

      const lines = readFileSync(file, 'utf8').split('\n');
      const broken = [lines.with(3, (lines[3] ?? '').replace('one', 'won')), lines.toSpliced(2, 1), lines.slice(0, -2)];
      for (const text of broken) {
        writeFileSync(file, text.join('\n'));
        const { status, stderr } = await python(file);
        expect(status, stderr).to.equal(1);
        expect(stderr).to.match(/^(Line \d does not follow|Chain 1 does not end)/);
      }
      expect((await python(join(configDir, 'audit.txt'), '1:9:00')).status).to.equal(1);

      await app.store.transaction('tamper', (tx) => tx.run("UPDATE audit_log SET actor='nobody' WHERE seq=4"));
      const { code, stdout } = await waybill('audit', 'verify');
      expect(code).to.equal(1);
      expect(stdout).to.match(/^The audit is not as it was written:\n {2}Line \d+ was changed, or line \d+ before it/);
      writeFileSync(heads, 'no head\n');
      expect(await waybill('audit', 'verify', '--heads', heads)).to.include({ code: 2 });
    });
  });
});
