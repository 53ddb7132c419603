module.exports = {
  spec: 'dist/test/**/*.test.js',
  require: ['dist/test/support/root-hooks.js'],
  reporter: 'dist/test/support/result-reporter.js',
  timeout: 60_000,
  forbidOnly: true,
  // A run without tests proves nothing.
  failZero: true,
  // Whoever skips a test at his desk knows it; in CI nobody would.
  forbidPending: Boolean(process.env.CI),
};
