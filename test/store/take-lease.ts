import { Lease } from '../../src/store/lease.js';
import { openStore } from '../../src/store/open-store.js';

/**
 * A program of its own: takes the lease of the SQLite store in its first argument, says `held` or `refused`, and ends with its
 * input: a holder that has ended is followed at once.
 */
const { store } = await openStore({ type: 'sqlite', file: process.argv[2] as string });
const answer = await Lease.acquire(store, 'service', `process ${process.pid}`, 60_000);
process.stdout.write(answer.held ? 'held' : 'refused');
process.stdin.resume().on('end', () => void store.close());
