import fc from 'fast-check';
import { heal } from './heal.js';
import { type HistoryStore, openHistoryStore } from './history-store.js';
import { wrongNow } from './promise.js';
import { type Setup, type Step, setup, step } from './step.js';
import { World } from './world.js';

/** `WAYBILL_HISTORIES=5000` tells as many. */
const numRuns = Number(process.env.WAYBILL_HISTORIES ?? 150);
/** `WAYBILL_HISTORY=SEED/PATH`, as a failure prints it, tells that one again. */
const [seed, path] = process.env.WAYBILL_HISTORY?.split('/') ?? [];
const again = seed && path ? { seed: Number(seed), path, endOnFailure: true } : {};
const mostMsEach = 200;

const plain: Setup = {
  seed: 1,
  replaysRefusals: false,
  updatesBy: 'PATCH',
  onCancelled: 'nothing',
  onDeleted: 'nothing',
  lookUp: 'none',
  isProduction: false,
};

describe('histories of the jobs', () => {
  let kept: HistoryStore;
  before(async () => {
    kept = await openHistoryStore();
  });
  after(() => kept.store.close());

  /** Runs a history, and asks after each step and at the end whether the promise was kept. */
  async function tell(chosen: Setup, steps: readonly Step[]): Promise<void> {
    const world = new World(kept, chosen);
    try {
      for (const [index, one] of steps.entries()) {
        await world.run(one);
        expectNone(wrongNow(world), `after step ${index + 1}`);
      }
      expectNone(await heal(world), 'in the end');
      expectNone(wrongNow(world), 'in the end');
    } finally {
      world.end();
    }
  }

  /** A person's retry must get through, also if the service answers a refused key with the same refusal for ever. */
  for (const [what, onCancelled, deed] of [
    ['a change', 'nothing', { do: 'edit', order: 0, qty: 2, isSeen: true }],
    ['a removal', 'delete', { do: 'cancel', order: 0 }],
  ] as const)
    it(`end well for ${what} that was refused once, and is tried again`, async () => {
      await tell({ ...plain, replaysRefusals: true, onCancelled }, [
        { do: 'insert', customer: 0, qty: 1, isBad: false, isHalf: false, lateMinutes: 0 },
        { do: 'capture', sweep: false, strike: null },
        { do: 'deliver', isPatient: false, strike: null },
        deed,
        { do: 'fates', fates: ['refuse'] },
        { do: 'capture', sweep: false, strike: null },
        { do: 'deliver', isPatient: false, strike: null },
      ]);
    });

  it('keep the promise, whatever happens to the ERP, the service and the processes', async function () {
    this.timeout(60_000 + numRuns * mostMsEach);
    const histories = fc.asyncProperty(setup, fc.array(step, { maxLength: 30, size: 'max' }), tell);
    const told = await fc.check(histories, { numRuns, ...again });
    if (!told.failed) return;
    const report = await fc.asyncDefaultReportMessage(told);
    const reason = told.errorInstance instanceof Error ? told.errorInstance.message : '';
    throw new Error(`${reason}\nTell it again: WAYBILL_HISTORY=${told.seed}/${told.counterexamplePath}\n${report}`);
  });
});

function expectNone(wrong: readonly string[], when: string): void {
  if (wrong.length > 0) throw new Error(`${when}: ${wrong.join('\n')}`);
}
