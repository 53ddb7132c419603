/**
 * A name in braces that a template has filled from a record. Braces around anything else are text, as in a query that carries JSON:
 * `{"note":"{note}"}` has one name.
 */
export const placeholder = /\{([\p{L}_][\p{L}\p{N}_.-]*)\}/gu;

/** The names in a template, in their order. Pure. */
export function namesIn(template: string): string[] {
  return [...template.matchAll(placeholder)].map(([, name]) => name as string);
}
