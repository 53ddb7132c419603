import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { runAlertCommand } from '../../src/ops/alert-command.js';
import { useTempDir } from '../support/temp-dir.js';

describe('the alert command', () => {
  const dir = useTempDir();
  /** A program made of one line of JavaScript. */
  const program = (code: string) => [process.execPath, '-e', code, dir.file('out')];
  const failure = async (work: Promise<void>): Promise<string> =>
    work.then(
      () => 'it did not fail',
      (error: Error) => error.message,
    );

  it('gets one JSON object on its stdin, its arguments as they are, and nothing of our environment but the least', async () => {
    process.env.WAYBILL_SERVICE_TOKEN = 'canary-5d1f7c';
    try {
      const code = `require('fs').writeFileSync(process.argv[1], JSON.stringify({
        given: JSON.parse(require('fs').readFileSync(0, 'utf8')), arguments: process.argv.slice(2), env: process.env }))`;
      await runAlertCommand(
        { command: [...program(code), '$HOME; rm -rf *'], timeoutMs: 20_000, secrets: ['hunter2"\\', '4711'] },
        { cause: 'parked', message: 'the password is hunter2"\\', count: 4711 },
      );
    } finally {
      delete process.env.WAYBILL_SERVICE_TOKEN;
    }
    const seen = JSON.parse(readFileSync(dir.file('out'), 'utf8'));
    expect(seen.given).to.deep.equal({ cause: 'parked', message: 'the password is [secret]', count: '[secret]' });
    expect(seen.arguments).to.deep.equal(['$HOME; rm -rf *']);
    expect(JSON.stringify(seen)).to.not.contain('canary');
    expect(Object.keys(seen.env).filter((name) => !/^(PATH|HOME|LANG|TZ|TMPDIR|__.*)$/.test(name))).to.deep.equal([]);
  });

  it('fails with the end of its stderr when its exit code is not 0', async () => {
    const said = await failure(
      runAlertCommand({ command: program('console.error("no\\nroute"); process.exit(3)'), timeoutMs: 20_000 }, {}),
    );
    expect(said).to.match(/ended with exit code 3: no route$/);
  });

  it('fails when it can not be started', async () => {
    const said = await failure(runAlertCommand({ command: ['/nonexistent/tell'], timeoutMs: 20_000 }, {}));
    expect(said).to.match(/\/nonexistent\/tell can not be started: .*ENOENT/);
  });

  it('is ended when it takes too long, with what it started', async () => {
    const startedAt = performance.now();
    const said = await failure(
      runAlertCommand({ command: ['/bin/sh', '-c', 'trap "" TERM; sleep 60; sleep 60'], timeoutMs: 200 }, {}),
    );
    expect(said).to.match(/did not end within 0\.2 s$/);
    expect(performance.now() - startedAt).to.be.below(10_000);
  });

  it('is ended when Waybill stops', async () => {
    const stop = new AbortController();
    const running = failure(runAlertCommand({ command: ['/bin/sleep', '60'], timeoutMs: 60_000 }, {}, stop.signal));
    stop.abort();
    expect(await running).to.match(/was stopped/);
  });

  it('need not read its input', async () => {
    await runAlertCommand({ command: ['/bin/true'], timeoutMs: 20_000 }, { message: 'x'.repeat(1_000_000) });
  });
});
