import type { Settings } from '../../config/settings.js';
import type { ParkedGroup } from '../../operator/figures/group-parked.js';
import { parkClassInWords } from '../../telling/describe-story.js';
import { tellCause } from '../../words/words.js';
import { GroupActions } from './action-forms.js';
import { Bounded, Count, Money, RecordLink, Time } from './words.js';

interface Props {
  base: string;
  groups: readonly ParkedGroup[];
  isAll: boolean;
  /** True if the viewer may act. */
  mayAct: boolean;
  /** Masks personal data; null: it is shown. Nobody acts on a group whose reason is masked. */
  cover: ((text: string) => string) | null;
  settings: Settings;
}

export function NeedsAPerson({ base, groups, isAll, mayAct, cover, settings }: Props) {
  const { timeZone } = settings.erp;
  if (groups.length === 0)
    return <p>No record waits for a person. What Waybill can settle by itself, it goes on trying.</p>;
  return (
    <>
      {!isAll && <p class="alert">More wait than are counted here: figures and sums are of a part.</p>}
      {groups.map(({ parkClass, reasonHash, reason, count, totals, firstAt, lastAt, samples }) => (
        <section class="group" key={`${parkClass} ${reasonHash}`}>
          <h2>
            <Bounded text={reason === null ? 'No reason on record' : tellCause(reason)} most={300} />
          </h2>
          <p>{parkClassInWords[parkClass ?? 'refused']}</p>
          <dl class="facts">
            <div>
              <dt>Records</dt>
              <dd>
                <Count count={count} />
                {!isAll && '+'}
              </dd>
            </div>
            <div>
              <dt>Value of the orders</dt>
              <dd>
                <Money totals={totals} amounts={settings.amounts} />
              </dd>
            </div>
            <div>
              <dt>First and last captured</dt>
              <dd>
                <Time ms={firstAt} timeZone={timeZone} /> to <Time ms={lastAt} timeZone={timeZone} />
              </dd>
            </div>
            <div>
              <dt>For example</dt>
              {samples.map((record) => (
                <dd key={`${record.entity} ${record.sourceKey}`}>
                  <RecordLink base={base} record={record} />
                </dd>
              ))}
            </div>
          </dl>
          {mayAct &&
            (reason !== null && cover !== null && cover(tellCause(reason)) !== tellCause(reason) ? (
              <p>Its reason holds personal data. To act on all of them, show it first, below.</p>
            ) : (
              <GroupActions base={base} group={{ parkClass, reasonHash, samples }} />
            ))}
        </section>
      ))}
    </>
  );
}
