#!/usr/bin/env node
import { setFlagsFromString } from 'node:v8';
import { keepSmall } from './v8.js';

// Without a listener of ours, SIGUSR1 makes Node open its inspector, which hands memory and secrets to any local account.
process.on('SIGUSR1', () => undefined);

keepSmall();

// Loaded code runs once: compiled for speed it would take a fifth more CPU time, and 3 MiB. Little rooms full of what
// lives on are emptied by one thread at less cost than by several.
const whileLoading = ['opt', 'parallel-scavenge'];
for (const flag of whileLoading) setFlagsFromString(`--no-${flag}`);
const { run, printError } = await import('./cli/run.js');

// Node itself would print the error as it came.
process.on('uncaughtException', (error) => {
  printError(error);
  process.exit(1);
});
process.exitCode = await run(process.argv, () => {
  for (const flag of whileLoading) setFlagsFromString(`--${flag}`);
});
