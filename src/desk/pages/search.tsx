import type { Settings } from '../../config/settings.js';
import type { NamedRecord, searchRecords } from '../../operator/find-records.js';
import { amountFormatter } from '../../operator/format.js';
import { Bounded, RecordLink } from './words.js';

interface Props {
  base: string;
  text: string;
  found: Awaited<ReturnType<typeof searchRecords>>;
  amounts: Settings['amounts'];
}

const ways: Record<NamedRecord['as'][number], string> = {
  key: 'its key in the ERP',
  number: 'its number',
  code: 'its code',
  id: 'its id at the service',
};

/** Records that one text fits, each with what the text is of it. */
export function NamedRecords({ base, text, records }: { base: string; text: string; records: readonly NamedRecord[] }) {
  return (
    <>
      {records.length > 1 && (
        <p class="alert">
          <q>
            <Bounded text={text} most={255} />
          </q>{' '}
          is ambiguous: {records.length} records have this name. To act, open the one that you mean.
        </p>
      )}
      <ul class="list">
        {records.map((record) => (
          <li key={`${record.entity} ${record.sourceKey}`}>
            <RecordLink base={base} record={record} />: {record.as.map((one) => ways[one]).join(' and ')}
          </li>
        ))}
      </ul>
    </>
  );
}

/** The records that a text names, if there is more than one. */
export function SearchResults({ base, text, found: { records, invoices }, amounts }: Props) {
  const amount = amountFormatter(amounts);
  if (records.length + invoices.length === 0)
    return (
      <>
        <p>
          Nothing is known by <q>{text}</q>: no order number, no key of the ERP, no id of the service, no invoice. The
          search is exact, letter by letter.
        </p>
        <p>
          If it stands in the ERP, its page says why it may not have been read yet:{' '}
          {(['order', 'customer'] as const).map((entity) => (
            <>
              <RecordLink base={base} record={{ entity, sourceKey: text, number: null }} />{' '}
            </>
          ))}
        </p>
      </>
    );
  return (
    <>
      <NamedRecords base={base} text={text} records={records} />
      <ul class="list">
        {invoices.map(({ invoiceNo, customerCode, amount: minor, dueDate, status, unlistedAt }) => (
          <li key={`invoice ${invoiceNo}`}>
            invoice <Bounded text={invoiceNo} most={120} />: <span class="number">{amount(minor)}</span>, due {dueDate},{' '}
            <Bounded text={status} most={80} />
            {unlistedAt === null ? ', listed as unpaid' : ', no longer listed as unpaid'}
            {customerCode !== null && `, customer ${customerCode}`}
          </li>
        ))}
      </ul>
    </>
  );
}
