/** Records of one day in one currency, on both sides. Totals in minor units. */
export interface DaySum {
  /** YYYY-MM-DD by the ERP; null where it says none. */
  day: string | null;
  currency: string;
  erpRecords: number;
  erpTotal: bigint;
  serviceRecords: number;
  serviceTotal: bigint;
}

/** The addition of one record: its amount, on each side that has it. */
export interface RecordAmounts {
  day: string | null;
  currency: string;
  isInErp: boolean;
  /** null: not known. */
  erpTotal: bigint | null;
  isAtService: boolean;
  serviceTotal: bigint | null;
}

/** Sums of a page of records, by day and currency. Pure. */
export function sumsOf(records: readonly RecordAmounts[]): DaySum[] {
  return addSums(
    [],
    records.map((one) => ({
      day: one.day,
      currency: one.currency,
      erpRecords: one.isInErp ? 1 : 0,
      erpTotal: one.isInErp ? (one.erpTotal ?? 0n) : 0n,
      serviceRecords: one.isAtService ? 1 : 0,
      serviceTotal: one.isAtService ? (one.serviceTotal ?? 0n) : 0n,
    })),
  );
}

/** The sums of both, one for each day and currency. Pure. */
export function addSums(known: readonly DaySum[], added: readonly DaySum[]): DaySum[] {
  const sums = new Map<string, DaySum>();
  for (const one of [...known, ...added]) {
    const name = `${one.day} ${one.currency}`;
    const before = sums.get(name);
    sums.set(
      name,
      before === undefined
        ? { ...one }
        : {
            ...before,
            erpRecords: before.erpRecords + one.erpRecords,
            erpTotal: before.erpTotal + one.erpTotal,
            serviceRecords: before.serviceRecords + one.serviceRecords,
            serviceTotal: before.serviceTotal + one.serviceTotal,
          },
    );
  }
  return [...sums.values()];
}

/** The sums of all days, by currency. Pure. */
export function totalsByCurrency(sums: readonly DaySum[]): Omit<DaySum, 'day'>[] {
  return addSums(
    [],
    sums.map((one) => ({ ...one, day: null })),
  ).map(({ day: _, ...total }) => total);
}
