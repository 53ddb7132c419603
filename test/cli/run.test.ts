import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { version } from '../../src/model/version.js';
import { projectRoot } from '../support/project-root.js';
import { useTempDir } from '../support/temp-dir.js';

describe('waybill --version', () => {
  const dir = useTempDir();

  for (const flag of ['--version', '-V'])
    it(`loads no command to answer ${flag}`, () => {
      const main = join(projectRoot, 'dist/src/main.js');
      const NODE_V8_COVERAGE = dir.file(`loaded-for${flag}`);
      const printed = execFileSync(process.execPath, [main, flag], { encoding: 'utf8', env: { NODE_V8_COVERAGE } });
      expect(printed).to.equal(`${version}\n`);

      const [report = ''] = readdirSync(NODE_V8_COVERAGE);
      const { result } = JSON.parse(readFileSync(join(NODE_V8_COVERAGE, report), 'utf8'));
      const loaded = result.map(({ url }: { url: string }) => url);
      expect(loaded.join('\n')).to.include('dist/src/cli/run.js');
      expect(
        loaded.filter((url: string) => /\/node_modules\/(?!commander\/)|\/src\/(app|cli\/command)\.js$/.test(url)),
      ).to.deep.equal([]);
    });
});
