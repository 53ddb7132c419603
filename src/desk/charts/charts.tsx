import { figuresInWords } from '../../daemon/status-lines.js';
import { type Point, type Range, rangeNames, ranges, type Series } from '../../operator/figures/read-figures.js';
import { span } from '../../words/span.js';
import { Table } from '../pages/table.js';
import { Time } from '../pages/words.js';

/** The data for the script: a line for each column of the rows. */
interface Line {
  name: string;
  column: number;
  unit: 'count' | 'span' | 'percent';
  isDashed?: boolean;
}

interface Props {
  base: string;
  series: Series;
  /** The tightest limit in requests per second; null: none is set. */
  limitPerMinute: number | null;
  timeZone: string;
}

const names: Record<Range, string> = { hour: 'Last hour', day: 'Day', week: 'Week', quarter: '90 days' };

/** Work over time: as charts where scripts run, and as a table. */
export function Charts({ base, series: { range, points, all }, limitPerMinute, timeZone }: Props) {
  const { words, step, stepMs } = ranges[range];
  const perStep = limitPerMinute === null ? null : (limitPerMinute * stepMs) / 60_000;
  const rows = points.map((point) => rowOf(point, perStep));
  return (
    <section>
      <h2>Over time</h2>
      <nav class="pager" aria-label="How far back">
        {rangeNames.map((one) => (
          <a key={one} href={`${base}?range=${one}`} aria-current={one === range ? 'page' : undefined}>
            {names[one]}
          </a>
        ))}
      </nav>
      {all === null ? (
        <p>There are no figures of {words}. The daemon writes them once a minute while it is at work.</p>
      ) : (
        <>
          <p>
            In {words}: {figuresInWords(all)}.
          </p>
          <div class="charts">
            {chartsOf(step, perStep !== null).map(({ title, lines }) => (
              <figure key={title} class="chart" data-chart={JSON.stringify(lines)} hidden>
                <figcaption>
                  <strong>{title}</strong>
                  {lines.map(({ name, isDashed }) => (
                    <span key={name} class="key">
                      <i class={isDashed ? 'stroke dashed' : 'stroke'} aria-hidden="true" /> {name} <output />
                    </span>
                  ))}
                </figcaption>
                <div class="plot" role="img" aria-label={`${title} in ${words}, as a chart. The table below has it.`} />
              </figure>
            ))}
          </div>
          <details id="figures" data-rows={JSON.stringify(rows)} data-zone={timeZone}>
            <summary>These figures as a table</summary>
            <Table
              label={`Figures of ${words}`}
              head={head}
              numbers={head.slice(1)}
              rows={points
                .filter(({ delivered }) => delivered !== null)
                .reverse()
                .map((point) => cellsOf(point, perStep, timeZone))}
            />
          </details>
        </>
      )}
    </section>
  );
}

const head = [
  'From',
  'Acknowledged',
  'Not acknowledged',
  'Half within',
  '95 % within',
  'Waiting',
  'Oldest',
  'Requests',
  'Of the limit',
];

function chartsOf(step: string, hasLimit: boolean): { title: string; lines: Line[] }[] {
  return [
    {
      title: `Sent in ${step}`,
      lines: [
        { name: 'acknowledged', column: 1, unit: 'count' },
        { name: 'not acknowledged', column: 2, unit: 'count', isDashed: true },
      ],
    },
    {
      title: 'From capture to acknowledgement',
      lines: [
        { name: 'half within', column: 3, unit: 'span' },
        { name: '95 % within', column: 4, unit: 'span', isDashed: true },
      ],
    },
    {
      title: 'Backlog',
      lines: [
        { name: 'waiting', column: 5, unit: 'count' },
        { name: 'age of the oldest', column: 6, unit: 'span', isDashed: true },
      ],
    },
    hasLimit
      ? { title: 'Limit in use', lines: [{ name: 'of what it allows', column: 8, unit: 'percent' }] }
      : { title: `Requests in ${step}`, lines: [{ name: 'requests', column: 7, unit: 'count' }] },
  ];
}

/** The columns that lines name; the first one in seconds since 1970. */
function rowOf(point: Point, perStep: number | null): (number | null)[] {
  const { at, delivered, notDelivered, halfS, mostS, waiting, oldestS, requests } = point;
  const round = (value: number | null) => (value === null ? null : Math.round(value * 10) / 10);
  const share = percent(requests, perStep);
  return [at / 1_000, delivered, notDelivered, round(halfS), round(mostS), waiting, oldestS, requests, share];
}

function percent(requests: number | null, perStep: number | null): number | null {
  return requests === null || perStep === null ? null : Math.round((1_000 * requests) / perStep) / 10;
}

function cellsOf(point: Point, perStep: number | null, timeZone: string) {
  const { at, delivered, notDelivered, halfS, mostS, waiting, oldestS, requests } = point;
  const within = (seconds: number | null) => (seconds === null ? '–' : span(Math.ceil(seconds) * 1_000));
  const share = percent(requests, perStep);
  return [
    <Time key="at" ms={at} timeZone={timeZone} />,
    delivered,
    notDelivered,
    within(halfS),
    within(mostS),
    waiting ?? '–',
    within(oldestS),
    requests,
    share === null ? '–' : `${share} %`,
  ];
}
