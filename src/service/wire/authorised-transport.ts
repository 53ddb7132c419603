import type { Credential } from '../credential/credential.js';
import type { Connections } from './connections.js';
import { exchangeOfFault, type Transport, type TransportRequest } from './transport.js';
import type { TimedExchange, WireExchange } from './wire-exchange.js';

/** Requests that show who we are, and show it once more with something newer when the service answers 401. */
export class AuthorisedTransport {
  /**
   * The credential that was in use when the service, or the one who gives tokens, refused us for good; null: that has
   * not happened.
   */
  #refusedWith: string | null = null;

  constructor(
    private readonly transport: Transport,
    private readonly credential: Credential,
    private readonly connections: Connections,
  ) {}

  /**
   * A 401 is decided before anything takes effect, so the same bytes may go again under the same attempt: once, as a request
   * of its own past gate and rate limiter.
   */
  async exchange(request: TransportRequest): Promise<TimedExchange> {
    const connection = this.connections.version;
    const first = await this.transport.exchange(request, this.credential);
    if (first.exchange.kind === 'answer' && first.exchange.status !== 401) {
      if (first.proof !== undefined) this.credential.accepted(first.proof);
      return first;
    }
    const hasOther = await this.#hasOther(first.exchange, first.proof, connection, request);
    if (hasOther === false) return this.#heeded(first);
    if (hasOther !== true) return this.#heeded({ ...first, exchange: hasOther });
    const { proof: second, ...repeated } = await this.transport.exchange(request, this.credential);
    if (second !== undefined && repeated.exchange.kind === 'answer') {
      if (repeated.exchange.status === 401) this.credential.refused(second);
      else this.credential.accepted(second);
    }
    return this.#heeded({
      ...repeated,
      startedAtMs: repeated.startedAtMs ?? first.startedAtMs,
      durationMs: repeated.durationMs ?? first.durationMs,
      requests: first.requests + repeated.requests,
      exchange: afterRefusal(repeated.exchange),
      repeatedAfter401: true,
    });
  }

  /** Reads the files of credential and connections again. */
  readFilesAgain(): void {
    this.connections.look(true);
    this.credential.look(true);
  }

  /**
   * True if there is another credential to show than the one that was refused last.
   * @param sinceMs milliseconds since 1970: for what was refused before this process began
   * @param whereNothingTells the answer for what comes from no file (from the environment, or the settings), and may be another
   * one since this process began, until it is refused once
   */
  replacedSince(sinceMs: number, whereNothingTells: boolean): boolean {
    this.connections.look();
    this.credential.look();
    if (this.#refusedWith !== null) return this.#refusedWith !== this.#inUse();
    const changedAtMs = this.credential.changedAtMs();
    if (changedAtMs === null) return whereNothingTells;
    return Math.max(this.connections.changedAtMs() ?? 0, changedAtMs) > sinceMs;
  }

  /** True if a 401 has something newer to go with; an exchange: the reason why there is none. */
  async #hasOther(
    exchange: WireExchange,
    proof: number | undefined,
    connection: number,
    request: TransportRequest,
  ): Promise<boolean | WireExchange> {
    if (exchange.kind === 'no_credential') {
      // It may have been the proxy's.
      this.connections.look(true);
      return this.connections.version !== connection;
    }
    if (exchange.kind !== 'answer' || proof === undefined) return false;
    this.connections.look(true);
    if (this.connections.version !== connection) return true;
    const renewed = await this.credential.renew(proof, request.gate);
    return typeof renewed === 'boolean' ? renewed : afterRefusal(exchangeOfFault(renewed));
  }

  #heeded(timed: TimedExchange): TimedExchange {
    const { exchange } = timed;
    const isRefused = exchange.kind === 'no_credential' || (exchange.kind === 'answer' && exchange.status === 401);
    if (isRefused) this.#refusedWith = this.#inUse();
    return timed;
  }

  #inUse(): string {
    return `${this.credential.version}.${this.connections.version}`;
  }
}

/** The first try did leave, and was answered 401: nothing took effect, but "not sent" would be no true word for it. */
function afterRefusal(exchange: WireExchange): WireExchange {
  if (exchange.kind !== 'not_sent') return exchange;
  return { kind: 'unreachable', reason: { code: 'unauthorised_and_held', reason: exchange.reason }, tls: false };
}
