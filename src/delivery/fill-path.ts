import type { JsonValue } from '../model/record.js';

/** Puts fields of the record and what the service acknowledged into a path template, percent-encoded so that no value can leave its place. */
export function fillPath(
  template: string,
  fields: { [name: string]: JsonValue },
): { filled: string } | { problem: string } {
  let problem: string | null = null;
  const filled = template.replace(/\{([^}]+)\}/g, (_, name: string) => {
    const found = Object.hasOwn(fields, name) ? fields[name] : null;
    const value = typeof found === 'string' || typeof found === 'number' ? String(found) : '';
    if (value === '')
      problem ??= `The path ${template} needs ${name}, which the record lacks or the service has not acknowledged.`;
    // An address with a segment of dots is another address, however they are encoded.
    else if (/^\.{1,2}$/.test(value)) problem ??= `${name} is "${value}", which can't stand in the path ${template}.`;
    return encodeURIComponent(value);
  });
  return problem === null ? { filled } : { problem };
}
