import type { Settings } from '../../../config/settings.js';
import { openStoreIfAny } from '../../../store/open-store.js';
import { type Finding, findingsOf } from './finding.js';
import { judgeServer } from './judge-server.js';

const finding = findingsOf('store');

/** The store, as far as it can be looked at without writing into it. */
export async function checkStore({ store: settings }: Settings, nowMs: () => number): Promise<Finding[]> {
  const { store, warnings, isAbsent = false } = await openStoreIfAny(settings);
  try {
    if (isAbsent)
      return [
        finding('note', 'There is no store yet: the daemon makes it at its first start.', 'npm start, or waybill sync'),
      ];
    const before = nowMs();
    const { inspection, damage } = store.dialect;
    const read = await store.read('look at the server', async (tx) => ({
      facts: (await tx.rows<Record<string, string>>(inspection.server.pieces.join('')))[0],
      damage: damage === null ? 'ok' : await tx.value<string>(damage),
      clockMs: Number(await tx.value(`SELECT ${tx.nowMs}`)),
    }));
    const clockAheadMs = read.clockMs - (before + nowMs()) / 2;
    const { version = '?', charset = '?', zone = '?' } = read.facts ?? {};
    return [
      ...(read.damage === 'ok'
        ? []
        : [
            finding(
              'error',
              `The file of the store is damaged: ${read.damage}.`,
              'docs/failures.md, "The file of the store is damaged", says how to go on',
            ),
          ]),
      ...judgeServer('store', { version, charset, zone, clockAheadMs }),
      ...warnings.map((warning) => finding('warning', warning)),
    ];
  } finally {
    await store.close();
  }
}
