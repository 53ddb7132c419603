import type { Tx } from '../store/store.js';

/** How often something came to the door, and when last. `listening` is the start of a listener. */
export interface TallyRow {
  name: string;
  number: number;
  lastAt: number;
}

/** Adds what was counted since the last time. Strangers are counted in memory, so that they cost the store nothing. */
export async function addToTally(tx: Tx, counts: ReadonlyMap<string, number>, nowMs: number): Promise<void> {
  for (const [name, number] of counts)
    await tx.run(
      tx.dialect === 'sqlite'
        ? `INSERT INTO webhook_tally (name, number, last_at) VALUES (?,?,?)
             ON CONFLICT (name) DO UPDATE SET number=number+excluded.number, last_at=excluded.last_at`
        : `INSERT INTO webhook_tally (name, number, last_at) VALUES (?,?,?)
             ON DUPLICATE KEY UPDATE number=number+VALUES(number), last_at=VALUES(last_at)`,
      [name, number, nowMs],
    );
}

export async function readTally(tx: Tx): Promise<TallyRow[]> {
  const rows = await tx.select('SELECT name, number, last_at FROM webhook_tally ORDER BY name');
  return rows.map((row) => ({ name: row.name, number: Number(row.number), lastAt: Number(row.last_at) }));
}
