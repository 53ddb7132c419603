import './machine/intercept.js';

// Only now: whatever is loaded from here on sees the simulated machine.
const { main } = await import('./simulate.js');
process.exitCode = await main(process.argv.slice(2));
process.exit(process.exitCode);
