import type { KeyColumns, LiveTerm, WorkFacts } from '../../model/facts/work.js';
import { isOutside, openOutside } from '../../model/outside.js';
import type { WordsFor } from '../sentence.js';

const liveTerms: Readonly<Record<LiveTerm, string>> = {
  installation: 'the installation name',
  environment: 'the environment of the service',
  machine: 'the machine',
  erp: 'the ERP database',
  service: 'the address of the service',
  orders: 'which orders are sent',
};

const columns = ({ erp, key }: KeyColumns) => `${key.join(' + ')} in ${erp}`;

export const workWords: WordsFor<WorkFacts> = {
  store_failed: ({ message }) => openOutside(message),
  erp_failed: ({ message }) => openOutside(message),
  capture_refused: ({ reason }, say) => (isOutside(reason) ? openOutside(reason) : say.fact(reason)),
  capturing_elsewhere: ({ holder, freeInMs }) =>
    `${holder} is capturing; its place is free in ${Math.ceil(freeInMs / 1000)} s at the latest`,
  capture_paused: ({ reason }, say) => `capture is paused: ${say.fact(reason)}`,
  sources_not_read: ({ reasons }, say) => reasons.map((reason) => say.fact(reason)).join('; '),
  left_to_holder: ({ holder, quiet, open, pulled }, say) => {
    const left = [
      ...quiet.map(({ lane, reason }) => `${lane} is ${say.fact(reason)}`),
      open > 0 ? `${open} messages are still open` : '',
      pulled ? '' : 'it has not pulled the invoices yet',
    ].filter(Boolean);
    return `${holder} delivers, and ${left.join(', and ')}`;
  },

  not_live_yet: () => 'not live yet: nothing is sent to a production service before `waybill go-live`',
  live_terms_changed: ({ changes }) => {
    const list = changes.map(({ term, was, is }) => `${liveTerms[term]} was ${was} and is ${is}`).join('; ');
    return `held since something changed: ${list}. If that is right, say \`waybill go-live\` again`;
  },
  live_nowhere: () => 'the store is not live on any machine yet: say `waybill go-live` where it is to run first',
  live_term_differs: ({ term, was, is }) => `${liveTerms[term]} was ${was} and is ${is}`,
  store_of_other_environment: ({ was, is }) =>
    `the store belongs to the ${was} environment; give ${is} a store of its own (settings under \`store\`)`,
  held_since_loss: ({ loss }, say) =>
    `held because ${say.fact(loss)}. What was sent has to be known again first: \`waybill recover\``,
  keys_differ: ({ name, was, now }) =>
    name === null
      ? `${columns(was)}, and now ${columns(now)}`
      : `those of source ${name} (${columns(was)}), and now ${columns(now)}`,
  keys_not_trusted: ({ entity, change, entities, source, former, needsGoLive }, say) => {
    const ofSource = source === '' ? '' : ` of source ${source}`;
    const steps = [
      ...entities.map((one) => `\`waybill rekey ${one}s --same${source === '' ? '' : ` --source ${source}`}\``),
      ...(needsGoLive ? ['`waybill go-live`'] : []),
    ].join(', then ');
    const what = `the keys of ${entity}s${ofSource} were ${say.fact(change)}: every ${entity} would go out a second time`;
    if (former !== null)
      return `${what}. Put the name ${former} back. Or, if these are other records than those of ${former}, say ${steps}`;
    const back = [...entities.map((one) => `\`${one}s.key\``), '`erp`'].join(' and ');
    const own =
      'If this is the configuration of another ERP, give it a store of its own (`store.file`, or another database)';
    return `${what}. Put ${back} back. ${own}. Or, if each key still names the same record, say ${steps}; without --same if the keys have other values now`;
  },
  rekey_unfinished: ({ entity }) =>
    `\`waybill rekey ${entity}s\` did not come to its end: run it again, under the settings that it was begun with`,

  store_unwitnessed: () =>
    'there is no witness file of this store here, so it may be an older copy of itself. If it is the store that ran last, say `waybill recover --same-store`',
  store_before_recovery: ({ until }, say) =>
    `the store is a copy from before a recovery or a rekey: what took its place ran here until ${say.time(until)}`,
  store_is_another: ({ until }, say) =>
    `the store is not the one that ran here until ${say.time(until)} (it was lost, or the settings under \`store\` name another one)`,
  store_is_older: ({ line, known, at }, say) =>
    `the store is an older copy of itself: its last audit line is number ${line}, and ${known} was there at ${say.time(at)}`,
  store_went_back: () =>
    'the store went back to an older state while Waybill ran (a failover to a replica that was behind, or a restored copy)',
  loss_stated: () => 'a person said that a store was lost or replaced by an older copy',

  failed: ({ message }) => openOutside(message),

  erp_silent: () => 'The ERP has not answered in time. Try again in a minute.',
  erp_read_for_others: () => 'The ERP is being read for others. Try again in a moment.',
  row_not_in_erp: () => 'The ERP has no row with this key any more, or its query leaves it out.',
  row_no_record_now: ({ reason }, say) => `Its row can’t become a record now: ${say.fact(reason)}`,
  erp_not_readable_now: ({ reason }, say) => `The ERP can’t be read now: ${say.fact(reason)}`,
};
