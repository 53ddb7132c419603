import type { VerdictKind } from '../../../src/model/verdict.js';
import { acknowledgement, created, token } from '../wire-client.js';
import type { Reply } from '../wire-lab.js';
import { json } from './wire-case.js';

const whole = JSON.stringify(acknowledgement);
const { total: _total, ...withoutTotal } = acknowledgement;

/** Answers that make no sense and that every wire can carry, and what they prove. */
export const malformedAnswers: readonly [title: string, Reply, VerdictKind][] = [
  ['no body', { kind: 'answer', status: 201 }, 'invalid'],
  ['HTML', { kind: 'answer', status: 201, body: '<!doctype html><p>hello' }, 'invalid'],
  ['half of the JSON', json(201, whole.slice(0, 40)), 'invalid'],
  ['JSON and something behind it', json(201, `${whole} x`), 'invalid'],
  ['two JSON values', json(201, whole + whole), 'invalid'],
  ['JSON with comments', json(201, whole.replace('{', '{/* */')), 'invalid'],
  ['NaN for a total', json(201, whole.replace('1300', 'NaN')), 'invalid'],
  ['a list', json(201, [acknowledgement]), 'invalid'],
  ['null', json(201, 'null'), 'invalid'],
  ['another shape', json(201, { result: 'ok' }), 'invalid'],
  ['a name twice', json(201, `{"order_id":"O-2",${whole.slice(1)}`), 'invalid'],
  ['a name twice, once escaped', json(201, `{"order\\u005fid":"O-2",${whole.slice(1)}`), 'invalid'],
  ['an id of bytes that are no UTF-8', { ...created, body: notUtf8(whole) }, 'invalid'],
  ['UTF-16', { ...created, body: Buffer.from(whole, 'utf16le') }, 'invalid'],
  ['our token for an id', json(201, { ...acknowledgement, order_id: `O-${token}` }), 'invalid'],
  ['an empty id', json(201, { ...acknowledgement, order_id: '' }), 'invalid'],
  ['an id that is a list', json(201, { ...acknowledgement, order_id: ['O-1'] }), 'invalid'],
  ['a total beyond safe integers', json(201, whole.replace('1300', '9007199254740993')), 'invalid'],
  ['a total in text', json(201, { ...acknowledgement, total: '1300' }), 'invalid'],
  ['a number for a state', json(201, { ...acknowledgement, status: 17 }), 'delivered'],
  ['a large number for a state', json(201, { ...acknowledgement, status: 2 ** 53 }), 'delivered'],
  ['a number without end for a state', json(201, whole.replace('"accepted"', '1e400')), 'delivered'],
  ['no total', json(201, withoutTotal), 'delivered'],
  ['a time without an offset', json(201, { ...acknowledgement, created_at: '2026-06-01T12:00:00' }), 'delivered'],
  ['nesting without end', json(201, '['.repeat(100_000)), 'invalid'],
  ['a body larger than it may be', json(201, { ...acknowledgement, padding: 'x'.repeat(1_100_000) }), 'in_doubt'],
  ['another success', { ...created, status: 200 }, 'invalid'],
  ['a success without a body', { kind: 'answer', status: 204 }, 'invalid'],
  ['a status that nobody knows', { ...created, status: 299 }, 'invalid'],
  ['a refusal of HTML', { kind: 'answer', status: 400, body: '<html><h1>no' }, 'refused'],
  ['a refusal of bytes', { kind: 'answer', status: 400, body: Buffer.from([0, 255, 254, 27, 13]) }, 'refused'],
  ['a redirect without an address', { kind: 'answer', status: 302 }, 'misconfigured'],
];

function notUtf8(text: string): Buffer {
  const bytes = Buffer.from(text);
  bytes[text.indexOf('O-1')] = 0xff;
  return bytes;
}
