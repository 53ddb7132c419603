import type { JsonValue } from '../model/record.js';
import type { JsonObject } from './body-rules.js';
import { Refusal } from './refusal.js';

/** A byte order mark is left in, so that JSON.parse refuses it, as RFC 8259 allows. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reads a body strictly: valid UTF-8, valid JSON, an object. Refuses with 400. */
export function readJsonObject(body: Buffer): JsonObject {
  let value: JsonValue;
  try {
    value = JSON.parse(utf8.decode(body)) as JsonValue;
  } catch {
    throw new Refusal(400, 'invalid_json', 'The body is not valid JSON in UTF-8');
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw new Refusal(400, 'invalid_request', 'The body must be a JSON object');
  }
  return value;
}
