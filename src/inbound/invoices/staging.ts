import type { Invoice } from '../../model/record.js';
import { factRow } from '../../store/fact-columns.js';
import { placeholders, type Row, upsertRows } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import type { PageRow } from './invoice-page.js';

/** One of the service's lists: the invoices in one state, of all customers (`customer` is null) or of one. */
interface InvoiceList {
  customer: string | null;
  state: string;
}

/** The place of what an invoice's own read says: it stands on no list. */
const ownReads = { list_kind: 'own', list_customer: '', list_state: '' };

/** `list_kind` says what there is of a list; the rest is a key, in which no column may be NULL. */
function groupColumns(customer: string | null) {
  return customer === null
    ? { list_kind: 'all', list_customer: '' }
    : { list_kind: 'customer', list_customer: customer };
}

const listColumns = ({ customer, state }: InvoiceList) => ({ ...groupColumns(customer), list_state: state });

type ListColumns = ReturnType<typeof listColumns>;

const onList = 'list_kind=? AND list_customer=? AND list_state=?';
const valuesOf = ({ list_kind, list_customer, list_state }: ListColumns) => [list_kind, list_customer, list_state];

const chunkSize = 1_000;

/** The number of rows that the pull in the making has staged. */
export async function countStaged(tx: Tx) {
  const [row] = await tx.rows<{ listed: number; malformed: number }>(
    `SELECT COALESCE(SUM(CASE WHEN malformed_code IS NULL THEN 1 ELSE 0 END), 0) AS listed,
            COALESCE(SUM(CASE WHEN malformed_code IS NULL THEN 0 ELSE 1 END), 0) AS malformed
       FROM invoice_staging WHERE is_newest=1 AND has_left=0`,
  );
  return row ?? { listed: 0, malformed: 0 };
}

/** Forgets what the pull in the making has read. */
export async function clearStaging(tx: Tx): Promise<void> {
  await tx.run('DELETE FROM invoice_staging');
  await tx.run('DELETE FROM invoice_group');
}

/**
 * Stages a page that the given pass read.
 * @returns how many different rows this pass had not met yet, and how many of these an earlier one had
 */
export async function stagePage(
  tx: Tx,
  list: InvoiceList,
  pass: number,
  rows: readonly PageRow[],
): Promise<{ fresh: number; again: number }> {
  const different = [...new Map(rows.map((row) => [row.key, row])).values()];
  // A row that makes no sense says nothing of its invoice, so it displaces no other row.
  const understood = different.flatMap((row) => ('invoice' in row ? [row.invoice.invoice_no] : []));
  for (let start = 0; start < understood.length; start += chunkSize)
    await outdate(tx, understood.slice(start, start + chunkSize));
  const counts = { fresh: 0, again: 0 };
  const columns = listColumns(list);
  for (let start = 0; start < different.length; start += chunkSize) {
    const chunk = different.slice(start, start + chunkSize);
    const known = await tx.rows<{ rowKey: string; firstPass: number; lastPass: number }>(
      `SELECT row_key, first_pass, last_pass FROM invoice_staging
        WHERE ${onList} AND row_key IN ${placeholders(chunk.length)}`,
      [...valuesOf(columns), ...chunk.map(({ key }) => key)],
    );
    const left = await tx.rows<{ invoiceNo: string }>(
      `SELECT invoice_no FROM invoice_staging WHERE has_left=1 AND invoice_no IN ${placeholders(chunk.length)}
          AND list_kind='own'`,
      chunk.map((row) => numberOf(row) ?? ''),
    );
    const hasLeft = new Set(left.map(({ invoiceNo }) => invoiceNo));
    const firstPasses = new Map(known.map(({ rowKey, firstPass }) => [rowKey, firstPass]));
    counts.fresh += chunk.length - known.filter(({ lastPass }) => lastPass === pass).length;
    counts.again += known.filter(({ lastPass }) => lastPass < pass).length;
    await upsertRows(
      tx,
      'invoice_staging',
      ['list_customer', 'list_state', 'row_key'],
      chunk.map((row) => ({
        ...stagedRow(columns, row, firstPasses.get(row.key) ?? pass, pass),
        is_newest: hasLeft.has(numberOf(row) ?? '') ? 0 : 1,
      })),
    );
  }
  return counts;
}

/**
 * Stages what an invoice's own read says: it is due, or (null) it has left. `said` is its state in the service's words.
 * An invoice that has left does not come back, so that no page of this pull counts for it, not even a later one.
 */
export async function stageOwnRead(tx: Tx, invoiceNo: string, due: Invoice | null, said: string | null): Promise<void> {
  const hasLeft = `SELECT 1 AS n FROM invoice_staging WHERE ${onList} AND row_key=? AND has_left=1`;
  if (due && (await tx.value(hasLeft, [...valuesOf(ownReads), `=${invoiceNo}`])) !== undefined) return;
  const row = due
    ? stagedRow(ownReads, { key: `=${invoiceNo}`, invoice: due }, 0, 0)
    : { ...stagedRow(ownReads, { key: `=${invoiceNo}`, invoiceNo }, 0, 0), status: said };
  await outdate(tx, [invoiceNo]);
  await upsertRows(
    tx,
    'invoice_staging',
    ['list_customer', 'list_state', 'row_key'],
    [{ ...row, has_left: due ? 0 : 1 }],
  );
}

/**
 * Forgets own reads that said "due" when a group of lists is read anew, because what that reading proves is newer. Those that
 * said "left" stay.
 */
export async function forgetDueReads(tx: Tx, customer: string | null): Promise<void> {
  const whose = customer === null ? '' : ' AND customer_code=?';
  await tx.run(`DELETE FROM invoice_staging WHERE ${onList} AND has_left=0${whose}`, [
    ...valuesOf(ownReads),
    ...(customer === null ? [] : [customer]),
  ]);
}

/** Ends the reading of a group of lists. In a proven list, only rows that its last pass met count as listed. */
export async function endGroup(tx: Tx, customer: string | null, provenPass: number | null): Promise<void> {
  const group = groupColumns(customer);
  await upsertRows(tx, 'invoice_group', ['list_customer'], [{ ...group, is_proven: provenPass === null ? 0 : 1 }]);
  if (provenPass !== null)
    await tx.run('DELETE FROM invoice_staging WHERE list_kind=? AND list_customer=? AND last_pass<?', [
      group.list_kind,
      group.list_customer,
      provenPass,
    ]);
}

export async function isGroupEnded(tx: Tx, customer: string): Promise<boolean> {
  const sql = "SELECT 1 AS n FROM invoice_group WHERE list_kind='customer' AND list_customer=?";
  return (await tx.select(sql, [customer])).length > 0;
}

/** A row of a page, or an invoice that has left, of which no more is known. */
type StagedRow = PageRow | { key: string; invoiceNo: string };

function stagedRow(list: ListColumns, row: StagedRow, firstPass: number, lastPass: number): Row {
  const invoice = 'invoice' in row ? row.invoice : null;
  return {
    ...list,
    row_key: row.key,
    invoice_no: numberOf(row),
    customer_code: invoice?.customer_code ?? null,
    amount: invoice?.amount ?? null,
    due_date: invoice?.due_date ?? null,
    status: invoice?.status ?? null,
    ...factRow('malformed', 'malformed' in row ? row.malformed : null),
    has_left: 0,
    is_newest: 1,
    first_pass: firstPass,
    last_pass: lastPass,
  };
}

function numberOf(row: StagedRow): string | null {
  return 'invoice' in row ? row.invoice.invoice_no : row.invoiceNo;
}

/** An invoice that changes while the list is read may be met in two forms: the rows that were read last count. */
async function outdate(tx: Tx, numbers: readonly string[]): Promise<void> {
  await tx.run(
    `UPDATE invoice_staging SET is_newest=0 WHERE is_newest=1 AND invoice_no IN ${placeholders(numbers.length)}`,
    numbers,
  );
}
