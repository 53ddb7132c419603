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

  it('fits the terminal, whose library would cut it off: counts before the bar', () => {
    for (const [columns, wanted] of [
      [80, /deliver +[█░]{40} 1234\/56789 \|/],
      [45, /deliver +[█░]{4,} 1234\/56789 \|/],
      [20, /deliver 1234\/56789/],
      [12, /1234\/56789/],
    ] as const) {
      const program = `
        Object.assign(process.stderr, { isTTY: true, columns: ${columns} });
        const { progressBar } = await import(${module});
        const bar = progressBar();
        bar.show({ stage: 'deliver', done: 1234, total: 56789 });
        bar.stop();`;
      const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
      expect(stderr, `${columns} columns`).to.match(wanted);
    }
  });
});
