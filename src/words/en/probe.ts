import type { PartFact } from '../../model/facts/fact-of.js';
import type { KeyPlace, ProbeFacts, SpecialAnswer } from '../../model/facts/probe.js';
import { isOutside, type Outside, openOutside } from '../../model/outside.js';
import { harmlessLine } from '../../model/redact.js';
import type { WordsFor } from '../sentence.js';

const nouns = { order: 'an order', customer: 'a customer' } as const;

const meanings: Readonly<Record<SpecialAnswer, string>> = {
  inProgress: 'the first request with the key is still running',
  keyReused: 'the key came with another body before',
  alreadyExists: 'the record exists',
  unknownCustomer: 'the customer of an order is unknown',
  gone: 'what is to be removed is gone',
};

const fieldsOfOrder = { id: 'id', total: 'total', createdAt: 'time of creation', state: 'state' } as const;

const ofPatch = {
  refused: 'PATCH is refused',
  lost: 'PATCH does not keep the other fields',
  unseen: 'It cannot be seen whether PATCH keeps the other fields',
} as const;

const longestShown = 200;

function placeInWords(place: KeyPlace): string {
  if (place.in === 'body') return `the field ${place.name}`;
  return `the header ${place.name}${place.quoted ? ', in quotes' : ''}`;
}

export const probeWords: WordsFor<ProbeFacts> = {
  probe_of_key: () => 'idempotency key',
  probe_of_lifetime: () => 'lifetime of a key',
  probe_of_repeat: () => 'same key and body twice',
  probe_of_key_in_record: () => 'key in the record',
  probe_of_quotes: () => 'quotes around the key',
  probe_of_other_body: () => 'same key, another body',
  probe_of_two_at_once: () => 'same key twice at once',
  probe_of_refusals: () => 'refusals',
  probe_of_order_made: () => 'acknowledgement of an order',
  probe_of_customer_made: () => 'acknowledgement of a customer',
  probe_of_pages: () => 'pages',
  probe_of_first_page: () => 'number of the first page',
  probe_of_page_size: () => 'largest page',
  probe_of_page_fields: () => 'fields of a page',
  probe_of_errors: () => 'shape of an error',
  probe_of_400: () => '400, wrong data',
  probe_of_401: () => '401, wrong credential',
  probe_of_403: () => '403, no permission',
  probe_of_404: () => '404, no such record',
  probe_of_retry_after: () => 'Retry-After',
  probe_of_change: ({ entity }) => `change of ${nouns[entity]}`,
  probe_of_removal: ({ entity }) => `removal of ${nouns[entity]}`,
  probe_of_answer: ({ answer }) => `"${meanings[answer]}"`,

  probe_key_not_recognised: () => 'No place of the key that was tried made the service recognise a repeated order.',
  probe_lifetime_hidden: () => 'No probe can tell how long the service remembers a key.',
  probe_repeat_refused: () => 'The repeat is refused; nothing is made twice. The answer does not name the record.',
  probe_key_kept_in_record: () =>
    'The service keeps the key as a field of the record, and a change writes its own key over it.',
  probe_key_quoted: () => 'The key has to stand in quotes; without them it is refused.',
  probe_key_bare: () => 'The key is taken without quotes.',
  probe_quotes_ignored: () => 'The key is the same with quotes and without.',
  probe_quotes_refused: () => 'The key has to stand without quotes; with them it is refused.',
  probe_quotes_other_key: () => 'The key stands without quotes; with them it is another key.',
  probe_not_tried: () => 'It was not tried.',
  probe_other_body_refused: () => 'The service notices it and refuses.',
  probe_other_body_unnoticed: () => 'The service does not notice it, and repeats its first answer.',
  probe_answer_tells_nothing: () => 'The answer does not tell.',
  probe_second_record: () => 'The service made a second record.',
  probe_two_records: () => 'The service made two records of one key.',
  probe_second_refused: () => 'The second is refused as any repeat is.',
  probe_second_waits: () => 'The second is told that the first is running.',
  probe_both_the_same: () =>
    'Both got the same answer: the first was done before the second was looked at, or the second waited.',
  probe_answers_tell_nothing: () => 'The answers do not tell.',
  probe_no_refusal_repeated: () => 'No refused create could be repeated.',
  probe_refusals_remembered: () => 'They are remembered: a corrected record needs a new key.',
  probe_refusals_forgotten: () => 'They are not remembered: a corrected record keeps its key.',
  probe_no_order_made: () => 'No order was made.',
  probe_no_customer_made: () => 'No customer was made.',
  probe_customer_by_code: () => 'It names the customer by our code.',
  probe_customer_unnamed: () => 'It names the customer neither by our code nor by an id; Waybill goes by our code.',
  probe_patch_keeps: () => 'PATCH changes the fields that it carries and keeps the others.',
  probe_patch_unseen: () => 'PATCH is taken, but what it does can not be seen.',
  probe_no_change_taken: () => 'No change was taken.',
  probe_delete_refused: () => 'DELETE is refused.',
  probe_page_0_refused: () => 'Page 1 is the first; page 0 is refused.',
  probe_page_0_empty: () => 'Page 1 is the first; page 0 is empty.',
  probe_page_0_is_1: () => 'Page 0 and page 1 are the same: page 1 is the first.',
  probe_page_1_other: () => 'Page 0 is the first; page 1 holds another invoice.',
  probe_page_1_empty: () => 'Page 0 is the first; page 1 is empty.',
  probe_list_unclear: () => 'The list is empty, can not be read, or changed while it was read.',
  probe_list_too_short: () => 'The list is too short to show it.',
  probe_no_page_read: () => 'No page could be read.',
  probe_errors_usual: () => 'Errors are read without a setting.',
  probe_not_asked_for: () => 'It was not asked for.',
  probe_never_slowed_down: () => 'The service did not say "slow down".',
  probe_not_seen: () => 'It was not seen.',
  probe_told_apart: () => 'It is told from other answers.',
  probe_not_told_apart: () => 'Nothing in the answer tells it from others of the same status.',
  probe_key_recognised: ({ place }) => `The key is recognised in ${placeInWords(place)}.`,
  probe_repeat_answered: ({ status }) =>
    `The first answer is repeated${status === null ? '' : `, with status ${status}`}.`,
  probe_order_id: ({ place, isProven }) =>
    `Its id is at ${place ?? '(nowhere)'}${place !== null && !isProven ? ' (by its name alone: no read of the order proved it)' : ''}.`,
  probe_customer_id: ({ place }) => `It gives the customer an id, at ${place}: put {id} into the paths of customers.`,
  probe_change_not_tried: ({ entity }) =>
    `It was not tried.${entity === 'customer' ? ' It takes two fields of text: --customer.' : ''}`,
  probe_put: ({ patch }) => `${ofPatch[patch]}; PUT takes the whole record.`,
  probe_delete_removes: ({ again }) =>
    `DELETE removes it.${again === null ? '' : ` The second time it is answered ${again}.`}`,
  probe_pages_cut: ({ most }) => `A page holds at most ${most}; larger ones are cut without a word.`,
  probe_pages_refused: ({ most, refused }) => `A page holds at most ${most}; ${refused} are refused.`,
  probe_page_places: ({ invoices, total }) =>
    `The invoices are at ${invoices}, their number on all pages at ${total ?? '(nowhere)'}.`,
  probe_error_shape: ({ status, isJson, errorCode, message, isAsUnknown }) => {
    const code = errorCode === null ? 'no code' : `code ${openOutside(errorCode)}`;
    const words = message === null ? 'no words' : openOutside(message);
    return `It is answered ${status}, ${isJson ? 'JSON' : 'no JSON'}, ${code}: ${words}${isAsUnknown ? '. An unknown address is answered in the same words.' : ''}`;
  },
  probe_error_places: ({ message, errorCode }) =>
    `The message stands at ${message}${errorCode === null ? ', and there is no code' : `, the code at ${errorCode}`}.`,
  probe_retry_after_absent: () => 'It is absent.',
  probe_retry_after_seconds: () => 'It is given in seconds.',
  probe_retry_after_unclear: () => 'It is neither seconds nor a date; Waybill waits as long as it thinks right.',
  probe_retry_after_date: () => 'It is given as a date.',

  probe_ask_key_place: () =>
    'In which header or field does a create carry its idempotency key? Without one, a repeated create makes a second record.',
  probe_ask_lifetime: () =>
    'How long does the service remember an idempotency key? Set service.idempotency.lifetimeHours.',
  probe_ask_other_body: () => 'What happens to a create whose key was used before with another body?',
  probe_ask_at_once: () => 'What is a create answered while the first one with its key is still running?',
  probe_ask_two_records: () =>
    'Two creates with one key at the same moment made two records. Can that be mended at the service? Until then set service.concurrency to 1.',
  probe_ask_refusals: () => 'May a create that was refused be corrected and sent again with its key?',
  probe_ask_order_made: () => 'What is a created order answered?',
  probe_ask_customer_made: () => 'What is a created customer answered?',
  probe_ask_pages: () => 'How are lists paged?',
  probe_ask_first_page: () => 'Is the first page number 0 or 1?',
  probe_ask_page_size: () => 'How many entries does a page hold at most?',
  probe_ask_page_fields: () => 'Where does a page hold its invoices and the number of all?',
  probe_ask_total: () => 'Where does a page say how many invoices there are on all pages?',
  probe_ask_error_body: () => 'What does the body of an error look like?',
  probe_ask_400: () => 'What is an order with wrong data answered?',
  probe_ask_401: () => 'What is a request with a wrong credential answered?',
  probe_ask_403: () =>
    'What is a request answered that this account may not make? (`--forbidden-path` asks one that you know.)',
  probe_ask_404: () => 'What is a read of a record answered that does not exist?',
  probe_ask_limit: () =>
    'How many requests in which time does it take, and does a 429 carry Retry-After? (`--burst` looks, and may get the account blocked for a while.)',
  probe_ask_repeat_status: ({ status }) =>
    `Can a repeated create be answered ${status}, as the first is? Waybill takes one status for a success.`,
  probe_ask_order_fields: ({ missing, total }) =>
    `Where does the answer to a created order hold: ${missing.map((name) => fieldsOfOrder[name]).join(', ')}? The total was ${total}, in the smallest unit of the currency.`,
  probe_ask_change: ({ entity }) =>
    `How is ${nouns[entity]} changed: by PATCH with the fields that change, or by PUT with all of them?`,
  probe_ask_removal: ({ entity }) => `How is ${nouns[entity]} removed, if at all?`,
  probe_ask_answer: ({ answer }) => `What is answered when ${meanings[answer]}? Name it in service.answers.${answer}.`,

  probe_asks_first_read: () => 'a first read',
  probe_asks_same_key: () => 'the same order, same key',
  probe_asks_other_key: () => 'the same order, another key',
  probe_asks_without_quotes: () => 'the same key without quotes',
  probe_asks_in_quotes: () => 'the same key in quotes',
  probe_asks_other_body: () => 'the same key, another body',
  probe_asks_one_of_two: () => 'one of two at once',
  probe_asks_other_of_two: () => 'the other',
  probe_asks_without_lines: () => 'an order without lines',
  probe_asks_corrected: () => 'the same key, corrected',
  probe_asks_unknown_customer: () => 'an order of an unknown customer',
  probe_asks_that_customer: () => 'that customer',
  probe_asks_customer_again: () => 'the first customer again, another key',
  probe_asks_page_0: () => 'page 0',
  probe_asks_page_1: () => 'page 1',
  probe_asks_page_0_again: () => 'page 0 again',
  probe_asks_read_back: () => 'read it back',
  probe_asks_missing: () => 'read an order that is not there',
  probe_asks_unknown_address: () => 'read an unknown address',
  probe_asks_forbidden: () => 'read what is forbidden',
  probe_asks_wrong_credential: () => 'a read with a wrong credential',
  probe_asks_customer: ({ place }) => `a customer, key in ${placeInWords(place)}`,
  probe_asks_order: ({ place }) => `an order, key in ${placeInWords(place)}`,
  probe_asks_page: ({ limit }) => `a page of ${limit}`,
  probe_asks_next_page: ({ limit }) => `the next page of ${limit}`,
  probe_asks_read: ({ entity, place }) => `read the ${entity} by ${place}`,
  probe_asks_change: ({ entity, isWhole }) => (isWhole ? `the whole ${entity}` : `one field of the ${entity}`),
  probe_asks_removal: ({ entity, name }) => `remove ${entity} ${name}`,
  probe_asks_burst: ({ nth }) => `read ${nth} of many at once`,
  probe_exchange: ({ what, method, address, status, said }, say) => {
    const toldOf = (one: Outside | PartFact) => (isOutside(one) ? openOutside(one) : say.fact(one));
    const answer = [status, said && toldOf(said)].filter((part) => part !== null).join(' ');
    const line = harmlessLine(`${say.fact(what)}: ${method} ${address} → ${answer}`).trim();
    return line.length <= longestShown ? line : `${line.slice(0, longestShown - 1)}…`;
  },
  probe_key_tried: ({ place, exchange }, say) => `${placeInWords(place)}: ${say.fact(exchange)}`,
  probe_page_shown: ({ entries, total }) => `${entries} of ${total ?? '?'} invoices`,
  probe_no_list: () => 'no list',
  probe_retry_after_shown: ({ value }) => `Retry-After: ${value === null ? '(none)' : openOutside(value)}`,

  probe_step_greet: () => 'whether the service answers',
  probe_step_key_place: () => 'where the idempotency key goes',
  probe_step_ids: () => 'ids',
  probe_step_key: () => 'what the key does',
  probe_step_changes: () => 'changes',
  probe_step_pages: () => 'pages',
  probe_step_removal: () => 'removing the test records',
  probe_step_refusals: () => 'refusals',
  probe_step_burst: () => 'many reads at once',

  probe_interrupted: () => 'it was interrupted',
  probe_may_not_send: () => 'nothing may be sent',
  probe_slowed_down_again: () => 'the service says "slow down" again and again',
  probe_took_too_long: () => 'it took too long',
  probe_id_uncertain: () => 'its id is not known for certain',
  probe_may_exist: () => 'it may exist: its create had no answer',
  probe_must_wait: ({ seconds }) => `the service wants us to wait for ${seconds} s`,
  probe_requests_made: ({ requests }) => `${requests} requests were made`,
  probe_creates_fail: ({ exchange }, say) => `creates fail: ${say.fact(exchange)}`,
  probe_no_answer: ({ problem }, say) =>
    `the service does not answer${problem === null ? '' : `: ${say.fact(problem)}`}`,
  probe_credential_refused: ({ exchange }, say) => `the service does not take our credential: ${say.fact(exchange)}`,
  probe_no_record_taken: ({ entity, refusals }, say) =>
    `the service takes no test ${entity}. ${refusals.map((one) => say.fact(one)).join('; ')}. Give what it needs: --${entity} '{"field": "value"}', or the place of its key: --key-header, --key-field`,
  probe_not_in_sandbox: ({ environment }) =>
    `service.environment is ${environment}. A probe makes and removes records: it works in a sandbox only.`,
  probe_other_address: ({ baseUrl, confirmed }) =>
    `The settings lead to ${baseUrl}, and --sandbox names ${confirmed}. Give the address that is in use, if it is a sandbox.`,
  probe_delete_failed: ({ exchange }, say) => say.fact(exchange),
  probe_failed: ({ failure, left }, say) => `${say.fact(failure)} The probe left at the service: ${left.join(', ')}.`,
};
