/** An amount in minor units as people write it: 1999 with two decimals is 19.99. Exact, whatever its size. */
export function formatAmount(minor: string | number, decimals: number): string {
  const text = String(minor);
  const sign = text.startsWith('-') ? '-' : '';
  const digits = text.replace('-', '').padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals).replace(/\B(?=(\d{3})+$)/g, ' ');
  return decimals === 0 ? sign + whole : `${sign}${whole}.${digits.slice(-decimals)}`;
}
