/**
 * The exponents of ISO 4217 that aren't 2. Written down here because Intl follows CLDR, which has habits of display
 * in it (HUF 0, IQD 0) and changes with a new Node: a hundredfold error in every amount.
 */
const EXPONENTS: readonly (readonly [number, string])[] = [
  [0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'],
  [3, 'BHD IQD JOD KWD LYD OMR TND'],
  [4, 'CLF UYW'],
];

const exponentOf = new Map(
  EXPONENTS.flatMap(([exponent, codes]) => codes.split(' ').map((code) => [code, exponent] as const)),
);
const known = new Set(Intl.supportedValuesOf('currency'));

/** Decimal places of a currency by ISO 4217, or null for a code that nobody knows. */
export function currencyScale(currency: string): number | null {
  return exponentOf.get(currency) ?? (known.has(currency) ? 2 : null);
}
