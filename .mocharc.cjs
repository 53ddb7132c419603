const { readdirSync } = require('node:fs');
const { join } = require('node:path');

/** From the sources, because a compiled test stays behind, and would go on running, when its source is gone. */
const compiledTests = readdirSync('test', { recursive: true })
  .filter((file) => file.endsWith('.test.ts'))
  // These take minutes and are for `npm run test:all`. They are left out by name: in a file that declares no test, mocha counts a
  // failure that its report does not show.
  .filter((file) => process.env.TEST_STORES === 'all' || !file.endsWith('.all.test.ts'))
  .map((file) => join('dist/test', file.replace(/\.ts$/, '.js')))
  // What takes longest first, so that no worker is left alone with it at the end.
  .sort((a, b) => weight(b) - weight(a) || a.localeCompare(b));

function weight(file) {
  return [/(in|out)bound|daemon|operator|histories/, /e2e|docs|browser/, /torture\.test/].findIndex((part) =>
    part.test(file),
  );
}

/** Mocha would run the files that its command line names beside these, not instead of them. */
const filesAreNamed = process.argv.some((argument) => argument.endsWith('.test.js'));

module.exports = {
  spec: filesAreNamed ? [] : compiledTests,
  require: ['dist/test/support/root-hooks.js'],
  reporter: 'dist/test/support/result-reporter.js',
  // Mocha takes CI for a place that shows colours; most logs show their codes.
  color: Boolean(process.stdout.isTTY),
  timeout: 60_000,
  // Most tests wait for other processes. Named files run in this process, one after the other, with a line as each test ends.
  parallel: !filesAreNamed,
  jobs: 4,
  forbidOnly: true,
  // A run without tests proves nothing.
  failZero: true,
  // Whoever skips a test at his desk knows it; in CI nobody would.
  forbidPending: Boolean(process.env.CI),
};
