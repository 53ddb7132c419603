import { type LeaseName, nowSql } from './lease.js';
import type { Tx } from './store.js';

export interface LeaseView {
  /** Who holds it now; null when nobody does. */
  holder: string | null;
  epoch: number;
  /** Milliseconds until it ends if it is not renewed; 0 when nobody holds it. */
  endsInMs: number;
  /** Who fell silent without letting go, so that its time ran out. */
  lapsed: string | null;
}

/** Who holds a lease, by the database's clock. */
export async function readLease(tx: Tx, name: LeaseName): Promise<LeaseView> {
  const [row] = await tx.select(
    `SELECT epoch, holder, expires_at, ${nowSql[tx.dialect]} AS now FROM lease WHERE name=?`,
    [name],
  );
  if (!row) return { holder: null, epoch: 0, endsInMs: 0, lapsed: null };
  const endsInMs = Number(row.expires_at) - Number(row.now);
  const held = row.holder !== null && endsInMs > 0;
  return {
    holder: held ? row.holder : null,
    epoch: Number(row.epoch),
    endsInMs: held ? endsInMs : 0,
    lapsed: held ? null : row.holder,
  };
}
