import type { ErpNow, KnownValues } from '../../operator/values/record-values.js';
import { sideBySide } from '../../operator/values/side-by-side.js';
import { tellWhole } from '../../words/words.js';
import { Table } from './table.js';
import { Bounded, Time } from './words.js';

interface Props {
  known: KnownValues;
  /** The ERP's values at this moment; null: it was not asked. */
  now: ErpNow | null;
  /** The address that asks the ERP. */
  askAt: string;
  timeZone: string;
}

const longestValue = 300;
const longestBody = 20_000;

/** The ERP's values beside what the service last acknowledged, and what differs. */
export function Values({ known: { captured, acknowledged, body }, now, askAt, timeZone }: Props) {
  const isNow = now !== null && 'record' in now;
  const erp = isNow ? now.record : (captured?.record ?? null);
  const isComparable = erp !== null && acknowledged !== null;
  const { fields, differing, leftOut } = sideBySide(erp, acknowledged?.record ?? null);
  return (
    <section id="values">
      <h2>Values</h2>
      {now !== null && 'problem' in now && (
        <p role="alert" class="alert">
          <Bounded text={tellWhole(now.problem)} most={500} />
        </p>
      )}
      <p>
        {isNow && 'The ERP was read just now. '}
        {!isNow && captured === null && 'The values that were captured are not kept. '}
        {!isNow && captured !== null && (
          <>
            The ERP’s values are those of <Time ms={captured.at} timeZone={timeZone} />, when it was captured last.{' '}
          </>
        )}
        {acknowledged === null ? (
          'What the service acknowledged of it is not known, or nothing. '
        ) : (
          <>
            The service acknowledged its values on <Time ms={acknowledged.at} timeZone={timeZone} />.{' '}
            {erp !== null && (differing === 0 ? 'Nothing differs. ' : `${differing} of them differ. `)}
          </>
        )}
        <a href={askAt}>{isNow ? 'Read it in the ERP again' : 'Read it in the ERP now'}</a>
      </p>
      {fields.length > 0 && (
        <Table
          label="Values on both sides"
          head={['Field', isNow ? 'The ERP now' : 'The ERP, as captured', 'The service acknowledged', 'Compared']}
          rows={fields.map(({ field, erp: ours, acknowledged: theirs, differs }) => [
            <Bounded key="field" text={field} most={120} />,
            <Value key="erp" text={ours} />,
            <Value key="acknowledged" text={theirs} />,
            differs ? (
              <strong key="differs" class="differs">
                ≠ differs
              </strong>
            ) : (
              isComparable && 'same'
            ),
          ])}
        />
      )}
      {body !== null && (
        <details>
          <summary>The exact bytes that are sent, frozen with their key</summary>
          <pre class="body">
            <Bounded text={body} most={longestBody} />
          </pre>
        </details>
      )}
      {leftOut > 0 && <p class="faint">And {leftOut} more fields, in which nothing differs.</p>}
    </section>
  );
}

function Value({ text }: { text: string | null }) {
  return text === null ? <span class="faint">–</span> : <Bounded text={text} most={longestValue} />;
}
