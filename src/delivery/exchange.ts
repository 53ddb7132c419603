/** What came of one request, before it is judged. */
export type Exchange =
  | {
      kind: 'answer';
      status: number;
      /** Lower-case names. */
      headers: Readonly<Record<string, string>>;
      body: string;
    }
  /** Status and headers came, the body broke off. */
  | { kind: 'cut_off'; status: number; headers: Readonly<Record<string, string>>; reason: string }
  /** The deadline passed after the request may have left. */
  | { kind: 'timeout'; reason: string }
  /** The connection broke after the request may have left. */
  | { kind: 'broken'; reason: string }
  /** Provably nothing left: the connection was never made. */
  | { kind: 'unreachable'; reason: string; tls: boolean }
  /** The proxy, or whoever gives tokens, does not know us: nothing left for the service. */
  | { kind: 'no_credential'; reason: string }
  /** We did not let it go. */
  | { kind: 'not_sent'; reason: string };

/** One request's exchange with its times. */
export interface TimedExchange {
  exchange: Exchange;
  /** Wall clock when it left the pacer, in milliseconds; null when it never did. */
  startedAtMs: number | null;
  durationMs: number | null;
  /** It was answered 401 before, and went again with another credential. */
  repeatedAfter401?: true;
}
