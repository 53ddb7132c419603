import { spawnSync } from 'node:child_process';
import { expect } from 'chai';

const module = JSON.stringify(new URL('../../src/cli/terminal/progress-bar.js', import.meta.url));

describe('the progress bar', () => {
  it('gives the terminal its cursor back, however the process ends', () => {
    const program = `
      Object.assign(process.stderr, { isTTY: true, columns: 80 });
      const { progressBar } = await import(${module});
      const bar = progressBar();
      for (const done of [1, 1, 1]) bar.show({ stage: 'deliver', done, total: 9 });
      process.exit(130);`;
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
    });
    expect(status).to.equal(130);
    expect(stderr.lastIndexOf('\x1b[?25l'), 'hidden').to.be.at.least(0);
    expect(stderr)
      .to.match(/ 1\/9 \| (\?|\d+ (s|min|h))/)
      .and.not.to.match(/LLs/);
    expect(stderr.lastIndexOf('\x1b[?25h'), 'shown').to.be.above(stderr.lastIndexOf('\x1b[?25l'));
  });
});
