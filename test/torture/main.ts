import { runTorture } from './run-torture.js';

process.exitCode = await runTorture(process.argv.slice(2));
