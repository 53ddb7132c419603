import type { Settings } from '../../config/settings.js';
import type { FoundRecord } from '../../operator/find-records.js';
import { amountWithCurrency, shorten, timeFormatter } from '../../operator/format.js';

/** No text from outside is longer on a page. */
const longestText = 2_000;

export function Bounded({ text, most = longestText }: { text: string; most?: number }) {
  return <>{shorten(text, most)}</>;
}

/** A command to type, which can be selected whole. */
export function Command({ text }: { text: string }) {
  return <code class="command">{text}</code>;
}

/** An instant in the desk’s time zone; UTC when pointed at. */
export function Time({ ms, timeZone }: { ms: number; timeZone: string }) {
  const utc = new Date(ms).toISOString();
  return (
    <time dateTime={utc} title={`${utc} (UTC)`}>
      {timeFormatter(timeZone)(ms)}
    </time>
  );
}

const grouped = new Intl.NumberFormat('en', { useGrouping: true });

/** A count that may stop at `most`. */
export function Count({ count, most = Number.POSITIVE_INFINITY }: { count: number; most?: number }) {
  return (
    <span class="number">
      {grouped.format(Math.min(count, most))}
      {count >= most && '+'}
    </span>
  );
}

/** Sums by currency, one a line. */
export function Money({ totals, amounts }: { totals: ReadonlyMap<string, bigint>; amounts: Settings['amounts'] }) {
  if (totals.size === 0) return <span class="faint">no orders</span>;
  return (
    <>
      {[...totals].map(([code, sum]) => (
        <span key={code} class="number line">
          {amountWithCurrency(amounts, String(sum), code === 'unknown' ? null : code)}
        </span>
      ))}
    </>
  );
}

/** The permanent link of a record. */
export function recordPath(base: string, { entity, sourceKey }: Pick<FoundRecord, 'entity' | 'sourceKey'>): string {
  return `${base}${entity}/${encodeURIComponent(sourceKey)}`;
}

export function RecordLink({ base, record }: { base: string; record: FoundRecord }) {
  const { entity, sourceKey, number } = record;
  const name = number === null ? sourceKey : `${number} (key ${sourceKey})`;
  return (
    <a href={recordPath(base, record)}>
      {entity} <Bounded text={name} most={120} />
    </a>
  );
}

const marks: Record<string, string> = {
  pending: '○',
  sending: '◐',
  in_doubt: '?',
  delivered: '✓',
  parked: '!',
  superseded: '–',
  discarded: '×',
};

/** A state in a word and a shape, so that no one has to tell it by its colour. */
export function State({ state }: { state: string }) {
  return (
    <span class="state" data-state={state}>
      <span aria-hidden="true">{marks[state] ?? '·'}</span> {state.replace('_', ' ')}
    </span>
  );
}

/** Names with their texts below one another; a name without any text is left out. */
export function Facts({ rows }: { rows: readonly (readonly [name: string, ...texts: (string | null | false)[]])[] }) {
  const shown = rows
    .map(([name, ...texts]) => [name, texts.filter((text) => text !== null && text !== false)] as const)
    .filter(([, texts]) => texts.length > 0);
  return (
    <dl class="facts">
      {shown.map(([name, texts]) => (
        <div key={name}>
          <dt>{name.replace(/:$/, '')}</dt>
          {texts.map((text) => (
            <dd key={text}>
              <Bounded text={text} />
            </dd>
          ))}
        </div>
      ))}
    </dl>
  );
}
