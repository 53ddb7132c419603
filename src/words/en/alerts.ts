import type { AlertFacts, SettingsPart, StandsBy } from '../../model/facts/alerts.js';
import { openOutside } from '../../model/outside.js';
import { shellWord } from '../../model/shell-word.js';
import type { WordsFor } from '../sentence.js';

export const alertWords: WordsFor<AlertFacts> = {
  pause_in_force: ({ lane, pause, reason }, say) => ({
    text: `${laneInWords(lane)} is paused (${pause}): ${say.fact(reason)}`,
    remedy: pauseRemedy(lane, pause),
  }),
  messages_parked: ({ count, isMore }) => ({
    text: `${isMore ? 'more than ' : ''}${many(count, 'message is', 'messages are')} parked and ${count === 1 ? 'waits' : 'wait'} for a person`,
    remedy: 'See `waybill outbox --state parked --group-by reason`.',
  }),
  job_failing: ({ job, source, failures, failure }, say) => {
    const what = job === 'pull' ? 'Reading the invoices' : `Reading ${source ? `the source ${source}` : 'the ERP'}`;
    return `${what} failed ${failures} times in a row: ${failure ? say.fact(failure) : 'no reason is known'}`;
  },
  orders_gone: ({ count, sourceKey }) => ({
    text: `${count === 1 ? 'A delivered order is' : `${count} delivered orders are`} no longer at the service (key ${sourceKey}). Waybill does not create it again`,
    remedy:
      "Ask the service's operator who removed it; `waybill audit --event read_back --outcome gone` lists them. If it is there, check service.endpoints.readOrder.",
  }),
  record_waits: ({ entity, sourceKey, hours }) => ({
    text: `The ${entity} with the key ${sourceKey} has been waiting for ${hours} h, and is neither acknowledged nor parked`,
    remedy: `See what it waits for: waybill explain ${entity} ${shellWord(sourceKey)}`,
  }),
  nothing_succeeds: ({ hours }) => `no capture, delivery or pull has succeeded for ${hours} h`,
  changes_held: ({ entity, source, held, reason }, say) => ({
    text: `${ofSource(source)}${many(held, 'change', 'changes')} to ${entity}s ${held === 1 ? 'is' : 'are'} held: ${say.fact(reason)}`,
    remedy: 'Look at them with `waybill confirm`.',
  }),
  source_held: ({ entity, source, reason }, say) => ({
    text: `${ofSource(source)}Updates and removals of ${entity}s are held: ${say.fact(reason)}`,
    remedy: 'Look at the ERP, then `waybill confirm`.',
  }),
  rows_without_key: ({ entity, source, rows }) => {
    const them = rows === 1 ? 'it' : 'them';
    return {
      text: `${ofSource(source)}${many(rows, 'row', 'rows')} of ${entity}s.query can not be sent: the key is NULL`,
      remedy: `Give ${them} a key in the ERP, or leave ${them} out in the query.`,
    };
  },
  orders_left: ({ source, orders, some }, say) => {
    const named = some.map(({ key, reason }) => `${key} (${say.fact(reason)})`).join(', ');
    const more = orders > some.length ? `, and ${orders - some.length} more` : '';
    return {
      text: `${ofSource(source)}${many(orders, 'order that the service has is', 'orders that the service has are')} not pending any more, and nothing says that it was cancelled or completed: ${named}${more}. Nothing was sent`,
      remedy: 'Correct orders.pending, or name the value in orders.completed or orders.cancelled.',
    };
  },
  keys_forgotten: ({ acknowledged, existed, orders, isAsked }) => ({
    text:
      `${existed} customers that were sent again under their keys exist at the service already, and ${acknowledged} were acknowledged: it may have forgotten the keys. ` +
      `${orders} orders that may have been sent are not sent again${isAsked ? '. Waybill asks the service for each of them' : ''}`,
    remedy: isAsked
      ? null
      : 'Name the ids of those that are there (`waybill outbox resolve --entity order --delivered --file ids.csv --reason "…"`); `--not-delivered` sends the others.',
  }),
  endpoint_ends: ({ endpoint, address, deprecatedAt, sunsetAt }) => {
    const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
    const said = [
      deprecatedAt === true && 'is deprecated',
      typeof deprecatedAt === 'number' && `is deprecated from ${day(deprecatedAt)}`,
      sunsetAt !== null && `ends on ${day(sunsetAt)}`,
    ].filter(Boolean);
    return {
      text: `The service says that ${address} ${said.join(' and ')}`,
      remedy: `Move service.endpoints.${endpoint} to its newer version${sunsetAt === null ? '' : ' before then'}.`,
    };
  },
  states_unnamed: ({ entity, states }) => ({
    text: `The service gives ${entity}s states that service.states.${entity} does not name: ${states.map((state) => JSON.stringify(state)).join(', ')}. They are kept as they are`,
    remedy: `Name them in service.states.${entity}.`,
  }),
  read_forbidden: ({ endpoint, id, reason }, say) => ({
    text: `The service does not let us read ${id}: ${withEnd(say.fact(reason))} Everything else goes on`,
    remedy: `Check service.endpoints.${endpoint} and the permissions of the account.`,
  }),
  invoices_set_aside: ({ aside, understood, known, invoiceNo, reason }, say) => {
    const one = `${invoiceNo === null ? 'one without a number' : invoiceNo}${reason ? `: ${say.fact(reason)}` : ''}`;
    const old =
      known > 0 ? `. ${many(known, 'listed invoice keeps its', 'listed invoices keep their')} older values` : '';
    return {
      text: `${aside} of ${many(aside + understood, 'invoice', 'invoices')} on the service's list ${aside === 1 ? 'is' : 'are'} invalid and not listed here, such as ${one}${old}`,
      remedy: 'See them with `waybill invoices --malformed`, and have them corrected at the service.',
    };
  },
  invoices_held: ({ leaving, some, drop }, say) => {
    const what = drop ? say.fact(drop) : `${leaving} invoices that were held are missing still, and stay listed`;
    const first = `${some.join(', ')}${leaving > some.length ? ', …' : ''}`;
    return {
      text: `${what}: ${first}${drop ? '. The list stays as it was' : ''}`,
      remedy: 'Look at the service, then `waybill confirm invoices`.',
    };
  },
  webhooks_forged: () => ({
    text: 'Many webhooks come with a signature that none of our secrets made. They changed nothing. Either somebody forges them, or the secret was changed at the service',
    remedy: 'Compare the secret with webhooks.secretFiles.',
  }),
  write_back_failing: ({ failures }, say) =>
    `${failures.map((failure) => withEnd(say.fact(failure))).join(' / ')} Capture, delivery and pull go on; what could not be written is written when this works again.`,
  write_back_refused: ({ refusals }, say) => {
    const words = refusals.map(
      ({ kind, count, recordKey, refusal }) =>
        `${count} ${kind} could not be written back, among them ${recordKey}: ${withEnd(say.fact(refusal))}`,
    );
    return `${words.join(' / ')} The others are written; these are tried again every quarter of an hour.`;
  },
  write_back_moves_changed_at: ({ kind }) => ({
    text: `The statement writeBack.${kind}.upsert moves ${kind}.changedAt of the rows that it writes, so that capture reads them all again. Nothing is sent twice`,
    remedy: 'Write to a side table instead, or to a table without that column.',
  }),
  node_clock_off: ({ node, aheadSeconds, rests }) => ({
    text: `The clock of node ${node} is ${Math.abs(aheadSeconds)} s ${aheadSeconds < 0 ? 'behind' : 'ahead of'} that of the store${rests ? ', so it sends nothing: a long limit would be miscounted' : ''}`,
    remedy: 'Set the clock of that machine, and let it follow a time server.',
  }),
  node_cannot_send: ({ node, cause, others, failure }, say) => ({
    text: `Node ${node} ${cause === 'credential' ? 'sends nothing, because the service refuses its credential' : 'does not reach the service'}: ${withEnd(say.fact(failure))} ${others.length > 0 ? `Delivery goes on from ${others.join(', ')}` : 'No other node can send'}`,
    remedy:
      cause === 'credential'
        ? 'Replace the credential on that machine: a new file is tried without a restart.'
        : 'Check the network of that machine: `waybill doctor` there. Waybill tries again by itself.',
  }),
  node_stands_by: ({ node, process, why }) => standByWords(node, process, why),
  node_silent: ({ node }) => ({
    text: `Node ${node} has been silent for some seconds: it is frozen, or does not reach the store. Other nodes have its places and its messages once its lease is over`,
    remedy: 'Look after its process and its machine.',
  }),
  node_cannot_lead: ({ node, leader, failure }, say) => ({
    text: `Node ${node} could not read the ERP, so node ${leader} leads: ${say.fact(failure)}`,
    remedy: `Check its settings of the ERP and its way to it: \`waybill doctor\` there. Waybill lets it lead again after ten minutes, where no other node can.`,
  }),
  node_settings_differ: ({ node, leader, parts }) => ({
    text: `Node ${node} has other settings than node ${leader}, which leads: ${parts.map((part) => settingsInWords[part]).join(', ')}`,
    remedy: 'Give all nodes the same settings, and restart the one that was wrong.',
  }),
  redis_away: ({ node, reason }) => ({
    text: `Node ${node} delivers without Redis (${openOutside(reason)}): orders go out, and the nodes share the work less evenly`,
    remedy: 'Check cluster.redis and the server.',
  }),
  witness_unwritten: ({ file, reason }) => ({
    text: `The witness of the store can not be written (${openOutside(reason)}). A loss of the store could go unnoticed, and then its orders would go out twice`,
    remedy: `Give the folder of ${file} to the account that runs Waybill, and room on its disk.`,
  }),
};

function standByWords(node: string, process: string, why: StandsBy): { text: string; remedy: string } {
  const text = `${process}, node ${node}, stands by`;
  switch (why.code) {
    case 'name_taken':
      return { text: `${text}: another process has its name`, remedy: 'Give it another cluster.node.' };
    case 'alone':
      return {
        text: `${text}: nodes and a deliverer without cluster.enabled exclude each other`,
        remedy: 'Set cluster.enabled for all, or for none.',
      };
    case 'other_settings':
      return {
        text: `${text}: node ${why.node} has other ${why.setting}`,
        remedy: `Give both the same ${why.setting}, and restart the one that was wrong.`,
      };
    case 'own_requests':
      return { text: `${text}: its last requests still count`, remedy: 'It joins by itself.' };
  }
}

const settingsInWords: Readonly<Record<SettingsPart, string>> = {
  installation: 'installation',
  address: 'service.baseUrl',
  mapping: 'customers, orders or amounts',
  sources: 'sources',
  keys: 'service.idempotency',
  quiet_hours: 'schedule.quietHours',
};

const subjects: Readonly<Record<string, string>> = {
  capture: 'Capture',
  deliver: 'Delivery',
  pull: 'The invoice pull',
  service: 'Everything that talks to the service',
};

function laneInWords(lane: string): string {
  const [job = '', source] = lane.split('.');
  return `${subjects[job] ?? job}${source ? ` of source ${source}` : ''}`;
}

/** The command that ends a pause, for a lane. */
export function resumeCommand(lane: string): string {
  return `waybill resume ${lane.replace('.', ' --source ')}`;
}

function pauseRemedy(lane: string, pause: string): string | null {
  const end = `: \`${resumeCommand(lane)}\`.`;
  switch (pause) {
    // These end by themselves.
    case 'outage':
    case 'throttled':
    case 'limit':
    case 'quiet':
      return null;
    case 'operator':
      return `End the pause${end}`;
    case 'credential':
      return `Replace the credential: a new file is tried without a restart. If the cause was at the service, end the pause${end}`;
    case 'misconfigured':
      return `Check the address and the permissions of the account, then end the pause${end}`;
    default:
      return `Remove the cause, then end the pause${end}`;
  }
}

function ofSource(source: string | null): string {
  return source ? `Source ${source}: ` : '';
}

function many(count: number, one: string, more: string): string {
  return `${count} ${count === 1 ? one : more}`;
}

/** A sentence with its full stop. */
function withEnd(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}
