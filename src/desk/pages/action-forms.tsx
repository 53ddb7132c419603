import type { Offer } from '../../operator/actions/action.js';
import { type ActionName, actionNames, actionOf } from '../../operator/actions/actions.js';
import type { ParkedGroup } from '../../operator/figures/group-parked.js';
import type { FoundRecord } from '../../operator/find-records.js';
import type { Presence } from '../../telling/is-it-there.js';
import { labelsOf } from '../../words/en/action-labels.js';
import { tell } from '../../words/words.js';
import { Bounded } from './words.js';

/** The actions for a record, in the order of the buttons. */
export type Offers = readonly { name: ActionName; offer: Offer }[];

/** Opens the preview of an action. Values are encoded: a page writes other characters than it was given where those would turn a text. */
export function ActionForm(props: {
  base: string;
  action: ActionName;
  fields: { [name: string]: string | null | undefined };
  label?: string;
  /** Inputs of the action that a person has to type first. */
  needs?: readonly string[];
}) {
  const { base, action, fields, needs = [] } = props;
  const labels = labelsOf(action);
  return (
    <form method="get" action={`${base}act`} class="action">
      <input type="hidden" name="action" value={action} />
      {Object.entries(fields).map(([name, value]) =>
        value === null || value === undefined ? null : (
          <input key={name} type="hidden" name={name} value={encodeURIComponent(value)} />
        ),
      )}
      {needs.map((name) => {
        const label = labels.inputs?.[name]?.label ?? name;
        return <input key={name} name={name} aria-label={label} placeholder={label} maxLength={255} required />;
      })}
      <button type="submit">{props.label ?? labels.label} …</button>
    </form>
  );
}

/** The actions that are possible for one record now, and the others with the reason against each. */
export function RecordActions({
  base,
  record: { entity, sourceKey },
  offers,
  presence,
  time,
}: {
  base: string;
  record: Pick<FoundRecord, 'entity' | 'sourceKey'>;
  offers: Offers;
  /** The facts for a person who may have to settle it; null: there is no doubt. */
  presence: Presence | null;
  time: (ms: number) => string;
}) {
  const fields = { entity, record: sourceKey };
  const possible = offers.flatMap(({ name, offer }) => ('needs' in offer ? [{ name, needs: offer.needs }] : []));
  const impossible = offers.flatMap(({ name, offer }) => ('why' in offer ? [{ name, why: offer.why }] : []));
  const now = possible.filter(({ name }) => !actionOf(name).isFinal);
  return (
    <>
      <section>
        <h2>Act</h2>
        {presence !== null && (
          <p class="evidence">
            Is it at the service? <strong>{presence.answer}</strong>: <Bounded text={presence.words} most={600} />.
          </p>
        )}
        {now.length === 0 ? (
          <p>There is nothing to do by hand now.</p>
        ) : (
          <div class="actions">
            {now.map(({ name, needs }) => (
              <ActionForm key={name} {...{ base, fields, needs }} action={name} />
            ))}
          </div>
        )}
        {impossible.length > 0 && (
          <details>
            <summary>What can’t be done now, and why</summary>
            <dl class="facts">
              {impossible.map(({ name, why }) => (
                <div key={name}>
                  <dt>{labelsOf(name).label}</dt>
                  <dd>
                    <Bounded text={tell(why, { time })} most={400} />
                  </dd>
                </div>
              ))}
            </dl>
          </details>
        )}
      </section>
      {possible
        .filter(({ name }) => actionOf(name).isFinal)
        .map(({ name, needs }) => (
          <details key={name}>
            <summary>{labelsOf(name).label}</summary>
            <p>{labelsOf(name).warning}</p>
            <ActionForm {...{ base, fields, needs }} action={name} />
          </details>
        ))}
    </>
  );
}

/** Actions on all messages that a filter shows. */
export function ListActions({ base, fields }: { base: string; fields: { [name: string]: string } }) {
  return (
    <div class="actions">
      {actionNames
        .filter((name) => actionOf(name).onList)
        .map((name) => (
          <ActionForm key={name} {...{ base, fields }} action={name} />
        ))}
    </div>
  );
}

/** The actions that make sense for all records that wait for one cause. */
export function GroupActions({
  base,
  group: { parkClass, reasonHash, samples },
}: {
  base: string;
  group: Pick<ParkedGroup, 'parkClass' | 'reasonHash' | 'samples'>;
}) {
  const entity = samples[0]?.entity;
  return (
    <div class="actions">
      {parkClass === 'held' && (
        <ActionForm {...{ base }} action="held_send" fields={{ entity, first: '1' }} label="Send ten of them first" />
      )}
      {actionNames
        .filter((name) => actionOf(name).causes?.includes(parkClass ?? 'refused'))
        .map((name) => (
          <ActionForm
            key={name}
            {...{ base }}
            action={name}
            fields={parkClass === 'held' ? { entity } : { class: parkClass, cause: reasonHash }}
            label={`${labelsOf(name).label}${parkClass === 'held' ? `: all ${entity}s` : ''}`}
          />
        ))}
    </div>
  );
}
