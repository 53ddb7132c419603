import type { Fact } from '../../model/facts/fact.js';
import { entities } from '../../model/record.js';
import type { NamedRecord } from '../../operator/find-records.js';
import { listedTime } from '../../operator/list-messages.js';
import type { browseMessages } from '../../operator/lists/browse.js';
import { mostCounted } from '../../operator/lists/browse.js';
import { messageStates, parkClasses } from '../../outbound/outbox/message.js';
import { waitsForInWords } from '../../telling/lists.js';
import { tell } from '../../words/words.js';
import { ListActions } from './action-forms.js';
import { NamedRecords } from './search.js';
import { FilterField, Pager, Table } from './table.js';
import { Bounded, Count, RecordLink, State, Time } from './words.js';

interface Props {
  base: string;
  query: URLSearchParams;
  page: Awaited<ReturnType<typeof browseMessages>>;
  /** The filter as the address of a bulk action names it; null: none is set, or who looks may not act. */
  action: { [name: string]: string } | null;
  /** Records that the name in the filter fits, where they are several. */
  ambiguous: readonly NamedRecord[];
  timeZone: string;
}

/** Messages that match a filter, the newest first. */
export function Outbox({ base, query, page: { rows, next, count }, action, ambiguous, timeZone }: Props) {
  return (
    <>
      <form method="get" action={`${base}outbox`} class="filter">
        <FilterField query={query} name="state" label="State" values={messageStates} />
        <FilterField query={query} name="entity" label="What" values={entities} />
        <FilterField query={query} name="class" label="Parked as" values={parkClasses} />
        <FilterField query={query} name="key" label="Key or number" />
        <FilterField query={query} name="reason" label="Reason contains" />
        <button type="submit">Filter</button>
      </form>
      <p>
        {count === null ? (
          'Too many to count: more than a page says.'
        ) : (
          <>
            <Count count={count} most={mostCounted} /> {count === 1 ? 'message matches' : 'messages match'}.
          </>
        )}
      </p>
      {ambiguous.length > 0 && <NamedRecords base={base} text={query.get('key') ?? ''} records={ambiguous} />}
      {action !== null && count !== 0 && <ListActions base={base} fields={action} />}
      {rows.length === 0 ? (
        <p>
          {next === null ? 'Nothing matches.' : 'Nothing matches among the newest. Older ones are on the next page.'}
        </p>
      ) : (
        <Table
          label="Messages"
          head={['Record', 'What', 'State', 'Tries', 'Captured', 'Next try / closed', 'Reason']}
          numbers={['Tries']}
          rows={rows.map((one) => {
            const at = listedTime(one);
            const other = one.waitsFor === null ? '' : waitsForInWords[one.waitsFor];
            return [
              <RecordLink key="record" base={base} record={one} />,
              one.operation,
              <State key="state" state={one.state} />,
              one.attempts,
              <Time key="captured" ms={one.capturedAt} timeZone={timeZone} />,
              at === null ? other : <Time key="at" ms={at} timeZone={timeZone} />,
              <Bounded key="reason" text={told(one.flag ?? one.reason)} most={200} />,
            ];
          })}
        />
      )}
      <Pager path={`${base}outbox`} query={query} next={next === null ? null : { before: String(next) }} />
    </>
  );
}

function told(fact: Fact | null): string {
  return fact === null ? '' : tell(fact);
}
