import { writeFileSync } from 'node:fs';
import Mocha from 'mocha';

/**
 * Mocha's usual report, and for CI one plain line of it in the file that `TEST_RESULT_FILE` names. It is written at
 * the end only: no file means that the tests never got there.
 */
export default class ResultReporter extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options?: Mocha.MochaOptions) {
    super(runner, options);
    const file = process.env.TEST_RESULT_FILE;
    if (file === undefined) return;
    runner.once(Mocha.Runner.constants.EVENT_RUN_END, () => {
      writeFileSync(file, `${this.stats.passes} passed, ${this.stats.failures} failed\n`);
    });
  }
}
