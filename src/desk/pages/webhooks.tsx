import type { WebhookPage } from '../../operator/lists/browse.js';
import { tallyInWords } from '../../telling/lists.js';
import { tell, tellWhole } from '../../words/words.js';
import { Pager, Table } from './table.js';
import { Bounded, Time } from './words.js';

interface Props {
  base: string;
  query: URLSearchParams;
  page: WebhookPage;
  isEnabled: boolean;
  timeZone: string;
}

/** The events that the service pushed, and what came of each. */
export function Webhooks({ base, query, page: { events, next, status }, isEnabled, timeZone }: Props) {
  return (
    <>
      {!isEnabled && <p>Waybill does not listen for webhooks (webhooks.enabled).</p>}
      {isEnabled && status.stopped !== null && <p class="alert">{tellWhole(status.stopped)}</p>}
      {status.tally.length > 0 && (
        <section>
          <h2>What came to the door</h2>
          <Table
            label="What came to the door"
            head={['Request', 'Times', 'Last']}
            numbers={['Times']}
            rows={status.tally.map(({ name, number, lastAt }) => [
              tallyInWords[name] ?? name,
              number,
              <Time key="last" ms={lastAt} timeZone={timeZone} />,
            ])}
          />
        </section>
      )}
      <h2>Events</h2>
      {events.length === 0 ? (
        <p>No event is kept.</p>
      ) : (
        <Table
          label="Events"
          head={['Received', 'Type', 'About', 'State', 'What came of it', 'Id']}
          rows={events.map((event) => [
            <Time key="at" ms={event.receivedAt} timeZone={timeZone} />,
            <Bounded key="type" text={event.type} most={60} />,
            <Bounded key="about" text={`${event.about} ${event.subject ?? '(none named)'}`} most={120} />,
            event.state,
            <Bounded key="outcome" text={event.outcome ? tell(event.outcome) : ''} most={200} />,
            <Bounded key="id" text={event.id} most={60} />,
          ])}
        />
      )}
      <Pager
        path={`${base}webhooks`}
        query={query}
        next={next === null ? null : { before: String(next.receivedAt), 'key-after': next.id }}
        csv={false}
      />
    </>
  );
}
