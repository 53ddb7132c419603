import type { ServiceFacts, TextProblem } from '../../model/facts/service.js';
import { type Outside, openOutside } from '../../model/outside.js';
import type { WordsFor } from '../sentence.js';

const textProblems: Readonly<Record<TextProblem, string>> = {
  missing: 'is missing',
  no_text: 'is no text',
  empty: 'is empty',
  too_long: 'is longer than 255 characters',
  unreadable: 'holds characters that are no text',
  number: 'is a number',
  no_time: 'is no date and time with an offset from UTC',
};

interface Answered {
  status: number;
  errorCode: Outside | null;
  message: Outside | null;
}

/** `HTTP 422 invalid_sku: the service's words` */
function answered({ status, errorCode, message }: Answered, said = ''): string {
  const code = errorCode === null ? '' : ` ${openOutside(errorCode)}`;
  return `HTTP ${status}${said}${code}: ${message === null ? 'no reason given' : openOutside(message)}`;
}

/** The driver's words, with its code where they lack it. */
function failed({ errno, message }: { errno: string; message: Outside }): string {
  // undici's limit.
  if (errno === 'UND_ERR_HEADERS_OVERFLOW') return 'the headers of the answer are larger than 16 kB';
  const text = openOutside(message);
  // The names that undici gives to what it says in words.
  return errno === '' || text.includes(errno) || errno.startsWith('UND_') ? text : `${text} (${errno})`;
}

const cutOff = { deadline: 'the deadline passed', too_large: 'it is larger than service.maxResponseBytes' } as const;

export const serviceWords: WordsFor<ServiceFacts> = {
  http_refused: (fact) => answered(fact),
  http_redirected: (fact) => ({
    text: `HTTP ${fact.status}: it points to ${openOutside(fact.location)}`,
    remedy: 'If that is where records go now, correct service.baseUrl, or the path of the endpoint.',
  }),
  http_failed: (fact) => answered(fact),
  http_perhaps_blocked: (fact) => ({
    text: answered(fact),
    remedy: 'If this is a block that ends by itself, name the answer in service.answers.blocked.',
  }),
  removal_not_found: (fact) => ({
    text: `${answered(fact)}. This does not prove that the record is gone`,
    remedy:
      'Look for the record at the service, and check the path of the removal. If this is what the service says of a missing record, name it in service.answers.gone.',
  }),
  success_says_failed: (fact) => answered(fact, `, but it says that it failed (${openOutside(fact.mark)})`),
  other_success_status: ({ status, expected, setting }) => ({
    text: `HTTP ${status}, but ${setting} is ${expected}`,
    remedy: `If the service acknowledges with ${status}, set ${setting} to it.`,
  }),
  no_acknowledgement: ({ status, problem }, say) =>
    `HTTP ${status}, but no valid acknowledgement: ${say.fact(problem)}`,
  unusable_answer: ({ status, problem }, say) => `HTTP ${status}, but not what was asked for: ${say.fact(problem)}`,
  unauthorised_and_held: ({ reason }, say) => `HTTP 401, and it did not go again: ${say.fact(reason)}`,

  no_json: () => 'the body is no JSON, or says one thing twice',
  no_json_object: () => 'the body is no JSON object',
  unusable_text: ({ place, problem }) => `${place} ${textProblems[problem]}`,
  unusable_id: ({ place }) => ({
    text: `what was found has no ${place} that is an id`,
    remedy: 'Check service.adoption.idField, or the id of the look-up.',
  }),
  no_amount: ({ place }) => `${place} is no whole number of the smallest unit`,
  decimal_amount: ({ place, found, setting }) => {
    const text = `${place}: ${openOutside(found)} has a decimal point or an exponent, so it is not in the smallest unit`;
    if (setting === null) return text;
    const todo =
      setting === 'total'
        ? 'leave out the total of the look-up (service.endpoints.lookUpOrder.total)'
        : 'set service.checkTotal: off';
    return { text, remedy: `If the service gives totals in another unit, ${todo}.` };
  },
  names_no_id: () => 'the body names no id',
  credential_in_id: () => 'the id that it names holds our credential',
  other_record: ({ found, expected }) => `the answer is about ${openOutside(found)}, not ${expected}`,
  no_list: ({ place }) => `the answer has no list ${place}`,
  no_match_fields: () => 'the settings name no field to compare (match)',
  look_up_goes_on: () => 'the list is empty, and says that another page follows',
  none_is_ours: ({ count }) => `${count} found, and none of them is exactly ours`,
  several_shown: ({ count }) => `the service shows ${count} such records`,

  path_field_missing: ({ path, field }) =>
    `The path ${path} needs ${field}, which the record lacks or the service has not acknowledged.`,
  path_field_dots: ({ path, field, value }) =>
    `${field} is "${openOutside(value)}", which can't stand in the path ${path}.`,
  request_too_large: ({ bytes, limit }) => ({
    text: `It is ${bytes} bytes large, and the service takes ${limit} (service.maxRequestBytes).`,
    remedy: 'Shorten the record in the ERP, or raise service.maxRequestBytes if the service takes more.',
  }),
  look_up_field_empty: ({ field }) => `its ${field} is empty, and the look-up asks by it`,
  look_up_field_dots: ({ field, value }) => `its ${field} is "${openOutside(value)}"`,
  content_erased: () => 'its content was erased',
  no_way_to_read_orders: () => 'the settings name no way to read an order (service.endpoints.readOrder)',
  content_unknown: () => 'what was sent of it is not known any more, and the look-up asks by it',

  timed_out: () => 'no complete answer within the deadline',
  connection_timed_out: () => 'no connection within the deadline',
  no_connection: failed,
  connection_broken: failed,
  no_secure_connection: (fact) => `no secure connection: ${failed(fact)}`,
  proxy_refused: ({ status }) => {
    const text = `the proxy answered HTTP ${status} to CONNECT`;
    return status === 407 ? { text, remedy: 'Check the account in service.proxy.' } : text;
  },
  answer_cut_off: ({ status, because, message }) => {
    if (because === 'encoding')
      return `HTTP ${status}: the answer says Content-Encoding: ${message && openOutside(message)}, and its body is packed in no such way`;
    const why = because === 'broken' ? message && openOutside(message) : cutOff[because];
    return `HTTP ${status}: the answer's body broke off: ${why ?? 'the connection ended'}`;
  },
  request_failed: ({ message }) => openOutside(message),

  stopping: () => 'stopping',
  client_closed: () => 'the client is closed',
  gate_not_asked: ({ message }) => `the store can not be asked whether requests may go: ${openOutside(message)}`,
  node_at_rest: () => 'this node sends nothing at the moment; `waybill status` says why',
  lease_ending: () => 'the delivery lease is about to end or was lost',
  right_to_send_lost: () => 'the right to send was lost before the bytes could leave',
  leave_not_noted: () => 'it could not be noted that it leaves',
  probe_under_way: () => 'another request has just gone to see whether the service is back',
  outage: ({ reason }, say) => `the service is out of reach: ${say.fact(reason)}`,
  lane_paused: ({ lane, cause, reason }, say) => `${lane} is paused (${cause}): ${say.fact(reason)}`,
  key_expired: () => 'the service may have forgotten its key since it was claimed',
  clock_was_set: () => 'the clock was set since it was claimed',

  limit_used_up: ({ by, requests, windowMs }) =>
    `${by === 'service' ? 'the service says: ' : ''}${requests} requests in ${windowMs / 1000} s are used up`,
  announced_limit_used_up: () => 'the service says that what it takes is used up',
  slowed_down: () => 'the service asked us to slow down, request by request',

  no_token: ({ tokenUrl, reason }, say) => `no token from ${tokenUrl}: ${say.fact(reason)}`,
  unusable_token: ({ status, message }) => `${ofStatus(status)}${openOutside(message)}`,
  wrong_token_type: ({ status, type }) => `${ofStatus(status)}a token of the kind ${openOutside(type)}, not bearer`,
  unsendable_token: ({ status }) => `${ofStatus(status)}a token with characters that no header carries`,
};

function ofStatus(status: number | null): string {
  return status === null ? '' : `HTTP ${status} `;
}
