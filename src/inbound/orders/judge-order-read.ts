/** `open`: read again and again. `final`: nothing more happens to it. `gone`: the service has it no more; asked for still. */
export type ReadState = 'open' | 'final' | 'gone';

/** What the service said of an order the last time; all null: it was never read. */
export interface OrderReading {
  state: ReadState;
  status: string | null;
  total: number | null;
  /** Why a person should look, or null. */
  flag: string | null;
}

export type OrderShown = { status: string; total: number | null } | { isAbsent: true };

/** What is new, for the audit. `total`: another one than before, or than what was sent adds up to. */
export type OrderNews = 'status' | 'total' | 'gone' | 'back';

export interface OrderCircumstances {
  finalStates: readonly string[];
  /** What was acknowledged adds up to so much; null: not known, or not to be compared. */
  expectedTotal: bigint | null;
  /** A change or a removal of ours may have taken effect already: neither its total nor its absence says anything yet. */
  isMoving: boolean;
}

/** What an answer means for what is known of an order. Pure. */
export function judgeOrderRead(
  known: OrderReading,
  shown: OrderShown,
  { finalStates, expectedTotal, isMoving }: OrderCircumstances,
): { reading: OrderReading; news: OrderNews[] } {
  if ('isAbsent' in shown) {
    if (isMoving || known.state === 'gone') return { reading: known, news: [] };
    return { reading: { ...known, state: 'gone' }, news: ['gone'] };
  }
  const { status, total } = shown;
  const state = finalStates.includes(status) ? 'final' : 'open';
  const flag = isMoving ? known.flag : flagOf(total, expectedTotal);
  const news: OrderNews[] = [];
  if (known.state === 'gone') news.push('back');
  if (known.status !== status) news.push('status');
  const isOtherTotal = known.total !== null && total !== known.total;
  if (isOtherTotal || (flag !== null && flag !== known.flag)) news.push('total');
  return { reading: { state, status, total, flag }, news };
}

function flagOf(total: number | null, expectedTotal: bigint | null): string | null {
  if (total === null || expectedTotal === null || BigInt(total) === expectedTotal) return null;
  return `the service says a total of ${total}, and our lines add up to ${expectedTotal}`;
}
