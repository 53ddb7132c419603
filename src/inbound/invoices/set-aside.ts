import type { AlertFact } from '../../model/facts/alerts.js';
import { endAlert, raiseAlert } from '../../store/alerts.js';
import { factColumns, factOf } from '../../store/fact-columns.js';
import type { Tx } from '../../store/store.js';
import type { RowFact } from './invoice-page.js';

/** A staged row of a list, as far as it tells two invoices apart. */
interface NumberedRow {
  customerCode: string | null;
  amount: number;
  dueDate: string;
  isNewest: number;
  firstPass: number;
  lastPass: number;
}

/**
 * The fault of rows that have one number and are different invoices; null: they are one invoice, which may have changed while
 * the list was read. Pure. An invoice keeps its customer and its sign. Of two rows that differ in amount or due date, one may be
 * older than the other, unless one page showed both (no row displaced the other), or two readings in a row met both.
 */
function sharedNumber(rows: readonly NumberedRow[]): RowFact | null {
  const customers = [...new Set(rows.flatMap(({ customerCode }) => customerCode ?? []))].sort();
  if (customers.length > 1) return { code: 'invoice_number_shared', customers: customers.slice(0, 3) };
  const isShared = rows.some((one, at) =>
    rows.slice(at + 1).some((other) => {
      if (one.amount < 0 !== other.amount < 0) return true;
      if (one.amount === other.amount && one.dueDate === other.dueDate) return false;
      const isOfOnePage = one.isNewest === 1 && other.isNewest === 1;
      const areMetAgain = one.firstPass < one.lastPass && other.firstPass < other.lastPass;
      return isOfOnePage || (areMetAgain && one.lastPass === other.lastPass);
    }),
  );
  return isShared ? { code: 'invoice_number_shared', customers: [] } : null;
}

/**
 * Sets aside the staged rows of different invoices that have one number: the list could hold one of them only. Each of them
 * counts as met.
 */
export async function setAsideSharedNumbers(tx: Tx): Promise<void> {
  const understood = "list_kind<>'own' AND amount IS NOT NULL";
  const differing = await tx.rows<{ invoiceNo: string }>(
    `SELECT invoice_no FROM invoice_staging WHERE ${understood} GROUP BY invoice_no
     HAVING MIN(amount)<>MAX(amount) OR MIN(due_date)<>MAX(due_date) OR MIN(customer_code)<>MAX(customer_code)`,
  );
  for (const { invoiceNo } of differing) {
    const rows = await tx.rows<NumberedRow>(
      `SELECT customer_code, amount, due_date, is_newest, first_pass, last_pass FROM invoice_staging
        WHERE invoice_no=? AND ${understood}`,
      [invoiceNo],
    );
    const fact = sharedNumber(rows);
    if (fact === null) continue;
    const { code, data } = factColumns(fact);
    await tx.run(
      `UPDATE invoice_staging SET malformed_code=?, malformed_data=?, is_newest=1 WHERE invoice_no=? AND ${understood}`,
      [code, data, invoiceNo],
    );
  }
}

export const setAsideCause = 'invoices.set_aside';

/** The share of set-aside rows above which a person is told at once, also if none of them is an invoice that is listed. */
const mostAside = 0.05;

/** True if a person should know of rows that were set aside. Pure. @param known those that are listed, with older values */
export function isWorthAnAlert({ aside, understood, known }: { aside: number; understood: number; known: number }) {
  return known > 0 || aside > mostAside * (aside + understood);
}

/** Raises or ends the alert about the rows that the list, which was just swapped in, sets aside. */
export async function noteSetAside(tx: Tx, understood: number, nowMs: number): Promise<AlertFact | null> {
  const [row] = await tx.rows<{ aside: number; known: number }>(
    `SELECT COUNT(*) AS aside, COALESCE(SUM(CASE WHEN EXISTS (SELECT 1 FROM invoice i WHERE i.invoice_no=m.invoice_no
            AND i.unlisted_at IS NULL) THEN 1 ELSE 0 END), 0) AS known FROM invoice_malformed m`,
  );
  const { aside, known } = row ?? { aside: 0, known: 0 };
  if (!isWorthAnAlert({ aside, understood, known })) {
    await endAlert(tx, setAsideCause, nowMs);
    return null;
  }
  const [first] = await tx.rows(
    'SELECT invoice_no, reason_code, reason_data FROM invoice_malformed ORDER BY invoice_no, row_key LIMIT 1',
  );
  const { code, data } = { code: first?.reasonCode, data: first?.reasonData };
  const alert: AlertFact = {
    code: 'invoices_set_aside',
    aside,
    understood,
    known,
    invoiceNo: first?.invoiceNo ?? null,
    reason: factOf(code, data),
  };
  await raiseAlert(tx, setAsideCause, alert, nowMs);
  return alert;
}
