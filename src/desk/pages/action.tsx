import type { Settings } from '../../config/settings.js';
import type { Fact } from '../../model/facts/fact.js';
import type { LeftAlone, Outcome, Preview, PreviewRow } from '../../operator/actions/action.js';
import { shorten } from '../../operator/format.js';
import { labelsOf } from '../../words/en/action-labels.js';
import { tell } from '../../words/words.js';
import type { KeptPreview } from '../actions/kept-previews.js';
import type { Person } from '../people.js';
import { InvoiceTable } from './invoices.js';
import { CsrfField } from './layout.js';
import { Table } from './table.js';
import { Bounded, Count, Money, RecordLink } from './words.js';

interface PreviewProps {
  base: string;
  id: string;
  person: Person;
  kept: KeptPreview;
  settings: Settings;
  time: (ms: number) => string;
  reasonIsMissing: boolean;
  /** The person has not said that the record is there although the service does not show it. */
  wordIsMissing: boolean;
}

const mostShown = 500;

/** The preview of an action: the records it would change, and those it would leave alone. */
export function ActionPreview({
  base,
  id,
  person,
  kept: { name: action, preview, totals },
  settings,
  time,
  reasonIsMissing,
  wordIsMissing,
}: PreviewProps) {
  const { count, isMore = false, isAll, rows, skipped, invoices = [], claims = [], spread = [], notes = [] } = preview;
  const {
    question,
    noun: [one, many],
  } = labelsOf(action);
  return (
    <>
      <p>
        Nothing is done yet. <Count count={count} /> {count === 1 ? one : many} would be meant
        {isAll ? '.' : ': the oldest of those that match. Do it again for the others.'}
      </p>
      {claims.map(({ serviceId, check }) => (
        <Claim key={serviceId} serviceId={serviceId} check={check} time={time} />
      ))}
      {notes.map((note) => (
        <p key={note.code}>{tell(note, { time })}</p>
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
          {spread.map(({ what, count: times }, index) => (
            <li key={index}>
              <Count count={times} /> × <Bounded text={tell(what, { time })} most={300} />
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
            <Becomes key="becomes" becomes={row.becomes} />,
            <Bounded key="why" text={row.why === null ? '' : tell(row.why, { time })} most={200} />,
          ])}
        />
      )}
      {invoices.length > 0 && <InvoiceTable rows={invoices} amounts={settings.amounts} />}
      {count > rows.length + invoices.length && (
        <p class="faint">
          A sample: {rows.length + invoices.length} of <Count count={count} />.
        </p>
      )}
      {skipped.length > 0 && (
        <section>
          <h2>Left alone</h2>
          <ul class="list">
            {skipped.map(({ why, count: times, examples: [example] }, index) => (
              <li key={index}>
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
                : <Bounded text={tell(why, { time })} most={300} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {count > 0 || isMore ? (
        <form method="post" action={`${base}act/${id}`} class="fields reason">
          <CsrfField person={person} />
          {needsWord(preview) && (
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
export function needsWord({ claims = [] }: Pick<Preview, 'claims'>): boolean {
  return claims.some(({ check }) => check.kind !== 'same');
}

/** The service's record under an id, beside ours. */
function Claim({
  serviceId,
  check: { kind, reason, sides },
  time,
}: NonNullable<Preview['claims']>[number] & Pick<OutcomeProps, 'time'>) {
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
            <Bounded text={serviceId} most={120} />
            {reason !== null && (
              <>
                : <Bounded text={tell(reason as Fact, { time })} most={300} />
              </>
            )}
            .
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

/** The record after the action; for an update, value by value. */
function Becomes({ becomes }: Pick<PreviewRow, 'becomes'>) {
  const changes = becomes.code === 'changes_fields' ? becomes.changes : [];
  if (changes.length === 0) return <Bounded text={tell(becomes)} most={200} />;
  return (
    <>
      {changes.map(({ field, from, to }) => (
        <span key={field} class="line">
          <Bounded text={`${field}: ${valueText(from)} → ${valueText(to)}`} most={300} />
        </span>
      ))}
    </>
  );
}

function valueText(value: string | null): string {
  return value === null ? 'nothing' : shorten(value, 80);
}

interface OutcomeProps {
  base: string;
  kept: KeptPreview;
  outcome: Outcome & { reason: string };
  time: (ms: number) => string;
}

/** The outcome, with a line for each record that was left alone. */
export function ActionOutcome({ base, kept: { name: action, preview }, outcome, time }: OutcomeProps) {
  const { done, left, reason } = outcome;
  const { subject } = (preview.data ?? {}) as { subject?: string };
  const [name, path] = subject ? ['Reconcile', `reconcile?subject=${subject}`] : ['Needs a person', 'needs-a-person'];
  const isLeft = new Set(left.map(({ entity, key }) => `${entity} ${key}`));
  const rows = preview.rows.filter(({ entity, sourceKey }) => !isLeft.has(`${entity} ${sourceKey}`));
  return (
    <>
      <p>
        {labelsOf(action).outcome}: <Count count={done} /> of <Count count={preview.count} />. The reason on record:{' '}
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
                <LeftRecord base={base} left={{ entity, key, number, why }} />:{' '}
                <Bounded text={tell(why, { time })} most={300} />
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

function LeftRecord({ base, left: { entity, key, number } }: { base: string; left: LeftAlone }) {
  if (entity === null) return <Bounded text={key} most={120} />;
  return <RecordLink base={base} record={{ entity, sourceKey: key, number }} />;
}
