import type { AuditLine } from '../../audit/read-audit.js';
import { entities } from '../../model/record.js';
import type { PageOf } from '../../operator/lists/browse.js';
import { detailsInWords } from '../../words/words.js';
import { FilterField, Pager, Table } from './table.js';
import { Bounded, RecordLink, Time } from './words.js';

interface Props {
  base: string;
  query: URLSearchParams;
  page: PageOf<AuditLine>;
  timeZone: string;
}

/** The append-only log, the newest line first. */
export function Audit({ base, query, page: { rows, next }, timeZone }: Props) {
  return (
    <>
      <form method="get" action={`${base}audit`} class="filter">
        <FilterField query={query} name="event" label="Event" />
        <FilterField query={query} name="outcome" label="Outcome" />
        <FilterField query={query} name="entity" label="What" values={entities} />
        <FilterField query={query} name="key" label="Key or number" />
        <button type="submit">Filter</button>
      </form>
      {rows.length === 0 ? (
        <p>
          {next === null ? 'No line matches.' : 'No line matches among the newest. Older ones are on the next page.'}
        </p>
      ) : (
        <Table
          label="Lines of the audit"
          head={['When', 'Event', 'Outcome', 'Record', 'By', 'Details']}
          rows={rows.map((line) => [
            <Time key="at" ms={line.at} timeZone={timeZone} />,
            line.event,
            line.outcome === line.event ? '' : line.outcome,
            line.entity !== null && line.sourceKey !== null && (
              <RecordLink
                key="record"
                base={base}
                record={{ entity: line.entity, sourceKey: line.sourceKey, number: null }}
              />
            ),
            <Bounded key="by" text={line.actor} most={100} />,
            <Bounded key="detail" text={detailsInWords(line.detail)} most={300} />,
          ])}
        />
      )}
      <Pager path={`${base}audit`} query={query} next={next === null ? null : { before: String(next) }} />
    </>
  );
}
