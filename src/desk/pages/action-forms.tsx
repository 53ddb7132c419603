import type { OperatorAction } from '../../operator/actions/decide-message.js';
import type { PossibleActions } from '../../operator/actions/possible-actions.js';
import type { ParkedGroup } from '../../operator/figures/group-parked.js';
import type { FoundRecord } from '../../operator/find-records.js';
import type { Presence } from '../../operator/values/is-it-there.js';
import { Bounded } from './words.js';

type Action = PossibleActions['possible'][number] | 'held_invoices' | 'forget';

/** Each leads to a preview. */
const names: Record<Action, string> = {
  retry: 'Try again',
  discard: 'Discard',
  delivered: 'It is at the service',
  not_delivered: 'It is not at the service',
  look_up: 'Ask the service for it',
  held_send: 'Send what is held',
  held_adopt: 'Adopt without sending',
  held_discard: 'Discard what is held',
  held_invoices: 'Take them off the list',
  forget: 'Erase the personal data',
};

/** Opens the preview of an action. Values are encoded: a page writes other characters than it was given where those would turn a text. */
export function ActionForm(props: {
  base: string;
  action: Action;
  fields: { [name: string]: string | null | undefined };
  label?: string;
  needsServiceId?: boolean;
}) {
  const { base, action, fields, label = names[action], needsServiceId = false } = props;
  return (
    <form method="get" action={`${base}act`} class="action">
      <input type="hidden" name="action" value={action} />
      {Object.entries(fields).map(([name, value]) =>
        value === null || value === undefined ? null : (
          <input key={name} type="hidden" name={name} value={encodeURIComponent(value)} />
        ),
      )}
      {needsServiceId && (
        <input
          name="serviceId"
          aria-label="Its id at the service"
          placeholder="Its id at the service"
          maxLength={255}
          required
        />
      )}
      <button type="submit">{label} …</button>
    </form>
  );
}

/** What can be done with one record now, and what can’t and why. */
export function RecordActions({
  base,
  record: { entity, sourceKey },
  actions: { possible, needsServiceId, impossible },
  presence,
}: {
  base: string;
  record: Pick<FoundRecord, 'entity' | 'sourceKey'>;
  actions: PossibleActions;
  /** What is known where a person may have to settle it; null: there is no doubt. */
  presence: Presence | null;
}) {
  return (
    <section>
      <h2>Act</h2>
      {presence !== null && (
        <p class="evidence">
          Is it at the service? <strong>{presence.answer}</strong>: <Bounded text={presence.words} most={600} />.
        </p>
      )}
      {possible.length === 0 ? (
        <p>There is nothing to do by hand now.</p>
      ) : (
        <div class="actions">
          {possible.map((action) => (
            <ActionForm
              key={action}
              {...{ base, action }}
              fields={{ entity, record: sourceKey }}
              needsServiceId={action === 'delivered' && needsServiceId}
            />
          ))}
        </div>
      )}
      {impossible.length > 0 && (
        <details>
          <summary>What can’t be done now, and why</summary>
          <dl class="facts">
            {impossible.map(({ action, why }) => (
              <div key={action}>
                <dt>{names[action]}</dt>
                <dd>
                  <Bounded text={why} most={400} />
                </dd>
              </div>
            ))}
          </dl>
        </details>
      )}
    </section>
  );
}

const groupActions: Record<string, OperatorAction[]> = {
  refused: ['retry', 'discard'],
  unproven: ['retry', 'look_up', 'not_delivered'],
  conflict: ['discard', 'not_delivered'],
  unmapped: ['discard'],
};

/** What makes sense for all records that wait for one cause. */
export function GroupActions({
  base,
  group: { parkClass, reason, samples },
}: {
  base: string;
  group: Pick<ParkedGroup, 'parkClass' | 'reason' | 'samples'>;
}) {
  const entity = samples[0]?.entity;
  if (parkClass === 'held')
    return (
      <div class="actions">
        <ActionForm {...{ base }} action="held_send" fields={{ entity, first: '1' }} label="Send ten of them first" />
        {(['held_send', 'held_adopt', 'held_discard'] as const).map((action) => (
          <ActionForm
            key={action}
            {...{ base, action }}
            fields={{ entity }}
            label={`${names[action]}: all ${entity}s`}
          />
        ))}
      </div>
    );
  return (
    <div class="actions">
      {(groupActions[parkClass ?? 'refused'] ?? []).map((action) => (
        <ActionForm key={action} {...{ base, action }} fields={{ class: parkClass, cause: reason }} />
      ))}
    </div>
  );
}
