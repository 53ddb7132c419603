import type { Settings } from '../../config/settings.js';
import { amountFormatter } from '../../operator/format.js';
import { mostCounted } from '../../operator/lists/browse.js';
import type { InvoicePage } from '../../operator/lists/browse-invoices.js';
import { ActionForm } from './action-forms.js';
import { Pager, Table } from './table.js';
import { Bounded, Count } from './words.js';

interface Props {
  base: string;
  query: URLSearchParams;
  page: InvoicePage;
  pull: string;
  amounts: Settings['amounts'];
  /** True if the viewer may act. */
  mayAct: boolean;
}

const titles = { due: 'Due first at the top', credit: 'Credit notes', held: 'Held on the list' };

/** The list of unpaid invoices, its proof, and what they come to. */
export function Invoices({ base, query, page, pull, amounts, mayAct }: Props) {
  const { rows, next, list, all, credit, heldCount, leftCount, months, left } = page;
  const amount = amountFormatter(amounts);
  const { currency } = amounts;
  return (
    <>
      <p>{pull}</p>
      <nav class="pager" aria-label="Which invoices">
        <a href={`${base}invoices`} aria-current={list === 'due' ? 'page' : undefined}>
          Due (<Count count={all.count} />)
        </a>
        <a href={`${base}invoices?list=credit`} aria-current={list === 'credit' ? 'page' : undefined}>
          Credit notes (<Count count={credit.count} />)
        </a>
        <a href={`${base}invoices?list=left`} aria-current={list === 'left' ? 'page' : undefined}>
          No longer listed (<Count count={leftCount} most={mostCounted} />)
        </a>
        {heldCount > 0 && (
          <a href={`${base}invoices?list=held`} aria-current={list === 'held' ? 'page' : undefined}>
            Held (<Count count={heldCount} />)
          </a>
        )}
      </nav>
      {list === 'left' && left.length === 0 && <p>No invoice has left the list yet.</p>}
      {list === 'left' && left.length > 0 && (
        <Table
          label="Invoices that are no longer listed"
          head={['Invoice', 'Customer', `Amount (${currency})`, 'Due', 'No longer listed since', 'The service says']}
          numbers={[`Amount (${currency})`]}
          rows={left.map((one) => [
            <Bounded key="no" text={one.invoice_no} most={120} />,
            one.customer_code,
            amount(one.amount),
            one.due_date,
            one.since,
            <Bounded key="says" text={one.left_status ?? 'nothing: no longer listed'} most={120} />,
          ])}
        />
      )}
      {list !== 'left' && (
        <>
          <p>
            <Count count={all.count} /> invoices, {amount(all.sum)} {currency} in all.
            {credit.count > 0 &&
              ` ${credit.count} credit notes, ${amount(credit.sum)} ${currency}, are not part of it.`}
          </p>
          {list === 'due' && months.length > 0 && (
            <section>
              <h2>By month in which they are due</h2>
              <Table
                label="Totals by month"
                head={['Due in', 'Invoices', `Amount (${currency})`]}
                numbers={['Invoices', `Amount (${currency})`]}
                rows={months.map(({ month, count, sum }) => [month, count, amount(sum)])}
              />
            </section>
          )}
          <h2>{titles[list]}</h2>
          {list === 'held' && (
            <p>
              The service’s list lacks these, and too many at once to believe it. They stay on ours until a pull meets
              them, or a person takes them off.
            </p>
          )}
          {list === 'held' && mayAct && rows.length > 0 && (
            <div class="actions">
              <ActionForm base={base} action="held_invoices" fields={{}} />
            </div>
          )}
          {rows.length === 0 ? <p>No invoice is listed here.</p> : <InvoiceTable rows={rows} amounts={amounts} />}
        </>
      )}
      <Pager
        path={`${base}invoices`}
        query={query}
        next={next === null ? null : { after: next.after, 'key-after': next.invoiceNo }}
        csv={list !== 'left'}
      />
    </>
  );
}

export function InvoiceTable({
  rows,
  amounts,
}: {
  rows: readonly InvoicePage['rows'][number][];
  amounts: Settings['amounts'];
}) {
  const amount = amountFormatter(amounts);
  const { currency } = amounts;
  return (
    <Table
      label="Invoices"
      head={['Invoice', 'Customer', `Amount (${currency})`, 'Due', 'Status']}
      numbers={[`Amount (${currency})`]}
      rows={rows.map((one) => [
        <Bounded key="no" text={one.invoice_no} most={120} />,
        one.customer_code,
        amount(one.amount),
        one.due_date,
        <Bounded key="status" text={one.status} most={80} />,
      ])}
    />
  );
}
