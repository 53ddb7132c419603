import { spawnSync } from 'node:child_process';
import { expect } from 'chai';

const secret = 'canary"7f/3a\\9Z';

describe('the log', () => {
  it('shows no secret, however whoever logs it writes it', () => {
    const echoes = [secret, JSON.stringify({ echo: secret }), `/login?t=${encodeURIComponent(secret)}`];
    const logger = new URL('../../src/ops/logger.js', import.meta.url).href;
    const code = `
      const { createLogger } = await import(${JSON.stringify(logger)});
      const log = createLogger({ level: 'info', stream: 'stdout', secrets: [${JSON.stringify(secret)}] });
      for (const echo of ${JSON.stringify(echoes)}) log.info(echo, { detail: echo, error: new Error(echo) });
      log.info('Authorization: Bearer abcdefgh.ijkl');`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
    const lines = stdout.trim().split('\n');
    expect(lines).to.have.length(4);
    for (const line of lines) expect(JSON.parse(line).message).to.contain('[secret]');
    expect(stdout).to.not.match(/canary|abcdefgh/);
  });
});
