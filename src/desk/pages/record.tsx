import type { Settings } from '../../config/settings.js';
import type { Explanation } from '../../operator/explain-record.js';
import type { FoundRecord } from '../../operator/find-records.js';
import type { ErpNow, KnownValues } from '../../operator/values/record-values.js';
import { describeHead } from '../../telling/describe-head.js';
import { describeStory } from '../../telling/describe-story.js';
import { isDoubtful, isItThere } from '../../telling/is-it-there.js';
import { storyTimeline } from '../../telling/story-timeline.js';
import { type Offers, RecordActions } from './action-forms.js';
import { Values } from './values.js';
import { Bounded, Command, Facts, recordPath, State, Time } from './words.js';

interface Props {
  base: string;
  record: Pick<FoundRecord, 'entity' | 'sourceKey'>;
  /** null: who looks may not act. */
  offers: Offers | null;
  explanation: Explanation;
  values: { known: KnownValues; now: ErpNow | null };
  settings: Settings;
  time: (ms: number) => string;
}

/** The same facts as `waybill explain`, from the same query. */
export function Record({ base, record, offers, explanation, values, settings, time }: Props) {
  const { story, circumstances, audit, olderAudit } = explanation;
  const words = describeStory(story, { ...circumstances, time });
  const { timeZone } = settings.erp;
  const newest = story.messages.at(-1);
  const state = newest?.state;
  const presence = newest && isDoubtful(newest) ? isItThere(story, time) : null;
  return (
    <>
      {state !== undefined && (
        <p>
          <State state={state} />
        </p>
      )}
      <Facts rows={describeHead(explanation, words, settings, time).rows} />
      {words.todo.length > 0 && (
        <section>
          <h2>What you can do</h2>
          <ul class="list">
            {words.todo.map(({ text, command }) => (
              <li key={`${text}${command}`}>
                <Bounded text={text} /> {command !== null && <Command text={command} />}
              </li>
            ))}
          </ul>
        </section>
      )}
      {offers !== null && <RecordActions {...{ base, record, offers, presence, time }} />}
      <Values {...values} askAt={`${recordPath(base, record)}?erp=now#values`} timeZone={timeZone} />
      <section>
        <h2>What happened</h2>
        {(olderAudit || story.attemptsLeftOut > 0) && <p class="faint">Older lines stand in the audit.</p>}
        <ol class="timeline">
          {storyTimeline(story, audit, time).map(({ at, text, more }, index) => (
            <li key={index}>
              <Time ms={at} timeZone={timeZone} />
              <div>
                <Bounded text={text} />
                {more.map((line) => (
                  <p key={line} class="words">
                    <Bounded text={line} />
                  </p>
                ))}
              </div>
            </li>
          ))}
        </ol>
      </section>
    </>
  );
}

export function UnknownRecord({ lookedUp, hints }: { lookedUp: readonly string[]; hints: readonly string[] }) {
  return (
    <>
      <p>Waybill knows nothing of it. Looked up as: {lookedUp.join(', ')}.</p>
      <h2>Possible reasons</h2>
      <ul class="list">
        {hints.map((hint) => (
          <li key={hint}>
            <Bounded text={hint} />
          </li>
        ))}
      </ul>
    </>
  );
}
