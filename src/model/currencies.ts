/**
 * The exponents of ISO 4217 that aren't 2. Written down here because Intl follows CLDR, which has habits of display
 * in it (HUF 0, IQD 0) and changes with a new Node: a hundredfold error in every amount.
 */
const EXPONENTS: Record<number, string> = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
};

const known = new Set(Intl.supportedValuesOf('currency'));

/** Decimal places of a currency by ISO 4217, or null for an unknown code. */
export function currencyScale(currency: string): number | null {
  const listed = Object.entries(EXPONENTS).find(([, codes]) => codes.split(' ').includes(currency));
  if (listed !== undefined) return Number(listed[0]);
  return known.has(currency) ? 2 : null;
}
