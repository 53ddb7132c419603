import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { projectRoot } from '../support/project-root.js';

const main = join(projectRoot, 'dist/test/simulation/main.js');

/** In a process of its own: it puts a simulated machine in the place of the real one. @returns its lines of JSON */
async function simulate(...argv: string[]): Promise<Record<string, unknown>[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [main, ...argv], {
    maxBuffer: 64 * 1024 * 1024,
  }).catch(
    // A finding is told by the exit code as well.
    (failed: { stdout: string; code?: number }) => {
      if (failed.code === 1 && failed.stdout) return failed;
      throw failed;
    },
  );
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('the simulated world', function () {
  this.timeout(600_000);

  it('draws every command, option, setting and operation, or says why it leaves one out', async () => {
    const [{ drawn, amiss }] = (await simulate('--vocabulary')) as [{ drawn: Record<string, number>; amiss: string[] }];
    expect(amiss).to.deep.equal([]);
    expect(Object.entries(drawn).filter(([, times]) => times === 0)).to.deep.equal([]);
  });

  it('finds what is done to a sound world, and nothing in the sound world itself', async () => {
    for (const { done, wanted, found } of await simulate('--prove')) {
      // A known fault by its name, so that whoever has mended it takes it from the list.
      const kinds = (found as string[]).flatMap((one) => [one, one.split(':')[0]]);
      if (wanted === null) expect(found, String(done)).to.deep.equal([]);
      else expect(kinds, String(done)).to.include(wanted);
    }
  });

  it('tells the same history of a seed, whatever was told before it', async () => {
    const digests = async (seed: number, histories: number) => {
      const lines = await simulate(
        '--digest',
        '--json',
        '--no-shrink',
        '--seed',
        String(seed),
        '--histories',
        String(histories),
      );
      return new Map(lines.flatMap(({ seed, digest }) => (digest === undefined ? [] : [[seed, digest] as const])));
    };
    const [several, last] = await Promise.all([digests(77, 4), digests(80, 1)]);
    expect(several.get(80)).to.be.a('string').and.equal(last.get(80));
  });
});
