import { writeFileSync } from 'node:fs';
import { ExecutedFiles } from '../support/executed-files.js';

/** Loaded into a daemon before the program: writes which files ran from SIGTERM to the end. */
const output = process.env.WAYS_OUTPUT;
if (output) {
  const executed = new ExecutedFiles();
  process.once('SIGTERM', () => executed.reset());
  process.once('exit', () => writeFileSync(output, JSON.stringify(executed.take())));
}
