const UNITS_PER_SECOND = [1n, 1000n, 1_000_000n] as const;
const FROM = BigInt(Date.UTC(2000, 0, 1) / 1000);
const TO = BigInt(Date.UTC(2100, 0, 1) / 1000);

/**
 * How many units a second has when an integer text counts time since 1970: seconds, milliseconds or microseconds.
 * Null when it isn't one: only values of the years 2000 to 2099 are believed, since a version counter is an integer too.
 */
export function epochUnitsPerSecond(text: string): bigint | null {
  if (!/^\d{9,17}$/.test(text)) return null;
  const value = BigInt(text);
  return UNITS_PER_SECOND.find((units) => value >= FROM * units && value < TO * units) ?? null;
}
