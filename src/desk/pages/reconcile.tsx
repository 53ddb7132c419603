import type { Settings } from '../../config/settings.js';
import { amountWithCurrency } from '../../operator/format.js';
import type { Cause } from '../../operator/reconcile/name-finding.js';
import { periodOf } from '../../operator/reconcile/period.js';
import { secondsAtLimits } from '../../operator/reconcile/plan-resync.js';
import { type Reconciliation, subjects } from '../../operator/reconcile/reconcile-rows.js';
import type { countRepairs } from '../../operator/reconcile/repair.js';
import { detailOf, type Summary, type TextSum } from '../../operator/reconcile/summary.js';
import { remarksOf } from '../../telling/remarks.js';
import { findingCauses } from '../../words/en/reconcile.js';
import { span } from '../../words/span.js';
import { tell } from '../../words/words.js';
import { Pager, Table } from './table.js';
import { Bounded, Count, RecordLink, Time } from './words.js';

interface Props {
  base: string;
  query: URLSearchParams;
  /** null: nothing of this kind was compared yet. */
  run: Reconciliation | null;
  summary: Summary | null;
  rows: Summary['findings'];
  /** The last one of this page, where more follow. */
  next: number | null;
  repairs: Awaited<ReturnType<typeof countRepairs>> | null;
  mayAct: boolean;
  /** It may still be repaired as it is. */
  isFresh: boolean;
  settings: Settings;
}

/** Shows if both sides agree: the last comparison, its findings, and the remedies. */
export function Reconcile({ base, query, run, summary, rows, next, repairs, mayAct, isFresh, settings }: Props) {
  const subject = run?.subject ?? subjects.find((one) => one === query.get('subject')) ?? 'orders';
  return (
    <>
      <nav class="pager" aria-label="What is compared">
        {subjects.map((one) => (
          <a key={one} href={`${base}reconcile?subject=${one}`} aria-current={one === subject ? 'page' : undefined}>
            {one[0]?.toUpperCase()}
            {one.slice(1)}
          </a>
        ))}
      </nav>
      {run === null || summary === null ? (
        <p>No {subject} were compared yet.</p>
      ) : (
        <>
          <Progress run={run} settings={settings} />
          <Found {...{ base, query, run, summary, rows, next, settings }} />
          {run.state === 'done' && <Report base={base} run={run} />}
          {mayAct && repairs !== null && repairs.count > 0 && subject !== 'invoices' && (
            <section>
              <h2>Repair</h2>
              {isFresh ? (
                <form method="get" action={`${base}act`} class="action">
                  <input type="hidden" name="action" value="reconcile_repair" />
                  <input type="hidden" name="run" value={run.id} />
                  <button type="submit">Repair {repairs.count} of what was found …</button>
                </form>
              ) : (
                <p>This list is older than an hour. Compare anew, and repair what is found then.</p>
              )}
            </section>
          )}
          <section>
            <h2>What is to be known</h2>
            <ul class="list">
              {remarksOf(summary, repairs?.left ?? []).map((line) => (
                <li key={line}>
                  <Bounded text={line} />
                </li>
              ))}
            </ul>
          </section>
        </>
      )}
      {mayAct && <Start base={base} subject={subject} run={run} />}
    </>
  );
}

function Progress({ run, settings }: { run: Reconciliation; settings: Settings }) {
  const { subject, state, tally, reason, actor, startedAt, endedAt, progressAt } = run;
  const { timeZone } = settings.erp;
  const period = periodOf(run);
  const left = secondsAtLimits(Math.max(0, tally.total - tally.read), settings.service.limits);
  return (
    <p role="status">
      {stateWords(state)}: {subject}
      {period === 'all' ? '' : ` of ${period}`}, asked for by <Bounded text={actor} most={120} /> at{' '}
      <Time ms={startedAt} timeZone={timeZone} />
      {endedAt !== null && (
        <>
          , ended at <Time ms={endedAt} timeZone={timeZone} />
        </>
      )}
      . <Count count={tally.read} /> compared in <Count count={tally.requests} /> requests, <Count count={tally.same} />{' '}
      agree.
      {state === 'running' && (
        <>
          {' '}
          Last seen going on at <Time ms={progressAt} timeZone={timeZone} />
          {left === null ? '.' : `; ${span(left * 1000)} at the limit are left at most, if nothing else waits.`}
        </>
      )}
      {state === 'stopped' && (
        <>
          {' '}
          <Bounded text={reason ? tell(reason) : ''} most={500} /> Asked for again, it goes on from here.
        </>
      )}
    </p>
  );
}

function Found({
  base,
  query,
  run,
  summary,
  rows,
  next,
  settings,
}: Pick<Props, 'base' | 'query' | 'rows' | 'next' | 'settings'> & { run: Reconciliation; summary: Summary }) {
  const { causes, days, totals } = summary;
  const here = new URLSearchParams(query);
  here.set('subject', run.subject);
  const money = (minor: string | null, currency: string | null) =>
    minor === null ? '' : amountWithCurrency(settings.amounts, minor, currency);
  const isList = run.subject === 'invoices';
  const sides = isList ? ['Before', 'Now'] : ['ERP', 'Service'];
  const head = [
    'Currency',
    `${sides[0]}: records`,
    `${sides[0]}: amount`,
    `${sides[1]}: records`,
    `${sides[1]}: amount`,
  ];
  const sums = (one: Omit<TextSum, 'day'>) => [
    one.currency,
    one.erpRecords,
    money(one.erpTotal, one.currency),
    one.serviceRecords,
    money(one.serviceTotal, one.currency),
  ];
  return (
    <>
      <h2>What was found</h2>
      {causes.length === 0 ? (
        <p>{run.state === 'done' ? 'Both sides agree.' : 'Nothing so far.'}</p>
      ) : (
        <>
          <Table
            label="Findings by kind"
            head={['What', 'Records']}
            numbers={['Records']}
            rows={causes.map(({ kind, cause, count }) => [
              <a key="what" href={filtered(base, run.subject, cause)}>
                {findingCauses[cause].text}
                {kind === 'unjudged' || findingCauses[cause].text.includes(kind) ? '' : ` (${kind})`}
              </a>,
              <Count key="count" count={count} />,
            ])}
          />
          <Table
            label="Findings"
            head={['What', 'Record', 'At the service', 'Date', 'Difference', sides[0] ?? '', sides[1] ?? '']}
            numbers={sides}
            rows={rows.map((one) => [
              findingCauses[one.cause].text,
              one.entity === 'invoice' ? (
                <Bounded key="record" text={`invoice ${one.sourceKey}`} most={120} />
              ) : (
                <RecordLink
                  key="record"
                  base={base}
                  record={{ entity: one.entity, sourceKey: one.sourceKey, number: one.number }}
                />
              ),
              <Bounded key="service" text={one.serviceId ?? ''} most={120} />,
              one.day,
              <Bounded key="detail" text={tell(detailOf(one))} most={300} />,
              money(one.erpTotal, one.currency),
              money(one.serviceTotal, one.currency),
            ])}
          />
        </>
      )}
      <Pager path={`${base}reconcile`} query={here} next={next === null ? null : { after: String(next) }} />
      {totals.length > 0 && (
        <Table
          label="Sums of both sides"
          head={['Day', ...head]}
          numbers={head.slice(1)}
          rows={[
            ...days.slice(0, 100).map((one) => [one.day || 'no date', ...sums(one)]),
            ...totals.map((one) => ['All', ...sums(one)]),
          ]}
        />
      )}
    </>
  );
}

function filtered(base: string, subject: string, cause: Cause): string {
  return `${base}reconcile?${new URLSearchParams({ subject, cause })}`;
}

function Report({ base, run }: { base: string; run: Reconciliation }) {
  const path = (file: string) => `${base}reconcile/${file}?run=${run.id}`;
  return (
    <nav class="pager" aria-label="The report to be filed">
      <a href={path('report.html')}>The report to be filed</a>
      <a href={path('differences.csv')}>Its differences as CSV</a>
      <a href={path('sums.csv')}>Its sums by day as CSV</a>
    </nav>
  );
}

function Start({ base, subject, run }: { base: string; subject: string; run: Reconciliation | null }) {
  return (
    <section>
      <h2>Compare</h2>
      <form method="get" action={`${base}act`} class="filter">
        <input type="hidden" name="action" value="reconcile" />
        <input type="hidden" name="subject" value={subject} />
        {subject !== 'invoices' && (
          <div>
            <label for="month">Month, such as 2026-10; empty for all</label>
            <input id="month" name="month" maxLength={7} pattern="\d{4}-\d{2}" />
          </div>
        )}
        {run !== null && run.state !== 'done' && (
          <div>
            <input id="again" name="again" type="checkbox" value="1" />{' '}
            <label for="again">Anew, not where it was cut short</label>
          </div>
        )}
        <button type="submit">Compare {subject} …</button>
      </form>
    </section>
  );
}

function stateWords(state: string): string {
  if (state === 'done') return '✓ Compared';
  return state === 'running' ? '◐ Being compared' : '! Stopped';
}
