import fc from 'fast-check';
import { onAnyStore } from '../../store/stores.js';
import { history, type Step } from './identity-step.js';
import { IdentityWorld } from './identity-world.js';

/** `WAYBILL_HISTORIES=5000` tells as many; without it, the same few are told each time. */
const asked = process.env.WAYBILL_HISTORIES;
/** `WAYBILL_HISTORY=SEED/PATH`, as a failure prints it, tells that one again. */
const [seed, path] = process.env.WAYBILL_HISTORY?.split('/') ?? [];
const again = seed && path ? { seed: Number(seed), path, endOnFailure: true } : {};
const usual = asked === undefined ? { seed: 1 } : {};

onAnyStore('histories of identities', (kit) => {
  // The same ones on each store: what a server does differently shows in few of them.
  const numRuns = Number(asked ?? (kit.dialect === 'sqlite' ? 40 : 12));

  async function tell(isCodeId: boolean, steps: readonly Step[]): Promise<void> {
    await kit.empty();
    const world = new IdentityWorld(kit, isCodeId);
    try {
      for (const [index, one] of steps.entries()) {
        await world.run(one);
        expectNone(await world.wrongNow(), `after step ${index + 1}`);
      }
      expectNone(await world.heal(), 'in the end');
    } finally {
      await world.end();
    }
  }

  it('give no record of the service to two records of the ERP, and make none twice', async function () {
    this.timeout(60_000 + numRuns * 2_000);
    const histories = fc.asyncProperty(fc.boolean(), history, tell);
    const told = await fc.check(histories, { numRuns, ...usual, ...again });
    if (!told.failed) return;
    const reason = told.errorInstance instanceof Error ? told.errorInstance.message : '';
    const [isCodeId, steps] = told.counterexample ?? [];
    const lines = (steps ?? []).map((one) => `  ${JSON.stringify(one)}`).join('\n');
    throw new Error(
      `${reason}\nTell it again: WAYBILL_HISTORY=${told.seed}/${told.counterexamplePath}\nisCodeId: ${isCodeId}\n${lines}`,
      { cause: told.errorInstance },
    );
  });
});

function expectNone(wrong: readonly string[], when: string): void {
  if (wrong.length > 0) throw new Error(`${when}: ${wrong.join('\n')}`);
}
