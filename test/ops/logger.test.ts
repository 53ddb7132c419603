import { spawnSync } from 'node:child_process';
import { expect } from 'chai';

const secret = 'canary"7f/3a\\9Z';

describe('the log', () => {
  it('shows no secret, however whoever logs it writes it', () => {
    const echoes = [
      `\u001b[2J\u009b2J\u202e\u2028\n${secret}`,
      secret,
      JSON.stringify({ echo: secret }),
      `/login?t=${encodeURIComponent(secret)}`,
    ];
    const logger = new URL('../../src/ops/logger.js', import.meta.url).href;
    const code = `
      const { createLogger } = await import(${JSON.stringify(logger)});
      const log = createLogger({ level: 'info', stream: 'stdout', secrets: [${JSON.stringify(secret)}] });
      for (const echo of ${JSON.stringify(echoes)}) log.info(echo, { detail: echo, error: new Error(echo) });
      log.info('Authorization: Bearer abcdefgh.ijkl');`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
    const lines = stdout.trim().split('\n');
    expect(lines).to.have.length(5);
    for (const line of lines) expect(JSON.parse(line).message).to.contain('[secret]');
    expect(stdout).to.not.match(/canary|abcdefgh/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(stdout).to.not.match(/[\u001b\u009b\u202e\u2028]/);
    expect(JSON.parse(lines[0] as string).message).to.include('\u001b[2J\u009b2J\u202e\u2028\n');
  });

  it('is a JSON object a line also where a number or a word of JSON holds a secret', () => {
    const logger = new URL('../../src/ops/logger.js', import.meta.url).href;
    const code = `
      const { createLogger } = await import(${JSON.stringify(logger)});
      const log = createLogger({ level: 'info', stream: 'stdout', secrets: ['2026', 'true', 'null', 'info'] });
      log.info('counted', { pid: 12026, few: 7, list: [2026.5, true, false, null], at: 'in 2026' });`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
    expect(JSON.parse(stdout)).to.deep.include({
      level: '[secret]',
      pid: '1[secret]',
      few: 7,
      list: ['[secret].5', '[secret]', false, '[secret]'],
      at: 'in [secret]',
    });
  });

  it('tells facts in words, beside their code and data', () => {
    const file = (path: string) => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);
    const code = `
      const { createLogger } = await import(${file('ops/logger.js')});
      const { factsInWords } = await import(${file('words/words.js')});
      const { legacy } = await import(${file('model/facts/fact.js')});
      const log = createLogger({ level: 'info', stream: 'stdout', secrets: [${JSON.stringify(secret)}], inWords: factsInWords });
      log.warn('Held', { reason: legacy(${JSON.stringify(`the ERP is empty ${secret}`)}) });`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
    expect(JSON.parse(stdout)).to.deep.include({
      level: 'warn',
      message: 'Held',
      reason: 'the ERP is empty [secret]',
      reasonCode: 'legacy',
      reasonData: { text: 'the ERP is empty [secret]' },
    });
  });
});
