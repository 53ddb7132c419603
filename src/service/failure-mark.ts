import { valueAt } from '../model/record.js';
import type { ErrorPlaces } from '../model/verdict.js';

/** The places where the settings look for the values of an answer. */
export interface AnswerPlaces {
  /** Places of its values. The objects on the way there, such as `data` of `data.order_id`, may say that it failed, too. */
  values: readonly string[];
  /** Place of the id by which it names the one record that it is about; null: it names none, as a list does. */
  id: string | null;
  /** Names of fields that hold amounts of money. They come as text unless they are written as whole numbers. */
  amounts: readonly string[];
}

/** Places of an answer of which nothing is read. */
export const noPlaces: AnswerPlaces = { values: [], id: null, amounts: [] };

/**
 * Finds the word by which a success status says that it failed: `{"success": false}`, `{"error": {"code": "E17"}}`. Such an answer
 * acknowledges nothing and shows nothing, whatever else it holds. Pure; one question a paragraph.
 * @param answer the JSON of its body
 * @returns the mark as it is shown, such as `success is false`; null: there is none
 */
export function findFailureMark(
  answer: unknown,
  places: Pick<AnswerPlaces, 'values' | 'id'>,
  errors: Pick<ErrorPlaces, 'code' | 'message' | 'details'>,
): string | null {
  if (!isObject(answer)) return null;

  // `success` and `ok` have to say yes, and `error` and `errors` nothing, in the answer and in every envelope within it.
  for (const envelope of envelopesOf(places.values)) {
    const found = markIn(envelope === '' ? answer : valueAt(answer, envelope), envelope);
    if (found !== null) return found;
  }

  // A place where the settings find the code or the details of an error. A message goes with successes, too.
  const found = (place: string) => Object.hasOwn(answer, firstName(place)) && !saysNothing(valueAt(answer, place));
  const ofErrorsAlone = (place: string) => !commonNames.has(place) && found(place);
  const place = errors.code.find(ofErrorsAlone) ?? errors.details.find(ofErrorsAlone);
  if (place !== undefined) return mark(place, valueAt(answer, place));

  // A record may have a code or a status of its own. Beside no record they are the answer's.
  const id = places.id === null ? undefined : valueAt(answer, places.id);
  if ((typeof id === 'string' && id !== '') || typeof id === 'number') return null;
  for (const name of places.id === null ? [] : Object.keys(answer)) {
    if (faultName.test(name) && !saysNothing(answer[name])) return mark(name, answer[name]);
    const found = markIn(answer[name], name);
    if (found !== null) return found;
  }
  if (errors.code.includes('code') && found('code') && errors.message.some(found)) return mark('code', answer.code);
  const { status } = answer;
  const isFailed =
    typeof status === 'number' ? status >= 400 : typeof status === 'string' && failed.test(status.trim());
  return isFailed ? mark('status', status) : null;
}

type Fields = { [name: string]: unknown };

/** The mark among the fields of the answer, or of an envelope within it. */
function markIn(fields: unknown, envelope: string): string | null {
  if (!isObject(fields)) return null;
  for (const name in fields) {
    // Every acknowledgement passes here, and hardly any name is of this kind.
    if (!markName.test(name)) continue;
    const value = fields[name];
    if (errorName.test(name) ? !saysNothing(value) : saysNo(value))
      return mark(envelope === '' ? name : `${envelope}.${name}`, value);
  }
  return null;
}

const markName = /^(?:(?:is[_-]?)?(?:success|ok)|succe(?:eded|ssful)|errors?)$/i;
const errorName = /^e/i;
const faultName = /^(fault|exception)$/i;
/** Places of a problem's code and kind that any record may have as well. */
const commonNames: ReadonlySet<string> = new Set(['code', 'type']);
const failed = /^(error|fail|failed|failure)$/i;
const no = /^(false|no|off|n|f|null|none|error|fail(ed|ure)?)?$/i;
/** Words in the place of an error's code, or of its message, that say that there is none. */
const nothing =
  /^(false|no|null|none|nil|undefined|n\/?a|-+|\[\]|\{\}|ok|no.errors?( found)?|success(ful)?|succeeded|created|updated|deleted|accepted|2\d\d|0+(\.0+)?)?[.!]?$/i;

/** True if `success` or `ok` is anything but a yes. */
function saysNo(value: unknown): boolean {
  if (typeof value === 'string') return no.test(value.trim()) || Number(value) === 0;
  return Array.isArray(value) ? value.length === 0 : !value;
}

/** True if the place of an error says that there is no error. */
function saysNothing(value: unknown): boolean {
  if (typeof value === 'string') return nothing.test(value.trim());
  if (typeof value === 'number') return value === 0 || (value >= 200 && value < 300);
  if (typeof value === 'object' && value !== null) return Object.values(value).every(saysNothing);
  return !value;
}

function firstName(place: string): string {
  const dot = place.indexOf('.');
  return dot < 0 ? place : place.slice(0, dot);
}

/** The objects around the places, the answer itself first. */
function envelopesOf(places: readonly string[]): Iterable<string> {
  if (!places.some((place) => place.includes('.'))) return [''];
  const envelopes = new Set(['']);
  for (const place of places)
    for (let dot = place.indexOf('.'); dot > 0; dot = place.indexOf('.', dot + 1)) envelopes.add(place.slice(0, dot));
  return envelopes;
}

function mark(place: string, value: unknown): string {
  const isShort = typeof value !== 'object' && String(value).length <= 40;
  return isShort || value === null ? `${place} is ${JSON.stringify(value)}` : `it has ${place}`;
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
