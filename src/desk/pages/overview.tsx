import type { Settings } from '../../config/settings.js';
import { checkStatus } from '../../daemon/check-status.js';
import type { Status } from '../../daemon/read-status.js';
import { describeStatus } from '../../daemon/status-lines.js';
import type { Series } from '../../operator/figures/read-figures.js';
import { messageStates } from '../../outbound/outbox/message.js';
import { span } from '../../words/span.js';
import { tellWhole } from '../../words/words.js';
import { Charts } from '../charts/charts.js';
import { tightest } from '../monitoring/metrics.js';
import { Bounded, Count, Facts, State, Time } from './words.js';

interface Props {
  base: string;
  status: Status;
  series: Series;
  settings: Settings;
  nowMs: number;
  time: (ms: number) => string;
  /** Counts stop here. */
  most: number;
}

const levels = { OK: ['✓', 'Fine'], WARNING: ['!', 'Look at this'], CRITICAL: ['✕', 'Broken'] } as const;

export function Overview({ base, status, series, settings, nowMs, time, most }: Props) {
  const { level, text } = checkStatus(status, most);
  const { outbox, lastDeliveryAt, alerts } = status;
  const { timeZone } = settings.erp;
  const count = (...states: string[]) =>
    outbox.byState.filter(({ state }) => states.includes(state)).reduce((sum, one) => sum + one.count, 0);
  // A green tick is for what has succeeded, not for what has not failed yet.
  const isProven = level !== 'OK' || lastDeliveryAt !== null;
  const [mark, word] = isProven ? levels[level] : ['○', 'Nothing delivered yet'];
  const waiting = count('pending', 'sending', 'in_doubt');
  return (
    <>
      <p class="level" data-level={isProven ? level : undefined}>
        <span aria-hidden="true">{mark}</span> <strong>{word}</strong>: <Bounded text={text} />
      </p>
      <section class="tiles" aria-label="Is it flowing?">
        <Tile name="Waiting to be sent">
          <Count count={waiting} most={most} />
          <small>
            {outbox.oldestPendingAt === null
              ? 'Nothing waits.'
              : `The oldest was captured ${span(nowMs - outbox.oldestPendingAt)} ago.`}
          </small>
        </Tile>
        <Tile name="Last acknowledged">
          {lastDeliveryAt === null ? (
            <small>Nothing was acknowledged yet.</small>
          ) : (
            <>
              <span class="number">{span(nowMs - lastDeliveryAt)} ago</span>
              <small>
                <Time ms={lastDeliveryAt} timeZone={timeZone} />
              </small>
            </>
          )}
        </Tile>
        <Tile name="May have arrived">
          <Count count={count('in_doubt')} most={most} />
          <small>{count('in_doubt') === 0 ? 'Every outcome is proven.' : 'Sent, and not proven either way yet.'}</small>
          {status.lookUps.untilAt !== null && (
            <small>
              The service is asked again until <Time ms={status.lookUps.untilAt} timeZone={timeZone} />: it may still be
              working on {status.lookUps.count === 1 ? 'one of them' : `${status.lookUps.count} of them`}.
            </small>
          )}
        </Tile>
        <Tile name="Needs a person">
          <Count count={count('parked')} most={most} />
          <small>
            {count('parked') === 0 ? 'No record waits for a person.' : <a href={`${base}needs-a-person`}>See why</a>}
          </small>
        </Tile>
      </section>
      {alerts.length > 0 && (
        <section>
          <h2>Alerts</h2>
          <ul class="list">
            {alerts.map(({ cause, sinceAt, message }) => (
              <li key={cause}>
                <Time ms={sinceAt} timeZone={timeZone} /> <Bounded text={tellWhole(message, { time })} />
              </li>
            ))}
          </ul>
        </section>
      )}
      <Charts {...{ base, series, timeZone }} limitPerMinute={tightest(settings.service.limits)} />
      <section>
        <h2>Outbox</h2>
        <table>
          <thead>
            <tr>
              <th scope="col">State</th>
              <th scope="col" class="number">
                Customers
              </th>
              <th scope="col" class="number">
                Orders
              </th>
            </tr>
          </thead>
          <tbody>
            {messageStates.map((state) => (
              <tr key={state}>
                <th scope="row">
                  <State state={state} />
                </th>
                {(['customer', 'order'] as const).map((entity) => (
                  <td key={entity} class="number">
                    <Count
                      count={outbox.byState.find((one) => one.state === state && one.entity === entity)?.count ?? 0}
                      most={most}
                    />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <section>
        <h2>In detail</h2>
        <Facts rows={describeStatus(status, { settings, nowMs, time }).filter(([name]) => name !== 'Alerts')} />
      </section>
    </>
  );
}

// biome-ignore lint/suspicious/noExplicitAny: whatever can be shown
function Tile({ name, children }: { name: string; children: any }) {
  return (
    <div class="tile">
      <h2>{name}</h2>
      {children}
    </div>
  );
}
