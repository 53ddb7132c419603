/** A text with `#` for every number and every key of hexadecimal digits: texts that differ in them alone become one. Pure. */
export function withoutNumbers(text: string): string {
  return text.replace(/\b(?=[a-f-]*\d)(?=[\d-]*[a-f])[\da-f-]{8,}\b/gi, '#').replace(/\d+/g, '#');
}
