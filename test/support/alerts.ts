import type { AlertFact } from '../../src/model/facts/alerts.js';
import { factOf } from '../../src/store/fact-columns.js';
import { tellWhole } from '../../src/words/words.js';

/** Alerts as a person reads them, the oldest first. @param where a condition on the columns of `alert` */
export async function alertsInWords(
  kit: { rows(sql: string): Promise<Record<string, unknown>[]> },
  where = 'open_cause IS NOT NULL',
): Promise<{ cause: string; message: string; isOver: boolean }[]> {
  const rows = await kit.rows(`SELECT * FROM alert WHERE ${where} ORDER BY id`);
  return rows.map(({ cause, message_code: code, message_data: data, over_at: overAt }) => ({
    cause: String(cause),
    message: tellWhole(factOf<AlertFact>(String(code), String(data)) as AlertFact),
    isOver: overAt !== null,
  }));
}
