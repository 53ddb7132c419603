import type { JsonValue } from '../../model/record.js';
import { canonicalJson, sha256 } from '../outbox/canonical-json.js';
import { composePatch, type UpdateMethod } from '../outbox/compose-update.js';
import { unknownContent } from '../outbox/unknown-content.js';

type Fields = { [name: string]: JsonValue };

export interface Comparison {
  /** What is known of our fields at the service: the base of the next update. Never a field that we don't send. */
  base: Fields;
  /** The content hash of the base; of no content when the service does not show all of our fields. */
  baseHash: string;
  /** Names of the fields that an update would write over, sorted. */
  differs: string[];
}

/**
 * Compares our record with the one that the service shows. Pure. A field that it does not show counts as different: nobody
 * knows what is in it. What only the service has differs where updates replace the record (PUT), because they would clear it.
 */
export function compareWithShown(wanted: Fields, shown: Fields, method: UpdateMethod): Comparison {
  const isShown = (name: string) => Object.hasOwn(shown, name);
  const base: Fields = Object.fromEntries(
    Object.keys(wanted)
      .filter((name) => isShown(name) || wanted[name] === null)
      .map((name) => [name, isShown(name) ? (shown[name] as JsonValue) : null]),
  );
  const isWhole = Object.keys(wanted).every((name) => Object.hasOwn(base, name));
  const cleared = Object.keys(shown).filter((name) => !Object.hasOwn(wanted, name) && shown[name] !== null);
  return {
    base,
    baseHash: isWhole ? sha256(canonicalJson(base)) : unknownContent,
    differs: [...Object.keys(composePatch(base, wanted) ?? {}), ...(method === 'PUT' ? cleared : [])].sort(),
  };
}
