/** What a file with nothing but a secret says: the text less one line break at its end, as the settings read it. */
export function secretText(text: string): string {
  const value = text.replace(/\r?\n$/, '');
  if (value.trim() === '') throw new Error('it is empty');
  return value;
}
