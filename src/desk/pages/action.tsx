import type { Settings } from '../../config/settings.js';
import type { Outcome, Prepared, PreviewRow } from '../actions/prepare.js';
import type { Person } from '../people.js';
import { InvoiceTable } from './invoices.js';
import { CsrfField } from './layout.js';
import { Table } from './table.js';
import { Bounded, Count, Money, RecordLink } from './words.js';

interface PreviewProps {
  base: string;
  id: string;
  person: Person;
  prepared: Prepared;
  settings: Settings;
  reasonIsMissing: boolean;
  /** The person has not said that the record is there although the service does not show it. */
  wordIsMissing: boolean;
}

const mostShown = 500;
const messages = ['message', 'messages'] as const;

/** What an action would do, and with what it would not, before it is done. */
export function ActionPreview({ base, id, person, prepared, settings, reasonIsMissing, wordIsMissing }: PreviewProps) {
  const {
    question,
    count,
    isAll,
    totals,
    rows,
    invoices = [],
    claims = [],
    spread,
    left,
    notes = [],
    noun: [one, many] = messages,
  } = prepared;
  const isSomething = count > 0 || spread.length > 0;
  return (
    <>
      <p>
        Nothing is done yet. <Count count={count} /> {count === 1 ? one : many} would be meant
        {isAll ? '.' : ': the oldest of those that match. Do it again for the others.'}
      </p>
      {claims.map(({ serviceId, check }) => (
        <Claim key={serviceId} serviceId={serviceId} check={check} />
      ))}
      {notes.map((note) => (
        <p key={note}>{note}</p>
      ))}
      {count > 0 && totals !== null && (
        <dl class="facts">
          <div>
            <dt>{invoices.length > 0 ? 'Amount' : 'Value of the orders'}</dt>
            <dd>
              <Money totals={totals} amounts={settings.amounts} />
            </dd>
          </div>
        </dl>
      )}
      {spread.length > 0 && (
        <ul class="list">
          {spread.map(({ name, count: times }) => (
            <li key={name}>
              <Count count={times} /> × <Bounded text={name} most={300} />
            </li>
          ))}
        </ul>
      )}
      {rows.length > 0 && (
        <Table
          label="A sample of what is meant"
          head={['Record', 'What', 'Is', 'Becomes', 'Why it waits']}
          rows={rows.map((row) => [
            <RecordLink key="record" base={base} record={row} />,
            row.what,
            row.state,
            <Becomes key="becomes" row={row} />,
            <Bounded key="why" text={row.why} most={200} />,
          ])}
        />
      )}
      {invoices.length > 0 && <InvoiceTable rows={invoices} amounts={settings.amounts} />}
      {count > rows.length + invoices.length && (
        <p class="faint">
          A sample: {rows.length + invoices.length} of <Count count={count} />.
        </p>
      )}
      {left.length > 0 && (
        <section>
          <h2>Left alone</h2>
          <ul class="list">
            {left.map(({ why, count: times, example }) => (
              <li key={why}>
                <Count count={times} />
                {example?.entity && (
                  <>
                    , such as{' '}
                    <RecordLink
                      base={base}
                      record={{ entity: example.entity, sourceKey: example.key, number: example.number }}
                    />
                  </>
                )}
                : <Bounded text={why} most={300} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {isSomething ? (
        <form method="post" action={`${base}act/${id}`} class="fields reason">
          <CsrfField person={person} />
          {needsWord(prepared) && (
            <>
              <label>
                <input type="checkbox" name="unchecked" value="1" required aria-invalid={wordIsMissing || undefined} />{' '}
                I looked there myself: it is this record. It is recorded as my word, not as the service’s.
              </label>
              {wordIsMissing && (
                <p role="alert" class="alert">
                  The service does not show this record: look there, then say that it is this one.
                </p>
              )}
            </>
          )}
          <label for="reason">Why? The audit keeps it.</label>
          <input id="reason" name="reason" maxLength={500} required aria-invalid={reasonIsMissing || undefined} />
          {reasonIsMissing && (
            <p role="alert" class="alert">
              Say why: the audit keeps it.
            </p>
          )}
          <button type="submit">
            {question}: {count} {count === 1 ? one : many}
          </button>
        </form>
      ) : (
        <p>There is nothing to do.</p>
      )}
    </>
  );
}

/** True if a person has to insist that a record is there although the service does not show it. */
export function needsWord({ claims = [] }: Pick<Prepared, 'claims'>): boolean {
  return claims.some(({ check }) => check.kind !== 'same');
}

/** The service's record under an id, beside ours. */
function Claim({ serviceId, check: { kind, reason, sides } }: NonNullable<Prepared['claims']>[number]) {
  return (
    <section>
      <p class={kind === 'same' ? undefined : 'alert'}>
        {kind === 'same' ? (
          <>
            The service shows this record as <Bounded text={serviceId} most={120} />.
          </>
        ) : (
          <>
            {kind === 'differs' ? 'The service shows another record as ' : 'Nothing shows that this record is '}
            <Bounded text={serviceId} most={120} />: <Bounded text={reason} most={300} />.
          </>
        )}
      </p>
      {sides.length > 0 && (
        <Table
          label="What both sides have"
          head={['', 'Ours', 'At the service']}
          rows={sides.map(({ what, ours, service }) => [
            what,
            <Bounded key="ours" text={ours ?? 'nothing'} most={120} />,
            <Bounded key="service" text={service ?? 'not shown'} most={120} />,
          ])}
        />
      )}
    </section>
  );
}

/** What a message becomes, and what it would change. */
function Becomes({ row: { becomes, changes = [] } }: { row: PreviewRow }) {
  if (changes.length === 0) return <Bounded text={becomes} most={200} />;
  return (
    <>
      {changes.map((change) => (
        <span key={change} class="line">
          <Bounded text={change} most={300} />
        </span>
      ))}
    </>
  );
}

/** What came of it, a line for each record that was left alone. */
export function ActionOutcome({ base, prepared, outcome }: { base: string; prepared: Prepared; outcome: Outcome }) {
  const { done, left, reason } = outcome;
  const [name, path] = prepared.back ?? ['Needs a person', 'needs-a-person'];
  const isLeft = new Set(left.map(({ entity, key }) => `${entity} ${key}`));
  const rows = prepared.rows.filter(({ entity, sourceKey }) => !isLeft.has(`${entity} ${sourceKey}`));
  return (
    <>
      <p>
        {prepared.outcomeInWords}: <Count count={done} /> of <Count count={prepared.count} />. The reason on record:{' '}
        <q>
          <Bounded text={reason} most={500} />
        </q>
      </p>
      {done > 0 && rows.length > 0 && (
        <ul class="list">
          {rows.map((row, index) => (
            <li key={index}>
              <RecordLink base={base} record={row} />
            </li>
          ))}
        </ul>
      )}
      {left.length > 0 && (
        <section>
          <h2>Left alone</h2>
          <ul class="list">
            {left.slice(0, mostShown).map(({ entity, key, number, why }, index) => (
              <li key={index}>
                {entity === null ? (
                  <Bounded text={key} most={120} />
                ) : (
                  <RecordLink base={base} record={{ entity, sourceKey: key, number }} />
                )}
                : <Bounded text={why} most={300} />
              </li>
            ))}
          </ul>
          {left.length > mostShown && <p class="faint">And {left.length - mostShown} more.</p>}
        </section>
      )}
      <p>
        <a href={`${base}${path}`}>{name}</a> · <a href={`${base}audit?event=operator`}>Audit</a>
      </p>
    </>
  );
}
