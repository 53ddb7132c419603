import type { FieldRuleSettings, FieldRules } from '../../config/sections/service.js';
import type { Entity, JsonValue } from '../../model/record.js';

type Fields = { readonly [name: string]: JsonValue };

/** What the service demands of a record, and how large the body may be that carries it. */
interface RecordDemands {
  fields: FieldRuleSettings;
  maxRequestBytes: number;
}

/**
 * Why the service would refuse this record, as far as its profile tells; null when nothing is known
 * against it. Pure.
 * @param bytes size of the record as JSON
 */
export function recordProblem(
  { fields: rules, maxRequestBytes }: RecordDemands,
  entity: Entity,
  record: Fields,
  bytes: number,
): string | null {
  const problems = brokenRules(rules[entity], `service.fields.${entity}`, record);
  const items = entity === 'order' && Array.isArray(record.items) ? (record.items as Fields[]) : [];
  items.forEach((item, index) => {
    problems.push(
      ...brokenRules(rules.item, 'service.fields.item', item).map((problem) => `line ${index + 1}: ${problem}`),
    );
  });
  if (bytes > maxRequestBytes)
    problems.push(`it is ${bytes} bytes large, and the service takes ${maxRequestBytes} (service.maxRequestBytes)`);
  if (problems.length === 0) return null;
  const more = problems.length > 5 ? [`and ${problems.length - 5} more`] : [];
  return `The service would refuse it: ${[...problems.slice(0, 5), ...more].join('; ')}. Correct it in the ERP.`;
}

function brokenRules(rules: FieldRules, place: string, record: Fields): string[] {
  return Object.entries(rules).flatMap(([name, { required, maxLength }]) => {
    const value = Object.hasOwn(record, name) ? record[name] : null;
    if (value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0))
      return required ? [`${name} is missing (${place})`] : [];
    const length = lengthOf(value);
    if (maxLength === undefined || length <= maxLength) return [];
    const unit = Array.isArray(value) ? 'entries' : 'characters';
    return [`${name} has ${length} ${unit}, more than ${maxLength} (${place})`];
  });
}

/** Characters as people count them: code points, not halves of a pair. */
function lengthOf(value: JsonValue): number {
  if (Array.isArray(value)) return value.length;
  return typeof value === 'string' ? [...value].length : String(value).length;
}
